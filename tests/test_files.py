"""Atomic writes: a whole file or the old one, and no temporary file left."""

import hashlib
import json
import os
from pathlib import Path

import pytest

from mm_eval.values.files import digest_of, encoder, replacing, write_atomic


@pytest.mark.parametrize("durable", [True, False])
def test_content_of_any_kind_makes_missing_folders(tmp_path: Path, durable: bool) -> None:
    path = tmp_path / "a" / "b.txt"
    for content, written in [
        ("é\ud800\n", b"\xc3\xa9\\ud800\n"),
        (b"\x00", b"\x00"),
        (iter(["x\n", "y\n"]), b"x\ny\n"),
    ]:
        write_atomic(path, content, durable=durable)
        assert path.read_bytes() == written and os.listdir(path.parent) == ["b.txt"]


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "b.txt"
    path.write_text("old")

    def parts():
        yield "new"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomic(path, parts())
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["b.txt"]


def test_a_pipe_or_a_device_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    """`--output /dev/stdout` of a page, as root in a container, put a file in its place."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "link"):
        with pytest.raises(OSError, match="it is not a regular file"):
            write_atomic(tmp_path / name, "new")
    assert sorted(os.listdir(tmp_path)) == ["link", "pipe"] and (tmp_path / "pipe").is_fifo()


def test_the_encoder_writes_what_json_writes() -> None:
    value = {"b": [1.5, -0.0, 1e300, float("inf")], "a": {"é\ud800": None, 3: True}, "c": (2**70, "</")}
    for options in ({}, {"ensure_ascii": False}, {"separators": (",", ":")}):
        assert encoder(**options)(value) == json.JSONEncoder(**options).encode(value)
    assert (
        encoder(sort_keys=True)({"b": 1, "a": "x"}) == '{"a": "x", "b": 1}'
        and encoder(default=str)([Path("a")]) == '["a"]'
    )
    with pytest.raises(ValueError, match="float"):
        encoder(allow_nan=False)([float("nan")])


def test_equal_values_have_one_digest() -> None:
    one, other = (
        {"a": [1, 1.5, None], "é": {"x": True, "b": "\ud800"}},
        {"é": {"b": "\ud800", "x": True}, "a": [1, 1.5, None]},
    )
    assert digest_of(one) == digest_of(other) != digest_of({**one, "a": [1, 1.5]})
    assert digest_of({"b": 1}) == hashlib.sha256(b'{"b":1}').hexdigest(), "keys of recorded answers stay"


def test_a_file_that_could_not_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "rows.arrow"
    path.write_text("old")
    with pytest.raises(ValueError, match="half"), replacing(path) as beside:
        beside.write_text("new")
        raise ValueError("half a file")
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["rows.arrow"]
