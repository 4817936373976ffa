"""The 40 files of `corpus`, sample by sample, against what ffmpeg decodes of them and against what they were made of."""

import shutil
import subprocess
from math import ceil
from pathlib import Path

import numpy as np
import pytest

from mm_eval.data.places import Places
from mm_eval.data.sound.clip import Sound, sound_of
from mm_eval.values.errors import DataError
from mm_eval.values.types import Audio
from tests.data.sound.corpus import FILES, Made, decoded, make, source_of
from tests.sets import few

pytest.importorskip("av")
pytestmark = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="no ffmpeg, which makes the files")

WHOLE = [made for made in FILES if not made.cut]
STATES_NO_END = ("26-no-tag.mp3", "30-aac.aac")
"""Streams of frames, of which a part is as good as all."""


def named(*starts: str) -> list[Made]:
    return [made for made in FILES if made.name[:2] in starts]


def places(*starts: str) -> list[int]:
    return [place for place, made in enumerate(WHOLE) if made.name[:2] in starts]


@pytest.mark.parametrize("made", few(WHOLE, at=places("10", "25", "35")), ids=lambda made: made.name)
def test_every_sample_is_ffmpegs(made: Made, tmp_path: Path) -> None:
    sound = sound_of(make(made, tmp_path), Places(), sure=True)
    assert sound is not None and sound.rate in (made.rate, 48_000) and sound.channels == made.channels
    whole = sound.form.lossless and bool(sound.form.bits)
    theirs, own = decoded(tmp_path / made.name, whole, made.channels), np.concatenate([*sound.blocks()])
    assert len(own) == len(theirs) == sound.length
    if whole:
        assert (own == theirs).all()
    else:
        assert np.abs(sound.samples() - theirs).max() < 2**-15
    if made.exact:
        as_numbers = own if own.dtype.kind == "i" else np.rint(own.astype("f8") * 2**31).astype("i8")
        assert (as_numbers == source_of(made)).all()
    in_memory = Sound((tmp_path / made.name).read_bytes(), name=made.name)
    assert in_memory.digest == sound.digest and in_memory.heard == sound.heard


def test_a_core_audio_file_of_packets_may_end_within_its_last_one(tmp_path: Path) -> None:
    """FFmpeg counts them in packets of 4,096 samples; one that lacks a packet is still cut off."""
    made = Made("41-alac.caf", "-c:a alac", 16_000)
    sound = sound_of(make(made, tmp_path), Places(), sure=True)
    assert sound is not None and sound.form.codec == "alac"
    assert (np.concatenate([*sound.blocks()]) == source_of(made)).all()
    content = (tmp_path / made.name).read_bytes()
    at = content.rindex(b"pakt")
    packets = int.from_bytes(content[at + 12 : at + 20], "big")
    more = content[: at + 12] + (packets + 1).to_bytes(8, "big") + content[at + 20 :]
    longer = int.from_bytes(content[at + 4 : at + 12], "big") + 2  # a further packet, of which the table says 2 bytes
    more = more[: at + 4] + longer.to_bytes(8, "big") + more[at + 12 :] + b"\x81\x00"
    with pytest.raises(DataError, match="cut off|damaged|can't be read"):
        Sound(more, name="more.caf").digest  # noqa: B018 - it is read


@pytest.mark.parametrize("made", named("39", "40"), ids=lambda made: made.name)
def test_a_cut_file_is_named_with_its_reason(made: Made, tmp_path: Path) -> None:
    sound = sound_of(make(made, tmp_path), Places(), sure=True)
    assert sound is not None
    with pytest.raises(DataError, match=rf"^the sound '{made.name}' can't be read: "):
        sound.digest  # noqa: B018 - it is read


@pytest.mark.parametrize("made", few(WHOLE, at=places("17", "36")), ids=lambda made: made.name)
def test_a_file_that_is_cut_anywhere_is_never_taken_for_a_shorter_one(made: Made, tmp_path: Path) -> None:
    import av

    path = make(made, tmp_path)
    content, length = path.read_bytes(), Sound(path.read_bytes(), name=made.name).length
    with av.open(str(path)) as file:
        starts = [packet.pos for packet in file.demux(file.streams.audio[0]) if packet.pos and packet.size]
    ends = {len(content) // 2, len(content) // 3 + 1, len(content) - 200, len(content) - 7}
    for end in ends if made.name in STATES_NO_END or len(starts) < 2 else {*ends, starts[len(starts) // 2]}:
        try:
            found = Sound(content[:end], name=made.name).length
        except DataError:
            continue
        assert found == length, f"cut at {end} of {len(content)}"


@pytest.mark.full
@pytest.mark.parametrize("made", WHOLE, ids=lambda made: made.name)
def test_a_segment_has_the_samples_of_the_whole(made: Made, tmp_path: Path) -> None:
    path = make(made, tmp_path)
    whole = sound_of(path, Places(), sure=True)
    assert whole is not None
    samples = whole.samples()
    for start, end in ((0.05, 0.1), (None, 0.01), (0.15, None), (0.0, 9.0)):
        part = sound_of(Audio(str(path), start, end), Places())
        assert part is not None
        first, last = (min(len(samples), ceil(round(each * whole.rate, 6))) for each in (start or 0, end or 99))
        assert (part.samples() == samples[first:last]).all() and part.length == last - first
        assert (part.digest == whole.digest) == (last - first == len(samples))


def test_one_sound_in_several_lossless_forms_is_one_sound(tmp_path: Path) -> None:
    of_form = {end: Made(f"02-a.{end}", codec, 16_000) for end, codec in
               {"wav": "-c:a pcm_s16le", "flac": "-c:a flac", "m4a": "-c:a alac", "aiff": "-c:a pcm_s16be"}.items()}  # fmt: skip
    found = {end: sound_of(make(made, tmp_path), Places(), sure=True) for end, made in of_form.items()}
    assert len({each.digest for each in found.values() if each}) == 1
    lossy = [sound_of(make(Made(f"02-{rate}.mp3", f"-b:a {rate}k", 16_000), tmp_path), Places()) for rate in (32, 64)]
    assert len({each.digest for each in [*found.values(), *lossy] if each}) == 3


@pytest.mark.full
def test_a_late_segment_of_a_long_flac_is_found_without_decoding_what_is_before(tmp_path: Path) -> None:
    made = Made("17-long.flac", "-af aloop=loop=-1:size=11680 -t 60 -c:a flac", 16_000)
    path = make(made, tmp_path)
    whole = sound_of(path, Places())
    assert whole is not None and whole.length == 60 * 16_000
    samples = whole.samples()
    for start, end in ((25.0, 26.0), (20.0001, 59.99999), (59.999, None), (33.3333, 33.3334)):
        part = sound_of(Audio(str(path), start, end), Places())
        assert part is not None
        first, last = ceil(start * 16_000), min(len(samples), ceil((end or 99) * 16_000))
        assert (part.samples() == samples[first:last]).all() and part.length == last - first
    beyond = sound_of(Audio(str(path), 60.0, 61.0), Places())
    assert beyond is not None
    with pytest.raises(DataError, match="it has no sample of 60 to 61 s"):
        beyond.digest  # noqa: B018 - it is read


@pytest.mark.full
@pytest.mark.parametrize("name", ["25-lame.mp3", "29-aac.m4a", "33-opus.ogg", "36-vorbis.ogg"])
def test_a_part_that_was_copied_out_of_a_coded_file_is_read_as_ffmpeg_reads_it(name: str, tmp_path: Path) -> None:
    """Its first frames refer to bits, or to samples, that are not there."""
    codec = {"mp3": "libmp3lame", "m4a": "aac"}.get(name[-3:]) or ("libopus" if "opus" in name else "libvorbis")
    long = make(Made(name, f"-af aloop=loop=-1:size=30000 -t 10 -c:a {codec}", 44_100, 2), tmp_path)
    part = tmp_path / f"part{long.suffix}"
    subprocess.run(["ffmpeg", "-v", "error", "-ss", "3.3", "-t", "2", "-i", long, "-c", "copy", part], check=True)
    sound = sound_of(part, Places())
    assert sound is not None
    theirs = decoded(part, False, 2)
    assert len(theirs) == sound.length and np.abs(sound.samples() - theirs).max() < 2**-15
