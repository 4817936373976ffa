"""TempCompass's judge: whether an answer that the rule can't read is correct, and which option a caption describes.

Source: llyx97/TempCompass (prompt_templates.py, eval_captioning.py, utils/eval_utils.py).
"""

from collections.abc import Callable, Mapping
from typing import Any

from mm_eval.tasks.rules.judge_replies import lone_grade

EXAMPLES = """
You will receive a video description and a multi-choice question. Your task is to choose the correct answer and briefly explain \
the reason why you choose the answer. If none of the choice candidates are correct or the video description lacks enough \
information to answer the question, just answer "None of the choices are correct". Please organize your response in this format:
```
Reasoning: [Your reason to obtain the answer]
Answer: [Your answer]
```

Here are some examples of video description, multi-choice question and the expected answer:
```
Video Description: A person is palying football.
Multi-Choice Question:
What is the person doing in the video?
A. cooking
B. palying football
C. playing basketball
D. reading book
Reasoning: The video description mentions that the person is playing football.
Answer: B. palying football

Video Description: A bird is flying clockwise.
Multi-Choice Question:
In which direction is the bird flying?
A. backwark
B. counter-clockwise
C. clockwise
D. downward
Reasoning: The video description mentions that the bird is flying clockwise
Answer: C. clockwise

Video Description: An air balloon is inflating.
Multi-Choice Question:
What is happening to the air balloon?
A. exploding
B. getting smaller
C. flying
Reasoning: The video description mentions that the air balloon is inflating, while none of the coices can be explained as \
inflating.
Answer: None of the choices are correct
```
"""
"""The authors' instructions for captions, with their spelling."""


def _asked(prompt: str) -> list[dict[str, Any]]:
    said = {"system": "You are an AI assistant for question answering.", "user": prompt}
    return [{"role": role, "content": text} for role, text in said.items()]


def _judged(kind: str) -> Callable[[Mapping[str, Any], str], list[dict[str, Any]]]:
    def prompt(doc: Mapping[str, Any], answer: str) -> list[dict[str, Any]]:
        """The authors' prompt about an answer that the rule can't read."""
        return _asked(
            f"\nYou will receive a {kind if kind == 'Yes/No' else kind.lower()} question, the ground-truth answer and the "
            "prediction from a question answering (QA) model. Your task is to determine whether QA model prediction is correct, "
            'based on the question and ground-truth answer. If the prediction is correct, respond "Correct". If the prediction '
            f'is incorrect, respond "Incorrect".\n\n{kind} Question:\n{doc["question"]}\nGround-Truth Answer: {doc["answer"]}\n'
            f"Model Prediction: {answer}"
        )

    return prompt


judge_choice, judge_yes_no, judge_caption = map(_judged, ("Multi-Choice", "Yes/No", "Caption Matching"))


def correct(reply: str) -> int | None:
    """1 for Correct, 0 for Incorrect; None if the reply does not state one of them alone.

    The authors' script takes "not Correct" and "partially Correct" for correct, and whatever begins with "Correct".
    """
    grade = lone_grade(reply, ("correct", "incorrect"))
    return None if grade is None else int(grade == "correct")


def described(doc: Mapping[str, Any], answer: str) -> list[dict[str, Any]]:
    """The authors' prompt: the question with options, to be answered from the caption alone."""
    return _asked(f"{EXAMPLES}\nVideo Description:{answer}\nMulti-Choice Question:\n{doc['mc_question']}\n")


def description_is_right(reply: str, doc: Mapping[str, Any]) -> int | None:
    """1 if the last line with "Answer", else the reply, is the right option and names no other; None for an empty reply."""
    lines = [line.replace("Answer:", "").strip() for line in reply.split("\n") if "Answer" in line]
    said = lines[-1] if lines else reply.strip()
    named = sum(said.count(f"{letter}.") for letter in "ABCD")
    return int(said.split(". ")[0] == doc["mc_answer"].split(". ")[0] and named == 1) if said else None
