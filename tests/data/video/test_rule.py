"""The rule of frames: what is chosen of a video, and what is not a rule."""

import random
from fractions import Fraction

import numpy
import pytest

from mm_eval.data.video.reader import FrameIndex
from mm_eval.data.video.rule import DEFAULT, SPREADS, FrameRule, read_rule
from mm_eval.values.errors import ConfigError
from tests.sets import each_of

EIGHT_OF_900 = {
    "ends": [0, 128, 256, 385, 513, 642, 770, 899],  # lmms-eval's load_video
    "rounded": [0, 128, 257, 385, 514, 642, 771, 899],  # Qwen3-VL
    "rounded32": [0, 128, 257, 385, 514, 642, 771, 899],  # qwen-vl-utils
    "starts": [0, 112, 225, 337, 450, 562, 675, 787],  # transformers
    "starts32": [0, 112, 225, 337, 450, 562, 675, 787],  # Qwen2-VL and VideoLLaMA3 in transformers
    "middle": [56, 168, 281, 393, 506, 618, 730, 843],  # InternVL
    "inside": [100, 200, 300, 400, 500, 600, 700, 800],  # VLMEvalKit
}


@pytest.mark.parametrize("spread", SPREADS)
def test_eight_frames_of_900_lie_where_the_other_suites_have_them(spread: str) -> None:
    assert read_rule(f"frames=8,{spread}").places(900, 36.0) == EIGHT_OF_900[spread]


@each_of("spread", SPREADS)
@each_of("total", [1, 2, 7, 8, 9, 100])
@each_of("count", [1, 2, 7, 8])
def test_frames_rise_and_none_is_shown_twice(spread: str, total: int, count: int) -> None:
    places = read_rule(f"frames={count},{spread}").places(total, 4.0)
    assert len(places) == min(count, total) and sorted(set(places)) == places
    assert places[0] >= 0 and places[-1] < total


def test_fps_counts_seconds_within_its_limits() -> None:
    rule = read_rule("fps=2,min=4,max=16")
    assert [rule.count(900, seconds) for seconds in (0.5, 3.9, 5.0, 100.0)] == [4, 7, 10, 16]
    assert rule.count(3, 0.1) == 3, "a video of 3 frames shows 3"
    assert read_rule("fps=0.5").count(900, 1.0) == 1


@each_of(
    "text",
    ["", "8", "frames=8,skip=1", "frames=8,nearest", "fps=1,skip=1,middle", "fps=2,even,even", "even",
     "qwen_vl_utils,even", "frames=0", "frames=-1", "frames=x", "fps=2,frames=8", "frames=8,min=2", "frames=8,ends,starts",
     "min=4", "frames=8,frames=9", "fps=nan", "fps=inf", "fps=2,min=9,max=4", "frames=1.5", "frames=9999999",
     8, None, {"frames": 8}],
)  # fmt: skip
def test_what_is_no_rule_is_told(text: object) -> None:
    with pytest.raises(ConfigError, match="rule of frames"):
        read_rule(text, "here")


def test_a_rule_is_printed_so_that_it_is_read_again() -> None:
    for text in (
        "frames=32",
        "fps=2,min=4,max=768,middle",
        "fps=0.25",
        "frames=4,inside,size=448",
        "fps=2,even,rounded32",
        "qwen_vl_utils",
        "fps=1,max=64,nearest,skip=1.5,ends",
        "frames=9,even",
    ):
        assert read_rule(str(read_rule(text))) == read_rule(text)
    assert str(DEFAULT) == "frames=8,ends"


def pairs(number: int, seed: int = 1) -> list[tuple[int, int]]:
    """(frames of a video, frames that are shown of it), half of them as usual."""
    draw, found = random.Random(seed), []
    while len(found) < number:
        total = draw.randrange(2, 200_000 if len(found) % 4 == 0 else 20_000)
        shown = draw.choice((4, 8, 16, 20, 32, 64, 100, 128, 768, *range(2, 768)[:: draw.randrange(1, 99)]))
        found += [(total, shown)] if shown < total else []
    return found


@pytest.mark.slow
def test_spreads_are_the_formulas_of_other_code_on_20_000_pairs() -> None:
    for total, shown in pairs(20_000):
        made = {
            spread: FrameRule(shown, spread=spread).places(total, 1.0)
            for spread in ("ends", "rounded", "starts", "inside")
        }
        assert made["ends"] == numpy.linspace(0, total - 1, shown, dtype=int).tolist()  # lmms-eval
        assert made["rounded"] == numpy.linspace(0, total - 1, shown).round().astype(int).tolist()
        assert made["starts"] == numpy.arange(0, total, total / shown).astype(int).tolist()[:shown]
        step = total / (shown + 1)  # VLMEvalKit
        assert made["inside"] == [int(i * step) for i in range(1, shown + 1)]


RATES = [
    Fraction(rate) * drop for rate in (10, 12, 15, 24, 25, 30, 50, 60) for drop in (Fraction(1), Fraction(1000, 1001))
]


@pytest.mark.full
def test_a_count_is_exact_for_every_rate_and_clock() -> None:
    """Times are rounded to a clock's ticks, as Matroska rounds to milliseconds: the count is that of the nominal rate."""
    draw = random.Random(4)
    for rate in RATES:
        for tick in (Fraction(1, 1000), Fraction(1, 90_000), 1 / rate, 1 / rate / 512):
            for seconds in (1, 2, 10, 65, draw.randrange(100, 400)):
                total = round(seconds * rate)
                ticks = [round(number / rate / tick) for number in range(total)]
                found = FrameIndex(ticks, ticks, tick, 8, 8).rate
                assert found is not None
                for fps in ("2", "1", "0.5", "3"):
                    rule = read_rule(f"fps={fps},max=4096")
                    expected = max(1, min(int(total * Fraction(fps) / rate), total, 4096))
                    assert rule.count(total, total / found) == expected, (rate, tick, seconds, fps)
    assert read_rule("fps=2").count(1625, 65.0) == 130
    assert read_rule("fps=1,max=4096").count(24_000, 24_000 / float(Fraction(24_000, 1001))) == 1001


def test_a_rate_that_varies_has_no_nominal_one() -> None:
    draw, ticks = random.Random(3), [0]
    for _ in range(300):
        ticks.append(ticks[-1] + draw.choice((20, 33, 50)))
    assert FrameIndex(ticks, ticks, Fraction(1, 1000), 8, 8).rate is None
    assert FrameIndex([7], [7], Fraction(1, 1000), 8, 8).rate is None
