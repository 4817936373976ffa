"""The sounds of a run's page: kept as Opus with the outline of their wave, embedded while they are short, else linked."""

import base64
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mm_eval.results import sounds
from mm_eval.results.recorded import RecordedRun
from mm_eval.results.sounds import kept_sounds, opus, outline
from tests.tasks.answers import answered

av = pytest.importorskip("av")
pytest.importorskip("jiwer")


def media_of(page: Path) -> dict[str, str]:
    [found] = re.findall(r'<script type="application/json" id="media">(.*?)</script>', page.read_text(), re.DOTALL)
    media: dict[str, str] = json.loads(found)
    return media


def test_a_page_plays_the_clips_of_its_samples(cli: Any, tmp_path: Path) -> None:
    ran = answered(cli, tmp_path, "librispeech_test_other", ["Mr. Brown came at ten", "", "we walked home"])
    rows, media = ran.samples("librispeech_test_other"), media_of(ran.folder / "report.html")
    for row in rows:
        [heard] = row["sounds"]
        kind, _, content = media[heard["digest"]].partition(",")
        assert kind == "data:audio/ogg;base64" and len(media[f"{heard['digest']}~"]) == 2 * sounds.BARS
        with av.open(io.BytesIO(base64.b64decode(content))) as file:
            [stream] = file.streams.audio
            assert stream.codec_context.name in ("opus", "libopus")
            assert float(file.duration / av.time_base) == pytest.approx(heard["length"] / heard["rate"], abs=0.05)


def test_a_larger_clip_is_linked_and_one_beyond_the_bound_is_not_kept(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sounds, "IN_PAGE", 100)
    monkeypatch.setattr(sounds, "MOST", 150)
    ran = answered(cli, tmp_path, "librispeech_test_other", ["a", "b", "c"])
    addresses = {
        digest: address for digest, address in media_of(ran.folder / "report.html").items() if "~" not in digest
    }
    assert len(addresses) == 2, "the third would be beyond the bound"
    for digest, address in addresses.items():
        assert address == f"media/{digest[:2]}/{digest}.ogg" and (ran.folder / address).read_bytes()[:4] == b"OggS"


def test_what_can_not_be_read_of_the_kept_sounds_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "media").mkdir()
    good = {"digest": "a" * 64, "form": "ogg", "wave": "00", "content": "AA=="}
    lines = ["no json", json.dumps({"digest": 3}), json.dumps({**good, "form": "exe"}), json.dumps(good)]
    (tmp_path / "media" / "sounds.jsonl").write_text("\n".join(lines) + "\n")
    assert list(kept_sounds(tmp_path)) == ["a" * 64] and not kept_sounds(tmp_path / "none")


def test_the_outline_is_of_the_loudest_samples() -> None:
    wave = np.zeros(9600, np.float32)
    wave[4800:] = 0.5
    wave[0] = -0.25
    bars = [int(pair, 16) for pair in re.findall("..", outline(wave))]
    assert bars[0] == 128 and set(bars[1:48]) == {0} and set(bars[48:]) == {255}
    assert outline(wave[:0]) == "00" * sounds.BARS and outline(0 * wave) == "00" * sounds.BARS


def test_opus_plays_as_long_as_the_clip() -> None:
    found = opus(np.zeros(44_100, np.float32), 44_100)
    assert found is not None and found[0] == "ogg" and found[1][:4] == b"OggS"


def test_a_bundle_has_the_clips_beside_its_pages(cli: Any, tmp_path: Path) -> None:
    ran = answered(cli, tmp_path, "librispeech_test_other", ["a", "b", "c"])
    made = cli("report", ran.folder, "--site", tmp_path / "site")
    assert made.code == 0, made.err
    clips = [path for path in (tmp_path / "site" / "pictures").rglob("*") if path.is_file()]
    digests = {row["sounds"][0]["digest"] for row in RecordedRun.read(ran.folder).rows("librispeech_test_other")}
    assert {path.stem for path in clips} == digests and {path.suffix for path in clips} == {".flac"}
