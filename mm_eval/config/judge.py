"""`judge:` in a task file: the questions to a judge about the model's answers, and how its replies are read.

    judge:
      prompt: !function utils.judge_prompt      # (doc, answer) -> text or chat messages
      verdict: !function utils.verdict          # (reply) or (reply, doc) -> a value, {metric: value}, or None: unreadable
      verdict_examples: [["GRADE: C", 1], ["well, 1 of 10", null]]
      official: gpt-4o-2024-05-13

A list of such mappings is a chain of steps: the verdict of each is the `answer` of the next one's prompt.
With `total: !function utils.total` the judge is asked several questions about one answer, such as one for each turn of a
conversation: `prompt` also gets the verdicts so far and returns None at the end, and `total` makes the doc's verdict of all.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from mm_eval.config.arguments import Rule
from mm_eval.config.checks import check_metrics
from mm_eval.config.located import LocatedDict, laid_over, located, where_item
from mm_eval.config.schema import (
    BOOLEAN,
    FUNCTION,
    MAPPING,
    MAPPINGS,
    REPEATS,
    TEXT,
    check_keys,
    is_function,
    is_mappings,
)
from mm_eval.values.errors import ConfigError, MMEvalError, kind_and_text
from mm_eval.values.types import Fields

GENERATION: Mapping[str, object] = {"temperature": 0, "max_new_tokens": 512}
"""How a judge generates where the task does not say."""
METRICS: list[Mapping[str, object]] = [{"metric": "judge_score", "aggregation": "mean", "higher_is_better": True}]


_EXAMPLES = Rule(
    "a list of [reply, value] or [reply, value, doc]",
    lambda v: isinstance(v, list) and bool(v) and all(map(_is_example, v)),
)
STEP_KEYS: dict[str, Rule] = {
    "prompt": FUNCTION,
    "verdict": FUNCTION,
    "verdict_examples": _EXAMPLES,
    "generation_kwargs": MAPPING,
}
LAST_KEYS: dict[str, Rule] = {
    "official": TEXT,
    "only_unparsed": BOOLEAN,
    "extracts": BOOLEAN,
    "total": FUNCTION,
    "empty": Rule("a verdict: a number, a text, a mapping, or a !function of the document", lambda v: v is not None),
    "range": Rule(
        "[lowest, highest] or a function of the document",
        lambda v: is_function(v) or isinstance(v, list) and len(v) == 2,
    ),
    "repeats": REPEATS,
    "metric_list": MAPPINGS,
}
"""Keys of the last step alone: they are about the number, not about a question."""


def _is_example(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) in (2, 3)
        and isinstance(value[0], str)
        and (len(value) == 2 or isinstance(value[2], Mapping))
    )


def _given(key: str, function: Callable[[object], object], doc: object) -> Any:
    """What a function of the task gives for a doc. Errors: ConfigError with its key where it fails."""
    try:
        return function(doc)
    except MMEvalError:
        raise
    except Exception as error:  # the task's own code
        raise ConfigError(
            f"the judge's `{key}` failed: {kind_and_text(error)}", hint="It is code of the task."
        ) from error


@dataclass(frozen=True)
class JudgeStep:
    """One question to the judge. where: file:line. examples: (reply, verdict, columns of a doc)."""

    prompt: Any
    verdict: Any
    examples: tuple[tuple[str, object, Fields], ...]
    generation_kwargs: Mapping[str, object]
    where: str = ""

    def ask(
        self, doc: object, answer: object, swapped: bool = False, verdicts: Sequence[object] | None = None
    ) -> object:
        """What the task's function writes for an answer: text or chat messages. swapped: the other order of a pair.

        verdicts: of the questions before, under `total`; None is returned where no further one is to be asked.
        """
        before = () if verdicts is None else (list(verdicts),)
        return self.prompt(doc, answer, *before, **({"swapped": swapped} if self.is_pairwise else {}))

    def read(self, reply: str, doc: object, swapped: bool = False, verdicts: Sequence[object] = ()) -> object:
        """What the task's function reads in a reply; None where it can't. verdicts: of the questions before, under `total`."""
        takes, known = _parameters(self.verdict), {"swapped": swapped, "verdicts": list(verdicts)}
        more = {name: value for name, value in known.items() if name in takes}
        return self.verdict(reply, doc, **more) if len(takes - known.keys()) > 1 else self.verdict(reply, **more)

    @property
    def is_pairwise(self) -> bool:
        """Whether the prompt shows two answers, which can be asked in both orders."""
        return "swapped" in _parameters(self.prompt)


@dataclass(frozen=True)
class JudgeConfig:
    """The checked `judge:` of a task.

    official: the judge that the benchmark's authors used. empty: the verdict of an empty answer, which is not sent, or a
        function of the doc that gives it.
    range: [lowest, highest] verdict, or a function of the doc that gives it. repeats: verdicts a doc.
    only_unparsed: only answers that the task's own rules could not read are judged.
    total: makes the doc's verdict of those of several questions: (verdicts, doc, answer) -> verdict; None for one question.
    extracts: what is read takes the place of the answer, and the task's own filters and metrics score it.
    by_code: there is no `judge:`; the task's own process_results asks the judge, through lmms-eval's module.
    """

    steps: tuple[JudgeStep, ...]
    official: str = ""
    only_unparsed: bool = False
    extracts: bool = False
    empty: object = 0
    range: Any = field(default_factory=lambda: [0, 1])
    repeats: int = 1
    metric_list: Sequence[Fields] = field(default_factory=lambda: METRICS)
    total: Any = None
    by_code: bool = False

    @property
    def replaces_rules(self) -> bool:
        """Whether its verdicts change the numbers of the task's own metrics, so that they have no value without a judge."""
        return self.extracts or self.only_unparsed or self.by_code

    @property
    def metrics(self) -> list[str]:
        """The names of its own metrics; none under `extracts`."""
        return [] if self.extracts or self.by_code else [str(entry["metric"]) for entry in self.metric_list]

    def bounds(self, doc: Mapping[str, object]) -> tuple[Any, Any]:
        """The lowest and the highest verdict of a doc. Errors: ConfigError where the task's function fails."""
        low, high = _given("range", self.range, doc) if callable(self.range) else self.range
        return low, high

    def of_empty(self, doc: Mapping[str, object]) -> Any:
        """The verdict of an empty answer to a doc. Errors: ConfigError for one that can't be used."""
        found = _given("empty", self.empty, doc) if callable(self.empty) else self.empty
        if callable(self.empty) and (fault := "it is None." if found is None else self.fault(found)):
            raise ConfigError(f"the verdict that `empty` gives can't be used: {fault}", hint="It is code of the task.")
        return found

    def fault(self, value: Any) -> str:
        """Why a verdict can't be used. Empty if it can."""
        if self.extracts:
            return "" if isinstance(value, str) else f"it is {value!r:.60}, and `extracts` needs a text."
        bounds = (None, None) if is_function(self.range) else self.range
        named = value if isinstance(value, Mapping) else {"": value}
        for name, part in named.items():
            if name and name not in self.metrics and not (self.only_unparsed and not self.metric_list):
                return f"it names {name!r}, which metric_list does not."
            parts = part if isinstance(part, (list, tuple)) else [part]
            if any(isinstance(each, float) and not math.isfinite(each) for each in parts):
                return f"it is {part}."
            low, high = (bound.get(name) if isinstance(bound, Mapping) else bound for bound in bounds)
            if all(isinstance(each, (int, float)) for each in (low, part, high)) and not low <= part <= high:
                return f"it is {part:g}, outside of the range {low:g} to {high:g}."
        return ""


@lru_cache(maxsize=4096)
def _parameters(function: Callable[..., object]) -> frozenset[str]:
    """The names of a function's parameters that can be given by position or name."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return frozenset({"reply"})
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return frozenset(each.name for each in parameters if each.kind in kinds)


def judge_of(stated: Any, fallback: str) -> JudgeConfig:
    """The `judge:` of a task. fallback: the place for errors of a value without places.

    Errors: ConfigError with file:line for each unknown or missing key, wrong type, or conflict within `judge`.
    """
    if not (isinstance(stated, Mapping) or stated and is_mappings(stated)):
        raise ConfigError(f"'judge' must be a mapping, or a list of mappings, not {stated!r:.80}.", where=fallback)
    entries = [located(step) for step in (stated if isinstance(stated, list) else [stated])]
    last = entries[-1]
    for number, entry in enumerate(entries, 1):
        what = f"step {number} of judge" if len(entries) > 1 else "judge"
        place = where_item(stated, number - 1, fallback) if isinstance(stated, list) else fallback
        if entry is not last and (early := [key for key in entry if key in LAST_KEYS]):
            raise ConfigError(f"{early[0]!r} belongs in the last step of judge.", where=entry.where(early[0]))
        check_keys(entry, {**STEP_KEYS, **(LAST_KEYS if entry is last else {})}, what)
        for key in ("prompt", "verdict", "verdict_examples"):
            if entry.get(key) is None:
                hint = 'verdict_examples: [["GRADE: C", 1], ["well, 1 of 10", null]]' if "examples" in key else ""
                raise ConfigError(f"{what} needs `{key}`.", where=place, hint=hint)
        if all(example[1] is not None for example in entry["verdict_examples"]):
            what = "one of verdict_examples must be a reply that is unreadable: its verdict is null."
            raise ConfigError(what, where=entry.where("verdict_examples"))
    made = JudgeConfig(
        tuple(_step(entry, fallback) for entry in entries),
        **{key: last[key] for key in LAST_KEYS if last.get(key) is not None},
    )
    if made.total is not None and (made.extracts or made.only_unparsed or len(entries) > 1):
        what = "`total` belongs to a judge of one step, without extracts and only_unparsed."
        raise ConfigError(what, where=last.where("total"))
    if made.extracts and last.get("metric_list") is not None:
        what = "under `extracts` the task's own metrics score what is read, so `judge` has no metric_list."
        raise ConfigError(what, where=last.where("metric_list"))
    if made.only_unparsed and not made.extracts:
        entries_of = last.get("metric_list") or []
        if more := [key for entry in entries_of for key in entry if key != "metric"]:
            what = f"under `only_unparsed` the task's own metric_list says {more[0]!r}; judge's only names the metrics."
            raise ConfigError(what, where=last.where("metric_list"))
        made = replace(made, metric_list=entries_of)
    if made.extracts and made.repeats > 1:
        raise ConfigError("`extracts` takes one verdict per document, so repeats is 1.", where=last.where("repeats"))
    if not made.extracts and not is_function(made.empty) and (fault := made.fault(made.empty)):
        what = f"the verdict of an empty answer can't be used: {fault}"
        raise ConfigError(what, where=last.where("empty" if "empty" in last else "range"), hint="State it as `empty`.")
    for number, step in enumerate(made.steps):
        for reply, value, _ in step.examples if number == len(made.steps) - 1 and made.total is None else ():
            if value is not None and (fault := made.fault(value)):
                what = f"the verdict of the example {reply!r:.60} can't be used: {fault}"
                raise ConfigError(what, where=last.where("verdict_examples"))
    check_metrics(made.metric_list, fallback)
    return made


def _step(entry: LocatedDict, fallback: str) -> JudgeStep:
    examples = tuple((each[0], each[1], each[2] if len(each) > 2 else {}) for each in entry["verdict_examples"])
    options = laid_over(GENERATION, entry.get("generation_kwargs") or {})
    return JudgeStep(entry["prompt"], entry["verdict"], examples, options, entry.where("prompt") or fallback)
