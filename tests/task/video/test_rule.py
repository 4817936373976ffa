"""The rule of frames: what is chosen of a video, and what is not a rule."""

import pytest

from mm_eval.errors import ConfigError
from mm_eval.task.video.rule import DEFAULT, SPREADS, read_rule

EIGHT_OF_900 = {
    "ends": [0, 128, 256, 385, 513, 642, 770, 899],  # lmms-eval's load_video
    "starts": [0, 112, 225, 337, 450, 562, 675, 787],  # transformers
    "middle": [56, 168, 281, 393, 506, 618, 730, 843],  # InternVL
    "inside": [100, 200, 300, 400, 500, 600, 700, 800],  # VLMEvalKit
}


@pytest.mark.parametrize("spread", SPREADS)
def test_eight_frames_of_900_lie_where_the_other_suites_have_them(spread: str) -> None:
    assert read_rule(f"frames=8,{spread}").places(900, 36.0) == EIGHT_OF_900[spread]


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("total", [1, 2, 7, 8, 9, 100])
@pytest.mark.parametrize("count", [1, 2, 7, 8])
def test_frames_rise_and_none_is_shown_twice(spread: str, total: int, count: int) -> None:
    places = read_rule(f"frames={count},{spread}").places(total, 4.0)
    assert len(places) == min(count, total) and sorted(set(places)) == places
    assert places[0] >= 0 and places[-1] < total


def test_fps_counts_seconds_within_its_limits() -> None:
    rule = read_rule("fps=2,min=4,max=16")
    assert [rule.count(900, seconds) for seconds in (0.5, 3.9, 5.0, 100.0)] == [4, 7, 10, 16]
    assert rule.count(3, 0.1) == 3, "a video of 3 frames shows 3"
    assert read_rule("fps=0.5").count(900, 1.0) == 1


@pytest.mark.parametrize(
    "text",
    ["", "8", "frames=0", "frames=-1", "frames=x", "fps=2,frames=8", "frames=8,min=2", "frames=8,ends,starts", "min=4",
     "frames=8,frames=9", "fps=nan", "fps=inf", "fps=2,min=9,max=4", "frames=1.5", "frames=9999999", 8, None, {"frames": 8}],
)  # fmt: skip
def test_what_is_no_rule_is_told(text: object) -> None:
    with pytest.raises(ConfigError, match="rule of frames"):
        read_rule(text, "here")


def test_a_rule_is_printed_so_that_it_is_read_again() -> None:
    for text in ("frames=32", "fps=2,min=4,max=768,middle", "fps=0.25", "frames=4,inside,size=448"):
        assert read_rule(str(read_rule(text))) == read_rule(text)
    assert str(DEFAULT) == "frames=8,ends"
