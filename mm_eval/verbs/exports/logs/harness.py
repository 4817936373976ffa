"""Logs of lm-evaluation-harness and lmms-eval, of all versions that write samples.

    samples_<task>_<time>.jsonl, results_<time>.json       lm-eval since 0.4.3, lmms-eval 0.2
    <time>_samples_<task>.jsonl, <time>_results.json       lmms-eval since 0.2.4
    <anything>_<task>.jsonl, results.json                  lm-eval before 0.4.3: a JSON list in one file
    <task>.json with "logs", results.json                  lmms-eval 0.1

A task with several filter pipelines has each document once for each of them. lmms-eval has left the documents out since 0.5.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from mm_eval.values.types import ENDINGS, Fields
from mm_eval.verbs.exports.logs.files import (
    OddValue,
    as_list,
    as_mapping,
    as_text,
    damaged,
    document,
    entries,
    head,
    reading,
    shown,
)
from mm_eval.verbs.exports.logs.values import Log, LogRow, as_numbers, as_score

TIME = r"(?P<time>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?|\d{8}_\d{6}|\d{4}_\d{4})"
SAMPLES = [re.compile(rf"samples_(?P<task>.+)_{TIME}\.jsonl"), re.compile(rf"{TIME}_samples_(?P<task>.+)\.jsonl")]
RESULTS = re.compile(rf"(?:results_{TIME}|{TIME.replace('time', 'time2')}_results)\.json|results\.json")
OWN = frozenset(
    [
        "doc_id",
        "doc",
        "target",
        "arguments",
        "resps",
        "filtered_resps",
        "filter",
        "metrics",
        "doc_hash",
        "prompt_hash",
        "target_hash",
        "input",
        "input_media",
        "token_counts",
        "ended",
        "idx",
        "task",
    ]
)
"""The keys of an entry that are not metrics."""


def find(folder: Path, files: Sequence[Path]) -> Iterator[Log]:
    """The logs among the files of one folder."""
    results = [path for path in files if RESULTS.fullmatch(path.name)]
    for path in files:
        named = next((found for form in SAMPLES if (found := form.fullmatch(path.name))), None)
        if named:
            yield _log(path, named["task"], _beside(results, named["time"]), named["time"])
        elif path.suffix == ".jsonl" and results and head(path).lstrip()[:1] == b"[":
            beside = _results(next((each for each in results if each.name == "results.json"), None))
            tasks = sorted(beside.get("configs") or beside.get("results") or {}, key=len, reverse=True)
            if task := next((name for name in tasks if path.stem == name or path.stem.endswith(f"_{name}")), None):
                yield _log(path, task, beside, "")
        elif path.suffix == ".json" and path not in results and re.match(rb'\s*\{\s*"args"\s*:', head(path)):
            yield _log(path, path.stem, _results(next(iter(results), None)), "", "logs")


def _beside(results: Sequence[Path], time: str) -> Mapping[str, object]:
    """The results of the run that wrote the samples: those of its time, else of the newest run before them."""
    exact = [path for path in results if time in path.name]
    return _results(exact[0] if exact else max(results, default=None, key=lambda path: path.name))


def _results(path: Path | None) -> Fields:
    if path is None:
        return {}
    found = dict(document(path))
    if "results" not in found:
        return {}  # of another tool
    with reading(path):
        for name in ("results", "configs", "config", "n-shot"):
            found[name] = as_mapping(found.get(name), name)
        for task, row in found["results"].items():
            as_mapping(row, f"results of {task}")
        for name in ("model_name", "lm_eval_version", "lmms_eval_version", "mm_eval_version"):
            as_text(found.get(name), name)
    return found


def _log(path: Path, task: str, results: Fields, time: str, key: str = "") -> Log:
    lmms = bool(key) or "lmms_eval_version" in results or re.match(r"\d{8}_|\d{4}_", path.name) is not None
    lmms = lmms or "model_configs" in results
    suite = "lmms-eval" if lmms and "lm_eval_version" not in results else "lm-eval"
    config = results.get("config") or {}
    name = results.get("model_name") or _pretrained(config.get("model_args")) or config.get("model") or path.parent.name
    row = (results.get("results") or {}).get(task) or {}
    version = results.get("lm_eval_version") or results.get("lmms_eval_version") or ""
    if not version and (own := results.get("mm_eval_version")):
        suite, version = "mm-eval", own
    notes = (
        [] if results else ["no results file is beside the samples: their own numbers are the means of its documents"]
    )
    numbers, said = as_numbers({each: value for each, value in row.items() if _is_number(each, value)})
    return Log(
        suite=suite,
        task=task,
        path=path,
        rows=partial(_rows, path, key, suite == "mm-eval"),
        model=str(name),
        version="" if "unknown" in version else version,
        numbers=numbers,
        notes=[*notes, *said],
        when=time,
        shots=shots if type(shots := (results.get("n-shot") or {}).get(task)) is int else None,
    )


def _pretrained(args: object) -> str:
    if isinstance(args, Mapping):
        return str(args.get("pretrained") or args.get("model") or "")
    found = re.search(r"(?:pretrained|model|model_version)=([^,]+)", str(args or ""))
    return found[1] if found else ""


def _is_number(key: str, value: object) -> bool:
    known = "_stderr" not in key and key not in ("alias", "name", "sample_len", "samples", " ")
    return known and isinstance(value, (int, float)) and not isinstance(value, bool)


def _rows(path: Path, key: str, own: bool) -> Iterator[LogRow]:
    """own: an export of mm-eval, which states every ending but "stop"."""
    for number, (line, entry) in enumerate(entries(path, key), 1):
        if not isinstance(entry, dict) or type(entry.get("doc_id")) is not int:
            place = path if line else f"{path} entry {number}"
            raise damaged(place, "an entry is not a sample: it has no doc_id that is a number", line or None)
        where = f"{path.name}:{line}" if line else f"{path.name} doc_id {entry['doc_id']}"
        with reading(path if line else where, line or None):
            row = _row(entry, where, own)
        yield row


def _row(entry: Mapping[str, Any], where: str, own: bool) -> LogRow:
    resps = entry.get("resps", entry.get("filtered_resps"))  # lmms-eval leaves them out where no filter changed them
    stated = entry.get("arguments")
    if not isinstance(stated, (dict, list, type(None))):
        raise OddValue(f"`arguments` is {shown(stated)} where an object or a list is needed")
    first = stated.get("gen_args_0") if isinstance(stated, dict) else None
    generated = isinstance(first, dict) and isinstance(first.get("arg_1"), dict)
    whole_text = isinstance(first, dict) and "arg_0" in first and "arg_1" not in first  # a rolling log-likelihood
    answers = [each if generated else _likelihood(each, alone=whole_text) for each in _flat(resps, generated)]
    read = entry.get("filtered_resps")
    names = [each for each in entry if each not in OWN]
    if entry.get("metrics") is not None:
        names = [as_text(each, "metrics") for each in as_list(entry["metrics"], "metrics")]
    scores = {name: score for name in names if (score := as_score(entry.get(name))) is not None}
    prompt, choices = _arguments(entry)
    ended = as_list(entry.get("ended"), "ended")
    if odd := [each for each in ended if each not in ENDINGS]:
        raise OddValue(f"`ended` has {shown(odd[0])}, which is not an ending")
    return LogRow(
        where=where,
        resps=answers,
        doc_id=entry["doc_id"],
        id=str(entry["doc_id"]),
        doc=None if entry.get("doc") is None else as_mapping(entry["doc"], "doc"),
        prompt=prompt,
        target=entry.get("target"),
        choices=choices,
        ended=ended or ["stop"] * len(answers) * own,
        scores=scores,
        read=read[0] if isinstance(read, list) and len(read) == 1 else read,
        prompts=len(stated) if generated and isinstance(stated, dict) else 1,
        filter=as_text(entry.get("filter"), "filter") or "none",
        raw=entry,
    )


def _flat(resps: object, generated: bool = False) -> list[Any]:
    """The answers of all requests one after another, whatever brackets are around one. generated: they are texts.

    >>> _flat([["Yes"]]), _flat([[["-1.5", "False"]], [["-2", "True"]]]), _flat("Yes")
    (['Yes'], [['-1.5', 'False'], ['-2', 'True']], ['Yes'])
    """
    if not isinstance(resps, list):
        return [] if resps is None else [resps]
    if _is_likelihood(resps) and not (generated and isinstance(resps[0], str)):
        return [resps]
    return [one for each in resps for one in _flat(each, generated)]


def _is_likelihood(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and str(value[1]) in ("True", "False")
        and _as_float(value[0]) is not None
    )


def _as_float(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _likelihood(value: Any, alone: bool = False) -> Any:
    """[log-likelihood, is_greedy] of what a log has; anything else unchanged. alone: the log has a number without is_greedy."""
    if alone and (number := _as_float(value)) is not None:
        return [number, False]
    return [float(value[0]), str(value[1]) == "True"] if _is_likelihood(value) else value


def _arguments(entry: Mapping[str, object]) -> tuple[Any, list[str]]:
    """The prompt, and the continuations whose log-likelihoods were asked for."""
    stated, choices = entry.get("arguments"), list[str]()
    prompt = entry.get("input")
    if isinstance(stated, dict):
        first = stated.get("gen_args_0")
        if isinstance(first, dict):
            prompt = first.get("arg_0", prompt)
        for each in stated.values():
            if isinstance(each, dict) and isinstance(each.get("arg_1"), str):
                choices.append(each["arg_1"])
    elif isinstance(stated, list) and stated and prompt is None:
        first = stated[0]
        prompt = first[0] if isinstance(first, list) and first else first
        choices = [each[1] for each in stated if isinstance(each, list) and len(each) > 1 and isinstance(each[1], str)]
    return prompt, choices
