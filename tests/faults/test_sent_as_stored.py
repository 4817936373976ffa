"""Pictures that a server gets as they are stored: known by their files, never decoded, and never taken for one another."""

import base64
import hashlib
import io
import json
import zlib
from collections import Counter
from functools import partial

import httpx
import pytest
from PIL import Image

from mm_eval.data import decode
from mm_eval.engine.model import ModelSettings
from mm_eval.prepare import Prepared
from mm_eval.prompt.visuals import PictureCache
from mm_eval.run import RunRequest, evaluate, score
from mm_eval.values.errors import ConfigError
from mm_eval.verbs.study.earlier import EarlierAnswers

from .server import Server, reply

YAML = """
task: shown
dataset_path: parquet
dataset_kwargs: {data_files: {test: DOCS}}
test_split: test
doc_to_visual: !function utils.VISUAL
doc_to_text: "Which is {{id}}?"
doc_to_target: "{{gold}}"
metric_list: [{metric: exact_match}]
"""
UTILS = """
def as_stored(doc):
    return [doc["image"].convert("RGB")]


def looked_at(doc):
    picture = doc["image"].convert("RGB")
    picture.getpixel((0, 0))
    return [picture]


def one_is_cut(doc):
    picture = doc["image"].convert("RGB")
    return [picture.crop((0, 0, 8, 8)) if doc["id"] == 3 else picture]
"""


def saved(colour, kind="JPEG", size=(32, 24), **options):
    file = io.BytesIO()
    Image.new("RGB", size, (colour, 255 - colour, 7 * colour % 256)).save(file, kind, **options)
    return file.getvalue()


def turned():
    found = Image.Exif()
    found[0x0112] = 6
    return {"exif": found}


def sent(server):
    """The picture files that came to the server, and how often."""
    found = Counter()
    for _, body in server.requests:
        for part in body["messages"][-1]["content"]:
            if part["type"] == "image_url":
                found[base64.b64decode(part["image_url"]["url"].partition(",")[2])] += 1
    return found


class Runs:
    """Runs of one task in one folder, each with a server of its own."""

    def __init__(self, path, cache, monkeypatch):
        self.path, self.monkeypatch = path, monkeypatch
        self.decoded = 0
        monkeypatch.setenv("MM_EVAL_CACHE", cache)
        whole = decode._decode

        def counted(content, check):
            self.decoded += 1
            return whole(content, check)

        monkeypatch.setattr(decode, "_decode", counted)

    def data(self, contents, visual="as_stored", gold="No"):
        from datasets import Dataset, Features, Value
        from datasets import Image as Picture

        rows = [
            {"id": n, "gold": gold, "image": {"bytes": content, "path": None}} for n, content in enumerate(contents)
        ]
        features = Features({"id": Value("int64"), "gold": Value("string"), "image": Picture()})
        Dataset.from_list(rows, features=features).to_parquet(str(self.path / "docs.parquet"))
        yaml = YAML.replace("DOCS", str(self.path / "docs.parquet")).replace("VISUAL", visual)
        (self.path / "shown.yaml").write_text(yaml)
        (self.path / "utils.py").write_text(UTILS)

    def run(self, folder="run", handle=lambda body, nth: reply("Yes"), **options):
        server = Server(handle)
        request = RunRequest.of_options(
            include_path=str(self.path),
            output_path=str(self.path / folder),
            **{"tasks": ("shown",), "report": False, **options},
        )
        self.report = evaluate(request, given=server.model(ModelSettings(), identity="a", max_retries=0))
        return server

    def run_by_pixels(self, folder="run", **options):
        """The same as before pictures were known by their files."""
        with self.monkeypatch.context() as patch:
            patch.setattr(Prepared, "all_stored", lambda prepared, names: [])
            return self.run(folder, **options)

    def digests(self, folder="run"):
        rows = [json.loads(line) for line in (self.path / folder / "samples/shown.jsonl").read_text().splitlines()]
        return [
            digest for row in sorted(rows, key=lambda row: row["doc_id"]) for digest in row.get("images") or ["none"]
        ]

    def rule(self, folder="run"):
        return json.loads((self.path / folder / "run.json").read_text()).get("pictures")


@pytest.fixture
def runs(tmp_path, known_tasks, monkeypatch):
    yield Runs(tmp_path, known_tasks(tmp_path / "cache"), monkeypatch)
    decode._recent.cache_clear()  # a test may have made it smaller


def by_file(content):
    return f"file:{hashlib.sha256(content).hexdigest()}"


def test_nothing_is_decoded_that_is_sent_as_it_is(runs):
    files = [saved(n, kind) for n, kind in enumerate(["JPEG", "PNG", "WEBP", "JPEG"])]
    runs.data(files)
    server = runs.run()
    assert sent(server) == Counter(files) and runs.decoded == 0
    assert runs.rule() == {"shown": "files"} and runs.digests() == list(map(by_file, files))
    assert not runs.run().requests and runs.decoded == 0
    assert score(runs.path / "run", include_path=str(runs.path)).exit_code == 0 and runs.digests() == list(
        map(by_file, files)
    )


@pytest.mark.parametrize("other", [lambda: saved(9, **turned()), lambda: saved(9, "GIF"), lambda: saved(9, "BMP")])
def test_a_task_with_one_picture_that_is_known_by_its_pixels_knows_all_by_their_pixels(runs, other):
    runs.data([saved(1), saved(2), other()])
    runs.run()
    assert runs.rule() is None and all(len(digest) == 64 for digest in runs.digests())


def test_a_function_that_changes_one_picture_makes_all_known_by_their_pixels(runs):
    runs.data([saved(n) for n in range(5)], "one_is_cut")
    runs.run()
    assert runs.rule() is None and all(len(digest) == 64 for digest in runs.digests())


def test_a_run_that_was_begun_by_pixels_goes_on_by_pixels_and_asks_nothing_again(runs):
    files = [saved(n) for n in range(6)]
    runs.data(files)
    first = runs.run_by_pixels(limit=3)
    assert len(first.requests) == 3
    more = runs.run()
    assert sent(more) == Counter(files[3:]) and runs.rule() is None
    assert all(len(digest) == 64 for digest in runs.digests()) and not runs.run().requests


def test_a_run_by_files_goes_on_so_and_keeps_its_answers_where_a_later_picture_is_not_sent_as_it_is(runs):
    files = [saved(1), saved(2), saved(3), saved(4, **turned())]
    runs.data(files)
    runs.run(limit=2)
    more = runs.run()
    assert len(more.requests) == 2 and runs.rule() == {"shown": "files"}
    assert runs.digests()[:3] == list(map(by_file, files[:3])) and len(runs.digests()[3]) == 64
    assert not runs.run().requests


def test_two_files_with_equal_pixels_are_two_questions_and_equal_files_one(runs):
    one = saved(1)
    runs.data([one, one + b"\0", one])
    (runs.path / "shown.yaml").write_text((runs.path / "shown.yaml").read_text().replace("Which is {{id}}?", "Which?"))
    server = runs.run()
    assert sent(server) == Counter([one, one + b"\0"])
    assert runs.digests() == [by_file(one), by_file(one + b"\0"), by_file(one)]


def test_the_cache_gives_answers_under_the_old_key_where_the_digest_is_remembered(runs):
    files = [saved(n) for n in range(4)]
    runs.data(files)
    shared = str(runs.path / "shared")
    assert len(runs.run_by_pixels("old", use_cache=shared).requests) == 4
    assert not runs.run("new", use_cache=shared).requests
    assert runs.digests("new") == list(map(by_file, files)) and runs.rule("new") == {"shown": "files"}


def test_the_cache_gives_answers_to_files_where_one_more_picture_makes_all_known_by_their_pixels(runs):
    files = [saved(1), saved(2), saved(3), saved(4, **turned())]
    runs.data(files)
    shared = str(runs.path / "shared")
    runs.run("few", use_cache=shared, limit=3)
    assert runs.rule("few") == {"shown": "files"}
    assert len(runs.run("all", use_cache=shared).requests) == 1 and runs.rule("all") is None
    assert not runs.run("again", use_cache=shared).requests
    runs.data([saved(5), *files[1:]])
    assert sent(runs.run("other", use_cache=shared)) == Counter([saved(5)])


def small_caches(runs):
    """Pictures are read again for each of their uses, as in a run of many docs."""
    begin = PictureCache.__init__
    runs.monkeypatch.setattr(PictureCache, "__init__", lambda self: begin(self, 1, 1))
    runs.monkeypatch.setattr(decode, "KEPT", 0)
    decode._recent.cache_clear()


def test_a_stored_picture_that_a_function_has_looked_at_is_known_by_its_file(runs):
    small_caches(runs)
    files = [saved(n) for n in range(6)]
    runs.data(files, "looked_at")
    runs.run(limit=3)
    assert len(runs.run().requests) == 3 and runs.digests() == list(map(by_file, files))


def test_the_cache_finds_files_in_a_run_by_pixels_that_holds_only_the_last_pictures(runs):
    small_caches(runs)
    runs.data([*map(saved, range(20)), saved(30, **turned())])
    shared = str(runs.path / "shared")
    runs.run("few", use_cache=shared, limit=20)
    assert len(runs.run("all", use_cache=shared).requests) == 1 and runs.rule("all") is None


@pytest.mark.parametrize("by_files", (True, False))
def test_a_task_that_is_added_to_a_run_shares_the_answers_to_equal_questions(runs, by_files):
    runs.data([saved(1), saved(2)])
    (runs.run if by_files else runs.run_by_pixels)()
    (runs.path / "again.yaml").write_text((runs.path / "shown.yaml").read_text().replace("task: shown", "task: again"))
    assert not runs.run(tasks=("shown", "again")).requests
    assert runs.rule() == ({"shown": "files", "again": "files"} if by_files else None)
    assert not runs.run(tasks=("shown", "again")).requests


@pytest.mark.parametrize("by_files_first", (True, False))
def test_a_study_takes_over_answers_whichever_way_their_pictures_are_known(runs, by_files_first):
    files = [saved(1), saved(2)]
    runs.data(files)
    first, then = (runs.run, runs.run_by_pixels) if by_files_first else (runs.run_by_pixels, runs.run)
    first("old")
    monkeypatch, earlier = runs.monkeypatch, partial(EarlierAnswers, [runs.path / "old"])
    monkeypatch.setattr(Prepared, "answers_of_other_runs", property(lambda prepared: earlier, lambda *_: None))
    assert not then("new").requests
    assert not then("new").requests and (runs.rule("old"), runs.rule("new")).count(None) == 1


def test_a_run_by_files_is_scored_where_only_its_gold_was_corrected(runs):
    files = [saved(1), saved(2)]
    runs.data(files)
    server = runs.run()
    runs.monkeypatch.setattr(
        "mm_eval.prepare.own_model", lambda request: server.model(ModelSettings(), identity="a", max_retries=0)
    )
    runs.data(files, gold="Yes")
    report = score(runs.path / "run", include_path=str(runs.path))
    assert report.exit_code == 0 and any("none of its 2 questions" in note for note in report.notes)
    runs.data([saved(3), saved(2)], gold="Yes")
    with pytest.raises(ConfigError, match="The question of doc 0 is another one"):
        score(runs.path / "run", include_path=str(runs.path))


def test_the_cache_never_gives_the_answer_to_another_picture(runs):
    shared = str(runs.path / "shared")
    runs.data([saved(1), saved(2)])
    runs.run_by_pixels("old", use_cache=shared)
    other = [saved(1, quality=30), saved(200)]
    runs.data(other)
    assert sent(runs.run("new", use_cache=shared)) == Counter(other)
    again = [other[0] + b"\0", other[1]]
    runs.data(again)
    assert sent(runs.run("newer", use_cache=shared)) == Counter(again[:1])


def test_a_broken_body_is_the_docs_own_failure_in_our_words(runs):
    broken = bytearray(saved(1, "PNG", size=(64, 64)))
    at, size = broken.index(b"IDAT"), int.from_bytes(broken[broken.index(b"IDAT") - 4 : broken.index(b"IDAT")], "big")
    broken[at + 4 : at + 4 + size] = bytes(size)
    broken[at + 4 + size : at + 8 + size] = zlib.crc32(broken[at : at + 4 + size]).to_bytes(4, "big")
    runs.data([*[bytes(broken) + bytes([n]) for n in range(9)], saved(3)])

    def handle(body, nth):
        [part] = [part for part in body["messages"][-1]["content"] if part["type"] == "image_url"]
        try:
            Image.open(io.BytesIO(base64.b64decode(part["image_url"]["url"].partition(",")[2]))).load()
        except OSError:
            return httpx.Response(400, json={"error": {"message": "cannot identify image file"}})
        return reply("Yes")

    runs.run(handle=handle)
    rows = [json.loads(line) for line in (runs.path / "run/samples/shown.jsonl").read_text().splitlines()]
    assert Counter(row["status"] for row in rows) == {"failed": 9, "answered": 1}
    failed = [json.dumps(row) for row in rows if row["status"] == "failed"]
    assert all("can't be decoded" in row and "cannot identify" not in row for row in failed)


def test_a_file_that_was_cut_off_fails_before_anything_is_sent(runs):
    whole = saved(1, size=(300, 300))
    runs.data([whole, saved(2, size=(300, 300))[:-200]])
    server = runs.run()
    assert sent(server) == Counter([whole])
    assert "can't be decoded" in (runs.path / "run/samples/shown.jsonl").read_text()


def test_thumbnails_are_made_after_the_last_answer(runs):
    from mm_eval.results.media import Media

    files = [saved(n, size=(900, 700), kind=kind) for n, kind in enumerate(["JPEG", "PNG", "JPEG"])]
    runs.data(files)
    made = []

    def handle(body, nth):
        made.append((runs.path / "run/media").exists() and any((runs.path / "run/media").iterdir()))
        return reply("Yes")

    runs.run(handle=handle, report=True)
    with Media(runs.path / "run") as media:
        shown = [Image.open(io.BytesIO(media.content(by_file(content)))) for content in files]
    assert not any(made) and all(240 <= each.width <= 320 for each in shown)
    page = (runs.path / "run/report.html").read_text()
    assert all(by_file(content) in page for content in files)


def test_the_page_has_no_thumbnail_of_another_picture_where_the_data_has_changed(runs):
    from mm_eval.results.media import Media

    runs.data([saved(1, size=(900, 700)), saved(2, size=(900, 700))])
    runs.run()
    recorded = runs.digests()
    runs.data([saved(3, size=(900, 700)), saved(4, size=(900, 700))])
    with pytest.raises(Exception, match="another run|changed|other"):
        runs.run(report=True)
    with Media(runs.path / "run") as media:
        assert not any(digest in media for digest in recorded)
