"""ConvBench: the judge's prompts word for word, which side is whose, preferences and their extraction, and the shares of wins."""

import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.convbench import prepare
from mm_eval.tasks.convbench.prompts import asked, extracted
from mm_eval.tasks.convbench.utils import HUMAN_FIRST, answers_of, human, human_first, judge_prompt, total, verdict
from PIL import Image

from mm_eval.verbs.fetch.recipe import Recipe
from tests.tasks.talks import judged_talks, rows_of

HUB_ID = "liushuo12345/ConvBench"
ROWS = rows_of(HUB_ID)
GOLD = [human(row) for row in ROWS]
A, B = "So.\nOverall, Response A is better.", "Overall, Response B is better."
UNCLEAR = "Response A is better in fluency, Response B is better in accuracy."
METRICS = ("judge_score", "three_turns", "perception", "reasoning", "creation", "conversation")


def test_the_prompts_are_the_authors_byte_for_byte() -> None:
    """The digests are of what generate_request and generate_parsing_answer_request of the authors' script give."""
    questions, a, b = ["q{1}", "q2", "q3"], ["a1", "a2 {}", "a3"], ["b1", "b2", "b3"]
    given = [(), (), ("D",), ("e1", "e2", "e3")]
    messages = [asked(turn, "CAP", questions, a, b, more) for turn, more in enumerate(given)]
    assert [[message["role"] for message in each] for each in messages] == [["system", "user", "assistant", "user"]] * 4
    digests = [hashlib.sha256(json.dumps(each).encode()).hexdigest()[:16] for each in [*messages, extracted("EVAL")]]
    assert digests == [
        "fad663ebf52aebb6",
        "a20684bf229bf4d7",
        "17d4bebb8858c730",
        "9e69efbc55f51962",
        "464dc8d1f2697eb3",
    ]


def test_which_side_is_a_is_the_authors_draw() -> None:
    """pairwise.npy begins with 0110 0001 and has 277 ones among 578."""
    assert [human_first({"ID": str(number)}) for number in (1, 2, 3, 4, 8, 578)] == [
        False,
        True,
        True,
        False,
        True,
        False,
    ]
    assert HUMAN_FIRST.bit_count() == 277 and HUMAN_FIRST.bit_length() == 577


def test_the_conversation_is_judged_with_the_three_evaluations() -> None:
    doc, answer = ROWS[1], json.dumps(["x", "y", "z"])
    said = [verdict(reply, []) for reply in (A, B, A)]
    third = judge_prompt(doc, answer, said[:2])[-1]["content"]
    assert f"make your judgements for the response:{doc['third_turn_demands']}.\n" in third
    assert f"response from Assistant A:\n{doc['first_turn_answer']}\n" in third and "Assistant B:\nx\n" in third
    whole = judge_prompt(doc, answer, said)[-1]["content"]
    told = f"The first turn evaluation: {A}.\n The second turn evaluation: {B}.\n The third turn evaluation: {A}.\n"
    assert told in whole
    assert "compare the overall conversation responses" in whole
    assert judge_prompt(doc, answer, [*said, verdict(B, said)]) is None


def test_a_reply_without_one_preference_is_asked_about() -> None:
    unclear = verdict(UNCLEAR, [])
    assert unclear == {"said": UNCLEAR, "better": ""}
    question = judge_prompt(ROWS[0], '["x", "y", "z"]', [unclear])
    assert len(question) == 8 and question[-1]["content"].startswith(UNCLEAR)
    assert verdict("Final Answer: Response B", [unclear]) == {"better": "B"}
    assert verdict("Final Answer: A", [unclear]) == {"better": "A"}
    assert verdict("Unknown", [unclear]) == {"better": ""} == verdict('Final Answer: "Unknown".', [unclear])
    for reply in ("It depends.", "Final Answer: Response A or Final Answer: Response B", "<html>", A):
        assert verdict(reply, [unclear]) is None
    assert "second turn" in judge_prompt(ROWS[0], '["x", "y", "z"]', [unclear, {"better": "B"}])[-1]["content"]


def test_wins_and_their_means() -> None:
    model_a, model_b = ROWS[0], ROWS[1]
    said = [verdict(reply, []) for reply in (A, B, B, B)]
    lost, won = ((1 / 3 + 0) / 2, 1 / 3, 1, 0, 0, 0), ((2 / 3 + 1) / 2, 2 / 3, 0, 1, 1, 1)
    assert total(said, model_a, "") == pytest.approx(dict(zip(METRICS, lost, strict=True)))
    assert total(said, model_b, "") == pytest.approx(dict(zip(METRICS, won, strict=True)))
    unclear = verdict(UNCLEAR, [])
    assert total([unclear, {"better": "A"}, *said[1:]], model_a, "")["perception"] == 1
    assert total([unclear, {"better": ""}, *said[1:]], model_a, "")["perception"] == 0, "no preference is no win"
    rated = verdict("Both.\nRating: A.", [])
    assert total([rated, {"better": ""}, *said[1:]], model_a, "")["perception"] == 1, "as the authors' last resort"
    assert set(total([], model_a, "[]").values()) == {0}


def test_the_means_are_those_of_the_papers_table() -> None:
    """GPT-4V wins 222, 227, 217 and 234 of 577: S1 38.47, S2 39.34, S3 37.61, S0 40.55; the table has R2 38.47 and R1 39.51."""
    won = [[verdict(A if doc < wins else B, []) for wins in (222, 227, 217, 234)] for doc in range(577)]
    marks = [total(said, ROWS[0], "") for said in won]
    means = {name: round(100 * sum(mark[name] for mark in marks) / 577, 2) for name in METRICS}
    assert list(means.values()) == [39.51, 38.47, 38.47, 39.34, 37.61, 40.55]


def test_answers_of_a_model() -> None:
    assert answers_of('["a"]') == ["a", "", ""] and answers_of("I don't know.") == ["I don't know."] * 3
    assert judge_prompt(ROWS[0], '["", " ", ""]', []) is None


def winning(row: dict[str, Any]) -> str:
    return B if human_first(row) else A


def test_a_model_that_is_always_preferred_has_full_marks_and_one_that_never_is_none(cli, tmp_path: Path) -> None:
    for name, replies, mark in (("won", [winning(row) for row in ROWS], 1), ("lost", [A, A, A, A], None)):
        (tmp_path / name).mkdir()
        ran = judged_talks(cli, tmp_path / name, "convbench", GOLD, [[reply] * 4 for reply in replies])
        row = ran.results["results"]["convbench"]
        assert {row[f"{metric},none"] for metric in METRICS} == {1.0 if mark else 0.5}, "a judge that says A has a half"
        assert row["turns"] == 12 and row["judge_failed"] == 0
        assert row["judge_bounds"] is None


def test_an_extraction_that_cannot_be_read_takes_its_conversation_out(cli, tmp_path: Path) -> None:
    replies = [[winning(row)] * 4 for row in ROWS]
    replies[0] = [UNCLEAR, "Final Answer: Response A", A, UNCLEAR, "Unknown", A]  # 1, 1, 0, 1
    replies[1] = [B, UNCLEAR, "It depends on taste."]
    talks = [list(answers) for answers in GOLD]
    talks[3] = talks[3][:1]  # a broken chain
    ran = judged_talks(cli, tmp_path, "convbench", talks, replies, code=3)
    row = ran.results["results"]["convbench"]
    assert row["judge_failed"] == 1 and row["failed"] == 1
    assert row["creation,none"] == 0.5 and row["three_turns,none"] == pytest.approx((2 / 3 + 1) / 2)
    assert row["judge_score,none"] == pytest.approx(((2 / 3 + 1) / 2 + 1) / 2)
    assert "It depends on taste." in ran.samples("convbench")[1]["judge"][-1]["error"]
    assert len(ran.samples("convbench")[0]["judge"]) == 6


def sheet(path: Path, rows: list[dict[str, str]]) -> Path:
    """A spreadsheet with these rows, of shared strings."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    texts = [*columns, *(row.get(name, "") for row in rows for name in columns)]
    cells = [
        f'<c r="{chr(65 + n % len(columns))}{n // len(columns) + 1}" t="s"><v>{n}</v></c>' for n in range(len(texts))
    ]
    lines = ["".join(cells[n : n + len(columns)]) for n in range(0, len(cells), len(columns))]
    head = f'xmlns="{prepare.SPACE.strip("{}")}"'
    with zipfile.ZipFile(path, "w") as packed:
        strings = "".join(f"<si><t>{text.replace('&', '&amp;')}</t></si>" for text in texts)
        packed.writestr("xl/sharedStrings.xml", f"<sst {head}>{strings}</sst>")
        data = "".join(f"<row>{line}</row>" for line in lines)
        packed.writestr("xl/worksheets/sheet1.xml", f"<worksheet {head}><sheetData>{data}</sheetData></worksheet>")
    return path


def complete(number: int, image: str) -> dict[str, str]:
    row = {name: text for name, text in ROWS[0].items() if isinstance(text, str)}
    return {**row, "ID": str(number), "image_id": image}


def test_the_authors_spreadsheet_becomes_a_data_root(cli, tmp_path: Path) -> None:
    folder = tmp_path / "root" / HUB_ID
    (folder / "images").mkdir(parents=True)
    rows = [complete(1, "a & b.png"), complete(131, "gone.png"), complete(2, "c.png")]
    sheet(folder / "ConvBench.xlsx", [*rows, {"ID": ""}])
    assert prepare.main(folder) is None
    for name in ("a & b.png", "c.png"):
        Image.new("RGB", (8, 8), "red").save(folder / "images" / name)
    talks, replies = [["x", "y", "z"]] * 2, [[A] * 4] * 2
    ran = judged_talks(cli, tmp_path, "convbench", talks, replies, "--data_root", tmp_path / "root")
    row = ran.results["results"]["convbench"]
    assert row["n"] == 2 and row["judge_score,none"] == 0.5
    assert all(sample["images"] for sample in ran.samples("convbench"))


def test_the_recipe_names_the_pictures_after_the_spreadsheet_is_read(tmp_path: Path) -> None:
    lines = list(Recipe.of_task("convbench", tmp_path).lines())
    assert "ConvBench.xlsx" in lines[1] and "convbench.prepare" in lines[2] and "visit_bench_images/{}" in lines[3]
    assert "mmdu_pics.zip" in list(Recipe.of_task("mmdu", tmp_path).lines())[2]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"third_turn_answer": ""}, "ID 1 has nothing in 'third_turn_answer'"),
        ({"ID": "579"}, "are not different numbers from 1 to 578"),
        ({"ID": "two"}, "are not different numbers from 1 to 578"),
    ],
)
def test_a_spreadsheet_that_is_not_the_benchmarks_is_said(tmp_path: Path, change: dict[str, str], said: str) -> None:
    sheet(tmp_path / "ConvBench.xlsx", [{**complete(1, "a.png"), **change}])
    assert said in str(prepare.main(tmp_path)) and not (tmp_path / "test.json").exists()


def test_the_spreadsheet_without_answers_is_said(tmp_path: Path) -> None:
    row = complete(1, "a.png")
    sheet(tmp_path / "ConvBench.xlsx", [{name: row[name] for name in ("ID", "image_id", "The_first_turn_instruction")}])
    assert "on GitHub lacks the answers" in str(prepare.main(tmp_path))
    assert "has no ConvBench.xlsx" in str(prepare.main(tmp_path / "none"))
    (tmp_path / "ConvBench.xlsx").write_bytes(b"no zip")
    assert "can't be read" in str(prepare.main(tmp_path))
