"""MMBench: a question is right if it is answered right in every rotation of its options.

Source: Liu et al. 2023, arXiv:2307.06281; open-compass/VLMEvalKit, vlmeval/dataset/utils/multiple_choice.py.
The rows of a question are its rotations: index = its number + k x 1,000,000, where k = 0 is the question as written.
"""

import base64
import binascii
import logging
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.scoring.filters.options import is_missing, question_with_options

from .judge_prompts import CHINESE, ENGLISH

ROTATION = 1_000_000
LONGEST_INDEX = 64  # a shorter text in the picture's column is the index of the row that has the picture
NONE_OF_THEM = "Z"
LONGEST_REPLY = 500

_REPLY = re.compile(r"(?:your output|output|输出)?\s*[:：]?\s*\W*([A-Z])\W*(.*?)\W*", re.IGNORECASE)

log = logging.getLogger(__name__)


def with_groups(dataset: Any) -> Any:
    """The docs with the columns `group` (the question's number) and `group_rows` (how many rows the split has of it).

    The pictures of the TSV files of v1.1, base64 or the index of another row or the name of a file, become a column of pictures.
    """
    names = dataset.column_names
    groups = [int(number) for number in dataset["g_index" if "g_index" in names else "index"]]
    if "g_index" not in names:
        groups = [number % ROTATION for number in groups]
    rows = Counter(groups)
    if all(count == 1 for count in rows.values()):
        log.warning("MMBench: every question has one row, so that circular accuracy is vanilla accuracy.")
    if getattr(dataset.features["image"], "dtype", "") in ("string", "large_string"):
        dataset = _with_pictures(dataset)
    dataset = dataset.add_column("group", groups)
    return dataset.add_column("group_rows", [rows[group] for group in groups])


def _with_pictures(dataset: Any) -> Any:
    from datasets import Features, Image

    places = {str(index): place for place, index in enumerate(dataset["index"])}

    def picture(image: str | None) -> dict[str, Any]:
        for _ in range(2):  # a reference leads to a picture, or to the first of the rotations, which has it
            if len(str(image)) <= LONGEST_INDEX:
                image = dataset[places[str(image)]]["image"] if str(image) in places else image
        if "." in str(image):  # no sign of base64
            return {"image": {"bytes": None, "path": image}}
        return {"image": {"bytes": _decoded(image or ""), "path": None}}

    features = Features({**dataset.features, "image": Image()})
    return dataset.map(picture, input_columns="image", features=features)


def _decoded(text: str) -> bytes:
    """The bytes of a picture; none if they can't be read, which makes this doc fail and no other."""
    try:
        return base64.b64decode(text)
    except binascii.Error:
        return b""


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The doc's picture."""
    return [doc["image"].convert("RGB")]


def doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """Hint, question, the options that exist, and the block's instruction."""
    options = {letter: doc.get(letter) for letter in "ABCD"}
    return question_with_options(doc["question"], options, model_specific_prompt_kwargs or {}, doc.get("hint"))


def ability(doc: Mapping[str, Any]) -> str | None:
    """The name of the doc's L2 ability; its column is written "l2-category" in the TSV files."""
    found = doc.get("L2-category", doc.get("l2-category"))
    return None if is_missing(found) else str(found)


def process_results(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, Any]:
    """One row's hit: for its group, for all rows and, if it is the question as written, for these."""
    hit = float(results[0] == doc["answer"].strip())
    scores: dict[str, Any] = {"circular_acc": (doc["group"], hit, doc["group_rows"]), "vanilla_all": hit}
    if int(doc["index"]) == doc["group"]:
        scores["vanilla_0"] = hit
    return scores


def _options(doc: Mapping[str, Any]) -> dict[str, str]:
    return {letter: str(doc[letter]) for letter in "ABCD" if not is_missing(doc.get(letter))}


def judge_prompt(doc: Mapping[str, Any], answer: str) -> str:
    """VLMEvalKit's prompt in the language of the question: the options, and which of them is most similar to the answer."""
    listed = "".join(f"{letter}. {text}\n" for letter, text in _options(doc).items())
    asked = CHINESE if re.search("[\u4e00-\u9fff]", doc["question"]) else ENGLISH
    return asked.format(doc["question"], f"There are several options: \n{listed}", answer)


def verdict(reply: str, doc: Mapping[str, Any]) -> str | None:
    """The letter of an option, or Z for none of them, if the reply is nothing but that, or that with the option's text."""
    found = _REPLY.fullmatch(reply.strip()) if len(reply) <= LONGEST_REPLY else None
    options = {**_options(doc), NONE_OF_THEM: ""}
    letter, text = (found[1], found[2]) if found else ("", "")
    return letter if letter in options and text.lower() in ("", options[letter].lower().strip(" .")) else None


def verdict_range(doc: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a wrong and a right letter give."""
    return process_results(doc, [None]), process_results(doc, [doc["answer"].strip()])
