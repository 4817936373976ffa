"""OlympiadBench: the authors' prompts, and their rule for answers of all kinds."""

import time

from mm_eval.tasks.olympiadbench.prompts import instruction
from mm_eval.tasks.olympiadbench.rules import errors_of, final_answer, is_right
from mm_eval.tasks.olympiadbench.utils import doc_to_messages, gold_answer

from mm_eval.config.manager import TaskManager
from tests.sets import each_of
from tests.tasks.made_up import prompt
from tests.tasks.of_sample import replay

BLOCK, KIT = {"pictures": "in place"}, {"pictures": "behind", "quotes": '""'}
DOC = {
    "question": "Where?\n<img_7> Or <img_9>, not <img_7>?", "context": "A stone falls.", "language": "English",
    "subject": "Physics",
    "is_multiple_answer": False, "answer_type": "Numerical", "unit": "m", "image_1": "first", "image_2": "second",
}  # fmt: skip


def test_the_prompt_is_the_authors(cli) -> None:
    shown = prompt(cli, "olympiadbench", doc=5)
    assert shown.startswith(
        "The following is an open-ended problem from an International Math competition. The problem has multiple answers, with "
        "the answers in order being a numerical value, an equation. Please calculate the answer"
    )
    assert shown.endswith(
        'Please end your solution with "So the final answer is \\boxed{multiple answers connected with commas}." and give the '
        "result explicitly.\nFind all roots of $x^2 = 2$ and the line through them."
    )


def test_a_chinese_prompt() -> None:
    doc = {**DOC, "language": "Chinese", "subject": "Math", "answer_type": "Expression", "is_multiple_answer": True}
    assert instruction(doc).startswith("以下是中国数学竞赛中的解答题，题目有多个答案，答案类型均为表达式。请根据")
    end = "所以最终答案是\\boxed{用英文逗号连接的多个答案}(单位)。"
    assert instruction(doc).endswith(f"“{end}”显式给出结果，注意答案的单位不要放在\\boxed{{}}中。")
    assert f'"{end}"' in instruction(doc, '""'), "VLMEvalKit's quotes"
    assert "答案类型" not in instruction({**doc, "answer_type": "Tuple"})


def test_pictures_stand_at_their_tokens() -> None:
    system, user = doc_to_messages(DOC, BLOCK)
    assert system["content"][0]["text"].startswith(
        "You are an AI assistant. Please answer the following Physics competition"
    )
    parts = [part.get("text", part.get("url")) for part in user["content"]]
    assert parts[0].endswith("A stone falls.\nWhere?")
    assert parts[1:] == ["first", "Or", "second", ", not", "first", "?"]
    (kit,) = doc_to_messages(DOC, KIT)
    assert [part["type"] for part in kit["content"]] == ["text", "image", "image", "image"]
    assert kit["content"][0]["text"].endswith("Where?\n<img_7> Or <img_9>, not <img_7>?")


EQUAL = [  # answer, reference, error
    ("We get 7.\nSo the final answer is \\boxed{\\frac{2}{4}}.", "$\\frac{1}{2}$", ""),
    ("So the final answer is \\boxed{3}.\nNo.\nSo the final answer is \\boxed{4} (m).", "4", ""),
    ("It is\n$x=0.5$", "\\frac{1}{2}", ""),
    ("50%", "0.5", ""),
    ("1.44", "1.43", "0.02"),
    ("2.4,5.1", "5,2.5", "0.2,0.2"),
    ("\\boxed{-\\sqrt{2}} and \\boxed{\\sqrt{2}}", "\\pm \\sqrt{2}", ""),
    ("(-\\infty, \\frac{2}{2}]\\cup[2,+\\infty)", "x \\in (-\\infty,1]\\cup[2,+\\infty)", ""),
    ("\\frac{v^{2} m}{B R q}", "\\frac{mv^2}{qBR}", ""),
    ("\\frac{(n-1)!}{k!}\\frac{n}{(n-k)!}", "\\frac{n!}{k!(n-k)!}", ""),
    ("\\Phi(x,y)=\\frac{x+1}{2y}", "\\Phi(x,    y)=\\frac{x}{2y}+\\frac{1}{2y}", ""),
    ("6x-2y=8", "y=3x-4", ""),
    ("0.6054", "\\cos^{10}(\\frac{\\pi}{10})", "1e-4"),
    ("\\boxed{能}。", "能", ""),
    ("3 \\mathrm{m}", "3m", ""),
]
DIFFERENT = [
    ("The root is \\boxed{2", "2", ""),
    ("1.46", "1.43", "0.02"),
    ("\\boxed{1}\\boxed{2}", "2", ""),
    ("(1,2]", "(1,2)", ""),
    ("(-\\infty,0.5] \\cup[2,+\\infty)", "(-\\infty,\\frac{1}{2}]\\cup[2,+\\infty)", ""),  # a blank, as in the script
    ("1,2,2", "1,2,3", ""),
    ("1,2", "1,2,3", ""),
    ("y=3x+4", "y=3x-4", ""),
    ("\\frac{\\sqrt{L}}{\\sqrt{g}}", "\\sqrt{\\frac{L}{g}}", ""),  # not for numbers of any sign, says sympy
    ("10^{10^{10^{10}}}", "10^{10}", "1e-4"),
    ("\\frac{m v}{q}", "\\frac{m v}{q+1}", ""),
    ("three", "3", ""),
    ("", "3", ""),
]


@each_of(("answer", "gold", "error"), EQUAL + DIFFERENT)
def test_answers(answer: str, gold: str, error: str) -> None:
    assert is_right(final_answer(answer, False), gold, errors_of(error)) is ((answer, gold, error) in EQUAL)


def test_nothing_runs_for_long() -> None:
    start = time.process_time()
    for hard in ("\\sqrt{10^{9999}}^{9999}", "(" * 5000, "\\boxed{" * 3000, "1," * 20000, "9" * 5000,
     "\\sqrt{((10^{999})^{999})^{999}}",
                 "x^{x^{x^{x^{9999999}}}}", "\\frac{" * 300, "\\binom{10^{9}}{10^{8}}", "100000000!"):  # fmt: skip
        assert not is_right(hard, "\\frac{1}{2}") and not is_right(hard, "x^{2}+1")
    assert time.process_time() - start < 20


def test_the_sample_and_its_categories(cli, tmp_path) -> None:
    docs = next(iter(TaskManager().load("olympiadbench").tasks.values()))
    assert len(docs.dataset_name) == 10
    row = {"language": "Chinese", "final_answer": ["$3$"]}
    assert gold_answer(row) == "所以最终答案是\\boxed{3}."
    answers = ["So the final answer is \\boxed{s^2}."] + ["?"] * 7 + ["So the final answer is \\boxed{hmg}.", ""]
    ran = replay(cli, tmp_path, "olympiadbench", answers, "--output_path", tmp_path / "run")
    assert ran.results["results"]["olympiadbench"]["acc,none"] == 0.2
    assert ran.results["categories"]["olympiadbench"]["language"]["English"]["acc,none"] == 0.5
