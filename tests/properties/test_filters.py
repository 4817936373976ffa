"""Every filter keeps the number of docs, reads the same text the same way, and raises for no text."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mm_eval.scoring.filters import FILTERS, FilterEnsemble, build_filter_ensemble
from mm_eval.values.types import Instance

WORDS = ["A", "(B)", "yes", "No.", "the answer is", "C)", "选", "答案", "**D**", "not", "1.5", "-3", "\n"]
WORDS += ["\\boxed{2}", "#### 7", "</think>"]
answers = st.lists(st.sampled_from(WORDS) | st.text(max_size=6), max_size=8).map(" ".join)
OPTIONS = {
    "regex": {"regex_pattern": r"(-?\d+)"},
    "take_first_k": {"k": 1},
    "multi_choice_regex": {"regex_pattern": r"\(([A-D])\)"},
}
DOC = {"choices": ["red", "blue", "a cat", "two"], "answer": 0}


CHAINS = {
    name: build_filter_ensemble("none", [{"function": name, "kwargs": OPTIONS.get(name, {})}])
    for name in FILTERS.names()
    if name != "custom"  # it is what its function is
}


def filtered(chain: FilterEnsemble, texts: list[str]) -> list[Any]:
    instances = [Instance("generate_until", "t", n, DOC, resps=[text]) for n, text in enumerate(texts)]
    chain.apply(instances)
    assert not chain.errors, chain.errors
    return [instance.filtered_resps["none"] for instance in instances]


@settings(max_examples=60)
@given(st.lists(answers, min_size=1, max_size=4))
def test_a_filter_reads_each_answer_alone(texts: list[str]) -> None:
    for name, chain in CHAINS.items():
        together = filtered(chain, texts)
        assert len(together) == len(texts), name
        alone = [filtered(chain, [text])[0] for text in texts]
        assert alone == together, f"{name}: an answer depends on the documents beside it"
