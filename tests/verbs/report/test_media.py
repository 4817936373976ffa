"""The thumbnails of a run folder: most of them in one file, kept over launches, and never half there."""

import base64

import pytest

from mm_eval.results import media
from mm_eval.results.media import Media

DIGESTS = [f"{n:02x}" + "0" * 62 for n in range(4)]


def add(folder, *digests, size=100):
    with Media(folder) as kept:
        for digest in digests:
            kept.add(digest, digest.encode()[:2] * (size // 2))


def shown(folder, digest, page_folder=None):
    with Media(folder) as kept:
        return kept.address(digest, page_folder or folder)


def carried(digest, size=100):
    return "data:image/jpeg;base64," + base64.b64encode(digest.encode()[:2] * (size // 2)).decode()


def test_one_file_holds_them_and_a_later_launch_adds_to_it(tmp_path):
    add(tmp_path, *DIGESTS[:2])
    add(tmp_path, DIGESTS[2])
    assert [path.name for path in (tmp_path / "media").iterdir()] == ["thumbnails.jsonl"]
    assert [shown(tmp_path, digest) for digest in DIGESTS] == [*map(carried, DIGESTS[:3]), None]
    with Media(tmp_path) as kept:
        assert [digest in kept for digest in DIGESTS] == [True, True, True, False]


def test_what_no_page_shall_carry_is_a_file_beside_it(tmp_path, monkeypatch):
    monkeypatch.setattr(media, "PACKED", 2 * 250)  # a digest and 136 characters are a line
    add(tmp_path / "run", *DIGESTS[:3])
    add(tmp_path / "run", DIGESTS[3])  # what is packed already counts
    assert [shown(tmp_path / "run", digest) for digest in DIGESTS[:2]] == [*map(carried, DIGESTS[:2])]
    assert shown(tmp_path / "run", DIGESTS[2]) == f"media/02/{DIGESTS[2]}.jpg"
    assert shown(tmp_path / "run", DIGESTS[3], tmp_path / "pages") == f"../run/media/03/{DIGESTS[3]}.jpg"
    assert (tmp_path / "run/media/02" / f"{DIGESTS[2]}.jpg").read_bytes() == b"02" * 50


def test_equal_thumbnails_are_equal_bytes(tmp_path):
    for name in ("a", "b"):
        add(tmp_path / name, *DIGESTS)
    packs = [(tmp_path / name / "media/thumbnails.jsonl").read_bytes() for name in ("a", "b")]
    assert packs[0] == packs[1]


def test_after_an_error_the_pack_is_as_it_was(tmp_path):
    add(tmp_path, DIGESTS[0])
    with pytest.raises(OSError, match="full"), Media(tmp_path) as kept:
        kept.add(DIGESTS[1], b"x")
        raise OSError("the disk is full")
    assert [shown(tmp_path, digest) for digest in DIGESTS[:2]] == [carried(DIGESTS[0]), None]
    assert [path.name for path in (tmp_path / "media").iterdir()] == ["thumbnails.jsonl"]


@pytest.mark.parametrize("content", [b"", b"no JSON\n", b'{"digest": "00'])
def test_a_pack_that_cannot_be_read_is_made_again(tmp_path, content):
    add(tmp_path, *DIGESTS[:2])
    (tmp_path / "media/thumbnails.jsonl").write_bytes(content)
    assert shown(tmp_path, DIGESTS[0]) is None
    add(tmp_path, DIGESTS[0])
    assert shown(tmp_path, DIGESTS[0]) == carried(DIGESTS[0])


def test_one_damaged_line_costs_one_thumbnail(tmp_path):
    add(tmp_path, *DIGESTS[:3])
    path = tmp_path / "media/thumbnails.jsonl"
    first, _, third = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + b"\x00 damaged\n" + third)
    assert [shown(tmp_path, digest) for digest in DIGESTS[:3]] == [carried(DIGESTS[0]), None, carried(DIGESTS[2])]
    add(tmp_path, DIGESTS[1])
    assert [shown(tmp_path, digest) for digest in DIGESTS[:3]] == [*map(carried, DIGESTS[:3])]
