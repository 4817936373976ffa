"""The pieces of an answer in Markdown: its texts, formulas and tables with their places, as OmniDocBench 1.5 reads them.

Source: utils/extract.py and utils/table_utils.py of github.com/opendatalab/OmniDocBench, v1.5 (main of 2025-11, through the fork
pichiu/OmniDocBench at 7bd6c2e). What a reader would not expect is kept and named where it stands.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

FENCE = re.compile(r"^```(?:markdown|html|latex)\n?", re.MULTILINE)
LAST_FENCE = re.compile(r"```\n?$", re.MULTILINE)
FORMULAS = (("$$", "$$"), (r"\[", r"\]"), ("$", "$"), (r"\(", r"\)"))
"""What formulas stand in; of two that begin alike the first counts that has an end."""
IN_DOLLARS = re.compile(r"\$\$(.*?)\$\$|\$(.*?)\$|\\\((.*?)\\\)", re.DOTALL)
LAYOUT = re.compile(r"</?t(able|head|body)>")
CODE = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
COMMANDS = (
    re.compile(r"\\title\{(.*?)\}"),
    re.compile(r"\\title\s*\{\s*(.*?)\s*\}", re.DOTALL),
    re.compile(r"\\text\s*\{\s*(.*?)\s*\}", re.DOTALL),
    re.compile(r"\\section\*?\{(.*?)\}"),
    re.compile(r"\\section\*?\{\s*(.*?)\s*\}", re.DOTALL),
)
"""Commands of which only the content stays, one after the other."""
MOST_OPEN = 900
"""An answer with more tables that are opened and not closed has no tables; the script's recursion ends there."""


@dataclass(frozen=True)
class Piece:
    """A part of an answer. kind: text, formula, html_table or latex_table. start: where it stands in the answer, about.

    inline: a formula within a text, which stands in that text, too.
    """

    kind: str
    start: int
    content: str
    inline: bool = False


def written(answer: str) -> dict[str, list[Piece]]:
    """The pieces of an answer by kind, each kind in the order of the answer; the kind that begins first comes first."""
    text = answer.replace("\r\n", "\n").replace("\r", "\n")
    text = LAST_FENCE.sub("", FENCE.sub("", "\n".join(map(_without_pictures, text.split("\n")))))
    text = re.sub(r" {4,}", "    ", re.sub(r"_{4,}", "____", text))
    for tag in ("<html>", "</html>", "<body>", "</body>"):
        text = text.replace(tag, "")
    found: list[Piece] = []
    text = _without(text, found, "latex_table", _latex_tables(text))
    text = _without(text, found, "html_table", _nested(text[: text.rfind(">") + 1], "<table", "</table>", (8, 8, 16)))
    text = _without_formulas(text, found)
    if sum(1 for _ in _rows(text + "\n")) >= 2:
        text = _with_html(text + "\n")
        text = _without(
            text, found, "html_table", [m.span() for m in re.finditer(r"<table.*?</table>", text, re.DOTALL)]
        )
    found += [Piece("text", match.start(), match[2].strip()) for match in CODE.finditer(text)]
    text = CODE.sub(lambda match: " " * len(match[0]), text)
    for command in COMMANDS:
        text = command.sub(r"\1", text)
    found += _blocks(text)
    kinds: dict[str, list[Piece]] = {}
    for piece in sorted(found, key=lambda piece: piece.start):
        kinds.setdefault(piece.kind, []).append(piece)
    return kinds


def _without(text: str, found: list[Piece], kind: str, places: list[tuple[int, int]]) -> str:
    """The text with blanks where the tables stand, which are added to `found`."""
    for start, end in places:
        found.append(Piece(kind, start, text[start:end]))
    parts, at = list[str](), 0
    for start, end in sorted(places):
        parts += [text[at:start], " " * (end - max(start, at))]
        at = max(at, end)
    return "".join([*parts, text[at:]])


def _latex_tables(text: str) -> list[tuple[int, int]]:
    whole = re.compile(r"\\begin{table}(.*?)\\end{table}", re.DOTALL)
    tables = [match.span() for match in whole.finditer(text)] if r"\end{table}" in text else []
    text = whole.sub(lambda match: " " * len(match[0]), text) if tables else text
    inner = _nested(text, r"\begin{tabular}", r"\end{tabular}", (14, 14, 16))
    return sorted(tables + inner, key=lambda place: place[0])


def _nested(text: str, begins: str, ends: str, steps: tuple[int, int, int]) -> list[tuple[int, int]]:
    """Where the outermost tables stand. A begin without an end is text.

    steps: how far the script goes on behind a begin, behind an end, and behind a begin without an end. It counts characters of
    its patterns, not of what they match: `<table></table>` has no end, and a LaTeX table has one character too many.
    """
    places: list[tuple[int, int]] = []
    at = 0
    for _ in range(MOST_OPEN):
        opened: list[int] = []
        begin, end = text.find(begins, at), text.find(ends, at)
        while begin >= 0 or end >= 0:
            if begin >= 0 and (end < 0 or begin < end):
                opened.append(begin)
                at = begin + steps[0]
            else:
                if opened and (start := opened.pop()) >= 0 and not opened:
                    places.append((start, min(end + steps[1], len(text))))
                at = end + steps[1]
            if 0 <= begin < at:
                begin = text.find(begins, at)
            if 0 <= end < at:
                end = text.find(ends, at)
        if not opened or len(opened) > MOST_OPEN:
            return [] if opened else places
        at = opened[0] + steps[2]
    return []


def _without_pictures(line: str) -> str:
    """A line without its pictures, `![...](...)`."""
    parts, at = list[str](), 0
    while (start := line.find("![", at)) >= 0:
        middle = line.find("](", start + 2)
        end = line.find(")", middle + 2) if middle >= 0 else -1
        if end < 0:
            break
        parts.append(line[at:start])
        at = end + 1
    return "".join([*parts, line[at:]])


def _formulas(text: str) -> Iterator[tuple[int, int]]:
    """Where formulas stand, with what they stand in."""
    at, absent = 0, set[str]()  # an end that does not come again is looked for once
    starts = re.compile(r"\$|\\[\[(]")
    while found := starts.search(text, at):
        at = found.end()
        for begin, end in FORMULAS:
            if end not in absent and text.startswith(begin, found.start()):
                close = text.find(end, found.start() + len(begin))
                if close >= 0:
                    at = close + len(end)
                    yield found.start(), at
                    break
                absent.add(end)


def _without_formulas(text: str, found: list[Piece]) -> str:
    """The text with blanks for the formulas that stand alone; those in `$` and `\\(` stay where they are."""
    parts, at = list[str](), 0
    for start, end in _formulas(text):
        line = " ".join(text[start:end].strip().split("\n"))
        inner = IN_DOLLARS.search(line)
        inline = inner is not None and not inner[1]
        if inner is not None:
            line = IN_DOLLARS.sub(r"\\[\2\3\\]" if inline else r"\\[\1\\]", line)
        found.append(Piece("formula", start, line, inline))
        if not inline:
            parts += [text[at:start], " " * (end - start)]
            at = end
    return "".join([*parts, text[at:]])


def _rows(text: str) -> Iterator[tuple[int, int]]:
    """Where rows of Markdown tables stand: from a bar to the next one that ends a line."""
    start = text.find("|")
    while start >= 0 and (end := text.find("|\n", start + 1)) >= 0:
        yield start, end + 2
        start = text.find("|", end + 2)


def _with_html(text: str) -> str:
    """The text with Markdown tables in HTML: rows that follow each other are one table.

    As in the script, a line in front of a table is lost, and so is a cell with a colon or three hyphens.
    """
    parts, at = list[str](), 0
    for start, end in _rows(text):
        parts += [text[at:start], _row_in_html(text[start:end])]
        at = end
    kept, table, inside, last = list[str](), list[str](), False, ""
    for line in "".join([*parts, text[at:]]).split("\n"):
        if "<table>" in line:
            inside = True
            table.append(last)
        elif inside:
            if ":" not in last and "---" not in last and "</thead>" not in last:
                table += ["\n", last]
            if "</table>" in last:
                kept.append(_joined("".join(table)))
                inside, table = False, []
        else:
            kept.append(last)
        last = line
    if last:
        kept.append(_joined("".join([*table, "\n", last])) if inside or "</table>" in last else last)
    html = "\n".join(kept).replace("<table>", '<table border="1" >')
    return html.replace("<td>", '<td colspan="1" rowspan="1">')


def _row_in_html(row: str) -> str:
    """A table of one row; if a bar in a text made it longer, its second line is lost."""
    first, *others = (line.strip() for line in row.strip().split("\n"))
    lines = ["<table>", "  <thead>", "    <tr>", *(f"      <th>{cell}</th>" for cell in _cells(first))]
    lines += ["    </tr>", "  </thead>", "  <tbody>"]
    for line in others[1:]:
        lines += ["    <tr>", *(f"      <td>{cell}</td>" for cell in _cells(line)), "    </tr>"]
    return "\n".join([*lines, "  </tbody>", "</table>", ""])


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("|")[1:-1]]


def _joined(tables: str) -> str:
    """One table of the rows of several. A row without a cell is left out."""
    lines: list[str] = []
    for table in re.findall(r"<table>[\s\S]*?</table>", re.sub(r"<!--[\s\S]*?-->", "", tables)):
        rows = [
            line.replace("<th>", "<td>").replace("</th>", "</td>") if "<th>" in line else line
            for line in table.split("\n")
        ]
        rows = [line for line in rows if not LAYOUT.search(line)]
        lines += rows if len(rows) > 2 else []
    return "\n\n<table>\n" + "\n".join(lines) + "\n</table>\n\n"


def _blocks(text: str) -> Iterator[Piece]:
    """The paragraphs, or the lines where there is but one; their places leave the line breaks between them out."""
    parts = text.split("\n\n")
    if len(parts) == 1:
        parts = text.split("\n")
    start = 0
    for part in parts:
        block = "\n".join(line.strip() for line in part.strip().split("\n") if line.strip())
        if block.startswith("<table") and block.endswith("</table>"):
            yield Piece("html_table", start, block)
        elif block.startswith("$") and block.endswith("$"):
            if block.replace("$", "").strip():
                yield Piece("formula", start, block)
        elif block:
            yield Piece("text", start, block)
        start += len(part)
