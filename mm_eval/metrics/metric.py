"""One metric: a function that scores a doc, how its repeats become one value, and how all docs become one number.

fn(references, predictions) -> scores;  reduction(reference, scores) -> value;  aggregation(values) -> number
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, Generic, TypeVar

from mm_eval.errors import ConfigError, did_you_mean
from mm_eval.metrics.corpus_metric import CorpusMetric
from mm_eval.registry import Registry

T = TypeVar("T")
K = TypeVar("K")
F = TypeVar("F", bound=Callable[..., Any])

METRICS: Registry[Any] = Registry(
    "metric", package="mm_eval.metrics", decorator="metric", entry_points="mm_eval.metrics"
)
AGGREGATIONS: Registry[Callable[..., float]] = Registry(
    "aggregation", package="mm_eval.metrics", decorator="aggregation"
)
REDUCTIONS: Registry[Callable[..., Any]] = Registry("reduction", package="mm_eval.metrics", decorator="reduction")

METRIC_KEYS = frozenset({"metric", "aggregation", "higher_is_better", "reduction", "kwargs"})
"""The keys of an entry of `metric_list`; every other key is an argument of the metric's function."""

DEFAULT_METRICS: dict[str, tuple[str, ...]] = {
    "generate_until": ("exact_match",),
    "multiple_choice": ("acc", "acc_norm"),
    "loglikelihood": ("perplexity", "acc"),
    "loglikelihood_rolling": ("word_perplexity", "byte_perplexity", "bits_per_byte"),
}
"""What a task is scored by that names no metric."""

_OWN_DEFINITION = "registered_metric"


def take_first(references: Any, predictions: Sequence[Any]) -> Any:
    """Takes the first repeat's score."""
    return predictions[0] if isinstance(predictions, (list, tuple)) and predictions else predictions or None


def check_metric_name(name: str) -> str:
    """The name, or a ConfigError where "name,pipeline" could not be read back."""
    balanced = _balanced(name) if isinstance(name, str) else False
    if (
        not balanced
        or not name
        or name != name.strip()
        or "," in name
        or name.endswith("_stderr")
        or not name.isprintable()
    ):
        raise ConfigError(
            f"{name!r} can't be a metric's name.",
            hint='It may hold no comma, no line break, no unbalanced parenthesis and not end in "_stderr".',
        )
    return name


def _balanced(name: str) -> bool:
    depth = 0
    for character in name:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth < 0:
            return False
    return depth == 0


@dataclass(frozen=True)
class Metric(Generic[T, K]):
    """A metric as a scorer uses it.

    fn: scores one doc: fn(references, predictions, **kwargs).
    kwargs: arguments of fn that the task's YAML gives.
    aggregation: all docs' values to one number.
    output_type: the kinds of tasks that it fits.
    reduction: the scores of a doc's repeats to one value, or to {name: value} for keys "name(metric)".
    """

    name: str
    fn: Callable[..., Any]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    aggregation: Callable[..., float] | None = None
    higher_is_better: bool = True
    output_type: frozenset[str] = frozenset({"multiple_choice"})
    reduction: Callable[..., Any] | None = take_first

    def __post_init__(self) -> None:
        check_metric_name(self.name)
        kinds = [self.output_type] if isinstance(self.output_type, str) else self.output_type
        object.__setattr__(self, "output_type", frozenset(kinds))
        object.__setattr__(self, "reduction", self.reduction or take_first)
        for part in ("fn", "aggregation"):
            value = getattr(self, part)
            if not callable(value) and not (part == "aggregation" and value is None):
                raise ConfigError(f"{part} of metric {self.name!r} must be a function, not {value!r}.")

    @classmethod
    def from_dict(cls, cfg: Mapping[str, Any], output_type: str | None = None) -> Metric[Any, Any]:
        """A metric from an entry of `metric_list`; every unknown name or argument is a ConfigError.

        cfg: {"metric": name or function, "aggregation", "higher_is_better", "reduction", "kwargs"}; other keys are kwargs.
        output_type: the task's; a registered metric that does not fit it is an error.
        """
        if not isinstance(cfg, Mapping) or "metric" not in cfg:
            raise ConfigError(f"An entry of metric_list needs `metric`: {cfg!r}.")
        flat = {key: value for key, value in cfg.items() if key not in METRIC_KEYS}
        kwargs = {**flat, **(cfg.get("kwargs") or {})}
        if kwargs.pop("hf_evaluate", False):
            what = f"hf_evaluate: mm-eval loads no metric of the hub, and its own {cfg['metric']!r} may be another one."
            raise ConfigError(what, hint="Leave the key out to use a registered metric, or name a !function.")
        base = _base_metric(cfg["metric"], output_type)
        reduction, takes = _reduction(cfg.get("reduction"), base)
        bound = {key: kwargs.pop(key) for key in list(kwargs) if key in takes and key not in _parameters(base.fn)}
        if bound:
            reduction = partial(reduction, **bound)
        base = _with_arguments(base, kwargs)
        higher = cfg.get("higher_is_better")
        return replace(
            base,
            reduction=reduction if cfg.get("reduction") is not None or bound else base.reduction,
            aggregation=_aggregation(cfg.get("aggregation"), base),
            higher_is_better=base.higher_is_better if higher is None else bool(higher),
        )

    def compute(self, *args: Any, **kwargs: Any) -> Any:
        """The score of one doc. Of the keyword arguments, those that the function takes are passed on.

        args: references, predictions. A function that has these names gets them by name, in whatever order it has them.
        """
        given = filter_kwargs(self.fn, {**self.kwargs, **kwargs})
        if len(args) == len(_ARGUMENTS) and _parameters(self.fn).issuperset(_ARGUMENTS):
            return self.fn(**dict(zip(_ARGUMENTS, args, strict=True)), **given)
        return self.fn(*args, **given)

    def aggregate(self, values: Sequence[Any]) -> float:
        """The number for the values of all docs."""
        if self.aggregation is None:
            raise ConfigError(f"Metric {self.name!r} has no aggregation.", hint="Name one in metric_list.")
        return self.aggregation(values)


def metric(
    *names: str,
    metric: str | None = None,
    higher_is_better: bool = True,
    output_type: str | Iterable[str] = "generate_until",
    aggregation: str | Callable[..., float] | None = None,
    reduction: str | Callable[..., Any] | None = None,
) -> Callable[[F], F]:
    """Registers a function, or a CorpusMetric class, as a metric under one or more names.

    Defaults that a task's YAML may change: aggregation (mean), reduction (take_first), higher_is_better.
    """
    all_names = (*names, *([metric] if metric else ()))

    def register(thing: F) -> F:
        own = all_names or (getattr(thing, "__name__", ""),)
        for name in own:
            check_metric_name(name)
        kinds = [output_type] if isinstance(output_type, str) else list(output_type)
        fn: Callable[..., Any] = thing() if isinstance(thing, type) else thing
        corpus = isinstance(fn, CorpusMetric)
        made: Metric[Any, Any] = Metric(
            name=own[0],
            fn=fn,
            aggregation=fn.aggregation if corpus else aggregation_named(aggregation or "mean"),  # type: ignore[attr-defined]
            higher_is_better=higher_is_better,
            output_type=frozenset(kinds),
            reduction=fn.reduce if corpus else reduction_named(reduction or take_first),  # type: ignore[attr-defined]
        )
        for name in own:
            METRICS.register(name)(replace(made, name=name))
        if not isinstance(thing, type):
            setattr(thing, _OWN_DEFINITION, made)
        return thing

    return register


register_metric = metric


def aggregation(*names: str) -> Callable[[F], F]:
    """Registers a function of all docs' values under one or more names."""
    for name in names:
        check_metric_name(name)
    return AGGREGATIONS.register(*names)  # type: ignore[return-value]


register_aggregation = aggregation


def reduction(*names: str) -> Callable[[F], F]:
    """Registers a function (reference, scores of the repeats) -> value under one or more names."""
    for name in names:
        check_metric_name(name)
    return REDUCTIONS.register(*names)  # type: ignore[return-value]


register_reduction = reduction


def aggregation_named(name: str | Callable[..., float]) -> Callable[..., float]:
    """An aggregation by its name, which may be a corpus metric's ("bleu"); a function is itself."""
    if not isinstance(name, str):
        if not callable(name):
            raise ConfigError(f"An aggregation is a name or a function, not {name!r}.")
        return name
    if name not in AGGREGATIONS and name in METRICS:
        corpus = getattr(METRICS.get(name), "fn", None)
        if isinstance(corpus, CorpusMetric):
            return corpus.aggregation
    return AGGREGATIONS.get(name)


def reduction_named(name: str | Callable[..., Any]) -> Callable[..., Any]:
    """A reduction by its name; "pass@5" is pass@k with k = 5; a function is itself."""
    if not isinstance(name, str):
        if not callable(name):
            raise ConfigError(f"A reduction is a name or a function, not {name!r}.")
        return name
    head, at, tail = name.partition("@")
    if at and tail.isdigit() and f"{head}@k" in REDUCTIONS:
        return partial(REDUCTIONS.get(f"{head}@k"), k=int(tail))
    return REDUCTIONS.get(name)


_ARGUMENTS = ("references", "predictions")


def filter_kwargs(fn: Callable[..., Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Of some keyword arguments, those that a function takes."""
    known = _parameters(fn)
    return dict(kwargs) if "**" in known else {key: value for key, value in kwargs.items() if key in known}


def _parameters(fn: Callable[..., Any]) -> frozenset[str]:
    """The names of the arguments that a function takes by keyword; "**" among them where it takes any."""
    try:
        return _cached_parameters(fn)
    except TypeError:  # not hashable
        return _cached_parameters.__wrapped__(fn)


@cache
def _cached_parameters(fn: Callable[..., Any]) -> frozenset[str]:
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return frozenset({"**"})
    named = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    return frozenset(named | ({"**"} if any(p.kind is p.VAR_KEYWORD for p in parameters) else set()))


_OTHER_NAMES: dict[tuple[str | None, str], str] = {("multiple_choice", "exact_match"): "exact_match_mc"}
"""lm-eval's name of a metric (in its webqs), by output type, and ours."""


def _base_metric(raw: Any, output_type: str | None) -> Metric[Any, Any]:
    kinds = frozenset({output_type or "generate_until"})
    if isinstance(raw, Metric):
        return raw
    if isinstance(raw, str):
        found = METRICS.get(_OTHER_NAMES.get((output_type, raw), raw))
        base = found if isinstance(found, Metric) else replace(_base_metric(found, output_type), name=raw)
        if output_type and output_type not in base.output_type:
            fitting = [
                name for name in METRICS.names() if output_type in getattr(METRICS.get(name), "output_type", kinds)
            ]
            raise ConfigError(
                f"Metric {raw!r} does not fit output_type {output_type!r} (it is for {', '.join(sorted(base.output_type))}).",
                hint=f"Fitting: {', '.join(fitting)}.",
            )
        return replace(base, name=raw) if (output_type, raw) in _OTHER_NAMES else base
    if isinstance(raw, type) and issubclass(raw, CorpusMetric):
        raw = raw()
    if isinstance(raw, CorpusMetric):
        return Metric(_name(raw), raw, aggregation=raw.aggregation, output_type=kinds, reduction=raw.reduce)
    if not callable(raw):
        raise ConfigError(f"`metric` is a registered name or a function, not {raw!r}.")
    registered = getattr(raw, _OWN_DEFINITION, None)
    return registered if isinstance(registered, Metric) else Metric(_name(raw), raw, output_type=kinds)


def _name(thing: Any) -> str:
    name = getattr(thing, "__name__", None) or getattr(getattr(thing, "func", None), "__name__", None)
    return str(name or type(thing).__name__).strip("<>")


def _with_arguments(base: Metric[Any, Any], kwargs: dict[str, Any]) -> Metric[Any, Any]:
    """The metric with the arguments of a YAML; those of a corpus metric configure a new object of its class."""
    if not kwargs:
        return base
    corpus = isinstance(base.fn, CorpusMetric)
    known = _parameters(type(base.fn) if corpus else base.fn) - {"references", "predictions", "self"}
    if "**" not in known:
        for key in kwargs:
            if key not in known:
                accepted = sorted(known | METRIC_KEYS)
                raise ConfigError(f"Metric {base.name!r} takes no argument {key!r}.", hint=did_you_mean(key, accepted))
    if not corpus:
        return replace(base, kwargs={**base.kwargs, **kwargs})
    kind: Any = type(base.fn)
    try:
        fn = kind(**kwargs)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"Metric {base.name!r} can't be built with {kwargs!r}: {error}.") from error
    return replace(base, fn=fn, aggregation=fn.aggregation, reduction=fn.reduce)


def _aggregation(given: Any, base: Metric[Any, Any]) -> Callable[..., float]:
    if given is None or (given == base.name and isinstance(base.fn, CorpusMetric)):
        return base.aggregation or aggregation_named("mean")
    return aggregation_named(given)


def _reduction(given: Any, base: Metric[Any, Any]) -> tuple[Callable[..., Any], frozenset[str]]:
    """The reduction that a YAML names, or the metric's own, and the names of the arguments that it takes."""
    if isinstance(given, Mapping):
        options = {**{k: v for k, v in given.items() if k not in ("function", "kwargs")}, **(given.get("kwargs") or {})}
        if "function" not in given:
            raise ConfigError(f"A reduction needs `function`: {dict(given)!r}.")
        function = reduction_named(given["function"])
        unknown = [key for key in options if key not in _parameters(function) and "**" not in _parameters(function)]
        if unknown:
            hint = did_you_mean(unknown[0], _parameters(function) - {"references", "predictions"})
            raise ConfigError(f"Reduction {given['function']!r} takes no argument {unknown[0]!r}.", hint=hint)
        return (partial(function, **options) if options else function), frozenset()
    function = (base.reduction or take_first) if given is None else reduction_named(given)
    return function, _parameters(function) - {"references", "predictions", "**"}
