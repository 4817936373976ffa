"""TOMATO: what moves, how often, where to and how fast; the question can't be answered from one frame.

Source: Shangguan et al. 2024, arXiv:2410.23266, and yale-nlp/TOMATO (src/generate_lib/construct_prompt.py, src/parse_result.py).
"""

import re
import string
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.scoring.filters import TRUNCATED, rule_of
from mm_eval.values.types import Video

Doc = Mapping[str, Any]
STATED = re.compile(r"Answer is:?[\(]?([A-Fa-f])[\)]?")
FORM = """You will be provided with {frames} uniformly sampled from a video, the frames are provided in chronological order \
of the video. Analyze these frames and provide the answer to the question about the video content. Answer the multiple-choice \
question about the video content. 

You must use these frames to answer the multiple-choice question; do not rely on any externel knowledge or commonsense. 

<question> 
{question} 
</question>

<options> 
{options} 
</options>

Even if the information in these separate frames is not enough to answer the question, PLEASE TRY YOUR BEST TO GUESS AN ANSWER \
WHICH YOU THINK WOULD BE THE MOST POSSIBLE ONE BASED ON THE QUESTION. 

DO NOT GENERATE ANSWER SUCH AS 'NOT POSSIBLE TO DETERMINE.' 
"""
"""The authors' prompt, with its spelling and its blanks at the ends of lines."""


def lettered(doc: Doc) -> dict[str, str]:
    """The options by their letters."""
    return dict(zip(string.ascii_uppercase, map(str, doc["options"]), strict=False))


def gold(doc: Doc) -> str:
    """The right letter."""
    return string.ascii_uppercase[int(doc["answer"])]


def doc_to_visual(doc: Doc) -> list[Any]:
    """The video."""
    return [Video(doc["video_path"])]


def doc_to_text(doc: Doc, model_specific_prompt_kwargs: Mapping[str, str]) -> str:
    """The authors' prompt; the options stand in it as Python writes a dict."""
    frames = model_specific_prompt_kwargs["frames"]
    return FORM.format(frames=frames, question=doc["question"], options=lettered(doc))


def process_results(doc: Doc, results: Sequence[Any]) -> dict[str, Any]:
    """Whether the letter is right."""
    return {"acc": float(results[0] == gold(doc))}


def pre_parsed(doc: Doc, results: Sequence[str]) -> dict[str, Any]:
    """The score of an answer in one of the forms that the authors' script reads by itself."""
    if rule_of(results[0]) == TRUNCATED:
        return {"acc": 0.0}
    answer, options = results[0].strip(), lettered(doc)
    whole = next((letter for letter, text in options.items() if answer.upper() == f"{letter}: {text}"), None)
    stated = STATED.fullmatch(answer)
    letter = answer.upper() if answer.upper() in options else whole or (stated[1].upper() if stated else "")
    found = {"acc": float(letter == gold(doc))}
    return found if letter in options else {"acc": 0.0, "__rule__": "unparsed"}


def judge_prompt(doc: Doc, answer: str) -> str:
    """The authors' question about an answer that is no bare letter."""
    letters = list(lettered(doc))
    return (
        "You are given a response, a list of multiple-choice options, and a index2answer mapping. You are required to extract "
        f"the letter option from the GPT. \n    \n    response: {answer}\n\n    all_choices: {letters}\n\n    index2answer: "
        f"{lettered(doc)}\n\nOnly output the single parsed letter from the response. No other texts are needed. \n\n"
        "If you think no options can match the index2answer dictionary, randomly select one letter. \n\n"
        "Your extracted letter is: \n"
    )


def verdict(reply: str, doc: Doc) -> str | None:
    """The letter that the judge read; None for any other reply."""
    return reply if reply in lettered(doc) else None
