"""ConvBench: a conversation of three turns on a picture, compared with a person's by a judge, turn by turn and as a whole.

Source: Liu et al. 2024, arXiv:2403.20194; ConvBenchEval/{convbencheval.py,pairwise.npy} of shirlyliu64/ConvBench at 309508e.
"""

import json
import re
import string
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.tasks.convbench.prompts import asked, extracted

Doc = Mapping[str, Any]
ORDINALS = ("first", "second", "third")
HUMAN_FIRST = int(
    "1845a37d1289875c731342305ec24cce5b84592d7818a9aed0a98f229d95bad733359a51420e5eafaef7ae7922f09228538f5d4ce4d70a34acc29"
    "9051fc131570c085bdeb7059653c",
    16,
)
"""pairwise.npy: a bit for each ID from 1 to 578, the first one the highest; 1 where the person's answers are A."""


def questions(doc: Doc) -> list[str]:
    """What is asked in the three turns."""
    return [doc[f"The_{ordinal}_turn_instruction"] for ordinal in ORDINALS]


def human(doc: Doc) -> list[str]:
    """A person's answers."""
    return [doc[f"{ordinal}_turn_answer"] for ordinal in ORDINALS]


def references(doc: Doc) -> str:
    """A person's answers, as a model's answers are scored."""
    return json.dumps(human(doc), ensure_ascii=False)


def no_gold(doc: Doc) -> None:
    """No answer is known to win: a person's answers beside themselves are a toss-up."""


def next_turn(doc: Doc, answers: Sequence[Any]) -> str | None:
    """The next question."""
    return questions(doc)[len(answers)] if len(answers) < len(ORDINALS) else None


def answers_of(answer: str) -> list[str]:
    """The model's three answers, empty where it gave none. A single text is taken for each of them."""
    try:
        found = json.loads(answer)
    except ValueError:
        found = None
    texts = list(map(str, found)) if isinstance(found, list) else [answer] * 3
    return [*texts, "", "", ""][:3]


def judge_prompt(doc: Doc, answer: str, verdicts: Sequence[Mapping[str, str]]) -> list[dict[str, str]] | None:
    """About the three turns and the conversation; after an evaluation without one preference the question what it prefers."""
    if is_unclear(verdicts):
        return extracted(verdicts[-1]["said"])
    evaluations = [each["said"] for each in verdicts if "said" in each]
    turn, said = len(evaluations), answers_of(answer)
    if turn == 4 or not any(map(str.strip, said)):
        return None
    a, b = (human(doc), said) if human_first(doc) else (said, human(doc))
    more = ([], [], [doc["third_turn_demands"]], evaluations)[turn]
    return asked(turn, doc["instruction-conditioned-caption"], questions(doc), a, b, more)


def human_first(doc: Doc) -> bool:
    """Whether the person's answers are A."""
    return bool(HUMAN_FIRST >> (578 - int(doc["ID"])) & 1)


def is_unclear(verdicts: Sequence[Mapping[str, str]]) -> bool:
    """Whether the last reply was an evaluation in which no preference is read."""
    return bool(verdicts) and "said" in verdicts[-1] and not verdicts[-1]["better"]


def verdict(reply: str, verdicts: Sequence[Mapping[str, str]]) -> dict[str, str] | None:
    """What an evaluation says and prefers, or the preference that was extracted from it; None for one that says none of both."""
    if is_unclear(verdicts):
        found = set(re.findall(r"Final Answer: (?:Response )?([AB])\b", reply))
        unknown = re.fullmatch(
            r"(?:final answer:\s*)?[\"']?(?:unknown|neither|tie)[\"']?\.?", reply.strip(), re.IGNORECASE
        )
        return {"better": found.pop()} if len(found) == 1 else {"better": ""} if unknown else None
    found = {letter for letter in "AB" if f"response {letter.lower()} is better" in reply.lower()}
    return {"said": reply, "better": found.pop() if len(found) == 1 else ""}


def total(verdicts: Sequence[Mapping[str, str]], doc: Doc, answer: str) -> dict[str, float]:
    """1 for each of the four comparisons that the model wins, their mean over the turns, and the overall score."""
    better = list[str]()
    for each in verdicts:
        if "said" in each:
            rated = re.search("Rating:(.*)", each["said"])
            better.append(each["better"] or (rated[1].strip().strip(string.punctuation) if rated else ""))
        elif each["better"]:
            better[-1] = each["better"]
    own = "B" if human_first(doc) else "A"
    wins = [float(letter == own) for letter in better] or [0.0] * 4
    of_turns = sum(wins[:3]) / 3
    names = ("judge_score", "three_turns", "perception", "reasoning", "creation", "conversation")
    return dict(zip(names, ((of_turns + wins[3]) / 2, of_turns, *wins), strict=True))
