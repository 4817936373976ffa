"""OlympiadBench: what its authors' script asks.

Source: He et al. 2024, arXiv:2402.14008; inference/code/evaluators/evaluator.py of github.com/OpenBMB/OlympiadBench.
"""

from collections.abc import Mapping
from typing import Any

Doc = Mapping[str, Any]
KINDS = {  # of an answer, in the order in which they are looked for
    "Numerical": ("a numerical value", "数值"), "Expression": ("an expression", "表达式"), "Equation": ("an equation", "方程"),
    "Interval": ("an interval", "区间"),
}  # fmt: skip


def is_chinese(doc: Doc) -> bool:
    """Whether the problem is in Chinese."""
    return str(doc["language"]).lower().startswith(("ch", "zh"))


def is_mathematics(doc: Doc) -> bool:
    """Whether the problem is one of mathematics, not of physics."""
    return "math" in str(doc["subject"]).lower()


def _answer_kind(doc: Doc) -> str:
    """The sentence on the answer's type; none for tuples, whose word would confuse."""
    chinese, stated = is_chinese(doc), str(doc["answer_type"] or "")
    if "Tuple" in stated or "Need_human_evaluate" in stated:
        return ""
    types = stated.split(",") if doc["is_multiple_answer"] else [stated]
    names = [next(names[chinese] for kind, names in KINDS.items() if kind in each) for each in types]
    if not doc["is_multiple_answer"]:
        return f"，答案类型为{names[0]}" if chinese else f"The answer of The problem should be {names[0]}. "
    if len(set(names)) == 1:
        start = (
            "，题目有多个答案，答案类型均为" if chinese else "The problem has multiple answers, each of them should be "
        )
        return start + names[0] + ("" if chinese else ". ")
    if chinese:
        return f"，题目有多个答案，答案类型分别为{'、'.join(names)}"
    return f"The problem has multiple answers, with the answers in order being {', '.join(names)}. "


def instruction(doc: Doc, quotes: str = "“”") -> str:
    """The authors' instruction. quotes: around the Chinese sentence to end with."""
    kind, several, unit = _answer_kind(doc), doc["is_multiple_answer"], doc["unit"]
    if is_chinese(doc):
        box = ("\\boxed{用英文逗号连接的多个答案}" if several else "\\boxed{答案}") + ("(单位)" if unit else "")
        note = "，注意答案的单位不要放在\\boxed{}中" if unit else ""
        return (
            f"以下是中国{subject(doc)}竞赛中的解答题{kind}。请根据题目的要求和所提供的信息计算得出答案。解答过程和结果中使用的变量和公式"
            f"请使用LaTeX格式表示。请在最后以{quotes[0]}所以最终答案是{box}。{quotes[1]}显式给出结果{note}。"
        )
    box = ("\\boxed{multiple answers connected with commas}" if several else "\\boxed{answer}") + (
        "(unit)" if unit else ""
    )
    note = ", note that the unit of the answer should not be included in \\boxed{}" if unit else ""
    return (
        f"The following is an open-ended problem from an International {subject(doc)} competition. {kind}Please calculate "
        "the answer according to the given requirements and the information provided. Please use LaTeX format to represent the "
        "variables and formulas used in the solution process and results. Please end your solution with "
        f'"So the final answer is {box}." and give the result explicitly{note}.'
    )


def subject(doc: Doc) -> str:
    """The subject's name in the problem's language."""
    names = ("数学", "物理") if is_chinese(doc) else ("Math", "Physics")
    return names[not is_mathematics(doc)]
