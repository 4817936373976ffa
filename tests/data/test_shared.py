"""A picture is decoded and hashed once in a run, and sharing its pixels changes nothing that a task's function does to it."""

import hashlib
import io
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw

from mm_eval.data import decode, media
from mm_eval.data.decode import decoded_ahead, open_picture
from mm_eval.data.media import own_file, picture_digest
from mm_eval.prompt.visuals import PictureCache
from mm_eval.results.media import Media


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


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("copied", [lambda p: p, lambda p: p.convert("RGB"), lambda p: p.copy(), lambda p: p.convert()])
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


@pytest.mark.parametrize("mode", ["P", "L", "RGBA", "1", "LA"])
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


@pytest.mark.parametrize("cores", [1, 4])
def test_a_picture_is_decoded_and_hashed_once_in_a_run_its_page_included(
    cli, pictures, cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    decode._recent.cache_clear()  # another test may have left one of these pictures there, with its digest
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
    with decoded_ahead(load, range(20)) as whole:
        for doc_id in range(20):
            take = whole(doc_id)
            if doc_id == 4:
                with pytest.raises(ValueError, match="doc 4"):
                    take()
            elif doc_id != 7:  # a doc that is not asked for
                assert take() == take() == {"id": doc_id}
    assert threads[5][-1] == main and (cores == 1) == (threads[0][0] == main)
