"""What each level says of two sides, and the verdict over all."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from mm_eval.values.errors import ConfigError
from mm_eval.values.types import Place
from mm_eval.verbs.same.evidence import (
    ALIKE,
    DIFFERS,
    OPEN,
    OTHER,
    SAME,
    UNDECIDED,
    UNTOLD,
    Evidence,
    Rules,
    first_difference,
    gap_of,
    variation,
)
from mm_eval.verbs.same.replies import Asked, Reply, Side
from mm_eval.verbs.same.text import as_json, remarks, render, sentence

PLAIN = Reply("yes", tokens=10, places=(Place("yes", {"yes": -0.1, "no": -2.5}),))


def side(name="A", docs=200, reply=lambda n, repeat: PLAIN, repeats=2, score=lambda n: 1.0, asked=b"", dtype="float32"):
    run = SimpleNamespace(spec={"model": {"dtype": dtype, "fingerprint": "abcdef0123"}}, folder=name)
    made = {
        ("probe", n): Asked(
            asked + bytes([n % 250, n // 250]),
            n,
            "system text" if n < docs // 5 else "sizes",
            tuple(reply(n, repeat) for repeat in range(repeats)),
            score(n),
        )
        for n in range(docs)
    }
    return Side(name, run, made)  # type: ignore[arg-type]


def states(found):
    return {each.name: each.state for each in found.levels}


def changed(share, **fields):
    """A reply that has other fields in the first documents."""
    return lambda n, repeat: replace(PLAIN, **fields) if n < share * 200 else PLAIN


def test_equal_sides_are_the_same_by_every_level():
    found = Evidence(side(), side("B"))
    assert found.verdict == SAME and set(states(found).values()) == {ALIKE}
    assert (
        sentence(found) == "SAME: A and B differ in less than 5% of the documents, by 6 of 6 levels on 200 documents."
    )


@pytest.mark.parametrize(
    ("level", "fields"),
    [
        ("tokens", {"tokens": 11}),
        ("logprobs", {"places": (Place("yes", {"yes": -0.2, "no": -2.5}),)}),
        ("texts", {"said": "yes."}),
        ("endings", {"ended": "refused"}),
    ],
)
def test_a_change_of_a_fifth_of_the_documents_is_found_by_its_level_alone(level, fields):
    found = Evidence(side(), side("B", reply=changed(0.2, **fields)))
    assert found.verdict == OTHER
    assert {name for name, state in states(found).items() if state == DIFFERS} == {level}
    assert "all 40 of system text" in sentence(found)
    assert "in 20.0% of the documents" in sentence(found)


def test_a_change_of_few_documents_is_not_decided_and_says_how_many_would():
    found = Evidence(side(), side("B", reply=changed(0.06, said="no")))
    [level] = [each for each in found.levels if each.name == "texts"]
    assert (found.verdict, level.state) == (UNDECIDED, OPEN) and level.needed and level.needed > 1000
    assert any("texts is not decided: about" in said for said in remarks(found))


def test_fewer_right_answers_are_found_by_accuracy():
    found = Evidence(side(), side("B", score=lambda n: float(n >= 40)))
    assert states(found)["accuracy"] == DIFFERS and "B is right less often by 20.0 points" in sentence(found)
    found = Evidence(side(score=lambda n: float(n >= 40)), side("B"))
    assert "A is right less often by 20.0 points" in sentence(found)


def test_noise_of_both_sides_is_no_difference_and_of_one_side_it_is():
    draw = np.random.default_rng(0)

    def noisy(n, repeat):
        return replace(PLAIN, said=str(draw.integers(3)))

    both = Evidence(side(reply=noisy), side("B", reply=noisy))
    assert both.verdict != OTHER and states(both)["texts"] != DIFFERS
    one = Evidence(side(), side("B", reply=noisy))
    assert states(one)["steadiness"] == DIFFERS and "B says something else in" in sentence(one)
    assert "as with sampling" in sentence(one)


@pytest.mark.parametrize("share", [0.05, 0.4, 1.0])
def test_one_model_is_called_another_in_at_most_5_percent_of_trials(share):
    draw, alarms = np.random.default_rng(2), 0
    for _ in range(60):
        chances = draw.beta(0.3, 0.3, 120) * (draw.random(120) < share)

        def noisy(n, repeat, chances=chances):
            other = draw.random() < chances[n]
            return replace(PLAIN, said="other", ended="length", tokens=12) if other else PLAIN

        alarms += Evidence(side(docs=120, reply=noisy), side("B", docs=120, reply=noisy)).verdict == OTHER
    assert alarms <= 3


def test_a_side_that_fails_half_is_not_decided_whatever_the_rest_says():
    def failing(n, repeat):
        return None if n % 2 else PLAIN

    found = Evidence(side(), side("B", reply=failing))
    assert found.verdict == UNDECIDED and states(found)["texts"] == OPEN
    assert any("100 of 200 documents have no reply of one side" in said for said in remarks(found))
    other = Evidence(side(), side("B", reply=lambda n, repeat: None if n % 2 else replace(PLAIN, said="no")))
    assert other.verdict == UNDECIDED


def test_two_runs_without_a_control_differ_in_what_is_certain_only():
    found = Evidence(side(repeats=1), side("B", repeats=1, reply=changed(1, said="no")))
    assert states(found)["texts"] == OPEN and states(found)["steadiness"] == UNTOLD and found.verdict == UNDECIDED
    assert any("A and B were asked once, so a difference may be its noise" in said for said in remarks(found))
    found = Evidence(side(repeats=1), side("B", repeats=1, reply=changed(1, tokens=11)))
    assert states(found)["tokens"] == DIFFERS
    assert Evidence(side(repeats=1), side("B", repeats=1)).verdict == SAME


def test_with_one_control_noise_of_the_other_side_is_not_taken_for_agreement():
    draw = np.random.default_rng(3)

    def noisy(n, repeat):
        return replace(PLAIN, said=["yes", "no"][draw.integers(2)])

    found = Evidence(side(repeats=1), side("B", reply=noisy))
    assert states(found)["texts"] == OPEN and found.verdict == UNDECIDED
    found = Evidence(side(repeats=1), side("B", reply=changed(1, said="no")))
    assert states(found)["texts"] == DIFFERS


def test_what_no_side_states_is_not_told_and_decides_nothing():
    silent = Reply("yes")
    found = Evidence(side(reply=lambda n, r: silent, score=lambda n: None), side("B"))
    assert [name for name, state in states(found).items() if state == UNTOLD] == ["tokens", "logprobs", "accuracy"]
    assert found.verdict == SAME and "by 3 of 6 levels" in sentence(found)
    assert "A counts no prompt tokens" in " ".join(remarks(found))


def test_only_the_named_levels_decide():
    b = side("B", reply=changed(1, tokens=11))
    assert Evidence(side(), b, Rules(levels=("texts", "logprobs"))).verdict == SAME
    few = Evidence(side(), b, Rules(levels=("texts",)))
    assert few.level == 0.05 and Evidence(side(), b).level == 0.05 / 8
    assert "tokens (advisory)" in render(few, [])


def test_documents_in_other_words_are_not_compared():
    with pytest.raises(ConfigError, match="200 are asked in other words"):
        _ = Evidence(side(), side("B", asked=b"x")).verdict
    second = side("B")
    second.docs = {**second.docs, **{key: replace(doc, asked=b"?") for key, doc in list(second.docs.items())[:120]}}
    found = Evidence(side(), second)
    assert (
        found.verdict == UNDECIDED
        and "120 documents are asked in other words, and 80 in the same" in sentence(found)
        or (states(found)["texts"] == OPEN)
    )
    assert any("120 documents are not compared" in said for said in remarks(found))


def test_the_tolerance_is_that_of_the_coarser_type():
    moved = changed(1, places=(Place("yes", {"yes": -0.12, "no": -2.4}),))
    assert states(Evidence(side(), side("B", reply=moved)))["logprobs"] == DIFFERS
    assert states(Evidence(side(), side("B", reply=moved, dtype="bfloat16")))["logprobs"] == ALIKE
    assert Evidence(side(), side("B", dtype="")).tolerance == 0.05
    assert Evidence(side(), side("B"), Rules(tolerance=0.3)).tolerance == 0.3


def test_the_gap_is_the_probability_that_moved_as_far_as_the_texts_agree():
    def place(token, **likeliest):
        return Place(token, {name: float(np.log(share)) for name, share in likeliest.items()})

    a, b = place("yes", yes=0.7, no=0.2), place("yes", yes=0.6, no=0.25)
    assert variation(a, b) == pytest.approx(0.1)
    assert variation(a, place("x", x=0.9)) == 0  # nothing is listed by both, so nothing is known
    assert variation(place("yes", yes=0.7), Place(" yes", {" yes": float(np.log(0.7))})) == pytest.approx(0)
    far = place("z", z=0.9, y=0.1), place("z", z=0.1, y=0.9)
    first, second = replace(PLAIN, places=(a, far[0])), replace(PLAIN, places=(a, far[1]))
    assert gap_of(first, second) == pytest.approx(0.8)
    parted = replace(PLAIN, places=(b._replace(token="no"), far[1]))
    assert gap_of(first, parted) == pytest.approx(0.1)
    assert gap_of(first, Reply("yes")) is None
    assert first_difference("ab", "abc") == 2


def test_questions_on_one_picture_count_once():
    def grouped(found):
        return {key: replace(doc, cluster=key[1] // 4) for key, doc in found.docs.items()}

    a, b = side(), side("B", reply=changed(0.2, said="no"))
    alone = Evidence(a, b).levels[2]
    a.docs, b.docs = grouped(a), grouped(b)
    together = Evidence(a, b).levels[2]
    assert together.high - together.low > 1.5 * (alone.high - alone.low)


def test_every_form_says_the_same():
    found = Evidence(side(), side("B", reply=changed(0.2, said="no")))
    values = json.loads(as_json(found, ["note: x"]))
    assert values["said"] == sentence(found) and values["verdict"] == "differs" and values["notes"][-1] == "note: x"
    [level] = [each for each in values["levels"] if each["level"] == "texts"]
    assert level["kinds"] == {"system text": [40, 40], "sizes": [0, 160]} and len(level["differing"]) == 40
    text = render(found, ["note: x"], 80)
    assert text.startswith(sentence(found)) and "note: x" in text
    table = [line for line in text.split("\n") if line.startswith(("level ", "texts ", "---"))]
    assert table and max(map(len, table)) <= 80
