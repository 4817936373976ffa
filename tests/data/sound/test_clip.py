"""A clip is what its file says, sample by sample; its identity is that of its samples."""

import io
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mm_eval.data.places import Places
from mm_eval.data.sound.clip import Sound, sound_of
from mm_eval.data.sound.wav import head_of, stored
from mm_eval.values.errors import DataError
from mm_eval.values.types import Audio
from tests.data.sound.sounds import tone, wav

RATE = 16_000
STEREO = tone(440, channels=2)
NOWHERE = Places()


def of(item: Any) -> Sound:
    found = sound_of(item, NOWHERE, sure=True)
    assert found is not None
    return found


def whole(samples: np.ndarray) -> np.ndarray:
    """Floats as 16-bit whole numbers; each must be one."""
    found = samples * 2.0**15
    assert (found == np.rint(found)).all()
    return found.astype("i4")


def test_a_wav_is_read_to_the_sample_and_keeps_its_rate_and_channels() -> None:
    sound = of(wav(STEREO))
    assert (sound.rate, sound.channels, sound.length, sound.duration) == (RATE, 2, 1600, 0.1)
    assert (whole(sound.samples()) == STEREO).all() and sound.samples().dtype == np.float32
    assert np.allclose(sound.samples(mono=True) * 2**15, STEREO.mean(1), atol=2**-8)
    assert sound["sampling_rate"] == RATE and sound["array"].shape == (1600,) and sound["path"] is None


@pytest.mark.parametrize(
    ("start", "end", "first", "last"),
    [
        (0.01, 0.02, 160, 320),
        (None, 0.02, 0, 320),
        (0.01, None, 160, 1600),
        (0.00999, 0.0200001, 160, 321),
        (0.3 / 3, 1, 0, 0),
    ],
)
def test_a_segment_has_the_samples_whose_time_is_in_it(
    start: float | None, end: float | None, first: int, last: int
) -> None:
    sound = of(Audio(wav(STEREO), start, end))
    if first == last:
        with pytest.raises(DataError, match=r"it has no sample of 0\.1 to 1 s"):
            sound.digest  # noqa: B018 - it is read
        return
    assert (whole(sound.samples()) == STEREO[first:last]).all()
    assert (sound.heard.first, sound.length) == (first, last - first)


def test_the_identity_is_that_of_the_samples_and_the_rate() -> None:
    plain = tone(440)
    floats = plain[:, 0] / 2**15
    wide = head_of(RATE, 1, 24, len(plain)) + stored(plain.astype("i4") << 16, 24)
    points = head_of(RATE, 1, 32, len(plain), is_float=True) + (plain / 2**15).astype("<f4").tobytes()
    longer = np.concatenate([plain * 0, plain, plain * 0])
    same: list[Any] = [
        wav(plain), {"bytes": wav(plain), "path": "a.wav"}, {"array": floats, "sampling_rate": RATE}, wide, points,
        {"array": floats.astype("f4"), "sampling_rate": np.int64(RATE)}, {"array": plain[:, 0], "sampling_rate": RATE},
        Audio({"bytes": wav(longer), "path": None}, 0.1, 0.2),
    ]  # fmt: skip
    assert len({of(item).digest for item in same}) == 1
    changed = plain.copy()
    changed[800] += 1
    others: list[Any] = [wav(changed), wav(plain, 8000), wav(np.repeat(plain, 2, 1)), wav(plain[:-1]), wav(STEREO)]
    assert len({of(item).digest for item in (same[0], *others)}) == 6


def test_arrays_of_two_channels_are_those_of_datasets_and_wrong_ones_are_named() -> None:
    pair = {"array": STEREO.T / 2**15, "sampling_rate": RATE}
    assert of(pair).digest == of(wav(STEREO)).digest
    wrong = {
        "values that are not numbers": np.array([0.1, np.nan]),
        "values of the type <U1": np.array(["a"]),
        "the array of a sound is 0;": np.zeros(0),
        "is 1600 x 2;": STEREO / 2**15,
    }
    for said, array in wrong.items():
        with pytest.raises(DataError, match=said.replace("<", ".")):
            of({"array": array, "sampling_rate": RATE})
    for rate in (0, -1, True, "16k", None, 1e9):
        with pytest.raises(DataError, match="the sampling_rate of a sound is"):
            of({"array": np.zeros(3), "sampling_rate": rate})


def test_a_server_gets_the_stored_file_if_it_takes_its_form_and_else_a_wav_of_the_same_samples() -> None:
    content = wav(STEREO)
    assert of(content).encoded() == ("wav", content)
    form, part = of(Audio(content, 0.05)).encoded(("wav", "mp3"))
    assert form == "wav" and of(part).digest == of(Audio(content, 0.05)).digest
    floats = np.linspace(-1.5, 1.5, 999, dtype="f4")
    form, made = of({"array": floats, "sampling_rate": 8000}).encoded()
    assert (of(made).samples()[:, 0] == floats).all()  # above full scale, too


def test_a_cut_or_foreign_file_is_an_error_that_names_it() -> None:
    content = wav(STEREO)
    for damaged, said in {
        content[
            :-4
        ]: "the sound 'a.wav' can't be read: the sound is cut off: the WAV states 6,400 bytes of samples and has 6,396.",
        content[:36]: "the sound 'a.wav' can't be read: the sound is cut off: the WAV has no samples.",
        content[:30]: "the sound 'a.wav' can't be read: the sound is cut off: the WAV ends in its head.",
        content[:12] + bytes(2**20): "the sound 'a.wav' can't be read: the sound is cut off: the WAV has no samples.",
        b"<html>not found</html>": "the sound 'a.wav' can't be read: Invalid data found when processing input.",
        b"": "the sound 'a.wav' can't be read: ",
    }.items():
        with pytest.raises(DataError) as found:
            of({"bytes": damaged, "path": "x/a.wav"}).digest  # noqa: B018 - it is read
        assert found.value.what.startswith(said)


def test_a_wav_of_a_stream_ends_where_its_file_ends() -> None:
    content = wav(STEREO)
    for stated in (0, 2**32 - 1):
        streamed = content[:40] + struct.pack("<I", stated) + content[44:]
        assert of(streamed).digest == of(content).digest


def test_a_path_is_the_functions_own_or_below_the_data(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for path in (tmp_path / "a.wav", tmp_path / "in" / "b.wav"):
        path.write_bytes(wav(STEREO))
    places = Places((tmp_path / "in",))
    assert sound_of(tmp_path / "a.wav", places).digest == sound_of("b.wav", places).digest == of(wav(STEREO)).digest  # type: ignore[union-attr]
    for name in ("../a.wav", "c.wav", "http://host/a.wav"):
        with pytest.raises(DataError, match="no sound file|not the name of a file"):
            sound_of(name, places)
    assert sound_of("a.png", places) is None and sound_of(b"\x89PNG", places) is None


def test_rates_are_converted_by_soxr_and_channels_mixed_before() -> None:
    soxr = pytest.importorskip("soxr")
    found = of(wav(STEREO)).samples(24_000, mono=True)
    assert found.shape == (2400,)
    assert (found == soxr.resample(of(wav(STEREO)).samples(mono=True), RATE, 24_000, quality="HQ")).all()


def test_nothing_is_held_but_the_stored_file() -> None:
    sound = of(wav(STEREO))
    sound.samples()
    assert sound.held == len(wav(STEREO)) and io.BytesIO(sound.encoded()[1]).read(4) == b"RIFF"


@pytest.mark.parametrize("part", [(None, None), (0.02, 0.05)])
def test_a_clip_that_crosses_to_a_worker_has_the_same_samples_and_the_same_file(
    part: tuple[float | None, float | None], tmp_path: Path
) -> None:
    (tmp_path / "a.wav").write_bytes(wav(STEREO))
    floats = {"array": np.linspace(-1, 1, 3200, dtype="f4"), "sampling_rate": RATE}
    for source in (str(tmp_path / "a.wav"), wav(STEREO), floats):
        sound = of(Audio(source, *part))
        again = Sound.of_wire(sound.packed())
        assert (again.samples() == sound.samples()).all() and again.encoded() == sound.encoded()
        assert (again.rate, again.channels, again.length) == (sound.rate, sound.channels, sound.length)


def test_a_clip_that_was_decoded_before_is_known_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mm_eval.data.known_pictures import known_pictures

    monkeypatch.setenv("MM_EVAL_CACHE", str(tmp_path / "cache"))
    known_pictures.cache_clear()
    content = wav(tone(440))
    (tmp_path / "a.wav").write_bytes(content)
    sounds = [Sound(content), Sound(content, 0.02, 0.05), Sound(str(tmp_path / "a.wav"))]
    first = [each.heard for each in sounds]
    assert first[0].digest == first[2].digest != first[1].digest
    known_pictures().write()
    known_pictures.cache_clear()  # as another process
    (tmp_path / "b.wav").write_bytes(content)
    with monkeypatch.context() as patch:
        patch.setattr(Sound, "blocks", lambda self: pytest.fail("decoded again"))
        again = [Sound(content), Sound(content, 0.02, 0.05), Sound(str(tmp_path / "b.wav"))]
        found = [each.heard for each in again]
        assert [(each.digest, each.rate, each.length, each.first) for each in found] == [
            (each.digest, each.rate, each.length, each.first) for each in first
        ]
        assert again[0].form == sounds[0].form
    for _ in range(2):
        with pytest.raises(DataError, match="cut off"):
            _ = Sound(content[:-100]).digest
    (tmp_path / "a.wav").write_bytes(wav(tone(880)))
    assert Sound(str(tmp_path / "a.wav")).digest != first[0].digest, "another content"
    assert np.array_equal(Sound(content).samples(), sounds[0].samples())


def test_docs_of_stored_sound_are_not_held(tmp_path: Path) -> None:
    from mm_eval.prompt.visuals import PictureCache

    cache, content, loads = PictureCache(), wav(tone(440)), list[int]()

    def load() -> list[Any]:
        loads.append(1)
        return [Sound(content)]

    cache.get("doc", load)
    cache.get("doc", load)
    assert len(loads) == 2
    made = of({"array": tone(440)[:, 0], "sampling_rate": 16_000})
    assert cache.get("made", lambda: [made]) == cache.get("made", lambda: pytest.fail("made again"))
