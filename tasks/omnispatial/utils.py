"""OmniSpatial: spatial questions on one picture.

Source: Jia et al. 2025, arXiv:2506.03135, and qizekun/OmniSpatial (api_eval.py, system_prompts.py).
"""

import re
import string
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.scoring.filters import TRUNCATED, rule_of

Doc = Mapping[str, Any]
STATED = re.compile(r"Answer\s*:\s*([A-D])\b", re.IGNORECASE)
HEAD = """
You are a spatial-reasoning assistant.

Task
-----
You will receive  
1. **Image** - a single RGB frame depicting a scene.  
2. **Question** - a natural-language query about spatial relationships between objects in the image.  
3. **Options** - ≥2 answer candidates, each tagged by a capital letter (A, B, C, D…).

"""
GUIDELINES = """Guidelines
----------
Please follow these steps to analyze the image and answer the question:
1. First, carefully observe the image and identify all relevant objects and their spatial relationships.
2. Next, break down the question into key components that need to be addressed.
3. Think through the spatial reasoning step-by-step to arrive at your answer. It may be necessary to transfer perspective to \
better understand the scene.
4. Finally, select the most appropriate option (A, B, C, or D) based on your analysis.

"""
TAIL = """Always ground your answer in the visual evidence; do not hallucinate unseen objects.
If uncertain, pick the most plausible option—never refuse or reply “insufficient information.”
"""
FORMAT = """
End your answer with a separate line formatted exactly as:

Answer: X
where X ∈ {A, B, C, D}.
"""
SYSTEMS = {
    "none": f"{HEAD}Based on the image and question, provide your answer.\n{TAIL}",
    "zeroshot_cot": f"{re.sub('[.]  ', '.', HEAD)}Think step by step and provide the answer.\n{TAIL}",
    "manual_cot": f"{HEAD}{GUIDELINES}{TAIL}",
}


def doc_to_text(doc: Doc, model_specific_prompt_kwargs: Mapping[str, str]) -> str:
    """The system text, the form of the answer, and the question with its options."""
    options = zip(string.ascii_uppercase, doc["options"], strict=False)
    lines = [str(doc["question"]), *(f"{letter}. {text}" for letter, text in options)]
    return f"{SYSTEMS[model_specific_prompt_kwargs['system']]}\n{FORMAT}\n\n" + "\n".join(lines)


def process_results(doc: Doc, results: Sequence[str]) -> dict[str, Any]:
    """Whether the last stated letter is right."""
    if rule_of(results[0]) == TRUNCATED:
        return {"acc": 0.0}
    found = STATED.findall(results[0])
    if not found:
        return {"acc": 0.0, "__rule__": "unparsed"}
    return {"acc": float(found[-1].upper() == doc["gt"]), "__rule__": "answer"}
