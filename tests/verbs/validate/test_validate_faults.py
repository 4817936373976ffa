"""`mm-eval validate` lists every fault of every task at once, and checks the tasks that can be read."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from tests.conftest import Ran

HEAD = """task: {0}
dataset_path: json
dataset_kwargs: {{data_files: {{test: rows.jsonl}}}}
test_split: test
doc_to_text: q
doc_to_target: a
"""
BROKEN = {
    "keys": (
        "num_fewshto: 1\nrepeats: many\nnum_fewshot: -1\ndoc_to_visual: !function ok.nothere\n"
        "process_docs: !function nofile.f\nmetric_list: [{aggregation: mean}]\n"
    ),
    "syntax": "x: [1\n",
    "twice": "repeats: 1\nrepeats: 2\nnum_fewshot: 1\nnum_fewshot: 0\n",
    "imports": "process_results: !function bad.f\nprocess_docs: !function ok.g\nmetric_list: [{metric: acc}]\n",
    "filters": "filter_list:\n- {name: a, filter: [{function: regexx}]}\n- {name: b, filter: [{function: take_frist}]}\n",
}
SAID = {
    "keys": [
        "7: unknown key 'num_fewshto'",
        "8: 'repeats' must",
        "9: 'num_fewshot' must",
        "10: ",
        "11: ",
        "12: each entry",
    ],
    "syntax": ["invalid YAML"],
    "twice": ["8: the key 'repeats' is written twice", "10: the key 'num_fewshot' is written twice"],
    "imports": ["7: importing the file of !function bad.f failed"],
    "filters": ["Unknown filter 'regexx'", "Unknown filter 'take_frist'"],
}
Validate = Callable[[str], Ran]


@pytest.fixture
def validate(cli: Callable[..., Ran], tmp_path: Path) -> Validate:
    (tmp_path / "rows.jsonl").write_text('{"q": "a", "a": "b"}\n{"q": "c", "a": "d"}\n')
    (tmp_path / "bad.py").write_text("1 / 0\ndef f(doc, results): return {}\n")
    (tmp_path / "ok.py").write_text("def g(docs): return docs\n")
    for name, more in {**BROKEN, "good": ""}.items():
        (tmp_path / f"{name}.yaml").write_text(HEAD.format(name) + more)
    return lambda tasks: cli("validate", tasks, "--include_path", tmp_path)


def faults(ran: Ran) -> list[str]:
    return [line for line in ran.out.splitlines() if line.startswith("FAIL")]


def test_all_faults_of_all_tasks_are_listed_and_the_others_checked(validate: Validate) -> None:
    ran = validate("keys,good,syntax,twice,nothing,imports,filters")
    assert ran.code == 2 and "ok    good: 2 documents" in ran.out
    for name, texts in SAID.items():
        own = [line for line in faults(ran) if line.startswith(f"FAIL  {name}: ")]
        assert len(own) == len(texts), own
        for text in texts:
            assert any(text in line for line in own), text
    assert any("nothing: config error: unknown task, group or tag 'nothing'" in line for line in faults(ran))
    assert len(faults(ran)) == sum(map(len, SAID.values())) + 1


@pytest.mark.parametrize("tasks", ["*", "everything", "broken_tag"])
def test_members_of_a_group_a_tag_and_a_glob(validate: Validate, tmp_path: Path, tasks: str) -> None:
    for name in ("keys", "twice", "good"):
        file = tmp_path / f"{name}.yaml"
        file.write_text(file.read_text() + "tag: broken_tag\n")
    (tmp_path / "everything.yaml").write_text("group: everything\ntask: [keys, twice, good, {task: god, repeats: 2}]\n")
    ran = validate(tasks if tasks != "*" else "[gkt]*[!8m]")  # good, keys and twice
    assert ran.code == 2 and "ok    good: 2 documents" in ran.out
    assert (
        sum("keys.yaml" in line for line in faults(ran)) == 6 and sum("twice.yaml" in line for line in faults(ran)) == 2
    )
    assert sum("unknown task, group or tag 'god'" in line for line in faults(ran)) == (tasks == "everything")


def test_groups_with_misspelt_metrics(validate: Validate, tmp_path: Path) -> None:
    for name in ("one", "two"):
        metrics = "aggregate_metric_list: [{metric: exact_mtch}, {metric: f2}]\n"
        (tmp_path / f"{name}.yaml").write_text(f"group: {name}\ntask: [good]\n{metrics}")
    ran = validate("one,two")
    assert ran.code == 2 and len(faults(ran)) == 4 and ran.out.count("ok    good") == 1
    assert faults(ran)[0].startswith("FAIL  one: config error: ") and "one.yaml:3: " in faults(ran)[0]


@pytest.mark.full
def test_a_bound_ends_the_search_for_more_faults(validate: Validate, tmp_path: Path) -> None:
    for step in range(40):
        below = f"e{step + 1}" if step < 39 else "keys"
        (tmp_path / f"e{step}.yaml").write_text(f"group: e{step}\ntask: [{below}, {below}]\n")
    ran = validate("e0,good")
    assert ran.code == 2 and "more than 1,000 times" in ran.out and "ok    good" in ran.out
    assert len(faults(ran)) == len(SAID["keys"]) + 1


def test_pictures_that_are_missing_or_broken_are_found_before_a_run(cli: Callable[..., Ran], tmp_path: Path) -> None:
    """Files beside the rows were "ok", and then each document of the run failed."""
    (tmp_path / "rows.jsonl").write_text('{"q": "a", "a": "b", "p": "one.png"}\n{"q": "c", "a": "d", "p": "two.png"}\n')
    (tmp_path / "shown.yaml").write_text(HEAD.format("shown") + "doc_to_visual: p\n")
    for name in ("one.png", "two.png"):
        Image.new("RGB", (8, 8), "red").save(tmp_path / name)
    ran = cli("validate", "shown", "--include_path", tmp_path)
    assert ran.code == 0 and "ok    shown: 2 documents" in ran.out
    (tmp_path / "one.png").unlink()
    ran = cli("validate", "shown", "--include_path", tmp_path)
    assert ran.code == 2 and "FAIL  shown: the pictures of 1 of the first 2 documents can't be read" in ran.out
    assert "'one.png'" in ran.out
    (tmp_path / "one.png").write_bytes(b"<html>404</html>")
    assert cli("validate", "shown", "--include_path", tmp_path).code == 2
