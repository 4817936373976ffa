"""Pictures that a task's function makes, for a server: encoded once, released, and opened again where they are needed."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mm_eval.data.decode import open_picture
from mm_eval.data.media import as_sent, encoded, own_file, picture_digest, picture_identity
from mm_eval.data.shared import undecoded
from mm_eval.prompt import visuals
from mm_eval.prompt.visuals import PictureCache, as_files


def noise(seed, size=(60, 40)):
    draw = np.random.default_rng(seed)
    return Image.fromarray(draw.integers(0, 256, (size[1], size[0], 3), dtype=np.uint8))


def test_a_picture_that_is_sent_again_has_the_same_pixels_digest_and_file():
    made = noise(1)
    digest, content = picture_digest(made), encoded(made, picture_digest(made))[1]
    sent = as_sent(made)
    assert undecoded(sent) is not None and picture_digest(sent) == digest == picture_identity(sent)
    assert encoded(sent, digest) == ("image/png", content) and undecoded(sent) is not None
    assert sent.tobytes() == made.tobytes() and sent.size == made.size and sent.mode == "RGB"


def test_a_stored_file_keeps_its_bytes_and_its_pixels_are_released():
    file = io.BytesIO()
    noise(2).save(file, "JPEG")
    picture = open_picture(file.getvalue())  # decoded
    sent = as_sent(picture)
    assert undecoded(sent) is not None and own_file(sent) == file.getvalue()
    assert picture_digest(sent) == picture_digest(picture) and sent.tobytes() == picture.tobytes()


def test_the_cache_holds_few_bytes_and_makes_no_picture_twice(monkeypatch):
    size = len(encoded(noise(0), picture_digest(noise(0)))[1])
    cache, made = PictureCache(max_bytes=4 * size), list[int]()

    def load(number):
        made.append(number)
        return as_files([noise(number), noise(1000 + number)], None, "a doc")

    for _ in range(3):
        for number in range(40):
            one, two = cache.get(number, lambda number=number: load(number))
            assert (
                picture_digest(one) == picture_digest(noise(number)) and two.tobytes() == noise(1000 + number).tobytes()
            )
    assert made == list(range(40))
    assert sum(visuals._size(each) for each in cache._pictures.values()) <= 8 * size + 8 * 60 * 40 * 4


def test_a_full_disk_makes_the_pictures_again(monkeypatch):
    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(visuals.tempfile, "TemporaryDirectory", full)
    cache = PictureCache(max_bytes=1)
    for number in (1, 2, 1):
        [one] = cache.get(number, lambda number=number: as_files([noise(number)], None, "a doc"))
        assert one.tobytes() == noise(number).tobytes()


def test_the_disk_is_bounded_and_a_damaged_file_is_not_shown(monkeypatch):
    spilled = visuals._Spilled(most=30_000)
    for number in range(20):
        spilled.put(number, as_files([noise(number)], None, "a doc"))
    kept = [number for number in range(20) if spilled.get(number)]
    assert kept == list(range(20 - len(kept), 20)) and 0 < len(kept) < 20
    path = spilled._found[19][0][0]
    content = Path(path).read_bytes()
    with open(path, "wb") as file:
        file.write(content[:100])
    assert spilled.get(19) is None
    with open(path, "wb") as file:
        file.write(content[:-20] + bytes(20))
    assert spilled.get(19) is None


@pytest.mark.parametrize("form", ["opened", "array", "bytes", "from a column"])
def test_each_form_is_held_as_a_file(form):
    file = io.BytesIO()
    noise(5).save(file, "PNG")
    made = {
        "opened": lambda: Image.open(io.BytesIO(file.getvalue())).convert("RGB"),
        "array": lambda: visuals.stored_as(np.asarray(noise(5)), None),
        "bytes": lambda: open_picture(file.getvalue()),
        "from a column": lambda: open_picture(file.getvalue()).resize((30, 20)),
    }[form]()
    [sent] = as_files([made], None, "a doc")
    assert undecoded(sent) is not None and visuals._size([sent]) < 4 * 60 * 40
