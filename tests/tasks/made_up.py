"""Docs made for a test in the schema of a bundled sample, and answers to them that are replayed through the task that ships."""

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.conftest import ROOT, Ran
from tests.papers.recordings import write_answers


@dataclass(frozen=True)
class MadeUp:
    """A split of a dataset whose rows are those of the bundled sample, apart from the columns that a test states."""

    task: str
    hub_id: str
    split: str
    config: str = "default"
    other_configs: Sequence[str] = field(default=())

    def table(self, config: str) -> pa.Table:
        """The bundled sample of a configuration."""
        return pq.read_table(ROOT / "assets" / "data" / self.hub_id / config / f"{self.split}-00000-of-00001.parquet")

    def write(self, root: Path, changes: Sequence[Mapping[str, Any]]) -> Path:
        """Writes one row for each change below a data root."""
        rows = self.table(self.config)
        first = rows.slice(0, 1).to_pylist()[0]
        made = {self.config: pa.Table.from_pylist([{**first, **change} for change in changes], schema=rows.schema)}
        made |= {config: self.table(config) for config in self.other_configs}
        card = "---\nconfigs:\n"
        for config, table in made.items():
            folder = root / self.hub_id / config
            folder.mkdir(parents=True, exist_ok=True)
            pq.write_table(table, folder / f"{self.split}-00000-of-00001.parquet")
            card += f"- config_name: {config!r}\n  data_files:\n"
            card += f"  - split: {self.split}\n    path: '{config}/{self.split}-*'\n"
        for file in (ROOT / "assets" / "data" / self.hub_id).iterdir():  # archives of videos
            if file.is_file() and file.name != "README.md":
                shutil.copy(file, root / self.hub_id / file.name)
        (root / self.hub_id / "README.md").write_text(card + "---\n", encoding="utf-8")
        return root

    def run(
        self,
        cli: Callable[..., Ran],
        folder: Path,
        changes: Sequence[Mapping[str, Any]],
        answers: Sequence[str],
        task: str = "",
        options: Sequence[Any] = (),
    ) -> Ran:
        """The run in which each of these docs gets its answer."""
        task = task or self.task
        replay = write_answers(folder / f"{task}.jsonl", {task: answers})
        root = self.write(folder / "data", changes)
        output = folder / f"run_{task}"
        ran = cli(
            *("--tasks", task, "--model", "replay", "--model_args", f"path={replay}", "--data_root", root),
            *("--output_path", output, *options),
        )
        assert ran.code == 0, ran.err
        return ran

    def scores(
        self, cli: Callable[..., Ran], folder: Path, docs: Any, answers: Any, key: str, task: str = ""
    ) -> list[Any]:
        """The score of each doc under a result key."""
        ran = self.run(cli, folder, docs, answers, task)
        return [row["scores"][key] for row in ran.samples(task or self.task)]


def categories(ran: Ran, task: str, level: str, key: str) -> dict[str, Any]:
    """The number of each category of a level, in the order of results.json."""
    return {name: row.get(key) for name, row in ran.results["categories"][task][level].items()}


def prompt(cli: Callable[..., Ran], task: str, key: str | None = None, doc: int = 0) -> str:
    """The text that a model with this prompt key gets for a doc of the bundled sample."""
    ran = cli("show", task, "--sample", "--model", "dummy", "--doc", doc, *(["--prompt_key", key] if key else []))
    assert ran.code == 0, ran.err
    return re.search(r"-{5,} prompt\n(.*?)\n-{5,} end of prompt", ran.out, re.DOTALL)[1]


SHORT = "\nAnswer the question using a single word or phrase."
QWEN2 = "\nPlease try to answer the question with short words or phrases if possible."
QWEN3 = "\nPlease answer concisely with short words or phrases when possible."
ENDINGS = {
    "llava": SHORT,
    "internvl": SHORT,
    "qwen_vl": " Answer:",
    "qwen2_vl": QWEN2,
    "qwen2_5_vl": SHORT,
    "qwen3_vl": SHORT,
    "qwen_custom": QWEN2,
    "qwen3_custom": QWEN3,
}
"""What the prompts of each model family end with in short-answer benchmarks."""
