"""The paired change of one number between two recorded runs, and how the requests of the runs differ.

    change_of(first.tasks["mme"], second.tasks["mme"], key, [0, 1, 2]).difference

Only docs that both runs scored are paired.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mm_eval.prompt.blocks import FRAMES_AS_KEY, FRAMES_KEY
from mm_eval.results.number_text import Unit, unit_of
from mm_eval.results.recorded import RecordedRun, RecordedTask
from mm_eval.scoring.metrics.paired import Flips, flips, paired_difference
from mm_eval.values.errors import ConfigError
from mm_eval.values.reasoning.families import marks_of
from mm_eval.values.types import Fields, MetricKey, Number
from mm_eval.values.words import listed


@dataclass(frozen=True)
class Change:
    """The change of one number from the first run to another one.

    first, second: the number in each run over the docs that both scored. difference: second - first, paired.
    corrected: the p-value of the difference after Holm's correction for `comparisons` tests.
    flips: of right/wrong metrics, else None.
    better: whether higher is better; None for a number without a direction.
    headline: whether the number is not a part of another one of its task. main: whether its row is compared by it
        (`metadata.metric`), and the row is in no group. copy_of: an earlier number of which it is another form.
    category: (level, category) of a number over the docs of one category.
    """

    task: str
    key: MetricKey
    first: Number
    second: Number
    difference: Number
    flips: Flips | None
    better: bool | None = True
    headline: bool = True
    corrected: float | None = None
    comparisons: int = 1
    category: tuple[str, str] | None = None
    main: bool = False
    copy_of: MetricKey | None = None

    @property
    def unit(self) -> Unit:
        """In which its numbers are shown."""
        return unit_of(self.first, self.second, metric=self.key.metric)

    @property
    def smallest_visible(self) -> float | None:
        """The smallest true difference that these docs show in 80% of evaluations, after the correction."""
        return self.difference.smallest_visible(self.comparisons)

    @property
    def told_apart(self) -> bool:
        """Whether the difference is significant at 5% after the correction."""
        return self.corrected is not None and self.corrected < 0.05


def prompt_asked(run: RecordedRun, name: str) -> dict[str, object]:
    """What a task's prompt block adds to its questions; the rule of frames only where a prompt shows frames."""
    prompt: Fields = run.spec["tasks"].get(name, {}).get("prompt") or {}
    stated = {key: value for key, value in (prompt.get("kwargs") or {}).items() if value != ""}
    task = run.tasks.get(name)
    frames = (FRAMES_KEY, FRAMES_AS_KEY) if task is not None and task.shows_frames else ()
    return {**stated, **{key: prompt[key] for key in frames if key in prompt}}


def data_asked(run: RecordedRun, name: str) -> dict[str, object]:
    """What two numbers of a task must share to be of one benchmark, in words; runs that differ here are not ranked."""
    task = run.spec["tasks"].get(name, {})
    return {
        "the data": task.get("data"),
        "the choice of documents": task.get("docs"),
        "the number of examples": run.results.shots.get(name),
        "the task's version": run.results.versions.get(name),
        "the set of golds": run.results.fixed_golds(name) or "that of the data",
    }


def reasoning_tags(run: RecordedRun) -> str:
    """The marks around the reasoning that a run's answers were last scored with, beside those of known models."""
    facts = run.results.run.facts
    stated = facts["reasoning_tags"] if "reasoning_tags" in facts else run.request.get("reasoning_tags")
    try:
        marks = marks_of(stated)
    except ConfigError:  # a stranger's file
        return repr(stated)
    return "none are cut" if marks.off else ", ".join(map(" ".join, marks.pairs)) or "those of known models"


def _sandbox(stated: object) -> str:
    """A sandbox as run.json states it, in a few words."""
    if not isinstance(stated, Mapping):
        return repr(stated)[:80]
    return ", ".join(f"{name} {value}" for name, value in stated.items())[:300]


def differences_in_spec(first: RecordedRun, second: RecordedRun, renamed: Collection[str] = ()) -> Iterator[str]:
    """A sentence for each cause by which the requests of two runs differ; none for two models under equal conditions.

    renamed: tasks that are compared under other names.
    """
    names = {
        "chat": "chat template",
        "system": "system instruction",
        "seed": "seed",
        "blind": "use of pictures and sounds",
    }
    for what, named in names.items():
        if first.spec.get(what) != second.spec.get(what):
            yield f"the {named} differs: {first.spec.get(what)!r} and {second.spec.get(what)!r}"
    walls = [run.spec.get("sandbox") for run in (first, second)]
    if walls[0] and walls[1] and walls[0] != walls[1]:
        yield f"the sandbox of the code differs: {_sandbox(walls[0])} and {_sandbox(walls[1])}"
    if (rules := [run.spec.get("on_long_prompt", "cut") for run in (first, second)])[0] != rules[1]:
        yield f"what happens to a prompt that is too long differs: {rules[0]} and {rules[1]}"
    if (tags := [reasoning_tags(run) for run in (first, second)])[0] != tags[1]:
        yield f"the marks around the reasoning differ: {tags[0]} and {tags[1]}"
    versions = [run.results.run.version for run in (first, second)]
    if None not in versions and versions[0] != versions[1]:
        yield f"they were scored by two versions of mm-eval, {versions[0]} and {versions[1]}: `mm-eval score` scores a run again"
    mine, other = first.spec["tasks"], second.spec["tasks"]
    if alone := sorted((mine.keys() ^ other.keys()).difference(renamed)):
        yield f"in one of the runs only: {listed(alone, 5)}"
    causes: dict[str, list[str]] = {}
    for name in [name for name in mine if name in other]:
        for cause in _differences_on(first, second, name):
            causes.setdefault(cause, []).append(name)
    for cause, tasks in causes.items():
        what, _, how = cause.partition(": ")
        yield f"{what} on {listed(tasks, 6)}{f': {how}' if how else ''}"


def _differences_on(first: RecordedRun, second: RecordedRun, name: str) -> Iterator[str]:
    """How the requests of one task differ: "the data differs: ..."."""
    a, b = first.spec["tasks"][name], second.spec["tasks"][name]
    wheres = [data_asked(run, name) for run in (first, second)]
    for what, value in wheres[0].items():
        if value == wheres[1][what]:
            continue
        if what == "the data":
            yield f"{what} differs: only documents that are equal in both are paired"
        elif what == "the choice of documents":
            yield f"different documents were asked: {a['docs']['count']} and {b['docs']['count']}"
        else:
            yield f"{what} differs: {value} and {wheres[1][what]}"
    if a["config"] != b["config"] and wheres[0]["the task's version"] == wheres[1]["the task's version"]:
        keys = _keys_that_differ(a["config"], b["config"])
        yield f"the task's config differs{f': {listed(keys, 6)}' if keys else ''}"
    by = [run.results.run.scored_by.get(name) for run in (first, second)]
    if a["config"] == b["config"] and None not in by and by[0] != by[1]:
        yield "the rules of scoring differ: `mm-eval score` of both folders scores them by the same ones"
    if a.get("examples") != b.get("examples") and a["data"] == b["data"]:
        yield "the documents that examples come from differ"
    if a.get("multiturn") != b.get("multiturn") and first.results.shots.get(name):
        yield f"the examples as turns of a chat differ: {a.get('multiturn')} and {b.get('multiturn')}"
    prompts = [prompt_asked(run, name) for run in (first, second)]
    if prompts[0] != prompts[1]:
        said = [
            _prompt(run, name, mine, other)
            for run, mine, other in zip((first, second), prompts, prompts[::-1], strict=True)
        ]
        yield f"the prompt differs: {' and '.join(said)}"


def _keys_that_differ(first: object, second: object) -> list[str]:
    """The keys of a task's file that two runs state differently, and "code" where a function that it names is another one."""
    if not isinstance(first, Mapping) or not isinstance(second, Mapping):  # a stranger's folder may hold anything
        return []
    mine, other = first.get("stated") or {}, second.get("stated") or {}
    keys = [key for key in dict.fromkeys([*mine, *other]) if mine.get(key) != other.get(key)]
    return keys or ["code"]


def _prompt(run: RecordedRun, name: str, mine: Mapping[str, object], other: Mapping[str, object]) -> str:
    """The key of a block, with what is not as in the other."""
    own = [f"{key}={mine[key]!r}" for key in mine if mine[key] != other.get(key)]
    return f"{run.prompt_keys[name]} ({', '.join(own) or 'without ' + ', '.join(other.keys() - mine.keys())})"


def number_and_ends(number: Number) -> list[float | None]:
    """A number, its standard error, and the ends of its interval."""
    return [number.value, number.stderr, *(number.interval or (None, None))]


def are_proportional(first: Sequence[float | None], second: Sequence[float | None]) -> bool:
    """Whether the second numbers are the first ones times one positive factor. None stands where None does.

    >>> are_proportional([0.25, None, 0.5], [250.0, None, 500.0])
    True
    """
    if [each is None for each in first] != [each is None for each in second]:
        return False
    a, b = ([each for each in numbers if each is not None] for numbers in (first, second))
    sizes = [max(map(abs, numbers), default=0.0) for numbers in (a, b)]
    if not all(sizes):
        return sizes == [0, 0]
    return all(abs(x / sizes[0] - y / sizes[1]) < 1e-9 for x, y in zip(a, b, strict=True))


def change_of(first: RecordedTask, second: RecordedTask, key: MetricKey, shared: list[int]) -> Change | None:
    """The change of a number over some docs; None where the task's own function for it can't be read, or fails on them."""
    function = first.aggregation(key)
    if function is None or not shared:
        return None
    before, after = first.number(key, shared), second.number(key, shared)
    if before is None or after is None:
        return None
    a, b = [first.values[key][i] for i in shared], [second.values[key][i] for i in shared]
    try:
        difference = paired_difference(function, a, b, [first.clusters[i] for i in shared])
    except Exception:  # the task's own code, on values that went through JSON
        return None
    return Change(
        first.name,
        key,
        before,
        after,
        difference,
        flips(dict(zip(shared, a, strict=True)), dict(zip(shared, b, strict=True))),
        first.row.better.get(key.metric, True),
    )
