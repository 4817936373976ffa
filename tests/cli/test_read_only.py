"""A disk that can't be written: one sentence, exit code 2 or 3, and no hint that is beside the point."""

import errno
import os
from pathlib import Path

import pytest

from mm_eval.results.media import Media
from mm_eval.verbs.bundle.copying import Bundle


def test_a_run_on_a_read_only_disk_can_be_read(perfect: Path, monkeypatch) -> None:
    """There even the removal of a file that is not there is refused."""

    def refused(path, *args, **options):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr(os, "unlink", refused)
    with Media(perfect) as media:
        assert media.content("0" * 64) is None


def test_a_page_that_finds_no_room_gets_no_word_on_answers(cli, perfect, worse, tmp_path, monkeypatch) -> None:
    def full(*args, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("mm_eval.engine.folder.write_atomic", full)
    done = cli("report", perfect, worse, "--output", tmp_path / "x.html")
    assert done.code == 2 and "No space left on device. Make room for it, or write it elsewhere." in done.err
    assert "answers" not in done.err.splitlines()[-1]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_data_that_finds_no_room_is_one_sentence(cli, tmp_path, monkeypatch, number) -> None:
    def full(self, dataset):
        raise OSError(number, os.strerror(number), str(tmp_path / "data"))

    monkeypatch.setattr(Bundle, "_copy", full)
    done = cli("bundle", tmp_path / "data", "--tasks", "mme", "--sample")
    assert done.code == 2 and f"the data can't be written: {os.strerror(number)}. Make room" in done.err
    assert "Traceback" not in done.err
