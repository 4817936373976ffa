"""Scoring an answer of a megabyte ends within a bound of CPU seconds in every shipped generation task, and fails no document."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest

from mm_eval.prepare import load_configs, prepare_without_model
from mm_eval.request import RunRequest
from mm_eval.scoring.score_task import TaskScoring
from mm_eval.values.types import Answer
from tests.tasks.test_all import MANAGER, RUN_HERE

MOST_SECONDS = 10.0
"""CPU seconds that scoring one answer may take; what has no bound takes minutes."""
SIZE = 1_000_000
_WORDS = random.Random(0)


def _filled(piece: str) -> str:
    return (piece * (SIZE // len(piece) + 1))[:SIZE]


def _numbered(pattern: str) -> str:
    return "".join(pattern.format(number) for number in range(SIZE // len(pattern.format(100_000))))


HOSTILE = {
    "blanks": _filled(" "), "lines": _filled("\n"), "digits": _filled("9"), "letter": _filled("a"), "words": _filled("the cat "),
    "open brackets": _filled("["), "open parens": _filled("("), "open braces": _filled("{"), "nested objects": _filled('{"a":'),
    "nested lists": _filled("[0, "), "quotes": _filled("'"), "minus": "[" + _filled("-") + "1]", "commas": _filled("1,"),
    "boxed": _filled(r"\boxed{"), "fractions": _filled(r"\frac{1}{"), "dollars": _filled("$"), "powers": _filled("9^"),
    "letters": _filled("A. B) (C) "), "answers": _filled("The answer is A\n"), "answer is": _filled("answer: "),
    "yes and no": _filled("yes no "), "html": "<table>" + _filled("<tr><td>x"), "fences": _filled("```json\n"),
    "other words": _numbered("w{} "), "paragraphs": _numbered("Text {} here.\n\n"), "formulas": _numbered("$$x_{}$$\n\n"),
    "tables": _numbered("<table><tr><td>{}</td></tr></table>\n"), "pipes": _filled("|a|\n|-|\n"),
    "list": "[" + _numbered("{}, ") + "0]",
    "bare list": "[" + _numbered("w{}, ") + "x]", "stars": _filled("**"), "dashes": _filled("- "), "tags": _filled("<answer>"),
    "apostrophes": _filled("it's o'"), "times": _filled("0:00 - 1:00 "), "chinese": _filled("答案是猫"), "sums": _filled("1+"),
}  # fmt: skip


class Spent(BaseException):
    """The CPU seconds are spent; no code of a scorer catches it."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Ends what takes more CPU seconds of this process."""

    def ended(*_: Any) -> None:
        raise Spent

    before = signal.signal(signal.SIGPROF, ended)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def generation_task(benchmark: str) -> str:
    """The name of a generation task of a benchmark; it is skipped where there is none."""
    tasks = MANAGER.load(benchmark).tasks
    if names := [name for name, config in tasks.items() if config.output_type == "generate_until"]:
        return min(names)
    pytest.skip("it has no generation task")


QUICK = ["ai2d"]


@cache
def prepared(name: str) -> Any:
    request = RunRequest.of_options(tasks=(name,), sample=True, no_judge=True)
    return prepare_without_model(request, name, load_configs(request))


def slow_ones(name: str, answers: dict[str, str]) -> list[str]:
    """The answers that took too long, or failed the document, with what happened."""
    plan = prepared(name)
    (task,), found = plan.tasks.values(), []
    doc_ids = list(plan.doc_ids[name][:1])
    for kind, text in answers.items():
        start = time.process_time()
        try:
            with at_most(MOST_SECONDS):
                scoring = TaskScoring(task, plan.styles[name], plan.scorers[name], lambda slot, text=text: Answer(text))
                rows = list(scoring.samples(doc_ids))
                scoring.aggregate(bootstrap_iters=0)
        except Spent:
            found.append(f"{kind}: more than {MOST_SECONDS:g} s")
            continue
        failed = [row["error"]["what"] for row in rows if row["status"] == "failed"]
        found += [f"{kind}: failed: {what[:200]}" for what in failed]
        if (spent := time.process_time() - start) > MOST_SECONDS / 2:
            print(f"{name} {kind}: {spent:.1f} s")
    return found


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.full if name in QUICK else pytest.mark.slow) for name in RUN_HERE]
)
def test_a_hostile_answer_of_a_megabyte_ends(name: str) -> None:
    assert slow_ones(generation_task(name), HOSTILE) == []
