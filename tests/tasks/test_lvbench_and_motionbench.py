"""LVBench and MotionBench: prompts, letters by rule, several abilities of a question, and rows of several questions."""

from mm_eval.tasks.lvbench.utils import doc_to_text
from mm_eval.tasks.motionbench.utils import listed

from tests.tasks.made_up import MadeUp, categories, prompt
from tests.tasks.of_sample import replay

LVBENCH = MadeUp("lvbench", "lmms-eval/LVBench", "train")
HARD = [
    ("B", 1),
    ("(B)", 1),
    ("The answer is B.", 1),
    ("**B**", 1),
    ("A", 0),
    ("E", 0),
    ("A or B", 0),
    ("", 0),
    ("<think>B", 0),
]


def test_lvbench(cli, tmp_path) -> None:
    assert prompt(cli, "lvbench").endswith("\nAnswer the question with the option letter")
    block = {"pre_prompt": "", "post_prompt": "\nEND"}
    assert doc_to_text({"question": "Who?", "options": ["he", "she"]}, block) == "Who?\n(A) he\n(B) she\nEND"
    docs = [{"answer": "B", "question_type": ["reasoning", "summarization"][: 1 + n % 2]} for n in range(len(HARD))]
    ran = LVBENCH.run(cli, tmp_path, docs, [answer for answer, _ in HARD])
    assert [row["scores"]["acc,none"] for row in ran.samples("lvbench")] == [right for _, right in HARD]
    found = categories(ran, "lvbench", "question type", "acc,none")
    assert found == {"reasoning": 4 / 9, "summarization": 0.5}


def test_motionbench_has_a_doc_for_each_question_with_an_answer(cli, tmp_path) -> None:
    assert prompt(cli, "motionbench").endswith("\nAnswer with only the option letter (A, B, C, D, E, or F).")
    ran = replay(cli, tmp_path, "motionbench", ["A", "B", "C", "D"], "--output_path", tmp_path / "run")
    rows = ran.samples("motionbench")
    assert [row["scores"]["acc,none"] for row in rows] == [
        float(row["target"] == "ABCD"[n]) for n, row in enumerate(rows)
    ]
    assert set(ran.results["categories"]["motionbench"]["question type"]) == {"Motion Recognition", "Action Order"}


def test_options_within_a_question() -> None:
    assert listed("What  moves?\nA. the cat\nB) a  dog\nC: both") == (
        "What moves?\nA. the cat\nB. a dog\nC. both",
        ["A", "B", "C"],
    )
    assert listed("What moves?") == ("", [])
