"""Measures a tiny model with mm-eval on the samples and writes its card: python assets/make/card.py assets/models/tiny-llava

MME and SEED-Bench run under the model's own prompt, under the other model's, under none, and under its own with the pictures
shuffled (every question gets the picture of another one of its category). The samples of the video benchmarks run by the
family's rule of frames, with the videos shuffled, and with the first and the last frame only. Of the samples of release_core
it is counted how many answers can be read, right or wrong. V* Bench runs with the zoom tool and without, where a model was taught
to call it. figures.json keeps each number
with its 95% interval; the tables of README.md, between the marks, are made of it. A test makes both again.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from sample_data import SEED_BENCH
from videos import TYPES as VIDEO_TYPES

from mm_eval.values.types import MetricKey

MODELS = Path(__file__).parent.parent / "models"
DATA = Path(__file__).parent.parent / "data"
PROMPTS = {"tiny-llava": ("default", "qwen_vl"), "tiny-qwen2-vl": ("qwen_vl", "default")}
"""The prompt block that each model was trained on, and the one that the other was."""
VIDEO_TASKS = (
    "videomme", "mvbench", "egoschema_subset", "longvideobench_val_v", "mlvu_dev", "nextqa_mc", "perceptiontest_val_mc",
    "tempcompass_multi_choice",
)  # fmt: skip
"""Benchmarks whose samples ask about drawn videos with options; longvideobench_val_v is the form without subtitles."""
VIDEO_QUESTIONS = {
    "order of the actions": "in which order",
    "first action": " do first",
    "last action": " do last",
    "color": "What is the color",
    "shape": "Which shape is",
}
"""The kinds of question and the words that tell them."""
ZOOMS = {"tiny-qwen2-vl": {"with zoom": "vstar_tools", "without": "vstar"}}
"""Models that were taught to call the zoom tool, and the task with it and the one without."""
RELEASE = "release_core"
TOP = {"mme_perception_score": 2000.0, "mme_cognition_score": 800.0}
MME_TOP, PERCENT = 200.0, 100.0
BEGIN, END = "<!-- figures -->\n", "<!-- end of figures -->\n"
Figure = dict[str, float | None]
Figures = dict[str, dict[str, dict[str, Figure]]]
"""figures[task][run][row] -> value, low and high."""


def shuffled_data(root: Path) -> Path:
    """A data root with the samples' questions, each asked about the picture of another question of its category."""
    import pyarrow.parquet as parquet

    for name, kind, step in (("lmms-lab/MME", "category", 2), ("lmms-lab/SEED-Bench", "question_type_id", 1)):
        [file] = (DATA / name).rglob("*.parquet")
        rows = parquet.read_table(file)
        by_kind: dict[object, list[int]] = {}
        for index, value in enumerate(rows.column(kind).to_pylist()):
            by_kind.setdefault(value, []).append(index)
        source = list(range(rows.num_rows))
        for of_kind in by_kind.values():
            shift = step * (len(of_kind) // (2 * step))
            for place, index in enumerate(of_kind):
                source[index] = of_kind[(place + shift) % len(of_kind)]
        place = rows.schema.get_field_index("image")
        mixed = rows.set_column(place, rows.schema.field(place), rows.column("image").take(source))
        (root / name / "data").mkdir(parents=True)
        parquet.write_table(mixed, root / name / "data" / "test-00000-of-00001.parquet")
    return root


def measure(folder: Path, scratch: Path) -> Figures:
    """All figures of a model; the runs lie in `scratch`."""
    own, other = PROMPTS[folder.name]
    shuffled = shuffled_data(scratch / "shuffled-data")
    everything = ["mme", "seedbench", "seedbench_ppl"]
    runs = {
        "own prompt": run(folder, scratch, everything, own),
        "shuffled": run(folder, scratch, everything, own, data_root=str(shuffled)),
        "other prompt": run(folder, scratch, everything[:2], other),
        "no prompt": run(
            folder, scratch, everything[:2], "none", prompt_blocks={"none": {"pre_prompt": "", "post_prompt": ""}}
        ),
    }
    figures_of_videos: dict[str, dict[str, Figure]] = {}
    for name, how in {
        "own rule": {},
        "shuffled": {"blind": "shuffled"},
        "two frames": {"video": "frames=2,ends"},
    }.items():
        figures_of_videos[name] = _of_videos(run(folder, scratch, list(VIDEO_TASKS), None, **how))
    figures: Figures = {"Samples of release_core": {"own prompt": readable(run(folder, scratch, [RELEASE], own))}}
    figures["Video questions"] = figures_of_videos
    for name, task in ZOOMS.get(folder.name, {}).items():
        recorded = run(folder, scratch, [task], None)
        figures.setdefault("V* Bench", {})[name] = figures_of_zoom(recorded, task)
    for name, recorded in runs.items():
        figures.setdefault("MME", {})[name] = figures_of_mme(recorded)
        figures.setdefault("SEED-Bench by letter", {})[name] = _of_seed_bench(recorded, "seedbench", "seed_all,none")
        if "seedbench_ppl" in recorded.tasks:
            by_text = figures.setdefault("SEED-Bench by the option's text", {})
            by_text[name] = _of_seed_bench(recorded, "seedbench_ppl", "acc,none")
    return figures


def run(folder: Path, scratch: Path, tasks: list[str], prompt: str | None, **more: Any) -> Any:
    from mm_eval import evaluate
    from mm_eval.results.recorded import RecordedRun

    adapter = "llava" if folder.name == "tiny-llava" else "qwen_vl"
    model: dict[str, Any] = {"model": adapter, "model_args": {"pretrained": str(folder)}, "prompt_key": prompt}
    output = scratch / f"{prompt}-{len(list(scratch.iterdir()))}"
    more = {"sample": "data_root" not in more, **more}
    evaluate(tasks=tasks, **model, output_path=str(output), report=False, **more)
    return RecordedRun.read(output)


def _figure(estimate: Any, top: float, scale: float = 1.0) -> Figure:
    low, high = estimate.interval or (None, None)
    if low is None or high is None:
        return {"value": scale * estimate.value, "low": None, "high": None}
    return {"value": scale * estimate.value, "low": max(0.0, scale * low), "high": min(top, scale * high)}


def figures_of_mme(run: Any) -> dict[str, Figure]:
    task = run.tasks["mme"]
    estimates = {key.metric: task.number(key) for key in task.values}
    return {name: _figure(estimate, TOP.get(name, MME_TOP)) for name, estimate in estimates.items()}


def _of_seed_bench(run: Any, name: str, key: str) -> dict[str, Figure]:
    """Accuracies in % over pictures, over videos and by type."""
    task, docs = run.tasks[name], {row["doc_id"]: row["doc"] for row in run.rows(name)}
    rows = {
        "all pictures": [doc_id for doc_id, doc in docs.items() if doc["data_type"] == "image"],
        "all videos": [doc_id for doc_id, doc in docs.items() if doc["data_type"] == "video"],
    }
    for number, kind in enumerate((*SEED_BENCH, *VIDEO_TYPES), 1):
        rows[kind] = [doc_id for doc_id, doc in docs.items() if doc["question_type_id"] == number]
    return {
        row: _figure(task.number(MetricKey.parse(key), of_docs), PERCENT, scale=PERCENT)
        for row, of_docs in rows.items()
    }


def _of_videos(run: Any) -> dict[str, Figure]:
    """Accuracies in % over the questions of all video tasks, and by kind of question; clustered by video."""
    hits: dict[str, list[tuple[float, str]]] = {kind: [] for kind in ("all", *VIDEO_QUESTIONS)}
    for name, task in run.tasks.items():
        asked = {row["doc_id"]: str(row["doc"]["question"]).lower() for row in run.rows(name)}
        for doc_id, value in task.values[MetricKey.parse("acc,none")].items():
            kinds = [kind for kind, words in VIDEO_QUESTIONS.items() if words.lower() in asked[doc_id]]
            for kind in ("all", *kinds):
                hits[kind].append((float(value), f"{name} {task.clusters[doc_id]}"))
    return {kind: _share([hit for hit, _ in found], [of for _, of in found]) for kind, found in hits.items()}


def figures_of_zoom(run: Any, name: str) -> dict[str, Figure]:
    """Accuracies in % over all questions and by category; clustered by picture."""
    task, hits = run.tasks[name], dict[str, list[tuple[float, str]]]()
    values = task.values[MetricKey.parse("acc,none")]
    for row in run.rows(name):
        for kind in ("all", row["doc"]["category"]):
            hits.setdefault(kind, []).append((float(values[row["doc_id"]]), str(task.clusters[row["doc_id"]])))
    return {kind: _share([hit for hit, _ in found], [of for _, of in found]) for kind, found in hits.items()}


def readable(run: Any) -> dict[str, Figure]:
    """The share in % of a run's docs that have an answer which some rule reads, whether it is right or not."""
    hits, docs = [], []
    for name in run.tasks:
        for row in run.rows(name):
            hits.append(float(not all(set(found) == {"unparsed"} for found in row["rules"].values())))
            docs.append(f"{name} {row['doc_id']}")
    return {"readable answers": _share(hits, docs)}


def _share(hits: list[float], clusters: list[str]) -> Figure:
    from mm_eval.scoring.metrics.paired import estimate

    return _figure(estimate(lambda values: sum(values) / len(values), hits, clusters), PERCENT, scale=PERCENT)


def tables(figures: Figures) -> str:
    """The figures as the card shows them."""
    lines: list[str] = []
    for task, runs in figures.items():
        lines += [f"| {task} | " + " | ".join(runs) + " |", "|---" * (len(runs) + 1) + "|"]
        for row in next(iter(runs.values())):
            lines.append(f"| {row} | " + " | ".join(_cell(run[row]) for run in runs.values()) + " |")
        lines.append("")
    return "\n".join(lines)


def _cell(figure: Figure) -> str:
    value, low, high = figure["value"], figure["low"], figure["high"]
    if low is None or high is None or low == high:
        return f"{value:.1f}"
    return f"{value:.1f} ({low:.0f} to {high:.0f})"


def with_tables(card: str, figures: Figures) -> str:
    """A card with its tables made anew, between the marks."""
    head, rest = card.split(BEGIN)
    return head + BEGIN + tables(figures) + END + rest.split(END)[1]


def main() -> None:
    """Writes figures.json and the tables of README.md into each folder that is named."""
    for folder in map(Path, sys.argv[1:]):
        with tempfile.TemporaryDirectory() as scratch:
            figures = measure(folder.resolve(), Path(scratch))
        (folder / "figures.json").write_text(json.dumps(figures, indent=1) + "\n")
        card = folder / "README.md"
        card.write_text(with_tables(card.read_text(encoding="utf-8"), figures), encoding="utf-8")
        print(tables(figures))


if __name__ == "__main__":
    main()
