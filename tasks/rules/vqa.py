"""VQA accuracy: the share of people who gave an answer, and the ways in which its benchmarks normalise answers.

Sources: Antol et al. 2015, arXiv 1505.00468; the evaluation script of VQAv2 (GT-Vision-Lab/VQA, vqaEval.py); that of TextVQA
(the M4C evaluator of facebookresearch/mmf, as LLaVA has it). Their apparent slips are kept: the published numbers have them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from mm_eval.tasks.rules.yes_no import without_punctuation

from mm_eval.scoring.metrics.bounds import remark
from mm_eval.scoring.metrics.generation import targets_of
from mm_eval.scoring.metrics.metric import metric
from mm_eval.values.errors import ConfigError

_COUNTED = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBER_WORDS = {"none": "0", **{word: str(i) for i, word in enumerate(_COUNTED)}}
_ARTICLES = frozenset({"a", "an", "the"})
_STOP = re.compile(r"\.(?!\d)")
"""The full stops that the script deletes: those before no digit."""

_CONTRACTED = """
ain't aren't can't could've couldn't couldn't've didn't doesn't don't hadn't hadn't've hasn't haven't he'd he'd've
he's how'd how'll how's isn't it'd it'd've it'll ma'am mightn't mightn't've might've mustn't must've needn't not've
o'clock oughtn't 'ow's'at shan't she'd've should've shouldn't shouldn't've somebody'd've somebody'll somebody's
someone'd someone'd've someone'll someone's something'd something'd've something'll that's there'd there'd've there're
there's they'd they'd've they'll they're they've 'twas wasn't we'd've we've weren't what'll what're what's what've
when's where'd where's where've who'd who'd've who'll who's who've why'll why're why's won't would've wouldn't
wouldn't've y'all y'all'll y'all'd've you'd you'd've you'll you're you've
"""
_CONTRACTIONS = {
    **{word[:i] + word[i + 1 :]: word for word in _CONTRACTED.split() for i, sign in enumerate(word) if sign == "'"},
    "somebody'd": "somebodyd",  # so in the script
}
"""A contraction with one apostrophe missing -> the contraction."""


def plain_line(text: str) -> str:
    """The text with line breaks and tabs as blanks, without white space at the ends: all that an agreed answer gets."""
    return text.replace("\n", " ").replace("\t", " ").strip()


@lru_cache(maxsize=2**10)
def vqa_normalised(text: str) -> str:
    """An answer as VQAv2 compares it where people disagree: lower case, digits for number words, no articles, no punctuation.

    Apostrophes stay, and contractions get back a missing one.
    """
    without = without_punctuation(plain_line(text), _STOP)
    words = [_NUMBER_WORDS.get(word, word) for word in without.lower().split()]
    return " ".join(_CONTRACTIONS.get(word, word) for word in words if word not in _ARTICLES)


@lru_cache(maxsize=2**10)
def textvqa_normalised(text: str) -> str:
    """An answer as TextVQA compares it: as VQAv2, after commas and question marks are deleted and "'s" is split off."""
    return vqa_normalised(text.lower().replace(",", "").replace("?", "").replace("'s", " 's").strip())


def agreement(answer: str, people: Sequence[str]) -> float:
    """The mean of min(1, matches / 3) over leaving out one person at a time: of ten people 3 equal ones give 0.9 and 4 give 1.

    With fewer than three people one match gives 1.
    """
    same = sum(person == answer for person in people)
    if len(people) < 3:
        return float(same > 0)
    without_match = [min(1.0, (same - 1) / 3)] * same
    without_other = [min(1.0, same / 3)] * (len(people) - same)
    return sum(without_match + without_other) / len(people)


SLIP = (
    "the answer is that of all people but for its case, articles or punctuation, and scores 0: where all agree, vqa_accuracy "
    "compares answers as they are, as VQAv2's script does. `normalise: always` compares the words."
)
"""What the script's slip costs, for a reader of the number."""
_NORMALISE: dict[str, Callable[[str], str]] = {
    "unless_equal": vqa_normalised,
    "always": vqa_normalised,
    "textvqa": textvqa_normalised,
}


@metric("vqa_accuracy", output_type="generate_until", aggregation="mean")
def vqa_accuracy(references: Any, predictions: Sequence[Any], normalise: str = "unless_equal") -> list[float]:
    """VQAv2's score: an answer that at least 3 of the other people gave scores 1.

    The target is the list of people's answers (ten in VQAv2, TextVQA and VizWiz). normalise: "unless_equal" as VQAv2's script
    does, which compares answers as they are where all people gave the same, so that "Yes" is wrong for ten times "yes";
    "always"; or "textvqa", always and by TextVQA's processor.
    """
    if normalise not in _NORMALISE:
        raise ConfigError(f"normalise of vqa_accuracy must be one of {', '.join(_NORMALISE)} (got {normalise!r}).")
    scores = []
    for answer, accepted in zip(predictions, targets_of(references, predictions, multiple_targets=True), strict=True):
        people = [str(person) for person in accepted if person is not None]
        if answer is None or not people:
            scores.append(0.0)
            continue
        rule = _NORMALISE[normalise]
        score = agreement(rule(str(answer)), [rule(person) for person in people])
        if normalise == "unless_equal" and len(set(map(plain_line, people))) == 1:
            as_is = agreement(plain_line(str(answer)), [plain_line(person) for person in people])
            if as_is < score:
                remark(SLIP)
            score = as_is
        scores.append(score)
    return scores


def agreed_answer(people: Sequence[str], normalise: str = "unless_equal") -> str | None:
    """The first answer of these people that scores 1; None where too few of them agree."""
    answers = list(dict.fromkeys(people))
    scores = vqa_accuracy([list(people)], answers, normalise)
    return next((answer for answer, score in zip(answers, scores, strict=True) if score == 1), None)
