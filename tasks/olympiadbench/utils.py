"""OlympiadBench: problems of competitions and of the Chinese college entrance examination, in mathematics and physics.

Source: He et al. 2024, arXiv:2402.14008; inference/ of github.com/OpenBMB/OlympiadBench (evaluator.py, gpt_4v.py, judge.py).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.values.types import at_image_marks

from .rules import DEFAULT_ERROR, errors_of, final_answer, is_right

Doc = Mapping[str, Any]
PICTURE = r"<img_(\d+)>"
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
            f"以下是中国{_subject(doc)}竞赛中的解答题{kind}。请根据题目的要求和所提供的信息计算得出答案。解答过程和结果中使用的变量和公式"
            f"请使用LaTeX格式表示。请在最后以{quotes[0]}所以最终答案是{box}。{quotes[1]}显式给出结果{note}。"
        )
    box = ("\\boxed{multiple answers connected with commas}" if several else "\\boxed{answer}") + (
        "(unit)" if unit else ""
    )
    note = ", note that the unit of the answer should not be included in \\boxed{}" if unit else ""
    return (
        f"The following is an open-ended problem from an International {_subject(doc)} competition. {kind}Please calculate "
        "the answer according to the given requirements and the information provided. Please use LaTeX format to represent the "
        "variables and formulas used in the solution process and results. Please end your solution with "
        f'"So the final answer is {box}." and give the result explicitly{note}.'
    )


def _subject(doc: Doc) -> str:
    names = ("数学", "物理") if is_chinese(doc) else ("Math", "Physics")
    return names[not is_mathematics(doc)]


def _whole_text(doc: Doc, block: Mapping[str, Any]) -> str:
    """The instruction and the problem, with the pictures' tokens."""
    context = "" if is_mathematics(doc) or not doc["context"] else f"{doc['context']}\n"
    return f"{instruction(doc, block.get('quotes', '“”'))}\n{context}{doc['question']}"


def doc_to_text(doc: Doc, model_specific_prompt_kwargs: Mapping[str, Any]) -> str:
    """The prompt of a model without chats, each picture at its token."""
    return at_image_marks(_whole_text(doc, model_specific_prompt_kwargs), PICTURE)[0]


def doc_to_visual(doc: Doc, model_specific_prompt_kwargs: Mapping[str, Any]) -> list[Any]:
    """The pictures in the order of their tokens: the first token of the problem is `image_1`, the next other one `image_2`."""
    named = at_image_marks(_whole_text(doc, model_specific_prompt_kwargs), PICTURE)[1]
    number = {name: n for n, name in enumerate(dict.fromkeys(named), start=1)}
    return [doc[f"image_{number[name]}"] for name in named]


def doc_to_messages(doc: Doc, model_specific_prompt_kwargs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The authors' chat: their system text, then texts and pictures in turn; or the text and then the pictures (`behind`)."""
    block, text = model_specific_prompt_kwargs, _whole_text(doc, model_specific_prompt_kwargs)
    pictures = [{"type": "image", "url": picture} for picture in doc_to_visual(doc, block)]
    if block["pictures"] == "behind":
        return [{"role": "user", "content": [{"type": "text", "text": text}, *pictures]}]
    content, rest = list[dict[str, Any]](), iter(pictures)
    for place, piece in enumerate(re.split(re.sub(r"[()]", "", PICTURE), text)):
        content += [next(rest)] if place else []
        content += [{"type": "text", "text": piece.strip()}] if piece.strip() else []
    system = f"You are an AI assistant. Please answer the following {_subject(doc)} competition problems as required."
    if is_chinese(doc):
        system = f"你是一个中文人工智能助手。请根据要求，完成下面的{_subject(doc)}竞赛题目。"
    return [
        {"role": "system", "content": [{"type": "text", "text": system}]},
        {"role": "user", "content": content},
    ]


def gold_answer(doc: Doc) -> str:
    """An answer that ends as the prompt asks."""
    start = "所以最终答案是" if is_chinese(doc) else "So the final answer is "
    return f"{start}\\boxed{{{doc['final_answer'][0].strip('$')}}}."


def process_results(doc: Doc, results: Sequence[str | None]) -> dict[str, Any]:
    """1 where the last answer is the reference's, within the error that the problem allows."""
    answer = final_answer(results[0] or "", is_chinese(doc))
    is_tuple = "Tuple" in str(doc["answer_type"] or "")
    errors = [DEFAULT_ERROR] if is_tuple else errors_of(doc["error"])
    rule = (
        "box"
        if "\\boxed{" in answer
        else "last line"
        if "$" in answer
        else "whole answer"
        if answer.strip()
        else "unparsed"
    )
    return {"acc": float(is_right(answer, str(doc["final_answer"][0]), errors)), "__rule__": rule}
