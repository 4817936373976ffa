"""Reads a protocol from its YAML file, and checks it. docs/guides/protocols.md describes the keys.

A protocol file has the key `protocol`. It may lie anywhere in a folder of tasks and is not a task.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from mm_eval.config import schema
from mm_eval.config.arguments import Rule
from mm_eval.config.index import files_of
from mm_eval.config.located import LocatedDict, located, shown_path, where_item
from mm_eval.protocols.protocol import (
    COPIED,
    KNOWN,
    OF_RUN,
    SETTINGS,
    UNSTATED,
    Benchmark,
    Condition,
    Missing,
    Protocol,
    ReportedNumbers,
    Setting,
)
from mm_eval.values.errors import ConfigError, check_all, did_you_mean, faults_of, raise_all

COMBINED = ("sum", "mean")
_NUMBER = Rule("a number", lambda v: isinstance(v, (int, float)) and not isinstance(v, bool))
_BY_MODEL = Rule(
    "a mapping of models to numbers",
    lambda v: isinstance(v, Mapping) and bool(v) and all(map(_NUMBER.fits, v.values())),
)
_KNOWN = Rule("one of: " + ", ".join(KNOWN), lambda v: v in KNOWN)
_KNOWN_OR_NOT = Rule(f"{_KNOWN.needed}, {UNSTATED}", lambda v: v in (*KNOWN, UNSTATED))
_RUNS = Rule("avg@N or pass@N", lambda v: isinstance(v, str) and bool(re.fullmatch(r"(avg|pass)@[1-9]\d*", v)))
_DIRECTION = Rule("higher or lower", lambda v: v in ("higher", "lower"))
_LISTED = Rule("a list of mappings", lambda v: schema.is_mappings(v) and bool(v))
_REPORTED = Rule("a mapping, or a list of mappings", lambda v: isinstance(v, Mapping) or _LISTED.fits(v))

_KEYS: dict[str, Rule] = {
    "protocol": schema.TEXT,
    "title": schema.TEXT,
    "report": schema.TEXT,
    "about": schema.TEXT,
    "models": Rule("a mapping of models to lists of checkpoints", lambda v: isinstance(v, Mapping) and bool(v)),
    "settings": schema.MAPPING,
    "conditions": _LISTED,
    "benchmarks": _LISTED,
    "missing": _LISTED,
}
_SETTING_KEYS: dict[str, Rule] = {"value": Rule("", lambda v: True), "known": _KNOWN, "source": schema.TEXT}
_ROW_KEYS: dict[str, Rule] = {
    "task": schema.TEXT,
    **{name: schema.MAPPING for name in SETTINGS if name not in OF_RUN},
    "conditions": _LISTED,
    "reported": _REPORTED,
}
_CONDITION_KEYS: dict[str, Rule] = {"what": schema.TEXT, "known": _KNOWN_OR_NOT, "source": schema.TEXT}
_MISSING_KEYS: dict[str, Rule] = {
    "benchmark": schema.TEXT,
    "why": schema.TEXT,
    "numbers": _BY_MODEL,
    "known": _KNOWN,
    "source": schema.TEXT,
    "direction": _DIRECTION,
}
_REPORTED_KEYS: dict[str, Rule] = {
    "metric": schema.TEXTS,
    "of": Rule("sum or mean", lambda v: v in COMBINED),
    "unit": Rule("percent, points or fraction", lambda v: v in ("percent", "points", "fraction")),
    "numbers": _BY_MODEL,
    "tolerance": Rule("a number from 0", lambda v: _NUMBER.fits(v) and v >= 0),
    "known": _KNOWN,
    "source": schema.TEXT,
    "docs": schema.POSITIVE,
    "not_comparable": schema.TEXT,
    "runs": _RUNS,
    "direction": _DIRECTION,
}


def protocol_names(include_path: Iterable[str | Path] = ()) -> dict[str, Path]:
    """{name: file} of all protocols; one in a later folder replaces that of an earlier one."""
    return dict(sorted(files_of("protocol", include_path).items()))


def find_protocol(name: str, include_path: Iterable[str | Path] = (), where: str = "--protocol") -> Protocol:
    """The protocol of a name. ConfigError for an unknown name, and for everything that is wrong in its file."""
    known = protocol_names(include_path)
    if name not in known:
        hint = did_you_mean(name, known) or "`mm-eval protocols` lists them."
        raise ConfigError(f"there is no protocol {name!r}.", where=where, hint=hint)
    return read_protocol(known[name])


def read_protocol(path: Path) -> Protocol:
    """A protocol from its file. ConfigError with file:line for everything that is unknown, missing or invalid.

    A file is read once a process until it changes; a run asks for its protocol in six places.
    """
    try:
        status = path.stat()
    except OSError:
        return _read(path, 0, 0)  # reports the error
    return _read(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=64)
def _read(path: Path, time: int, size: int) -> Protocol:
    """The protocol of a file as it was written at a time. What is wrong in a file is reported each time."""
    from mm_eval.config.yaml import load_file

    config = load_file(path)
    check_all([partial(schema.check_keys, config, _KEYS, "a protocol"), partial(_needs, config, *_NEEDED)])
    models = {str(name): tuple(schema.texts(stated)) for name, stated in config["models"].items()}
    faults: list[ConfigError] = []
    settings = _settings(config.get("settings"), SETTINGS, faults, f"the settings of {config['protocol']}")
    benchmarks: dict[str, Benchmark] = {}
    for place, entry in enumerate(config["benchmarks"]):
        where = where_item(config["benchmarks"], place, shown_path(path))
        try:
            found = _benchmark(located(entry), models, faults, where)
        except ConfigError as error:
            faults.append(error)
            continue
        if found.task in benchmarks:
            faults.append(ConfigError(f"{found.task!r} is listed twice in the protocol.", where=where))
        benchmarks[found.task] = found
    conditions = tuple(_conditions(config.get("conditions"), faults))
    missing = tuple(_missing(config.get("missing"), faults))
    raise_all(faults)
    return Protocol(
        str(config["protocol"]),
        str(config.get("title") or config["protocol"]),
        str(config.get("report") or ""),
        path,
        models,
        settings,
        benchmarks,
        conditions,
        missing,
        str(config.get("about") or ""),
    )


_NEEDED = ("protocol", "models", "benchmarks")


def _needs(entry: LocatedDict, *names: str) -> None:
    for name in names:
        if entry.get(name) is None:
            raise ConfigError(f"{name!r} is missing.", where=entry.where(name))


def _names_copy(entry: LocatedDict) -> None:
    """ConfigError for something that is known from a copy which is not named."""
    if entry.get("known") == COPIED and not entry.get("source"):
        raise ConfigError(f"`known: {COPIED}` needs a `source` that names the copy.", where=entry.where("known"))


def _settings(
    stated: Mapping[str, object] | None, rules: Mapping[str, Rule], faults: list[ConfigError], what: str
) -> dict[str, Setting]:
    """The settings of a mapping. A fault for an unknown name, a value of a wrong type and a setting without `known`."""
    found, config = {}, located(stated or {})
    for name, entry in config.items():
        where = config.where(name)
        if name not in rules:
            faults.append(
                ConfigError(f"unknown setting {name!r} in {what}.", where=where, hint=did_you_mean(name, rules))
            )
            continue
        try:
            found[name] = _setting(str(name), entry, rules[name], where)
        except ConfigError as error:
            faults.append(error)
    return found


def _setting(name: str, entry: object, rule: Rule, where: str) -> Setting:
    if not isinstance(entry, Mapping):
        hint = "Write {value: ..., known: documented by the authors, source: ...}."
        raise ConfigError(f"{name!r} must be a mapping with `value` and `known`.", where=where, hint=hint)
    given = located(entry)
    schema.check_keys(given, _SETTING_KEYS, f"the setting {name!r}")
    if "value" not in given or given["value"] is None:
        raise ConfigError(f"the setting {name!r} has no `value`.", where=where)
    _needs(given, "known")
    _names_copy(given)
    if not rule.fits(given["value"]):
        raise ConfigError(f"{name!r} must be {rule.needed}, not {given['value']!r:.80}.", where=given.where("value"))
    return Setting(name, given["value"], given["known"], str(given.get("source") or ""), where)


def _benchmark(
    entry: LocatedDict, models: Mapping[str, tuple[str, ...]], faults: list[ConfigError], where: str
) -> Benchmark:
    schema.check_keys(entry, _ROW_KEYS, "a benchmark of the protocol")
    _needs(entry, "task", "prompt")
    task = str(entry["task"])
    own = LocatedDict({name: entry[name] for name in entry if name in SETTINGS}, entry.place)
    own.places = dict(entry.places)
    settings = _settings(own, SETTINGS, faults, f"the benchmark {task!r}")
    stated = entry.get("reported") or []
    reported = [_reported(located(each), models) for each in (stated if isinstance(stated, list) else [stated])]
    return Benchmark(task, settings, tuple(reported), tuple(_conditions(entry.get("conditions"), faults)), where)


def _reported(entry: LocatedDict, models: Mapping[str, tuple[str, ...]]) -> ReportedNumbers:
    schema.check_keys(entry, _REPORTED_KEYS, "`reported`")
    _needs(entry, "metric", "unit", "numbers", "tolerance", "known", "source")
    metrics = tuple(schema.texts(entry["metric"]))
    if len(metrics) > 1 and entry.get("of") is None:
        raise ConfigError("several metrics need `of: sum` or `of: mean`.", where=entry.where("metric"))
    for model in entry["numbers"]:
        if model not in models:
            what = f"{model!r} is not one of the protocol's `models`."
            raise ConfigError(what, where=entry.where("numbers"), hint=did_you_mean(str(model), models))
    scale = 100.0 if entry["unit"] == "percent" else 1.0
    return ReportedNumbers(
        metrics,
        str(entry.get("of") or ""),
        {str(model): value / scale for model, value in entry["numbers"].items()},
        entry["tolerance"] / scale,
        scale,
        entry["known"],
        entry["source"],
        entry.get("docs"),
        str(entry.get("not_comparable") or ""),
        str(entry.get("runs") or ""),
        str(entry.get("direction") or "higher"),
        entry.where("metric"),
    )


def _conditions(stated: Any, faults: list[ConfigError]) -> Iterator[Condition]:
    for entry in map(located, stated or ()):
        faults += faults_of(
            [
                partial(schema.check_keys, entry, _CONDITION_KEYS, "a condition"),
                partial(_needs, entry, "what", "known"),
                partial(_names_copy, entry),
            ]
        )
        yield Condition(str(entry.get("what")), str(entry.get("known")), str(entry.get("source") or ""))


def _missing(stated: Any, faults: list[ConfigError]) -> Iterator[Missing]:
    for entry in map(located, stated or ()):
        faults += faults_of(
            [
                partial(schema.check_keys, entry, _MISSING_KEYS, "an entry of `missing`"),
                partial(_needs, entry, "benchmark", "why", *(("known",) if entry.get("numbers") else ())),
                partial(_names_copy, entry),
            ]
        )
        numbers = entry.get("numbers") if isinstance(entry.get("numbers"), Mapping) else {}
        benchmark, why, known, source = (str(entry.get(name) or "") for name in ("benchmark", "why", "known", "source"))
        yield Missing(benchmark, why, numbers or {}, known, source, str(entry.get("direction") or "higher"))
