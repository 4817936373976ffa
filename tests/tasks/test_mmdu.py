"""MMDU: where the pictures stand, the judge's prompt word for word, its dictionary, and the means over all turns."""

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from mm_eval.tasks.mmdu import prepare
from mm_eval.tasks.mmdu.prompts import asked
from mm_eval.tasks.mmdu.utils import RESPECTS, answers_of, judge_prompt, lowest, next_turn, over_turns, total, verdict
from PIL import Image

from mm_eval.judge.code import verdicts_of
from mm_eval.prepare import prepare_without_model
from mm_eval.request import RunRequest
from mm_eval.values.types import Answer
from tests.conftest import ROOT
from tests.sets import each_of
from tests.tasks.talks import judged_talks, rows_of

HUB_ID = "laolao77/MMDU"
ROWS = rows_of(HUB_ID)
GOLD = [row["answers"] for row in ROWS]
DOC = {
    "questions": ["One <ImageHere>?", "<ImageHere> two <ImageHere>"],
    "answers": ["1", "2"],
    "image": ["a", "b", "c"],
}


def scores(*values: int) -> str:
    return str(dict(zip(RESPECTS.values(), values * 7 if len(values) == 1 else values, strict=True)))


TENS = [[f"Very good.\n{scores(10)}"] * len(answers) for answers in GOLD]


def test_a_picture_stands_where_its_mark_is() -> None:
    assert next_turn(DOC, ["x"]) == {
        "role": "user",
        "content": [
            {"type": "image", "image": "b"},
            {"type": "text", "text": " two "},
            {"type": "image", "image": "c"},
        ],
    }
    assert next_turn(DOC, ["x", "y"]) is None


def test_the_judges_prompt_is_the_authors_byte_for_byte() -> None:
    digest = hashlib.sha256(asked("Q <ImageHere>", "R", "A").encode()).hexdigest()
    assert digest == "928e949b8d42353d14d344ef9000fc4023a29317942541423fd04f29bfcd5e0c"


def test_each_answer_is_asked_about_with_all_pictures_and_empty_ones_are_not() -> None:
    answer = json.dumps(["", "second"])
    system, user = judge_prompt(DOC, answer, [])
    assert system == {"role": "system", "content": "You are a helpful assistant."}
    text, *pictures = user["content"]
    assert text["text"].endswith(
        "[Question]\n<ImageHere> two <ImageHere>\n\n[The Start of Reference Answer]\n2\n[The End of Reference Answer]\n\n"
        "[The Start of Assistant’s Answer]\nsecond\n[The End of Assistant’s Answer]"
    )
    assert [part["image"] for part in pictures] == ["a", "b", "c"]
    assert judge_prompt(DOC, answer, [{}]) is None
    found = total([dict.fromkeys(RESPECTS, 7)], DOC, answer)
    assert found["creativity"] == [1, 7] and lowest(DOC)["judge_score"] == [1, 1]


def test_answers_are_padded_and_a_single_text_counts_for_each_turn() -> None:
    assert answers_of(DOC, '["a"]') == ["a", ""] and answers_of(DOC, '["a", "b", "c"]') == ["a", "b"]
    assert answers_of(DOC, "I don't know.") == ["I don't know."] * 2


@pytest.mark.parametrize("form", ["{}", "Fine.\n```python\n{}\n```", "**Scores** {}\n"])
def test_the_dictionary_of_a_reply_is_read(form: str) -> None:
    stated = dict(zip(RESPECTS.values(), (9, 3, 4, 5, 6, 7, 8), strict=True))
    for said in (str(stated), json.dumps(stated), str({**stated, "Note": "x"})):
        found = verdict(form.replace("{}", said))
        assert found is not None and found["judge_score"] == 9 and found["image_relationship"] == 8


@each_of(
    "reply",
    ["", "Overall Score: 9", "{'Overall Score': 9}", scores(0), scores(11), scores(5) + scores(6), scores(5)[:-1],
     scores(5).replace("5", "'5'", 1), scores(5).replace("5", "True", 1), scores(5).replace("5", "5/10", 1), "{" * 900, "{1, 2}",
     scores(5).replace("5", "nan", 1), scores(5).replace("5", "__import__('os')", 1), "}{", "{" + "9" * 5000 + "}"],
    ids=lambda reply: reply[:20],
)  # fmt: skip
def test_another_reply_is_not_read(reply: str) -> None:
    assert verdict(reply) is None


def test_the_mean_is_over_turns_and_not_over_conversations() -> None:
    assert over_turns([[10, 10, 10], [2]]) == pytest.approx(80)


def test_gold_conversations_have_full_marks(cli, tmp_path: Path) -> None:
    ran = judged_talks(cli, tmp_path, "mmdu", GOLD, TENS)
    row = ran.results["results"]["mmdu"]
    assert {row[f"{name},none"] for name in RESPECTS} == {100.0}
    assert row["judge_failed"] == 0 and row["turns"] == 11
    third = ran.samples("mmdu")[2]
    assert len(third["judge"]) == 4 and len(third["images"]) == 2
    shown = [part for message in third["turns"][0][1]["messages"] for part in message["content"]]
    assert [part["type"] for part in shown] == ["text", "image", "text"]


def test_conversations_weigh_by_their_turns_and_a_reply_that_cannot_be_read_takes_its_own_out(
    cli, tmp_path: Path
) -> None:
    replies = [[scores(4)] * len(answers) for answers in GOLD]
    replies[2] = [scores(9)] * 4
    replies[1][1] = "I would give it 9 of 10."
    talks = [list(answers) for answers in GOLD]
    talks[3][1] = ""
    replies[3] = [scores(4)]  # nothing is asked about the empty answer
    ran = judged_talks(cli, tmp_path, "mmdu", talks, replies, code=3)
    row = ran.results["results"]["mmdu"]
    assert row["judge_failed"] == 1 and row["failed"] == 0
    marks = [4, 4, 9, 9, 9, 9, 4, 1]
    assert row["judge_score,none"] == pytest.approx(10 * sum(marks) / 8)
    assert row["judge_bounds"] == pytest.approx([10 * (sum(marks) + 3 * low) / 11 for low in (1, 10)])
    assert "I would give it 9 of 10." in ran.samples("mmdu")[1]["judge"][-1]["error"]


def test_a_broken_conversation_is_failed_and_not_judged_in_part(cli, tmp_path: Path) -> None:
    talks = [list(answers) for answers in GOLD]
    talks[2] = talks[2][:2]  # the model fails at the third turn
    ran = judged_talks(cli, tmp_path, "mmdu", talks, TENS, code=3)
    row = ran.results["results"]["mmdu"]
    assert row["failed"] == 1 and row["judge_failed"] == 0 and row["judge_score,none"] == 100
    assert "judge" not in ran.samples("mmdu")[2]


def test_a_missing_picture_fails_its_conversation_before_it_is_asked(cli, tmp_path: Path) -> None:
    table = pq.read_table(ROOT / "assets" / "data" / HUB_ID / "default" / "test-00000-of-00001.parquet")
    rows = table.to_pylist()
    rows[2]["image"] = rows[2]["image"][:2]
    rows[0]["image"][1]["bytes"] = b"no picture"
    root = tmp_path / "root"
    (root / HUB_ID).mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), root / HUB_ID / "test.parquet")
    ran = judged_talks(cli, tmp_path, "mmdu", GOLD, TENS, "--data_root", root, code=3)
    assert ran.results["results"]["mmdu"]["failed"] == 2
    assert "its questions show 3 pictures, and it has 2." in ran.samples("mmdu")[2]["error"]["what"]
    assert [turn["answer"] for turn in ran.samples("mmdu")[2]["turns"][0]] == [None]


def test_the_request_to_the_judge_has_all_pictures_in_each_turn() -> None:
    task = prepare_without_model(RunRequest(tasks=("mmdu",), sample=True), "mmdu").tasks["mmdu"]
    known: dict[int, Answer] = {}
    verdicts = verdicts_of(task, "J", lambda slot: known.get(slot.step), asks=True)
    answer, doc = json.dumps(GOLD[2]), task.docs.text(2)
    for turn in range(4):
        pending = verdicts.chain(2, doc, answer).pending
        assert pending is not None and pending.images is not None and pending.slot.step == turn
        assert len(pending.image_digests) == len(pending.images()) == 3
        known[turn] = Answer(scores(7))
    assert verdicts.chain(2, doc, answer).value["judge_score"] == [7] * 4


def archive(path: Path, names: list[str]) -> None:
    with zipfile.ZipFile(path, "w") as packed:
        for number, name in enumerate(names):
            file = io.BytesIO()
            Image.new("RGB", (8 + number, 8), "red").save(file, "PNG")
            packed.writestr(name, file.getvalue())


def benchmark(*paths: str) -> list[dict[str, Any]]:
    said = [("user", "<ImageHere> What?"), ("assistant", "Red."), ("user", "Sure?"), ("assistant", "Yes.")]
    return [{"id": 7, "image": list(paths), "conversations": [{"from": who, "value": text} for who, text in said]}]


@pytest.mark.parametrize("form", [list, lambda rows: {"7": rows[0]}], ids=["list", "mapping"])
def test_the_authors_files_become_a_data_root(cli, tmp_path: Path, form: Any) -> None:
    folder = tmp_path / "root" / HUB_ID
    folder.mkdir(parents=True)
    archive(folder / "mmdu_pics.zip", ["mmdu_pics/a/1.png", "mmdu_pics/b/1.png"])
    (folder / "benchmark.json").write_text(json.dumps(form(benchmark("/mmdu_pics/b/1.png"))))
    assert prepare.main(folder) is None and prepare.main(folder) is None
    assert [path.name for path in folder.iterdir()] == ["test.parquet"]
    talks, replies = [["Red.", "Yes."]], [[scores(8), scores(6)]]
    ran = judged_talks(cli, tmp_path, "mmdu", talks, replies, "--data_root", tmp_path / "root")
    assert ran.results["results"]["mmdu"]["judge_score,none"] == 70
    assert ran.samples("mmdu")[0]["prompt"], "the question was asked with its picture"


@pytest.mark.parametrize(
    ("paths", "said"),
    [(["x/2.png"], "no file for the picture 'x/2.png'"), (["1.png"], "2 files for the picture '1.png'")],
)
def test_a_picture_that_is_not_in_the_archive_is_said(tmp_path: Path, paths: list[str], said: str) -> None:
    archive(tmp_path / "mmdu_pics.zip", ["p/a/1.png", "p/b/1.png"])
    (tmp_path / "benchmark.json").write_text(json.dumps(benchmark(*paths)))
    assert said in str(prepare.main(tmp_path))
    assert (tmp_path / "benchmark.json").exists() and not (tmp_path / "test.parquet").exists()
    assert "needs benchmark.json" in str(prepare.main(tmp_path / "none"))
