"""What an answer claims: its clauses without those that deny, suppose, ask or take back.

"Not B. C." claims "… C."; "If it were A, ..." claims nothing about A. The rules that look for a letter see only the claims.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from mm_eval.filters.reading import BEFORE

GAP = " … "
"""Stands for a clause that claims nothing; no rule reads across it."""

_NOT_SO = (
    r"\bnot\b", r"n['’]t\b", r"\bcannot\b", r"\bnever\b", r"\bneither\b", r"\bnor\b", r"\bunlike(?:ly)?\b", r"\bfalse\b",
    r"\b(?:in|not\s+)correct\b", r"\bincorrectly\b", r"\bwrong(?:ly)?\b", r"\brather\s+than\b", r"\binstead\s+of\b",
    r"\brul(?:e|es|ed|ing)\s+out\b", r"\bexclud", r"\beliminat", r"\breject", r"\bexcept\b", r"\bimpossible\b",
    r"(?<!no )(?<!\ba )(?<!any )\bdoubt", r"\bnicht\b", r"\bfalsch\b", r"\bpas\b", r"\bno\s+es\b", r"\bnon\s+è", r"\bне\b",
    "不选", "不選", "不是", "不对", "不對", "不正", "并非", "错", "錯", "排除",
    "아니", "아닙", "틀렸", "틀린", "ではな", "じゃな", "間違", "不正解",
)  # fmt: skip
_SUPPOSED = (
    r"\bif\b", r"\bwhether\b", r"\bsuppos", r"\bassum", r"\bat\s+first\b", r"\binitially\b",
    r"\b(?:some|one|you|people|many)\s+(?:may|might|could|would)\b", r"\bmight\s+(?:think|say|seem)\b", "如果", "假如",
)  # fmt: skip
DENIES = re.compile("|".join((*_NOT_SO, *_SUPPOSED)), re.IGNORECASE)
_IF = re.compile(r"\bif\b|如果|假如", re.IGNORECASE)
_WOULD_BE = re.compile(r"\b(?:would|could|might)\b", re.IGNORECASE)
_VERDICT = re.compile(
    r"\W{0,40}(?:(?:(?:is|are|was)\s+)?(?:not\b|incorrect|wrong|false|no\b)|(?:is|are|was)n['’]t\b)", re.IGNORECASE
)
_NOT_LETTER = re.compile(r"\W{0,40}not\s+\W?[A-Z]\b")
_NO = re.compile(r"\W{0,40}no\b", re.IGNORECASE)
_ABSENT = re.compile(
    r"(?!it\b|there\b|this\b|that\b)[^.\n]{0,300}\b(?:is|are|was|were)(?:\s+not|n['’]t)\s+(?:the\s+\w*\s*answer|shown|visible|present|in\s+the)\b",
    re.IGNORECASE,
)
"""What follows a label when it is the option's text that is denied, where the texts are not known."""
_TAKEN_BACK = re.compile(
    r"\bwait\b(?=\s*(?:[,.:!–—-]|no\b|$))|(?<=[,.?!;])\s*no\s*[,:]|\b(?:scratch\s+that|correction\s*:|on\s+second\s+thoughts?)|"
    r"\b(?:but|however|yet)\b(?=[^.\n]{0,40}\bactually\b)|\bactually\s*,",
    re.IGNORECASE,
)
_BREAK = re.compile(
    r"\n+|[。！；;]|,(?!\d)|[.!?](?=\s|$|[^\x00-\x7f])|\s(?=(?:because|since|but|although|while|as|so|rather than|instead of)\s)|"
    r"\s(?=(?:and\s+|but\s+)?\W?not\s+(?:option\s+|choice\s+)?\W?[A-Z]\b)",
    re.IGNORECASE,
)
_LABEL = re.compile(r"\W{0,40}(?:option\s+|choice\s+)?\(?[A-Z]\)?\W{0,40}")
_SPACE = re.compile(r"\s*")
_NAMES_ANSWER = re.compile(
    rf"{BEFORE}[A-Z](?![A-Za-z0-9])|answer|option|choice|respuesta|réponse|antwort|risposta|答案|选|答え|정답", re.I
)
_LISTED = re.compile(
    r"\b(?:options|choices)\b(?:\s+\w+){0,3}\s*:(?:\s*\(?[A-Z][).:](?:(?!\banswer\b)[^\n])*)+", re.IGNORECASE
)


def claims(text: str, options: Sequence[str] = ()) -> tuple[str, str]:
    """What a text claims, with gaps, and what it leaves out.

    options: the texts of the options; a negation inside one ("there is no dog", "not sure") denies nothing.
    """
    left_out: list[str] = []

    def leave_out(part: str) -> str:
        left_out.append(part)
        return "\n" + GAP + "\n" if "\n" in part else GAP

    text = _LISTED.sub(lambda listed: leave_out(listed[0]), text)
    marks = list(_TAKEN_BACK.finditer(text))
    if marks:
        text = leave_out(text[: marks[-1].start()]) + text[marks[-1].start() :]
    clauses = _clauses(text, options)
    texts = [option.strip().lower() for option in options if option.strip()]
    denying = [re.compile(re.escape(option.strip()), re.IGNORECASE) for option in options if DENIES.search(option)]
    claimed = "".join(
        leave_out(clause) if _claims_nothing(clause, texts, denying) or _follows(before, clause) else clause
        for before, clause in zip(["", *clauses], clauses, strict=False)
    )
    return claimed, "\n".join(left_out)


def _clauses(text: str, options: Sequence[str]) -> list[str]:
    """The clauses with the signs that end them; a label stays with its option's text and with a verdict on it."""
    found, start = [], 0
    texts = [option.strip().lower() for option in options if option.strip()]
    longest = max(map(len, texts), default=0)
    for mark in _BREAK.finditer(text):
        if "\n" not in mark[0] and _LABEL.fullmatch(text, start, mark.start()):
            space = _SPACE.match(text, mark.end())
            after = space.end() if space else mark.end()
            own = not options and bool(_ABSENT.match(text, after))
            own = own or text[after : after + longest].lower().startswith(tuple(texts))
            if own or (_VERDICT.match(text, after) and not _NOT_LETTER.match(text, after)):
                continue
        found.append(text[start : mark.end()])
        start = mark.end()
    return [*found, text[start:]]


def _claims_nothing(clause: str, texts: Sequence[str], denying: Sequence[re.Pattern[str]]) -> bool:
    """Whether a clause about the answer denies, supposes or asks.

    texts: of the options, in lower case. denying: patterns of the options that hold a negation.
    """
    if len(clause) < 2:
        return False
    masked = clause
    for option in denying:
        masked = option.sub("x", masked)
    lower = masked.lower()
    about = _NAMES_ANSWER.search(masked) or any(text in lower for text in texts)
    return bool(about and (DENIES.search(masked) or masked.rstrip().endswith("?") or _rejected(masked)))


def _follows(before: str, clause: str) -> bool:
    """Whether a clause says what would be, were the supposition before it true."""
    return bool(_IF.search(before) and before.rstrip().endswith(",") and _WOULD_BE.search(clause))


def _rejected(clause: str) -> bool:
    label = _LABEL.match(clause)
    return bool(label and _VERDICT.match(clause, label.end()) and not _NO.match(clause, label.end()))
