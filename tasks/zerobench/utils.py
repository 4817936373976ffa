"""ZeroBench: questions on pictures, answered in curly braces.

Source: Roberts et al. 2025, arXiv:2502.09696; the authors' rule. VLMEvalKit's (vlmeval/dataset/image_vqa.py, ZEROBench) takes an
answer that contains the right one, so that "114" is right where "14" is.
Columns: those of the authors' data without answers, and `question_answer`, which lmms-eval reads.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

_IN_BRACES = re.compile(r"\{(.*?)\}")


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The pictures of a question in their order."""
    return [image.convert("RGB") for image in doc["question_images_decoded"]]


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """1 if the text in the last curly braces of the answer is the right one, apart from case and white space at the ends."""
    found = _IN_BRACES.findall(results[0])
    said = found[-1].strip().lower() if found else ""
    right = str(doc["question_answer"]).strip().lower()
    return {"acc": float(said == right), "__rule__": "curly braces" if found else "unparsed"}
