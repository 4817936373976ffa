"""Decoding foreign bytes is a boundary: whatever it raises is the DataError of one doc, and no program is started for it."""

import asyncio
import io
import os
import random
import stat
import struct
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import datasets
import pytest
from PIL import EpsImagePlugin, Image, ImageFile

from mm_eval.config.functions import FunctionRef
from mm_eval.data import decode
from mm_eval.data.decode import FORMATS, PixelBudget, decoding, open_picture
from mm_eval.data.docs import Docs
from mm_eval.data.media import picture_digest, to_pictures
from mm_eval.data.places import Places
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.values.errors import ConfigError, DataError
from mm_eval.values.types import Instance
from tests.cli.test_bad_input import data_root, picture
from tests.processes import HANGS
from tests.sets import each_of

EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n%%EOF\n"


def saved(image: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    more = {"append_images": [image.rotate(90)]} if options.get("save_all") else {}
    image.copy().save(file, kind, **options, **more)  # a copy, since a picture remembers how it was saved last
    return file.getvalue()


def seeds() -> list[bytes]:
    """Small pictures of all formats that are opened, in many of their modes and ways to pack pixels."""
    image = Image.radial_gradient("L").resize((24, 16))
    modes = {mode: image.convert(mode) for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I", "F")}
    modes["I;16"] = modes["I"].convert("I;16")
    exif = Image.Exif()
    exif.update({0x0112: 6, 0x010E: "a description", 0x011A: 72.0})
    rgb, grey = modes["RGB"], modes["L"]
    found = [saved(rgb, "JPEG", exif=exif), saved(rgb, "JPEG", progressive=True), saved(modes["CMYK"], "JPEG")]
    found += [saved(grey, "JPEG", comment=b"x", dpi=(72, 72)), saved(rgb, "MPO", save_all=True)]
    found += [saved(modes[mode], "PNG") for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")]
    found += [saved(modes["P"], "PNG", transparency=3), saved(rgb, "PNG", exif=exif, icc_profile=b"x" * 50)]
    found += [
        saved(rgb, "PNG", save_all=True),
        saved(rgb, "GIF", save_all=True),
        saved(modes["P"], "GIF", transparency=1),
    ]
    found += [
        saved(rgb, "WEBP"),
        saved(modes["RGBA"], "WEBP", lossless=True),
        saved(rgb, "WEBP", exif=exif, save_all=True),
    ]
    found += [saved(modes[mode], "BMP") for mode in ("1", "L", "P", "RGB", "RGBA")] + [saved(rgb, "DIB")]
    found += [saved(modes[mode], "TIFF") for mode in ("1", "L", "LA", "P", "RGBA", "CMYK", "I;16", "I", "F")]
    packings = ("tiff_lzw", "tiff_adobe_deflate", "packbits", "jpeg", "group4")
    found += [saved(modes["1"] if packing == "group4" else rgb, "TIFF", compression=packing) for packing in packings]
    found += [saved(rgb, "TIFF", exif=exif, save_all=True)]
    found += [saved(modes[mode], "PPM") for mode in ("1", "L", "RGB", "I", "F")]
    found += [
        b"P1 2 2 1 0 0 1",
        b"P2 2 1 1000 500 1000",
        b"P3 1 1 255 1 2 3",
        b"P5 2 1 700 \1\2\0\0",
        b"P6 1 1 7 \1\2\3",
    ]
    found += [saved(modes[mode], "JPEG2000") for mode in ("L", "LA", "RGB", "RGBA", "I;16")]
    if "AVIF" in decode._formats():
        found += [saved(rgb, "AVIF"), saved(modes["RGBA"], "AVIF", exif=exif), saved(rgb, "AVIF", save_all=True)]
    return found


def mutated(content: bytes, draw: random.Random) -> bytes:
    """The bytes with a few of them changed, cut, doubled, left out, or replaced by numbers that break sizes and offsets."""
    data = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 4, 16))):
        place = draw.randrange(len(data) if draw.random() < 0.5 else min(len(data), 100)) if data else 0
        kind = draw.randrange(6)
        if kind == 0:
            data[place : place + 1] = bytes([draw.randrange(256)])
        elif kind == 1:
            data[place : place + 4] = struct.pack("<I", draw.choice((0, 1, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF)))
        elif kind == 2:
            del data[place:]
        elif kind == 3:
            del data[place : place + draw.randrange(1, 9)]
        elif kind == 4:
            data[place:place] = data[place : place + draw.randrange(1, 33)]
        else:
            data[place : place + 2] = draw.randbytes(2)
    return bytes(data)


def shown(contents: list[bytes]) -> tuple[int, int]:
    """(how many of the pictures of a split are shown, how many are DataErrors that name their doc), by the way a run takes."""
    rows = [{"bytes": content, "path": None} for content in contents]
    split = datasets.Dataset.from_dict({"image": rows}, features=datasets.Features({"image": datasets.Image()}))
    docs, good = Docs(split, where="fuzz"), 0
    for doc_id in range(len(docs)):
        try:
            [one] = to_pictures([docs.full(doc_id)["image"]], f"fuzz doc {doc_id}")
            assert one.mode == "RGB" and len(picture_digest(one)) == 64
            good += 1
        except DataError as error:
            assert error.where == f"fuzz doc {doc_id}" and "<_io" not in str(error)
    return good, len(docs) - good


def fuzz(count: int) -> None:
    whole, draw = seeds(), random.Random(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        good, bad = shown(whole)
        assert bad == sum(Image.open(io.BytesIO(each)).mode in ("F",) for each in whole) + 1  # floats; a 32-bit TIFF
        for start in range(0, count, 2000):
            some = [mutated(draw.choice(whole), draw) for _ in range(start, min(start + 2000, count))]
            good, bad = shown(some)
            assert good + bad == len(some) and bad > len(some) // 10


def test_no_damaged_picture_escapes_its_doc() -> None:
    fuzz(1000)


@pytest.mark.slow
def test_none_of_100_000_damaged_pictures_escapes_its_doc() -> None:
    fuzz(100_000)


def jpeg_with_damaged_exif() -> bytes:
    """A tag that is a number by its name and a text by its type: turning the picture upright raises struct.error."""
    exif = Image.Exif()
    exif.update({0x0112: 6, 0x010E: "a description"})
    return saved(Image.new("RGB", (4, 2)), "JPEG", exif=exif).replace(b"\x01\x0e\x00\x02", b"\x01\x00\x00\x02")


UNUSUAL = {
    "AVIF": b"\0\0\0 ftypavif\0\0\0\0avifmif1miaf" + b"\0" * 40,
    "DDS": b"DDS " + struct.pack("<II", 124, 0x1007) + b"\xff" * 200,
    "SPIDER": struct.pack(">27f", *[1.0] * 27) + b"\0" * 2000,
    "BLP": b"BLP2" + b"\xff" * 200,
    "EXIF": jpeg_with_damaged_exif(),
    "EPS": EPS,
    "empty": b"",
}


def test_unusual_files_fail_their_doc_and_the_relaunch_is_the_same(cli, tmp_path: Path) -> None:
    root = data_root(tmp_path, [*UNUSUAL.values(), picture()])
    for _ in range(2):
        ran = cli("--tasks", "mme", "--model", "dummy", "--data_root", root, "--verbosity", "ERROR")
        assert ran.code == 3 and "Traceback" not in ran.err, ran.err
        rows = ran.samples("mme")
        assert [row["status"] for row in rows] == ["failed"] * len(UNUSUAL) + ["answered"]
        assert all(row["error"]["owner"] == "data" for row in rows[:-1])
    shown = cli("show", "mme", "--model", "dummy", "--data_root", root, "--doc", "0")
    assert shown.code == 2 and "can't be decoded" in shown.err and "Traceback" not in shown.err


@pytest.mark.parametrize("raised", [MemoryError, RecursionError, KeyError, struct.error, StopIteration, UserWarning])
def test_whatever_a_decoder_raises_is_a_data_error(monkeypatch, raised: type[Exception]) -> None:
    def fail(self: object) -> None:
        raise raised

    monkeypatch.setattr("PIL.PngImagePlugin.PngImageFile.load", fail)
    with pytest.raises(DataError, match=raised.__name__), decoding("a document"):
        open_picture(picture((5, 5)))


def test_a_broken_picture_in_a_record_of_a_column_fails_its_own_doc() -> None:
    """Columns with pictures and texts together were decoded to read the texts, outside every boundary."""
    record = {"picture": datasets.Image(), "caption": datasets.Value("string")}
    features = datasets.Features({"one": record, "many": datasets.List(record), "question": datasets.Value("string")})
    rows = [{"picture": {"bytes": content, "path": None}, "caption": "c"} for content in (b"broken", picture())]
    split = datasets.Dataset.from_dict(
        {"one": rows, "many": [rows[1:], rows[1:]], "question": ["q", "q"]}, features=features
    )
    docs = Docs(split, where="t")
    texts = [text for _, text in docs.texts([0, 1])]
    assert texts[0]["one"] == {"picture": {"path": None}, "caption": "c"} and texts[1]["many"][0]["caption"] == "c"
    assert docs.text(0) == texts[0]
    with pytest.raises(DataError, match="t doc 0"):
        docs.full(0)
    assert docs.full(1)["one"]["picture"].size == docs.full(1)["many"][0]["picture"].size == (8, 8)


@pytest.fixture
def ghostscript(tmp_path: Path, monkeypatch) -> Iterator[Path]:
    """A program `gs` that says that it was started, and a Pillow that has not looked for one yet."""
    told = tmp_path / "started"
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "gs").write_text(f"#!/bin/sh\necho x >> {told}\nexit 0\n")
    (folder / "gs").chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    before, EpsImagePlugin.gs_binary = EpsImagePlugin.gs_binary, None
    yield told
    EpsImagePlugin.gs_binary = before


def iptc_around(content: bytes) -> bytes:
    """An IPTC file whose pixels are another file, which Pillow opens as whatever it is."""

    def field(number: tuple[int, int], data: bytes) -> bytes:
        return b"\x1c" + bytes(number) + struct.pack(">H", len(data)) + data

    sizes = field((3, 20), struct.pack(">I", 10)) + field((3, 30), struct.pack(">I", 10))
    return field((3, 60), b"\1\0") + sizes + field((3, 120), b"\0\1") + field((8, 10), content)


TASK = """task: eps
dataset_path: json
dataset_kwargs: {{data_files: {{test: {folder}/rows.jsonl}}}}
test_split: test
doc_to_visual: !function utils.picture
doc_to_text: "{{{{question}}}}"
doc_to_target: answer
generation_kwargs: {{max_gen_toks: 4}}
metric_list: [{{metric: exact_match}}]
"""
OWN = """import base64
import io
from PIL import Image

def picture(doc):
    return [Image.open(io.BytesIO(base64.b64decode(doc["image"])))]
"""


def test_no_picture_starts_ghostscript(cli, ghostscript: Path, tmp_path: Path) -> None:
    assert EpsImagePlugin.has_ghostscript() and ghostscript.exists(), "the trap works"
    ghostscript.unlink()
    root = data_root(tmp_path, [EPS, iptc_around(EPS), picture()])
    EpsImagePlugin.gs_binary = None
    assert cli("--tasks", "mme", "--model", "dummy", "--data_root", root, "--verbosity", "ERROR").code == 3
    assert not ghostscript.exists()


def test_a_tasks_own_function_starts_no_ghostscript_either(cli, ghostscript: Path, tmp_path: Path) -> None:
    import base64
    import json

    folder = tmp_path / "task"
    folder.mkdir()
    rows = [{"image": base64.b64encode(each).decode(), "question": "q", "answer": "a"} for each in (EPS, picture())]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "utils.py").write_text(OWN)
    (folder / "eps.yaml").write_text(TASK.format(folder=folder))
    ran = cli("--tasks", "eps", "--include_path", folder, "--model", "dummy", "--verbosity", "ERROR")
    assert ran.code == 3 and [row["status"] for row in ran.samples("eps")] == ["failed", "answered"]
    assert not ghostscript.exists()


@each_of("kind", ["PCX", "TGA", "ICO", "SGI", "EPS", "PDF", "IM"])
def test_another_format_is_refused_even_where_it_is_whole(kind: str) -> None:
    with pytest.raises(Image.UnidentifiedImageError, match="not a picture in one of: JPEG, PNG"):
        open_picture(saved(Image.new("RGB", (8, 8)), kind))


def test_all_formats_that_are_opened_are_decoded_in_this_process() -> None:
    """Each decoder of the list, by its source: no program, no other file."""
    import inspect

    for name in decode._formats():
        module = inspect.getmodule(Image.OPEN[name][0])
        source = inspect.getsource(module)
        assert "os.system" not in source and "Popen" not in source, name
    assert set(FORMATS).isdisjoint({"EPS", "IPTC", "WMF", "MPEG", "FITS"})


SETS = """import io
from PIL import Image, ImageFile

ImageFile.LOAD_TRUNCATED_IMAGES = True
Image.MAX_IMAGE_PIXELS = None

def picture(doc):
    ImageFile.LOAD_TRUNCATED_IMAGES = True
    return [Image.open(io.BytesIO(doc["image"]))]
"""


@pytest.mark.full
def test_what_a_tasks_code_sets_for_pillow_changes_no_picture(monkeypatch, tmp_path: Path) -> None:
    """LOAD_TRUNCATED_IMAGES fills a cut file with grey, and MAX_IMAGE_PIXELS = None lets every size pass."""
    noise = Image.effect_noise((64, 64), 90).convert("RGB")
    cut = saved(noise, "JPEG")[:-500]
    (tmp_path / "utils.py").write_text(SETS)
    function = FunctionRef("utils.picture", tmp_path / "t.yaml", 1).resolve(FOREIGN_CODE)
    assert function({"image": saved(noise, "PNG")})[0].tobytes() == noise.tobytes()
    with pytest.raises(OSError, match="truncated"):
        function({"image": cut})
    with pytest.raises(Exception, match="20000 x 20000 pixels"):
        function({"image": b"P5 20000 20000 255\n"})
    assert not ImageFile.LOAD_TRUNCATED_IMAGES and Image.MAX_IMAGE_PIXELS, "it runs in a process of its own"
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    for show in (lambda: open_picture(cut), lambda: to_pictures([Image.open(io.BytesIO(cut))], "a document")):
        with pytest.raises(ConfigError, match="fills truncated pictures with grey"):
            show()
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", False)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)
    huge = b"P5 20000 20000 255\n"
    with pytest.raises(Image.DecompressionBombError, match="20000 x 20000 pixels.*178,956,970"):
        open_picture(huge)
    with pytest.raises(DataError, match="20000 x 20000 pixels"):
        to_pictures([Image.open(io.BytesIO(huge))], "a document")


def test_the_pictures_of_one_doc_are_bounded_together(monkeypatch) -> None:
    monkeypatch.setattr(decode, "MOST_PIXELS_OF_A_DOC", 300)
    rows = {"image": [[{"bytes": picture((10, 10 + n)), "path": None} for n in range(count)] for count in (2, 3)]}
    features = datasets.Features({"image": datasets.List(datasets.Image())})
    docs = Docs(datasets.Dataset.from_dict(rows, features=features), where="t")
    assert len(docs.full(0)["image"]) == 2
    with pytest.raises(DataError, match="more than 300 pixels together"):
        docs.full(1)
    with pytest.raises(DataError, match="more than 300 pixels together"):
        to_pictures([Image.new("RGB", (10, 16))] * 2, "a document")


def test_a_picture_file_of_gigabytes_or_a_pipe_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    with pytest.raises(DataError, match="not a file"):
        Places((tmp_path,)).read("pipe.png")
    with (tmp_path / "huge.png").open("wb") as file:
        file.truncate(2**31 + 1)
    with pytest.raises(DataError, match="2,147,483,649 bytes"):
        Places((tmp_path,)).read("huge.png")


def test_a_budget_of_pixels_is_kept_and_one_beyond_it_is_asked_alone() -> None:
    budget, held, most, broken, lock = PixelBudget(100), [0], [0], list[int](), threading.Lock()

    def work(pixels: int) -> None:
        with budget.held(pixels):
            with lock:
                held[0] += pixels
                most[0] = max(most[0], held[0])
                if held[0] > 100 and held[0] != pixels:
                    broken.append(held[0])
            time.sleep(0.001)
            with lock:
                held[0] -= pixels

    draw = random.Random(0)
    sizes = [draw.choice((10, 40, 60, 100, 500)) for _ in range(120)]
    threads = [threading.Thread(target=work, args=(size,)) for size in sizes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANGS)
    assert broken == [] and most[0] == 500 and held[0] == 0 and not any(thread.is_alive() for thread in threads)


MEMORY = """import io, resource, sys, threading
from PIL import Image
from mm_eval.data.decode import IN_FLIGHT, open_picture
from mm_eval.data.media import encoded, picture_digest, to_pictures
side = int(sys.argv[1])
files = []
for n in range(4):
    image, file = Image.new("1", (side, side)), io.BytesIO()
    image.putpixel((n, 0), 1)
    image.save(file, "PNG")
    files.append(file.getvalue())

def ask(content):
    with IN_FLIGHT.held(side * side):
        [shown] = to_pictures([open_picture(content)], "a doc")
        assert encoded(shown, picture_digest(shown))[1] == content

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
threads = [threading.Thread(target=ask, args=(content,)) for content in files]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / side / side)
"""


@pytest.mark.slow
def test_four_large_pictures_in_parallel_need_the_memory_of_one() -> None:
    """In bytes a pixel: 4 for what is shown, 1 + 1 to check the file that is sent, 4 x strips; four in parallel took 40."""
    done = subprocess.run([sys.executable, "-c", MEMORY, "12000"], capture_output=True, text=True, timeout=HANGS)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 12


def test_adapters_take_the_budget_for_a_question_with_pictures(monkeypatch) -> None:
    from mm_eval.engine.model import MODELS, ModelSettings

    held: list[int] = []
    whole = PixelBudget.held
    monkeypatch.setattr(PixelBudget, "held", lambda self, pixels: held.append(pixels) or whole(self, pixels))
    image = Image.new("RGB", (40, 30))
    messages = [{"role": "user", "content": [{"type": "image"}]}]
    instance = Instance(
        "generate_until", "t", 0, {}, messages, images=lambda: [image], image_digests=("d",), pixels=1200
    )
    server = MODELS.get("openai")({"base_url": "http://localhost:1/v1", "model": "m"}, ModelSettings())
    asyncio.run(server.body(instance, {})[1]())
    writer = MODELS.get("tiny-llava")({}, ModelSettings(device="cpu")).writer
    writer.write(instance)
    assert held == [1200, 1200]
    writer.write(instance)
    assert held == [1200, 1200], "a known picture is not decoded again"
    instance.image_digests = ()
    writer.write(instance)
    assert held == [1200, 1200, 1200]


def test_a_question_says_how_many_pixels_it_has(tmp_path: Path) -> None:
    from mm_eval.prepare import prepare
    from mm_eval.request import RunRequest

    root = data_root(tmp_path, [picture((40, 30)), picture((50, 20))])
    plan = prepare(RunRequest(tasks=("mme",), model="dummy", data_root=str(root)))
    assert [each.pixels for each in plan.tasks["mme"].instances([0, 1], plan.styles["mme"])] == [1200, 1000]
