"""Whether an answer says yes or no."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from mm_eval.scoring.filters.base import UNPARSED, EachAnswer, found_by, is_unanswered, is_unread, register_filter
from mm_eval.scoring.filters.extraction import is_searched, rule_for, unread
from mm_eval.scoring.filters.reading import AFTER, BEFORE, DENIES, Level, boxed, decide, lines_of, plain, unwrapped

_LATIN = {
    "yes": "yes", "yeah": "yes", "yep": "yes", "yup": "yes", "sí": "yes", "oui": "yes", "ja": "yes", "sim": "yes",
    "да": "yes", "evet": "yes", "no": "no", "nope": "no", "nah": "no", "non": "no", "nein": "no", "não": "no",
    "nee": "no", "нет": "no", "hayır": "no",
}  # fmt: skip
_OTHER = {
    "是的": "yes", "是": "yes", "对": "yes", "對": "yes", "有的": "yes", "はい": "yes", "예": "yes", "네": "yes",
    "不是": "no", "否": "no", "不对": "no", "不對": "no", "不": "no", "没有": "no", "沒有": "no", "いいえ": "no", "아니요": "no",
    "아니오": "no", "아니": "no",
}  # fmt: skip
_SAYS = {**_LATIN, **_OTHER}
_WORD = rf"(?:{BEFORE}(?:{'|'.join(_LATIN)})(?!\w)(?!['’-]\w)|{'|'.join(sorted(_OTHER, key=len, reverse=True))})"
_ANSWER_IS = re.compile(
    rf"(?:{BEFORE}(?:answer|response|antwort|respuesta|réponse|ответ)[\"']?(?:\s+(?:is|would\s+be|should\s+be|must\s+be)|\s*[:=])"
    rf"|答案\s*(?:是|为|為)?\s*[:：]?|答え(?:は)?\s*[:：]?|정답(?:은)?\s*[:：]?)\s*[\"'“(]*\s*({_WORD})",
    re.IGNORECASE,
)
_ENDS = r"\s*(?:$|\.(?!\s*\d)|[(\n,;:!。，、；：！)\]\"'”–—-])"
_BOTH = re.compile(
    rf"\s*,?\s*(?:/|-?or\b-?|-?and\b-?|und\b|ou\b|oder\b|o\b|,?\s*but\b|或|和)\s*({_WORD})|\s*[,.;!?\s]\s*({_WORD})(?={_ENDS})",
    re.IGNORECASE,
)
_GOES_ON = r"\s+(?:it|there|this|that|these|those|the|he|she|they|we|you|i|because|since|as)\b"
_HEDGE = re.compile(
    r"\b(?:not\s+(?:sure|certain|clear|possible|enough)|unsure|uncertain|unclear|(?:can(?:not|['’]t|\s+not)|unable\s+to)\s+"
    r"(?:be\s+)?(?:determine|tell|say|see|know|answer|confirm)|maybe|perhaps|either|whether|depends|"
    r"not\s+(?:a\s+)?(?:yes|no))",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"\b(?:labell?ed|says|reads|written|word|of|(?:n['’]t|\bnot)(?:\s+\w+){0,2})\s+$|(?<!say )(?<!answer )(?<!with )[\"'“‘]\s*$",
    re.IGNORECASE,
)
"""Precedes a yes or no that is quoted from the picture, discussed or denied, and is not the answer."""
_NAMED_REACH = 120
"""How many characters before a word are searched for `_NAMED`."""
_REACH = 300
"""How many characters before a word are searched for the start of its clause and sentence."""
_CLAUSE = re.compile(r"[.!?;,:\n。，；]|\b(?:so|therefore|thus|hence|but|and|because|since)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"[.!?;\n。；]|\b(?:so|therefore|thus|hence|but)\b", re.IGNORECASE)
_SUPPOSES = re.compile(r"\b(?:if|unless|suppos\w+|assuming)\b|如果|假如", re.IGNORECASE)
_REFUSES = re.compile(r"\bno\s+way\b|\bmistake\b", re.IGNORECASE)
_LEGEND = re.compile(r"[\s)]*[:=(]\s*\d+(?:\.\d+)?\s*(?:[%,;)\n]|$)")
"""Follows a word that is defined ("Yes = 1, No = 0") or given a probability ("Yes: 30%")."""
_ASKED = re.compile(r"[^.!;,\n]{0,300}\?")
_YES_SAID = re.compile(r"\byes\b", re.IGNORECASE)
_YES_OR_NO = re.compile(rf"{BEFORE}(yes|no){AFTER}", re.IGNORECASE)
_FIRST = re.compile(rf"[\W_]*({_WORD})", re.IGNORECASE)
_ENDS_HERE, _ANSWERS = re.compile(_ENDS), re.compile(f"{_ENDS}|{_GOES_ON}", re.IGNORECASE)
_OTHERWISE = re.compile(
    r"\b(?:but|however|actually|wait|sorry|hmm+|oops|correction|scratch\s+that|on\s+second\s+thoughts?)\b\W*"
    rf"(?:it(?:['’]s|\s+is)\s+)?({_WORD})(?={_ENDS})",
    re.IGNORECASE,
)
_YES, _NO = ("|".join(word for word, meaning in _SAYS.items() if meaning == each) for each in ("yes", "no"))
_PAIR = re.compile(
    rf"\(?(?<![\w-])(?:(?:{_YES})(?P<s>\s*/\s*|-or-|\s+(?:or|oder|ou|o)\s+|\s*(?:或|还是)\s*)(?:{_NO})"
    rf"|(?:{_NO})(?:\s*/\s*|\s+(?:or|oder|ou|o)\s+)(?:{_YES}))(?![\w-])\)?",
    re.IGNORECASE,
)
_NO_ANSWER = re.compile(r"\bno\s+(?:doubt|problem|worries|question)\b(?:\s+about\s+(?:it|that)\b)?", re.IGNORECASE)


@register_filter("yes_no")
class YesNoFilter(EachAnswer):
    """Finds "yes" or "no" in an answer: strict rules first, then lenient ones, never a guess.

    Phrases that name both ("Yes or no?") and phrases such as "no doubt" or "no problem" are removed first.
    "no" counts only as a word that answers, not in "know", "not sure" or "no dogs". Some other languages are read too.
    lenient: whether a single yes or no inside a sentence counts.
    fallback: replaces an answer that no rule can read.
    """

    def __init__(self, lenient: bool = True, fallback: Any = None) -> None:
        self.lenient, self.fallback = lenient, fallback

    def one(self, answer: Any) -> Any:
        """ "yes", "no" or the fallback."""
        if not isinstance(answer, str) or is_unread(answer):
            return unread(answer, self.fallback)
        marked = unwrapped(answer)
        text = _NO_ANSWER.sub("", _PAIR.sub("", plain(marked)))
        levels: list[Level] = [
            ("word", lambda: _alone(text)),
            ("boxed", lambda: [word for content in boxed(marked) for word in _alone(plain(content))]),
            ("answer_is", lambda: _declaration(text)),
            ("first", lambda: _leading(text)),
            ("last_line", lambda: _alone(lines_of(text)[-1]) if len(lines_of(text)) > 1 else []),
            ("after_question", lambda: _after_question(text)),
        ]
        return decide(
            answer, [*levels, ("within", lambda: _within(text))] if self.lenient else levels, self.fallback, "yes_no"
        )


def _alone(text: str) -> list[str]:
    """The meaning of a text that is only yes or no."""
    start, end = 0, len(text)
    while start < end and not text[start].isalnum():
        start += 1
    while end > start and not text[end - 1].isalnum():
        end -= 1
    word = text[start:end].lower()
    return [_SAYS[word]] if word in _SAYS else [{"y": "yes", "n": "no"}[word]] if word in ("y", "n") else []


def _meaning(word: str) -> str:
    return _SAYS[word.lower()]


def _declaration(text: str) -> list[str]:
    """The meaning of the last "answer is ..."."""
    declared = reversed(list(_ANSWER_IS.finditer(text)))
    last = next((match for match in declared if not _is_denied(text, match.start(), match.start())), None)
    return _with_other(text, last.end(), last[1]) if last else []


def _is_denied(text: str, start: int, end: int) -> bool:
    """Whether the clause around a part of the text denies it, or its sentence supposes."""
    reach = max(0, start - _REACH)
    clause = max((m.end() for m in _CLAUSE.finditer(text, reach, start)), default=reach)
    sentence = max((m.end() for m in _SENTENCE.finditer(text, reach, start)), default=reach)
    after = _CLAUSE.search(text, end, end + _REACH) if end > start else None
    said = text[clause : after.start() if after else end if end == start else end + _REACH]
    return _denies(said) or bool(_SUPPOSES.search(text, sentence, start))


@lru_cache(maxsize=1024)
def _denies(clause: str) -> bool:
    return bool(DENIES.search(clause) or _REFUSES.search(clause))


def _leading(text: str) -> list[str]:
    """The meaning of a yes or no that begins the answer and is not a determiner ("no dogs", "no one")."""
    match = _FIRST.match(text)
    if not match:
        return []
    word, end = _meaning(match[1]), match.end()
    if _LEGEND.match(text, end):
        return []
    if word == "no" and match[1].lower() == "no" and not _ANSWERS.match(text, end):
        return []
    if (match[1] in _OTHER or match[1].lower() == "sim") and not _ENDS_HERE.match(text, end):
        return []
    return _with_other(text, match.end(), match[1])


def _with_other(text: str, end: int, word: str) -> list[str]:
    """The word's meaning, and the other meaning in "yes and no" or if the answer is taken back ("Actually, no.")."""
    others = [match[1] or match[2] for match in [_BOTH.match(text, end)] if match]
    others += [match[1] for match in _OTHERWISE.finditer(text, end)]
    return [_meaning(word), *map(_meaning, others)]


def _after_question(text: str) -> list[str]:
    """The meaning of a yes or no alone after a repeated question, the only one: "是否有狗？没有。"."""
    question, _, rest = text.partition("?")
    return _alone(rest) if rest.strip() and "?" not in rest and not _alone(question) else []


def _within(text: str) -> list[str]:
    """Every yes, and every no that ends a clause; none if the answer is unsure or denies it."""
    if _HEDGE.search(text):
        return []
    found: set[str] = set()
    says_yes = bool(_YES_SAID.search(text))
    for match in _YES_OR_NO.finditer(text):
        word, start, end = match[1].lower(), match.start(), match.end()
        before = text[max(0, start - _NAMED_REACH) : start]
        if _ASKED.match(text, end):
            continue
        if word == "no" and not _ENDS_HERE.match(text, end):
            found |= {"no"} if says_yes else set()
        elif before.endswith("-") or _NAMED.search(before) or _LEGEND.match(text, end) or _is_denied(text, start, end):
            return []
        else:
            found.add(word)
        if len(found) == 2:
            break
    return sorted(found)


# The rules of published evaluations, kept exactly as published: POPE's own, and VLMEvalKit's for HallusionBench.
_DENIALS = frozenset(("No", "no", "not"))
_WORDS = re.compile(r"\w+")
_THOUSANDS = re.compile(r"\d,\d")
_MARKS = ';/[]"{}()=+\\_-><@`,?!'
_FULL_STOP = re.compile(r"(?<!\d)\.(?!\d)")
_FULL_STOPS = 32
"""Both scripts remove at most so many full stops: they pass `re.UNICODE`, which is 32, where `re.sub` takes the count."""


@register_filter("pope_yes_no")
class PopeYesNoFilter(EachAnswer):
    """Reads an answer as POPE does: "no" if its first sentence has the word No, no or not, otherwise "yes".

    The sentence ends at the first full stop, commas are removed, and words are divided at single blanks, so "NO" and "no!" are
    read as yes. An answer without any form of yes or no is scored as the "yes" of this rule and counts as unparsed.

    Source: Li et al. 2023, arXiv:2305.10355, and evaluate.py of github.com/AoiDragon/POPE.
    """

    def one(self, answer: Any) -> Any:
        """ "yes" or "no"; None for an answer that is missing, or ended while the model was thinking."""
        if not isinstance(answer, str) or is_unanswered(answer):
            return unread(answer, None)
        words = answer.partition(".")[0].replace(",", "").split(" ")
        if not _DENIALS.isdisjoint(words):
            return found_by("no", "no_word")
        said = {word.lower() for word in _WORDS.findall(answer)}
        return found_by("yes", UNPARSED if said.isdisjoint(("yes", "no", "not")) else "not_no")


@register_filter("yes_no_words")
class YesNoWordsFilter(EachAnswer):
    """Finds the one of the words yes and no that an answer has; an answer with both or neither is unparsed.

    The answer is in lower case and without punctuation, except for marks that the rule keeps: "Yes:" and "**No**" are unparsed.
    fallback: replaces an answer that the rule can't read.

    Source: YOrN_Extraction and process_punctuation of github.com/open-compass/VLMEvalKit.
    """

    def __init__(self, fallback: Any = None) -> None:
        self.fallback = fallback

    def one(self, answer: Any) -> Any:
        """ "yes", "no" or the fallback."""
        if not is_searched(answer):
            return unread(answer, self.fallback)
        found = {"yes", "no"}.intersection(without_punctuation(answer.lower()).split())
        return found_by(found.pop(), rule_for(answer, "word")) if len(found) == 1 else unread(answer, self.fallback)


def without_punctuation(text: str, full_stop: re.Pattern[str] = _FULL_STOP) -> str:
    """The text without punctuation, as VQAv2's script and after it VLMEvalKit remove it.

    A mark is deleted if it stands next to a blank anywhere in the text or the text has a comma between digits; otherwise it
    becomes a blank. full_stop: the full stops that are deleted; by default those that touch no digit, as in VLMEvalKit.
    """
    deleted = _THOUSANDS.search(text) is not None
    found = text
    for mark in _MARKS:
        if mark in found:
            touches = f"{mark} " in text or f" {mark}" in text
            found = found.replace(mark, "" if touches or deleted else " ")
    return full_stop.sub("", found, count=_FULL_STOPS)
