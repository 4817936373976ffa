"""The manifest of the KubeRay example: its command is one of ours, and it fits KubeRay's own schema where that can be had."""

import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from mm_eval.cli import run
from mm_eval.cli.options import read_part_options

ROOT = Path(__file__).parent.parent.parent
CRD = "MM_EVAL_KUBERAY_CRD"


@pytest.fixture
def manifest() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "examples" / "kuberay.yaml").read_text())
    return found


def test_its_command_asks_for_what_its_machines_have(manifest: dict[str, Any]) -> None:
    import argparse

    program, *words = shlex.split(manifest["spec"]["entrypoint"])
    parser = argparse.ArgumentParser()
    run.add_arguments(parser)
    asked = read_part_options(parser.parse_args(words), "run")
    [group] = manifest["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    [container] = group["template"]["spec"]["containers"]
    limits = container["resources"]["limits"]
    assert program == "mm-eval" and asked["executor"] == "ray" and asked["ray_address"] is None
    assert asked["workers"] == group["maxReplicas"]
    assert (asked["worker_gpus"], asked["worker_cpus"]) == (int(limits["nvidia.com/gpu"]), int(limits["cpu"]))


def test_its_version_of_ray_is_the_one_that_is_tested(manifest: dict[str, Any]) -> None:
    [pinned] = re.findall(r"^ray==(\S+)$", (ROOT / "constraints.txt").read_text(), re.M)
    assert manifest["spec"]["rayClusterSpec"]["rayVersion"] == pinned


def test_it_fits_the_schema_of_kuberay(manifest: dict[str, Any]) -> None:
    """The schema: ray-operator/config/crd/bases/ray.io_rayjobs.yaml of github.com/ray-project/kuberay."""
    jsonschema = pytest.importorskip("jsonschema")
    if CRD not in os.environ:
        pytest.skip(f"KubeRay's schema is not here; {CRD} names the file ray.io_rayjobs.yaml of its repository")
    definition = yaml.load(Path(os.environ[CRD]).read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    group, version = manifest["apiVersion"].split("/")
    assert (definition["spec"]["group"], definition["spec"]["names"]["kind"]) == (group, manifest["kind"])
    [schema] = [each["schema"]["openAPIV3Schema"] for each in definition["spec"]["versions"] if each["name"] == version]
    validator = jsonschema.Draft7Validator(closed(schema))
    assert [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(manifest)] == []
    manifest["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["maxReplica"] = 8
    assert list(validator.iter_errors(manifest)), "a misspelt field, which Kubernetes would drop without a word"


def closed(schema: Any) -> Any:
    """A schema of Kubernetes that allows no field which it does not list; metadata, of which it lists nothing, stays open."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: closed(value) for name, value in schema.items()}
    fields = schema.get("properties")
    is_open = "additionalProperties" in schema or schema.get("x-kubernetes-preserve-unknown-fields")
    if isinstance(fields, dict) and schema.get("type") == "object" and not is_open:
        found["additionalProperties"] = False
    return found
