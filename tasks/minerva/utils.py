"""MINERVA: questions with five choices on videos of minutes and hours.

Source: Nagrani et al. 2025, arXiv:2505.00681; README.md of google-deepmind/neptune; lmms_eval/tasks/minerva at 75571cf.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.values.errors import DocError
from mm_eval.values.types import Video

Doc = Mapping[str, Any]
LETTERS = "ABCDE"


def with_choices(dataset: Any) -> Any:
    """The docs with their choices in one list."""
    columns = [dataset[f"answer_choice_{place}"] for place in range(len(LETTERS))]
    choices = [[str(choice).strip() for choice in row] for row in zip(*columns, strict=True)]
    return dataset.add_column("choices", choices)


def doc_to_visual(doc: Doc) -> list[Any]:
    """The video, named by its id; the column may have its address."""
    name = str(doc["video_id"]).strip().rpartition("=")[2].rpartition("/")[2]
    return [Video(f"{name}.mp4")]


def doc_to_text(doc: Doc, model_specific_prompt_kwargs: Mapping[str, str]) -> str:
    """The question, its lettered choices, and what to answer."""
    listed = "\n".join(f"{letter}. {choice}" for letter, choice in zip(LETTERS, doc["choices"], strict=True))
    return f"{str(doc['question']).strip()}\n{listed}{model_specific_prompt_kwargs['post_prompt']}"


def doc_to_target(doc: Doc) -> str:
    """The letter of the right choice, which the column has as a number."""
    place = str(doc["answer_id"]).strip()
    if not place.isdigit() or int(place) >= len(LETTERS):
        raise DocError(f"'answer_id' is {doc['answer_id']!r}; expected 0 to {len(LETTERS) - 1}.")
    return LETTERS[int(place)]


def process_results(doc: Doc, results: Sequence[str | None]) -> dict[str, Any]:
    """1 for the right letter."""
    return {"acc": float(results[0] == doc_to_target(doc))}
