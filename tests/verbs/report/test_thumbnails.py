"""Thumbnails: of the pictures that were asked about, and of no other, at the least cost."""

import base64
import io
import sqlite3

import pytest
from PIL import Image, ImageChops

from mm_eval.data.known_pictures import KnownThumbnails
from mm_eval.data.sent_files import identity_of
from mm_eval.prepare import prepare_from_spec
from mm_eval.results import thumbnails
from mm_eval.results.media import Media
from mm_eval.results.recorded import RecordedRun
from mm_eval.results.thumbnails import pictures_of, write_known_thumbnails, write_thumbnails
from mm_eval.run import RunRequest, evaluate

YAML = """
task: shown
dataset_path: parquet
dataset_kwargs: {data_files: {test: DOCS}}
test_split: test
doc_to_visual: VISUAL
doc_to_text: "Which?"
doc_to_target: "{{id}}"
metric_list: [{metric: exact_match}]
"""
UTILS = """
def as_stored(doc):
    return [doc["image"].convert("RGB")]


def left_half(doc):
    picture = doc["image"].convert("RGB")
    return [picture.crop((0, 0, picture.width // 2, picture.height))]


def painted(doc):
    picture = doc["image"].convert("RGB")
    picture.paste((255, 0, 0), (0, 0, picture.width, picture.height))
    return [picture]


def changing(doc):
    import pathlib
    return left_half(doc) if pathlib.Path(__file__).with_name("changed").exists() else as_stored(doc)


def messages(doc):
    pictures = as_stored(doc) if doc["id"] == 0 else [*left_half(doc), *as_stored(doc), *left_half(doc)]
    return [{"role": "user", "content": [{"type": "image", "url": picture} for picture in pictures]}]
"""


def jpeg(size, exif=None):
    """A red left half and a blue right one."""
    picture = Image.new("RGB", size, (0, 0, 255))
    picture.paste((255, 0, 0), (0, 0, size[0] // 2, size[1]))
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=90, **({"exif": exif} if exif else {}))
    return file.getvalue()


@pytest.fixture
def run(tmp_path):
    """Asks about stored pictures through one of the functions above, without a report, and makes the thumbnails apart."""

    def start(visual, contents, **asked):
        from datasets import Dataset, Features, Value
        from datasets import Image as Picture

        rows = [{"id": n, "image": {"bytes": content, "path": None}} for n, content in enumerate(contents)]
        features = Features({"id": Value("int64"), "image": Picture()})
        Dataset.from_list(rows, features=features).to_parquet(str(tmp_path / "docs.parquet"))
        yaml = YAML.replace("DOCS", str(tmp_path / "docs.parquet")).replace("VISUAL", visual)
        (tmp_path / "shown.yaml").write_text(yaml)
        (tmp_path / "utils.py").write_text(UTILS)
        out = str(tmp_path / "out")
        request = RunRequest.of_options(
            tasks=("shown",), model="dummy", include_path=str(tmp_path), report=False, output_path=out, **asked
        )
        return evaluate(request).folder

    return start


def made(folder):
    recorded = RecordedRun.read(folder)
    plan = prepare_from_spec(RunRequest.from_json(recorded.request), recorded.spec)
    rows = list(recorded.rows("shown"))
    with Media(folder) as media:
        count = write_thumbnails(media, plan.tasks["shown"], plan.styles["shown"], pictures_of(rows))
    with Media(folder) as media:
        urls = [media.address(row["images"][0], folder) for row in rows]
    return count, [url and base64.b64decode(url.removeprefix("data:image/jpeg;base64,")) for url in urls]


def opened(jpeg):
    return Image.open(io.BytesIO(jpeg))


@pytest.mark.parametrize("visual", ["!function utils.as_stored", "image"])
def test_a_small_stored_picture_is_its_own_thumbnail_and_not_decoded_again(run, monkeypatch, visual):
    contents = [jpeg((300 + n, 200)) for n in range(20)]
    folder = run(visual, [content for content in contents for _ in range(2)])
    decoded = []
    monkeypatch.setattr(
        thumbnails, "open_picture", lambda content: decoded.append(1) or Image.open(io.BytesIO(content))
    )
    count, found = made(folder)
    assert count == 20 and found[::2] == contents
    assert len(decoded) == 1, "the first is held against its digest"
    assert made(folder)[0] == 0 and len(decoded) == 1, "what is there is not made again"


def test_a_large_picture_is_made_small_and_one_with_private_data_written_anew(run):
    exif = Image.Exif()
    exif[0x010F] = "Camera of somebody"
    folder = run("!function utils.as_stored", [jpeg((1600, 1200)), jpeg((300, 200), exif)])
    count, [large, private] = made(folder)
    assert count == 2 and opened(large).size == (320, 240)
    assert opened(private).size == (300, 200) and b"Camera" not in private


def test_a_thumbnail_that_an_earlier_run_has_made_of_a_file_is_not_made_again(tmp_path, monkeypatch):
    monkeypatch.setenv("MM_EVAL_CACHE", str(tmp_path / "cache"))
    content, known = jpeg((1600, 1200)), KnownThumbnails()
    monkeypatch.setattr(thumbnails, "known_thumbnails", lambda: known)
    digest, other = identity_of(content), identity_of(jpeg((800, 600)))
    with Media(tmp_path) as media:
        assert thumbnails._write_stored(media, digest, thumbnails.StoredJpeg(content)) == 1
        assert thumbnails._write_stored(media, other, thumbnails.StoredJpeg(content)) == 1
    with Media(tmp_path) as media:
        small = media.content(digest)
    known.write()
    known = KnownThumbnails()  # of another process
    assert known.get(digest) == small and known.get(other) is None, "the file is not what its digest says"
    (tmp_path / "second").mkdir()
    with Media(tmp_path / "second") as media:
        write_known_thumbnails(media, [digest, other, digest.removeprefix("file:")])
    with Media(tmp_path / "second") as media:
        assert media.content(digest) == small and other not in media
    path = tmp_path / "cache" / "thumbnails.db"
    with sqlite3.connect(path) as database:
        database.execute("UPDATE pictures SET jpeg = ?", (b"another",))
    assert KnownThumbnails().get(digest) is None


def test_a_picture_that_the_task_changes_is_shown_as_it_was_asked(run):
    folder = run("!function utils.left_half", [jpeg((300, 200))])
    _, [jpeg_shown] = made(folder)
    picture = opened(jpeg_shown)
    assert picture.size == (150, 200)
    assert (
        max(high for _, high in ImageChops.difference(picture, Image.new("RGB", (150, 200), "red")).getextrema()) < 60
    )


def test_painting_over_the_stored_picture_is_seen(run):
    _, [jpeg_shown] = made(run("!function utils.painted", [jpeg((300, 200))]))
    red = Image.new("RGB", (300, 200), "red")
    assert max(high for _, high in ImageChops.difference(opened(jpeg_shown), red).getextrema()) < 8


def test_a_picture_turned_by_its_file_is_upright(run):
    exif = Image.Exif()
    exif[0x0112] = 6
    _, [jpeg_shown] = made(run("!function utils.as_stored", [jpeg((300, 200), exif)]))
    assert opened(jpeg_shown).size == (200, 300)


def test_where_the_tasks_function_has_changed_no_other_picture_is_shown(run):
    folder = run("!function utils.changing", [jpeg((300 + n, 200)) for n in range(3)])
    (folder.parent / "changed").touch()
    assert made(folder) == (0, [None] * 3)


def test_the_pictures_of_a_chat_that_the_task_writes_are_those_shown(run):
    """Not the ones of doc_to_visual, which may be other ones or in another order."""
    visual = "!function utils.as_stored\ndoc_to_messages: !function utils.messages"
    folder = run(visual, [jpeg((300, 200)), jpeg((302, 200))], chat_template=True)
    count, [whole, half] = made(folder)
    assert count == 3 and opened(whole).size == (300, 200) and opened(half).size == (151, 200)


def test_thumbnails_that_were_held_are_put_in_place_by_the_next_media_and_torn_ones_are_dropped(tmp_path) -> None:
    names = [letter * 64 for letter in "abcd"]
    with Media(tmp_path) as media:
        media.add(names[0], b"one")
    held = Media(tmp_path)
    held.__enter__()
    held.add(names[1], b"two")
    held.add(names[2], b"three")
    held.hold()
    [beside] = (tmp_path / "media").glob(".*.tmp")
    beside.write_bytes(beside.read_bytes()[:-5])  # as after a kill
    with Media(tmp_path) as media:
        assert [name in media for name in names] == [True, True, False, False]
        media.add(names[3], b"four")
    with Media(tmp_path) as media:
        addresses = [media.address(name, tmp_path) for name in names]
    assert [address and base64.b64decode(address.split(",")[1]) for address in addresses] == [
        b"one",
        b"two",
        None,
        b"four",
    ]
    beside.write_bytes(b"not this pack's\n")
    with Media(tmp_path) as media:
        assert names[0] in media
    assert not beside.exists()
