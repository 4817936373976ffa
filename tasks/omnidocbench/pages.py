"""The pieces of a page as its annotation has them, the pairs that are compared, and the numbers of a page.

Source: dataset/end2end_dataset.py, utils/match.py and utils/match_quick.py of github.com/opendatalab/OmniDocBench, v1.5 (through
the fork pichiu/OmniDocBench at 7bd6c2e).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from typing import Any

from mm_eval.tasks.rules.matching import assignment, distances
from mm_eval.tasks.rules.tables import WITHOUT_END

from mm_eval.scoring.metrics.bounds import too_large
from mm_eval.scoring.metrics.generation import edit_distance

from .latex_text import as_text
from .markdown import Piece, written
from .plain import letters, plain_formula, plain_text
from .quick_match import ALIKE, MOST_PAIRS, Pair, TooMany, quick_match, simple_match

Part = Mapping[str, Any]
FREE = ("equation_caption", "figure_caption", "figure_footnote", "table_caption", "table_footnote", "code_algorithm",
        "code_algorithm_caption", "header", "footer", "page_footnote", "page_number")  # fmt: skip
"""Texts that an answer may have or not: they take part in the matching, and their pairs are not scored."""
FORMULA = "equation_isolated"
POOL = ("text_block", "title", "code_txt", "code_txt_caption", "reference", *FREE, FORMULA)
ARRAY = re.compile(r"\\begin\{array\}\{([^}]*)\}(.*?)\\end\{array\}", re.DOTALL)
MOST_CHARACTERS = 4_000_000_000
"""Pages with more pairs of characters of the page and of the answer are not matched at all."""
MOST_OF_TABLES = 2_000_000
"""If the tables of an answer have more characters in HTML, none of them has a partner."""


@dataclass
class Page:
    """What is compared of a page and its answer. texts, formulas, tables: pairs of the page's and the answer's, "" for none.

    latex: the pairs of formulas as they were written. order, said_order: the places of the page's texts in its order and in that
    of the answer.
    """

    texts: list[tuple[str, str]] = field(default_factory=list)
    formulas: list[tuple[str, str]] = field(default_factory=list)
    latex: list[tuple[str, str]] = field(default_factory=list)
    tables: list[tuple[str, str]] = field(default_factory=list)
    order: list[Any] = field(default_factory=list)
    said_order: list[Any] = field(default_factory=list)


def compared(page: Part, answer: str) -> Page:
    """The pairs of a page and an answer in Markdown."""
    parts, said = _annotated(page), written(answer)
    pool = [piece for kind, pieces in said.items() if kind in ("text", "formula") for piece in pieces]
    found = Page()
    if tables := _in_order(parts.get("table", [])):
        found.tables, cells = _tables(tables, said.get("html_table", []), said.get("latex_table", []))
        pool += cells
    _match_pool(_in_order([part for kind in POOL for part in parts.get(kind, [])]), pool, found)
    return found


def gold_markdown(page: Part) -> str:
    """The page as an answer that scores best: its parts in their order."""
    parts, key = _annotated(page), {"table": "html", FORMULA: "latex"}
    wanted = _in_order([part for kind in ("table", *POOL) for part in parts.get(kind, [])])
    contents = [str(part.get(key.get(part["category_type"], "text")) or "") for part in wanted]
    return "\n\n".join(content for content in contents if content.strip())


# The annotation


def _annotated(page: Part) -> dict[str, list[Part]]:
    """The parts of a page by category. A text in several parts is one; the middle of three stands in it twice, as there."""
    joined: list[list[Any]] = []
    for relation in (page.get("extra") or {}).get("relation") or ():
        if relation["relation_type"] == "truncated":
            ends = [relation["source_anno_id"], relation["target_anno_id"]]
            known = [numbers for numbers in joined if ends[0] in numbers or ends[1] in numbers]
            for numbers in known:
                numbers += ends
            if not known:
                joined.append(ends)
    cut: dict[Any, Part] = {number: {} for numbers in joined for number in numbers}
    found: dict[str, list[Part]] = {}
    for part in page["layout_dets"]:
        if part.get("anno_id") in cut:
            cut[part["anno_id"]] = part
        else:
            found.setdefault(part["category_type"], []).append(part)
    for numbers in joined:
        pieces = _in_order([cut[number] for number in numbers if cut[number]])
        if pieces:
            whole = {"order": pieces[0].get("order"), "text": "".join(piece.get("text") or "" for piece in pieces)}
            found.setdefault(pieces[0]["category_type"], []).append({**pieces[0], **whole})
    return found


def _in_order(parts: Sequence[Part]) -> list[Part]:
    return sorted(parts, key=lambda part: part.get("order") or 0)


# Tables


def _tables(
    golds: Sequence[Part], html: Sequence[Piece], latex: Sequence[Piece]
) -> tuple[list[tuple[str, str]], list[Piece]]:
    """The page's tables with their partners, and the cells of the answer's other tables, which are texts.

    Where the answer has more tables in LaTeX than in HTML, they are matched, and score as if they were left out.
    """
    said = latex if len(latex) > len(html) else html
    contents = [str(part.get("html") or "") for part in golds]
    shown = [str(part.get("latex") or "") for part in golds] if said is latex else contents
    golds_in_html = [content for content, text in zip(contents, shown, strict=True) if content and text]
    shown = [text for content, text in zip(contents, shown, strict=True) if content and text]
    if (long := sum(len(table.content) for table in said)) > MOST_OF_TABLES:
        too_large(f"the tables of an answer (at most {MOST_OF_TABLES:,} characters in HTML)")
    if not shown or not said or long > MOST_OF_TABLES:
        return [(gold, "") for gold in golds_in_html], []
    partners = assignment(distances(shown, [table.content for table in said]))
    tables = [
        (gold, said[at].content if at >= 0 and said is html else "")
        for gold, at in zip(golds_in_html, partners, strict=True)
    ]
    others = [table for at, table in enumerate(said) if at not in partners]
    return tables, [Piece("text", table.start, cell) for table in others for cell in _Cells.of(table.content)]


class _Cells(HTMLParser):
    """Collects the texts of the cells (`td`) of a table that hold nothing else."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.cells: list[list[str | None]] = []
        self.open: list[tuple[str, list[str | None]]] = [
            ("", [])
        ]  # tags and what is in them: texts, None for an element
        self.counts: Counter[str] = Counter()

    @classmethod
    def of(cls, html: str) -> Iterator[str]:
        """The texts, in order. A cell with several elements, or with an element and a text, has none."""
        reader = cls()
        reader.feed(html)
        reader.close()
        for cell in reader.cells:
            if len(cell) == 1 and cell[0]:
                yield cell[0].replace("$\\cdot$", "").strip()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        inside: list[str | None] = []
        self.open[-1][1].append(None)
        if tag == "td":
            self.cells.append(inside)
        if tag not in WITHOUT_END:
            self.open.append((tag, inside))
            self.counts[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        closed = ""
        while self.counts[tag] and closed != tag:
            closed, inside = self.open.pop()
            self.counts[closed] -= 1
            outer = self.open[-1][1]
            if len(inside) == 1 and outer[-1] is None:
                outer[-1] = inside[0]  # the text of an element's only element is its own

    def handle_data(self, data: str) -> None:
        self.open[-1][1].append(data)

    handle_comment = handle_data


# Texts and formulas


@dataclass
class _Side:
    """The lines of a page or of an answer. texts: what is compared of each, without empty ones.

    raw: as they were written. kinds, places: of each line, the empty ones included. As in the script, those of the n-th line that
    is not empty are looked up at n.
    """

    texts: list[str]
    raw: list[str]
    kinds: list[str]
    places: list[Any]

    @classmethod
    def of_page(cls, parts: Sequence[Part]) -> _Side:
        """Of the page. kinds: the categories, of the lines that are not empty."""
        lines: list[tuple[str, str, str]] = []
        for part in parts:
            formula = part["category_type"] == FORMULA
            raw = str(part.get("latex" if formula else "text", ""))
            lines.append(((plain_formula if formula else plain_text)(raw), raw, part["category_type"]))
        kept = [line for line in lines if line[0] and line[1]]
        texts, raws, kinds = ([line[column] for line in kept] for column in range(3))
        return cls(texts, raws, kinds, [part.get("order") or "" for part in parts])

    @classmethod
    def of_answer(cls, pieces: Sequence[Piece]) -> _Side:
        """Of the answer."""
        plain = {"text": plain_text, "formula": plain_formula}
        lines = [(plain[piece.kind](piece.content), piece.content) for piece in pieces]
        kept = [line for line in lines if line[0] and line[1]]
        kinds, places = [piece.kind for piece in pieces], [piece.start for piece in pieces]
        return cls([text for text, _ in kept], [raw for _, raw in kept], kinds, places)


def _match_pool(parts: Sequence[Part], pool: Sequence[Piece], found: Page) -> None:
    """Matches texts and formulas in one pool, and adds their pairs and the order of the texts."""
    first = 0
    try:
        golds = _Side.of_page(list(_lines_of_arrays(parts)))
        said = _Side.of_answer(list(_lines_of_formulas(sorted(pool, key=lambda piece: (piece.inline, piece.start)))))
        pairs = _quick_pairs(golds, said)
    except TooMany:
        golds, said, first = _Side.of_page(parts), _Side.of_answer(pool), 1  # the script takes piece 0 for none there
        if sum(map(len, golds.texts)) * sum(map(len, set(said.texts))) > MOST_CHARACTERS:
            too_large(f"the matching of a page (at most {MOST_CHARACTERS:,} pairs of characters)")
            pairs = [Pair((gold,), ()) for gold in range(len(golds.texts))]
        else:
            pairs = simple_match(golds.texts, said.texts)
    order: list[tuple[list[Any], int]] = []
    for pair in pairs:
        kind = Counter(golds.kinds[gold] for gold in pair.gold).most_common(1)[0][0]
        partner = pair.said[0] if pair.said and pair.said[0] >= first else None
        gold, text = "".join(golds.texts[at] for at in pair.gold), "".join(said.texts[at] for at in pair.said)
        if kind == FORMULA:
            if partner is None or said.kinds[partner] == "formula":
                found.formulas.append((gold, text))
                found.latex.append((_in_lines(golds, pair.gold), _in_lines(said, pair.said)))
            else:
                found.texts.append((_as_letters([golds.raw[at] for at in pair.gold]), text))
        elif kind not in FREE:
            found.texts.append((gold, text))
            places = [golds.places[at] for at in pair.gold]
            found.order += [place for place in places if place]
            if partner is not None and places != [""]:
                order.append(([place for place in places if place], said.places[partner]))
    found.order.sort()
    found.said_order = [place for places, _ in sorted(order, key=lambda each: each[1]) for place in places]


def _quick_pairs(golds: _Side, said: _Side) -> list[Pair]:
    """The pairs of a page. Pieces of the answer that are near to a text that need not be there are dropped first."""
    if not golds.texts or not said.texts:
        return [Pair((gold,), ()) for gold in range(len(golds.texts))]
    if len(golds.texts) == len(said.texts) == 1:
        return [Pair((0,), (0,))]
    free = [text for text, kind in zip(golds.texts, golds.kinds, strict=True) if kind in FREE]
    if len(golds.texts) * len(said.texts) > MOST_PAIRS:
        raise TooMany
    dropped = (distances(free, said.texts) < ALIKE).any(axis=0) if free else [False] * len(said.texts)
    own = [at for at, kind in enumerate(golds.kinds) if kind not in FREE]
    kept = [at for at, drop in enumerate(dropped) if not drop]
    pairs = quick_match([golds.texts[at] for at in own], [said.texts[at] for at in kept])
    return [Pair(tuple(own[at] for at in pair.gold), tuple(kept[at] for at in pair.said)) for pair in pairs]


def _lines_of_arrays(parts: Sequence[Part]) -> Iterator[Part]:
    """The parts of a page, in which a formula that is an array of one column is a formula for each of its lines."""
    for part in parts:
        lines = _lines(str(part.get("latex") or "")) if part["category_type"] == FORMULA else None
        if lines is None:
            yield part
            continue
        for number, (_, line) in enumerate(lines, 1):
            yield {**part, "latex": f"\\[{line}\\]", "order": round(float(part.get("order") or 0) + number / 10, 1)}


def _lines_of_formulas(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """The pieces of an answer, cut in the same way."""
    for piece in pieces:
        lines = _lines(piece.content) if piece.kind == "formula" else None
        if lines is None:
            yield piece
            continue
        for start, line in lines:
            yield replace(piece, content=f"\\[{line}\\]", start=piece.start + start)


def _lines(formula: str) -> list[tuple[int, str]] | None:
    """The lines of the first array in a formula and where they begin; None if there is none with one column."""
    array = ARRAY.search(formula)
    if array is None:
        return None
    column = re.sub(r"\s+|\|", "", array[1])
    column = re.sub(r"!{[^}]*}", "", re.sub(r"@{[^}]*}", "", column))
    if column not in ("l", "c", "r"):
        return None
    lines: list[tuple[int, str]] = []
    at = 0
    for line in (line.strip() for line in re.split(r"\\\\", array[2])):
        if line:
            start = array[2].find(line, at)
            lines.append((array.start(2) + start, line))
            at = start + len(line)
    return lines


def _in_lines(side: _Side, places: Sequence[int]) -> str:
    return _one_formula([side.raw[at] for at in places]) if places else ""


def _one_formula(formulas: Sequence[str]) -> str:
    """Formulas as one: several are lines of an array."""
    if len(formulas) == 1:
        return formulas[0]
    lines = " \\\\ ".join("{" + line.strip("$").strip("\n") + "}" for line in formulas)
    return f"\\begin{{array}}{{l}} {lines} \\end{{array}}"


def _as_letters(formulas: Sequence[str]) -> str:
    """The letters of a formula whose partner is a text."""
    formula = _one_formula(formulas)
    shown = as_text(formula)
    return letters(formula if shown is None else shown) or shown or ""


# The numbers


def share_of_edits(pairs: Sequence[tuple[str, str]]) -> float | None:
    """The edits of all pairs divided by the lengths of the longer texts; None if there is nothing to compare."""
    length = sum(max(len(one), len(other)) for one, other in pairs)
    return sum(edit_distance(one, other) for one, other in pairs) / length if length else None


def order_distance(page: Page) -> float | None:
    """The edit distance of the orders of the texts, divided by the longer one; None if no text has a place."""
    numbers: dict[Hashable, str] = {}
    one, other = (
        "".join(numbers.setdefault(place, chr(len(numbers))) for place in places)
        for places in (page.order, page.said_order)
    )
    longest = max(len(one), len(other))
    return edit_distance(one, other) / longest if longest else None
