"""The scorers of a task, from its config: one for each pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from mm_eval.config.python_file import stamp_of, with_siblings
from mm_eval.config.schema import functions_in
from mm_eval.config.task_config import TaskConfig
from mm_eval.scoring.base import SCORERS, Scorer
from mm_eval.scoring.filters.base import like
from mm_eval.scoring.number import counting_the_first
from mm_eval.scoring.process_results import ProcessResultsScorer
from mm_eval.values.errors import ConfigError, InvalidValue, raise_all
from mm_eval.values.reasoning.families import FRAMES_BY_NAME
from mm_eval.values.types import Doc
from mm_eval.values.words import listed


def build_scorer(
    cfg: Mapping[str, object] | None = None,
    output_type: str | None = None,
    scorer_type: str | type[Scorer] | Mapping[str, object] | None = None,
    *,
    process_results: Callable[..., object] | None = None,
    **kwargs: object,
) -> Scorer:
    """The scorer of one filter pipeline; an unknown name or argument is a ConfigError.

    cfg: {"name": ..., "filter": [steps], "metric_list": [metrics]}; None is the default pipeline.
    scorer_type: a registered name, {"type": name, "kwargs": {...}}, {"type": name, ...} or a class; None chooses by the output
        type.
    process_results: the task's own scoring function; it takes the place of a scorer type.
    kwargs: further fields of the scorer (context, clusters, seed).
    """
    if process_results is not None:
        if scorer_type is not None:
            raise InvalidValue("A task has `scorer` or `process_results`, not both.")
        kind: type[Scorer] = ProcessResultsScorer
        options: dict[str, object] = {"fn": process_results}
        name = "none"
    else:
        kind, options, name = _kind(scorer_type, output_type)
    return kind.from_dict(cfg if cfg is not None else {"name": name}, output_type=output_type, **{**options, **kwargs})


def _kind(scorer_type: object, output_type: str | None) -> tuple[type[Scorer], dict[str, object], str]:
    """The scorer class, its arguments, and the pipeline's name where no config gives one."""
    if scorer_type is None:
        if output_type not in ("generate_until", "multiple_choice", "loglikelihood", "loglikelihood_rolling"):
            raise InvalidValue(f"No scorer is known for output_type {output_type!r}.", hint="Name one with `scorer`.")
        return SCORERS.get(output_type), {}, "none"
    if isinstance(scorer_type, Mapping):
        options = {key: value for key, value in scorer_type.items() if key not in ("type", "kwargs")}
        options.update(scorer_type.get("kwargs") or {})
        if "type" not in scorer_type:
            raise InvalidValue(f"`scorer` needs `type`: {dict(scorer_type)!r}.")
        kind, _, name = _kind(scorer_type["type"], output_type)
        return kind, options, name
    if isinstance(scorer_type, type):
        return scorer_type, {}, "none"
    if not isinstance(scorer_type, str):
        raise InvalidValue(f"`scorer` is a name or {{type: name, ...}}, not {scorer_type!r}.")
    return SCORERS.get(scorer_type), {}, scorer_type


def scorers_of(config: TaskConfig) -> list[Scorer]:
    """The scorers of a resolved config, in the order of its pipelines.

    Errors: ConfigError with file:line for an unknown or senseless filter, metric, aggregation or scorer.
    """
    scorers: list[Scorer] = []
    faults: list[ConfigError] = []
    process_results = config.process_results
    of_lmms_eval = config.shows_media or config.doc_to_messages is not None or bool(config.prompt_kwargs)
    strips = of_lmms_eval and config.output_type == "generate_until"
    keeps = frames_read_by(config) if config.output_type == "generate_until" else ()
    for pipeline in config.pipelines():
        pipeline["keeps_frames"] = keeps
        try:
            no_metrics = config.is_scored_elsewhere and not pipeline["metric_list"]
            scorer = build_scorer(
                pipeline,
                config.output_type,
                None if process_results else config.scorer or ("submission" if no_metrics else None),
                process_results=process_results,
                context={"multiple_targets": True} if config.multiple_targets else {},
            )
            if strips:
                scorer.filter.filters.append(BareAnswers)
            scorer.check_repeats(config.repeats)
        except ConfigError as error:
            error.located(config.where("filter_list" if config.filter_list else "metric_list"))
            faults.append(error)
            continue
        scorer.draws, scorer.filter_draws = config.draws(), config.draws()
        scorers.append(scorer)
    raise_all(faults)
    return scorers


def counting_the_first_answer(config: TaskConfig, scorers: Sequence[Scorer]) -> str:
    """Which metrics of a task count one of several answers to a doc though its file does not say so; "" for none.

    The other answers are requested, and these metrics drop them. `reduction: take_first` in the file says so.
    """
    if config.times_asked < 2 or config.process_results is not None or config.is_scored_elsewhere:
        return ""
    on_purpose = {
        (pipeline["name"], entry.get("metric"))
        for pipeline in config.pipelines()
        for entry in pipeline["metric_list"]
        if entry.get("reduction") is not None
    }
    found = dict.fromkeys(
        metric.name
        for scorer in scorers
        for metric in counting_the_first(scorer.filter, scorer.metrics or (), config.times_asked)
        if (scorer.name, metric.name) not in on_purpose
    )
    if not found:
        return ""
    which = f"{listed(list(found), 3)} {'counts' if len(found) == 1 else 'count'}"
    return f"{which} the first of the {config.times_asked} answers to each document, as `reduction: take_first` does."


_READERS = ("filter_list", "process_results", "metric_list", "scorer", "formats")
"""Keys of a task file whose rules and functions read an answer."""


def frames_read_by(config: TaskConfig, keys: Sequence[str] = _READERS) -> tuple[str, ...]:
    """The frames around an answer that a task's own rules or functions look for: they must be left for these. keys: theirs."""
    stated = [config.source.get(key) for key in keys]
    files = {function.module: function for function in functions_in(stated)}.values()
    sources = {file for function in files for file in with_siblings(function.source())}
    texts = [repr(stated), *(_source(file, stamp_of(file)) for file in sources)]
    return tuple(frame for word, frame in FRAMES_BY_NAME.items() if any(word in text for text in texts))


@lru_cache(maxsize=256)
def _source(file: Path, stamp: tuple[int, int]) -> str:
    return file.read_text(encoding="utf-8", errors="replace")


class BareAnswers:
    """The last filter of a generation task: answers without the white space around them.

    A filter of such a task may give one text a doc, as AI2D's does: that is its only answer.
    """

    extracts: ClassVar[bool] = False

    def apply(self, resps: Iterable[Sequence[object]], docs: Sequence[Doc]) -> Iterable[Sequence[Any]]:
        """The answers of each doc, stripped; each keeps the rule that found it."""

        def bare(answer: object) -> object:
            return like(answer.strip(), answer) if isinstance(answer, str) else answer

        return [[bare(answer) for answer in ([found] if isinstance(found, str) else found)] for found in resps]
