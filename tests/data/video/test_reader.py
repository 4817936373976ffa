"""Frames of real files are the ones that were asked for, or there is an error. The pictures carry their number."""

from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any

import av
import numpy
import pytest

from mm_eval import Video
from mm_eval.data.places import Places
from mm_eval.data.video import reader
from mm_eval.data.video.frames import Frames, frames_of
from mm_eval.data.video.reader import frames_at, index_of
from mm_eval.data.video.rule import read_rule
from mm_eval.values.errors import DataError
from tests.data.video.movies import HEIGHT, WIDTH, read, turned, without_first, write
from tests.sets import few

RANDOM = Random(7)
IRREGULAR = list(accumulate(RANDOM.choice([10, 33, 40, 200]) for _ in range(60)))
MADE: dict[str, dict[str, Any]] = {
    "h264.mp4": {},
    "b_frames.mp4": {"options": {"bf": "3"}, "gop": 30},
    "fragments.mp4": {"file_options": {"movflags": "frag_keyframe+empty_moov"}},
    "vp9.webm": {"codec": "libvpx-vp9"},
    "hevc.mkv": {"codec": "libx265", "options": {"x265-params": "log-level=none"}},
    "mpeg4.avi": {"codec": "mpeg4"},
    "h264.avi": {"options": {"bf": "3"}},
    "mpeg4_b.avi": {"codec": "mpeg4", "options": {"bf": "2"}},
    "refresh.mp4": {"options": {"x264-params": "intra-refresh=1:bframes=0"}, "gop": 20},
    "no_index.mkv": {"file_options": {"live": "1"}},
    "irregular.mp4": {"ticks": IRREGULAR},
    "irregular.mkv": {"ticks": IRREGULAR},
    "stream.ts": {"count": 300, "gop": 30},
    "stream_b.ts": {"count": 300, "gop": 30, "options": {"bf": "3"}},
}


def chosen(path: Path | str | Video, rule: str = "frames=12") -> Frames:
    found = frames_of(path if isinstance(path, Video) else str(path), read_rule(rule), Places())
    assert found is not None
    return found


@pytest.mark.parametrize("rule", few(["frames=12", "frames=5,middle", "fps=3,inside"], "frames=12"))
@pytest.mark.parametrize("name", MADE)
def test_the_frames_that_were_asked_for(name: str, rule: str, tmp_path: Path) -> None:
    frames = chosen(write(tmp_path / name, **MADE[name]), rule)
    assert [read(picture) for picture in frames.pictures()] == list(frames.whole.numbers)
    ticks = MADE[name].get("ticks")
    times = [(ticks[n] - ticks[0]) / 1000 if ticks else n / 25 for n in frames.whole.numbers]
    assert frames.whole.seconds == pytest.approx(times, abs=0.0015)


def test_a_turned_video_is_shown_upright(tmp_path: Path) -> None:
    frames = chosen(turned(write(tmp_path / "a.mp4"), tmp_path / "b.mp4"), "frames=3")
    pictures = frames.pictures()
    assert {picture.size for picture in pictures} == {(HEIGHT, WIDTH)}
    assert [read(picture.rotate(90, expand=True)) for picture in pictures] == list(frames.whole.numbers)


def test_an_edit_list_leaves_frames_out(tmp_path: Path) -> None:
    frames = chosen(without_first(write(tmp_path / "a.mp4", options={"bf": "0"}), tmp_path / "b.mp4", 5), "frames=4")
    assert [read(picture) for picture in frames.pictures()] == [number + 5 for number in frames.whole.numbers]
    assert frames.whole.numbers == (0, 18, 36, 54) and frames.whole.seconds[0] == 0


def test_a_part_of_a_video_has_the_frames_between_its_times(tmp_path: Path) -> None:
    path = write(tmp_path / "a.mp4")
    frames = chosen(Video(path, 0.4, 0.8), "frames=3")
    assert frames.whole.numbers == (10, 15, 20) and [read(picture) for picture in frames.pictures()] == [10, 15, 20]
    with pytest.raises(DataError, match="no frame from 9 to None s; its last one is at 2.360 s"):
        chosen(Video(path, 9))
    with pytest.raises(DataError, match="not a number of seconds"):
        chosen(Video(path, -1))


def cut(path: Path, share: float = 0.5) -> bytes:
    content = path.read_bytes()
    return content[: int(len(content) * share)]


def test_a_file_that_is_no_whole_video_is_an_error_in_words(tmp_path: Path) -> None:
    front = write(tmp_path / "front.mp4", count=300, file_options={"movflags": "faststart"})
    holed = bytearray(front.read_bytes())
    holed[len(holed) * 2 // 3 : len(holed) * 2 // 3 + 400] = bytes(400)
    broken = {
        "cut_without_index.mp4": cut(write(tmp_path / "a.mp4")),
        "cut_behind_its_index.mp4": cut(front),
        "cut.webm": cut(write(tmp_path / "a.webm", "libvpx-vp9")),
        "cut.avi": cut(write(tmp_path / "a.avi", "mpeg4")),
        "holed.mp4": bytes(holed),
        "raw.h264": write(tmp_path / "a.h264").read_bytes(),
        "empty.mp4": b"",
        "page.mp4": b"<html><body>Access denied</body></html>",
        "list.mp4": b"ffconcat version 1.0\nfile a.mp4\n",
        "list.m3u8": b"#EXTM3U\n#EXTINF:2,\na.mp4\n",
    }
    for name, content in broken.items():
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(DataError, match=name.replace(".", r"\.")):
            chosen(path, "frames=300").pictures()


def test_what_is_not_a_video_file_is_told(tmp_path: Path) -> None:
    for name, told in {
        "https://host/a.mp4": "a video is read from a file",
        "/none/a.mp4": "there is no video file '/none/a.mp4'",
        "a.mp4": "below the data's folder",
        "sound.wav": "is a sound file, which has no frames",
        str(tmp_path): "there is no video file",
    }.items():
        with pytest.raises(DataError, match=told):
            chosen(name)
    assert frames_of(object(), read_rule("frames=8"), Places()) is None


def test_the_identity_of_a_frame_is_made_without_decoding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.mp4")
    (tmp_path / "copy.mp4").write_bytes(path.read_bytes())
    monkeypatch.setattr(reader, "frames_at", None)
    two, three = chosen(path, "frames=2"), chosen(path, "frames=3")
    assert two.digests == chosen(tmp_path / "copy.mp4", "frames=2").digests
    assert {two.digests[0], two.digests[1]} == {three.digests[0], three.digests[2]}
    assert two.digests[0] != chosen(path, "frames=2,size=80").digests[0]
    assert two.digests[0] != chosen(write(tmp_path / "b.mp4", count=59), "frames=2").digests[0]
    assert all(len(digest) == 64 for digest in two.digests)


def test_a_size_makes_each_frame_smaller(tmp_path: Path) -> None:
    frames = chosen(write(tmp_path / "a.mp4", size=(640, 360)), "frames=40,size=160")
    assert (frames.width, frames.height, frames.pixels) == (160, 90, 40 * 160 * 90)
    pictures = frames.pictures()
    assert {picture.size for picture in pictures} == {(160, 90)}
    assert [read(picture) for picture in pictures] == list(frames.whole.numbers)


def test_a_file_that_changes_during_the_run_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "a.mp4")
    frames = chosen(path)
    write(path, count=50)
    with pytest.raises(DataError, match="has changed during the run"):
        frames.pictures()


@pytest.mark.full
def test_few_frames_of_a_long_file_decode_a_small_part_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count, decoded = 3000, 0
    path = write(tmp_path / "long.mp4", count=count, gop=25)
    own = reader._decoded

    def counted(*of: Any) -> Any:
        nonlocal decoded
        for frame in own(*of):
            decoded += 1
            yield frame

    monkeypatch.setattr(reader, "_decoded", counted)
    frames = chosen(path, "frames=8")
    assert decoded == 0, "the index needs no decoding"
    frames.pictures()
    assert decoded <= 8 * 26 < count / 10


def test_without_pyav_the_error_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    path = write(tmp_path / "a.mp4")
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(Exception, match=r"pip install 'mm-eval\[video\]'"):
        chosen(path, "frames=7")


@pytest.mark.full
@pytest.mark.parametrize("suffix", ["mp4", "mkv", "ts"])
def test_each_frame_of_open_groups_of_pictures_is_fetched_alone(suffix: str, tmp_path: Path) -> None:
    """Frames that are shown before a key frame and come after it refer to the group before, and only they do."""
    draw = numpy.random.default_rng(3)
    path = tmp_path / f"open.{suffix}"
    with av.open(str(path), "w") as file:
        options = {"x264-params": "open-gop=1:keyint=24:bframes=3:scenecut=0:b-adapt=0"}
        stream: Any = file.add_stream("libx264", rate=25, options=options)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
        for number in range(100):
            pixels = draw.integers(0, 60, (64, 64, 3), numpy.uint8) + numpy.uint8(number)
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, 25)
            for packet in stream.encode(frame):
                file.mux(packet)
        for packet in stream.encode():
            file.mux(packet)
    with av.open(str(path)) as file:
        whole = {frame.pts: numpy.asarray(frame.to_image()) for frame in file.decode(video=0)}
    index = index_of(str(path))
    assert list(index.ticks) == sorted(whole) and len(whole) == 100 and len(index.keys) == 5
    chosen = [[tick] for tick in index.ticks]
    chosen += [sorted(draw.choice(index.ticks, 9, replace=False).tolist()) for _ in range(12)]
    for ticks in chosen:
        for tick, picture in zip(
            ticks, frames_at(str(path), ticks, [index.key_of(tick) for tick in ticks]), strict=True
        ):
            assert numpy.array_equal(numpy.asarray(picture), whole[tick])
