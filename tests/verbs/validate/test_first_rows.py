"""The first rows of real data: another type, a lost column, and gold answers that score nothing are one sentence before a run."""

import json
from pathlib import Path
from typing import Any

import datasets

from mm_eval.gold_checks.first_rows import kind_of
from tests.sets import each_of

GSM8K = {"question": "1 + 1?", "answer": "It is 2.\n#### 2"}


def gsm8k(root: Path, rows: list[dict[str, Any]]) -> Path:
    folder = root / "openai" / "gsm8k" / "main"
    folder.mkdir(parents=True)
    for split, each in (("test", rows), ("train", [GSM8K] * 9)):
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in each))
    return root


def run(cli: Any, root: Path, task: str, *more: object) -> str:
    ran = cli("--tasks", task, "--model", "dummy", "--data_root", root, "--output_path", root / "run", *more)
    assert ran.code == 0, ran.err
    return ran.out + ran.err


def test_gold_answers_that_score_nothing(cli: Any, tmp_path: Path) -> None:
    said = run(cli, gsm8k(tmp_path, [{**GSM8K, "answer": "two"}] * 9 + [GSM8K]), "gsm8k", "--num_fewshot", 0)
    assert "gsm8k: the gold answers of 8 of the first 8 rows score 0: its scores may be wrong" in said


def test_what_is_as_expected_says_nothing(cli: Any, tmp_path: Path) -> None:
    rows = [GSM8K] * 5 + [{**GSM8K, "answer": "two"}] * 3  # a fault in the data is no moved column
    assert "may be wrong" not in run(cli, gsm8k(tmp_path, rows), "gsm8k", "--num_fewshot", 0)


def test_nothing_is_said_of_sample_data_of_own_data_and_where_nothing_is_scored(cli: Any, tmp_path: Path) -> None:
    root = gsm8k(tmp_path / "real", [{**GSM8K, "answer": "two"}])
    assert "may be wrong" not in run(cli, root, "gsm8k", "--num_fewshot", 0, "--predict_only")
    own = tmp_path / "own"
    (own / "tasks").mkdir(parents=True)
    (own / "rows.jsonl").write_text(json.dumps(GSM8K) + "\n")
    (own / "tasks" / "mine.yaml").write_text(
        f"task: mine\ndataset_path: json\ndataset_kwargs: {{data_files: {{test: {own}/rows.jsonl}}}}\ntest_split: test\n"
        "output_type: generate_until\ndoc_to_text: question\ndoc_to_target: answer\n"
        "filter_list: [{name: none, filter: [{function: regex, regex_pattern: 'x(y)z'}]}]\nmetric_list: [{metric: exact_match}]\n"
    )
    assert "may be wrong" not in run(cli, own, "mine", "--include_path", own / "tasks")


def test_a_column_that_moved_or_has_another_type(cli: Any, tmp_path: Path) -> None:
    from PIL import Image

    row = {
        "id": "0",
        "question_id": "a",
        "question": "Is it?",
        "answer": "yes",
        "image_source": "x",
        "category": "random",
    }
    whole: dict[str, list[Any]] = {key: [value] * 2 for key, value in row.items()}
    whole["image"] = [Image.new("RGB", (8, 8))] * 2

    def pope(name: str, rows: dict[str, list[Any]]) -> str:
        folder = tmp_path / name / "lmms-lab" / "POPE"
        folder.mkdir(parents=True)
        datasets.Dataset.from_dict(rows).to_parquet(str(folder / "test-00000-of-00001.parquet"))
        return run(cli, tmp_path / name, "pope")

    assert "may be wrong" not in pope("whole", whole)
    card = "the card of a copy or sister set"
    said = pope("number", {**whole, "question_id": [1, 2]})
    assert f"pope: the column 'question_id' is number, where {card} has text: its scores may be wrong" in said
    said = pope("lost", {key: value for key, value in whole.items() if key != "image_source"})
    assert f"pope: no column 'image_source', which {card} has: its scores may be wrong" in said


@each_of(
    ("feature", "kind"),
    [
        (datasets.Value("large_string"), "text"),
        (datasets.Value("int8"), "number"),
        (datasets.Value("null"), ""),
        (datasets.Image(), "picture"),
        (datasets.Sequence(datasets.Value("string")), "list of text"),
        ([{"a": datasets.Value("string")}], "list of record"),
        ({"a": datasets.Value("string")}, "record"),
        ("list<float16>", "list of number"),
        ("list<image>", "list of picture"),
        ("struct", "record"),
    ],
)
def test_what_a_column_holds(feature: Any, kind: str) -> None:
    assert kind_of(feature) == kind


OPTIONS = [
    {"q": f"Which {i}?", "options": ["cat", "dog"], "text": ["cat", "dog"][i % 2], "index": i % 2} for i in range(9)
]
LETTER = "[{function: mcq_letter, choices: options}]"


def own(cli: Any, root: Path, filters: str, target: str, *more: str) -> str:
    """What a run of a task of one's own says."""
    (root / "t").mkdir(parents=True)
    (root / "t" / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in OPTIONS))
    text = "task: mine\ndataset_path: json\ndataset_kwargs: {data_files: {test: rows.jsonl}}\ntest_split: test\n"
    text += f"doc_to_text: q\ndoc_to_target: {target}\nfilter_list: [{{name: none, filter: {filters}}}]\n"
    (root / "t" / "mine.yaml").write_text(text + "\n".join(["metric_list: [{metric: exact_match}]", *more]) + "\n")
    return run(cli, root, "mine", "--include_path", root / "t")


@each_of(
    ("filters", "target", "example"),
    [
        (LETTER, "text", "Doc 0: the answer 'cat' is read as 'A', the target is 'cat'"),
        (LETTER, "index", "Doc 0: the answer '0' is not read, the target is 0"),
        ("[{function: mcq_letter}]", "text", "Doc 0: the answer 'cat' is not read"),
        ("[{function: yes_no}]", "\"{{ ['true', 'false'][index] }}\"", "the target is 'true'"),
    ],
)
def test_own_gold_answers_that_no_answer_can_equal(
    cli: Any, tmp_path_factory: Any, filters: str, target: str, example: str
) -> None:
    said = own(cli, tmp_path_factory.mktemp("own"), filters, target)
    assert "note: mine: the gold answers of 8 of the first 8 rows score 0: its scores may be wrong. Doc 0:" in said
    assert example in said and "`mm-eval validate mine` checks all rows" in said


@each_of(
    ("filters", "target", "more"),
    [
        (LETTER, "\"{{ 'AB'[index] }}\"", ""), ("[]", "text", ""),
        ("[{function: regex, regex_pattern: 'answer is (.*)[.]'}]", "text", ""),
        (LETTER, "\"{{ 'AB'[index] }}\"", "gold_answer: text"),
    ],
)  # fmt: skip
def test_own_gold_answers_that_score_in_some_form_say_nothing(
    cli: Any, tmp_path_factory: Any, filters: str, target: str, more: str
) -> None:
    assert "may be wrong" not in own(cli, tmp_path_factory.mktemp("own"), filters, target, more)
