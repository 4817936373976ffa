"""Whether the first rows of real data are those that a task was written for: gold answers, and columns of a shipped task.

A data set moves, a column gets another type, "B" becomes 1: nothing fails, and every answer is wrong. `first_rows` looks at a few
rows before the first request of a run and says so in one sentence for each task; `mm-eval validate` looks at all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from mm_eval.config.functions import FunctionRef, runs_elsewhere
from mm_eval.config.task_config import TaskConfig
from mm_eval.data.manifest import KnownDataSet, known_data_set
from mm_eval.gold_checks.trial import Trial, TrialResult
from mm_eval.open_tasks import OpenedTasks
from mm_eval.prompt.task import EVALUATION_SPLITS, Task
from mm_eval.values.errors import MMEvalError
from mm_eval.values.types import Fields
from mm_eval.values.words import counted

FIRST = 8
"""How many rows are looked at before a run."""
KINDS = {
    "string": "text", "large_string": "text", "int": "number", "uint": "number", "float": "number", "double": "number",
    "bool": "bool", "image": "picture", "struct": "record",
}  # fmt: skip
"""Types that mean the same to a task, by how their names begin."""


def first_rows(opened: OpenedTasks) -> Iterator[str]:
    """A note for each task whose real data surprises; none for sample data, and for shipped data sets without recorded facts."""
    for name, task in opened.tasks.items():
        if not task.config.is_shipped:
            if said := _own_gold_that_fails(opened, name, task):
                yield f"{name}: {said}"
            continue
        if _known(task) is None:
            continue
        found = columns_that_differ(task)
        if not found and not opened.request.predict_only:
            found = _gold_that_fails(opened, name, task)
        if found:
            yield f"{name}: {'; '.join(found)}: its scores may be wrong. `mm-eval validate {name}` checks all rows."


@dataclass(frozen=True)
class Validated:
    """What was checked of a task, in words. grades_all: no doc has a value without the judge's answers."""

    said: str
    grades_all: bool = False


def validated(task: Task, doc_ids: Sequence[int]) -> list[Validated]:
    """What there is to check of a task's judge and of its submission file without any model. MMEvalError for a fault."""
    found = []
    if task.config.is_judged:
        from mm_eval.judge.checking import check_judge
        from mm_eval.judge.config import judge_of_task

        if (judge := judge_of_task(task.config)) is not None:
            found.append(Validated(check_judge(task, doc_ids), judge.by_code))
    if task.config.submission is not None:
        from mm_eval.submissions.submissions import check_records

        found.append(Validated(check_records(task, task.config.submission, doc_ids)))
    return found


def has_own_numbers(config: TaskConfig) -> bool:
    """Whether numbers come to a task beside those of its scorers, or in place of them."""
    return config.is_judged or config.submission is not None or config.has_turns


def _known(task: Task) -> KnownDataSet | None:
    """What is known of the data of a task; None for sample data."""
    path = task.config.dataset_path
    return known_data_set(str(path)) if path and not task.docs.bundled else None


def rows_that_differ(task: Task) -> list[str]:
    """The number of rows, where another one is known."""
    config, known = task.config, _known(task)
    split = next((name for key in EVALUATION_SPLITS if (name := getattr(config, key))), None)
    if known is None or split is None or config.process_docs is not None:
        return []
    names = config.dataset_name if isinstance(config.dataset_name, list) else [config.dataset_name]
    rows = known.rows_of(names, split)
    if rows is None or rows == len(task.docs):
        return []
    return [f"{len(task.docs):,} rows, where {rows:,} are known ({known.known.get('rows', 'data_sets.json')})"]


def columns_that_differ(task: Task) -> list[str]:
    """The columns that are missing, or hold something else than is known: text for numbers, a text for a list of texts."""
    known = _known(task)
    if known is None or task.config.process_docs is not None:
        return []
    source, found = known.known.get("columns", "data_sets.json"), list[str]()
    lost = [name for name in known.columns if name not in task.docs.columns]
    if lost:
        found.append(f"no column {', '.join(map(repr, lost))}, which {source} has")
    types = getattr(task.docs.rows, "features", None) or {}
    for name, expected in known.columns.items():
        there = kind_of(types[name]) if name in types else ""
        if there and there != kind_of(expected):
            found.append(f"the column {name!r} is {there}, where {source} has {kind_of(expected)}")
    return found


def kind_of(feature: object) -> str:
    """What a column holds: text, number, bool, picture, record, or a list of these. "" where its type says nothing.

    >>> kind_of("list<float16>"), kind_of("int32"), kind_of("null")
    ('list of number', 'number', '')
    """
    if isinstance(feature, Mapping):
        return "record"
    if isinstance(feature, list):
        return f"list of {kind_of(feature[0])}".removesuffix(" of ")
    inner = getattr(feature, "feature", None)
    if inner is not None:
        return f"list of {kind_of(inner)}".removesuffix(" of ")
    if isinstance(feature, str) and feature.startswith("list<"):
        return f"list of {kind_of(feature[5:-1])}".removesuffix(" of ")
    text = str(getattr(feature, "dtype", feature)) if type(feature).__name__ != "Image" else "image"
    return next((kind for beginning, kind in KINDS.items() if text.lower().startswith(beginning)), "")


def _gold_that_fails(opened: OpenedTasks, name: str, task: Task) -> list[str]:
    """Whether the gold answers of at least half of the first rows score nothing. No picture is decoded, no frame looked for."""
    doc_ids = list(islice(opened.doc_ids[name], FIRST))
    try:
        if any(found.grades_all for found in validated(task, doc_ids)):
            return []
        tried = _trial(opened, name, task, doc_ids).gold_marks()
    except MMEvalError:
        return []  # the same fault fails the doc, and is counted there
    return [_said(tried)] if tried.mostly_zero else []


def _trial(opened: OpenedTasks, name: str, task: Task, doc_ids: list[int]) -> Trial:
    """The gold answers of some docs."""
    trial = Trial(task, opened.styles[name], opened.scorers[name])
    for instance in task.instances(doc_ids, opened.styles[name], lambda doc_id: None):
        if instance.error is None:
            trial.add(instance)
    return trial


def _said(tried: TrialResult) -> str:
    return f"the gold answers of {tried.zero} of the first {counted(tried.docs, 'row')} score 0"


FORMS = ("{}", "The answer is {}.", "Answer: {}", "({})", "\\boxed{{{}}}", "#### {}")
"""Forms in which a right answer may be written. A rule of one's own may read only some of them."""


def _own_gold_that_fails(opened: OpenedTasks, name: str, task: Task) -> str:
    """Why a task of one's own can't give marks to a right answer: its gold answers score 0, in whatever form they are written.

    "" where some form scores, and where it can't be tried: code that runs in another process, conversations, judges, choices, and
    a pattern of the task's own that reads none of these forms.
    """
    config = task.config
    elsewhere = config.task_class is not None or any(map(_runs_elsewhere, config.functions))
    elsewhere = elsewhere or config.is_scored_elsewhere or config.has_turns
    if elsewhere or opened.request.predict_only or task.docs.bundled or config.output_type != "generate_until":
        return ""
    doc_ids = list(islice(opened.doc_ids[name], FIRST))
    try:
        if has_own_numbers(config):
            return ""
        trial = _trial(opened, name, task, doc_ids)
        forms = FORMS[:1] if config.gold_answer is not None else FORMS
        first: TrialResult | None = None
        for form in forms:
            tried = trial.gold_marks(form)
            if not tried.mostly_zero:
                return ""
            first = first or tried
    except Exception:  # code of the task's author, which the run meets again and reports where it belongs
        return ""
    if first is None or first.unread == first.zero and any(map(_is_own_pattern, config.pipelines())):
        return ""
    hint = (
        f"`mm-eval validate {name}` checks all rows; state `gold_answer` if a right answer is written in another form."
    )
    return f"{_said(first)}: its scores may be wrong. {first.example}. {hint}"


def _is_own_pattern(pipeline: Fields) -> bool:
    """Whether a pipeline looks for a pattern that the task states, or calls a function of its own."""
    names = [step.get("function") for step in pipeline["filter"]]
    return any(not isinstance(name, str) or "regex" in name or name == "custom" for name in names)


def _runs_elsewhere(reference: FunctionRef) -> bool:
    return not reference.of_mm_eval and runs_elsewhere(reference.source())
