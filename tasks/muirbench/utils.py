"""MuirBench: questions on several pictures, which stand in the question and in the options.

Source: Wang et al. 2024, arXiv:2406.09411, and muirbench/MuirBench (eval/utils).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.tasks.rules.mmmu import listed_options


def with_pairs(dataset: Any) -> Any:
    """All docs with a column `pair`, which a question shares with its twin."""
    numbers = [str(each) for each in dataset["idx"]]
    has_twins = "counterpart_idx" in dataset.column_names
    twins = [str(each) for each in dataset["counterpart_idx"]] if has_twins else numbers
    known = set(numbers)
    pairs = [
        "-".join(sorted({number, twin} if twin in known else {number}))
        for number, twin in zip(numbers, twins, strict=True)
    ]
    return dataset.add_column("pair", pairs)


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The pictures in the order of their places in the question and the options."""
    return [image.convert("RGB") for image in doc["image_list"]]


def doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """The question and the lettered options; `<image>` is the place of a picture."""
    block = model_specific_prompt_kwargs or {}
    lines = [f"{block.get('pre_prompt', '')}{doc['question']}"]
    lines += [block["options_prompt"]] if block.get("options_prompt") else []
    options = listed_options(doc["options"])
    lines += [block.get("option", "{}. {}").format(chr(ord("A") + n), text) for n, text in enumerate(options)]
    text = "\n".join(lines) + block.get("post_prompt", "")
    return _named(text) if block.get("pictures") == "named" else text


def _named(text: str) -> str:
    """A prompt with its pictures in front under their names, which stand at their places, too, unless all stand together there.

    VLMEvalKit's prompt for InternVL.
    """
    count = text.count("<image>")
    names = "".join(f"Image-{place}: <image>\n" for place in range(1, count + 1))
    text = text.replace(" ".join(["<image>"] * count), "")
    for place in range(1, count + 1):
        text = text.replace("<image>", f"<Image-{place}>", 1)
    return names + text


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """The score of one letter."""
    return {"muirbench_score_overall": float(results[0] == doc["answer"])}


def lmms_process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """lmms-eval's score: the letter that begins the answer and has a stop, else the whole answer, without regard to case."""
    found = re.match(r"\s*([A-Z])\.", results[0])
    said = (found[1] if found else results[0]).lower().strip()
    letters = "abcdefghijklmnopqrstuvwxyz"[: len(listed_options(doc["options"]))]
    rule = "letter and stop" if found else "whole answer" if said and said in letters else "unparsed"
    return {"muirbench_score_overall": float(said == doc["answer"].lower()), "__rule__": rule}
