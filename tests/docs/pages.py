"""Pages of Markdown as programs: their code blocks, in the order in which a reader would type them.

A block with `title="FILE"` is written to that file. A bash or Python block is run. A block after a comment
`<!-- not run: REASON -->` is not, but the options of its `mm-eval` commands must exist. Other blocks show output.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("[CS]*.md"))]

_BLOCK = re.compile(
    r"(?P<skip><!-- not run: (?P<reason>[^\n]+) -->\n)?"
    r"(?P<indent>[ ]*)```(?P<language>\w*)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^(?P=indent)```",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    """One code block. reason: why it is not run, empty where it is."""

    language: str
    title: str
    text: str
    line: int
    reason: str

    @property
    def runs(self) -> bool:
        return not self.reason and not self.title and self.language in ("bash", "python")


def blocks(page: Path) -> list[Block]:
    """The code blocks of a page."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            found["language"],
            found["title"] or "",
            found["text"],
            text.count("\n", 0, found.start()) + 1,
            found["reason"] or "",
        )
        for found in _BLOCK.finditer(text)
    ]
