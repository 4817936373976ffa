"""A metric: a function that scores one doc, how a doc's repeats become one value, and how all docs become one number.

    fn(references, predictions) -> scores;  reduction(references, scores) -> value;  aggregation(values) -> number

`Metric.from_dict` reads an entry of a task's `metric_list`; `@metric`, `@reduction` and `@aggregation` register
functions under a name.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, TypeVar, cast

from mm_eval.config.checks import fault_of_range
from mm_eval.scoring.metrics.traits import (
    CorpusMetric,
    arguments_of,
    check_arguments,
    filter_kwargs,
    parameters_of,
    traits_of,
)
from mm_eval.values.errors import ConfigError, InvalidValue, ScoringError
from mm_eval.values.registry import Registry
from mm_eval.values.types import Options

_F = TypeVar("_F", bound=Callable[..., object])
Score = TypeVar("Score", covariant=True)
RepeatScore = TypeVar("RepeatScore", contravariant=True)
Reduced = TypeVar("Reduced", covariant=True)
DocValue = TypeVar("DocValue", contravariant=True)


class MetricFn(Protocol[Score]):
    """Scores one doc: one value, a list with one value per repeat, or {name: such a value} for several metrics at once."""

    def __call__(
        self, references: object, predictions: object, **kwargs: object
    ) -> Score | list[Score] | dict[str, object]: ...


class ReductionFn(Protocol[RepeatScore, Reduced]):
    """Turns the scores of a doc's repeats into one value, or into {name: value} for result keys "name(metric)"."""

    def __call__(self, references: object, predictions: Sequence[RepeatScore]) -> Reduced | dict[str, Reduced]: ...


class AggregationFn(Protocol[DocValue]):
    """Turns the values of all docs into the reported number."""

    def __call__(self, values: Sequence[DocValue]) -> float: ...


METRICS: Registry[object] = Registry(
    "metric",
    package=("mm_eval.scoring.metrics", "mm_eval.tasks.rules"),
    decorator="metric",
    entry_points="mm_eval.metrics",
)
AGGREGATIONS: Registry[Callable[..., float]] = Registry(
    "aggregation", package=("mm_eval.scoring.metrics", "mm_eval.tasks.rules"), decorator="aggregation"
)
REDUCTIONS: Registry[Callable[..., object]] = Registry(
    "reduction", package=("mm_eval.scoring.metrics", "mm_eval.tasks.rules"), decorator="reduction"
)

METRIC_KEYS = frozenset({"metric", "aggregation", "higher_is_better", "reduction", "kwargs", "worst", "range"})
"""The keys of an entry of `metric_list`; every other key is an argument of the metric's function."""

DEFAULT_METRICS: dict[str, tuple[str, ...]] = {
    "generate_until": ("exact_match",),
    "multiple_choice": ("acc", "acc_norm"),
    "loglikelihood": ("perplexity", "acc"),
    "loglikelihood_rolling": ("word_perplexity", "byte_perplexity", "bits_per_byte"),
}
"""The metrics of a task without a `metric_list`, by output type."""

_ALIASES: dict[tuple[str | None, str], str] = {("multiple_choice", "exact_match"): "exact_match_mc"}
"""lm-eval uses one name for two metrics: (output type, its name) -> our name."""

ONLY_OF_TEXTS = ("regexes_to_ignore", "ignore_case", "ignore_punctuation", "ignore_numbers")
"""Arguments of exact_match, which lm-eval's files also give to metrics that compare no texts. There and here they do nothing."""
_OF_OTHERS = ("hf_evaluate", "weight_by_size")
"""Keys that do nothing in an entry of a task that generates no text: where a function is from, and a key of groups."""

_OWN_METRIC = "registered_metric"
"""The attribute in which a registered function keeps its Metric, so that `!function` finds the same definition."""


@REDUCTIONS.register("take_first")
def take_first(references: object, predictions: Sequence[object]) -> object:
    """Takes the first repeat's score."""
    return predictions[0] if isinstance(predictions, (list, tuple)) and predictions else predictions or None


def worst_of(cfg: Options, default: float | None = None) -> float | None:
    """The `worst` of an entry of `metric_list`. ConfigError if it is not a finite number."""
    stated = cfg.get("worst", default)
    if stated is None or isinstance(stated, int | float) and not isinstance(stated, bool) and math.isfinite(stated):
        return stated
    what = f"`worst` of metric {cfg.get('metric')!r} is {stated!r}; a number is needed."
    raise InvalidValue(what, hint="It is the value of an answer that is missing, such as 1 for an edit distance.")


def range_of(cfg: Mapping[str, Any]) -> tuple[float, float] | None:
    """The `range` of an entry of `metric_list`; None where it states none. ConfigError if it is not [least, greatest]."""
    if fault := fault_of_range(cfg):
        raise InvalidValue(fault[0], hint=fault[1])
    stated = cfg.get("range")
    return None if stated is None else (float(stated[0]), float(stated[1]))


def at_least_one(value: object) -> object:
    """The value of a missing answer where lower is better and no `worst` is stated: that of an empty answer, and at least 1.

    1 is the worst of a share and of a normalized distance. A value that is not a number is kept.
    """
    return max(value, 1) if isinstance(value, int | float) else value


@dataclass(frozen=True)
class Metric:
    """A metric as a scorer uses it.

    fn: scores one doc: fn(references, predictions, **kwargs).
    kwargs: arguments of fn from the task's YAML.
    aggregation: turns the values of all docs into one number.
    output_type: the output types of the tasks that it fits.
    higher_is_better: None for a number that has no direction, such as the share of answers that are yes.
    reduction: turns the scores of a doc's repeats into one value, or into {name: value} for keys "name(metric)".
    worst: the value of an answer that is missing, as it is stated. None: `of_missing`; else 0 where higher is better; where
        lower is, the value of an empty answer, and at least 1.
    range: the least and the greatest number that there is, where the task states it; of its own number, not of "name(metric)".
    unused: the keys of its entry that have no effect on it, nor on lm-eval's metric of the name.
    """

    name: str
    fn: Callable[..., object]
    kwargs: Options = field(default_factory=dict)
    aggregation: Callable[..., float] | None = None
    higher_is_better: bool | None = True
    output_type: set[str] = field(default_factory=lambda: {"multiple_choice"})
    reduction: Callable[..., object] | None = take_first
    worst: float | None = None
    range: tuple[float, float] | None = None
    unused: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_metric_name(self.name)
        kinds = [self.output_type] if isinstance(self.output_type, str) else self.output_type
        object.__setattr__(self, "output_type", set(kinds))
        object.__setattr__(self, "reduction", self.reduction or take_first)
        for part, value in (("fn", self.fn), ("aggregation", self.aggregation)):
            if not callable(value) and not (part == "aggregation" and value is None):
                raise InvalidValue(f"{part} of metric {self.name!r} must be a function, not {value!r}.")

    @property
    def of_missing(self) -> float | None:
        """What an answer that is missing scores: `worst`, or the worst end of the range of a mean. None: neither is stated."""
        if self.worst is not None or self.range is None or self.aggregation is None or self.higher_is_better is None:
            return self.worst
        return self.range[not self.higher_is_better] if traits_of(self.aggregation).is_mean else None

    @classmethod
    def from_dict(cls, cfg: Mapping[str, Any], output_type: str | None = None, base: Metric | None = None) -> Metric:
        """The metric of an entry of `metric_list`.

        cfg: {"metric": name or function, "aggregation", "higher_is_better", "reduction", "kwargs"}; other keys are kwargs.
        base: what the entry is about, in place of what its `metric` names.
        output_type: of the task. Raises ConfigError for an unknown name or argument and for a metric of other output types.
        """
        if not isinstance(cfg, Mapping) or "metric" not in cfg:
            raise InvalidValue(f"An entry of metric_list needs `metric`: {cfg!r}.")
        kwargs = arguments_of(cfg, METRIC_KEYS)
        if kwargs.get("hf_evaluate") and output_type in (None, "generate_until"):
            what = f"hf_evaluate: mm-eval loads no metric from the hub, and its own {cfg['metric']!r} may be a different one."
            raise InvalidValue(what, hint="Leave the key out to use a registered metric, or name a !function.")
        base = base or _pairs(cfg, output_type) or _base_metric(cfg["metric"], output_type)
        unused = _unused(base, kwargs, output_type) if isinstance(cfg["metric"], str) else ()
        unused = tuple(key for key in unused if kwargs.pop(key) is not False)
        kwargs.pop("hf_evaluate", None)
        reduction, accepted = _reduction(cfg.get("reduction"), base)
        own = parameters_of(base.fn)
        for_reduction = {key: kwargs.pop(key) for key in list(kwargs) if key in accepted and key not in own}
        base = _with_arguments(base, kwargs)
        if for_reduction:
            reduction = partial(reduction, **for_reduction)
        elif cfg.get("reduction") is None:
            reduction = base.reduction or take_first
        return replace(
            base,
            reduction=reduction,
            aggregation=_aggregation(cfg.get("aggregation"), base),
            higher_is_better=cfg.get("higher_is_better", base.higher_is_better),
            worst=worst_of(cfg, base.worst),
            range=range_of(cfg),
            unused=unused,
        )

    def compute(self, *args: object, **kwargs: object) -> object:
        """The score of one doc. Of the keyword arguments, those that the function takes are passed on.

        args: references, predictions. A function that has these names gets them by name, in whatever order it has them.
        """
        given = filter_kwargs(self.fn, {**self.kwargs, **kwargs}) if kwargs or self.kwargs else {}
        if len(args) == len(_ARGUMENTS) and parameters_of(self.fn).issuperset(_ARGUMENTS):
            references, predictions = args
            return self.fn(references=references, predictions=predictions, **given)
        return self.fn(*args, **given)

    def aggregate(self, values: Sequence[object]) -> float:
        """The number for the values of all docs."""
        if self.aggregation is None:
            raise InvalidValue(f"Metric {self.name!r} has no aggregation.", hint="Name one in metric_list.")
        return self.aggregation(values)


def metric(
    *names: str,
    metric: str | None = None,
    higher_is_better: bool = True,
    output_type: str | Iterable[str] = "generate_until",
    aggregation: str | Callable[..., float] | None = None,
    reduction: str | Callable[..., object] | None = None,
) -> Callable[[_F], _F]:
    """Registers a function, or a CorpusMetric class, as a metric under one or more names.

    Defaults, which a task's YAML may override: aggregation mean, reduction take_first, higher_is_better true.
    """
    all_names = (*names, *([metric] if metric else ()))

    def register(thing: _F) -> _F:
        own_names = all_names or (getattr(thing, "__name__", ""),)
        for name in own_names:
            check_metric_name(name)
        fn: Callable[..., object] = thing() if isinstance(thing, type) else thing
        corpus = isinstance(fn, CorpusMetric)
        made: Metric = Metric(
            name=own_names[0],
            fn=fn,
            aggregation=fn.aggregation if corpus else aggregation_named(aggregation or "mean"),  # type: ignore[attr-defined]
            higher_is_better=higher_is_better,
            output_type={output_type} if isinstance(output_type, str) else set(output_type),
            reduction=fn.reduce if corpus else reduction_named(reduction or take_first),  # type: ignore[attr-defined]
        )
        for name in own_names:
            METRICS.register(name)(replace(made, name=name))
        if not isinstance(thing, type):
            setattr(thing, _OWN_METRIC, made)
        return thing

    return register


def aggregation(*names: str) -> Callable[[_F], _F]:
    """Registers a function of all docs' values under one or more names."""
    for name in names:
        check_metric_name(name)
    return AGGREGATIONS.register(*names)  # type: ignore[return-value]


def reduction(*names: str) -> Callable[[_F], _F]:
    """Registers a function (references, scores of the repeats) -> value under one or more names."""
    for name in names:
        check_metric_name(name)
    return REDUCTIONS.register(*names)  # type: ignore[return-value]


register_metric, register_aggregation, register_reduction = metric, aggregation, reduction


def check_metric_name(name: str) -> str:
    """The name. Raises ConfigError if a result key "name,pipeline" could not be split into its parts again."""
    depth = 0
    for character in name if isinstance(name, str) else ")":
        depth += (character == "(") - (character == ")")
        if depth < 0:
            break
    if depth or not name or name != name.strip() or "," in name or name.endswith("_stderr") or not name.isprintable():
        raise InvalidValue(
            f"{name!r} can't be a metric's name.",
            hint='A name has no comma, line break or unbalanced parenthesis, and does not end in "_stderr".',
        )
    return name


def aggregation_named(name: str | Callable[..., float]) -> Callable[..., float]:
    """The aggregation of a name; a corpus metric's name ("bleu") stands for its aggregation. A function is returned as it is."""
    if not isinstance(name, str):
        if not callable(name):
            raise InvalidValue(f"An aggregation is a name or a function, not {name!r}.")
        of_elsewhere = getattr(name, "as_aggregation", None)  # a function of another process
        return name if of_elsewhere is None else cast("Callable[..., float]", of_elsewhere())
    if name not in AGGREGATIONS and name in METRICS:
        corpus = getattr(METRICS.get(name), "fn", None)
        if isinstance(corpus, CorpusMetric):
            return corpus.aggregation
    return AGGREGATIONS.get(name)


def reduction_named(name: str | Callable[..., object]) -> Callable[..., object]:
    """The reduction of a name; "pass@5" is pass@k with k = 5. A function is returned as it is."""
    if not isinstance(name, str):
        if not callable(name):
            raise InvalidValue(f"A reduction is a name or a function, not {name!r}.")
        return name
    head, at, tail = name.partition("@")
    if at and tail.isdigit() and f"{head}@k" in REDUCTIONS:
        return partial(REDUCTIONS.get(f"{head}@k"), k=int(tail))
    return REDUCTIONS.get(name)


def declared_or_registered(entry: Any, output_type: str | None) -> Metric:
    """The metric of an entry for a scorer that makes its scores itself.

    A name that is not registered, or for other output types only, declares the metric: its aggregation, direction and reduction.
    """
    name = entry.get("metric") if isinstance(entry, Mapping) else None
    if not isinstance(name, str) or _fits(name, output_type):
        return Metric.from_dict(entry, output_type)
    check_spelling(name, entry)
    return Metric.from_dict(entry, output_type, Metric(name, _made_by_the_scorer))


def is_declared(metric: Metric) -> bool:
    """Whether the metric only says how a scorer's own scores become a number."""
    return metric.fn is _made_by_the_scorer


def _made_by_the_scorer(references: object, predictions: object, **kwargs: object) -> object:
    raise ScoringError(
        "this metric's scores are those of its scorer, which gives none; no metric of its name is registered."
    )


def _fits(name: str, output_type: str | None) -> bool:
    """Whether a registered metric of this name is for the output type."""
    name = _ALIASES.get((output_type, name), name)
    if name not in METRICS:
        return False
    return output_type is None or output_type in getattr(METRICS.get(name), "output_type", {output_type})


def check_spelling(name: str, entry: Options) -> None:
    """ConfigError for a key that is one of ours, misspelt. Others are arguments of a function that is not called."""
    for key in arguments_of(entry, METRIC_KEYS):
        if close := difflib.get_close_matches(key, METRIC_KEYS, n=1, cutoff=0.75):
            raise InvalidValue(f"unknown key {key!r} of metric {name!r}.", hint=f"Did you mean {close[0]!r}?")


_ARGUMENTS = ("references", "predictions")


class _Pair(CorpusMetric[object, tuple[object, object]]):
    """(target, answer) of each doc, for an aggregation of the task's own."""

    def __call__(self, references: Any, predictions: Any) -> tuple[object, object]:
        target, answer = references[0], predictions[0]
        answer = "" if answer is None else answer
        return (str(target) if isinstance(answer, str) and isinstance(target, int | float) else target), answer

    def aggregation(self, items: Sequence[tuple[Any, Any]]) -> float:
        raise InvalidValue("The metric has no aggregation of its own.", hint="Name a !function.")


def _pairs(cfg: Options, output_type: str | None) -> Metric | None:
    """The metric of an entry whose name is of choices, and which scores generated answers by a function of all docs.

    The name only says what the number is called, as in lm-eval, whose `acc` of generated answers hands on what it gets.
    """
    name, kinds = cfg["metric"], {"generate_until"}
    if output_type != "generate_until" or not callable(cfg.get("aggregation")) or not isinstance(name, str):
        return None
    if name not in METRICS or not kinds.isdisjoint(getattr(METRICS.get(name), "output_type", kinds)):
        return None
    return Metric(name, _Pair(), output_type=kinds, reduction=_Pair().reduce)


def _unused(base: Metric, kwargs: Options, output_type: str | None) -> tuple[str, ...]:
    """The keys of an entry with a registered name that change nothing, here and in lm-eval."""
    known = parameters_of(type(base.fn) if isinstance(base.fn, CorpusMetric) else base.fn)
    keys = ONLY_OF_TEXTS if output_type in (None, "generate_until") else ONLY_OF_TEXTS + _OF_OTHERS
    return tuple(key for key in kwargs if key in keys and key not in known)


def _base_metric(given: object, output_type: str | None) -> Metric:
    """The metric that `metric` names, or of the function or corpus metric that it is, before the entry's arguments."""
    kinds = {output_type or "generate_until"}
    if isinstance(given, Metric):
        return given
    if isinstance(given, str):
        found = METRICS.get(_ALIASES.get((output_type, given), given))
        base = found if isinstance(found, Metric) else replace(_base_metric(found, output_type), name=given)
        if output_type and output_type not in base.output_type:
            fitting = [
                name for name in METRICS.names() if output_type in getattr(METRICS.get(name), "output_type", kinds)
            ]
            raise InvalidValue(
                f"Metric {given!r} does not fit output_type {output_type!r} (it is for {', '.join(sorted(base.output_type))}).",
                hint=f"Fitting: {', '.join(fitting)}.",
            )
        return replace(base, name=given) if (output_type, given) in _ALIASES else base
    if isinstance(given, type) and issubclass(given, CorpusMetric):
        given = given()
    if isinstance(given, CorpusMetric):
        name = type(given).__name__
        return Metric(name, given, aggregation=given.aggregation, output_type=kinds, reduction=given.reduce)
    if not callable(given):
        raise InvalidValue(f"`metric` must be a registered name or a function, not {given!r}.")
    registered = getattr(given, _OWN_METRIC, None)
    if isinstance(registered, Metric):
        return registered
    named = getattr(given, "__name__", None) or getattr(getattr(given, "func", None), "__name__", None)
    return Metric(str(named or type(given).__name__).strip("<>"), given, output_type=kinds)


def _with_arguments(base: Metric, kwargs: dict[str, object]) -> Metric:
    """The metric with the arguments of a YAML; those of a corpus metric configure a new object of its class."""
    if not kwargs:
        return base
    kind: Any = type(base.fn)
    corpus = isinstance(base.fn, CorpusMetric)
    known = parameters_of(kind if corpus else base.fn) - {"references", "predictions", "self"}
    check_arguments(f"Metric {base.name!r}", kwargs, known, METRIC_KEYS)
    if not corpus:
        return replace(base, kwargs={**base.kwargs, **kwargs})
    try:
        fn = kind(**kwargs)
    except ConfigError:
        raise
    except (TypeError, ValueError) as error:
        raise InvalidValue(f"Metric {base.name!r} can't be built with {kwargs!r}: {error}.") from error
    return replace(base, fn=fn, aggregation=fn.aggregation, reduction=fn.reduce)


def _aggregation(given: Any, base: Metric) -> Callable[..., float]:
    if given is None or (given == base.name and isinstance(base.fn, CorpusMetric)):
        return base.aggregation or aggregation_named("mean")
    return aggregation_named(given)


def reduction_of(entry: Mapping[str, Any]) -> Callable[..., object]:
    """The reduction that an entry of `metric_list` states, with its arguments among the other keys; take_first for none."""
    given = entry.get("reduction")
    function = take_first if given is None else reduction_named(given)
    known = parameters_of(function) - {"references", "predictions", "**"}
    options = {key: value for key, value in arguments_of(entry, METRIC_KEYS).items() if key in known}
    return partial(function, **options) if options else function


def _reduction(given: Any, base: Metric) -> tuple[Callable[..., Any], frozenset[str]]:
    """The reduction of an entry, or the metric's own, and the arguments of it that may stand in the entry itself."""
    if not isinstance(given, Mapping):
        function = (base.reduction or take_first) if given is None else reduction_named(given)
        return function, parameters_of(function) - {"references", "predictions", "**"}
    if "function" not in given:
        raise InvalidValue(f"A reduction needs `function`: {dict(given)!r}.")
    function, options = reduction_named(given["function"]), arguments_of(given, ("function", "kwargs"))
    known = parameters_of(function) - {"references", "predictions"}
    check_arguments(f"Reduction {given['function']!r}", options, known)
    return (partial(function, **options) if options else function), frozenset()
