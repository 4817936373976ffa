"""The pieces of a page: what the annotation has, what an answer in Markdown has, and what is compared of a piece.

Source: github.com/opendatalab/OmniDocBench (end2end_dataset.py, extract.py, data_preprocess.py) as in VLMEvalKit's copy.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mm_eval.tasks.rules.matching import matched

from mm_eval.scoring.metrics.generation import edit_distance

CAPTIONS = ("equation_caption", "figure_caption", "figure_footnote", "table_caption", "table_footnote",
            "code_algorithm", "code_algorithm_caption", "header", "footer", "page_footnote", "page_number")  # fmt: skip
"""Texts that an answer may have or not: they take part in the matching, and their pairs are not scored."""
TEXTS = ("text_block", "title", "code_txt", "code_txt_caption", "reference", *CAPTIONS)
STYLES = re.compile(
    r"\\(mathbf|mathrm|mathnormal|mathit|mathbb|mathcal|mathscr|mathfrak|mathsf|mathtt|textbf|text|boldmath|boldsymbol"
    r"|operatorname|bm|symbfit|mathbfcal|symbf|scriptscriptstyle|notag|setlength|coloneqq|space|thickspace|thinspace"
    r"|medspace|nobreakspace|negmedspace|quad|qquad|enspace|substackw)| "
)
FORMULA = re.compile(r"\$\$(.*?)\$\$|\\\[(.*?)\\\]|\$(.*?)\$|\\\((.*?)\\\)", re.DOTALL)
INLINE = re.compile(r"\$(.*?)\$|\\\((.*?)\\\)")
PIPES = re.compile(r"^[ \t]*\|.*\|[ \t]*\n[ \t]*\|[ \t:|-]+\|[ \t]*(?:\n[ \t]*\|.*\|[ \t]*)*$", re.MULTILINE)
TABLE = re.compile(r"<table\b.*?</table>", re.DOTALL | re.IGNORECASE)
Pieces = dict[str, list[str]]


def annotated(page: Mapping[str, Any]) -> dict[str, list[tuple[str, str]]]:
    """(category, content) of the texts, formulas and tables of an annotation, in reading order. Parts of a text are joined."""
    parts: dict[Any, list[Any]] = {}
    joined: dict[Any, Any] = {}
    for relation in (page.get("extra") or {}).get("relation", []):
        if relation["relation_type"] == "truncated":
            one, other = relation["source_anno_id"], relation["target_anno_id"]
            kept, gone = joined.get(one, one), joined.get(other, other)
            joined |= dict.fromkeys((one, other, *(part for part, whole in joined.items() if whole == gone)), kept)
    for piece in sorted(page["layout_dets"], key=lambda piece: piece.get("order") or 0):
        number = piece.get("anno_id")
        parts.setdefault(joined.get(number, number), []).append(piece)
    found: dict[str, list[tuple[str, str]]] = {"text": [], "formula": [], "table": []}
    for pieces in parts.values():
        kind = pieces[0]["category_type"]
        name, key = {"table": ("table", "html"), "equation_isolated": ("formula", "latex")}.get(kind, ("text", "text"))
        content = "".join(piece.get(key) or "" for piece in pieces)
        if content and (name != "text" or kind in TEXTS):
            found[name].append((kind, content))
    return found


def written(answer: str) -> Pieces:
    """The texts, formulas and tables of an answer in Markdown. Tables in LaTeX are not read."""
    text = re.sub(r"!\[.*?\]\(.*?\)", "", answer)
    text = re.sub(r"```\n?$", "", re.sub(r"^```markdown\n?", "", text, flags=re.MULTILINE), flags=re.MULTILINE)
    text = re.sub(r"([^a-zA-Z0-9])\1{10,}", r"\1\1\1\1", re.sub(r"_{4,}", "____", text))
    text = re.sub(r"</?(?:html|body)>", "", text)
    found: Pieces = {"text": [], "formula": [], "table": []}

    def table(match: re.Match[str]) -> str:
        found["table"].append(match[0] if match[0].startswith("<") else _html(match[0]))
        return "\n\n"

    def formula(match: re.Match[str]) -> str:
        display = match[1] or match[2]
        found["formula"].append(display or match[3] or match[4] or "")
        return " " if display else match[0]

    text = PIPES.sub(table, FORMULA.sub(formula, TABLE.sub(table, text)))
    text = re.sub(r"\\(?:title|text|section\*?)\s*\{\s*(.*?)\s*\}", r"\1", text, flags=re.DOTALL)
    blocks = text.split("\n\n") if "\n\n" in text else text.split("\n")
    found["text"] = [block.strip() for block in blocks if block.strip()]
    return found


def _html(table: str) -> str:
    """A Markdown table in HTML; its second line only separates the head."""
    rows = [line.strip()[1:-1].split("|") for line in table.split("\n")]
    cells = ("".join(f"<td>{cell.strip()}</td>" for cell in row) for row in rows[:1] + rows[2:])
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>"


def plain_text(text: str) -> str:
    """The letters, digits and underscores of a text, in which a formula is what it would look like."""
    text = INLINE.sub(lambda match: _shown(match[1] or match[2] or ""), text)
    return re.sub(r"[^\w\u4e00-\u9fff]", "", re.sub(r"\\[tn]|/[tn]", "", text))


def _shown(formula: str) -> str:
    """A formula with Greek letters for their names and no other command; as it is if it has no command or index.

    The script uses pylatexenc, which also keeps accents and writes fonts as mathematical letters.
    """
    if not re.search(r"[\\^_]", formula):
        return f"${formula}$"

    def symbol(match: re.Match[str]) -> str:
        size = "CAPITAL" if match[1][0].isupper() else "SMALL"
        try:
            return unicodedata.lookup(f"GREEK {size} LETTER {match[1].removeprefix('var').upper()}")
        except KeyError:
            return " "

    return re.sub(r"\\([A-Za-z]+)", symbol, formula)


def plain_formula(formula: str) -> str:
    """A formula in small letters without its delimiters, blanks, fonts, spacing, numbers and environments."""
    text = re.sub(r"^(?:\$+|\\\[)|(?:\$+|\\\])$", "", formula.replace("\n", " ").strip())
    text = re.sub(r"\\(?:tag|hspace|begin|end)\{.*?\}|\\arraycolsep.*?\}", "", text)
    return STYLES.sub("", text.strip(".")).lower()


def pair_distance(gold: Sequence[tuple[str, str]], texts: Sequence[str], plain: Callable[[str], str]) -> float | None:
    """Edits of all pairs divided by the lengths of the longer texts; None if no pair counts.

    A piece of the page that has no partner counts as left out. Of texts, those of the answer that have none count as added.
    """
    kept = [(kind, plain(text)) for kind, text in gold if plain(text)]
    said = [text for text in map(plain, texts) if text]
    partners = matched([text for _, text in kept], said)
    pairs = [
        (text, said[at] if at >= 0 else "")
        for (kind, text), at in zip(kept, partners, strict=True)
        if kind not in CAPTIONS
    ]
    if plain is plain_text and kept:
        pairs.append(("", "".join(text for at, text in enumerate(said) if at not in partners)))
    length = sum(max(len(one), len(other)) for one, other in pairs)
    return sum(edit_distance(one, other) for one, other in pairs) / length if length else None
