"""MMAU: questions on a sound, and the words of an option in the answer.

Source: Sakshi et al. 2024, arXiv:2410.19168; Sakshi113/MMAU at 110127f.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.tasks.rules.option_words import names_option

Doc = Mapping[str, Any]
COLUMNS = (
    "id",
    "audio_id",
    "question",
    "choices",
    "dataset",
    "task",
    "split",
    "category",
    "sub-category",
    "difficulty",
)


def choices_of(doc: Doc) -> list[str]:
    """The options, which the hub has as JSON."""
    found = doc["choices"]
    return [str(choice) for choice in (json.loads(found) if isinstance(found, str) else found)]


def doc_to_text(doc: Doc, model_specific_prompt_kwargs: Mapping[str, str]) -> str:
    """The question and its options, with the block's marks."""
    block = model_specific_prompt_kwargs
    options = [block["mark"].format("ABCDEFGHIJ"[place]) + text for place, text in enumerate(choices_of(doc))]
    return f"{doc['question']}{block['ask']}" + "\n".join(options) + block["post_prompt"]


def process_results(doc: Doc, results: Sequence[str | None]) -> dict[str, Any]:
    """1 if the answer has the words of the right option."""
    return {"acc": float(names_option(results[0] or "", str(doc["answer"]), choices_of(doc)))}


def submission_record(doc: Doc, answer: str) -> dict[str, Any]:
    """An entry of the file, with the options as a list, as in the authors' table."""
    kept = {name: doc[name] for name in COLUMNS if name in doc} | {"choices": choices_of(doc)}
    return kept | {"model_prediction": answer, "model_output": answer}
