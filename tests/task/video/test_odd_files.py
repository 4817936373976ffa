"""Files that are no whole MP4: pictures that move, and a transport stream that begins in the middle of a group of pictures."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from PIL import Image

from mm_eval.features.video.reader import frames_at, index_of
from mm_eval.values.errors import DataError

if shutil.which("ffmpeg") is None:
    pytest.skip("ffmpeg makes these files and is compared with", allow_module_level=True)
SIZE = (96, 64)


def ffmpeg(*options: str) -> bytes:
    command = ["ffmpeg", "-v", "error", "-y", *options]
    done = subprocess.run(command, capture_output=True)
    if b"Unknown encoder" in done.stderr:
        pytest.skip(done.stderr.decode().strip())
    return done.stdout


def drawn(path: Path, *options: str) -> Path:
    ffmpeg("-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=4", *options, str(path))
    return path


def assert_equals_ffmpeg(path: Path, count: int) -> None:
    """All frames, and twelve random ones, are those that ffmpeg decodes."""
    raw = ffmpeg("-i", str(path), "-vsync", "passthrough", "-f", "rawvideo", "-pix_fmt", "rgb24", "-")
    each = SIZE[0] * SIZE[1] * 3
    wanted = [raw[at : at + each] for at in range(0, len(raw), each)]
    index = index_of(str(path))
    assert len(index.ticks) == len(wanted) == count
    for numbers in (range(count), sorted(random.Random(1).sample(range(count), 12))):
        ticks = [index.ticks[number] for number in numbers]
        found = frames_at(str(path), ticks, [index.key_of(tick) for tick in ticks])
        assert [frame.tobytes() for frame in found] == [wanted[number] for number in numbers]


@pytest.mark.parametrize(("name", "options"), [("a.gif", ()), ("a.png", ("-f", "apng"))])
def test_moving_pictures_are_read_as_by_ffmpeg(tmp_path: Path, name: str, options: tuple[str, ...]) -> None:
    assert_equals_ffmpeg(drawn(tmp_path / name, *options), 100)


@pytest.mark.parametrize("disposal", [0, 1, 2, 3])
def test_a_gif_of_parts_and_uneven_times_is_read_as_by_ffmpeg(tmp_path: Path, disposal: int) -> None:
    frames = [Image.new("P", SIZE, number) for number in range(16)]
    for number, frame in enumerate(frames):
        frame.putpalette([value for n in range(256) for value in (n * 7 % 256, n * 31 % 256, n)])
        frame.paste(200, (number, number, number + 20, number + 9))
    path = tmp_path / "parts.gif"
    times = [40 + 30 * (number % 3) for number in range(16)]
    frames[0].save(
        path, save_all=True, append_images=frames[1:], duration=times, disposal=disposal, transparency=3, loop=0
    )
    assert_equals_ffmpeg(path, 16)


def test_an_animated_webp_is_refused_in_one_sentence(tmp_path: Path) -> None:
    frames = [Image.new("RGB", SIZE, (number * 40, 0, 0)) for number in range(5)]
    frames[0].save(tmp_path / "a.webp", save_all=True, append_images=frames[1:], duration=100)
    with pytest.raises(DataError, match=r"'a\.webp' is an animated WebP, which is not supported\. Convert it"):
        index_of(str(tmp_path / "a.webp"))


def test_a_transport_stream_that_begins_in_a_group_is_read_from_its_first_key_frame(tmp_path: Path) -> None:
    codec = ("-c:v", "libx264", "-x264-params", "keyint=25:min-keyint=25:scenecut=0:bframes=2")
    content = drawn(tmp_path / "whole.ts", *codec).read_bytes()
    cut = tmp_path / "cut.ts"
    cut.write_bytes(content[len(content) // 5 // 188 * 188 :])
    assert_equals_ffmpeg(cut, 75)
