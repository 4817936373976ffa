"""MIA-Bench: the 400 instructions have only types of components that the task counts. No verdicts are recorded."""

from mm_eval.tasks.mia_bench.utils import ORDINALS, components_text, weights_text

from mm_eval.config.manager import TaskManager
from tests.papers.recordings import Recording

COMMIT = "5422852d98cb167390da9501200360860435efb1"
INSTRUCTIONS = Recording("apple/ml-mia-bench", COMMIT, "instruction_benchmark_all.json")


def test_every_instruction_fits_the_prompt_and_the_metrics() -> None:
    rows = INSTRUCTIONS.json()
    judge = TaskManager().load("mia_bench").tasks["mia_bench"].judge
    metrics = [entry["metric"] for entry in judge.metric_list]
    assert len(rows) == 400
    assert {kind for row in rows for kind in row["component_type"]} == set(metrics) - {"judge_score"}
    for row in rows:
        assert len(row["components"]) == len(row["component_weight"]) == len(row["component_type"]) <= len(ORDINALS)
        assert all(part in components_text(row) for part in row["components"])
        assert weights_text(row).endswith(f" and {row['component_weight'][-1]} scores.")
