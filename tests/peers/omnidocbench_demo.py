"""Compares OmniDocBench 1.5 with the authors' script on their demo: 18 pages with a pipeline's Markdown.

`OMNIDOCBENCH_DEMO=CHECKOUT python -m tests.peers.omnidocbench_demo`, where CHECKOUT is one of github.com/opendatalab/OmniDocBench
at v1.5; its pages may not be shipped. The numbers are those that the code of its fork pichiu/OmniDocBench at 7bd6c2e gives with
match_method quick_match, pylatexenc 3.0a30, lxml 4.9.2 and scipy 1.10.1. Printed is each page that differs; ends with 1 for any.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mm_eval.tasks.omnidocbench.utils import process_results

from mm_eval.scoring.process_results import NO_VALUE

VARIABLE = "OMNIDOCBENCH_DEMO"
PAGES = Path("demo_data/omnidocbench_demo/OmniDocBench_demo.json")
ANSWERS = Path("demo_data/end2end")
NUMBERS: list[tuple[float, float | None, float, list[float], list[float]]] = [
    # text, formulas, order, TEDS and structure of each table
    (0.0, None, 0.0, [], []),
    (0.007576, None, 0.0, [], []),
    (0.126842, None, 0.133333, [0.702065], [0.942529]),
    (0.233978, 0.306028, 0.0, [], []),
    (0.78053, None, 0.0, [], []),
    (0.030556, None, 0.0, [0.747795], [0.759259]),
    (0.403614, None, 0.0, [0.965889], [1.0]),
    (0.242075, None, 0.0, [], []),
    (0.048951, None, 0.166667, [0.882353], [0.882353]),
    (0.015278, 0.331862, 0.0, [], []),
    (0.060241, None, 0.0, [0.999505], [1.0]),
    (0.882172, None, 0.535714, [], []),
    (0.825455, None, 0.0, [0.524826], [0.833333]),
    (0.337711, None, 0.076923, [0.872959], [1.0]),
    (0.99987, None, 0.986301, [], []),
    (0.124104, None, 0.0, [], []),
    (0.614685, None, 0.466667, [0.581818, 0.692296], [0.833333, 0.936508]),
    (0.590068, None, 0.538462, [0.868619], [0.928571]),
]
NAMES = ("text_edit_distance", "formula_edit_distance", "reading_order_edit_distance")


def numbers_of(page: Any, answer: str) -> list[Any]:
    """The numbers of a page in the order of NUMBERS, with six digits."""
    scores = process_results(page, [answer])
    scores = {} if scores is NO_VALUE else scores
    values = [scores.get(name) for name in NAMES]
    tables = [scores.get(name, {"tables": []})["tables"] for name in ("table_teds", "table_teds_structure")]
    rounded = [None if value is None else round(value, 6) for value in values]
    return [*rounded, *([round(value, 6) for value in each] for each in tables)]


def different(checkout: Path) -> Iterator[str]:
    """The pages whose numbers are not the authors'."""
    pages: Sequence[Any] = json.loads((checkout / PAGES).read_text(encoding="utf-8"))
    for page, expected in zip(pages, NUMBERS, strict=True):
        name = page["page_info"]["image_path"]
        found = numbers_of(page, (checkout / ANSWERS / f"{name[:-4]}.md").read_text(encoding="utf-8"))
        if found != list(expected):
            yield f"{name}: {found}, the authors have {list(expected)}"


def main() -> int:
    """Prints what differs."""
    if not (checkout := os.environ.get(VARIABLE)):
        print(f"{VARIABLE} names no checkout of OmniDocBench.")
        return 2
    found = list(different(Path(checkout)))
    print(*found, f"{len(NUMBERS) - len(found)} of {len(NUMBERS)} pages are equal.", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
