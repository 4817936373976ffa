"""Bad input gets one clear sentence: what, where, what to do. Never a traceback, never a silent wrong number."""

import io
import json
from pathlib import Path

import pytest

from mm_eval.cli import main

QUESTION = {"question": "Is it red? Please answer yes or no.", "answer": "Yes", "category": "color"}


def picture(size: tuple[int, int] = (8, 8), kind: str = "PNG") -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    Image.new("RGB", size, (200, 0, 0)).save(buffer, kind)
    return buffer.getvalue()


def data_root(tmp_path: Path, pictures: list[bytes], **columns: list) -> Path:
    """A data root with an MME of one question a picture, the pictures' bytes as they are."""
    from datasets import Dataset, Features, Image, Value

    rows = {name: [value] * len(pictures) for name, value in QUESTION.items()}
    rows["question_id"] = [f"color/{n}.png" for n in range(len(pictures))]
    rows = {name: values for name, values in {**rows, **columns}.items() if values is not None}
    rows["image"] = [{"bytes": content, "path": None} for content in pictures]
    features = Features({name: Image() if name == "image" else Value("string") for name in rows})
    folder = tmp_path / "data" / "lmms-lab" / "MME" / "data"
    folder.mkdir(parents=True)
    Dataset.from_dict(rows, features=features).to_parquet(folder / "test-00000-of-00001.parquet")
    return tmp_path / "data"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--tasks", "mne"], "Did you mean 'mme'"),
        (["--tasks", "mme", "--model", "lava"], "Did you mean 'llava'"),
        (["--taks", "mme"], "Did you mean '--tasks'"),
        (["--tasks", "mme", "--modle=llava"], "Did you mean '--model'"),
        (["--tasks", ""], "--tasks: no task is named by ''"),
        (["--tasks", " , "], "--tasks: no task is named by ' , '"),
        (["--tasks", "mme", "--model", "hf", "--model_args", "pretraned=x"], "Did you mean 'pretrained'"),
        (["--tasks", "mme", "--model", "llava"], "pretrained="),
        (["--tasks", "mme", "--model", "dummy", "--model_args", "x"], "name=value"),
        (["--tasks", "mme", "--limit", "0"], "a count from 1 or a share between 0 and 1"),
        (["--tasks", "mme", "--limit", "-3"], "--limit is '-3'"),
        (["--tasks", "mme", "--limit", "2.5"], "--limit is '2.5'"),
        (["--tasks", "mme", "--limit", "abc"], "--limit is 'abc'"),
        (
            ["--tasks", "mme", "--sample", "--model", "dummy", "--gen_kwargs", "temperature=hot"],
            "'hot'; a number is needed",
        ),
        (["--tasks", "mme", "--sample", "--model", "dummy", "--gen_kwargs", "max_gen_toks=-5"], "are invalid"),
        (["--tasks", "mme", "--samples", '{"mme": []}'], "list of document ids"),
        (["--tasks", "mme", "--samples", '{"mmee": [1]}'], "Did you mean 'mme'"),
        (["--tasks", "mme", "--sample", "--model", "dummy", "--samples", '{"mme": [100000]}'], "which has 0 to"),
        (["--tasks", "mme", "--sample", "--model", "dummy", "--batch_size", "0"], "--batch_size"),
        (["--tasks", "mme", "--sample", "--model", "dummy", "--prompt_key", "qwen"], "Did you mean 'qwen_vl'"),
        (["--tasks", "mme", "--model", "replay", "--model_args", "path=/nowhere.jsonl"], "can't be read"),
        (["--tasks", "mme", "--data_root", "/nowhere", "--model", "dummy"], "--data_root: there is no folder"),
        (["--tasks", "mme", "--include_path", "/nowhere"], "/nowhere"),
        (["ls", "metricks"], "Did you mean 'metrics'"),
        (["lss"], "Did you mean 'ls'"),
        (["show", "mme", "--model", "dummy", "--sample", "--doc", "100000"], "has docs 0 to"),
        (["score", "/nowhere"], "/nowhere: there is no such folder."),
        (["--tasks", "mme", "--verbosity", "loud"], "DEBUG, INFO, WARNING or ERROR is needed"),
        (["--tasks", "arc_easy@mqca"], "Did you mean 'mcqa'"),
    ],
)
def test_a_mistake_is_one_sentence_with_exit_code_2(arguments, said, capsys, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert said in captured.err and "Traceback" not in captured.err
    assert len(captured.err.strip().splitlines()) == 1, captured.err
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"


def test_an_unreadable_dataset_names_id_places_and_remedies(cli, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ran = cli("--tasks", "mme", "--model", "dummy", "--data_root", tmp_path / "empty", "--offline")
    assert ran.code == 2
    for part in (
        "mme.yaml:",
        "lmms-lab/MME",
        "lmms-lab-encoder/MME",
        str(tmp_path / "empty"),
        "--sample",
        "--data_root",
    ):
        assert part in ran.err


def test_a_broken_picture_fails_its_doc_only_and_is_named(cli, tmp_path: Path) -> None:
    whole = picture((64, 64), "JPEG")
    root = data_root(tmp_path, [picture(), whole[: len(whole) // 2], picture((9, 8)), b"", b"not a picture"])
    ran = cli("--tasks", "mme", "--model", "dummy", "--data_root", root)
    assert ran.code == 3, ran.err
    row = ran.results["results"]["mme"]
    assert (row["n"], row["failed"]) == (5, 3)
    for doc_id in (1, 3, 4):
        assert f"mme doc {doc_id}" in ran.out
    statuses = [sample["status"] for sample in ran.samples("mme")]
    assert statuses == ["answered", "failed", "answered", "failed", "failed"]
    assert "3 of 5 documents failed" in ran.out


def test_a_failed_doc_is_in_no_mean(cli, tmp_path: Path) -> None:
    root = data_root(tmp_path, [picture((8 + n, 8)) for n in range(4)])
    answers = tmp_path / "answers.jsonl"
    rows = [{"task": "mme", "doc_id": n, "resps": ["Yes"]} for n in range(3)]
    answers.write_text("\n".join(json.dumps(row) for row in rows))
    ran = cli("--tasks", "mme", "--model", "replay", "--model_args", f"path={answers}", "--data_root", root)
    assert ran.code == 3
    row = ran.results["results"]["mme"]
    assert row["color,none"] == 200 and row["failed"] == 1


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"category": None}, "category"),
        ({"question": None}, "question"),
    ],
)
def test_a_column_that_the_docs_lack_stops_before_anything_is_asked(cli, tmp_path: Path, columns, said) -> None:
    root = data_root(tmp_path, [picture()], **columns)
    ran = cli("--tasks", "mme", "--model", "dummy", "--data_root", root)
    assert ran.code == 2 and said in ran.err and "mme" in ran.err and not ran.folder.exists()


def test_an_empty_split_is_an_error(cli, tmp_path: Path) -> None:
    root = data_root(tmp_path, [])
    ran = cli("--tasks", "mme", "--model", "dummy", "--data_root", root)
    assert ran.code == 2 and "no documents" in ran.err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("not json", "answers.jsonl:2"),
        ('{"task": "mme"}', "answers.jsonl:2"),
        ('{"task": "mme", "doc_id": 0, "resps": ["No"]}', "second row"),
        ('{"task": "mme", "doc_id": 3.7, "resps": ["No"]}', "answers.jsonl:2"),
        ('{"task": "mme", "doc_id": 1, "resps": "No"}', "resps a list"),
    ],
)
def test_a_bad_replay_row_is_named_by_line(cli, tmp_path: Path, line: str, said: str) -> None:
    answers = tmp_path / "answers.jsonl"
    answers.write_text('{"task": "mme", "doc_id": 0, "resps": ["Yes"]}\n' + line + "\n")
    ran = cli("--tasks", "mme", "--sample", "--model", "replay", "--model_args", f"path={answers}")
    assert ran.code == 2 and said in ran.err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("doc_to_text: !function utils.txt", "Did you mean 'text'"),
        ("metric_list: [{metric: exact_mach}]", "Did you mean 'exact_match'"),
        ("metric_list: [{metric: exact_match, ignore_cse: true}]", "ignore_case"),
        ("filter_list: [{name: a, filter: [{function: regx}]}]", "Did you mean 'regex'"),
        ("otput_type: generate_until", "Did you mean 'output_type'"),
        ("doc_to_target: answr", "Did you mean 'answer'"),
        ("cluster_key: categry", "categry"),
        ("doc_to_text: '{{question'", "Jinja"),
        ("doc_to_text: '{{qestion}}'", "qestion"),
        ("doc_to_target: '{{answr}}'", "answr"),
    ],
)
def test_a_mistake_in_a_yaml_names_file_and_suggestion(cli, tmp_path: Path, change: str, said: str) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    key = change.split(":")[0]
    lines = {
        "dataset_path": "dataset_path: lmms-lab/MME",
        "test_split": "test_split: test",
        "doc_to_text": "doc_to_text: !function utils.text",
        "doc_to_target": "doc_to_target: answer",
        "metric_list": "metric_list: [{metric: exact_match}]",
    }
    (folder / "mine.yaml").write_text("task: mine\n" + "\n".join({**lines, key: change}.values()) + "\n")
    (folder / "utils.py").write_text("def text(doc):\n    return doc['question']\n")
    ran = cli("--tasks", "mine", "--include_path", folder, "--model", "dummy", "--sample")
    assert ran.code == 2, ran.out
    assert said in ran.err and "mine.yaml" in ran.err
    assert not ran.folder.exists()


@pytest.mark.full
def test_an_option_that_generation_does_not_know_stops_before_anything_is_asked(cli) -> None:
    ran = cli("--tasks", "mme", "--limit", "2", "--model", "tiny-llava", "--gen_kwargs", "temprature=1")
    assert ran.code == 2 and "--gen_kwargs" in ran.err and "Did you mean 'temperature'" in ran.err
    assert not ran.folder.exists()


@pytest.mark.parametrize(
    ("resps", "said"),
    [
        ([[-1.0, True]] * 5, "for each choice"),
        ([[-1.0, True]] * 3, "for each choice"),
        ([[2.5, True], [-1.0, False], [-1.0, False], [-1.0, False]], "is it a loss?"),
        (["A", "B", "C", "D"], "for each choice"),
    ],
)
def test_log_likelihoods_of_another_shape_or_sign_are_failures(cli, tmp_path: Path, resps: list, said: str) -> None:
    answers = tmp_path / "answers.jsonl"
    answers.write_text(json.dumps({"task": "seedbench_ppl", "doc_id": 0, "resps": resps}))
    arguments = ("--tasks", "seedbench_ppl", "--sample", "--limit", "1", "--model", "replay")
    ran = cli(*arguments, "--model_args", f"path={answers}")
    assert ran.code == 3 and said in ran.out
    assert ran.results["results"]["seedbench_ppl"]["failed"] == 1


def test_a_token_cap_on_the_command_line_wins_under_any_name(cli) -> None:
    for name in ("max_gen_toks", "max_tokens", "max_new_tokens"):
        ran = cli("show", "seedbench", "--sample", "--model", "dummy", "--gen_kwargs", f"{name}=1")
        assert "'max_new_tokens': 1" in ran.out, name


def test_a_misspelt_metric_of_a_group_stops_before_anything_is_asked(cli, tmp_path: Path) -> None:
    (tmp_path / "g.yaml").write_text("group: gg\ntask: [arc_easy]\naggregate_metric_list:\n  - {metric: accc}\n")
    ran = cli("--tasks", "gg", "--include_path", tmp_path, "--model", "dummy", "--sample")
    assert ran.code == 2 and "g.yaml:" in ran.err and "Did you mean 'acc'" in ran.err
    other_form = cli("--tasks", "mmlu@generate", "--model", "dummy", "--sample", "--limit", "2")
    assert other_form.code == 0 and "No member has acc" in other_form.out


@pytest.mark.full
def test_a_group_of_tasks_with_metrics_of_their_own_is_validated_task_by_task(cli, tmp_path: Path) -> None:
    entry = "{metric: mme_cognition_score}"
    (tmp_path / "g.yaml").write_text(f"group: gg\ntask: [arc_easy, mme]\naggregate_metric_list: [{entry}]\n")
    ran = cli("validate", "gg", "--include_path", tmp_path, "--sample")
    assert ran.code == 0 and "FAIL" not in ran.out, ran.out
