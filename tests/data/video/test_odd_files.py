"""Files that are no whole MP4: pictures that move, AVI, and transport streams that are cut or joined."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import av
import pytest
from PIL import Image

from mm_eval.data.video.reader import _av, frames_at, index_of
from mm_eval.values.errors import ConfigError, DataError
from tests.sets import few

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


def assert_equals_ffmpeg(path: Path, count: int, begins_in_a_group: bool = False) -> None:
    """All frames, and twelve random ones, are those that ffmpeg decodes.

    begins_in_a_group: ffmpeg before 6 also gives leading frames whose references are missing, as its last pictures of them.
    """
    raw = ffmpeg("-i", str(path), "-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "rgb24", "-")
    each = SIZE[0] * SIZE[1] * 3
    wanted = [raw[at : at + each] for at in range(0, len(raw), each)]
    index = index_of(str(path))
    if begins_in_a_group:
        assert len(wanted) >= count
        wanted = wanted[-count:]
    assert len(index.ticks) == len(wanted) == count
    for numbers in (range(count), sorted(random.Random(1).sample(range(count), 12))):
        ticks = [index.ticks[number] for number in numbers]
        keys = [index.key_of(tick) for tick in ticks]
        found = frames_at(str(path), ticks, keys, list(numbers) if index.by_order else None)
        assert [frame.tobytes() for frame in found] == [wanted[number] for number in numbers]


@pytest.mark.parametrize(("name", "options"), few([("a.gif", ()), ("a.png", ("-f", "apng"))], at=[0]))
def test_moving_pictures_are_read_as_by_ffmpeg(tmp_path: Path, name: str, options: tuple[str, ...]) -> None:
    assert_equals_ffmpeg(drawn(tmp_path / name, *options), 100)


@pytest.mark.parametrize("disposal", few([0, 1, 2, 3], at=(1, 2)))
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


def test_a_gif_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    """FFmpeg gives a picture for the frame that is cut."""
    content = drawn(tmp_path / "a.gif").read_bytes()
    cut = tmp_path / "cut.gif"
    for share in range(2, 12):
        cut.write_bytes(content[: len(content) * share // 13])
        with pytest.raises(DataError, match=r"'cut\.gif' is damaged or cut off"):
            index_of(str(cut))
    cut.write_bytes(content[:-1])  # only the mark of the end is missing
    assert len(index_of(str(cut)).ticks) == 100


def _decoded(packet: Any) -> list[Any]:
    try:
        return packet.decode()
    except av.error.FFmpegError:
        return []


def _webp(path: Path, durations: list[int], equal: bool = False) -> list[Image.Image]:
    frames = [Image.new("RGB", SIZE, (0 if equal else number * 40, 9, 200)) for number in range(len(durations))]
    options: dict[str, Any] = {
        "append_images": frames[1:],
        "duration": durations,
        "lossless": True,
        "minimize_size": False,
    }
    frames[0].save(path, save_all=True, **options)
    return frames


def test_an_animated_webp_has_its_own_pixels_and_times(tmp_path: Path) -> None:
    """PyAV's FFmpeg does not decode it, so that it is read by Pillow."""
    path = tmp_path / "a.webp"
    frames = _webp(path, [100, 200, 100, 70_000, 50])
    with av.open(str(path)) as file:
        assert not [frame for packet in file.demux(video=0) for frame in _decoded(packet)], "FFmpeg reads it now"
    index = index_of(str(path))
    times = [float(tick * index.tick) for tick in index.ticks]
    assert times == pytest.approx([0, 0.1, 0.3, 0.4, 70.4])
    assert float(index.last * index.tick) == pytest.approx(0.05)
    shown = list(frames_at(str(path), index.ticks, [index.key_of(tick) for tick in index.ticks]))
    assert [picture.convert("RGB").tobytes() for picture in shown] == [frame.tobytes() for frame in frames]


def test_a_damaged_or_huge_webp_is_refused_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.webp"
    _webp(path, [100] * 5)
    whole = path.read_bytes()
    monkeypatch.setattr("mm_eval.data.video.webp.MOST_PIXELS", 4 * SIZE[0] * SIZE[1])
    with pytest.raises(DataError, match=r"'a\.webp' can't be read: its 5 frames of .* convert it to MP4"):
        index_of(str(path))
    monkeypatch.undo()
    for end in (40, len(whole) * 2 // 3):
        path.write_bytes(whole[:end])
        with pytest.raises(DataError, match=r"'a\.webp' can't be read: "):
            index_of(str(path))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ModuleNotFoundError("No module named 'av'", name="av"), "PyAV, which is not installed"),
        (
            ModuleNotFoundError("No module named 'av.logging'", name="av.logging"),
            "installation is broken: No module named",
        ),
        (
            ImportError("libavdevice.so.62: cannot open shared object file"),
            "installation is broken: libavdevice.so.62: cannot",
        ),
        (OSError(), "installation is broken: OSError"),
        (
            AttributeError("module 'numpy' has no attribute 'x'\nmore"),
            "installation is broken: module 'numpy' has no attribute 'x'.",
        ),
    ],
)
def test_a_pyav_that_cannot_be_imported_is_named(error: Exception, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Finder:
        def find_spec(self, name: str, *more: Any) -> None:
            if name == "av":
                raise error

    monkeypatch.delitem(sys.modules, "av", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    with pytest.raises(ConfigError) as caught:
        _av()
    assert said in str(caught.value) and "mm-eval[video]" in str(caught.value)


def test_a_transport_stream_that_begins_in_a_group_is_read_from_its_first_key_frame(tmp_path: Path) -> None:
    codec = ("-c:v", "libx264", "-x264-params", "keyint=25:min-keyint=25:scenecut=0:bframes=2")
    content = drawn(tmp_path / "whole.ts", *codec).read_bytes()
    cut = tmp_path / "cut.ts"
    cut.write_bytes(content[len(content) // 5 // 188 * 188 :])
    assert_equals_ffmpeg(cut, 75)


GROUPS = "keyint=24:min-keyint=24:scenecut=0:bframes=3"


@pytest.mark.full
@pytest.mark.parametrize("codec", [("libx264", "-bf", "3"), ("libxvid", "-bf", "2"), ("mpeg4", "-bf", "2")])
def test_avi_with_frames_in_another_order_is_read_as_by_ffmpeg(tmp_path: Path, codec: tuple[str, ...]) -> None:
    """AVI states no times of showing, so that the order of the decoded frames is all that tells which one is which."""
    path = drawn(tmp_path / "a.avi", "-c:v", *codec, "-g", "24")
    assert_equals_ffmpeg(path, 98 if codec[0] == "libxvid" else 100)


@pytest.mark.full
@pytest.mark.parametrize("name", few(["a.mp4", "a.ts"], "a.ts"))
def test_intra_refresh_without_key_frames_is_read_as_by_ffmpeg(tmp_path: Path, name: str) -> None:
    parameters = "intra-refresh=1:keyint=30:bframes=0"
    assert_equals_ffmpeg(drawn(tmp_path / name, "-c:v", "libx264", "-x264-params", parameters), 100)


@pytest.mark.parametrize("share", few([5, 3, 2], at=(2,)))
@pytest.mark.parametrize("codec", few(["libx264", "libx265", "mpeg2video"], "libx264"))
def test_an_open_group_that_is_cut_in_its_middle_is_read_as_by_ffmpeg(tmp_path: Path, codec: str, share: int) -> None:
    options = {
        "libx264": ("-x264-params", f"open-gop=1:{GROUPS}"),
        "libx265": ("-x265-params", f"log-level=error:open-gop=1:{GROUPS}"),
        "mpeg2video": ("-g", "12", "-bf", "2"),
    }[codec]
    content = drawn(tmp_path / "whole.ts", "-c:v", codec, *options).read_bytes()
    cut = tmp_path / "cut.ts"
    cut.write_bytes(content[len(content) // share // 188 * 188 :])
    assert_equals_ffmpeg(cut, len(index_of(str(cut)).ticks), begins_in_a_group=True)
    assert len(index_of(str(cut)).ticks) > 20


@pytest.mark.full
@pytest.mark.parametrize("codec", ["libx264", "libx265", "mpeg2video"])
def test_a_stream_that_ends_in_a_frame_is_read_without_this_frame(tmp_path: Path, codec: str) -> None:
    """Decoders give a picture for it, which is not the one that was recorded."""
    whole = drawn(tmp_path / "whole.ts", "-c:v", codec, "-g", "24")
    index = index_of(str(whole))
    right = dict(zip(index.ticks, frames_at(str(whole), index.ticks, [index.keys[0]] * 100), strict=True))
    content = whole.read_bytes()
    for packets in range(60, 140, 7):
        cut = tmp_path / "cut.ts"
        cut.write_bytes(content[: packets * 188])
        found = index_of(str(cut))
        for tick in found.ticks:
            [frame] = frames_at(str(cut), [tick], [found.key_of(tick)])
            assert frame.tobytes() == right[tick].tobytes(), f"{packets} packets, frame at {tick}"


@pytest.mark.full
@pytest.mark.parametrize("codec", few(["libx264", "libx265", "mpeg2video"], "mpeg2video"))
def test_joined_recordings_are_read_in_a_row_as_by_ffmpeg(tmp_path: Path, codec: str) -> None:
    """Each recording has times of its own, so that a time names a frame of each."""
    content = drawn(tmp_path / "one.ts", "-c:v", codec, "-g", "24", "-bf", "2").read_bytes()
    other = drawn(tmp_path / "two.ts", "-vf", "hflip", "-c:v", codec, "-g", "12", "-bf", "3").read_bytes()
    joined = tmp_path / "joined.ts"
    joined.write_bytes(content + other + content)
    assert_equals_ffmpeg(joined, 300)
    index = index_of(str(joined))
    assert index.by_order and index.rate == 25


@pytest.mark.full
def test_a_recording_that_is_cut_where_another_begins_gives_no_frame_that_was_not_recorded(tmp_path: Path) -> None:
    """Its last frame may end in the middle, and a decoder gives a picture for it all the same."""
    one = drawn(tmp_path / "one.ts", "-c:v", "libx264", "-x264-params", GROUPS)
    content, joined, refused = one.read_bytes(), tmp_path / "joined.ts", 0
    index = index_of(str(one))
    right = [frame.tobytes() for frame in frames_at(str(one), index.ticks, [index.keys[0]] * 100)]
    for packets in range(100, 170, 5):
        joined.write_bytes(content[: packets * 188] + content)
        try:
            index = index_of(str(joined))
        except DataError as error:
            assert re.search(r"'joined\.ts' (is damaged|can't be read|gives \d+ frames)", str(error))
            refused += 1
            continue
        found = [
            frame.tobytes() for frame in frames_at(str(joined), index.ticks, index.keys * 100, range(len(index.ticks)))
        ]
        assert set(found) <= set(right) and found[-100:] == right
    assert 0 < refused < 14


@pytest.mark.parametrize(("tag", "least", "most"), few([("bt709", 0, 3), ("unknown", 15, 25)], at=[0]))
def test_colours_are_read_by_the_matrix_that_the_file_states_and_as_bt601_without_one(
    tmp_path: Path, tag: str, least: int, most: int
) -> None:
    colours = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (200, 30, 60)]
    path = tmp_path / "a.mkv"
    shown = Image.new("RGB", (1280, 720))
    for number, colour in enumerate(colours):
        shown.paste(colour, (320 * number, 0, 320 * (number + 1), 720))
    shown.save(tmp_path / "a.png")
    made = f"scale=out_color_matrix=bt709:out_range=tv,format=yuv444p,setparams=colorspace={tag}"
    ffmpeg("-i", str(tmp_path / "a.png"), "-vf", made, "-c:v", "libx264", "-qp", "0", str(path))
    index = index_of(str(path))
    [frame] = frames_at(str(path), index.ticks, index.keys)
    found = [frame.convert("RGB").crop((320 * n + 160, 360, 320 * n + 161, 361)).tobytes() for n in range(4)]
    worst = max(abs(a - b) for one, two in zip(found, colours, strict=True) for a, b in zip(one, two, strict=True))
    assert least <= worst <= most


def test_pixels_are_taken_as_square(tmp_path: Path) -> None:
    path = drawn(tmp_path / "a.mp4", "-vf", "setsar=64/45", "-c:v", "libx264")
    index = index_of(str(path))
    [frame] = frames_at(str(path), index.ticks[:1], index.keys[:1])
    assert frame.size == SIZE
