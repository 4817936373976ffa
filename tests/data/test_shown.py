"""One function gives the picture of a cell as it is shown, and its size from the header, whatever the form and the format."""

import base64
import io
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, features

from mm_eval.data.decode import FORMATS, format_of
from mm_eval.data.media import picture_in_text
from mm_eval.types import shown_picture, shown_size
from mm_eval.values.errors import DocError
from tests.sets import each_of

PICTURE = Image.new("RGB", (62, 40), "white")
PICTURE.paste("red", (0, 0, 30, 10))
UPRIGHT = {
    1: lambda picture: picture,
    2: lambda picture: picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT),
    3: lambda picture: picture.transpose(Image.Transpose.ROTATE_180),
    4: lambda picture: picture.transpose(Image.Transpose.FLIP_TOP_BOTTOM),
    5: lambda picture: picture.transpose(Image.Transpose.TRANSPOSE),
    6: lambda picture: picture.transpose(Image.Transpose.ROTATE_270),
    7: lambda picture: picture.transpose(Image.Transpose.TRANSVERSE),
    8: lambda picture: picture.transpose(Image.Transpose.ROTATE_90),
}


def saved(picture: Image.Image, kind: str, turned: int | None = None) -> bytes:
    file, exif = io.BytesIO(), Image.Exif()
    exif[0x0112] = turned
    picture.save(file, kind, **({"exif": exif} if turned else {}))
    return file.getvalue()


def with_late_orientation(turned: int) -> bytes:
    """A PNG whose orientation stands behind its pixels."""
    exif = Image.Exif()
    exif[0x0112] = turned
    body = b"eXIf" + exif.tobytes().removeprefix(b"Exif\0\0")
    content = saved(PICTURE, "PNG")
    return content[:-12] + struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body)) + content[-12:]


@each_of("kind", FORMATS)
def test_every_format_in_every_form(kind: str) -> None:
    content = saved(PICTURE, kind)
    text = base64.b64encode(content).decode()
    lines = "\n".join(text[at : at + 76] for at in range(0, len(text), 76))
    short = "\r\n".join(text[at : at + 38] for at in range(0, len(text), 38))
    cells: list[Any] = [short, content, {"bytes": content, "path": "x"}, io.BytesIO(content), text, lines]
    cells += [f"data:image/x;base64,{text}"]
    assert format_of(content) == ("" if kind == "DIB" else kind)
    assert kind == "DIB" or picture_in_text(text) == content
    for cell in cells:
        picture = shown_picture(cell)
        assert shown_size(cell) == picture.size == PICTURE.size and picture.mode == "RGB"
        assert np.abs(np.asarray(picture).astype(int) - np.asarray(PICTURE)).mean() < 6


@each_of("kind", ["JPEG", "PNG", "WEBP", "TIFF", "AVIF"])
@each_of("turned", list(UPRIGHT))
def test_orientation_is_honoured_in_picture_and_size(kind: str, turned: int) -> None:
    content = saved(PICTURE, kind, turned)
    right = UPRIGHT[turned](PICTURE)
    picture = shown_picture(content)
    assert picture.size == shown_size(content) == right.size
    assert np.abs(np.asarray(picture).astype(int) - np.asarray(right)).mean() < 6
    opened = shown_picture(Image.open(io.BytesIO(content), formats=[kind]))
    assert opened.tobytes() == picture.tobytes()


def test_an_orientation_behind_the_pixels_is_honoured() -> None:
    content = with_late_orientation(6)
    assert shown_size(content) == shown_picture(content).size == (40, 62)


@each_of("kind", ["PNG", "TIFF", "PPM", "JPEG2000"])
def test_16_bits_of_grey_are_rounded_for_every_value(kind: str) -> None:
    values = np.arange(65536, dtype=np.uint16).reshape(256, 256)
    shown = np.asarray(shown_picture(saved(Image.fromarray(values), kind)))[..., 0]
    assert (shown == np.rint(values / 257)).all() and shown.flat[65534] == 255


@each_of(
    "cell", [None, 3, "no base64", "bm8gcGljdHVyZQ==", {"bytes": None, "path": None}, b"", "x.png", "/x.png", "x" * 60]
)
def test_a_cell_that_is_no_picture_is_one_sentence(cell: Any) -> None:
    for function in (shown_picture, shown_size):
        with pytest.raises(
            DocError, match=r"^(a picture can't be decoded: its \d+ bytes are|the picture '|there is no picture)"
        ):
            function(cell)


@each_of(("kind", "decoder"), [("AVIF", "avif"), ("JPEG2000", "jpg_2000")])
def test_a_missing_decoder_is_one_sentence(kind: str, decoder: str) -> None:
    check = features.check
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(features, "check", lambda name: name != decoder and check(name))
        with pytest.raises(DocError, match=f"the picture is {kind}, which this build of Pillow can't decode. Install"):
            shown_picture(saved(Image.new("RGB", (9, 5), kind and "blue"), kind))


TASK = """task: own
dataset_path: json
dataset_kwargs: {data_files: {test: data/own.jsonl}}
test_split: test
process_docs: !function utils.process_docs
doc_to_visual: !function utils.doc_to_visual
doc_to_text: "{{size}}"
doc_to_target: a
metric_list: [{metric: exact_match}]
"""
UTILS = """from mm_eval.types import shown_picture, shown_size

def process_docs(dataset):
    return dataset.add_column("size", ["%d x %d" % shown_size(cell) for cell in dataset["picture"]])

def doc_to_visual(doc):
    return [shown_picture(doc["picture"])]
"""


def test_the_name_in_a_cell_is_looked_for_below_the_datas_folder(cli: Any, tmp_path: Path) -> None:
    """Also while the docs are made, and whatever the working directory is."""
    folder = tmp_path / "task" / "data"
    (folder / "pictures").mkdir(parents=True)
    for name, kind in (("a.avif", "AVIF"), ("b.jp2", "JPEG2000"), ("c.jpg", "JPEG")):
        (folder / "pictures" / name).write_bytes(saved(PICTURE, kind, 6 if kind != "JPEG2000" else None))
    rows = [{"picture": f"pictures/{name}", "a": "x"} for name in ("a.avif", "b.jp2", "c.jpg")]
    (folder / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "task" / "own.yaml").write_text(TASK)
    (tmp_path / "task" / "utils.py").write_text(UTILS)
    for number, size in enumerate(("40 x 62", "62 x 40", "40 x 62")):
        ran = cli("show", "own", "--doc", number, "--model", "dummy", "--include_path", tmp_path / "task")
        assert ran.code == 0, ran.err
        assert f"picture 0: {size} " in ran.out and ran.out.count(size) == 2
