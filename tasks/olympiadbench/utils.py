"""OlympiadBench: problems of competitions and of the Chinese college entrance examination, in mathematics and physics.

Source: He et al. 2024, arXiv:2402.14008; inference/ of github.com/OpenBMB/OlympiadBench (evaluator.py, gpt_4v.py, judge.py).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.values.types import at_image_marks

from .prompts import instruction, is_chinese, is_mathematics, subject
from .rules import DEFAULT_ERROR, errors_of, final_answer, is_right

Doc = Mapping[str, Any]
PICTURE = r"<img_(\d+)>"


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
    system = f"You are an AI assistant. Please answer the following {subject(doc)} competition problems as required."
    if is_chinese(doc):
        system = f"你是一个中文人工智能助手。请根据要求，完成下面的{subject(doc)}竞赛题目。"
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
