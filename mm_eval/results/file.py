"""results.json and run.json as values. This is the only place that knows the keys of results.json, which are lm-eval's.

results = read_results(Path("runs/llava"))
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from mm_eval.results.judged import name_numbers
from mm_eval.scoring.run_results import Results, RunFacts
from mm_eval.scoring.string_keys import as_row, of_row
from mm_eval.scoring.task_scores import COUNTS, RARE_COUNTS, Scores, Ungraded, grader_key
from mm_eval.values.errors import ConfigError, MMEvalError, StoreError, did_you_mean
from mm_eval.values.run_files import read_json
from mm_eval.values.types import NO_SHARE, Fields, JsonObject, MetricKey, Number

OF_RUN = frozenset({"spec", "request"})
OF_RESULTS = frozenset({"results", "groups", "group_subtasks", "configs", "versions", "higher_is_better", "run"})
"""Keys that run.json and results.json must have, each with a mapping."""
GROUP_METRICS = "group_metrics"
"""The key under which each group's `aggregate_metric_list` stands."""
CORE = {"results", "groups", "group_subtasks", "configs", "versions", "n-shot", "higher_is_better", GROUP_METRICS}
CORE |= {"n-samples", "categories", "run"}
"""The parts that every file of a scored run may have."""
OF_SOME = ("judges", "imported", "protocol", "looks", "submissions", "gold_fixes")
"""Those of some runs, in the order in which they are written. Each is a field of `Results` of the same name."""
_OF_GRADER = re.compile(r"(\w+)_(failed|bounds)(@.+)?\Z", re.DOTALL)


def results_json(results: Results) -> dict[str, object]:
    """The contents of results.json."""
    rows = {name: row_json(row) for name, row in results.rows.items()}
    found = {
        "results": rows,
        "groups": {name: rows[name] for name in results.groups},
        "group_subtasks": results.members,
        "configs": results.configs,
        "versions": results.versions,
        "n-shot": results.shots,
        "higher_is_better": {name: results.rows[name].better for name in (*results.configs, *results.members)},
        **({GROUP_METRICS: results.group_metrics} if results.group_metrics else {}),
        "n-samples": results.sizes,
    }
    by_category = {
        task: {level: {name: row_json(row) for name, row in rows.items()} for level, rows in levels.items()}
        for task, levels in results.categories.items()
    }
    if results.judges:
        found["judges"] = results.judges
    if by_category:
        found["categories"] = by_category
    found["run"] = results.run.facts
    if results.imported is not None:
        found["imported"] = results.imported
    if results.protocol is not None:
        found["protocol"] = results.protocol
    if results.looks is not None:
        found["looks"] = results.looks
    if results.submissions:
        found["submissions"] = results.submissions
    if results.gold_fixes is not None:
        found["gold_fixes"] = results.gold_fixes
    return {**found, **{key: part for key, part in results.others.items() if key not in found}}


def results_of(found: Fields) -> Results:
    """The results of a file, whose form has been checked."""
    better = found.get("higher_is_better", {})
    results = Results(
        {name: row_of(name, row, better.get(name, {})) for name, row in found["results"].items()},
        found.get("group_subtasks", {}),
        found.get("configs", {}),
        found.get("versions", {}),
        found.get("n-shot", {}),
        found.get(GROUP_METRICS, {}),
        found.get("n-samples", {}),
        {
            task: {
                level: {name: row_of(name, row, better.get(task, {})) for name, row in rows.items()}
                for level, rows in levels.items()
            }
            for task, levels in found.get("categories", {}).items()
        },
        RunFacts(found.get("run", {})),
        judges=found.get("judges") or {},
        imported=found.get("imported"),
        protocol=found.get("protocol"),
        looks=found.get("looks"),
        submissions=found.get("submissions") or {},
        gold_fixes=found.get("gold_fixes"),
        others={key: part for key, part in found.items() if key not in CORE and key not in OF_SOME},
    )
    name_numbers(results)
    return results


def read_results(folder: Path) -> Results:
    """The results of a run folder. Errors: ConfigError if it has none, StoreError for a damaged results.json."""
    found = _read(folder, "results.json", OF_RESULTS)
    check_results(found, folder / "results.json")
    return results_of(found)


def read_run(folder: Path) -> JsonObject:
    """run.json with the tasks of its spec and its request. Errors: ConfigError if it is missing, StoreError for a damaged one."""
    run, where = _read(folder, "run.json", OF_RUN), str(folder / "run.json")
    tasks, request = run["spec"].get("tasks"), run["request"]
    if not isinstance(tasks, dict) or not isinstance(request.get("tasks"), list):
        raise StoreError("it does not name the tasks of the run.", where=where)
    for name, task in tasks.items():
        prompt, docs = (task.get("prompt"), task.get("docs")) if isinstance(task, dict) else (None, None)
        fits = isinstance(prompt, dict) and isinstance(docs, dict) and isinstance(docs.get("count"), int)
        if not fits or not isinstance(task.get("path"), str):
            raise StoreError(f"it does not say what was asked of {name[:100]!r}.", where=where)
    for key in ("model_args", "gen_kwargs"):
        if not isinstance(request.get(key) or {}, dict):
            raise StoreError(f"{key!r} of its request is not a mapping.", where=where)
    return run


def _read(folder: Path, name: str, needed: frozenset[str]) -> JsonObject:
    """A JSON file of a run folder, which must have these keys with mappings."""
    where = str(folder / name)
    try:
        found = read_json(folder, name, "mm-eval score RUN writes it again." if name == "results.json" else "")
    except PermissionError as error:
        hint = "The folder belongs to another user: ask for the right to read it."
        raise ConfigError(f"it can't be read: {error.strerror}.", where=where, hint=hint) from error
    except (FileNotFoundError, NotADirectoryError) as error:
        if not folder.is_dir():
            raise ConfigError("there is no such folder.", where=str(folder), hint=_runs_beside(folder)) from error
        hint = "Give the folder of a run." if name == "run.json" else "Score it first: mm-eval score RUN."
        raise ConfigError(f"there is no {name} in this folder.", where=str(folder), hint=hint) from error
    except OSError as error:
        raise StoreError(f"it can't be read: {error.strerror or error}.", where=where) from error
    if not needed <= {key for key, value in found.items() if isinstance(value, dict)}:
        hint = "" if name == "run.json" else "mm-eval score RUN writes it again."
        raise StoreError("it is not what a run writes.", where=where, hint=hint)
    return found


def _runs_beside(folder: Path) -> str:
    """A hint at the run folders beside one that is not there, those of nearly that name first."""
    with suppress(OSError):
        names = [path.parent.name for path in sorted(folder.parent.glob("*/run.json"))]
        near = did_you_mean(folder.name, names) if names else ""
        return f"{folder.parent} has no run folder." if not names else near.replace("Known:", "Run folders there:")
    return ""


def _is_parts(value: object) -> bool:
    """Whether a value is what an aggregation of a task's own gave: numbers by name, which other suites print as they are."""
    return isinstance(value, dict) and all(
        isinstance(part, (bool, int, float, str, type(None), dict)) for part in value.values()
    )


def check_results(results: Fields, path: Path) -> None:
    """StoreError for a results.json whose parts are not of the form that a run writes."""
    for part in ("results", "groups", "configs", "higher_is_better"):
        for name, row in results[part].items():
            if not isinstance(row, dict):
                raise _odd(f"{name[:100]!r} of {part!r} is not a mapping", path)
    for name, row in results["results"].items():
        for key, value in row.items():
            if (key in _COUNTS or key.endswith("_failed")) and (type(value) is not int or value < 0):
                raise _odd(f"{key!r} of {name[:100]!r} is not a count", path)
            if "," in key and not (value is None or isinstance(value, (bool, int, float, str)) or _is_parts(value)):
                raise _odd(f"{key[:100]!r} of {name[:100]!r} is not a number", path)
    members = results["group_subtasks"]
    if not all(isinstance(names, list) and all(isinstance(n, str) for n in names) for names in members.values()):
        raise _odd("'group_subtasks' does not name the members of the groups", path)
    if _has_circle(members):
        raise _odd("a group is a member of itself", path)
    if not isinstance(results["run"].get("prompts"), dict):
        raise _odd("'run' does not name the prompts", path)
    if (fixes := results.get("gold_fixes")) is not None and not _is_fixes(fixes):
        raise _odd("'gold_fixes' does not say which golds were fixed", path)
    answered_by = results["run"].get("answered_by") or {}
    if not isinstance(answered_by, dict) or not all(type(count) is int for count in answered_by.values()):
        raise _odd("'answered_by' of 'run' does not count the replies of each model", path)


def _is_fixes(value: object) -> bool:
    """Whether a value is what `score --gold_fixes` writes."""
    if not isinstance(value, dict) or not all(isinstance(value.get(key), str) for key in ("file", "sha256")):
        return False
    tasks = value.get("tasks")
    return isinstance(tasks, dict) and all(
        isinstance(found, dict) and all(type(count) is int for count in found.values()) for found in tasks.values()
    )


_COUNTS = frozenset([*COUNTS, *RARE_COUNTS])


def _odd(what: str, path: Path) -> StoreError:
    return StoreError(f"{what}.", where=str(path), hint="mm-eval score RUN writes it again.")


def _has_circle(members: Mapping[str, Sequence[str]]) -> bool:
    """Whether a group lies below itself. The groups without inner groups are taken away until none is left."""
    left = {group: {name for name in names if name in members} for group, names in members.items()}
    while ends := [group for group, inner in left.items() if not inner]:
        for group in ends:
            del left[group]
        left = {group: inner.difference(ends) for group, inner in left.items()}
    return bool(left)


def part_of(folder: Path, name: str) -> dict[str, object]:
    """A part of a folder's results.json, such as "run", unchecked; empty where there is none, or the file is damaged."""
    with suppress(MMEvalError, OSError):
        found = read_json(folder, "results.json").get(name)
        return found if isinstance(found, dict) else {}
    return {}


def row_json(row: Scores) -> dict[str, object]:
    """A row of results.json. A category's has no alias, and of its graders the counts alone."""
    found: dict[str, object] = {**({"alias": row.alias} if row.alias else {}), **as_row(row.numbers)}
    found.update({count: getattr(row, count) for count in COUNTS})
    found.update({count: number for count in RARE_COUNTS if (number := getattr(row, count))})
    if fewer := {str(number.key): number.n for number in row.numbers if number.n not in (None, row.scored)}:
        found["n_by_metric"] = fewer
    if row.unanswered:
        without = {number.key: number.value for number in row.without_unanswered}
        found["value_without_unanswered"] = {str(number.key): without.get(number.key) for number in row.numbers}
    if exact := {str(number.key): list(number.exact) for number in row.numbers if number.exact}:
        found["intervals"] = exact
    if others := [str(number.key) for number in row.numbers if number.scale == NO_SHARE]:
        found["no_shares"] = others
    if stated := {str(number.key): number.scale for number in row.numbers if number.scale not in (None, NO_SHARE)}:
        found["ranges"] = {key: list(ends) for key, ends in stated.items() if ends}
    if len(row.unparsed_by) > 1:
        found["unparsed_by_filter"] = dict(row.unparsed_by)
    for grader, each in row.ungraded.items():
        found[grader_key(grader, "failed")] = each.docs
        if row.alias:
            found[grader_key(grader, "bounds")] = each.bounds
    if row.stopped:
        after = {str(key): list(interval) for key, interval in row.after_looking.items()}
        found |= {"stopped": row.stopped, "intervals_after_looking": after}
    if row.shown:
        found["shown"] = row.shown
    return {**found, **{name: list(said) for name in ("notes", "warnings") if (said := getattr(row, name))}}


def row_of(name: str, found: Fields, better: Mapping[str, bool | None]) -> Scores:
    """The row that `row_json` wrote."""
    counts = {count: found.get(count, 0) for count in (*COUNTS, *RARE_COUNTS)}
    row = Scores(name, found.get("alias", ""), better=dict(better), **counts)
    exact, sizes, others = found.get("intervals", {}), found.get("n_by_metric", {}), found.get("no_shares", ())
    stated = found.get("ranges", {})
    for number in of_row(found):
        ends, text = exact.get(str(number.key)), str(number.key)
        interval = None if ends is None else (ends[0], ends[1])
        n, up = sizes.get(text, row.scored), better.get(number.metric)
        ends = stated.get(text)
        scale = NO_SHARE if text in others else None if ends is None else (ends[0], ends[1])
        row.numbers.append(replace(number, exact=interval, n=n, higher_is_better=up, scale=scale))
    without = found.get("value_without_unanswered", {})
    row.without_unanswered = [Number(key, value) for text, value in without.items() if (key := MetricKey.parse(text))]
    row.unparsed_by = dict(found.get("unparsed_by_filter", {}))
    for entry, value in found.items():
        if "," not in entry and (said := _OF_GRADER.match(entry)):
            of_grader = row.ungraded.setdefault(said[1] + (said[3] or ""), Ungraded())
            if said[2] == "failed":
                of_grader.docs = value
            else:
                of_grader.bounds = value
    row.shown = str(found.get("shown", ""))
    row.stopped, after = found.get("stopped", ""), found.get("intervals_after_looking", {})
    row.after_looking = {key: (ends[0], ends[1]) for text, ends in after.items() if (key := MetricKey.parse(text))}
    row.notes, row.warnings = list(found.get("notes", ())), list(found.get("warnings", ()))
    return row
