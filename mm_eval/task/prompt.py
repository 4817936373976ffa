"""From a doc to the words of a question: columns, Jinja templates, functions, and the prompt block that suits the model."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mm_eval.catalog.formats import FormatField
from mm_eval.errors import ConfigError, DataError, did_you_mean
from mm_eval.types import Doc, Target

if TYPE_CHECKING:
    from mm_eval.task.task import Task

PROMPT_KEYWORDS = ("model_specific_prompt_kwargs", "lmms_eval_specific_kwargs")
"""The two names under which a task's function may ask for the prompt block of the model."""

_COLUMN = re.compile(r"[A-Za-z_]\w*\Z")
_ONE_EXPRESSION = re.compile(r"\s*\{\{(.+?)\}\}\s*\Z", re.DOTALL)


@dataclass(frozen=True)
class PromptBlock:
    """The prompt kwargs that hold for one task and one model.

    key: the block that was laid over `default` ("default" itself where none was).
    kwargs: what the task's functions get. read: where it is a set, the keys that they look for are put into it.
    """

    key: str = "default"
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    read: set[str] | None = field(default=None, compare=False)

    def for_function(self) -> dict[str, Any]:
        """The kwargs as a task's function gets them: a copy, which notes what is read where that is asked for."""
        return dict(self.kwargs) if self.read is None else RecordingBlock(self.kwargs, self.read)


class RecordingBlock(dict[str, Any]):
    """Prompt kwargs that note which keys a task's function looks for, whether they are there or not."""

    def __init__(self, kwargs: Mapping[str, Any], read: set[str]) -> None:
        super().__init__(kwargs)
        self._read = read

    def __getitem__(self, key: str) -> Any:
        self._read.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self._read.add(key)
        return super().get(key, default)

    def pop(self, key: str, *default: Any) -> Any:
        self._read.add(key)
        return super().pop(key, *default)

    def __contains__(self, key: object) -> bool:
        self._read.add(str(key))
        return super().__contains__(key)

    def __iter__(self) -> Iterator[str]:
        self._read.update(super().keys())
        return super().__iter__()

    def keys(self) -> Any:
        self._read.update(super().keys())
        return super().keys()

    def values(self) -> Any:
        self._read.update(super().keys())
        return super().values()

    def items(self) -> Any:
        self._read.update(super().keys())
        return super().items()


def choose_block(blocks: Mapping[str, Any] | None, model_keys: Sequence[str], asked: str | None = None) -> PromptBlock:
    """`default` overlaid by the most specific block of the model, or by the one asked for where the task has it.

    blocks: `model_specific_prompt_kwargs` of a task; a task without `default` is fine.
    model_keys: from most to least specific.
    """
    blocks = blocks or {}
    keys = (asked,) if asked else model_keys
    key = next((key for key in keys if key in blocks), "default")
    default, chosen = blocks.get("default") or {}, blocks.get(key) or {}
    if isinstance(default, Mapping) and isinstance(chosen, Mapping):
        return PromptBlock(key, {**default, **chosen})
    raise ConfigError(f"the prompt block {key!r} is not a mapping: {chosen!r}.")


def call(function: Callable[..., Any], doc: Doc, block: PromptBlock) -> Any:
    """Calls a task's function with the doc and, if it declares the keyword, with the prompt block."""
    keyword = _prompt_keyword(function)
    return function(doc, **{keyword: block.for_function()}) if keyword else function(doc)


@lru_cache(maxsize=4096)
def _prompt_keyword(function: Callable[..., Any]) -> str | None:
    try:
        names = inspect.signature(function).parameters
    except (TypeError, ValueError):  # a builtin without a signature
        return None
    return next((keyword for keyword in PROMPT_KEYWORDS if keyword in names), None)


def check_prompt_keys(task: Task, doc_ids: Sequence[int], block: PromptBlock) -> None:
    """Checks that some function of the task reads each key of a prompt block.

    A function may read a key for some kind of doc only, so that up to 100 docs are tried. A task none of whose functions takes
    the block is left alone. Errors: ConfigError naming a key that none reads, with what they look for instead.
    """
    config, read = task.config, set[str]()
    takers = [getattr(config, f"doc_to_{part}") for part in ("text", "target", "choice", "visual")]
    if not block.kwargs or not any(callable(taker) and _prompt_keyword(taker) for taker in takers):
        return
    recording = replace(block, read=read)
    for doc_id in doc_ids[:100]:
        task.question(task.docs.text(doc_id), recording, f"{config.path} doc {doc_id}")
        if read >= block.kwargs.keys():
            return
    if callable(config.doc_to_visual) and _prompt_keyword(config.doc_to_visual):
        call(config.doc_to_visual, task.docs.full(doc_ids[0]), recording)
    if unread := [key for key in block.kwargs if key not in read]:
        raise ConfigError(
            f"no function of {config.path} reads the key {unread[0]!r} of the prompt block {block.key!r}.",
            where=config.where("prompt_kwargs"),
            hint=did_you_mean(unread[0], read),
        )


def evaluate_field(value: Any, doc: Doc, block: PromptBlock, *, what: str, where: str) -> Any:
    """What a `doc_to_*` entry says about one doc.

    value: a function, a column name, a Jinja template, a format's field, or a plain value.
    A text that could be a column name has to be one, so that a misspelt column is an error and never a prompt.
    A template that is one `{{ expression }}` gives the expression's own type: `{{choices.text}}` a list, `{{label}}` an int.
    Errors: DataError naming the doc when the column is missing or the function or template fails.
    """
    if isinstance(value, FormatField):
        return value.evaluate(
            doc,
            lambda entry, of_doc, name: evaluate_field(entry, dict(of_doc), block, what=name, where=where),
            lambda entry: choices_of(entry, doc, block, where),
        )
    if callable(value):
        try:
            return call(value, doc, block)
        except (ConfigError, DataError) as error:
            raise error.located(where) from error
        except Exception as error:  # the task's own code
            raise DataError(f"{what} failed: {type(error).__name__}: {error}", where=where) from error
    if not isinstance(value, str):
        return value
    if value in doc:
        return doc[value]
    if _COLUMN.match(value):
        hint = did_you_mean(value, doc)
        raise DataError(f"{what} names the column {value!r}, which the doc lacks.", where=where, hint=hint)
    if "{{" not in value and "{%" not in value:
        return value
    return render(value, doc, what=what, where=where)


def render(template: str, doc: Doc, *, what: str = "template", where: str = "") -> Any:
    """A Jinja template over a doc's columns, in a sandbox; an undefined name is an error."""
    import jinja2

    try:
        if match := _ONE_EXPRESSION.match(template):
            expression = _expression(match.group(1))
            if expression is not None:
                value = expression(**doc)
                return str(value) if isinstance(value, jinja2.Undefined) else value  # str raises what is undefined
        return _template(template).render(**doc)
    except jinja2.TemplateSyntaxError as error:
        raise ConfigError(f"{what} is no valid Jinja template: {error.message}: {template!r}", where=where) from error
    except jinja2.exceptions.SecurityError as error:
        raise ConfigError(f"{what} reaches outside the sandbox: {error}: {template!r}", where=where) from error
    except jinja2.UndefinedError as error:
        raise DataError(f"{what}: {error}", where=where, hint=f"The doc has: {', '.join(sorted(doc))}.") from error
    except (TypeError, ValueError, LookupError, ArithmeticError) as error:
        raise DataError(f"{what} failed: {type(error).__name__}: {error}", where=where) from error


@lru_cache(maxsize=1)
def _environment() -> Any:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)
    environment.filters["regex_replace"] = lambda text, pattern, value="": re.sub(pattern, value, text)
    return environment


@lru_cache(maxsize=1024)
def _template(source: str) -> Any:
    return _environment().from_string(source)


@lru_cache(maxsize=1024)
def _expression(source: str) -> Any:
    """The expression compiled, or None where `source` is not a single expression ("a}} and {{b")."""
    import jinja2

    try:
        return _environment().compile_expression(source, undefined_to_none=False)
    except jinja2.TemplateSyntaxError:
        return None


def text_of(value: Any, doc: Doc, block: PromptBlock, *, what: str, where: str) -> str:
    """A `doc_to_text` or `description` as text."""
    text = evaluate_field(value, doc, block, what=what, where=where)
    if isinstance(text, (list, dict)) or text is None:
        raise DataError(f"{what} gave {type(text).__name__}, not text.", where=where)
    return str(text)


def choices_of(value: Any, doc: Doc, block: PromptBlock, where: str) -> list[str]:
    """A `doc_to_choice` as texts: a list, a mapping's values, a column, a template or function that gives one of these."""
    choices = evaluate_field(value, doc, block, what="doc_to_choice", where=where)
    if isinstance(choices, str):
        try:
            choices = ast.literal_eval(choices)
        except (ValueError, SyntaxError) as error:
            raise DataError(f"doc_to_choice gave the text {choices!r}, not a list.", where=where) from error
    if isinstance(choices, Mapping):
        choices = list(choices.values())
    if not isinstance(choices, (list, tuple)) or len(choices) == 0:
        raise DataError(f"doc_to_choice gave {choices!r}; a list with at least one choice is needed.", where=where)
    return [str(choice) for choice in choices]


def choice_index(target: Target, choices: Sequence[str], where: str) -> int | list[int]:
    """The index of the right choice, or of all right ones when the target is a list.

    An int is an index (-100: no gold). A text is the one choice that equals it, else a single option letter; digits in a
    text are never an index. Anything else is a DataError.
    """
    if isinstance(target, list):
        return [index for item in target if isinstance(index := choice_index(item, choices, where), int)]
    if isinstance(target, bool) or target is None:
        raise DataError(f"doc_to_target gave {target!r}, which names no choice.", where=where)
    if isinstance(target, int):
        if target == -100 or 0 <= target < len(choices):
            return target
        raise DataError(f"doc_to_target gave the index {target}, but there are {len(choices)} choices.", where=where)
    if isinstance(target, float):
        raise DataError(f"doc_to_target gave the number {target!r}, which is no index.", where=where)
    equal = [index for index, choice in enumerate(choices) if choice == target]
    if len(equal) == 1:
        return equal[0]
    letter = target.strip()
    if not equal and len(letter) == 1 and letter.isascii() and letter.isalpha():
        index = ord(letter.upper()) - ord("A")
        if index < len(choices):
            return index
    count = "several choices" if equal else "no choice"
    raise DataError(f"doc_to_target gave {target!r}, which equals {count} of {list(choices)!r}.", where=where)
