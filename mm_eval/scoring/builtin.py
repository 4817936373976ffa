"""The scorers of each output type, those that bring their own way of finding an answer, and that of a submission file."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from mm_eval.scoring.base import Scorer, register_scorer
from mm_eval.scoring.filters.base import UNPARSED, found_by, is_unanswered, rule_of
from mm_eval.scoring.filters.letters import McqLetterFilter
from mm_eval.scoring.filters.reading import boxed, plain, unwrapped
from mm_eval.scoring.metrics.ll_results import LLResults
from mm_eval.scoring.metrics.loglikelihood import check_bounds, is_tied
from mm_eval.scoring.metrics.metric import Metric, at_least_one
from mm_eval.scoring.metrics.traits import CorpusMetric, accepts
from mm_eval.values.errors import ScoringError
from mm_eval.values.task_values import One
from mm_eval.values.types import Instance, Options, ScoredDoc


@register_scorer("generate_until")
@dataclass
class GenScorer(Scorer):
    """Scores generated answers.

    Three ways to make it yours: `default_filter_cfg` and `default_metric_cfg`; `score(reference, predictions)` for one doc;
    `score_instances(instances)` for batches, with `_extract_inputs` for each doc's (reference, predictions, metric_kwargs).
    """

    strips_thinking: ClassVar[bool] = True
    makes_scores: ClassVar[bool] = False

    _missing: list[bool] = field(default_factory=list, init=False, repr=False)
    """Which answers of the doc that is scored are missing."""

    def score_doc(self, doc_id: int, doc_instances: list[Instance]) -> ScoredDoc:
        """The scores of one doc, by `score`."""
        reference, predictions, metric_kwargs = self._extract_inputs(doc_instances)
        extra = {"metric_kwargs": metric_kwargs} if self._takes_metric_kwargs else {}
        answers = _first_repeat(doc_instances).filtered_resps[self.name]
        self._missing = [is_unanswered(answer) for answer in answers]
        return ScoredDoc(doc_id, reference, self.score(reference, predictions, **extra), self.filter.rules(answers))

    @cached_property
    def _takes_metric_kwargs(self) -> bool:
        return accepts(self.score, "metric_kwargs")

    def score(
        self, reference: Any, predictions: list[Any], metric_kwargs: Options | None = None
    ) -> dict[str, list[Any]]:
        """{metric: one score a repeat} for one doc.

        predictions: the filtered answers; None where there is none.
        """
        scores: dict[str, list[object]] = {}
        for metric in self.metrics or ():
            context = {**self.context, **(metric_kwargs or {})}
            found = _scores_of_repeats(metric, reference, predictions, context, self._missing)
            self._parts.update(dict.fromkeys(found, metric))
            scores.update(found)
        return scores

    def _extract_inputs(self, doc_instances: list[Instance]) -> tuple[object, list[object], dict[str, object]]:
        """(target, filtered answers, metric_kwargs) of a doc."""
        first = _first_repeat(doc_instances)
        if self.name not in first.filtered_resps:
            raise ScoringError(f"The answers were not filtered under the name {self.name!r}.")
        answers = [None if is_unanswered(a) else a for a in first.filtered_resps[self.name]]
        return first.target, answers or [None], dict(first.metadata.get("metric_kwargs") or {})


def _first_repeat(instances: Sequence[Instance]) -> Instance:
    return min(instances, key=lambda instance: instance.repeat)


def _scores_of_repeats(
    metric: Metric,
    reference: object,
    predictions: Sequence[object],
    context: Mapping[str, object],
    missing: Sequence[bool] = (),
) -> dict[str, list[object]]:
    """One score a repeat, under the metric's name or those that it returns; each answer is scored by itself.

    An answer that no rule could read, or that is missing, is None: it scores `Metric.of_missing`, or 0 where higher is better.
    Else the metric is asked about None; about the empty text if the answer is missing and the function takes no None.
    missing: which answers are (`UNANSWERED`).
    """
    worst, is_corpus = metric.of_missing, isinstance(metric.fn, CorpusMetric)
    if worst is None and metric.higher_is_better is not False and not is_corpus:
        worst = 0
    scored: list[dict[str, object] | None] = []
    for place, answer in enumerate(predictions):
        if answer is None and worst is not None:
            scored.append(None)
            continue
        is_missing = answer is None and any(missing[place : place + 1])
        try:
            found = metric.compute(One([reference]), One([answer]), **context)
        except Exception:
            if not is_missing:
                raise
            found = metric.compute(One([reference]), One([""]), **context)
        named = _by_name(metric, found)
        scored.append({name: at_least_one(value) for name, value in named.items()} if is_missing else named)
    names = next((list(one) for one in scored if one is not None), [metric.name])
    return {name: [worst if one is None else one[name] for one in scored] for name in names}


def _by_name(metric: Metric, value: object) -> dict[str, object]:
    """A metric function's result as {name: value}; a metric used under another name reports under that one."""
    if isinstance(metric.fn, CorpusMetric):
        return {metric.name: value}
    if not isinstance(value, dict):
        return {metric.name: _only(value)}
    own = getattr(getattr(metric.fn, "registered_metric", None), "name", None)
    return {metric.name if len(value) == 1 and name == own else name: _only(part) for name, part in value.items()}


def _only(value: object) -> object:
    """The value itself, or the only one of a list or array."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return value[0] if isinstance(value, list) and len(value) == 1 else value


_EXACT_MATCH: Sequence[Mapping[str, object]] = (
    {"metric": "exact_match", "aggregation": "mean", "kwargs": {"ignore_case": True, "ignore_punctuation": True}},
)

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ANSWER_IS = r"answer\s*(?:is\b|:)\s*:?"
_ANNOUNCEMENTS = [
    re.compile(rf"\b(?:best|final|correct)\s+{_ANSWER_IS}", re.IGNORECASE),
    re.compile(rf"\b{_ANSWER_IS}", re.IGNORECASE),
    re.compile(r"^\W*(?:(?:the|my)\s+)?(?:(?:best|final|correct)\s+)?answer\W*\n", re.IGNORECASE | re.MULTILINE),
]
"""Where an answer announces itself. The plain "answer is" counts only where no stronger form stands."""
_ARTICLE = re.compile(r"[AaIi]\s+(?!(?:because|since|as|is|with|and|or|but)\b)[a-z]")
_NUMBER = re.compile(r"[\s$(*\"']*([-+]?)[$]?((?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?|\.\d+)[\s%.,;:!)*\"'$]*", re.ASCII)
_BRIEF = 20
"""The most words of an answer in words that may be direct. A longer one that announces nothing is a chain of thought."""


@register_scorer("first_token")
@dataclass
class FirstTokenScorer(GenScorer):
    """Compares the first token of the answer, or as many as the target has, whatever white space is between them.

    Where the answer announces itself ("The best answer is B", as the formats generate and cot ask for), the first token after
    the last announcement counts. Among options, a first token that is none of them is read as `mcq_letter` reads answers; what
    names no option then is unparsed. Without options, a chain of thought that announces no answer is unparsed.
    """

    default_filter_cfg: ClassVar[Sequence[object] | None] = [{"function": "remove_whitespace"}]
    default_metric_cfg: ClassVar[Sequence[Any] | None] = _EXACT_MATCH
    makes_scores: ClassVar[bool] = False

    def score_doc(self, doc_id: int, doc_instances: list[Instance]) -> ScoredDoc:
        """The scores of one doc, and which of its answers could be read."""
        reference, predictions, metric_kwargs = self._extract_inputs(doc_instances)
        first = _first_repeat(doc_instances)
        answers = first.filtered_resps[self.name]
        targets = [str(target) for target in (reference if isinstance(reference, (list, tuple)) else [reference])]
        options = first.metadata.get("choices")
        options = [str(option) for option in options] if isinstance(options, (list, tuple)) else []
        texts = first.metadata.get("option_texts") or ()
        read = [_read(one, targets, options, texts) if isinstance(one, str) else one for one in predictions]
        rules = tuple(
            rule_of(found, rule) if found is not None or is_unanswered(answer) else UNPARSED
            for found, answer, rule in zip(read, answers, self.filter.rules(answers), strict=False)
        )
        extra = {"metric_kwargs": metric_kwargs} if self._takes_metric_kwargs else {}
        self._missing = [is_unanswered(answer) for answer in answers]
        return ScoredDoc(doc_id, reference, self.score(reference, read, **extra), rules or self.filter.rules(answers))

    def score(
        self, reference: Any, predictions: list[object], metric_kwargs: Mapping[str, object] | None = None
    ) -> dict[str, list[Any]]:
        """The scores of the answers, each cut to the tokens of the target that it begins with, else to those of the longest."""
        several = isinstance(reference, (list, tuple))
        targets = [
            " ".join(target.split()) if isinstance(target, str) else target
            for target in (reference if several else [reference])
        ]
        texts = list(map(str, targets))
        heads = [
            _told_apart(_head(answer, texts), texts) if isinstance(answer, str) else answer for answer in predictions
        ]
        return super().score(targets if several else targets[0], heads, metric_kwargs)


def _read(answer: str, targets: Sequence[str], options: Sequence[str], texts: Sequence[str] = ()) -> str | None:
    """What an answer says, for comparison with the target; None if nothing can be read.

    options: what the model chose from: labels or texts; empty if unknown. Letters as targets are options, too.
    texts: what stands behind each of the labels in the prompt; empty if unknown.
    """
    said, announced = _announced(answer)
    head = _head(answer, [*targets, *options])
    letters = "".join(options or targets)
    by_letter = letters.isupper() and letters.isascii() and all(len(text) == 1 for text in options or targets)
    if by_letter and not options:
        letters = "".join(sorted({*string.ascii_uppercase[:10], *letters}))
    known = set(map(_bare, (*letters,) if by_letter else (*targets, *options)))
    if _bare(head) in known and not (by_letter and _ARTICLE.match(said.strip())):
        return head
    if by_letter:
        found = McqLetterFilter(letters="".join(dict.fromkeys(letters))).one(answer, texts if options else ())
        return found if isinstance(found, str) else None
    content = next(iter(boxed(unwrapped(said))), None)
    if content is not None:
        inner = _head(plain(content), [*targets, *options])
        if not options or _bare(inner) in known:
            return inner
        said = plain(content)
    if not options:
        if not (announced and _bare(head)) and all(map(_bare, targets)):
            # "**Answer**: 42", "**Answer:** 42": marks around an answer are no token of it
            clean, found = _announced(plain(unwrapped(answer)))
            if found or not _bare(head):
                announced, head = found, _head(clean, targets)
        head = re.sub(r"\A[“‘«]+|[”’»。，]+(?=[.,]?\Z)", "", head) or head
        return head if announced or len(answer.split()) <= _BRIEF else None
    for named in (options, texts):
        letter = McqLetterFilter(letters=string.ascii_uppercase).one(said, named[: len(string.ascii_uppercase)])
        if str(getattr(letter, "rule", "")).partition(":")[2] in ("text", "text_within"):
            option: str = found_by(options[string.ascii_uppercase.index(letter)], rule_of(letter))
            return option
    return None


def _announced(answer: str) -> tuple[str, bool]:
    """The text after the last "answer is" where there is one, else the whole; and whether there is one."""
    for announcement in _ANNOUNCEMENTS:
        parts = announcement.split(answer)
        if len(parts) > 1:
            return (parts[-1], True) if parts[-1].strip() else (answer, False)
    return answer, False


def _head(answer: str, targets: Sequence[str]) -> str:
    """The first tokens of an answer, after the last "answer is" where there is one, as many as one of the targets has."""
    tokens = _announced(answer)[0].split()
    sizes = sorted({len(target.split()) or 1 for target in targets} or {1}, reverse=True)
    heads = [" ".join(tokens[:size]) for size in sizes]
    wanted = set(map(_bare, targets))
    return next((head for head in heads if _bare(head) in wanted), heads[0])


def _told_apart(head: str, targets: Sequence[str]) -> str:
    """A head that no target equals, where it is another number than the targets that it only equals without its signs.

    >>> _told_apart("-5", ["5"]), _told_apart("1,000.", ["1000"])
    ('-5 ≠ 5', '1,000.')
    """
    alike = [target for target in targets if _bare(target) == _bare(head)]
    pairs = [(_number(head), _number(target)) for target in alike]
    differ = bool(pairs) and all(None not in pair and pair[0] != pair[1] for pair in pairs)
    return f"{head} ≠ {alike[0]}" if differ else head


def _number(text: str) -> float | None:
    """The number that a text is, with or without a currency, thousands and a full stop; None for another text."""
    found = _NUMBER.fullmatch(text.replace("\N{MINUS SIGN}", "-"))
    return float(found[1] + found[2].replace(",", "")) if found else None


def _bare(text: str) -> str:
    return text.lower().translate(_NO_PUNCTUATION)


@register_scorer("regex", "regex_extraction")
@dataclass
class RegexExtractionScorer(GenScorer):
    """Finds the answer by a regular expression and compares it.

    regex_pattern, group_select, fallback: of the filter "regex", where the config names no filters.
    """

    default_filter_cfg: ClassVar[Sequence[object] | None] = [{"function": "regex"}]
    default_metric_cfg: ClassVar[Sequence[Any] | None] = _EXACT_MATCH

    regex_pattern: str | None = None
    group_select: int | None = None
    fallback: str | None = None

    @classmethod
    def default_filters(cls, **kwargs: object) -> Sequence[object]:
        """Those of the class; its filters "regex" without arguments of their own get the scorer's."""
        names = ("regex_pattern", "group_select", "fallback")
        options = {name: kwargs[name] for name in names if kwargs.get(name) is not None}
        steps = super().default_filters(**kwargs)
        return [{**step, "kwargs": options} if step == {"function": "regex"} else step for step in steps]


@register_scorer("choice_match")
@dataclass
class ChoiceMatchScorer(GenScorer):
    """Finds which of the doc's choices the answer means, and compares it with the target.

    The choices are the instance's metadata "choices", else the doc's field `choices_field`; without any the answer as a whole
    is compared. The target is a choice's text, its letter or its index.
    """

    default_metric_cfg: ClassVar[Sequence[Any] | None] = _EXACT_MATCH
    makes_scores: ClassVar[bool] = False

    choices_field: str = "choices"

    def score_doc(self, doc_id: int, doc_instances: list[Instance]) -> ScoredDoc:
        """The scores of one doc, its answers replaced by the texts of the choices that they mean."""
        reference, predictions, metric_kwargs = self._extract_inputs(doc_instances)
        choices = self._choices(doc_instances[0])
        if not choices:
            return super().score_doc(doc_id, doc_instances)
        reader = McqLetterFilter(letters=string.ascii_uppercase)
        letters = [reader.one(answer, choices) for answer in predictions]
        texts = [None if letter is None else choices[ord(letter) - ord("A")] for letter in letters]
        scores = self.score(_as_text(reference, choices), texts, metric_kwargs=metric_kwargs)
        return ScoredDoc(doc_id, reference, scores, tuple(rule_of(letter) for letter in letters))

    def _choices(self, instance: Instance) -> list[str]:
        found = instance.metadata.get("choices", instance.doc.get(self.choices_field))
        if isinstance(found, Mapping):
            found = found.get("text")
        return [str(choice) for choice in found] if isinstance(found, (list, tuple)) else []


def _as_text(target: object, choices: Sequence[str]) -> object:
    """The text of the choice that a target names by text, letter or index."""
    if isinstance(target, (list, tuple)):
        return [_as_text(one, choices) for one in target]
    if isinstance(target, int) and not isinstance(target, bool) and 0 <= target < len(choices):
        return choices[target]
    text = str(target)
    if text not in choices and len(text) == 1 and text.isupper() and ord(text) - ord("A") < len(choices):
        return choices[ord(text) - ord("A")]
    return text


@register_scorer("multiple_choice", "loglikelihood", "loglikelihood_rolling")
@dataclass
class LLScorer(Scorer):
    """Scores choices by their log-likelihoods; repeats do not matter here."""

    makes_scores: ClassVar[bool] = False

    def score_doc(self, doc_id: int, doc_instances: list[Instance]) -> ScoredDoc:
        """The scores of one doc from all its choices."""
        results = LLResults.from_instances(doc_instances, self.name)
        results.check()
        check_bounds(results, [_registered_name(metric) for metric in self.metrics or ()])
        metric_kwargs = doc_instances[0].metadata.get("metric_kwargs")
        values = self._dispatch_metrics(results.targets, results, metric_kwargs)
        scores = {name: [value] for name, value in values.items()}
        return ScoredDoc(doc_id, results.targets, scores, tied=is_tied(results, [m.name for m in self.metrics or ()]))


def _registered_name(metric: Metric) -> str:
    """The name under which a metric's function is registered; of a function of one's own "" and the metric's name in quotes."""
    registered = getattr(metric.fn, "registered_metric", None)
    return str(registered.name) if registered is not None else repr(metric.name)


@register_scorer("submission")
class SubmissionScorer(Scorer):
    """Filters the answers and gives no number: a file of the answers is written instead (`submission:` in the task)."""

    @classmethod
    def build_metrics(cls, metric_list: Sequence[object] | None, output_type: str | None) -> list[Metric]:
        """None."""
        return []

    def score_doc(self, doc_id: int, doc_instances: list[Instance]) -> ScoredDoc:
        """No score, but whether the answer could be read."""
        return ScoredDoc(doc_id, doc_instances[0].target, {})
