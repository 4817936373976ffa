"""Every filter and every metric that normalises text takes time in proportion to an answer's length."""

import random
import signal
import string
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from mm_eval.scoring.filters import FILTERS, build_filter_ensemble
from mm_eval.scoring.metrics.metric import Metric
from tests.sets import few

LENGTH = 100_000
SECONDS = 3.0
"""CPU time for one answer; the slowest takes a tenth of it, what grows with the square of the length takes minutes."""

OPTIONS = ["a dog", "not sure", "A. Smith", "答案是狗", "there is no dog"]
DOC = {"choices": OPTIONS}
_draw = random.Random(0)


def _mixed(parts: list[str]) -> str:
    return "".join(_draw.choice(parts) for _ in range(LENGTH // 3))[:LENGTH]


UNITS = {
    "chinese choose": "选", "chinese so choose": "故选", "chinese answer": "答案", "chinese is": "是", "chinese correct": "B正确",
    "answer is": "The answer is ", "answer colon": "Answer: ", "announced": "best answer: ", "negations": "not A, ",
    "corrections": "wait, no, ", "conditions": "if A, ", "options": "options: A. ", "choosing": "I think it's A ",
    "letters": "A", "letters in a list": "A, ", "letters with colons": "A: ", "letters or": "A or ", "brackets": "((",
    "bracketed": "(A)", "digits": "1", "decimals": "1.5,", "dots": ".", "punctuation": ",", "white space": " ", "newlines": "\n",
    "starred lines": "\n*", "combining marks": "\u0301\u0316", "zero-width": "\u200b", "ligatures": "ﷺ",
    "option texts": "a dog there is no dog ",
    "yes": "yes ", "no": "no ", "boxes": "\\boxed{", "answer tags": "<answer>", "thinking": "<think>", "end tokens": "</s>",
    "latex": "\\text{", "dollars": "$", "hashes": "#### ", "spans": "per: loc: ", "pairs": "('a', '",
}  # fmt: skip
KINDS = {name: (unit * (LENGTH // len(unit) + 1))[:LENGTH] for name, unit in UNITS.items()}
KINDS["mixed cues"] = _mixed(["选", "答案", "是", "A", "，", "not ", "Answer: ", "\n", "B. "])
KINDS["random letters"] = _mixed(list(string.ascii_letters + " .,"))
HEAVY = (
    "mcq_letter",
    "multi_choice_regex",
    "option_list",
    "point",
    "box",
    "mcq_letter without options",
    "format_span",
    "yes_no",
    "yes_no_words",
)
ENDS = ("", "x", ".", " B")

ARGUMENTS = {
    "custom": {"filter_fn": lambda resps, docs: resps},
    "take_first_k": {"k": 2},
    "mcq_letter": {"choices": "choices"},
    "multi_choice_regex": {
        "ignore_case": True,
        "ignore_punctuation": True,
        "regexes_to_ignore": [r"(?s).*@@ ", "[,$]"],
    },
}
PIPELINES = {name: [(name, ARGUMENTS.get(name))] for name in FILTERS.names()}
PIPELINES["mcq_letter without options"] = [("mcq_letter", None)]
PIPELINES["a pattern that begins with anything"] = [("regex", {"regex_pattern": r"(?s).*answer is: (\d)"})]
PIPELINES["the last number"] = [("regex", {"regex_pattern": "(-?[$0-9.,]{2,})|(-?[0-9]+)", "group_select": -1})]

METRICS = {
    "anls": {}, "vqa_accuracy": {}, "relaxed_accuracy": {}, "f1": {},
    "exact_match": {
        "regexes_to_ignore": [",", "\\$", "(?s).*@@ ", "\\.$"], "ignore_case": True, "ignore_punctuation": True,
        "ignore_numbers": True,
    },
}  # fmt: skip


class TooSlow(Exception):
    """A filter was still at work when its time was up."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises TooSlow once this process has used so much CPU time; regular expressions are interrupted too."""

    def stop(*_: object) -> None:
        raise TooSlow(f"more than {seconds} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def test_thirty_kinds_and_all_filters_are_tried() -> None:
    assert len(KINDS) >= 30
    assert {step for steps in PIPELINES.values() for step, _ in steps} == set(FILTERS.names())


@pytest.mark.parametrize("pipeline", few(PIPELINES, *(name for name in PIPELINES if name not in HEAVY)))
def test_a_filter_is_linear_in_the_answers_length(pipeline: str) -> None:
    for number, (kind, text) in enumerate(KINDS.items()):
        answer = text + ENDS[number % len(ENDS)]
        ensemble = build_filter_ensemble("x", PIPELINES[pipeline])
        try:
            with time_limit(SECONDS):
                ensemble.chain([[answer]], [DOC])
        except TooSlow:
            pytest.fail(f"{pipeline} took more than {SECONDS} s for {kind}")


@pytest.mark.parametrize("name", few(METRICS, at=[0, 2, 3]))
def test_a_metric_is_linear_in_the_answers_length(name: str) -> None:
    metric = Metric.from_dict({"metric": name, "kwargs": METRICS[name]})
    for kind, text in KINDS.items():
        try:
            with time_limit(SECONDS):
                metric.compute(["a dog on the beach"], [text])
        except TooSlow:
            pytest.fail(f"{name} took more than {SECONDS} s for {kind}")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_random_repetition_is_read_in_time(seed: int) -> None:
    draw = random.Random(seed)
    words = [*UNITS.values(), " ", "\n", "**", "_", "`", "# ", "B", "yes", "?", "because ", "…", "\u3000"]
    for _ in range(60):
        unit = "".join(draw.choice(words) for _ in range(draw.randint(1, 3)))
        answer = draw.choice(words) + unit * (LENGTH // len(unit)) + draw.choice(words)
        for pipeline in ("mcq_letter", "mcq_letter without options", "yes_no", "multi_choice_regex", "strip_thinking"):
            with time_limit(SECONDS):
                [[found]] = build_filter_ensemble("x", PIPELINES[pipeline]).chain([[answer]], [DOC])
            assert len(str(found)) <= len(answer) + len("[invalid]")
