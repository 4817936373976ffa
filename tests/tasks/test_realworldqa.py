"""RealWorldQA: the prompt as the data has it, letters and short texts."""

from mm_eval.tasks.realworldqa.utils import doc_to_text

from tests.tasks.made_up import MadeUp, categories, prompt

REALWORLDQA = MadeUp("realworldqa", "lmms-lab/RealWorldQA", "test")
LETTER = "\nPlease answer directly with only the letter of the correct option and nothing else."


def test_the_prompt_is_the_datas_own_text(cli) -> None:
    question = "What color is the traffic light?\n\nA. Green\nB. Yellow\nC. Red" + LETTER
    assert prompt(cli, "realworldqa") == question
    assert prompt(cli, "realworldqa", None, 2).endswith("\nPlease answer directly with a single word or number.")


def test_options_stand_apart_for_families_that_are_evaluated_with_vlmevalkit(cli) -> None:
    lettered = (
        "What color is the traffic light?\nOptions:\nA. Green\nB. Yellow\nC. Red\nPlease select the correct answer"
    )
    assert prompt(cli, "realworldqa", "qwen2_5_vl") == f"Question: {lettered} from the options above. \n"
    assert prompt(cli, "realworldqa", "qwen2_vl") == f"Question: {lettered} from the options above."
    assert prompt(cli, "realworldqa", "internvl").endswith(
        "C. Red\nAnswer with the option's letter from the given choices directly."
    )
    assert prompt(cli, "realworldqa", "qwen3_vl", 2).endswith("\nPlease answer directly with a single word or number.")
    block = {"pre_prompt": "", "post_prompt": "", "lettered": "{question}|{options}"}
    asked = {"question": "Which lane?\n\nA. The first\nB The second\n C. Both" + LETTER}
    assert doc_to_text(asked, block) == "Which lane?|A. The first\nB. The second\nC. Both"
    assert doc_to_text({"question": "A car stops.\nWhy?"}, block) == "A car stops.\nWhy?"


ASKED = "What is shown?\n\nA. Cat\nB. Dog\nC. Bird" + LETTER
HARD = [
    ("B", "B", 1, True),
    ("B", "The answer is (B).", 1, True),
    ("B", "B. Dog", 1, True),
    ("B", "Answer: B because A is wrong", 1, True),
    ("B", "dog", 1, True),
    ("B", "**B**", 1, True),
    ("B", "\\boxed{B}", 1, True),
    ("B", "答案是B", 1, True),
    ("B", "C", 0, True),
    ("B", "Both A and C are plausible", 0, False),
    ("B", "I cannot answer this question, sorry about that", 0, False),
    ("B", "<think>A or B?", 0, False),
    ("B", "<think>A or B?</think>B", 1, True),
    ("45", "45", 1, True),
    ("45", "45.", 1, True),
    ("45", "45 mph", 0, True),
    ("1,234.50", "1,234.50", 1, True),
    ("25%", "25 %", 0, True),
    ("0", "zero", 0, True),
    ("Downhill", "downhill.", 1, True),
    ("Downhill", "Down hill", 0, True),
    ("Yes", "yes, there is no dog", 0, True),
    ("No", "no", 1, True),
    ("Blue", "", 0, False),
]


def test_hard_answers(cli, tmp_path) -> None:
    docs = [{"answer": gold, "question": ASKED} for gold, _, _, _ in HARD]
    ran = REALWORLDQA.run(cli, tmp_path, docs, [row[1] for row in HARD])
    assert [row["scores"]["exact_match,none"] for row in ran.samples("realworldqa")] == [row[2] for row in HARD]
    result = ran.results["results"]["realworldqa"]
    assert result["unparsed"] + result["truncated"] >= sum(not row[3] for row in HARD) - 1
    assert categories(ran, "realworldqa", "answer", "n") == {"letter": 13, "text": 11}
