"""What an exception says, in one line."""

import re
from pathlib import Path

import pytest
import yaml

import mm_eval
from mm_eval.config import yaml as reading
from mm_eval.values.errors import ConfigError, first_line
from tests.sets import each_of


class Silent(ValueError):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@each_of(
    ("error", "line"),
    [
        (ValueError("one\ntwo"), "one"), (ValueError("  \n one.\n"), "one"), (ValueError(), "ValueError"), (OSError(), "OSError"),
        (ValueError(""), "ValueError"), (ValueError(" \n "), "ValueError"), (KeyError("name"), "'name'"), (Silent(), "Silent"),
        (OSError(2, "No such file"), "[Errno 2] No such file"),
    ],
)  # fmt: skip
def test_the_first_line_of_an_error(error: Exception, line: str) -> None:
    assert first_line(error) == line


def test_no_file_takes_the_first_line_of_an_error_by_itself() -> None:
    """An error without a text has no first line: `str(error).splitlines()[0]` is an IndexError in place of the sentence."""
    roots = [Path(mm_eval.__file__).parent, Path(mm_eval.__file__).parent.parent / "models"]
    written = re.compile(r"str\((?:error|e|each)\)(?:\.strip\(\))?\.splitlines\(\)\[0\]")
    assert not [path for root in roots for path in root.rglob("*.py") if written.search(path.read_text())]


def test_a_yaml_error_without_a_text_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: object) -> None:
        raise yaml.YAMLError

    monkeypatch.setattr(reading._Builder, "document", fails)
    with pytest.raises(ConfigError, match="invalid YAML: YAMLError"):
        reading.load_text("a: 1", Path("x.yaml"))
