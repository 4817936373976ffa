"""The strict reader gives what PyYAML gives, or one error with a place; it never hangs and raises nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mm_eval.config.yaml import load_text
from mm_eval.values.errors import ConfigError

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
)
documents = st.dictionaries(st.text(min_size=1, max_size=8), values, min_size=1, max_size=5)
PLACE = re.compile(r"task\.yaml(:\d+)?")


@pytest.mark.full
@given(documents, st.booleans())
def test_plain_data_is_read_as_by_pyyaml(document: dict, flow: bool) -> None:
    text = yaml.safe_dump(document, default_flow_style=flow, allow_unicode=True)
    try:
        found = load_text(text, Path("task.yaml"))
    except ConfigError as error:  # what YAML itself can't tell apart, such as keys that are equal once read
        assert PLACE.search(error.where)
        return
    assert found == yaml.safe_load(text)


SIGNS = [
    "a: ",
    "- ",
    "  ",
    "\n",
    "[",
    "]",
    "{",
    "}",
    "&x ",
    "*x",
    "!function ",
    "u.f",
    "<<: ",
    "'",
    '"',
    "|",
    "#",
    ":",
    ",",
    "?",
]


@given(st.lists(st.sampled_from([*SIGNS, "1", "é", "\t", "%", "---", "\x00"]), max_size=30))
def test_any_text_is_a_mapping_or_one_error_with_a_place(signs: list[str]) -> None:
    try:
        found = load_text("".join(signs), Path("task.yaml"))
    except ConfigError as error:
        assert PLACE.search(error.where) and str(error)
    else:
        assert isinstance(found, dict)
