"""TEDS: how similar two tables in HTML are, by the edit distance of their trees.

Source: Zhong et al. 2019, arXiv:1911.10683 (github.com/ibm-aur-nlp/PubTabNet). The tree edit distance is that of Zhang and
Shasha 1989, computed a row of its table at a time for all subtrees of the second tree.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING

from mm_eval.metrics.generation import edit_distance

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

ROW, SECTION, CELLS = "tr", ("thead", "tbody", "tfoot"), ("td", "th")
WITHOUT_END = ("br", "hr", "img", "col", "input", "wbr")
LAYOUT = ("th", "thead", "tbody", "span", "sup", "sub", "div", "p", "html", "body", "colgroup", "col")
"""Tags that OmniDocBench removes before it compares tables; their text stays, and a `th` is a `td`."""
MOST_NODES = 2000
MOST_PAIRS = MOST_NODES**2
"""Two trees with more pairs of nodes are not compared whole: the larger one loses its last nodes, an edit each."""


@dataclass
class Node:
    """A table or an element in it. text: of a cell, with one private character for each tag inside; spans: of a cell."""

    tag: str
    spans: tuple[str, str] = ("1", "1")
    text: str = ""
    children: list[Node] = field(default_factory=list)


class _Reader(HTMLParser):
    """Reads the first table of a text. Cells and rows that are not closed end where the next begins."""

    def __init__(self, ignored: Sequence[str]) -> None:
        super().__init__(convert_charrefs=True)
        self.ignored, self.tables, self.nodes = frozenset(ignored), 0, 0
        self.root: Node | None = None
        self.open: list[Node] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables += 1
            if self.root is None:
                self.root = Node(tag)
                self.open = [self.root]
                return
        if tag == "th" and tag in self.ignored:
            tag = "td"
        if not self.open or tag in self.ignored:
            return
        if self.tables == 1 and tag in (*CELLS, ROW, *SECTION):
            outer = (*SECTION, "table") if tag == ROW else (ROW, *SECTION, "table") if tag in CELLS else ("table",)
            while self.open[-1].tag not in outer:
                self.open.pop()
            given = {name: (value or "").strip() for name, value in attrs}
            self._add(
                Node(tag, (_span(given.get("colspan")), _span(given.get("rowspan"))) if tag == "td" else ("1", "1"))
            )
            return
        if self.open[-1].tag == "td":
            self.open[-1].text += _mark(f"<{tag}>")
            self.nodes += 1
        else:
            self._add(Node(tag))

    def _add(self, node: Node) -> None:
        self.nodes += 1
        self.open[-1].children.append(node)
        if node.tag not in WITHOUT_END:
            self.open.append(node)

    def handle_endtag(self, tag: str) -> None:
        if tag == "table" and self.tables:
            self.tables -= 1
            if not self.tables:
                self.open = []
                return
        if tag == "th" and tag in self.ignored:
            tag = "td"
        if not self.open or tag in self.ignored or tag in WITHOUT_END:
            return
        if self.open[-1].tag == "td" and (self.tables > 1 or tag not in (*CELLS, ROW, *SECTION)):
            self.open[-1].text += _mark(f"</{tag}>")
        elif tag in [node.tag for node in self.open[1:]]:
            while self.open.pop().tag != tag:
                pass

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1].tag == "td":
            self.open[-1].text += data


def _span(value: str | None) -> str:
    return str(int(value)) if value and value.isascii() and value.isdecimal() and len(value) < 9 else "1"


def _mark(tag: str) -> str:
    """The private character of a tag inside a cell, which is one edit."""
    return chr(0xF0000 + zlib.crc32(tag.encode("utf-8", "replace")) % 0xFFFE)


def cell_text(text: str) -> str:
    """The text of a cell for OmniDocBench: in compatibility form, with single blanks."""
    return re.sub(r"\s+", " ", unicodedata.normalize("NFKC", text.replace("\n", "")))


def table_of(
    html: str, ignored: Sequence[str] = LAYOUT, plain: Callable[[str], str] = cell_text
) -> tuple[Node, int] | None:
    """The first table of a text and the number of its elements, those inside cells included; None if there is no table."""
    reader = _Reader(ignored)
    reader.feed(html)
    reader.close()
    if reader.root is None:
        return None
    for node in _postorder(reader.root)[0]:
        node.text = plain(node.text)
    return reader.root, reader.nodes


def teds(
    answer: str,
    reference: str,
    structure_only: bool = False,
    ignored: Sequence[str] = LAYOUT,
    plain: Callable[[str], str] = cell_text,
) -> float:
    """1 minus the tree edit distance of two tables in HTML divided by the elements of the larger one, from 0 to 1.

    Deleting or inserting a node costs 1, as does replacing one that has another tag or spans; a cell with other text costs the
    normalised edit distance of the texts, or nothing with `structure_only`. A text without a table has similarity 0. The text
    of a head (`th`) is not compared.
    ignored: tags that are left out, as if only their content were written; with "th" a head is a cell.
    plain: what is compared of a cell's text.
    """
    read, gold = table_of(answer, ignored, plain), table_of(reference, ignored, plain)
    if read is None or gold is None:
        return 0.0
    elements = max(read[1], gold[1])
    distance = tree_distance(read[0], gold[0], structure_only)
    return max(0.0, 1 - distance / elements) if elements else 1.0


def _postorder(root: Node) -> tuple[list[Node], list[int]]:
    """The nodes with children first, and for each the number of the first leaf below it."""
    nodes: list[Node] = []
    first: list[int] = []
    stack: list[tuple[Node, int]] = [(root, -1)]
    while stack:
        node, start = stack.pop()
        if start < 0 and node.children:
            stack.append((node, len(nodes)))
            stack.extend((child, -1) for child in reversed(node.children))
        else:
            first.append(max(start, 0) if node.children else len(nodes))
            nodes.append(node)
    return nodes, first


def _cut(root: Node, count: int) -> None:
    """Removes the last nodes of a tree, leaves first."""
    for _ in range(count):
        node = root
        while node.children[-1].children:
            node = node.children[-1]
        node.children.pop()


def _renaming(ours: list[Node], theirs: list[Node], structure_only: bool) -> NDArray[Any]:
    """The cost of replacing each node by each other one, of shape (ours, theirs)."""
    import numpy as np

    cost = np.ones((len(ours), len(theirs)))
    kinds: dict[tuple[str, tuple[str, str]], dict[str, list[int]]] = {}
    for j, node in enumerate(theirs):
        kinds.setdefault((node.tag, node.spans), {}).setdefault(node.text, []).append(j)
    rows: dict[tuple[str, tuple[str, str], str], int] = {}
    for i, node in enumerate(ours):
        done = rows.setdefault((node.tag, node.spans, node.text), i)
        if done != i:
            cost[i] = cost[done]
            continue
        for text, places in kinds.get((node.tag, node.spans), {}).items():
            longest = 0 if structure_only else max(len(node.text), len(text))
            cost[i, places] = edit_distance(node.text, text) / longest if longest else 0.0
    return cost


def tree_distance(ours: Node, theirs: Node, structure_only: bool = False) -> float:
    """The least cost of turning one tree into the other. Time and memory grow with the product of the trees' sizes."""
    import numpy as np

    (nodes, first), (others, firsts) = _postorder(ours), _postorder(theirs)
    if len(nodes) * len(others) > MOST_PAIRS:
        larger, shorter = (nodes, others) if len(nodes) > len(others) else (others, nodes)
        beyond = len(larger) - max(MOST_PAIRS // len(shorter), MOST_NODES)
        _cut(larger[-1], beyond)
        return beyond + tree_distance(ours, theirs, structure_only)
    rename = _renaming(nodes, others, structure_only)
    n, m = rename.shape
    sizes, widths = np.arange(n) - first + 1, np.arange(m) - firsts + 1
    trees = np.empty((n, m))
    # A leaf against a tree: all but one node are inserted, and the leaf becomes the one that it resembles most.
    for j in range(m):
        trees[:, j] = widths[j] - 1 + rename[:, firsts[j] : j + 1].min(axis=1)
    for i in range(n):
        if sizes[i] > 1:
            leaves = widths == 1
            trees[i, leaves] = sizes[i] - 1 + rename[first[i] : i + 1, leaves].min(axis=0)
    groups = [_Group(group, firsts) for group in _levels(firsts)]
    for key in sorted({leaf: i for i, leaf in enumerate(first)}.values()):
        if sizes[key] > 1:
            for group in groups:
                group.fill(trees, rename, first, key)
    return round(float(trees[-1, -1]), 6)


def _levels(first: list[int]) -> list[list[int]]:
    """The subtrees with several nodes that share no left edge with a larger one, in groups: inner ones come before outer ones."""
    keys = sorted({leaf: i for i, leaf in enumerate(first) if leaf < i}.values())
    level: dict[int, int] = {}
    for key in keys:
        level[key] = 1 + max((level[inner] for inner in level if inner >= first[key]), default=-1)
    return [[key for key in keys if level[key] == each] for each in sorted(set(level.values()))]


class _Group:
    """Subtrees side by side: a row of the distance table holds one segment for each, which begins with the empty forest."""

    def __init__(self, keys: list[int], first: list[int]) -> None:
        import numpy as np

        node: list[int] = []
        place: list[int] = []
        start: list[int] = []
        left: list[int] = []
        for key in keys:
            offset = len(node)
            node += [-1, *range(first[key], key + 1)]
            place += range(key - first[key] + 2)
            start += [offset] * (key - first[key] + 2)
            left += [-1, *(first[j] for j in range(first[key], key + 1))]
        self.node, self.place, start_at = np.array(node), np.array(place), np.array(start)
        begins = np.array([first[keys[k]] for k in np.cumsum(self.place == 0) - 1])
        self.empty = self.place == 0
        self.along = (np.array(left) == begins) & ~self.empty  # on the left edge: the subtree begins with the segment
        self.before = start_at + np.maximum(np.array(left) - begins, 0)  # the forest in front of the node's subtree
        self.apart = -(1 << 14) * (np.cumsum(self.empty) - 1)  # later segments are lower, so that minima stay inside

    def fill(self, trees: NDArray[Any], rename: NDArray[Any], first: list[int], key: int) -> None:
        """Computes the distances of the subtrees on the left edge of `key` to those of this group."""
        import numpy as np

        rows = np.empty((key - first[key] + 2, len(self.node)))
        rows[0] = self.place
        shift = self.apart - self.place
        for i in range(first[key], key + 1):
            row, edge = i - first[key] + 1, first[i] == first[key]
            best = rows[row - 1] + 1
            matched = rows[first[i] - first[key]][self.before] + trees[i, self.node]
            if edge:
                replaced = np.roll(rows[row - 1], 1) + rename[i, self.node]
                matched = np.where(self.along, replaced, matched)
            best = np.minimum(best, np.where(self.empty, np.inf, matched))
            rows[row] = np.minimum.accumulate(best + shift) - shift
            if edge:
                trees[i, self.node[self.along]] = rows[row, self.along]
