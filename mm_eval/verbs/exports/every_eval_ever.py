"""A run as a record of Every Eval Ever (https://evalevalai.com), a store of evaluation results of all suites.

    FOLDER/data/mm-eval/<developer>/<model>/<uuid>.json

The path is the one that the store asks for, so that FOLDER can be a checkout of it. The uuid is made of the run, so that the same
run gives the same file. Scores are as results.json has them: shares from 0 to 1. What the run does not say is "unknown".
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mm_eval.package import __version__
from mm_eval.results.judged import judges_behind
from mm_eval.results.number_text import counts_calls, unit_of
from mm_eval.results.recorded import RecordedRun, headline_keys
from mm_eval.values.files import write_atomic
from mm_eval.values.types import NO_SHARE, JsonObject, Number
from mm_eval.verbs.exports.hub import flaws_of
from mm_eval.verbs.exports.names import full_name

SCHEMA_VERSION = "0.3.0"
"""Of eval.schema.json, read on 2026-11-29 in evaleval/every_eval_ever and in the package every-eval-ever 0.3.0."""
COLLECTION = "mm-eval"
RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")
SELF_DEPLOYED, ELSEWHERE = ("hf", "llava", "qwen_vl", "vllm", "memory"), ("litellm",)
UNKNOWN = "unknown"
_NO_NAME = re.compile(r"[^A-Za-z0-9._-]+")


def write_record(
    run: RecordedRun, folder: Path, organization: str | None = None, relationship: str | None = None
) -> Path:
    """Writes the record of a run and returns its path.

    organization: who publishes the number. relationship: of whoever ran it to the model's developer, one of `RELATIONSHIPS`.
    """
    record = record_of(run, organization, relationship)
    model = record["model_info"]
    developer, name = str(model["developer"]), str(model["id"]).rsplit("/", 1)[-1]
    path = folder / "data" / COLLECTION / _part(developer) / _part(name) / f"{_uuid(run)}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n", durable=False)
    return path


def record_of(run: RecordedRun, organization: str | None = None, relationship: str | None = None) -> JsonObject:
    """The record of a run: an entry for each main number of each task and group."""
    about, model = run.results.run, full_name(run)
    started, made = str(int(about.started)), str(int(about.started + about.seconds))
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"{COLLECTION}/{model}/{started}/{_digest(run)[:8]}",
        "evaluation_timestamp": started,
        "retrieved_timestamp": made,
        "source_metadata": {
            "source_name": "mm-eval",
            "source_type": "evaluation_run",
            "source_organization_name": organization or UNKNOWN,
            "evaluator_relationship": relationship or "other",
        },
        "eval_library": {"name": "mm-eval", "version": str(about.version or __version__)},
        "model_info": _model_info(run, model),
        "evaluation_results": list(_results(run)),
    }


def _digest(run: RecordedRun) -> str:
    """A digest of what makes the run: the model, what was asked, and when."""
    stated = [run.spec, run.results.run.started, run.results.gold_fixes]
    return hashlib.sha256(json.dumps(stated, sort_keys=True, default=str).encode()).hexdigest()


def _uuid(run: RecordedRun) -> uuid.UUID:
    """A uuid of version 4, as the store's file names are, made of the run."""
    return uuid.UUID(hex=_digest(run)[:32], version=4)


def _part(name: str) -> str:
    """A name as a part of a path of the store: no separators, and none of the names that it keeps for itself."""
    safe = _NO_NAME.sub("_", name).strip("._ ") or UNKNOWN
    return f"{safe}_" if safe.lower() in ("data", "con", "prn", "aux", "nul") else safe


def _model_info(run: RecordedRun, model: str) -> JsonObject:
    adapter = str(run.request.get("model") or "")
    where = "self_deployed" if adapter in SELF_DEPLOYED else "externally_managed" if adapter in ELSEWHERE else UNKNOWN
    developer = model.rsplit("/", 1)[0] if "/" in model else UNKNOWN
    details = {"deployment_type": where, "model_availability": UNKNOWN, "adapter": adapter}
    if revision := (run.request.get("model_args") or {}).get("revision"):
        details["revision"] = str(revision)
    return {"name": run.model, "id": model, "developer": developer, "additional_details": details}


def _results(run: RecordedRun) -> Iterator[JsonObject]:
    for name, row in run.results.rows.items():
        keys = headline_keys(run.tasks[name]) if name in run.tasks else [number.key for number in row.numbers]
        for key in keys:
            number = row.number(key)
            up = run.results.better(name, key.metric)
            if number is None or not isinstance(number.value, (int, float)) or up is None or counts_calls(key):
                continue
            yield _result(run, name, number, up)


def _result(run: RecordedRun, name: str, number: Number, up: bool) -> JsonObject:
    row, leaves = run.results.rows[name], list(dict.fromkeys(run.results.leaves(name)))
    flaws = list(dict.fromkeys(flaw for leaf in leaves for flaw in flaws_of(run, leaf)))
    percent = unit_of(number).is_percent
    metric: dict[str, Any] = {
        "evaluation_description": "; ".join([f"{number.key.label} of {row.alias or name}", *flaws]),
        "metric_id": "accuracy" if number.key.metric == "acc" else f"{COLLECTION}.{number.key.metric}",
        "metric_name": number.key.label,
        "metric_unit": "proportion" if percent else "points",
        "lower_is_better": not up,
        "additional_details": {"key": str(number.key)},
    }
    scale = number.scale if number.scale not in (None, NO_SHARE) else (0.0, 1.0) if percent else None
    if scale is not None:
        metric |= {"score_type": "continuous", "min_score": scale[0], "max_score": scale[1]}
    else:
        metric["additional_details"]["bounds_status"] = "unknown"
    details = {"n-shot": str(run.results.shots.get(name, "")), "task_version": str(run.results.versions.get(name, ""))}
    details |= {"flaws": "; ".join(flaws)} if flaws else {}
    if judge := next(iter(judges_behind(run.results, name, number.key).values()), None):
        details["judge"] = judge.name
    score: JsonObject = {"score": float(number.value), "details": details, "uncertainty": _uncertainty(row.n, number)}
    return {
        "evaluation_result_id": f"{name}/{number.key}",
        "evaluation_name": name,
        "source_data": _source(run, name, leaves),
        "metric_config": metric,
        "score_details": score,
    }


def _uncertainty(docs: int, number: Number) -> JsonObject:
    found: dict[str, Any] = {"num_samples": number.n if number.n is not None else docs}
    if isinstance(number.stderr, (int, float)) and number.exact is None:
        found["standard_error"] = {"value": float(number.stderr), "method": "clustered by picture"}
    if number.exact is not None:
        low, high = number.exact
        found["confidence_interval"] = {"lower": low, "upper": high, "confidence_level": 0.95, "method": "exact"}
    return found


def _source(run: RecordedRun, name: str, leaves: list[str]) -> JsonObject:
    """The data set that a row was measured on; of a group with several their names."""
    configs = [run.results.configs[leaf] for leaf in leaves]
    paths = {str(config.get("dataset_path")) for config in configs}
    path = paths.pop() if len(paths) == 1 else ""
    splits = {str(config.get("test_split") or config.get("validation_split")) for config in configs}
    sizes = [run.results.sizes.get(leaf, {}).get("original", 0) for leaf in leaves]
    if run.results.run.sample or not re.fullmatch(r"[\w.-]+/[\w.-]+", path):
        said = "sample data that mm-eval brings" if run.results.run.sample else ", ".join(sorted(paths)) or path
        return {"dataset_name": name, "source_type": "other", "additional_details": {"data": said or UNKNOWN}}
    found: dict[str, Any] = {"dataset_name": name, "source_type": "hf_dataset", "hf_repo": path}
    found |= {"hf_split": splits.pop()} if len(splits) == 1 else {}
    return {**found, "samples_number": sum(sizes)}
