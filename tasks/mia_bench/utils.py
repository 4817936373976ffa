"""MIA-Bench: the instruction, the judge's prompt with the parts of it and their points, and how the points are read.

Source: Qian et al. 2024, arXiv:2407.01509; evaluation.ipynb of github.com/apple/ml-mia-bench at 5422852.
"""

import re
from collections.abc import Mapping
from typing import Any

ORDINALS = ("first", "second", "third", "fourth", "fifth")
ASKED = " List scores of each component, and the total score in one sentence in this format: score of component 1: x/2, score of component 2: y/8, total score: z/10. Then explain your reasons."  # noqa: E501
POINTS = r":\s*(\d+(?:\.\d+)?)\s*/\s*(\d+(?:\.\d+)?)(?![\d.]*\d)"
TOTAL = re.compile(rf"total score{POINTS}", re.IGNORECASE)
COMPONENT = re.compile(rf"component (\d){POINTS}", re.IGNORECASE)


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The picture that the instruction is about."""
    return [doc["image"].convert("RGB")]


def components_text(doc: Mapping[str, Any]) -> str:
    """The sentence that lists the components of the instruction."""
    listed = (f"the {name} component is:' {part}'" for name, part in zip(ORDINALS, doc["components"], strict=False))
    return ", and ".join(listed).replace("the first", "The first", 1)


def weights_text(doc: Mapping[str, Any]) -> str:
    """The sentence with the points of each component, with the commas of the authors' notebook."""
    weights = [str(weight) for weight in doc["component_weight"]]
    names = ORDINALS[: len(weights)]
    if len(weights) == 1:
        return f"The first component is worth {weights[0]} scores."
    comma = ", " if len(weights) in (3, 4) else " "
    named = " ".join([names[0], ", ".join(names[1:-1])]).strip() + f"{comma}and {names[-1]}"
    return f"The {named} component is each worth {', '.join(weights[:-1])} and {weights[-1]} scores."


def judge_prompt(doc: Mapping[str, Any], answer: str) -> list[dict[str, Any]]:
    """One turn: the instruction, its components, the answer and the points to give; then the picture."""
    text = (
        f"Here is an instruction for a multimodal LLM: ' {doc['instruction']} You need to grade if the response from the model "
        f"follows each component of the instruction. {components_text(doc)} The response is:' {answer}' You need to score the "
        "response and be strict. The total score ranges from 0 to 10, depending on if the response follows the instruction. "
        f"{weights_text(doc)}{ASKED}"
    )
    picture = {"type": "image", "image": doc["image"].convert("RGB")}
    return [{"role": "user", "content": [{"type": "text", "text": text}, picture]}]


def verdict(reply: str, doc: Mapping[str, Any]) -> dict[str, float] | None:
    """The total and the last share of points of each type of component; None unless a total follows one share for each component.

    What comes after the first total, such as reasons, is not read.
    """
    plain = reply.replace("*", "")
    total = TOTAL.search(plain)
    if not total:
        return None
    found = COMPONENT.findall(plain[: total.start()])
    shares = [_share(*points) for _, *points in [(None, *total.groups()), *found]]
    if [number for number, *_ in found] != [str(n + 1) for n in range(len(doc["components"]))] or None in shares:
        return None
    return dict(zip(("judge_score", *doc["component_type"]), shares, strict=True))


def nothing(doc: Mapping[str, Any]) -> dict[str, float]:
    """The verdict of an empty answer: no points in all, and none for any type of component that the instruction has."""
    return dict.fromkeys(("judge_score", *doc["component_type"]), 0.0)


def _share(points: str, of: str) -> float | None:
    """The points as a share of those to be had; None if that is no share."""
    return float(points) / float(of) if 0 <= float(points) <= float(of) > 0 else None
