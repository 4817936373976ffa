"""MM-Vet: the question, the grading prompt with its examples, what a grade is, and the total in percent.

Source: Yu et al. 2023, arXiv:2308.02490; mm-vet_evaluator.py of github.com/yuweihao/MM-Vet at acde843.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.scoring.metrics import mean, smooth

ICELAND = "Can you explain this meme? | This meme is poking fun at the fact that the names of the countries Iceland and Greenland are misleading. Despite its name, Iceland is known for its beautiful green landscapes, while Greenland is mostly covered in ice and snow. The meme is saying that the person has trust issues because the names of these countries do not accurately represent their landscapes. | "  # noqa: E501
GRADING = (
    "Compare the ground truth and prediction from AI models, to give a correctness score for the prediction. <AND> in the ground truth means it is totally right only when all elements in the ground truth are present in the prediction, and <OR> means it is totally right when any one element in the ground truth is present in the prediction. The correctness score is 0.0 (totally wrong), 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, or 1.0 (totally right). Just complete the last space of the correctness score.\n\n"  # noqa: E501
    "Question | Ground truth | Prediction | Correctness\n"
    "--- | --- | --- | ---\n"
    "What is x in the equation? | -1 <AND> -5 | x = 3 | 0.0\n"
    "What is x in the equation? | -1 <AND> -5 | x = -1 | 0.5\n"
    "What is x in the equation? | -1 <AND> -5 | x = -5 | 0.5\n"
    "What is x in the equation? | -1 <AND> -5 | x = -5 or 5 | 0.5\n"
    "What is x in the equation? | -1 <AND> -5 | x = -1 or x = -5 | 1.0\n"
    f"{ICELAND}The meme talks about Iceland and Greenland. It's pointing out that despite their names, Iceland is not very icy and Greenland isn't very green. | 0.4\n"  # noqa: E501
    f"{ICELAND}The meme is using humor to point out the misleading nature of Iceland's and Greenland's names. Iceland, despite its name, has lush green landscapes while Greenland is mostly covered in ice and snow. The text 'This is why I have trust issues' is a playful way to suggest that these contradictions can lead to distrust or confusion. The humor in this meme is derived from the unexpected contrast between the names of the countries and their actual physical characteristics. | 1.0\n"  # noqa: E501
)
"""The prompt of the authors: the task and seven graded examples, one a line of a table."""
CAPABILITIES = ("rec", "ocr", "know", "gen", "spat", "math")


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The question's picture."""
    return [doc["image"].convert("RGB")]


def capabilities(doc: Mapping[str, Any]) -> list[str]:
    """The capabilities that the question asks for: "ocr,math" or a list."""
    stated = doc["capability"]
    names = stated.split(",") if isinstance(stated, str) else stated
    return [name.strip() for name in names]


def integration(doc: Mapping[str, Any]) -> str:
    """The capabilities together, in one order."""
    return "_".join(sorted(capabilities(doc), key=CAPABILITIES.index))


def gold_answer(doc: Mapping[str, Any]) -> str:
    """An answer with all that the ground truth wants: each part of <AND>, the first of <OR>."""
    return " and ".join(part.strip() for part in doc["answer"].split("<OR>")[0].split("<AND>"))


def judge_prompt(doc: Mapping[str, Any], answer: str) -> str:
    """The grading table with a last line for this answer, whose grade is left open."""
    truth = doc["answer"].replace("<AND>", " <AND> ").replace("<OR>", " <OR> ")
    return f"{GRADING}\n{doc['question']} | {truth} | {answer} | "


def verdict(reply: str) -> float | None:
    """The grade of 0 to 1 that stands alone on the first line of a reply; None if something else does."""
    line = (
        reply.strip().partition("\n")[0].casefold().strip(" |*").removeprefix("correctness").lstrip(" :|*").rstrip(".")
    )
    return float(line) if re.fullmatch(r"0|1|0?\.[0-9]+|[01]\.[0-9]+", line) and float(line) <= 1 else None


@smooth
def percent(grades: Sequence[float]) -> float:
    """The mean grade in percent, the unit of the benchmark."""
    return 100 * mean(grades)
