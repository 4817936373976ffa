"""What the verbs of this folder share: variants of a run are asked one after the other, compared, written and shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from mm_eval.cli.say import say, say_lines, say_report
from mm_eval.engine.folder import RunFolder
from mm_eval.engine.model import closing_model
from mm_eval.engine.progress import Progress
from mm_eval.prepare import Prepared
from mm_eval.request import RunRequest
from mm_eval.results.table import terminal_width
from mm_eval.run import Report, run
from mm_eval.scoring.run_results import INTERRUPTED
from mm_eval.verbs.study.variants import Variants
from mm_eval.verbs.study.variants_text import as_json, render, write_page


def run_trials(
    trials: Mapping[str, Prepared],
    progress: Progress,
    begin: Callable[[str, Prepared], None] = lambda label, trial: None,
) -> dict[str, Report]:
    """The reports of some runs, by their names, up to one that is interrupted. One model is held at a time.

    begin: called before each, to say where it is recorded.
    """
    reports: dict[str, Report] = {}
    for model in {id(trial.model): trial.model for trial in trials.values()}.values():
        with closing_model(model):
            of_model = {label: trial for label, trial in trials.items() if trial.model is model}
            for trial in of_model.values():
                trial.check_generation()
            for label, trial in of_model.items():
                begin(label, trial)
                reports[label] = run(trial, progress)
                if reports[label].exit_code == INTERRUPTED:
                    return reports
    return {label: reports[label] for label in trials}


def sharing(trial: Prepared, others: Mapping[str, Prepared]) -> Prepared:
    """The trial with the model of another one that loads the same."""
    for other in others.values():
        if _loads(other.request) == _loads(trial.request):
            return replace(trial, model=other.model)
    return trial


def _loads(request: RunRequest) -> tuple[object, ...]:
    return dict(request.model_args), request.chat_template


def folders_of(reports: Mapping[str, Report]) -> dict[str, Path]:
    """The folders of the runs that have results: of several processes only the first one has."""
    return {label: report.folder for label, report in reports.items() if report.results}


def show_study(studies: Sequence[Variants], output: Path, name: str, form: str, notes: Sequence[str] = ()) -> None:
    """Writes NAME.json and the page NAME.html to a folder, and says what they hold. form: "text" or "json"."""
    text = as_json(studies)
    RunFolder(output).write(f"{name}.json", text)
    page = write_page(output / f"{name}.html", studies)
    if form == "json":
        say_lines(text)
        return
    say_report(render(studies, terminal_width()) + "\n")
    if notes:
        say_report("\n".join(f"note: {note}" for note in notes))
    say(f"page with the flips: {page}")
    say(f"run folders: {output}")
