"""Videos of many codecs, containers and oddities, as ffmpeg writes them. Each frame carries its number."""

from __future__ import annotations

import random
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from mm_eval.data.video.frames import frames_of
from mm_eval.data.video.reader import frames_at, index_of
from mm_eval.data.video.rule import SPREADS, read_rule
from mm_eval.values.errors import DataError
from tests.data.video.movies import HEIGHT, WIDTH, drawn, read

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg makes these files and is compared with"),
]

COUNT = 90
X264, X265 = "-c:v libx264 -x264-params ", "-c:v libx265 -x265-params log-level=error:"
GROUPS = "keyint=24:min-keyint=24:scenecut=0"
SOUND = "-f lavfi -i sine=d=3.6 -map 0:v -map 1:a"

FILES = {
    # containers of H.264
    "h264.mp4": X264 + GROUPS,
    "h264.mov": X264 + GROUPS,
    "h264.m4v": X264 + GROUPS,
    "h264.mkv": X264 + GROUPS,
    "h264.avi": X264 + GROUPS + " -bf 0",
    "h264_b_frames.avi": X264 + GROUPS + " -bf 3",
    "h264.ts": X264 + GROUPS,
    "h264.mpg": X264 + GROUPS,
    "h264.flv": X264 + GROUPS,
    "h264.3gp": X264 + GROUPS,
    "h264.wmv": X264 + GROUPS,
    "h264_fragments.mp4": X264 + GROUPS + " -movflags frag_keyframe+empty_moov",
    "h264_dash.mp4": X264 + GROUPS + " -movflags dash+delay_moov",
    "h264_index_first.mp4": X264 + GROUPS + " -movflags faststart",
    # groups of pictures
    "open_groups.mp4": X264 + GROUPS + ":open-gop=1:bframes=3",
    "open_groups.ts": X264 + GROUPS + ":open-gop=1:bframes=3",
    "open_groups.mkv": X264 + GROUPS + ":open-gop=1:bframes=3",
    "pyramid.mp4": X264 + GROUPS + ":bframes=8:b-pyramid=normal:ref=8",
    "pyramid_strict.mkv": X264 + GROUPS + ":bframes=6:b-pyramid=strict:b-adapt=0",
    "no_reorder.mp4": X264 + GROUPS + ":bframes=0",
    "one_group.mp4": X264 + "keyint=infinite:scenecut=0",
    "one_group.ts": X264 + "keyint=infinite:scenecut=0",
    "all_keys.mp4": X264 + "keyint=1",
    "refresh.mp4": X264 + "intra-refresh=1:keyint=30:bframes=0",
    "refresh.ts": X264 + "intra-refresh=1:keyint=30:bframes=0",
    "uneven_groups.mp4": "-force_key_frames 0.2,0.28,1.0,3.0 " + X264 + "keyint=250",
    # kinds of H.264
    "baseline.mp4": "-profile:v baseline " + X264 + GROUPS,
    "444.mp4": "-pix_fmt yuv444p " + X264 + GROUPS,
    "422_10.mp4": "-pix_fmt yuv422p10le " + X264 + GROUPS,
    "grey.mp4": "-pix_fmt gray " + X264 + GROUPS,
    "full_range.mp4": "-vf scale=out_range=full -color_range pc " + X264 + GROUPS,
    "interlaced.mp4": X264 + GROUPS + ":interlaced=1",
    "interlaced.ts": X264 + GROUPS + ":tff=1",
    "lossless.mkv": X264 + GROUPS + " -qp 0",
    "rgb.mkv": "-c:v libx264rgb -g 24",
    "slices.mp4": X264 + GROUPS + ":slices=4",
    # rates and times
    "24000_1001.mp4": "-r 24000/1001 " + X264 + GROUPS,
    "24000_1001.mkv": "-r 24000/1001 " + X264 + GROUPS,
    "60.mp4": "-r 60 " + X264 + GROUPS,
    "5.avi": "-r 5 -c:v mpeg4",
    "one_a_second.mp4": "-r 1 " + X264 + GROUPS,
    "varying.mp4": "-vf select='not(mod(n\\,3))+not(mod(n\\,7))' -fps_mode vfr " + X264 + GROUPS,
    "varying.mkv": "-vf select='not(mod(n\\,3))+not(mod(n\\,7))' -fps_mode vfr " + X264 + GROUPS,
    "varying.webm": "-vf select='not(mod(n\\,3))+not(mod(n\\,7))' -fps_mode vfr -c:v libvpx-vp9 -cpu-used 8",
    "late.mp4": "-output_ts_offset 40 " + X264 + GROUPS,
    "late.mkv": "-output_ts_offset 40 " + X264 + GROUPS,
    "very_late.ts": "-output_ts_offset 95000 " + X264 + GROUPS,
    "ticks_1000.mp4": "-video_track_timescale 1000 " + X264 + GROUPS,
    "one_frame.mp4": "-frames:v 1 " + X264 + GROUPS,
    "two_frames.mkv": "-frames:v 2 " + X264 + GROUPS,
    # other streams beside the pictures
    "sound.mp4": f"{SOUND} {X264}{GROUPS} -c:a aac",
    "sound.mkv": f"{SOUND} {X264}{GROUPS} -c:a libopus",
    "sound.ts": f"{SOUND} {X264}{GROUPS} -c:a mp2",
    "sound.avi": f"{SOUND} -c:v mpeg4 -c:a mp3",
    "sound_first.mp4": f"-f lavfi -i sine=d=3.6 -map 1:a -map 0:v {X264}{GROUPS} -c:a aac",
    "two_videos.mkv": f"-map 0:v -map 0:v {X264}{GROUPS}",
    "turned.mp4": X264 + GROUPS + " -metadata:s:v rotate=0",
    # other codecs
    "h265.mp4": X265 + GROUPS,
    "h265_hvc1.mov": X265 + GROUPS + " -tag:v hvc1",
    "h265.mkv": X265 + GROUPS + ":bframes=4",
    "h265_open.ts": X265 + GROUPS + ":open-gop=1:bframes=3",
    "h265_10.mp4": "-pix_fmt yuv420p10le " + X265 + GROUPS,
    "av1.mp4": "-c:v libaom-av1 -cpu-used 8 -g 24",
    "av1.webm": "-c:v libaom-av1 -cpu-used 8 -g 24 -lag-in-frames 19",
    "av1_svt.mkv": "-c:v libsvtav1 -preset 12 -g 24",
    "vp9.webm": "-c:v libvpx-vp9 -cpu-used 8 -g 24",
    "vp9_hidden.mkv": "-c:v libvpx-vp9 -cpu-used 5 -g 48 -auto-alt-ref 1 -lag-in-frames 25",
    "vp9.mp4": "-c:v libvpx-vp9 -cpu-used 8 -g 24",
    "vp8.webm": "-c:v libvpx -cpu-used 8 -g 24 -auto-alt-ref 1 -lag-in-frames 16",
    "mpeg4.mp4": "-c:v mpeg4 -bf 2 -g 24",
    "mpeg4.avi": "-c:v mpeg4 -bf 2 -g 24",
    "xvid.avi": "-c:v libxvid -g 24",
    "xvid_b_frames.avi": "-c:v libxvid -bf 2 -g 24",
    "xvid_b_frames.mkv": "-c:v libxvid -bf 2 -g 24",
    "mpeg2.mpg": "-c:v mpeg2video -bf 2 -g 12",
    "mpeg2.ts": "-c:v mpeg2video -bf 2 -g 12",
    "mpeg1.mpg": "-c:v mpeg1video -bf 2 -g 12",
    "theora.ogv": "-c:v libtheora -g 24",
    "wmv2.wmv": "-c:v wmv2 -g 24",
    "msmpeg4.avi": "-c:v msmpeg4 -g 24",
    "flv1.flv": "-c:v flv -g 24",
    "mjpeg.avi": "-c:v mjpeg -pix_fmt yuvj420p",
    "mjpeg.mov": "-c:v mjpeg -pix_fmt yuvj420p",
    "prores.mov": "-c:v prores_ks",
    "ffv1.mkv": "-c:v ffv1 -g 12",
    "huffyuv.avi": "-c:v huffyuv",
    "utvideo.avi": "-c:v utvideo",
    "png.mov": "-c:v png",
    "animation.mov": "-c:v qtrle",
    "raw.avi": "-c:v rawvideo",
    "gif.gif": "",
    "apng.apng": "-f apng",
}
"""ffmpeg's options of each file."""


@cache
def numbered() -> bytes:
    return b"".join(drawn(number).tobytes() for number in range(COUNT))


def run(*command: str, given: bytes = b"") -> bytes:
    done = subprocess.run(["ffmpeg", "-v", "error", "-y", *command], input=given, capture_output=True)
    if b"Unknown encoder" in done.stderr:
        pytest.skip(done.stderr.decode().strip())
    assert not done.returncode, done.stderr.decode()
    return done.stdout


def numbers_by_ffmpeg(path: Path) -> list[int]:
    from PIL import Image

    raw = run("-i", str(path), "-map", "0:v:0", "-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "rgb24", "-")
    each = WIDTH * HEIGHT * 3
    return [read(Image.frombytes("RGB", (WIDTH, HEIGHT), raw[at : at + each])) for at in range(0, len(raw), each)]


@pytest.mark.parametrize("name", FILES)
def test_each_frame_is_the_one_that_ffmpeg_decodes(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    size = f"{WIDTH}x{HEIGHT}"
    source = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", size, "-r", "25", "-i", "-")
    pixels = (
        []
        if "-pix_fmt" in FILES[name] or path.suffix in (".gif", ".apng")
        else ["-pix_fmt", PIXELS.get(name, "yuv420p")]
    )
    run(*source, *FILES[name].split(), *pixels, str(path), given=numbered())
    right = numbers_by_ffmpeg(path)

    if name in REFUSED:
        with pytest.raises(DataError, match=REFUSED[name]):
            index_of(str(path))
        return
    index = index_of(str(path))
    assert len(index.ticks) == len(right)

    def found(numbers: list[int]) -> list[int]:
        ticks = [index.ticks[number] for number in numbers]
        keys = [index.key_of(tick) for tick in ticks]
        return [read(picture) for picture in frames_at(str(path), ticks, keys, numbers if index.by_order else None)]

    assert found(list(range(len(right)))) == right
    chosen = random.Random(name)
    for _ in range(12):
        numbers = sorted(chosen.sample(range(len(right)), chosen.randint(1, min(12, len(right)))))
        assert found(numbers) == [right[number] for number in numbers]
    for rule in [f"{count},{spread}" for count in ("frames=5", "fps=3") for spread in SPREADS]:
        frames = frames_of(str(path), read_rule(rule), None)  # type: ignore[arg-type]  # an absolute path needs no places
        assert frames is not None
        assert [read(picture) for picture in frames.pictures()] == [right[number] for number in frames.whole.numbers]


REFUSED = {
    "h264.mpg": r"'h264\.mpg' does not state the times of its frames\. Pack it again",
    "xvid_b_frames.mkv": r"'xvid_b_frames\.mkv' can't be read: Invalid data",
}
"""Files without times, or with two frames in one, as ffmpeg copies them. ffmpeg guesses, or leaves frames out."""

PIXELS = {
    "prores.mov": "yuv422p10le",
    "rgb.mkv": "rgb24",
    "huffyuv.avi": "yuv422p",
    "png.mov": "rgb24",
    "animation.mov": "rgb24",
    "raw.avi": "bgr24",
}
"""The form of pixels of codecs that don't take yuv420p."""
