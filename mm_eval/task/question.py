"""What a doc asks: its text, its choices, the right answer, and how an answer begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from mm_eval.catalog.config import TaskConfig
from mm_eval.catalog.formats import FormatField
from mm_eval.catalog.located import located
from mm_eval.errors import ConfigError, DataError
from mm_eval.task.blocks import PromptBlock
from mm_eval.task.prompt import as_text, choice_index, choices_of, evaluate_field, words_of
from mm_eval.types import Doc, Target


@dataclass(frozen=True)
class Question:
    """What a doc says.

    text: the question. target: the right answer, an index (or several) in multiple choice. choices: None where there are none.
    answer: the right answer as an example shows it. prefix: how the answer begins.
    contexts: one text a choice where these are what differs and `answer` is scored after each (winogrande); `text` is
        then the right one of them.
    """

    text: str
    target: Target
    choices: list[str] | None
    answer: str
    prefix: str = ""
    contexts: list[str] | None = None


def question_of(
    config: TaskConfig, doc: Doc, block: PromptBlock, where: str, shown: Mapping[str, Any] | None = None
) -> Question:
    """The question of a doc.

    shown: the `fewshot_config`, for an example: what it states holds instead of the config's own; null states nothing, but for
        gen_prefix, where it means none.
    """
    shown = shown or {}

    def entry(name: str) -> Any:
        return getattr(config, name) if shown.get(name) is None else shown[name]

    def written(name: str) -> Callable[[], str]:
        field = entry(name) if name != "gen_prefix" else None
        if isinstance(field, FormatField) and (field.format.question or field.format.choices or field.format.answer):
            name = "formats"
        return partial(config.where if shown.get(name) is None else located(shown).where, name)

    def value(name: str) -> Any:
        if entry(name) is None:
            return None
        spaced = name == "doc_to_text"
        return evaluate_field(entry(name), doc, block, what=name, where=where, spaced=spaced, written=written(name))

    text = "" if entry("doc_to_text") is None else value("doc_to_text")
    target = None if _is_unused(config, entry("doc_to_target"), doc) else value("doc_to_target")
    choices = _choices(entry("doc_to_choice"), doc, block, where, written("doc_to_choice"))
    prefix = shown.get("gen_prefix", config.gen_prefix)
    prefix = (
        words_of(prefix, doc, block, what="gen_prefix", where=where, written=written("gen_prefix")) if prefix else ""
    )
    if config.output_type != "multiple_choice":
        if choices and config.output_type == "generate_until" and not isinstance(entry("doc_to_target"), FormatField):
            target = _chosen(target, choices, where)
        answer = str(target[0] if isinstance(target, list) and target else "" if target is None else target)
        return Question(as_text(text, "doc_to_text", where), target, choices, answer, prefix)
    if choices is None:
        raise ConfigError("multiple_choice needs doc_to_choice.", where=config.where("output_type"))
    if isinstance(text, (int, list)) and not isinstance(text, bool):
        return _of_contexts(text, target, choices, prefix, where)
    target = choice_index(target, choices, where)
    first = target[0] if isinstance(target, list) else target
    answer = choices[first] if first >= 0 else ""
    return Question(as_text(text, "doc_to_text", where), target, choices, answer, prefix)


def _chosen(target: Target, choices: list[str], where: str) -> Target:
    """The text that an index means, where an answer is written and the task lists what it may be (lm-eval's boolq-seq2seq)."""
    if isinstance(target, list):
        return [text for item in target if isinstance(text := _chosen(item, choices, where), str)]
    if not isinstance(target, int) or isinstance(target, bool):
        return target
    if not 0 <= target < len(choices):
        raise DataError(f"doc_to_target gave the index {target}, but there are {len(choices)} choices.", where=where)
    return choices[target]


def _is_unused(config: TaskConfig, target: Any, doc: Doc) -> bool:
    """Whether a target names a column that no doc has and nothing reads.

    lmms-eval's VQA tasks say `doc_to_target: "answer"` of docs with `answers`; their `process_results` reads those.
    """
    if config.process_results is None or config.output_type != "generate_until" or config.num_fewshot:
        return False
    return isinstance(target, str) and target.isidentifier() and target not in doc


def _of_contexts(text: int | list[Any], target: Target, choices: list[str], prefix: str, where: str) -> Question:
    """A question whose choices are what stands before one continuation, in either of lm-eval's two ways to write it.

    doc_to_text an index: doc_to_choice gives the texts, doc_to_target the continuation. doc_to_text a list: it gives the
    texts, doc_to_target the index, doc_to_choice the continuation alone.
    """
    if isinstance(text, int):
        if not 0 <= text < len(choices):
            raise DataError(f"doc_to_text gave the index {text}, but there are {len(choices)} choices.", where=where)
        return Question(choices[text], text, choices, str(target), prefix, choices)
    contexts = [str(context) for context in text]
    if len(choices) != 1:
        what = f"doc_to_text gave {len(contexts)} texts and doc_to_choice {len(choices)} continuations; one is needed."
        raise DataError(what, where=where)
    index = choice_index(target, contexts, where)
    if not isinstance(index, int) or index < 0:
        raise DataError(f"doc_to_target gave {target!r}, which names none of the texts.", where=where)
    return Question(contexts[index], index, contexts, choices[0], prefix, contexts)


def _choices(entry: Any, doc: Doc, block: PromptBlock, where: str, written: Callable[[], str]) -> list[str] | None:
    """The choices of a doc, None where the task or its format has none."""
    if isinstance(entry, FormatField):
        entry = evaluate_field(entry, doc, block, what="doc_to_choice", where=where, written=written)
    return None if entry is None else choices_of(entry, doc, block, where, written)
