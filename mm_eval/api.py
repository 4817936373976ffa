"""The command line as one Python call, with results as objects.

from mm_eval import evaluate
results = evaluate(model="hf", model_args={"pretrained": "llava-hf/llava-1.5-7b-hf"}, tasks=["mme"], limit=100)
results["mme"]["mme_perception_score"].value
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mm_eval.errors import ConfigError, did_you_mean
from mm_eval.types import Number

if TYPE_CHECKING:
    from mm_eval.run import Report


@dataclass(frozen=True)
class TaskResult:
    """A row of the table: a task's or group's numbers, and how many docs failed, were unparsed, truncated or never requested,
    and how many had a prompt that was cut.

    result["acc"] is a number by its metric, or by "metric,filter" where several filter pipelines have it.
    """

    name: str
    numbers: tuple[Number, ...]
    n: int
    failed: int
    unparsed: int
    truncated: int
    cut: int = 0
    not_requested: int = 0

    def __getitem__(self, metric: str) -> Number:
        found = [number for number in self.numbers if metric in (number.metric, f"{number.metric},{number.filter}")]
        if len(found) != 1:
            known = [f"{number.metric},{number.filter}" for number in self.numbers]
            said = (
                f"{len(found)} filter pipelines have {metric!r}" if found else f"{self.name} has no number {metric!r}"
            )
            raise KeyError(f"{said}. {did_you_mean(metric, known)}")
        return found[0]


@dataclass(frozen=True)
class Results:
    """What a run came to. `exit_code` is the command's: 0 all scored, 3 some requests failed, 130 interrupted.

    folder: the run folder, with report.html in it. raw: results.json as a mapping.
    """

    report: Report

    @property
    def folder(self) -> Path:
        return self.report.folder

    @property
    def exit_code(self) -> int:
        return self.report.exit_code

    @property
    def raw(self) -> dict[str, Any]:
        return self.report.results

    @property
    def tasks(self) -> dict[str, TaskResult]:
        """Every row of the table by name, groups too, in the table's order."""
        return {name: self[name] for name, _ in self.report.order}

    def __getitem__(self, name: str) -> TaskResult:
        rows = self.raw.get("results", {})
        if name not in rows:
            raise KeyError(f"this run has no task {name!r}. {did_you_mean(name, rows)}")
        from mm_eval.runs.results import numbers_of

        row = rows[name]
        numbers = tuple(numbers_of(row, self.raw["higher_is_better"].get(name, {})))
        counts = (
            row["n"],
            row["failed"],
            row["unparsed"],
            row["truncated"],
            row.get("cut", 0),
            row.get("not_requested", 0),
        )
        return TaskResult(name, numbers, *counts)

    def samples(self, task: str) -> Iterator[dict[str, Any]]:
        """The rows of samples/<task>.jsonl: prompt, answer, extracted answer, rule, score."""
        from mm_eval.runs.recorded import RecordedRun

        self[task]
        return RecordedRun.read(self.folder).rows(task)

    def table(self) -> str:
        """What the command prints."""
        from mm_eval.report.run_table import render

        return render(self.report)

    def to_pandas(self) -> Any:
        """A pandas.DataFrame, one row a number: task, metric, filter, value, stderr, n, failed, unparsed, truncated, cut."""
        import pandas

        return pandas.DataFrame(list(self._records()))

    def _records(self) -> Iterator[dict[str, Any]]:
        for name, task in self.tasks.items():
            counts = {name: getattr(task, name) for name in ("n", "failed", "unparsed", "truncated", "cut")}
            for number in task.numbers:
                shown = {"task": name, "metric": number.metric, "filter": number.filter, "value": number.value}
                yield {**shown, "stderr": number.stderr, **counts}

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        """The table as a notebook shows it."""
        from mm_eval.report.run_table import number_text
        from mm_eval.report.safe import html
        from mm_eval.runs.results import warnings_of

        columns = ("task", "metric", "value", "stderr", "n", "failed", "unparsed")
        head = "".join(f"<th>{column}</th>" for column in columns)
        body = []
        for record in self._records():
            digits = 2 if abs(record["value"] or 0) >= 2 else 4
            cells = [number_text(v, digits) if isinstance(v := record[c], float | None) else str(v) for c in columns]
            body.append("<tr>" + "".join(f"<td>{html(cell)}</td>" for cell in cells) + "</tr>")
        sample = "<p>sample data, not the benchmarks</p>" if self.raw.get("run", {}).get("sample") else ""
        sample += "".join(f"<p>{html(said)}</p>" for said in warnings_of(self.raw)) if self.raw else ""
        return f"{sample}<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def evaluate(
    tasks: str | Sequence[str],
    model: str | None = None,
    model_args: Mapping[str, Any] | None = None,
    *,
    progress: bool = False,
    **options: Any,
) -> Results:
    """Runs `mm-eval run` in this process, or goes on with a run, and returns its results.

    options: those of the command under the same names (limit, output_path, prompt_key, num_fewshot, sample, ...).
    progress: bars on the error stream. Errors: ConfigError when nothing was asked; what fails later is in the results.
    """
    from mm_eval.report.progress import Progress
    from mm_eval.request import COMMAND_NAMES, RunRequest, by_field, check_options, task_names
    from mm_eval.run import evaluate as run

    known = [each.name for each in fields(RunRequest)]
    for name in options:
        if name not in known and name not in COMMAND_NAMES.values():
            raise ConfigError(f"evaluate takes no option {name!r}.", hint=did_you_mean(name, known))
    options = by_field(options, "evaluate")
    arguments: Any = model_args
    if isinstance(model_args, Mapping):  # a path, a dtype: as the command line would have it
        arguments = {
            name: value if isinstance(value, (str, Mapping, list)) else str(value) for name, value in model_args.items()
        }
    check_options({**options, "model": model, "model_args": arguments}, "evaluate")
    names = task_names(tasks, "evaluate")
    request = RunRequest(tasks=names, model=model, model_args=arguments or {}, **options)
    return Results(run(request, Progress() if progress else None))
