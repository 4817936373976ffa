"""The page of a run in a browser: a clip with its player and wave, and the errors of a transcription in colour."""

import pytest

from tests.tasks.answers import answered

pytestmark = [pytest.mark.browser, pytest.mark.full]


def test_a_clip_has_a_player_and_a_transcription_its_errors(opened, cli, tmp_path):
    pytest.importorskip("av")
    pytest.importorskip("jiwer")
    ran = answered(cli, tmp_path, "librispeech_test_other", ["Mr. Brown came at 9", "the color of sea has changed", ""])
    page = opened(ran.folder / "report.html", "#librispeech_test_other/1", width=600)
    player = page.find_element("css selector", "#detail figure.sound audio")
    assert player.get_attribute("src").startswith("data:audio/ogg;base64,")
    loads = "const a = document.querySelector('#detail audio'), done = arguments[0]; "
    loads += "a.preload = 'auto'; a.addEventListener('error', () => done('error')); "
    loads += "a.addEventListener('loadedmetadata', () => done(a.duration)); a.load()"
    assert page.execute_async_script(loads) == pytest.approx(1.7, abs=0.1)
    assert len(page.find_elements("css selector", "#detail .wave rect")) == 96
    kinds = "return [...document.querySelectorAll('.aligned span')].map((e) => [e.className, e.textContent])"
    assert page.execute_script(kinds) == [["lost", "the"], ["added", "has"]]
    assert "2 errors in 6 words" in page.find_element("css selector", "#detail").text
    assert page.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    assert page.get_log("browser") == []
