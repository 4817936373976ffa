"""Formats: layouts that make a prompt from a question, its choices and its answer, without a handwritten template.

A format takes the question, choices and answer that a task's `doc_to_text`, `doc_to_choice` and `doc_to_target` read from
a doc, and lays them out:

    {instruction}{question_prefix}{question}
    {A. choice}            one a line, where choice_labels is set
    {answer_instruction}{answer_prompt}

Register another with `@register_format("name")` on a function that returns a Format, or by an entry point of the group
"mm_eval.formats".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, Protocol

from mm_eval.config.located import TOKEN_CAPS, LocatedDict
from mm_eval.config.schema import SCORING_KEYS, WITH_PYTHON
from mm_eval.values.errors import ConfigError, DataError, InvalidValue, did_you_mean
from mm_eval.values.registry import Registry
from mm_eval.values.types import Fields, JsonObject

FORMATS: Registry[Callable[[], Format]] = Registry("format", entry_points="mm_eval.formats")
register_format = FORMATS.register

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_VARIABLE = re.compile(r"\{\{\s*(_num_choices|_choice_labels|_choice_list_and|_choice_list_or)\s*\}\}")


class Evaluate(Protocol):
    """Evaluates a task's entry (column, template, function or plain value) for a doc; implemented in `prompt.question`."""

    def __call__(self, spec: object, doc: Mapping[str, object], what: str) -> object: ...


@dataclass(frozen=True, kw_only=True)
class Format:
    """The layout of a prompt.

    instruction, question_prefix, answer_instruction, answer_prompt: texts; the first and the last two may use the Jinja
        variables _num_choices, _choice_labels, _choice_list_and ("A, B and C"), _choice_list_or, and the doc's columns.
    choice_labels: "letters", "numbers", a list of texts, or None: choices are not shown.
    choice_delimiter, section_separator: between choices; between question, choices and answer prompt.
    gen_prefix: how the answer begins. target_delimiter: between prompt and answer. fewshot_delimiter: between examples.
    scorer: a scorer's name or config; None for the output type's own.
    generation_kwargs: how the answer is generated, in place of what the task states for its own prompt; None for the defaults.
    paragraphs: whether the answer may have blank lines; in plain text it then ends where the next question would begin.
    question, choices, answer: columns or templates to read instead of the task's doc_to_text, doc_to_choice and
        doc_to_target, for a task whose doc_to_text is already a whole prompt.
    """

    output_type: Literal["multiple_choice", "generate_until", "loglikelihood"] = "multiple_choice"
    instruction: str | None = None
    question_prefix: str | None = "Question: "
    choice_labels: str | tuple[str, ...] | None = "letters"
    choice_delimiter: str = "\n"
    section_separator: str = "\n"
    answer_instruction: str | None = None
    answer_prompt: str = "Answer:"
    gen_prefix: str | None = None
    target_delimiter: str = " "
    fewshot_delimiter: str = "\n\n"
    scorer: str | Fields | None = None
    generation_kwargs: Mapping[str, Any] | None = None
    paragraphs: bool = False
    question: object = None
    choices: object = None
    answer: Any = None
    type: str = ""

    def labels(self, count: int) -> list[str] | list[int]:
        """The labels of `count` choices; numbers are ints. DataError if a list of labels is too short."""
        if self.choice_labels == "letters":
            return [LETTERS[i] if i < 26 else LETTERS[i // 26 - 1] + LETTERS[i % 26] for i in range(count)]
        if self.choice_labels == "numbers":
            return list(range(1, count + 1))
        if isinstance(self.choice_labels, tuple):
            if count > len(self.choice_labels):
                raise DataError(f"the document has {count} choices, but choice_labels names {len(self.choice_labels)}.")
            return list(self.choice_labels[:count])
        return []

    def text(self, question: str, choices: Sequence[str] | None, render: Callable[..., object] | None = None) -> str:
        """The prompt. render(template, variables): renders the texts that are Jinja templates, with the doc's columns."""
        labels = self.labels(len(choices)) if choices and self.choice_labels else []
        variables = {
            "_num_choices": len(choices or ()),
            "_choice_labels": labels,
            "_choice_list_and": _listing(labels, "and"),
            "_choice_list_or": _listing(labels, "or"),
        }

        def filled(template: str | None) -> str:
            text = template or ""
            if labels:
                text = _VARIABLE.sub(lambda found: str(variables[found.group(1)]), text)
            if render is None or "{{" not in text and "{%" not in text:
                return text
            return str(render(text, variables))

        gap = self.section_separator
        parts = [filled(self.instruction), self.question_prefix or "", question]
        if labels:
            pairs = zip(labels, choices or (), strict=True)
            parts += [gap, self.choice_delimiter.join(f"{label}. {choice}" for label, choice in pairs)]
        return "".join([*parts, gap, filled(self.answer_instruction), filled(self.answer_prompt)])

    @property
    def stop(self) -> str:
        """What ends an answer in plain text: the gap between examples; for `paragraphs` the start of the next."""
        begins = (self.instruction or self.question_prefix or "").partition("{")[0].partition("\n")[0]
        return self.fewshot_delimiter + (begins if self.paragraphs else "")

    def options(self, choices: Sequence[str] | None) -> list[str] | list[int] | None:
        """The options that the model chooses from: the labels if there are any, else the choices themselves."""
        if choices is None:
            return None
        return self.labels(len(choices)) if self.choice_labels else list(choices)

    def target(self, answer: object, choices: Sequence[str] | None) -> object:
        """The right answer: an index for multiple_choice, else the label or text that the prompt requests.

        answer: an index, a choice's text, an option letter, or a list of these. Digits in a text are not an index.
        """
        if isinstance(answer, (list, tuple)):
            return [self.target(item, choices) for item in answer]
        if isinstance(answer, bool) or answer is None:
            raise DataError(f"the answer {answer!r} does not name a choice.")
        index = self._index(answer, choices or ())
        if self.output_type == "multiple_choice":
            if index is None:
                raise DataError(f"the answer {answer!r} is none of the choices {list(choices or ())!r}.")
            return index
        if index is None or not choices:
            return answer if isinstance(answer, str) else str(answer)
        if index < 0:
            return ""
        return str(self.labels(len(choices))[index]) if self.choice_labels else choices[index]

    def _index(self, answer: object, choices: Sequence[str]) -> int | None:
        """The index of the choice that an answer names, None if it names none; -100 ("no gold") is kept."""
        if isinstance(answer, float) and answer.is_integer() or hasattr(answer, "__index__"):
            index = int(answer)
            if choices and index != -100 and not 0 <= index < len(choices):
                raise DataError(f"the answer is the index {index}, but there are {len(choices)} choices.")
            return index
        equal = [i for i, choice in enumerate(choices) if choice == answer]
        if len(equal) > 1:
            raise DataError(f"the answer {answer!r} equals several of the choices {list(choices)!r}.")
        if equal:
            return equal[0]
        named = list(self.choice_labels) if isinstance(self.choice_labels, tuple) else []
        if answer in named[: len(choices)]:
            return named.index(answer)
        letter = str(answer).strip().upper()
        if len(letter) == 1 and letter in LETTERS[: len(choices)] and (self.choice_labels or self.is_choice):
            return LETTERS.index(letter)
        return None

    @property
    def is_choice(self) -> bool:
        return self.output_type == "multiple_choice"

    def overrides(self) -> dict[str, object]:
        """The task's keys that the format sets, except for the doc_to_* fields."""
        decided: dict[str, object] = {
            "output_type": self.output_type,
            "target_delimiter": self.target_delimiter,
            "fewshot_delimiter": self.fewshot_delimiter,
        }
        decided.update({k: v for k in ("gen_prefix", "scorer") if (v := getattr(self, k)) is not None})
        return decided

    def to_json(self) -> dict[str, object]:
        """All fields under their names, with `type` first."""
        stated = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "type"}
        labels = stated["choice_labels"]
        stated["choice_labels"] = list(labels) if isinstance(labels, tuple) else labels
        return {"type": self.type, **{k: v for k, v in stated.items() if k not in _LEFT_OUT or v != _LEFT_OUT[k]}}


SOURCES = ("question", "choices", "answer")
_LEFT_OUT = {"generation_kwargs": None, "paragraphs": False, **dict.fromkeys(SOURCES)}
"""Fields that are stated only where they differ from these values: digests of formats without them stay as they are."""
_OPTIONAL = {
    "instruction",
    "question_prefix",
    "answer_instruction",
    "gen_prefix",
    "scorer",
    "generation_kwargs",
    *SOURCES,
}

_LEAD = re.compile(r"\s*\b(?:question|problem|q)\s*:\s*", re.IGNORECASE)
_TAIL = re.compile(r"(?:^|\s)(?:answer|a)\s*:\s*$", re.IGNORECASE)
STATE_SOURCES = "State what formats read: `formats: {none: {question: ..., choices: ..., answer: ...}}`."


@dataclass(frozen=True)
class FormatField:
    """One `doc_to_*` entry of a task with a format: the entries to read from the doc, and their layout.

    part: "text", "choices" (the labels, where there are any), "texts" (of the choices) or "target".
    question, choices, answer: the task's own entries.
    A question that is the task's `doc_to_text` may have the form of a prompt already: a "Question:" before it and an
    "Answer:" after it are left out, and choices that it shows itself are an error.
    """

    part: Literal["text", "choices", "target", "texts"]
    format: Format
    question: object = "question"
    choices: object = None
    answer: Any = "answer"

    def evaluate(
        self, doc: Mapping[str, object], evaluate: Evaluate, choices_of: Callable[[object], list[str]]
    ) -> object:
        """The prompt, the options or the target of a doc.

        evaluate: evaluates an entry for a doc. choices_of(entry): the doc's choices as texts.
        """
        has_choices = self.choices is not None or self.format.choice_labels or self.format.is_choice or "choices" in doc
        choices = self._choices(doc, choices_of) if has_choices else None
        if self.part == "texts":
            return choices
        if self.part == "choices":
            options = self.format.options(choices)
            return None if options is None else [str(option) for option in options]
        if self.part == "target":
            return self.format.target(self._named(evaluate(self.answer, doc, "doc_to_target"), choices), choices)
        question = evaluate(self.question, doc, "doc_to_text")
        if not isinstance(question, (str, int, float)):
            raise DataError(f"doc_to_text returned {type(question).__name__}; expected the text of a question.")
        text = str(question)
        if self.format.question is None:
            text = self._without_layout(text)
            if choices and shows_choices(text, choices):
                what = f"doc_to_text is a whole prompt that shows the choices; {self.format.type!r} needs the question."
                raise DataError(what, hint=STATE_SOURCES)
        return self.format.text(
            text, choices, lambda template, variables: evaluate(template, {**doc, **variables}, "formats")
        )

    def _choices(self, doc: Mapping[str, object], choices_of: Callable[[object], list[str]]) -> list[str]:
        """The texts of the choices."""
        if self.choices is None and "choices" not in doc:
            what = f"the format {self.format.type!r} needs choices: there is no doc_to_choice, and no column 'choices'."
            raise DataError(what, hint=STATE_SOURCES)
        choices = choices_of("choices" if self.choices is None else self.choices)
        if self.format.choices is None and are_labels(choices):
            what = (
                f"doc_to_choice has only labels, {', '.join(choices)}; {self.format.type!r} needs the choices' texts."
            )
            raise DataError(what, hint=STATE_SOURCES)
        return without_labels(choices)

    def _named(self, answer: object, choices: Sequence[str] | None) -> object:
        """The answer as its choice's text or letter: without a label before it or brackets around it.

        A letter becomes the text of its choice where the choices have no labels.
        """
        if isinstance(answer, (list, tuple)):
            return [self._named(each, choices) for each in answer]
        if not choices or not isinstance(answer, str) or answer in choices:
            return answer
        letter = answer.strip(" ().[]").upper()
        labelled = [i for i, choice in enumerate(choices) if _label(i).sub("", answer, count=1) == choice]
        if len(labelled) == 1 and len(letter) > 1:
            return choices[labelled[0]]
        if len(letter) != 1 or letter not in LETTERS[: len(choices)]:
            return answer
        return letter if self.format.choice_labels else choices[LETTERS.index(letter)]

    def _without_layout(self, text: str) -> str:
        """A question without the words around it that the format writes itself."""
        if self.format.question_prefix and (lead := _LEAD.match(text)):
            text = text[lead.end() :]
        if self.format.answer_prompt and (tail := _TAIL.search(text)):
            text = text[: tail.start()].rstrip()
        return text


def shows_choices(text: str, choices: Sequence[str]) -> bool:
    """Whether a text lists the choices: each behind its label ("A. cat"), or alone on its line."""
    if not all(choice.strip() and choice.strip() in text for choice in choices):
        return False
    labels = [rf"(?:{LETTERS[i]}|{LETTERS[i].lower()}|{i + 1})" if i < 26 else str(i + 1) for i in range(len(choices))]
    texts = [re.escape(choice.strip()) for choice in choices]
    labelled = (rf"(?:^|\W){label}\W{{1,3}}{choice}" for label, choice in zip(labels, texts, strict=True))
    alone = (rf"(?m)^\W*{choice}\W*$" for choice in texts)
    return all(re.search(each, text) for each in labelled) or all(re.search(each, text) for each in alone)


def are_labels(choices: Sequence[str]) -> bool:
    """Whether choices are nothing but labels, "A", "B" or "(A)", "(B)", whose texts stand elsewhere."""
    bare = [choice.strip(" ().:[]").upper() for choice in choices]
    return len(bare) > 1 and bare == list(LETTERS[: len(bare)])


def _label(index: int) -> re.Pattern[str]:
    """Finds the label of a choice before its text: "A. ", "(A) ", "a) ", "1. "."""
    letter = LETTERS[index % 26]
    return re.compile(rf"\A\s*\(?(?:{letter}|{letter.lower()}|{index + 1})[.):]\s+")


def without_labels(choices: Sequence[str]) -> list[str]:
    """The texts of choices that all carry their labels ("A. cat", "B. dog"); other choices as they are."""
    labels = [_label(index).match(choice) for index, choice in enumerate(choices)]
    ends = [label.end() for label in labels if label]
    if len(choices) < 2 or len(ends) < len(choices):
        return list(choices)
    return [choice[end:] for choice, end in zip(choices, ends, strict=True)]


def _listing(labels: Sequence[object], word: str) -> str:
    """ "A, B and C"."""
    texts = [str(label) for label in labels]
    return f" {word} ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else "".join(texts)


@register_format("mcqa")
def mcqa() -> Format:
    """The choices are shown with letters; the likeliest letter is the answer."""
    return Format()


@register_format("cloze")
def cloze() -> Format:
    """The choices are not shown; the choice whose text is likeliest after the question is the answer."""
    return Format(choice_labels=None)


@register_format("generate")
def generate() -> Format:
    """The choices are shown with letters, and the model writes the letter."""
    return Format(
        output_type="generate_until",
        instruction="Given the following question and {{ _num_choices }} candidate answers ({{ _choice_list_and }}), "
        "choose the best answer.\n",
        answer_prompt='Your response should end with "The best answer is [answer_letter]" where the [answer_letter] '
        "is one of {{ _choice_list_or }}.",
        gen_prefix="The best answer is",
        target_delimiter="\n",
        scorer="first_token",
    )


@register_format("cot")
def cot() -> Format:
    """The model reasons step by step and ends with the answer's text; no choices are shown.

    A blank line is part of the reasoning: in plain text the answer ends where the next problem would begin.
    """
    return replace(
        generate(),
        instruction="Given the following problem, reason step by step to find the final answer.\n",
        question_prefix="Problem: ",
        choice_labels=None,
        answer_prompt='Your response should end with "The final answer is [answer]" where [answer] is the response '
        "to the problem.",
        gen_prefix=None,
        generation_kwargs={"max_new_tokens": 2048},
        paragraphs=True,
    )


def build_format(spec: str | Mapping[str, object] | Format, *, where: str = "") -> Format:
    """A format from its name, or from `{type: name, field: value, ...}`. ConfigError on unknown names and wrong types."""
    if isinstance(spec, Format):
        return spec
    stated: JsonObject = {"type": spec} if isinstance(spec, str) else dict(spec)
    name = stated.pop("type", None)
    if not isinstance(name, str):
        hint = did_you_mean("", FORMATS.names())
        raise ConfigError(f"a format needs a `type`: {stated!r:.80}.", where=where, hint=hint)
    known = {f.name for f in fields(Format)} - {"type", "output_type"}
    for key, value in stated.items():
        at = spec.where(key) if isinstance(spec, LocatedDict) else where
        if key not in known:
            raise ConfigError(f"format {name!r} has no field {key!r}.", where=at, hint=did_you_mean(key, known))
        check_field(name, key, value, at)
    if isinstance(stated.get("choice_labels"), list):
        stated["choice_labels"] = tuple(stated["choice_labels"])
    return replace(FORMATS.get(name, where=where)(), **stated, type=name)


def check_field(name: str, key: str, value: Any, where: str) -> None:
    """ConfigError if a field of a format has a value of a wrong type."""
    valid = isinstance(value, str) or value is None and key in _OPTIONAL
    if key == "choice_labels":
        is_list = isinstance(value, list) and len(value) > 0 and all(isinstance(label, str) for label in value)
        valid = is_list or value in (None, "letters", "numbers")
        if is_list and len(set(value)) < len(value):
            raise ConfigError(f"choice_labels of format {name!r} names a label twice: {value!r}.", where=where)
    elif key == "scorer":
        valid = valid or isinstance(value, Mapping)
    elif key == "generation_kwargs":
        valid = value is None or isinstance(value, Mapping)
    elif key == "paragraphs":
        valid = isinstance(value, bool)
    elif key in SOURCES:
        valid = valid or isinstance(value, (list, int)) or callable(value) or hasattr(value, "resolve")
    if not valid:
        raise ConfigError(f"{key!r} of format {name!r} can't be {value!r:.80}.", where=where)


OWN_PROMPT = "none"
"""The format name that stands for the prompt that a task writes itself."""


def by_name(formats: Any) -> dict[str, object]:
    """{name: its entry} of a task's `formats`: a name, `{type: ...}`, or `{name: fields or null, ...}`."""
    if not formats or formats == OWN_PROMPT:
        return {}
    if isinstance(formats, str):
        return {formats: formats}
    return {formats["type"]: formats} if "type" in formats else dict(formats)


def select_format(formats: object, selected: str | None, *, where: str = "") -> Format | None:
    """The format of a task: the one requested with `task@name`, else the (first) one in the YAML, else None.

    formats: the YAML's `formats`, as of `by_name`. A requested format that is not listed there is used as registered, and reads
    the same columns as the first listed one. The name `none` stands for the prompt that the task writes itself:
    `none: {question: ..., choices: ..., answer: ...}` only states what formats read. `formats: none` refuses all of them: nothing
    in the data is a question without its prompt.
    """
    if formats == OWN_PROMPT and selected not in (None, OWN_PROMPT):
        what = f"the format {selected!r} can't be applied to this task: its data has no question apart from the prompt."
        raise ConfigError(what, where=where, hint="Leave the @ and the format out.")
    stated = by_name(formats)
    if not stated:
        return _registered(selected, (), where) if selected and selected != OWN_PROMPT else None
    first = next(iter(stated))
    name = selected or first
    place = formats.where(name) if isinstance(formats, LocatedDict) else where
    if name in stated or name == OWN_PROMPT:
        return _stated_format(name, stated.get(name), place)
    layout = _own_prompt(stated[first], where) if first == OWN_PROMPT else _stated_format(first, stated[first], where)
    return replace(_registered(name, stated, where), **{key: getattr(layout, key) for key in SOURCES})


def _registered(name: str, stated: Iterable[str], where: str) -> Format:
    """A format that is requested with `task@name` and registered. stated: the formats that the task has besides.

    The word after @ may also be meant for the tool, so the hint knows it.
    """
    if name not in FORMATS:
        known = [*FORMATS.names(), *stated, WITH_PYTHON.removeprefix("@")]
        raise InvalidValue(f"Unknown format {name!r}.", where=where, hint=did_you_mean(name, known))
    return build_format(name, where=where)


def _own_prompt(stated: Any, where: str) -> Format:
    """The columns under `none`, as fields of a format; ConfigError on any other field."""
    fields_stated = dict(stated or {})
    for key, value in fields_stated.items():
        if key not in SOURCES:
            hint = did_you_mean(str(key), SOURCES)
            raise ConfigError(f"the format {OWN_PROMPT!r} has no field {key!r}.", where=where, hint=hint)
        check_field(OWN_PROMPT, key, value, where)
    return Format(**fields_stated)


def _stated_format(name: str, stated: object, where: str) -> Format | None:
    """A format from its entry under `formats`: null, another format's name, or fields."""
    if name == OWN_PROMPT:
        _own_prompt(stated, where)
        return None
    if stated is None or isinstance(stated, str):
        return build_format(stated or name, where=where)
    if not isinstance(stated, Mapping):
        raise ConfigError(f"the fields of format {name!r} must be a mapping, not {stated!r:.80}.", where=where)
    spec = LocatedDict(stated)
    spec.setdefault("type", name)
    return build_format(spec, where=where)


def _is_short(key: str, value: object, layout: Format) -> bool:
    """Whether a generation option caps the answer to a task's own prompt, such as a lone letter, below what a format asks for."""
    least = (layout.generation_kwargs or {}).get("max_new_tokens", 256)
    return key in TOKEN_CAPS and isinstance(value, (int, float)) and value < least


def with_format(values: JsonObject, source: LocatedDict, layout: Format, requested: str | None) -> dict[str, object]:
    """The fields of a task with a format applied.

    The task's own scoring is dropped if the requested format has another output type, or scores by itself and the task
    doesn't list it under `formats`: that scoring was written for other answers.
    """
    formats = source.get("formats")
    own = select_format(formats, None)
    own_type = own.output_type if own else values.get("output_type", "generate_until")
    chosen = requested is not None and requested != (own.type if own else None)
    listed = requested is None or requested in by_name(formats)
    drops_scoring = chosen and (layout.output_type != own_type or not listed and layout.scorer is not None)
    kept = {key: value for key, value in values.items() if not (drops_scoring and key in SCORING_KEYS)}
    if values.get("output_type", layout.output_type) != layout.output_type and not chosen:
        what = f"output_type is {values['output_type']!r}, but the format {layout.type!r} is {layout.output_type!r}."
        raise ConfigError(what, where=source.where("output_type"), hint="Leave output_type out.")
    inputs: JsonObject = {
        "question": layout.question if layout.question is not None else values.get("doc_to_text", "question"),
        "choices": layout.choices if layout.choices is not None else values.get("doc_to_choice"),
        "answer": layout.answer if layout.answer is not None else values.get("doc_to_target", "answer"),
    }
    kept.update(layout.overrides())
    if chosen and not listed and layout.output_type == "generate_until":
        own_options = kept.get("generation_kwargs") or {}
        kept["generation_kwargs"] = {
            k: v for k, v in own_options.items() if k != "until" and not _is_short(k, v, layout)
        }
    if layout.generation_kwargs is not None:
        options = kept.get("generation_kwargs") or {}
        capped = any(options.get(name) is not None for name in TOKEN_CAPS)
        of_format = {k: v for k, v in layout.generation_kwargs.items() if not (capped and k in TOKEN_CAPS)}
        kept["generation_kwargs"] = {**of_format, **options}
    kept.pop("doc_to_messages", None)  # the format makes the prompt, for chat models too
    kept["doc_to_text"] = FormatField("text", layout, **inputs)
    kept["doc_to_target"] = FormatField("target", layout, **inputs)
    if layout.choice_labels or layout.is_choice or inputs["choices"] is not None:
        kept["doc_to_choice"] = FormatField("choices", layout, **inputs)
    return kept
