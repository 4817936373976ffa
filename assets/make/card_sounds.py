"""Measures the tiny model that hears on the sample of MMAU and writes its card: python assets/make/card_sounds.py

MMAU's test-mini sample is asked as it is, without its sounds, and with those of other documents. figures.json keeps each accuracy
in % with its 95% interval; the table of README.md, between the marks, is made of it. A test makes both again.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

from card import Figures, _share, tables, with_tables

MODEL = Path(__file__).parent.parent / "models" / "tiny-qwen2-audio"
RUNS = {"with its sound": None, "without": "without", "another's sound": "shuffled"}
"""How the questions are asked, and the value of --blind."""


def run(folder: Path, blind: str | None) -> Any:
    """The finished run of the sample."""
    from mm_eval import evaluate
    from mm_eval.results.recorded import RecordedRun

    more: dict[str, Any] = {"blind": blind} if blind else {}
    evaluate(tasks=["mmau_mini"], model=MODEL.name, sample=True, output_path=str(folder), report=False, **more)
    return RecordedRun.read(folder)


def figures_of(recorded: Any) -> dict[str, Any]:
    """Accuracies in % over all questions, and by what is asked for."""
    from mm_eval.values.types import MetricKey

    task = recorded.tasks["mmau_mini"]
    values = task.values[MetricKey.parse("acc,none")]
    hits: dict[str, list[tuple[float, str]]] = {"all questions": []}
    for row in recorded.rows("mmau_mini"):
        for kind in ("all questions", row["doc"]["sub-category"]):
            hits.setdefault(kind, []).append((float(values[row["doc_id"]]), str(row["doc_id"])))
    return {kind: _share([hit for hit, _ in found], [of for _, of in found]) for kind, found in hits.items()}


def main() -> None:
    """Writes figures.json and the table of README.md."""
    with tempfile.TemporaryDirectory() as scratch:
        figures: Figures = {
            "MMAU": {
                name: figures_of(run(Path(scratch) / str(place), blind))
                for place, (name, blind) in enumerate(RUNS.items())
            }
        }
    (MODEL / "figures.json").write_text(json.dumps(figures, indent=1) + "\n")
    card = MODEL / "README.md"
    card.write_text(with_tables(card.read_text(encoding="utf-8"), figures), encoding="utf-8")
    print(tables(figures))


if __name__ == "__main__":
    main()
