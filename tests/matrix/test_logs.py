"""Each answer of logs that other suites wrote is read as the table says, and a pickle is named where nothing else is there."""

import csv
from pathlib import Path

import pytest

from mm_eval.values.errors import ConfigError
from mm_eval.verbs.exports.logs.find import find_logs
from tests.matrix import logs


def test_every_row_of_the_table_is_what_is_read() -> None:
    with logs.TABLE.open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file))[1:] == list(logs.rows())


def test_a_log_that_is_only_a_pickle_says_what_to_do(tmp_path: Path) -> None:
    """VLMEvalKit writes one where it can't write a spreadsheet; the message asked for names of columns."""
    (tmp_path / "toy_MMBench.pkl").write_bytes(b"\x80\x04N.")
    with pytest.raises(ConfigError, match=r"toy_MMBench.pkl is a pickle, .* write it as TSV"):
        find_logs(tmp_path)
