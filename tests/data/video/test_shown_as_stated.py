"""Mirrors, last pictures that stay, late subtitles, second edits and sequences of AVIF: as ffmpeg shows and counts them."""

from __future__ import annotations

import hashlib
import random
import shutil
import struct
import subprocess
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import pytest
from PIL import Image

from mm_eval.data.places import Places
from mm_eval.data.video.frames import frames_of
from mm_eval.data.video.reader import FrameIndex, frames_at, index_of
from mm_eval.data.video.rule import read_rule
from mm_eval.values.errors import DataError
from mm_eval.values.types import FRAME_MARK, Video
from tests.data.video.movies import HEIGHT, WIDTH, drawn, read
from tests.sets import each_of

ONE = 1 << 16


def clip(path: Path, starts: Sequence[float], last: float, group: int = 1000, b_frames: int = 0) -> Path:
    """A video whose frames are shown at these seconds. last: how long the last one is shown, as the file declares it."""
    tick = 30000
    with av.open(str(path), "w") as file:
        options = {"bf": str(b_frames), "g": str(group), "sc_threshold": "0", "qp": "0"}
        stream: Any = file.add_stream("libx264", rate=30, options=options)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        stream.codec_context.time_base = Fraction(1, tick)
        packets = []
        for number, start in enumerate(starts):
            frame = av.VideoFrame.from_ndarray(drawn(number), format="rgb24")
            frame.time_base, frame.pts = Fraction(1, tick), round(start * tick)
            packets += stream.encode(frame)
        packets += stream.encode(None)
        for packet, following in zip(packets, [*packets[1:], None], strict=True):
            length = last * tick if following is None else (following.dts - packet.dts) * packet.time_base * tick
            packet.duration = round(length / tick / packet.time_base)
            file.mux(packet)
    return path


def boxes(content: bytes, names: Sequence[str], start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """(where a box of an MP4 stands, its size) for the first box of each name within the one before it."""
    while start < (len(content) if end is None else end):
        size, name = struct.unpack(">I4s", content[start : start + 8])
        if name.decode() == names[0]:
            if len(names) == 1:
                yield start, size
            else:
                yield from boxes(content, names[1:], start + 8, start + size)
        start += size


def with_matrix(source: Path, target: Path, matrix: Sequence[float]) -> Path:
    content = bytearray(source.read_bytes())
    [(at, _)] = boxes(content, ["moov", "trak", "tkhd"])
    a, b, c, d = (round(number * ONE) for number in matrix)
    content[at + 48 : at + 84] = struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 1 << 30)
    target.write_bytes(content)
    return target


def with_edits(path: Path, edits: Sequence[tuple[float, float]]) -> Path:
    """Rewrites the edit list: (seconds that are shown, where they begin in the recording)."""
    content = path.read_bytes()
    [(at, _)] = boxes(content, ["moov", "trak", "mdia", "mdhd"])
    scale = struct.unpack(">I", content[at + 20 : at + 24])[0]
    [(at, _)] = boxes(content, ["moov", "mvhd"])
    clock = struct.unpack(">I", content[at + 20 : at + 24])[0]
    rows = b"".join(struct.pack(">Iihh", round(shown * clock), round(at * scale), 1, 0) for shown, at in edits)
    elst = struct.pack(">I4sII", 16 + len(rows), b"elst", 0, len(edits)) + rows
    edts = struct.pack(">I4s", 8 + len(elst), b"edts") + elst
    made = bytearray(content)
    [(start, size)] = boxes(content, ["moov", "trak", "edts"])
    for names in (["moov"], ["moov", "trak"]):
        [(at, old)] = boxes(content, names)
        made[at : at + 4] = struct.pack(">I", old + len(edts) - size)
    for names, offset in ((["moov", "mvhd"], 24), (["moov", "trak", "tkhd"], 28)):
        [(at, _)] = boxes(content, names)
        made[at + offset : at + offset + 4] = struct.pack(">I", round(sum(shown for shown, _ in edits) * clock))
    made[start : start + size] = edts  # the samples stand before the index, so that none moves
    path.write_bytes(made)
    return path


def shown_by_ffmpeg(path: Path, size: tuple[int, int]) -> list[bytes]:
    command = [
        "ffmpeg",
        "-v",
        "error",
        "-i",
        str(path),
        "-fps_mode",
        "passthrough",
        "-f",
        "rawvideo",
        "-pix_fmt",
        "rgb24",
        "-",
    ]
    raw = subprocess.run(command, capture_output=True, check=True).stdout
    each = size[0] * size[1] * 3
    return [raw[at : at + each] for at in range(0, len(raw), each)]


def shown(path: Path, index: FrameIndex, numbers: Sequence[int] | None = None) -> list[Image.Image]:
    ticks = [index.ticks[number] for number in (range(len(index.ticks)) if numbers is None else numbers)]
    return list(frames_at(str(path), ticks, [index.key_of(tick) for tick in ticks]))


needs_ffmpeg = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is compared with")
MATRICES = [
    (1, 0, 0, 1),
    (-1, 0, 0, 1),
    (1, 0, 0, -1),
    (-1, 0, 0, -1),
    (0, 1, -1, 0),
    (0, -1, 1, 0),
    (0, 1, 1, 0),
    (0, -1, -1, 0),
]


@needs_ffmpeg
def test_every_matrix_is_shown_as_by_ffmpeg_and_a_mirror_has_an_identity_of_its_own(tmp_path: Path) -> None:
    plain = clip(tmp_path / "plain.mp4", [n / 30 for n in range(3)], 1 / 30)
    upright = frames_of(plain, read_rule("frames=1"), Places())
    for number, matrix in enumerate(MATRICES):
        path = with_matrix(plain, tmp_path / f"{number}.mp4", matrix)
        index = index_of(str(path))
        frames = shown(path, index)
        assert [frame.tobytes() for frame in frames] == shown_by_ffmpeg(path, frames[0].size), matrix
        is_mirrored = matrix[0] * matrix[3] - matrix[1] * matrix[2] < 0
        assert index.is_mirrored is is_mirrored
        found = frames_of(path, read_rule("frames=1"), Places())
        assert upright is not None and found is not None
        old = identity(path, index.ticks[0])
        assert (found.digests[0] == old) is not is_mirrored


def identity(path: Path, tick: int) -> str:
    """What the identity of a frame was before mirrors were known."""
    of_file = hashlib.sha256(path.read_bytes()).hexdigest()
    return (FRAME_MARK + of_file)[:32] + hashlib.sha256(f"{of_file} {tick} None".encode()).hexdigest()[:32]


@needs_ffmpeg
def test_a_last_picture_that_stays_counts_as_shown_time(tmp_path: Path) -> None:
    path = clip(tmp_path / "screen.mp4", [n / 30 for n in range(60)], 3.0)
    index = index_of(str(path))
    assert len(index.ticks) == 60 and index.duration == pytest.approx(59 / 30 + 3)
    assert count(path, "fps=2") == 9 and count(path, "fps=2,rounded") == 9
    assert count(path, "fps=2", end=1.9) == 3, "a part without the last picture"
    assert count(path, "fps=2", start=1.0, end=3.0) == 4, "it stays until the part ends"
    assert count(path, "fps=2", start=3.0, end=4.0) == 1, "a part in which it is all that is shown"
    with pytest.raises(DataError, match="has no frame from 5"):
        count(path, "fps=2", start=5.0, end=6.0)
    steady = index_of(str(clip(tmp_path / "steady.mp4", [n / 30 for n in range(60)], 1 / 30)))
    assert steady.duration == 2 and not steady.stays
    cut = tmp_path / "cut.mp4"  # the index first, then two thirds of the samples
    subprocess.run(
        ["ffmpeg", "-v", "error", "-i", str(path), "-c", "copy", "-movflags", "faststart", str(cut)], check=True
    )
    content = cut.read_bytes()
    head, size = next(boxes(content, ["mdat"]))
    cut.write_bytes(content[: head + size * 2 // 3])
    with pytest.raises(DataError, match="cut off|damaged|can't be read"):
        index_of(str(cut))
    copy = tmp_path / "screen.mkv"  # it states the length of the track, and none of its last block
    subprocess.run(["ffmpeg", "-v", "error", "-i", str(path), "-c", "copy", str(copy)], check=True)
    assert index_of(str(copy)).duration == pytest.approx(59 / 30 + 3, abs=0.01)
    content = copy.read_bytes()
    copy.write_bytes(content[: len(content) * 4 // 5])
    with pytest.raises(DataError, match="cut off|damaged|can't be read"):
        index_of(str(copy))


def test_frames_in_another_order_do_not_lengthen_the_last_one(tmp_path: Path) -> None:
    """With B-frames the length of a sample is that of another frame."""
    starts = [n / 30 for n in range(30)] + [4.0, 4.1]
    index = index_of(str(clip(tmp_path / "a.mp4", starts, 1 / 30, b_frames=2)))
    assert index.duration < 4.4


def count(path: Path, rule: str, **part: Any) -> int:
    found = frames_of(Video(path, **part), read_rule(rule), Places())
    assert found is not None
    return len(found.digests)


SAID = "1\n00:00:0{},000 --> 00:00:50,000\nlate\n"


@needs_ffmpeg
@each_of("kind", ["mp4", "mkv"])
@each_of("start", [1, 9])
def test_subtitles_do_not_make_a_video_longer(tmp_path: Path, kind: str, start: int) -> None:
    plain = clip(tmp_path / "plain.mp4", [n / 30 for n in range(90)], 1 / 30, group=15)
    (tmp_path / "a.srt").write_text(SAID.format(start))
    path = tmp_path / f"a.{kind}"
    codec = "mov_text" if kind == "mp4" else "srt"
    command = ["ffmpeg", "-v", "error", "-y", "-i", str(plain), "-i", str(tmp_path / "a.srt"), "-map", "0", "-map", "1"]
    copied = ["-c:v", "copy", "-c:s", codec, *(["-movflags", "faststart"] if kind == "mp4" else []), str(path)]
    subprocess.run([*command, *copied], check=True)
    with av.open(str(path)) as file:
        assert kind == "mp4" or file.duration and file.duration > 45_000_000, (
            "the subtitle decides the length of the file"
        )
    index = index_of(str(path))
    assert len(index.ticks) == 90 and index.duration == pytest.approx(3, abs=0.01)
    content = path.read_bytes()
    (tmp_path / f"cut.{kind}").write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match="cut off|damaged|can't be read"):
        index_of(str(tmp_path / f"cut.{kind}"))


@pytest.mark.full
@needs_ffmpeg
def test_several_edits_are_shown_as_by_ffmpeg(tmp_path: Path) -> None:
    """Also edits that begin between key frames, and that go back in the recording."""
    lists = [
        [(1, 0.5), (1, 2.5)], [(0.8, 0), (0.8, 1)], [(0.6, 2.2), (0.6, 2.4), (0.6, 0.3)],
    ]  # fmt: skip
    for number, edits in enumerate(lists):
        path = with_edits(clip(tmp_path / f"{number}.mp4", [n / 30 for n in range(120)], 1 / 30, group=30), edits)
        wanted = shown_by_ffmpeg(path, (WIDTH, HEIGHT))
        index = index_of(str(path))
        total = sum(shown for shown, _ in edits)
        assert index.duration == pytest.approx(total, abs=0.04) and len(index.ticks) == len(wanted)
        right = [round((at + n / 30) * 30) for shown, at in edits for n in range(round(shown * 30))]
        assert [read(frame) for frame in shown(path, index)] == right
        assert [frame.tobytes() for frame in shown(path, index)] == wanted
        for seed in range(3):
            some = sorted(random.Random(seed).sample(range(len(wanted)), 5))
            assert [read(frame) for frame in shown(path, index, some)] == [right[each] for each in some]


@needs_ffmpeg
@each_of("mode", ["RGB", "RGBA"])
def test_a_sequence_of_avif_is_a_video(tmp_path: Path, mode: str) -> None:
    frames = [Image.fromarray(drawn(number)).convert(mode) for number in range(7)]
    path = tmp_path / "a.avif"
    times = [100, 100, 200, 100, 100, 100, 1000]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=times, quality=100)
    index = index_of(str(path))
    assert [round(index.seconds(n), 3) for n in range(7)] == [0, 0.1, 0.2, 0.4, 0.5, 0.6, 0.7]
    assert index.duration == pytest.approx(1.7)
    assert [read(frame) for frame in shown(path, index)] == list(range(7))
    frames[3].save(tmp_path / "one.avif", quality=100)
    one = index_of(str(tmp_path / "one.avif"))
    assert len(one.ticks) == 1 and read(shown(tmp_path / "one.avif", one)[0]) == 3
