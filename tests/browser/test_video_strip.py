"""The page of a run in a browser: the frames of a video as a strip with their times, a picture beside them."""

import pytest

from mm_eval.cli import main
from tests.cli.test_videos import made

pytestmark = [pytest.mark.browser, pytest.mark.full]


def test_frames_stand_in_a_strip_with_their_times(opened, tmp_path):
    pytest.importorskip("av")
    folder = made(tmp_path / "task", "!function utils.part", rule="frames=12")
    words = [
        "--tasks",
        "clips",
        "--include_path",
        str(folder),
        "--model",
        "tiny-llava",
        "--output_path",
        str(tmp_path / "run"),
    ]
    assert main(words) == 0
    page = opened(tmp_path / "run" / "report.html", "#clips/0", width=600)
    strip = page.find_element("css selector", "#detail .strip")
    assert strip.get_attribute("title") == "a.mp4"
    times = page.execute_script("return [...document.querySelectorAll('.strip figcaption')].map((e) => e.textContent)")
    assert len(times) == 12 and times[0] == "0.40 s" and times[-1] == "1.20 s"
    each = "(e) => [!!e.closest('.strip'), e.src.slice(0, 5)]"
    pictures = f"return [...document.querySelectorAll('#detail .pictures img')].map({each})"
    assert page.execute_script(pictures) == [[False, "data:"], *[[True, "data:"]] * 12]
    assert page.execute_script("return document.documentElement.scrollWidth <= innerWidth"), (
        "the strip scrolls, not the page"
    )
