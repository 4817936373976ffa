"""The list of all sentences that a user can see has the texts of code and pages, and no docstring."""

from __future__ import annotations

import runpy

from tests.docs.pages import ROOT

MADE = runpy.run_path(str(ROOT / "docs" / "make" / "strings.py"))
PYTHON = '''"""What the module is for."""
NAME = "one"
LIMIT = 3
"""What this value is for."""


def function(name):
    """What the function is for."""
    raise ValueError(f"there is no {name.upper()!r} in "
                     f"the folder.", "Two words")
'''


def test_sentences_of_code() -> None:
    found = list(MADE["sentences_of"](PYTHON, is_script=False))
    assert found == [(9, "there is no {name.upper()} in the folder.")]


def test_sentences_of_a_script() -> None:
    source = "// a comment of words\nnode.textContent = 'no document is shown' + \"x\";\n"
    assert list(MADE["sentences_of"](source, is_script=True)) == [(2, "no document is shown")]
