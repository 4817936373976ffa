"""VoiceBench: the judge's prompt for open questions, and the points in its reply.

Source: Chen et al. 2024, arXiv:2410.17196; api_judge.py and src/evaluator/open.py of MatthewCYM/VoiceBench at 5338154.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

Doc = Mapping[str, Any]
SYSTEM = "You are a helpful assistant who tries to help answer the user's question."
PROMPT = """
I need your help to evaluate the performance of several models in the speech interaction scenario. The models will receive a speech input from the user, which they need to understand and respond to with a speech output.
Your task is to rate the model’s responses based on the provided user input transcription [Instruction] and the model’s output transcription [Response].

Please evaluate the response on a scale of 1 to 5:
1 point: The response is largely irrelevant, incorrect, or fails to address the user’s query. It may be off-topic or provide incorrect information.
2 points: The response is somewhat relevant but lacks accuracy or completeness. It may only partially answer the user’s question or include extraneous information.
3 points: The response is relevant and mostly accurate, but it may lack conciseness or include unnecessary details that don’t contribute to the main point.
4 points: The response is relevant, accurate, and concise, providing a clear answer to the user’s question without unnecessary elaboration.
5 points: The response is exceptionally relevant, accurate, and to the point. It directly addresses the user’s query in a highly effective and efficient manner, providing exactly the information needed.

Below are the transcription of user’s instruction and models’ response:
### [Instruction]: {prompt}
### [Response]: {response}

After evaluating, please output the score only without anything else.
You don’t need to provide any explanations.
"""  # noqa: E501


def judge_prompt(doc: Doc, answer: str) -> list[dict[str, Any]]:
    """The authors' system message, and the question as it was said with the answer."""
    asked = PROMPT.replace("{prompt}", str(doc["prompt"])).replace("{response}", answer)
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": asked}]


def points(reply: str, doc: Doc) -> float | None:
    """The points of a reply: a number alone, else one in two pairs of brackets."""
    with suppress(ValueError):
        return float(reply.strip())
    found = re.search(r"\[\[(\d+)\]\]", reply)
    return float(found[1]) if found else None
