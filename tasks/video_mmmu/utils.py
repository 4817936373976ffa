"""Video-MMMU: what a model learns from a lecture: to perceive it, to understand it, and to apply it to a new question.

Source: Hu et al. 2025, arXiv:2501.13826, and EvolvingLMMs-Lab/VideoMMMU (lmms_eval/tasks/videommmu/utils.py).
"""

import string
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.tasks.rules.mmmu import INDICATORS, listed_options, open_answer_is_right

from mm_eval.scoring.filters.base import UNPARSED
from mm_eval.values.types import Clip, Video

OTHER_INDICATORS = (
    "are ", "in total ", "total ", "identify ", "recognize ", "calculated as ", "counted as ", "measured as ", "observed as ",
    "concluded as ", "found to be ", "equals ", "determined to be ", "number of ", "value is ", "adds up to ", "have ", "has ",
)  # fmt: skip
LAST = 1.0
"""Seconds at the end of a video in which its picture must be seen; how long the hub's videos show it is not known here."""
DISCIPLINES = {
    "Art": ("Art", "Art_Theory", "Design", "Music"),
    "Business": ("Accounting", "Economics", "Finance", "Manage", "Marketing"),
    "Science": ("Biology", "Chemistry", "Geography", "Math", "Physics"),
    "Medicine": (
        "Basic_Medical_Science", "Clinical_Medicine", "Diagnostics_and_Laboratory_Medicine", "Pharmacy", "Public_Health",
    ),
    "Humanities": ("History", "Literature", "Sociology", "Psychology"),
    "Engineering": (
        "Agriculture", "Architecture_and_Engineering", "Computer_Science", "Electronics", "Energy_and_Power", "Materials",
        "Mechanical_Engineering",
    ),
}  # fmt: skip
DISCIPLINE_OF = {subject: discipline for discipline, subjects in DISCIPLINES.items() for subject in subjects}


def discipline(doc: Mapping[str, Any]) -> str | None:
    """The discipline of the subject, which is the middle of the id: "validation_Art_Theory_3"."""
    return DISCIPLINE_OF.get(str(doc["id"]).partition("_")[2].rpartition("_")[0])


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The video, whose last frames show the picture of the question for adaptation."""
    return [Video(f"{doc['id']}.mp4")]


def options(doc: Mapping[str, Any]) -> list[str]:
    """The texts of the options; none for an open question."""
    return listed_options(doc["options"])


def _question(doc: Mapping[str, Any]) -> str:
    texts = list(zip(string.ascii_uppercase, options(doc), strict=False))
    have_letters = all(text.startswith(f"{letter}.") for letter, text in texts)
    return "\n".join([doc["question"], *(text if have_letters else f"{letter}. {text}" for letter, text in texts)])


def doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """The question and its lettered options, between the block's texts; `open_prompt` takes the place of `mcq_prompt`."""
    block = model_specific_prompt_kwargs or {}
    chosen, free = block.get("mcq_prompt", ""), block.get("open_prompt", "")
    return (
        f"{block.get('pre_prompt', '')}{chosen if options(doc) else free}{_question(doc)}{block.get('post_prompt', '')}"
    )


def adapted(
    doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None, clips: Sequence[Clip] = ()
) -> str:
    """The same for adaptation. Raises ValueError if no frame of the last second is shown, where the question's picture is."""
    for clip in clips:
        if clip.numbers[-1] < clip.total - 1 and clip.seconds[-1] < clip.duration - LAST:
            raise ValueError(
                f"the picture of the question is at the end of the video ({clip.duration:.1f} s), and the last shown frame at "
                f"{clip.seconds[-1]:.1f} s: use a rule that shows the last frame, such as --video frames=32,ends"
            )
    return doc_to_text(doc, model_specific_prompt_kwargs)


def letter(answer: str, texts: Sequence[str]) -> str | None:
    """The letter that an answer means by the authors' variant of MMMU's rule; None if there is none.

    Forms, the first that occurs counts: "X." or "X:", "(X)", "X ", and in answers of more than five words an option's text. Of
    several letters the last one counts, by the places of "X." if one of them stands so, and of " X " for "X ".
    """
    letters = string.ascii_uppercase[: len(texts)]
    for mark in (",", ".", "!", "?", ";", ":", "'"):
        answer = answer.strip(mark)
    answer = f" {answer} "
    stops, colons = ([each for each in letters if f"{each}{mark}" in answer] for mark in ".:")
    bracketed, spaced = ([each for each in letters if form.format(each) in answer] for form in ("({})", "{} "))
    for found, form in ((stops + colons, "{}." if stops else "{}:"), (bracketed, "({})"), (spaced, " {} ")):
        if found:
            return max(found, key=lambda each: answer.rfind(form.format(each)))
    lower, by_letter = answer.lower(), dict(zip(letters, (text.lower() for text in texts), strict=True))
    named = [each for each, text in by_letter.items() if text in lower] if len(answer.split()) > 5 else []
    return max(named, key=lambda each: lower.rfind(by_letter[each]), default=None)


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """The score of one answer. The authors leave an empty answer out of the mean; here it is wrong."""
    answer, texts = (results[0] or "").strip(), options(doc)
    if not texts:
        right = bool(answer) and open_answer_is_right(answer, [doc["answer"]], (*INDICATORS, *OTHER_INDICATORS))
        return {"acc": float(right), "__rule__": "open" if answer else UNPARSED}
    said = letter(answer, texts)
    return {"acc": float(said == doc["answer"]), "__rule__": "letter" if said else UNPARSED}
