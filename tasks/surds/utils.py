"""SURDS: what an answer in its tags says, and pairs of questions that turn one about.

Source: Guo et al. 2024, arXiv:2411.13112; evaluation/eval_from_json.py of XiandaGuo/Drive-MLLM at 7895f99.
"""

import math
import re
import string
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from mm_eval.tasks.rules.whole_groups import whole_groups
from mm_eval.tasks.surds.questions import MAKE

from mm_eval.scoring.filters import UNPARSED

Doc = Mapping[str, Any]
SIZE = (1600, 900)
"""Width and height of all pictures, in pixels."""
ARTICLES = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = str.maketrans("", "", string.punctuation)
LIST = re.compile(r"\[\s*([-\d.,\s]+)\s*\]")
NUMBER = re.compile(r"-?\s*(?:0+|[1-9]\d*|\d+\.\d*|\.\d+)")
"""As Python writes numbers: 05 is none."""
pairs_right = whole_groups("pair")
"""The share of pairs with two right answers."""


def questions(dataset: Any, kind: str) -> Any:
    """The questions of one kind, drawn from the pictures in the order of their names."""
    order = sorted(range(len(dataset)), key=lambda row: str(dataset["file_name"][row]))
    names = ("descs", "yaw_descs", "xy2Ds", "depths", "distances")
    columns = {name: list(dataset[name]) for name in names}
    asked = MAKE[kind]([{name: columns[name][row] for name in names} for row in order])
    rows, *made = map(list, zip(*asked, strict=True))
    dataset = dataset.select([order[row] for row in rows])
    made.append([f"validation/{name}" for name in dataset["file_name"]])
    for name, values in zip(("pair", "answer", "named", "options", "picture"), made, strict=True):
        dataset = dataset.add_column(name, values)
    return dataset


yaw, xy2d, depth, distance, left_right, front_behind = (partial(questions, kind=kind) for kind in MAKE)


def doc_to_text(doc: Doc, model_specific_prompt_kwargs: Mapping[str, str]) -> str:
    """The question and its options, the way to answer, and the picture."""
    block = model_specific_prompt_kwargs
    options = "\n".join(f"- {option}" for option in doc["options"])
    asked = block["question"].format(**doc["named"], options=options)
    return f"{asked}{block['post_prompt']}<image>"


def said(reply: str | None) -> str:
    """What stands in the first tags; "" where there are none."""
    _, tag, behind = (reply or "").partition("<answer>")
    content, end, _ = behind.partition("</answer>")
    return content.strip() if tag and end else ""


def plain(text: str) -> str:
    """A text without case, punctuation and articles, its words one blank apart."""
    return " ".join(ARTICLES.sub("", text.strip().lower().translate(PUNCTUATION)).split())


def choice(doc: Doc, reply: str | None) -> tuple[bool, str]:
    """Whether the answer is the right option, and how it was read: it must have some option's words as they are."""
    answer = said(reply)
    words = (rf"\b{re.escape(option.strip().lower())}\b" for option in doc["options"])
    if not any(re.search(each, answer.lower()) for each in words):
        return False, UNPARSED
    return plain(answer) == plain(doc["answer"]), "option"


def process_pair(doc: Doc, results: Sequence[str | None]) -> dict[str, Any]:
    """The mark of one of two questions, which count together, and for the share of all."""
    right, rule = choice(doc, results[0])
    return {"score": {"right": int(right), "pair": doc["pair"]}, "acc": float(right), "__rule__": rule}


def process_range(doc: Doc, results: Sequence[str | None]) -> dict[str, Any]:
    """1 for the right range."""
    right, rule = choice(doc, results[0])
    return {"score": float(right), "__rule__": rule}


def point(answer: str) -> tuple[float, float] | None:
    """The pixel that an answer names: a point, or the middle of a box rounded down; a number below 1 is a share of a side."""
    found = LIST.search(answer)
    parts = [part.strip() for part in found[1].split(",")] if found else []
    parts = parts[:-1] if parts and not parts[-1] else parts
    if len(parts) not in (2, 4) or not all(NUMBER.fullmatch(part) for part in parts):
        return None
    numbers = [float(re.sub(r"\s", "", part)) for part in parts]
    x, y = numbers if len(numbers) == 2 else ((numbers[0] + numbers[2]) // 2, (numbers[1] + numbers[3]) // 2)
    x, y = (value * side if value < 1 else value for value, side in zip((x, y), SIZE, strict=True))
    return (x, y) if 0 <= x < SIZE[0] and 0 <= y < SIZE[1] else None


def middle(doc: Doc) -> str:
    """The middle of the thing's box in tags; the data's own point may lie beside it."""
    left, top, right, below = doc["bboxes2D"][0]
    return f"<answer>[{(left + right) / 2}, {(top + below) / 2}]</answer>"


def process_point(doc: Doc, results: Sequence[str | None]) -> dict[str, Any]:
    """How near the middle of the thing's box a point lies: 1 there, 0 outside."""
    found = point(said(results[0]))
    return {
        "score": centerness(found, doc["bboxes2D"][0]) if found else 0.0,
        "__rule__": "point" if found else UNPARSED,
    }


def centerness(where: tuple[float, float], box: Sequence[float]) -> float:
    """The root of the product of two ratios: of the distances to left and right edge, and to the upper and lower one."""
    ratios = 1.0
    for value, low, high in zip(where, box[:2], box[2:], strict=True):
        if not low <= value <= high:
            return 0.0
        near, far = sorted((value - low, high - value))
        ratios *= near / far if far else 1.0
    return math.sqrt(ratios)
