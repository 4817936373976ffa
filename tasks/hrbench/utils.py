"""HR-Bench: questions on large photos, each in the four rotations of its options.

Source: Wang et al. 2024, arXiv:2408.15556; open-compass/VLMEvalKit, vlmeval/dataset/utils/hrbench.py. The columns are
those that it and lmms-eval read; the card was not read.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.scoring.filters.options import question_with_options
from mm_eval.types import shown_picture

LETTERS = "ABCD"


def with_groups(dataset: Any) -> Any:
    """The docs with a column `group`, which the rotations of a question share.

    It has the question, its options in a fixed order, and the length of the picture's text, so that the same question on two
    photos is two groups. No picture is read for that: a length is the difference of two offsets.
    """
    import pyarrow.compute as pc

    shown = dataset.with_format("arrow")[:]["image"]
    sizes = pc.binary_length(shown).to_pylist() if "string" in str(shown.type) else [0] * len(shown)
    rows = zip(dataset["question"], sizes, *(dataset[letter] for letter in LETTERS), strict=True)
    groups = ["\n".join([question, *sorted(map(str, options)), str(size)]) for question, size, *options in rows]
    return dataset.add_column("group", groups)


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The photo, which the hub has as base64."""
    return [shown_picture(doc["image"])]


def doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """The question, its options and the block's instruction."""
    options = {letter: doc[letter] for letter in LETTERS}
    return question_with_options(doc["question"], options, model_specific_prompt_kwargs or {})


def process_results(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, Any]:
    """Whether the letter is right, with the rotation, for all questions and for those of the doc's category."""
    item = (str(doc["cycle_category"]), float(results[0] == doc["answer"].strip()))
    return {"average": item, doc["category"]: item}


def verdict_range(doc: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a wrong and a right letter give."""
    return process_results(doc, [None]), process_results(doc, [doc["answer"].strip()])
