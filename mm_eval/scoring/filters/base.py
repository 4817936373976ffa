"""What a filter is, answers marked with the rule that found them, and a named chain of filters.

A filter gets all docs of a task at once: `apply(resps, docs)`, one sequence of repeats per doc. It may be lazy and keeps the
order. An answer that it can't read becomes None or a fallback marked "unparsed"; that never raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from mm_eval.scoring.metrics.traits import arguments_of, check_arguments, parameters_of
from mm_eval.values.errors import InvalidValue, MMEvalError, ScoringError, kind_and_text
from mm_eval.values.registry import Registry
from mm_eval.values.types import Completion, Doc, Instance
from mm_eval.values.words import counted

UNPARSED = "unparsed"
"""Marks an answer that no rule could read."""
TRUNCATED = "truncated"
"""Marks an answer that ended while the model was still thinking, or that the token cap left without any text."""
FILTERED = "filtered"
"""Marks an answer that the vendor's filter withheld."""
REFUSED = "refused"
"""Marks an answer that the endpoint calls a refusal."""
UNANSWERED = frozenset({TRUNCATED, FILTERED, REFUSED})
"""The marks of a question that was asked and not answered. The answer is "", and it has the worst value of each metric."""
WHOLE_ANSWER = "whole_answer"
"""Marks an answer that is used as given, in a pipeline without an extractor."""
INVALID = "[invalid]"
"""The answer of lm-eval's filters if nothing was found."""


if TYPE_CHECKING:
    from typing_extensions import TypeVar  # that of Python 3.11 has no default

    Found = TypeVar("Found", covariant=True, default=Completion)
else:
    from typing import TypeVar

    Found = TypeVar("Found", covariant=True)


@runtime_checkable
class Filter(Protocol[Found]):
    """Turns the answers of all docs into what a metric compares.

    `Filter[str]` says what its answers are, for type checkers; without it they are those of a generation (`Completion`).

    A class attribute `extracts = False` marks a filter that only selects or rewrites answers; it is never reported as the rule
    that found one. `marks_missing = True` marks one that finds answers that are missing (`UNANSWERED`).
    """

    def apply(self, resps: Iterable[Sequence[Any]], docs: Sequence[Doc]) -> Iterable[Sequence[Found]]:
        """The answers after this step: the same docs in the same order, with as many repeats or fewer."""
        ...


class EachAnswer(Filter):
    """Base of filters that handle one answer at a time: implement `one(answer)`."""

    def one(self, answer: Any) -> Any:
        """The answer after this filter."""
        raise NotImplementedError

    def apply(self, resps: Iterable[Sequence[Any]], docs: Sequence[Doc]) -> Iterable[Sequence[Any]]:
        return ([self.one(answer) for answer in answers] for answers in resps)


FilterFactory: TypeAlias = Callable[[], Filter]

FILTERS: Registry[Callable[..., Filter]] = Registry(
    "filter",
    package=("mm_eval.scoring.filters", "mm_eval.tasks.rules"),
    decorator="register_filter",
    entry_points="mm_eval.filters",
)
register_filter, get_filter = FILTERS.register, FILTERS.get


class Extracted(str):
    """A text answer with the rule that found it."""

    rule: str = WHOLE_ANSWER


class ExtractedInt(int):
    """A whole number with the rule that found it."""

    rule: str = WHOLE_ANSWER


class ExtractedFloat(float):
    """A number with the rule that found it."""

    rule: str = WHOLE_ANSWER


class ExtractedList(list[object]):
    """A list of parts with the rule that found it."""

    rule: str = WHOLE_ANSWER


_MARKED: dict[type, type] = {str: Extracted, int: ExtractedInt, float: ExtractedFloat, list: ExtractedList}


def found_by(value: object, rule: str) -> Any:
    """The same value marked with the rule that found it; None, bool and tuple can't be marked and are returned unchanged."""
    for plain, marked in _MARKED.items():
        if isinstance(value, plain) and not isinstance(value, bool):
            answer = marked(value)
            answer.rule = rule
            return answer
    return value


def like(value: object, source: object) -> object:
    """A rewritten answer with the rule of its source."""
    rule = getattr(source, "rule", None)
    return value if rule is None else found_by(value, rule)


def is_unread(value: object) -> bool:
    """Whether an earlier step found no answer."""
    return value is None or getattr(value, "rule", None) == UNPARSED or is_unanswered(value)


def is_unanswered(value: object) -> bool:
    """Whether a question was asked and not answered (`UNANSWERED`)."""
    return getattr(value, "rule", None) in UNANSWERED


def rule_of(value: object, default: str = WHOLE_ANSWER) -> str:
    """The rule that found an answer; "unparsed" if none did.

    default: the rule of an unmarked answer: the last extractor of its pipeline.
    """
    if value is None or (default != WHOLE_ANSWER and value == INVALID and not hasattr(value, "rule")):
        return UNPARSED
    return getattr(value, "rule", None) or default


@dataclass
class FilterEnsemble:
    """A named chain of filters; its result is stored in `Instance.filtered_resps[name]`.

    filters: factories, called for each use so that no state leaks (a filter object is accepted too).
    errors: by doc id, the error of a filter for that doc's answers; other docs are not affected.
    """

    name: str
    filters: list[FilterFactory | Filter]
    errors: dict[int, MMEvalError] = field(default_factory=dict, repr=False)

    def apply(self, instances: Sequence[Instance]) -> None:
        """Filters the answers of one task's instances.

        Instances of one doc and choice are its repeats: their answers are joined in order, and the result is stored in the
        first instance.
        """
        self.errors = {}
        groups = group_repeats(instances)
        resps = [[resp for instance in group for resp in instance.resps] for group in groups]
        docs = [group[0].doc for group in groups]
        steps = self
        if self.filters and getattr(_kind_of(self.filters[0]), "marks_missing", False):
            resps = FilterEnsemble(self.name, self.filters[:1]).chain(resps, docs)
            steps = FilterEnsemble(self.name, self.filters[1:])  # these may lose the mark
        outcomes = steps._isolated(resps, docs)
        for group, answers, outcome in zip(groups, resps, outcomes, strict=True):
            first = group[0]
            if answers and all(map(is_unanswered, answers)):  # whatever a task's own filter makes of nothing
                outcome = list(answers[: 1 if isinstance(outcome, Exception) else max(1, len(outcome))])
            for instance in group:
                instance.filtered_resps.pop(self.name, None)
            if isinstance(outcome, Exception):
                self.errors[first.doc_id] = _filter_error(self.name, first, outcome)
            else:
                first.filtered_resps[self.name] = outcome

    def chain(self, resps: Sequence[Sequence[object]], docs: Sequence[Doc]) -> list[list[object]]:
        """The answers after all filters, one list per doc. Exceptions of filters are not caught."""
        current: Iterable[Sequence[object]] = [list(answers) for answers in resps]
        for step in self.filters:
            made = step() if isinstance(step, type) or not hasattr(step, "apply") else step
            current = made.apply(current, docs)
        result = [list(answers) for answers in current]
        if len(result) != len(docs):
            raise ScoringError(
                f"The filters of {self.name!r} returned {counted(len(result), 'document')} for {len(docs)}."
            )
        return result

    @cached_property
    def default_rule(self) -> str:
        """The rule of an unmarked answer: the name of the last step that may extract."""
        for kind in map(_kind_of, reversed(self.filters)):
            if getattr(kind, "extracts", True):
                return str(getattr(kind, "__name__", type(kind).__name__))
        return WHOLE_ANSWER

    @property
    def needs_all_docs(self) -> bool:
        """Whether a step must see all docs of the task at once (`needs_all_docs = True` in its class), not some at a time."""
        return any(getattr(kind, "needs_all_docs", False) for kind in map(_kind_of, self.filters))

    def rules(self, answers: Sequence[object]) -> tuple[str, ...]:
        """The rule that found each answer of a doc; a single "unparsed" if there is no answer."""
        default = self.default_rule
        return tuple(rule_of(answer, default) for answer in answers) or (UNPARSED,)

    def _isolated(self, resps: list[list[object]], docs: list[Doc]) -> list[list[object] | Exception]:
        """The chain's result for each doc, or the exception that it raised for that doc alone."""
        try:
            return list(self.chain(resps, docs))
        except Exception as error:
            whole_error = error
        alone: list[Exception | None] = [self._raised_by(resps[i], docs[i]) for i in range(len(docs))]
        good = [i for i, error in enumerate(alone) if error is None]
        outcomes: list[list[object] | Exception] = [error or whole_error for error in alone]
        if len(good) < len(docs):
            try:
                answers = self.chain([resps[i] for i in good], [docs[i] for i in good])
            except Exception as error:
                return [outcome or error for outcome in alone]
            for i, answer in zip(good, answers, strict=True):
                outcomes[i] = answer
        return outcomes

    def _raised_by(self, resps: list[object], doc: Doc) -> Exception | None:
        try:
            self.chain([resps], [doc])
        except Exception as error:
            return error
        return None


def _kind_of(step: FilterFactory | Filter) -> object:
    """The class of a step, or the filter that it is."""
    return step.func if isinstance(step, partial) else step


def group_repeats(instances: Iterable[Instance]) -> list[list[Instance]]:
    """The instances of each doc and choice as one list, sorted by repeat; lists in order of first appearance.

    Instances that state no choice are distinguished by their continuations.
    """
    groups: dict[tuple[object, ...], list[Instance]] = {}
    for each in instances:
        place = each.task, each.doc_id, each.choice, each.continuation, bool(each.metadata.get("acc_mutual_info"))
        groups.setdefault(place, []).append(each)
    return [sorted(group, key=attrgetter("repeat")) if len(group) > 1 else group for group in groups.values()]


def build_filter_ensemble(
    filter_name: str,
    components: Iterable[
        tuple[str | Callable[..., object], Mapping[str, object] | None] | Mapping[str, object] | object
    ],
) -> FilterEnsemble:
    """A filter pipeline from its steps.

    components: (name, kwargs) pairs, entries of a YAML's `filter` list ({"function": ..., "kwargs": {...}} or flat), or Filter
        classes. Raises ConfigError for an unknown name or argument, before any answer is filtered.
    """
    return FilterEnsemble(filter_name, [filter_step(component) for component in components])


def filter_step(component: object) -> FilterFactory | Filter:
    """One step of a pipeline. Its factory is called once, so that a wrong argument is found before any request."""
    if isinstance(component, tuple) and len(component) == 2:
        function, kwargs = component[0], dict(component[1] or {})
    elif isinstance(component, Mapping):
        if "function" not in component:
            raise InvalidValue(f"A filter step needs `function`: {dict(component)!r}.")
        function, kwargs = component["function"], arguments_of(component, ("function", "kwargs"))
    else:
        function, kwargs = component, {}
    kind: Any = FILTERS.get(function) if isinstance(function, str) else function
    if hasattr(kind, "apply") and not isinstance(kind, type):
        step: Filter = kind
        return step
    if callable(function) and not isinstance(function, type):
        kind, kwargs = FILTERS.get("custom"), {"filter_fn": function, **kwargs}
    else:
        check_arguments(f"Filter {getattr(kind, '__name__', str(kind))!r}", kwargs, parameters_of(kind))
    name = function if isinstance(function, str) else getattr(function, "__name__", repr(function))
    try:
        built = kind(**kwargs)
    except MMEvalError:
        raise
    except Exception as error:
        raise InvalidValue(f"Filter {name!r} can't be built with {kwargs!r}: {error}.") from error
    if not hasattr(built, "apply"):
        raise InvalidValue(f"Filter {name!r} has no `apply(resps, docs)`.")
    return partial(kind, **kwargs) if kwargs else kind


def _filter_error(name: str, instance: Instance, error: Exception) -> MMEvalError:
    where = f"{instance.task}, doc {instance.doc_id}"
    if isinstance(error, MMEvalError):
        return error.located(where)
    return ScoringError(f"A filter of {name!r} raised {kind_and_text(error)}.", where=where)


@register_filter("custom")
class CustomFilter(Filter):
    """Applies a function `filter_fn(resps, docs)` to the answers of all docs."""

    def __init__(self, filter_fn: Callable[..., Iterable[Sequence[object]]], **kwargs: object) -> None:
        if not callable(filter_fn):
            raise InvalidValue(
                f"custom: filter_fn must be a function, not {filter_fn!r}.", hint="Write !function utils.f."
            )
        self.filter_fn, self.kwargs = filter_fn, kwargs

    def apply(self, resps: Iterable[Sequence[Any]], docs: Sequence[Doc]) -> Iterable[Sequence[Any]]:
        return self.filter_fn(resps, docs, **self.kwargs)
