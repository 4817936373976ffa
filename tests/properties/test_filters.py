"""Every filter keeps the number of docs, reads the same text the same way, and raises for no text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mm_eval.scoring.filters import FILTERS, build_filter_ensemble
from mm_eval.values.types import Instance

WORDS = ["A", "(B)", "yes", "No.", "the answer is", "C)", "选", "答案", "**D**", "not", "1.5", "-3", "\n"]
WORDS += ["\\boxed{2}", "#### 7", "</think>"]
answers = st.lists(st.sampled_from(WORDS) | st.text(max_size=6), max_size=8).map(" ".join)
OPTIONS = {
    "regex": {"regex_pattern": r"(-?\d+)"},
    "take_first_k": {"k": 1},
    "multi_choice_regex": {"regex_patterns": [r"\(([A-D])\)"]},
}
DOC = {"choices": ["red", "blue", "a cat", "two"], "answer": 0}


def ensemble(name: str):
    step = {"function": name, **({"kwargs": OPTIONS[name]} if name in OPTIONS else {})}
    try:
        return build_filter_ensemble("none", [step])
    except Exception as error:
        pytest.skip(f"needs arguments: {error}")


def filtered(name: str, texts: list[str]) -> list:
    instances = [Instance("generate_until", "t", n, DOC, resps=[text]) for n, text in enumerate(texts)]
    chain = ensemble(name)
    chain.apply(instances)
    assert not chain.errors, chain.errors
    return [instance.filtered_resps["none"] for instance in instances]


@pytest.mark.parametrize("name", FILTERS.names())
def test_a_filter_reads_each_answer_alone(name: str) -> None:
    ensemble(name)

    @settings(max_examples=60)
    @given(st.lists(answers, min_size=1, max_size=4))
    def holds(texts: list[str]) -> None:
        together = filtered(name, texts)
        assert len(together) == len(texts)
        assert [filtered(name, [text])[0] for text in texts] == together, "an answer depends on the docs beside it"

    holds()
