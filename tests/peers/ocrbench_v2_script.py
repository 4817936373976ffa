"""Compares OCRBench v2's rules with those of the authors' script, answer by answer.

`python -m tests.peers.ocrbench_v2_script CHECKOUT`, where CHECKOUT is one of github.com/Yuliang-Liu/MultimodalOCR, in an
environment with its packages (OCRBench_v2/requirements.txt; ipdb and Polygon3 are not needed). Each document of the sample, and
changed ones, get right, changed and broken answers. Printed are the pairs by type and each difference; ends with 1 for any.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow.parquet as pq
from mm_eval.tasks.ocrbench_v2 import utils, with_meteor

from tests.conftest import ROOT

SAMPLE = ROOT / "assets" / "data" / "ling99" / "OCRBench_v2" / "default" / "test-00000-of-00001.parquet"
FORMS = (
    "{}", "", " ", "The answer is {}.", "({})", "**{}**", "```json\n{}\n```", "```python\nfound = {} # seen\n```",
    "```html\n{}\n```",
    "```markdown\n{}\n```", "{} {}", "\n{}\n", "[{}]", "# {}\n\n{}", "See:\n\n{}\n\nDone.", "<body>{}</body>", "<html>{}</html>",
)  # fmt: skip
PIECES = (
    " ", "\n", "a", "B", "7", "12", "0", "-", "#", "*", "_", ",", ", ", "，", ":", "{", "}", "[", "]", "(", ")", '"', "'", "|",
    "|---|",
    "<td>", "</td>", "<tr>", "</tr>", "<b>x</b>", "<table>", "</table>", "<td colspan=2>", "<th>h</th>", "&amp;", "<",
    "\\text{v}",
    "\\", "港", "口。", "ferry ", "Ferries ", "the ", "# Tides\n", "## Oslo\n", "Oslo", "###", "!", "None", "True", "500", "1001",
    "12.5",
)  # fmt: skip


class Polygon:
    """An upright box in place of Polygon3's polygon."""

    def __init__(self, corners: Any = ()) -> None:
        points = [(float(x), float(y)) for x, y in corners]
        self.box = (
            (min(x for x, _ in points), min(y for _, y in points), max(x for x, _ in points), max(y for _, y in points))
            if points
            else (0.0, 0.0, 0.0, 0.0)
        )

    def area(self) -> float:
        return (self.box[2] - self.box[0]) * (self.box[3] - self.box[1])

    def __and__(self, other: Polygon) -> Polygon:
        left, top = max(self.box[0], other.box[0]), max(self.box[1], other.box[1])
        right, bottom = min(self.box[2], other.box[2]), min(self.box[3], other.box[3])
        return Polygon([(left, top), (right, bottom)] if left < right and top < bottom else ())

    def __len__(self) -> int:
        return int(self.area() > 0)


def script(checkout: Path) -> ModuleType:
    """The authors' eval.py, with its neighbours."""
    for name, members in {"ipdb": {"set_trace": _stop}, "Polygon": {"Polygon": Polygon}}.items():
        sys.modules[name] = ModuleType(name)
        vars(sys.modules[name]).update(members)
    sys.path.insert(0, str(checkout / "OCRBench_v2" / "eval_scripts"))
    with contextlib.redirect_stdout(io.StringIO()):
        import eval as found  # type: ignore[import-not-found]
    return found  # type: ignore[no-any-return]


def _stop() -> None:
    raise RuntimeError("the script stops here")


def theirs(found: ModuleType, doc: dict[str, Any], answer: str) -> float | None | str:
    """The script's score; None for a document that it leaves out; the error's name where it stops."""
    item = {"type": doc["type"], "question": doc["question"], "predict": answer, "answers": list(doc["answers"])}
    if doc["eval"] != "None":
        item["eval"] = doc["eval"]
    if doc["type"] == "chart parsing en":
        item["answers"] = [json.loads(doc["answers"][0])]
    if doc["type"] == "text grounding en":
        item["answers"] = [int(each) for each in doc["answers"]]
    item["bbox"] = doc["bbox_list"] if doc["type"] == "text spotting en" else doc["bbox"]
    item["content"] = doc["content"]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("in.json").write_text(json.dumps([item]), encoding="utf-8")
        os.makedirs("eval_scripts/spotting_eval")
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                found.process_predictions("in.json", "out.json")
        except Exception as error:  # whatever the script stops with
            return type(error).__name__
        scored = json.loads(Path("out.json").read_text(encoding="utf-8"))[0]
    return None if "ignore" in scored else float(scored["score"])


def changed(stream: random.Random, text: str) -> str:
    """A text with some pieces left out, doubled or put in."""
    for _ in range(stream.choice((0, 1, 1, 2, 4, 8))):
        at, size = stream.randrange(len(text) + 1), stream.choice((0, 0, 1, 3, 9))
        text = text[:at] + stream.choice((stream.choice(PIECES), text[at : at + size] * 2, "")) + text[at + size :]
    return text


def pairs(times: int) -> Iterator[tuple[dict[str, Any], str]]:
    """Documents and answers."""
    docs = [{**row, "image": None} for row in pq.read_table(SAMPLE).to_pylist()]
    for number, doc in enumerate(docs):
        stream = random.Random(number)
        gold = utils.gold_answer(doc)
        for _ in range(times):
            yield doc, stream.choice(FORMS).replace("{}", changed(stream, gold))
        if doc["type"].startswith(
            ("document", "table parsing en", "text spotting", "cognition", "full-page", "text counting")
        ):
            for _ in range(times):
                more = dict(doc)
                if doc["type"] == "text spotting en":
                    more["content"] = [changed(stream, each).replace("\n", "") or "x" for each in doc["content"]]
                elif doc["type"] != "text counting en":
                    more["answers"] = [changed(stream, doc["answers"][0])]
                yield (
                    more,
                    stream.choice(FORMS).replace(
                        "{}", changed(stream, stream.choice((gold, more["answers"] and more["answers"][0] or gold)))
                    ),
                )


def main(argv: Sequence[str]) -> int:
    """Prints what differs."""
    found, times = script(Path(argv[0]).resolve()), int(argv[1]) if len(argv) > 1 else 40
    same, stopped, differ = Counter[str](), Counter[str](), Counter[str]()
    for doc, answer in pairs(times):
        score = theirs(found, doc, answer)
        kind = doc["type"]
        if isinstance(score, str):
            stopped[kind] += 1
            utils.process(doc, [answer], with_meteor.process_results.keywords["text"])
            continue
        values = with_meteor.process_results(doc, [answer])
        own = next((value[1] for name, value in values.items() if name != "by_question"), None)
        equal = own is score if own is None or score is None else abs(own - score) < 2e-06
        (same if equal else differ)[kind] += 1
        if not equal:
            print(f"{kind}: ours {own}, theirs {score}: {answer!r} for {doc['answers']!r} {doc['content']!r}")
    for kind in sorted({*same, *differ, *stopped}):
        print(f"{kind}: {same[kind]} equal, {differ[kind]} differ; the script stopped at {stopped[kind]}")
    print(f"in all: {same.total()} equal, {differ.total()} differ; the script stopped at {stopped.total()}")
    return int(bool(differ))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
