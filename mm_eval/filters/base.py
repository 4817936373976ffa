"""The filter protocol, answers that know which rule found them, and a named chain of filters.

A filter sees all docs of a task at once: `apply(resps, docs)`, the outer iterable a doc, the inner sequence its repeats. It
may be lazy and keeps the order. What it can't read becomes None or a fallback marked "unparsed"; it never raises for that.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeAlias, runtime_checkable

from mm_eval.errors import ConfigError, MMEvalError, ScoringError, did_you_mean
from mm_eval.registry import Registry
from mm_eval.types import Doc, Instance

UNPARSED = "unparsed"
"""The rule of an answer that no rule could read."""
TRUNCATED = "truncated"
"""The rule of an answer that ended while the model was still thinking."""
WHOLE_ANSWER = "whole_answer"
"""The rule of an answer that is taken as it was given, by a pipeline without an extractor."""
INVALID = "[invalid]"
"""What lm-eval's filters leave where nothing was found."""


@runtime_checkable
class Filter(Protocol):
    """Turns the answers of all docs into what a metric compares.

    Class attribute `extracts = False` says that a filter only selects or rewrites answers, so that it is never named as the
    rule that found one.
    """

    def apply(self, resps: Iterable[Sequence[Any]], docs: Sequence[Doc]) -> Iterable[Sequence[Any]]:
        """The answers after this step: as many docs, in the same order; the repeats of a doc may become fewer."""
        ...


FilterFactory: TypeAlias = Callable[[], Filter]

FILTERS: Registry[Callable[..., Filter]] = Registry(
    "filter", package="mm_eval.filters", decorator="register_filter", entry_points="mm_eval.filters"
)
register_filter = FILTERS.register


class Extracted(str):
    """An answer that knows which rule found it."""

    rule: str = WHOLE_ANSWER


class ExtractedInt(int):
    """A whole number that knows which rule found it."""

    rule: str = WHOLE_ANSWER


class ExtractedFloat(float):
    """A number that knows which rule found it."""

    rule: str = WHOLE_ANSWER


class ExtractedList(list[Any]):
    """A list of parts that knows which rule found it."""

    rule: str = WHOLE_ANSWER


_MARKED: dict[type, type] = {str: Extracted, int: ExtractedInt, float: ExtractedFloat, list: ExtractedList}


def found_by(value: Any, rule: str) -> Any:
    """The same value with the rule that found it; a value that can't carry one (None, bool, tuple) comes back as it is."""
    for plain, marked in _MARKED.items():
        if isinstance(value, plain) and not isinstance(value, bool):
            answer = marked(value)
            answer.rule = rule
            return answer
    return value


def like(value: Any, source: Any) -> Any:
    """A rewritten answer with the rule of the answer that it was made from."""
    rule = getattr(source, "rule", None)
    return value if rule is None else found_by(value, rule)


def is_unread(value: Any) -> bool:
    """Whether an earlier step has already said that there is no answer here."""
    return value is None or getattr(value, "rule", None) in (UNPARSED, TRUNCATED)


def rule_of(value: Any, default: str = WHOLE_ANSWER) -> str:
    """The rule that found an answer, "unparsed" where none did.

    default: the rule of an answer that carries none: the last extractor of its pipeline.
    """
    if value is None or (default != WHOLE_ANSWER and value == INVALID and not hasattr(value, "rule")):
        return UNPARSED
    return getattr(value, "rule", None) or default


@dataclass
class FilterEnsemble:
    """A named chain of filters; its result is kept in `Instance.filtered_resps[name]`.

    filters: factories, called anew for each use so that no state leaks (a filter object is accepted too).
    errors: docs whose answers a filter could not take, with the reason; the other docs lose nothing.
    """

    name: str
    filters: list[FilterFactory | Filter]
    errors: dict[int, MMEvalError] = field(default_factory=dict, repr=False)

    def apply(self, instances: Sequence[Instance]) -> None:
        """Filters the answers of one task's instances.

        Instances of one doc and choice are its repeats: their answers are joined in order of repeat, and the result is
        written to the first of them.
        """
        self.errors = {}
        groups = group_repeats(instances)
        resps = [[resp for instance in group for resp in instance.resps] for group in groups]
        docs = [group[0].doc for group in groups]
        outcomes = self._isolated(resps, docs)
        for group, outcome in zip(groups, outcomes, strict=True):
            first = group[0]
            for instance in group:
                instance.filtered_resps.pop(self.name, None)
            if isinstance(outcome, Exception):
                self.errors[first.doc_id] = _filter_error(self.name, first, outcome)
            else:
                first.filtered_resps[self.name] = outcome

    def chain(self, resps: Sequence[Sequence[Any]], docs: Sequence[Doc]) -> list[list[Any]]:
        """The answers after all filters, one list a doc; raises what a filter raises."""
        current: Iterable[Sequence[Any]] = [list(answers) for answers in resps]
        for step in self.filters:
            current = _filter_of(step).apply(current, docs)
        result = [list(answers) for answers in current]
        if len(result) != len(docs):
            raise ScoringError(f"The filters of {self.name!r} made {len(result)} docs out of {len(docs)}.")
        return result

    @property
    def default_rule(self) -> str:
        """The rule of an answer that carries none: the last step that may extract, by its name."""
        for step in reversed(self.filters):
            kind = step.func if isinstance(step, partial) else step
            if getattr(kind, "extracts", True):
                return str(getattr(kind, "__name__", type(kind).__name__))
        return WHOLE_ANSWER

    def rules(self, answers: Sequence[Any]) -> tuple[str, ...]:
        """The rule that found each answer of a doc; one "unparsed" where there is no answer at all."""
        default = self.default_rule
        return tuple(rule_of(answer, default) for answer in answers) or (UNPARSED,)

    def _isolated(self, resps: list[list[Any]], docs: list[Doc]) -> list[list[Any] | Exception]:
        """The chain's result for each doc, or what it raised for that doc alone."""
        try:
            return list(self.chain(resps, docs))
        except Exception as error:
            whole_error = error
        alone: list[Exception | None] = [self._raised_by(resps[i], docs[i]) for i in range(len(docs))]
        good = [i for i, error in enumerate(alone) if error is None]
        outcomes: list[list[Any] | Exception] = [error or whole_error for error in alone]
        if len(good) < len(docs):
            try:
                answers = self.chain([resps[i] for i in good], [docs[i] for i in good])
            except Exception as error:
                return [outcome or error for outcome in alone]
            for i, answer in zip(good, answers, strict=True):
                outcomes[i] = answer
        return outcomes

    def _raised_by(self, resps: list[Any], doc: Doc) -> Exception | None:
        try:
            self.chain([resps], [doc])
        except Exception as error:
            return error
        return None


def group_repeats(instances: Iterable[Instance]) -> list[list[Instance]]:
    """The instances of each doc and choice together, in order of first appearance, repeats in order."""
    groups: dict[tuple[Any, ...], list[Instance]] = {}
    for instance in instances:
        unconditional = bool(instance.metadata.get("acc_mutual_info", False))
        groups.setdefault((instance.task, instance.doc_id, instance.choice, unconditional), []).append(instance)
    return [sorted(group, key=lambda instance: instance.repeat) for group in groups.values()]


def build_filter_ensemble(
    filter_name: str,
    components: Iterable[tuple[str | Callable[..., Any], Mapping[str, Any] | None] | Mapping[str, Any] | Any],
) -> FilterEnsemble:
    """A filter pipeline from its steps.

    components: (name, kwargs) pairs, or entries of a YAML's `filter` list ({"function": ..., "kwargs": {...}} or flat), or
        Filter classes. An unknown name or argument is a ConfigError here, not when the first answer comes.
    """
    return FilterEnsemble(filter_name, [filter_step(component) for component in components])


def filter_step(component: Any) -> FilterFactory:
    """The factory of one step of a pipeline, tried once so that a wrong argument is found before any request is made."""
    if isinstance(component, tuple) and len(component) == 2:
        function, kwargs = component[0], dict(component[1] or {})
    elif isinstance(component, Mapping):
        if "function" not in component:
            raise ConfigError(f"A filter step needs `function`: {dict(component)!r}.")
        flat = {key: value for key, value in component.items() if key not in ("function", "kwargs")}
        function, kwargs = component["function"], {**flat, **(component.get("kwargs") or {})}
    else:
        function, kwargs = component, {}
    factory = _factory(function, kwargs)
    name = function if isinstance(function, str) else getattr(function, "__name__", repr(function))
    try:
        built = factory()
    except MMEvalError:
        raise
    except Exception as error:
        raise ConfigError(f"Filter {name!r} can't be built with {kwargs!r}: {error}.") from error
    if not hasattr(built, "apply"):
        raise ConfigError(f"Filter {name!r} has no `apply(resps, docs)`.")
    return factory


def _factory(function: Any, kwargs: dict[str, Any]) -> FilterFactory:
    if isinstance(function, str):
        kind: Callable[..., Any] = FILTERS.get(function)
    elif callable(function) and not isinstance(function, type) and not hasattr(function, "apply"):
        kind, kwargs = FILTERS.get("custom"), {"filter_fn": function, **kwargs}
        return partial(kind, **kwargs)
    else:
        kind = function
    if hasattr(kind, "apply") and not isinstance(kind, type):
        return partial(_same, kind)
    check_arguments("Filter", getattr(kind, "__name__", str(kind)), kind, kwargs)
    return partial(kind, **kwargs) if kwargs else kind


def _same(thing: Filter) -> Filter:
    return thing


def check_arguments(kind: str, name: str, function: Callable[..., Any], kwargs: Mapping[str, Any]) -> None:
    """ConfigError when a function does not take an argument, with the closest of those that it takes."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    known = [p.name for p in parameters.values() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    for key in kwargs:
        if key not in known:
            raise ConfigError(f"{kind} {name!r} takes no argument {key!r}.", hint=did_you_mean(key, known))


def _filter_of(step: FilterFactory | Filter) -> Filter:
    if isinstance(step, type) or not hasattr(step, "apply"):
        return step()
    return step


def _filter_error(name: str, instance: Instance, error: Exception) -> MMEvalError:
    where = f"{instance.task}, doc {instance.doc_id}"
    if isinstance(error, MMEvalError):
        return error.located(where)
    return ScoringError(f"A filter of {name!r} raised {type(error).__name__}: {error}.", where=where)


@register_filter("custom")
class CustomFilter(Filter):
    """Applies a function `filter_fn(resps, docs)` to the answers of all docs."""

    def __init__(self, filter_fn: Callable[..., Iterable[Sequence[Any]]], **kwargs: Any) -> None:
        if not callable(filter_fn):
            raise ConfigError(
                f"custom needs a function as filter_fn, not {filter_fn!r}.", hint="Write !function utils.f."
            )
        self.filter_fn, self.kwargs = filter_fn, kwargs

    def apply(self, resps: Iterable[Sequence[Any]], docs: Sequence[Doc]) -> Iterable[Sequence[Any]]:
        return self.filter_fn(resps, docs, **self.kwargs)
