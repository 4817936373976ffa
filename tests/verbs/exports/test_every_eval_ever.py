"""Records of Every Eval Ever: by a recorded copy of its schema here, and by its own validator in an environment of its own.

`.ci/every_eval_ever` makes that environment: the package asks for Python 3.12, and its validator runs on 3.11.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mm_eval.results.recorded import RecordedRun
from mm_eval.verbs.exports.every_eval_ever import SCHEMA_VERSION, record_of, write_record

SCHEMA = json.loads((Path(__file__).parent / "real" / f"every_eval_ever_{SCHEMA_VERSION}.schema.json").read_text())
"""eval.schema.json of every-eval-ever 0.3.0, under the licence beside it."""
TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
    "null": type(None),
}


def faults(value: Any, schema: Any, at: str = "") -> list[str]:
    """Where a value breaks a schema, by the words of JSON Schema that this one uses."""
    if "$ref" in schema:
        return faults(value, SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[-1]], at)
    found = []
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    wanted = [TYPES[kind] for kind in kinds]
    if wanted and (
        not any(isinstance(value, kind) for kind in wanted) or isinstance(value, bool) and "boolean" not in kinds
    ):
        return [f"{at}: {value!r} is no {kinds}"]
    if "enum" in schema and value not in schema["enum"] or "const" in schema and value != schema["const"]:
        found.append(f"{at}: {value!r}")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        found.append(f"{at}: {value!r}")
    if "oneOf" in schema and sum(not faults(value, one, at) for one in schema["oneOf"]) != 1:
        found.append(f"{at}: not one of {len(schema['oneOf'])}")
    if isinstance(value, dict):
        known = schema.get("properties", {})
        found += [f"{at}: no {name}" for name in schema.get("required", ()) if name not in value]
        for name, part in value.items():
            more = known.get(name, schema.get("additionalProperties", True))
            found += (
                [f"{at}: unknown {name}"]
                if more is False
                else faults(part, more, f"{at}/{name}")
                if more is not True
                else []
            )
        if "if" in schema:
            found += faults(value, schema.get("else" if faults(value, schema["if"]) else "then", {}), at)
    if isinstance(value, list) and "items" in schema:
        found += [fault for place, one in enumerate(value) for fault in faults(one, schema["items"], f"{at}/{place}")]
    return found


@pytest.fixture(scope="module")
def run(dummy_run):
    return RecordedRun.read(dummy_run)


def test_the_schema_is_the_one_that_records_name():
    assert SCHEMA["version"] == SCHEMA_VERSION
    assert faults({"schema_version": 1}, SCHEMA) and faults([], SCHEMA)


def test_a_record_fits_the_schema(run):
    record = record_of(run, "a lab", "first_party")
    assert faults(record, SCHEMA) == []
    broken = {**record, "model_info": {**record["model_info"], "additional_details": {"deployment_type": "ours"}}}
    assert len(faults(broken, SCHEMA)) == 2, "the test sees what is wrong"
    assert (
        record["schema_version"] == SCHEMA_VERSION and record["source_metadata"]["source_organization_name"] == "a lab"
    )


def test_a_record_has_the_numbers_of_the_run_with_their_scale_and_flaws(run):
    found = {each["evaluation_result_id"]: each for each in record_of(run)["evaluation_results"]}
    mme, seed = found["mme/mme_perception_score,none"], found["seedbench/seed_all,none"]
    [number] = run.results.main_numbers("seedbench")
    assert seed["score_details"]["score"] == number.value and seed["metric_config"]["metric_unit"] == "proportion"
    assert (seed["metric_config"]["min_score"], seed["metric_config"]["max_score"]) == (0, 1)
    assert mme["metric_config"]["metric_unit"] == "points" and mme["metric_config"]["max_score"] == 2000
    assert seed["score_details"]["uncertainty"]["num_samples"] == 252
    assert seed["source_data"]["source_type"] == "other" and seed["score_details"]["details"]["flaws"] == "sample data"
    assert not any(name.startswith("mme/count") for name in found), "a part of another number is no result of its own"


def test_the_same_run_gives_the_same_file(cli, run, tmp_path):
    first, second = (write_record(run, tmp_path / name) for name in ("a", "b"))
    assert first.read_bytes() == second.read_bytes() and first.relative_to(tmp_path / "a") == second.relative_to(
        tmp_path / "b"
    )
    assert re.fullmatch(
        r"data/mm-eval/unknown/dummy/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\.json",
        first.relative_to(tmp_path / "a").as_posix(),
    )
    done = cli("export", run.folder, "--format", "every_eval_ever", "--output", tmp_path / "c")
    assert (
        done.code == 0 and "Do not publish it" in done.err and Path(done.out.strip()).read_bytes() == first.read_bytes()
    )
    refused = cli("export", run.folder, "--format", "hub", "--organization", "a lab")
    assert refused.code == 2 and "only --format every_eval_ever has it" in refused.err


def test_its_own_validator_takes_a_record(run, tmp_path):
    pytest.importorskip("every_eval_ever", reason="`.ci/every_eval_ever` runs this in an environment of its own")
    path = write_record(run, tmp_path).relative_to(tmp_path)
    words = [sys.executable, "-m", "every_eval_ever", "validate", str(path), "--format", "json"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    [report] = json.loads(done.stdout)
    assert report["valid"] and not report["errors"]
    assert {each["loc"] for each in report["warnings"]} <= {"model_info"}, (
        "a model without an owner can't be found by it"
    )
