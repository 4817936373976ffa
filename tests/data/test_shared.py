"""A picture is decoded and hashed once in a run, and sharing its pixels changes nothing that a task's function does to it."""

import copy
import gc
import hashlib
import io
import json
import pickle
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from PIL import Image, ImageDraw

from mm_eval.data import decode, media
from mm_eval.data.decode import decode_ahead, open_picture
from mm_eval.data.known_pictures import key_of, known_pictures
from mm_eval.data.media import own_file, picture_digest
from mm_eval.data.shared import original_of
from mm_eval.prompt.visuals import PictureCache
from mm_eval.results.media import Media
from tests.sets import each_of, few


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, known_tasks: Callable[[Path], str], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test begins without pictures that another one has decoded."""
    monkeypatch.setenv("MM_EVAL_CACHE", known_tasks(tmp_path / "cache"))
    new_process()
    yield
    new_process()


def new_process() -> None:
    """Forgets what a process remembers of pictures; what it has written stays."""
    known_pictures().write()
    known_pictures.cache_clear()
    decode._recent.cache_clear()


def saved(kind: str = "PNG", mode: str = "RGB", colour: Any = (10, 20, 30), size: tuple[int, int] = (8, 6)) -> bytes:
    file = io.BytesIO()
    Image.new(mode, size, colour).save(file, kind)
    return file.getvalue()


def written(picture: Image.Image) -> None:
    pixels = picture.load()
    assert pixels is not None
    pixels[1, 1] = (1, 2, 3)
    assert pixels[1, 1] == (1, 2, 3)


CHANGES: dict[str, Callable[[Image.Image], Any]] = {
    "load": written,
    "putpixel": lambda picture: picture.putpixel((1, 1), (1, 2, 3)),
    "paste": lambda picture: picture.paste((1, 2, 3), (0, 0, 2, 2)),
    "draw": lambda picture: ImageDraw.Draw(picture).line((0, 0, 5, 5), fill=(1, 2, 3)),
    "putdata": lambda picture: picture.putdata([(1, 2, 3)] * 48),
    "putalpha": lambda picture: picture.putalpha(7),
    "thumbnail": lambda picture: picture.thumbnail((3, 3)),
    "floodfill": lambda picture: ImageDraw.floodfill(picture, (0, 0), (1, 2, 3)),
}


@each_of("name", CHANGES)
@each_of("copied", [lambda p: p, lambda p: p.convert("RGB"), lambda p: p.copy(), lambda p: p.convert()])
def test_a_change_to_a_shared_picture_reaches_no_other(name: str, copied: Callable[[Any], Any]) -> None:
    content = saved()
    first, before = open_picture(content), open_picture(content).tobytes()
    digest = picture_digest(first)
    changed = copied(open_picture(content))
    assert picture_digest(changed) == digest and own_file(changed) == content
    CHANGES[name](changed)
    assert own_file(changed) is None
    own = f"{changed.width}x{changed.height}".encode() + changed.convert("RGB").tobytes()
    assert picture_digest(changed) == hashlib.sha256(own).hexdigest()
    if name != "putalpha":  # which changes no colour
        assert picture_digest(changed) != digest
    assert first.tobytes() == before and open_picture(content).tobytes() == before


@each_of("mode", ["P", "L", "RGBA", "1", "LA"])
def test_pictures_of_all_modes_are_opened_as_by_pillow(mode: str) -> None:
    file = io.BytesIO()
    Image.linear_gradient("L").convert(mode).save(file, "PNG")
    plain, ours = Image.open(io.BytesIO(file.getvalue())), open_picture(file.getvalue())
    assert (ours.mode, ours.format, ours.tobytes()) == (plain.mode, "PNG", plain.tobytes())
    if mode == "P":
        ours.putpalette([255] * 768)
        ours.load()
        assert open_picture(file.getvalue()).convert("RGB").tobytes() == plain.convert("RGB").tobytes()


def test_threads_that_open_the_same_file_decode_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded, content = [], saved(colour=(9, 9, 9))
    inner = decode._decode
    monkeypatch.setattr(decode, "_decode", lambda *given: decoded.append(1) or inner(*given))
    threads = [threading.Thread(target=open_picture, args=(content,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(decoded) == 1


YAML = """
task: shown
dataset_path: parquet
dataset_kwargs: {data_files: {test: DOCS}}
test_split: test
doc_to_visual: !function utils.shown
doc_to_text: "Which?"
doc_to_target: "{{id}}"
metric_list: [{metric: exact_match}]
"""


@pytest.fixture
def pictures(tmp_path: Path) -> tuple[object, ...]:
    """The words of a command that asks about six pictures, one of which is broken."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [saved("JPEG", colour=(40 * number, 0, 0), size=(900, 600)) for number in range(6)]
    rows[3] = rows[3][:200]
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    table = pa.table({"id": list(range(6)), "image": pa.array([{"bytes": row, "path": None} for row in rows], kind)})
    pq.write_table(table, tmp_path / "docs.parquet")
    (tmp_path / "shown.yaml").write_text(YAML.replace("DOCS", str(tmp_path / "docs.parquet")))
    (tmp_path / "utils.py").write_text("def shown(doc):\n    return [doc['image'].convert('RGB')]\n")
    return "--tasks", "shown", "--include_path", tmp_path, "--model", "dummy"


def thumbnails(folder: Path) -> int:
    with Media(folder) as kept:
        return sum(
            digest in kept
            for line in (folder / "samples" / "shown.jsonl").read_text().splitlines()
            for digest in json.loads(line).get("images", ())
        )


def _thread() -> str:
    return threading.current_thread().name


@pytest.mark.parametrize("cores", few([1, 4], at=[1]))
def test_a_picture_is_decoded_and_hashed_once_in_a_run_its_page_included(
    cli, pictures, cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[int] = []
    hashed: list[str] = []
    decode_file, digest_of = decode._decode, media._digest
    monkeypatch.setattr(decode, "cores", lambda: cores)
    monkeypatch.setattr(decode, "_decode", lambda *given: decoded.append(1) or decode_file(*given))
    monkeypatch.setattr(media, "_digest", lambda picture: hashed.append(_thread()) or digest_of(picture))
    ran = cli(*pictures)
    assert ran.code == 3 and [row["status"] for row in ran.samples("shown")].count("failed") == 1
    assert thumbnails(ran.folder) == 5 and len(hashed) == 5
    assert {name.startswith("decode_") for name in hashed} == {cores > 1}, "the threads that decode hash too"
    assert len(decoded) == 5 + (1 if cores == 1 else 2), "a broken one is tried again where its error is raised"


def test_a_second_run_neither_decodes_nor_hashes_and_changes_nothing(
    cli, pictures, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = cli(*pictures, "--output_path", tmp_path / "first")
    new_process()
    decoded: list[int] = []
    decode_file = decode._decode
    monkeypatch.setattr(decode, "_decode", lambda *given: decoded.append(1) or decode_file(*given))
    monkeypatch.setattr(media, "_digest", lambda picture: 1 / 0)
    second = cli(*pictures, "--output_path", tmp_path / "second")
    assert second.samples("shown") == first.samples("shown")
    assert len(decoded) - 5 <= 2, "the five thumbnails, and the broken one"


MODES = {"RGB": (10, 20, 30), "RGBA": (10, 20, 30, 40), "L": 77, "CMYK": (1, 2, 3, 4), "1": 1, "LA": (5, 6)}


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "WEBP", "BMP"])
@pytest.mark.parametrize("mode", MODES)
def test_a_known_picture_is_the_decoded_one(kind: str, mode: str) -> None:
    """Whatever a task's function does with it first."""
    try:
        content = saved(kind, mode, MODES[mode])
    except (OSError, KeyError):
        pytest.skip(f"{kind} stores no {mode}")
    whole = open_picture(content)
    digest, shown = picture_digest(whole.convert("RGB")), whole.convert("RGB").tobytes()
    known = dict(FIRST)
    for name, look in known.items():
        new_process()
        picture = open_picture(content)
        original = original_of(picture)
        assert original is None or original.held is None
        assert look(picture) == look(whole), name
        assert picture_digest(picture.convert("RGB")) == digest
        assert picture.convert("RGB").tobytes() == shown
    for name, change in CHANGES.items():
        if mode == "RGB":
            new_process()
            picture = open_picture(content).convert("RGB")
            kept = picture.convert("RGB")
            change(picture)
            changed = whole.copy()
            change(changed)
            assert picture.tobytes() == changed.tobytes() and kept.tobytes() == shown, name


FIRST: dict[str, Callable[[Image.Image], Any]] = {
    "tobytes": lambda picture: picture.tobytes(),
    "size": lambda picture: (picture.size, picture.mode, picture.format),
    "convert": lambda picture: picture.convert("L").tobytes(),
    "crop": lambda picture: picture.crop((1, 1, 4, 4)).tobytes(),
    "resize": lambda picture: picture.resize((3, 2)).tobytes(),
    "rotate": lambda picture: picture.rotate(90, expand=True).tobytes(),
    "getpixel": lambda picture: picture.getpixel((1, 2)),
    "split": lambda picture: [band.tobytes() for band in picture.split()],
    "numpy": lambda picture: numpy.asarray(picture.convert("RGB")).sum(),
    "pickle": lambda picture: pickle.loads(pickle.dumps(picture)).tobytes(),
    "copy": lambda picture: copy.deepcopy(picture.copy()).tobytes(),
    "save": lambda picture: picture.save(io.BytesIO(), "PNG" if picture.mode != "CMYK" else "TIFF"),
    "load": lambda picture: picture.load()[2, 1],
    "equals": lambda picture: picture == picture.copy(),
    "getbands": lambda picture: (picture.getbands(), picture.getextrema(), picture.getbbox()),
    "has transparency": lambda picture: picture.has_transparency_data,
}


def test_a_damaged_database_of_pictures_is_begun_anew_and_a_wrong_row_is_not_believed(tmp_path: Path) -> None:
    content, path = saved(), tmp_path / "cache" / "pictures.db"
    digest = picture_digest(open_picture(content))
    new_process()
    with sqlite3.connect(path) as database:
        database.execute("UPDATE pictures SET digest = ?", (b"x" * 32,))
    assert picture_digest(open_picture(content)) == digest
    new_process()
    path.write_bytes(b"no database" * 1000)
    assert picture_digest(open_picture(content)) == digest
    new_process()
    assert picture_digest(open_picture(content)) == digest
    new_process()
    assert path.stat().st_size > 0 and known_pictures().get(key_of(content)) == digest


def test_without_a_cache_folder_pictures_are_read_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MM_EVAL_CACHE", str(tmp_path / "file" / "cache"))
    new_process()
    content = saved()
    assert picture_digest(open_picture(content)) == picture_digest(Image.open(io.BytesIO(content)))


@pytest.mark.full
def test_thumbnails_that_fail_cost_no_answer_and_are_made_by_the_next_launch(
    cli, pictures, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(Media, "add", lambda *_: 1 / 0)
        ran = cli(*pictures)
    assert ran.code == 3 and ran.results["results"]["shown"]["failed"] == 1 and thumbnails(ran.folder) == 0
    again = cli(*pictures)
    assert again.code == 3 and thumbnails(again.folder) == 5
    assert not list((again.folder / "media").glob(".*"))


def test_the_cache_grows_only_for_a_model_that_comes_back_to_pictures() -> None:
    def load() -> list[Image.Image]:
        return [Image.new("RGB", (100, 100))]

    size = 4 * 100 * 100
    cache, loads = PictureCache(2 * size, most_bytes=8 * size), []
    for key in range(20):
        cache.get(key, load)
    assert len(cache._pictures) == 2
    for _ in range(4):  # a window of six docs, whose pictures are loaded again for their prompts
        loads.append(0)
        for key in range(6):
            cache.get(key, lambda: [loads.append(1), *load()][1:])
    assert loads[-1] == 0, "the last time none was loaded again"
    for key in range(100):
        cache.get(key, load)
        assert cache._bytes <= 8 * size


def test_the_cache_counts_files_and_grows_only_when_pixels_are_decoded_again() -> None:
    content = saved("JPEG", size=(200, 100))
    digest = picture_digest(open_picture(content))

    def load() -> list[Any]:
        decode._recent.cache_clear()
        return [open_picture(content).convert("RGB")]

    cache = PictureCache(3 * 200 * 100 * 4)
    for _ in range(3):
        for key in range(8):
            assert [picture_digest(picture) for picture in cache.get(key, load)] == [digest]
    assert len(cache._pictures) == 8 and cache._bytes == 8 * len(content), "only files are in memory"
    for _ in range(4):
        for key in range(8):
            [picture] = cache.get(key, load)
            picture.load()  # type: ignore[union-attr]
    assert cache._max_bytes >= 8 * 200 * 100 * 4 == cache._bytes


@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_a_picture_that_nobody_uses_is_freed_at_once(mode: str) -> None:
    """And not by a later collection of cycles: pixels are large."""
    content = saved(mode=mode, colour=MODES[mode])
    for _ in range(2):  # decoded, and known
        picture = open_picture(content).convert("RGB")
        picture_digest(picture)
        picture.load()
        gone = weakref.ref(original_of(picture).root)  # type: ignore[union-attr]
        decode._recent.cache_clear()
        gc.disable()
        del picture
        assert gone() is None
        gc.enable()


@pytest.mark.parametrize("cores", [1, 3])
def test_docs_are_decoded_ahead_in_order_and_errors_are_raised_where_the_doc_is_used(
    cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decode, "cores", lambda: cores)
    threads: dict[int, list[str]] = {}

    def load(doc_id: int, most: int | None = None) -> dict[str, Any]:
        threads.setdefault(doc_id, []).append(threading.current_thread().name)
        if doc_id == 4 or doc_id == 5 and most is not None:  # broken; too large to be decoded ahead
            raise ValueError(f"doc {doc_id}")
        return {"id": doc_id}

    main = threading.current_thread().name
    with decode_ahead(load, range(20)) as whole:
        for doc_id in range(20):
            take = whole(doc_id)
            if doc_id == 4:
                with pytest.raises(ValueError, match="doc 4"):
                    take()
            elif doc_id != 7:  # a doc that is not asked for
                assert take() == take() == {"id": doc_id}
    assert threads[5][-1] == main and (cores == 1) == (threads[0][0] == main)
