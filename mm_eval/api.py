"""Evaluation from Python: `mm-eval run` as one call, its results as objects.

from mm_eval import evaluate
results = evaluate(model="hf", model_args={"pretrained": "llava-hf/llava-1.5-7b-hf"}, tasks=["mme"], limit=100)
results["mme"]["mme_perception_score"].value
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any

from mm_eval.scoring.sample_row import SampleRow
from mm_eval.values.errors import did_you_mean

if TYPE_CHECKING:
    from mm_eval.run import Report
    from mm_eval.scoring.task_scores import Scores


@dataclass(frozen=True, repr=False)
class Results(Mapping[str, "Scores"]):
    """The results of a run: a mapping of tasks and groups to rows of the table, in its order. results["mme"] is one of them.

    print(results) shows the table; repr(results) is one line.

    folder: the run folder, with report.html in it. raw: results.json as a mapping.
    exit_code: the command's: 0 all scored, 3 some requests failed, 130 interrupted.
    """

    report: Report

    @property
    def folder(self) -> Path:
        return self.report.folder

    @property
    def exit_code(self) -> int:
        return self.report.exit_code

    @cached_property
    def raw(self) -> dict[str, Any]:
        from mm_eval.results.file import results_json

        return results_json(self.report.results) if self.report.results else {}

    @property
    def tasks(self) -> dict[str, Scores]:
        """Every row of the table by name, groups too, in the table's order."""
        return {name: self[name] for name, _ in self.report.order}

    @property
    def categories(self) -> dict[str, dict[str, dict[str, Scores]]]:
        """{task: {level: {category: its numbers}}} of the tasks that state `categories`."""
        return self.report.results.categories if self.report.results else {}

    def __getitem__(self, name: str) -> Scores:
        rows = self.report.results.rows if self.report.results else {}
        if name not in rows:
            raise KeyError(f"this run has no task {name!r}. {did_you_mean(name, rows)}")
        return rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(name for name, _ in self.report.order)

    def __len__(self) -> int:
        return len(self.report.order)

    def samples(self, task: str) -> Iterator[SampleRow]:
        """The rows of samples/<task>.jsonl: prompt, answer, extracted answer, rule, score."""
        from mm_eval.results.recorded import RecordedRun

        self[task]
        return RecordedRun.read(self.folder).rows(task)

    def table(self, categories: bool = False) -> str:
        """The table that the command prints. categories: with every category, however many there are."""
        from mm_eval.results.run_table import render

        return render(replace(self.report, categories=True) if categories else self.report)

    def to_pandas(self) -> Any:
        """A pandas.DataFrame, one row a number: task, metric, filter, value, stderr, n, then the counts."""
        import pandas

        return pandas.DataFrame(list(self._records()))

    def _records(self) -> Iterator[dict[str, Any]]:
        for name, task in self.tasks.items():
            counts = {
                name: getattr(task, name)
                for name in ("n", "failed", "filtered", "refused", "truncated", "unparsed", "cut")
            }
            for number in task.numbers:
                shown = {"task": name, "metric": number.metric, "filter": number.filter, "value": number.value}
                yield {**shown, "stderr": number.stderr, **counts}

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        """The first rows in one line, and the folder."""
        shown = [repr(row).removeprefix("Scores(").removesuffix(")") for row in list(self.tasks.values())[:2]]
        more = [f"{len(self) - 2} more"] if len(self) > 2 else []
        return f"Results({'; '.join([*shown, *more, f'folder {self.folder}'])})"

    def _repr_html_(self) -> str:
        """The table as a notebook shows it."""
        from mm_eval.results.number_text import IN_PERCENT
        from mm_eval.results.run_table import unit_in
        from mm_eval.results.table import Column, Row, Table, to_html
        from mm_eval.values.safe import html

        columns = [Column(title) for title in ("task", "metric", "value", "stderr", "n", "failed", "unparsed")]
        numbers = [(task, number) for task in self.tasks.values() for number in task.numbers]
        units = [unit_in(task, number) for task, number in numbers]
        rows = [
            Row({key: unit.text(value) if isinstance(value, float | None) else value for key, value in record.items()})
            for record, unit in zip(self._records(), units, strict=True)
        ]
        notes = [IN_PERCENT] if any(unit.is_percent for unit in units) else []
        results = self.report.results
        above = "<p>sample data, not the benchmarks</p>" if results and results.run.sample else ""
        above += "".join(f"<p>{html(warning)}</p>" for warning in results.warnings) if results else ""
        return above + to_html(Table(columns, rows, notes))


def evaluate(
    tasks: str | Sequence[str] = (),
    model: object = None,
    model_args: Mapping[str, object] | str | None = None,
    *,
    processor: object = None,
    identity: str | Mapping[str, object] | None = None,
    progress: bool = False,
    **options: object,
) -> Results:
    """Runs `mm-eval run` in this process, or resumes a run, and returns its results.

        evaluate("mme", "hf", {"pretrained": "llava-hf/llava-1.5-7b-hf"})
        evaluate("mme", trainer.model, processor=processor)
        evaluate("mme", lambda messages: "yes")

    tasks: needed, unless another option names them, as a named report does for its benchmarks.
    model: a name, or a model in memory: a module or a pipeline of transformers, a function of chat messages (`Message`) that
        returns a text, or an object or class of `Model`. A module and all random streams are left as they were.
    processor: of a module; its tokenizer for a model of text.
    identity: names the state of a model in memory. Without it the answers of a function are never reused.
    model_args, and gen_kwargs of the options: mappings, or the text of the command, "name=value,name=value".
    options: those of the command under the same names (limit, output_path, prompt_key, num_fewshot, sample, ...). One of another
        suite that does nothing here (log_samples) is a note. `task_manager=TaskManager(folder)` is `include_path=folder`.
    progress: shows bars on the error stream.
    Errors: ConfigError when nothing was requested; what fails later is in the results.
    """
    from mm_eval.adapters import model_settings
    from mm_eval.cli.progress import ProgressBar
    from mm_eval.engine.launch import all_together
    from mm_eval.engine.model import MODELS
    from mm_eval.prepare import names_tasks
    from mm_eval.request import IN_MEMORY, RunRequest, check_options, model_arguments, task_names
    from mm_eval.run import evaluate as run
    from mm_eval.values.errors import ConfigError

    options, notes = _read(options)
    if "bootstrap_iters" in options and options["bootstrap_iters"] is None:  # as in lm-eval, and not "not given"
        options["bootstrap_iters"] = 0
    if isinstance(model_args, str):
        from mm_eval.cli.options import read_pairs

        model_args = read_pairs(model_args, "model_args")
    if model_args is not None and not isinstance(model_args, Mapping):
        check_options({"model_args": model_args}, "evaluate")
    args = dict(model_args or {})
    if model == "hf" and not isinstance(args.get("pretrained"), (str, PathLike, NoneType)):
        model, processor = args.pop("pretrained"), args.pop("processor", processor) or args.pop("tokenizer", None)
    thing = None if model is None or isinstance(model, str) else model
    given = {**options, "model_args": model_arguments(args)}
    given["model"] = model if thing is None else IN_MEMORY
    check_options(given, "evaluate")
    by_option = not tasks and names_tasks(RunRequest.of_options(**given))
    names = () if by_option else task_names(tasks, "evaluate")
    request, bar = RunRequest.of_options(names, **given), ProgressBar() if progress else None
    if thing is None:
        if processor is not None or identity is not None:
            which = "processor" if processor is not None else "identity"
            raise ConfigError(
                f"{which}= belongs to a model in memory.", where="evaluate", hint="Give the model itself."
            )
        report = run(request, bar)
        report.notes += notes
        return Results(report)
    if request.ray.executor is not None:
        raise ConfigError("a model in memory can't be sent to workers.", where="executor", hint="Leave it out.")
    memory: Any = MODELS.get(IN_MEMORY)
    keywords = args if memory.takes_keywords(thing) else request.model_args  # as they were given, not as text
    held = memory.held(thing, keywords, model_settings(request), processor, identity)
    with all_together(), held as adapter:
        named = replace(request, name=request.name or adapter.facts.name or type(adapter).__name__, model_args={})
        report = run(named, bar, adapter)
        report.notes += [*memory.notes_on(adapter), *notes]
    return Results(report)


def _read(options: Mapping[str, object]) -> tuple[dict[str, Any], list[str]]:
    """The options of `evaluate` by their names in a request, and a note for each of another suite that does nothing here."""
    from mm_eval.cli.options import read_pairs
    from mm_eval.request import RULES, by_field
    from mm_eval.values.errors import ConfigError

    given, notes = by_field(options, "evaluate"), []
    if given.keys() - RULES.keys():
        from mm_eval.aliases.command import options_of

        given, more = options_of(given, RULES)
        notes += more
    for name in ("gen_kwargs", "metadata"):
        if isinstance(given.get(name), str):
            given[name] = read_pairs(given[name], name, typed=True)
    if (manager := given.pop("task_manager", None)) is not None:
        folders = getattr(manager, "include_path", None)
        if (
            given.get("include_path")
            or not isinstance(folders, list)
            or len(folders) > 1
            or not manager.include_defaults
            or manager.metadata
            and given.get("metadata") is not None
        ):
            hint = "Leave it out, and give include_path=FOLDER, metadata={...}."
            raise ConfigError("task_manager= is for one folder of tasks.", where="evaluate", hint=hint)
        given["include_path"] = str(folders[0]) if folders else None
        if manager.metadata:
            given["metadata"] = manager.metadata
    return given, notes
