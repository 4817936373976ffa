"""MMHal-Bench: the judge's prompt is the authors'. Their verdicts are not recorded in a public repository."""

import ast
import re

from mm_eval.tasks.mmhal.utils import judge_prompt

from tests.papers.recordings import Recording

SCRIPT = Recording("llava-rlhf/LLaVA-RLHF", "830a083fd83e607da3c35f2e6aef833523c1e722", "Eval/eval_gpt_mmhal.py")


def test_the_prompt_is_the_script_s() -> None:
    stated = re.search(r"^template = ('''.*?''')", SCRIPT.text(), re.DOTALL | re.MULTILINE)
    assert stated
    doc = {"image_content": ["Sun", "Sky"], "question": "Is it day?", "gt_answer": "Yes."}
    assert judge_prompt(doc, "No.") == ast.literal_eval(stated[1]).format("Sun, Sky", "Is it day?", "Yes.", "No.")
