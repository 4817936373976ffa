"""The requests of a doc: one for an answer that is generated, or one for each choice whose log-likelihood is scored."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from mm_eval.config.task_config import TaskConfig
from mm_eval.prompt.question import Question
from mm_eval.values.errors import ConfigError, DocError
from mm_eval.values.types import Context, Instance


def requests_of(
    config: TaskConfig, question: Question, contexts: Sequence[Context], common: dict[str, Any], bare: bool
) -> Iterator[Instance]:
    """The requests of a doc, all choices of a repeat before the next repeat.

    contexts: the prompt, or one for each choice if each has its own text. common: the fields that all requests share.
    bare: each choice is also scored without a question (see `needs_bare_choices`).
    """
    context = contexts[0]
    if config.output_type in ("loglikelihood", "multiple_choice"):
        _check_continuations(question)
    for repeat in range(config.repeats):
        if config.output_type == "generate_until":
            kwargs = _generation_kwargs(config, chat=not isinstance(context, str))
            yield Instance("generate_until", context=context, generation_kwargs=kwargs, repeat=repeat, **common)
        elif config.output_type == "loglikelihood_rolling":
            text = str(question.target if question.target is not None else question.text)
            yield Instance("loglikelihood_rolling", continuation=text, repeat=repeat, **common)
        elif question.choices is None:
            own_space = question.answer[:1].isspace()  # as lambada's targets have
            bare_answer = own_space or context == ""  # no delimiter is needed
            continuation = question.answer if bare_answer else config.target_delimiter + question.answer
            yield _scored_request(context, continuation, question.answer, 0, repeat, common)
        else:
            yield from _choices(config, question, contexts, repeat, common, bare)


def _check_continuations(question: Question) -> None:
    """Raises DocError for an empty continuation: it has log-likelihood 0, more than any other text."""
    if question.choices is None or question.contexts is not None:
        if question.answer == "":
            raise DocError("doc_to_target gave no text, so there is nothing to score.")
    elif "" in question.choices:
        number, count = question.choices.index(""), len(question.choices)
        hint = "Leave empty options out in doc_to_choice, or the doc in process_docs."
        raise DocError(f"doc_to_choice gave an empty text as choice {number} of {count}.", hint=hint)


def needs_bare_choices(config: TaskConfig) -> bool:
    """Whether a metric compares each choice with its log-likelihood without a question (acc_mutual_info)."""
    metrics = (metric["metric"] for pipeline in config.pipelines() for metric in pipeline["metric_list"])
    return config.output_type == "multiple_choice" and "acc_mutual_info" in metrics


def _choices(
    config: TaskConfig,
    question: Question,
    contexts: Sequence[Context],
    repeat: int,
    common: dict[str, Any],
    bare: bool,
) -> Iterator[Instance]:
    """A request for each choice, then, with `bare`, one for each choice without a question."""
    options, delimiter = question.choices or [], config.target_delimiter
    for choice, option in enumerate(options):
        scored = question.answer if question.contexts else option
        context = contexts[choice if question.contexts else 0]
        yield _scored_request(context, delimiter + scored, option, choice, repeat, common)
    if bare:
        without = {**common, "images": None, "image_digests": (), "clips": (), "pixels": 0}
        for choice, option in enumerate(options):
            instance = _scored_request("", delimiter + option, option, len(options) + choice, repeat, without)
            instance.metadata["acc_mutual_info"] = True
            yield instance


def _generation_kwargs(config: TaskConfig, chat: bool) -> dict[str, Any]:
    """The config's generation kwargs. The default stop string of a plain-text prompt is the gap between examples.

    A plain text continues after the answer with another question; a chat turn ends by itself, and its answer may have paragraphs.
    """
    kwargs = dict(config.generation_kwargs or {})
    if not chat and config.fewshot_delimiter:
        kwargs.setdefault("until", [config.fewshot_delimiter])
    return kwargs


def _scored_request(
    context: Context, continuation: str, option: str, choice: int, repeat: int, common: dict[str, Any]
) -> Instance:
    instance = Instance(
        "loglikelihood", context=context, continuation=continuation, choice=choice, repeat=repeat, **common
    )
    instance.metadata["choice_text"] = option
    return instance


def selected(path: str, total: int, limit: int | float | None, samples: Sequence[int] | None) -> list[int]:
    """The doc ids of a run of `total` docs: see `Task.select`."""
    if samples is not None:
        if wrong := [doc_id for doc_id in samples if not 0 <= doc_id < total]:
            raise ConfigError(f"--samples names docs {wrong[:5]} of {path}, which has 0 to {total - 1}.")
        return sorted(set(samples))
    if limit is None:
        return list(range(total))
    if 0 < limit < 1:
        return list(range(math.ceil(limit * total)))
    if limit < 1 or limit != int(limit):
        raise ConfigError(f"--limit must be a count of at least 1 or a fraction between 0 and 1 (got {limit!r}).")
    return list(range(min(int(limit), total)))
