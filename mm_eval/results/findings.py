"""What went wrong in a recorded run: per task the faults with counts, examples, the likely cause, and a command that mends them.

Everything is read from results.json and samples/, one row at a time; no model is needed.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from itertools import groupby, zip_longest
from typing import Any

from mm_eval.config.arguments import SWITCH
from mm_eval.config.located import TOKEN_CAPS
from mm_eval.options import OF_PARTS
from mm_eval.request import COMMAND_NAMES, RULES, RunRequest, of_names, task_words
from mm_eval.results.answer_forms import FORMS, Answered, Form, Mending, answers_of, form_of
from mm_eval.results.number_text import unit_of
from mm_eval.results.recorded import RecordedRun
from mm_eval.results.sample_rows import count_options, picked, right_answer
from mm_eval.scoring.filters.base import UNPARSED, WHOLE_ANSWER
from mm_eval.scoring.sample_row import SampleRow
from mm_eval.values.errors import MMEvalError
from mm_eval.values.reasoning.split import unknown_marks
from mm_eval.values.safe import in_line, json_safe
from mm_eval.values.types import JsonObject
from mm_eval.values.words import of_all


def as_command(request: RunRequest, verb: str = "") -> str:
    """The command line of a request, quoted for a shell; options at their defaults are left out. verb: none for `run`."""
    words = ["mm-eval", *([verb] if verb else [])]
    words += [*([] if verb == "show" else ["--tasks"]), task_words(request.tasks)]
    sets_of: dict[str, set[str]] = {}
    for part in OF_PARTS:
        for option in part.options:
            sets_of.setdefault(option.name, set()).update(part.sets)
    defaults = RunRequest(()).options()
    for option_name, value in request.options().items():
        if option_name in ("tasks", "prompt_blocks", "name", "judge", "judge_args") or value == defaults[option_name]:
            continue
        sets = sets_of.get(option_name)
        if sets and not sets & {"model", verb or "run"}:  # not an option of this command
            continue
        name = COMMAND_NAMES.get(option_name, option_name)
        if name == "no_report" or value is True and RULES[option_name] is SWITCH:
            words.append(f"--{name}")
        else:
            words += [f"--{name}", _as_text(value)]
    for adapter, args in zip_longest(request.judge.models, request.judge.args) if not verb else ():
        words += ["--judge", adapter, *(["--judge_args", _as_text(args)] if args else [])]
    return shlex.join(words)


def _as_text(value: object) -> str:
    """An option's value as the command line takes it; a mapping as pairs where these are plain, else as JSON."""
    if isinstance(value, Mapping):
        plain = all(
            isinstance(part, (str, int, float)) and re.fullmatch(r"[\w./:@-]+", str(part)) for part in value.values()
        )
        return ",".join(f"{name}={part}" for name, part in value.items()) if plain else json.dumps(value)
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


SHOWN = 3
"""Examples of a fault."""
MOST_KEPT = 20
"""Answers of a fault among which the examples are chosen, so that they are not all the same."""
LEAST_DOCS = 20
"""Docs that a task needs before its answers are tested for a bias."""
LEAST_BIAS = 0.15
"""The share of all docs by which an answer is given too often."""
LEAST_GAP = 0.2
"""The difference, as a share, by which a category is below the others."""
SURE = 3.0
"""Standard errors that a bias or a gap must be away from 0."""


@dataclass(frozen=True)
class FaultyDoc:
    """A doc with the fault. answer: as the model gave it, or what failed. right: the right answer, as text."""

    doc_id: int
    answer: str
    right: str


@dataclass(frozen=True)
class Fault:
    """A fault of a task.

    kind: its name ("empty", "truncated", "bias", ...). docs: how many docs have it, of how many. said: a sentence about it.
    cause: what it most likely comes from. mend: a command line; empty where this version can't read what the run was asked.
    """

    task: str
    kind: str
    docs: int
    of: int
    said: str
    cause: str
    mend: str
    examples: tuple[FaultyDoc, ...] = ()

    @property
    def share(self) -> float:
        return self.docs / self.of


def diagnose(run: RecordedRun) -> list[Fault]:
    """The faults of a run, by task in the order of the table; within a task the most frequent first."""
    found = Diagnosis(run)
    for name in run.spec["tasks"]:
        for row in run.rows(name):
            found.look(name, row)
    return found.findings()


class Diagnosis:
    """The faults of a run whose rows someone else reads: the page adds each row that it writes."""

    def __init__(self, run: RecordedRun) -> None:
        self._run, self._seen = run, dict[str, _Seen]()

    def look(self, task: str, row: SampleRow) -> None:
        """Counts a row of samples/<task>.jsonl."""
        if (seen := self._seen.get(task)) is None:
            seen = self._seen[task] = _Seen()
        seen.add(row)

    def findings(self) -> list[Fault]:
        """The faults of the rows so far, as `diagnose` returns them."""
        return [finding for name, seen in self._seen.items() for finding in _of_task(_Case(self._run, name), seen)]

    def about(self) -> dict[str, object]:
        """The faults as a part of the run's page."""
        return as_values(self.findings())


def _of_task(case: _Case, seen: _Seen) -> list[Fault]:
    found = [*_failures(case, seen), *_forms(case, seen), *_no_template(case, seen), *_cut(case, seen)]
    found += [*_remarks(case, seen), *_golds(case, seen)]
    found += [*_bias(case, seen), *_low_categories(case, seen), *_of_features(case, seen)]
    return sorted(found, key=lambda finding: -finding.share)


@dataclass
class _Kept:
    """How many docs have a fault, and a few of them."""

    docs: int = 0
    kept: list[FaultyDoc] = field(default_factory=list)

    def add(self, example: Callable[[], FaultyDoc]) -> None:
        self.docs += 1
        if len(self.kept) < MOST_KEPT:
            self.kept.append(example())

    @property
    def examples(self) -> tuple[FaultyDoc, ...]:
        """Unlike answers first."""
        first = {example.answer: example for example in reversed(self.kept)}
        unlike = sorted(first.values(), key=lambda example: example.doc_id)
        rest = [example for example in self.kept if example not in unlike]
        return tuple([*unlike, *rest][:SHOWN])


class _Seen:
    """What one pass over a task's rows counts."""

    def __init__(self) -> None:
        self.docs = self.answered = 0
        self.pictures = False
        self.failures: dict[str, _Kept] = {}
        self.forms: dict[str, _Kept] = {}
        self.unread: Counter[str] = Counter()
        self.without_text: Counter[str] = Counter()
        self.cut, self.unheard = _Kept(), _Kept()
        self.remarks: dict[str, _Kept] = {}
        self.golds: dict[str, _Kept] = {}  # by the kind of answers that no right answer is of
        self.scored = False
        self.picked: Counter[tuple[str, str]] = Counter()  # (right, picked), of options or of yes and no
        self.wrong_picks: dict[str, _Kept] = {}
        self.of_features: JsonObject = {}
        self.by_category: dict[tuple[str, str], _Kept] = {}

    def add(self, row: SampleRow) -> None:
        self.docs += 1
        if "tools" in row:
            from mm_eval.tools.findings import ToolFindings

            self.of_features.setdefault("tools", ToolFindings()).add(row)
        self.pictures = self.pictures or bool(row.get("images"))
        answers: list[Answered] = []

        def example(said: str | None = None) -> FaultyDoc:
            said = said if said is not None else answers[0].text if answers else _preferred(row)
            return FaultyDoc(row["doc_id"], said, right_answer(row))

        if error := row.get("error"):
            what = str(error["what"])
            self.failures.setdefault(_kind_of_failure(what), _Kept()).add(partial(example, what))
            return
        self.answered += 1
        answers, pick = answers_of(row), picked(row)
        if row.get("cut"):  # a prompt with sounds is never cut: it is a sound
            (self.unheard if row.get("sounds") else self.cut).add(example)
        for remark in row.get("remarks") or ():
            self.remarks.setdefault(remark, _Kept()).add(example)
        self.scored = self.scored or bool(answers) and any(_is_mark(value) for value in row["scores"].values())
        if kind := _other_kind(row):
            self.golds.setdefault(kind, _Kept()).add(example)
        first_of_form: dict[str, Answered] = {}
        for answer in answers:
            if form := form_of(answer):
                first_of_form.setdefault(form.name, answer)
        for name, answer in first_of_form.items():
            self.forms.setdefault(name, _Kept()).add(partial(example, answer.text))
            self.unread[name] += answer.unparsed
            self.without_text[name] += not answer.text.strip()
        if pick is not None:
            self.picked[pick] += 1
            if pick[0] != pick[1]:
                self.wrong_picks.setdefault(pick[1], _Kept()).add(example)
        for level, categories in row.get("categories", {}).items():
            for category in categories:
                if pick is None or pick[0] != pick[1]:
                    self.by_category.setdefault((level, category), _Kept()).add(example)


@dataclass(frozen=True)
class _Case:
    """A task of the run, and the commands that would mend it. marks: that look like those of a reasoning."""

    run: RecordedRun
    task: str
    marks: tuple[str, ...] = ()

    def finding(self, kind: str, kept: _Kept, of: int, said: str, cause: str, mending: Mending) -> Fault:
        doc_id = kept.kept[0].doc_id if kept.kept else 0
        return Fault(self.task, kind, kept.docs, of, said, cause, self.command(mending, doc_id), kept.examples)

    @cached_property
    def request(self) -> RunRequest:
        """The run's request for this task alone, in a folder of its own."""
        request = RunRequest.from_json(self.run.request)
        return replace(request, tasks=self._as_stated(request.tasks), output_path=None, samples=None, name=None)

    def _as_stated(self, tasks: tuple[str | Mapping[str, object], ...]) -> tuple[str | Mapping[str, object], ...]:
        """The task by its name, or as the mapping in which the run states it. One of a group so stated: all of the run's."""
        if not any(isinstance(each, Mapping) for each in tasks) or self.task in tasks:
            return (self.task,)
        found = of_names(tasks, [self.task])
        return found if isinstance(found[0], Mapping) else tasks

    @cached_property
    def config(self) -> Mapping[str, Any]:
        return self.run.results.configs.get(self.task, {})

    def command(self, mending: Mending, doc_id: int) -> str:
        """The command line that mends a fault, or shows more; empty where this version can't read the run's request."""
        try:
            return self._command(mending, doc_id)
        except MMEvalError:
            return ""

    def _command(self, mending: Mending, doc_id: int) -> str:
        request = self.request
        if mending == "marks":
            pair = self.marks if len(self.marks) == 2 and "/" in self.marks[1] else ("OPENING", "CLOSING")
            return f"mm-eval score {shlex.quote(str(self.run.folder))} --reasoning_tags {shlex.quote(','.join(pair))}"
        if mending == "again":
            return as_command(RunRequest.from_json(self.run.request))
        if mending == "tokens":
            return as_command(replace(request, gen_kwargs={**request.gen_kwargs, "max_new_tokens": 4 * self._cap}))
        if mending == "template" and not self.run.results.run.chat_template:
            return as_command(replace(request, chat_template=True))
        if mending == "length":
            return as_command(replace(request, on_long_prompt="fail", num_fewshot=0))
        blocks = list(self.config.get("model_specific_prompt_kwargs") or ())
        if mending == "prompts" and len(blocks) > 1:
            asked = as_command(replace(request, prompt_key=None), "prompts")
            return f"{asked} --keys {shlex.quote(','.join(blocks))}"
        return f"{as_command(request, 'show')} --doc {doc_id}"

    @property
    def _cap(self) -> int:
        stated = (self.request.gen_kwargs, self.config.get("generation_kwargs") or {})
        found = (options.get(name) for options in stated for name in TOKEN_CAPS)
        return next((cap for cap in found if isinstance(cap, int) and cap > 0), 256)


def _failures(case: _Case, seen: _Seen) -> Iterator[Fault]:
    for what, kept in seen.failures.items():
        said = f"{of_all(kept.docs, seen.docs, 'document', 'has', 'have')} no answer: {what}"
        cause = "the reason is in the message; the answers of the other documents are kept"
        yield case.finding("failed", kept, seen.docs, said, cause, "again")


def _forms(case: _Case, seen: _Seen) -> Iterator[Fault]:
    forms: dict[str, Form] = {form.name: form for form in FORMS}
    for name, kept in seen.forms.items():
        form, unread = forms[name], seen.unread[name]
        parts = (
            [f"{unread} unparsed"]
            if unread and name not in ("empty", "reasoning alone", "explanation", "unparsed", "other option")
            else []
        )
        if name == "truncated" and (silent := seen.without_text[name]):
            parts.append(f"{silent} before any text")
        also = f" ({', '.join(parts)})" if parts else ""
        said = f"the answers to {of_all(kept.docs, seen.answered, 'document')} {form.said}{also}"
        if form.name == "marks":
            case = replace(case, marks=unknown_marks(kept.kept[0].answer))
            said += f": {' '.join(case.marks)}"
        yield case.finding(name, kept, seen.answered, said, form.cause, form.mending)


def _no_template(case: _Case, seen: _Seen) -> Iterator[Fault]:
    if seen.pictures and seen.answered and case.run.request.get("chat_template") is False:
        every = _Kept(seen.answered)
        said = f"all {seen.answered} prompts were plain text, without the model's chat template"
        cause = "image-text models are trained with their template; --apply_chat_template false switched it off"
        yield case.finding("no template", every, seen.answered, said, cause, "template")


def _cut(case: _Case, seen: _Seen) -> Iterator[Fault]:
    if seen.cut.docs:
        said = f"the prompts of {of_all(seen.cut.docs, seen.answered, 'document')} were cut at their beginning"
        cause = "the prompt with its examples is longer than the model's length, so instructions may be missing"
        yield case.finding("cut prompt", seen.cut, seen.answered, said, cause, "length")
    if seen.unheard.docs:
        said = f"the sounds of {of_all(seen.unheard.docs, seen.answered, 'document')} were cut at their end"
        cause = "they are longer than the model's processor takes; --on_long_prompt fail leaves such documents out"
        yield case.finding("cut sound", seen.unheard, seen.answered, said, cause, "show")


def _remarks(case: _Case, seen: _Seen) -> Iterator[Fault]:
    """What metrics say of the docs' scores."""
    for remark, kept in seen.remarks.items():
        said = f"in {of_all(kept.docs, seen.answered, 'document')} {remark}"
        yield case.finding("remark", kept, seen.answered, said, "the published rule of the metric", "show")


_LETTER = re.compile(r"[(\[]?([A-Z])[)\].:]{0,2}")
_LETTER_ITSELF = re.compile("[A-Z]")
_KINDS = {
    "letters": "are read as letters, and the right answer is a text or an index",
    "texts": "are compared as whole texts, and the right answer is a letter",
    "marks": "are letters with other marks around them than the right answers have, as B and (B)",
}
"""Kinds of answers as they were compared with right answers of another kind."""


def _golds(case: _Case, seen: _Seen) -> Iterator[Fault]:
    """Answers that were compared with right answers of another kind, where no answer has a mark and most are such."""
    for kind, kept in seen.golds.items():
        if not seen.scored and 2 * kept.docs >= seen.answered:
            said = f"the answers to {of_all(kept.docs, seen.answered, 'document')} {_KINDS[kind]}"
            cause = (
                "doc_to_target and filter_list do not fit together, so that no answer can be right (mm-eval validate)"
            )
            yield case.finding("gold", kept, seen.answered, said, cause, "show")


def _other_kind(row: SampleRow) -> str:
    """The kind of the answers of a row where every pipeline's answers are of another kind than the right ones; else ""."""
    target = row.get("target")
    golds = [str(gold).strip() for gold in (target if isinstance(target, list) else [target]) if gold is not None]
    read = [(answers[0], rules[0]) for answers, rules in _by_pipeline(row) if answers and rules]
    if not golds or not read or not all(isinstance(answer, str) and rule != UNPARSED for answer, rule in read):
        return ""
    letters = [bool(_LETTER.fullmatch(answer.strip())) for answer, _ in read]
    golds_are_letters = [bool(_LETTER.fullmatch(gold)) for gold in golds]
    if all(letters) and not any(golds_are_letters):
        return "letters"
    if all(letters) and all(golds_are_letters):
        marks = {_LETTER_ITSELF.sub("A", gold) for gold in golds}
        return "" if any(_LETTER_ITSELF.sub("A", answer.strip()) in marks for answer, _ in read) else "marks"
    whole = all(rule == WHOLE_ANSWER and len(answer.strip()) > 3 for answer, rule in read)
    return "texts" if whole and all(golds_are_letters) else ""


def _by_pipeline(row: SampleRow) -> Iterator[tuple[list[Any], list[str]]]:
    """The answers of each pipeline of a row, with the rules that read them."""
    rules = row.get("rules") or {}
    for name, answers in (row.get("filtered_resps") or {}).items():
        yield answers, rules.get(name, [])


def _is_mark(value: object) -> bool:
    return bool(value) if isinstance(value, (bool, int, float)) else value is not None


def _bias(case: _Case, seen: _Seen) -> Iterator[Fault]:
    """One answer given far too often; or answers that agree with the right ones only as often as chance."""
    total = seen.picked.total()
    if total < LEAST_DOCS:
        return
    right, picks = Counter[str](), Counter[str]()
    for (gold, pick), count in seen.picked.items():
        right[gold] += count
        picks[pick] += count
    for pick, count in picks.most_common(1):
        agree = seen.picked[pick, pick]
        too_often, too_rarely = count - agree, right[pick] - agree
        excess = too_often - too_rarely
        if excess >= LEAST_BIAS * total and excess >= SURE * math.sqrt(too_often + too_rarely):
            said = f"{count} of {total} answers are {pick}, which is right for {right[pick]}"
            cause = "the model prefers this answer whatever is asked: it may not see the picture, or not understand the prompt"
            kept = replace(seen.wrong_picks.get(pick, _Kept()), docs=count)
            yield case.finding("bias", kept, total, said, cause, "prompts")
    same = sum(count for (gold, pick), count in seen.picked.items() if gold == pick) / total
    chance = sum(right[pick] * count for pick, count in picks.items()) / total**2
    if len(right) > 1 and same - chance < 2 * math.sqrt(chance * (1 - chance) / total):
        wrong = _Kept(
            round((1 - same) * total), [one for kept in seen.wrong_picks.values() for one in kept.kept][:MOST_KEPT]
        )
        said = f"the answers agree with the right ones in {same:.1%} of {total} documents; by chance it would be {chance:.1%}"
        cause = "the answers do not depend on what is asked: the model may not see the picture, or the answers are read wrongly"
        yield case.finding("chance", wrong, total, said, cause, "show")


def _low_categories(case: _Case, seen: _Seen) -> Iterator[Fault]:
    """The lowest category of each level, where it is far below the others together."""
    headline = case.run.results.headline(case.task)
    if headline is None:
        return
    for level, categories in case.run.results.categories.get(case.task, {}).items():
        rows = {name: (row.number(headline.key), row.n - row.failed) for name, row in categories.items()}
        shares = {
            name: (float(found.value), n)
            for name, (found, n) in rows.items()
            if found and isinstance(found.value, (int, float)) and 0 <= found.value <= 1 and n >= LEAST_DOCS // 2
        }
        if len(shares) < 2:
            continue
        name = min(shares, key=lambda each: shares[each][0])
        value, n = shares.pop(name)
        others = sum(n for _, n in shares.values())
        rest = sum(share * n for share, n in shares.values()) / others
        both = (value * n + rest * others) / (n + others)
        error = math.sqrt(both * (1 - both) * (1 / n + 1 / others))
        if rest - value >= LEAST_GAP and rest - value >= SURE * error:
            unit = unit_of(headline)
            shown = f"{headline.key.metric} {unit.text(value)}, the other categories together {unit.text(rest)}"
            said = f"{name} ({level}) has {shown}"
            cause = "the model lacks this skill, or this part of the data is asked or read in another form"
            kept = seen.by_category.get((level, name), _Kept())
            yield case.finding("low category", replace(kept, docs=n), seen.answered, said, cause, "show")


def _of_features(case: _Case, seen: _Seen) -> Iterator[Fault]:
    """What features find in the rows that they know."""
    for each in seen.of_features.values():
        for kind, docs, of, said, cause, mending, examples in each.found():
            kept = _Kept(docs, [FaultyDoc(doc_id, answer, "") for doc_id, answer in examples])
            yield case.finding(kind, kept, of, said, cause, mending)


def _kind_of_failure(what: str) -> str:
    """The message without its doc and numbers, so that equal failures are counted together."""
    return re.sub(r"\d+", "N", re.sub(r"^.*? doc \d+: ", "", what))[:200]


LONGEST = 160
"""Characters of an answer that are shown."""
MOST_ON_PAGE = 50
"""Findings on the page of a run, so that a run of many tasks in which everything failed still opens."""


def render(run: RecordedRun, findings: Sequence[Fault]) -> str:
    """Each fault with its count, likely cause, command and examples; one sentence where there is none."""
    lines = [f"{run.folder} ({run.model})"]
    if not findings:
        lines.append("Nothing odd was found: every document has an answer that the task's rules could read.")
    for task, found in groupby(findings, key=lambda finding: finding.task):
        lines += ["", task]
        for finding in found:
            lines += [
                f"  {finding.said}",
                *(
                    f"    doc {each.doc_id}: {_quoted(each.answer)}  right: {_quoted(each.right)}"
                    for each in finding.examples
                ),
                f"    likely: {finding.cause}",
                *([f"    try:    {finding.mend}"] if finding.mend else []),
            ]
    return "\n".join(map(in_line, lines))


def as_json(run: RecordedRun, findings: Sequence[Fault]) -> str:
    """The findings as a JSON document."""
    document = {"run": str(run.folder), "model": run.model, "findings": [asdict(each) for each in findings]}
    return json_safe(json.dumps(document, indent=2, ensure_ascii=False))


def as_values(findings: Sequence[Fault]) -> dict[str, object]:
    """The findings for a page: at most `MOST_ON_PAGE`, the rest as a count; long texts are cut."""
    shown = [
        {
            **{name: getattr(each, name) for name in ("task", "kind", "said", "cause", "mend")},
            "examples": [
                {"doc": one.doc_id, "answer": _quoted(one.answer), "right": _quoted(one.right)} for one in each.examples
            ],
        }
        for each in findings[:MOST_ON_PAGE]
    ]
    return {"shown": shown, "more": len(findings) - len(shown)}


def _quoted(text: str) -> str:
    return repr(text[:LONGEST]) + ("..." if len(text) > LONGEST else "")


def _preferred(row: SampleRow) -> str:
    """The choice that a model prefers, by its log-likelihoods."""
    choices = row.get("choices")
    if not choices or not row["resps"]:
        return repr(row["resps"])
    best = max(range(min(count_options(choices), len(row["resps"]))), key=lambda place: row["resps"][place][0])
    return str(choices[best]).strip()
