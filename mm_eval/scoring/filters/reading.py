"""What `mcq_letter` and `yes_no` share: plain text from markdown and LaTeX, levels of rules, and what an answer claims.

`decide` tries levels of rules in order. A level returns the candidates that it finds: one candidate is the answer; two different
ones make the answer unparsed (never a guess) and end the search; without a candidate the next, more lenient level is tried.

`claims` removes the clauses that deny, suppose, ask or take back: "Not B. C." claims "… C."; "If it were A, ..." claims nothing
about A. The rules that look for a letter see only the claims.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence

from mm_eval.scoring.filters.base import found_by
from mm_eval.scoring.filters.extraction import unread

Level = tuple[str, Callable[[], Iterable[str]]]

BEFORE = r"(?<![A-Za-z0-9À-ɏ_])"
"""Not inside a word written in Latin letters; Chinese and Japanese text needs no space around an answer."""
AFTER = r"(?![A-Za-z0-9À-ɏ_]|['’][A-Za-z]|-\w)"

_TOKEN = re.compile(r"</s>|<eos>|<end_of_turn>|\[/?INST\]|<\|(?!end_of_(?:box|thought))[^|<>\s]+\|>")
"""A special token that a server left at the end of an answer."""
_ROLE = re.compile(r"^\s*(?:assistant|model|bot)\s*:\s*", re.IGNORECASE)

_LATEX_TEXT = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathit|mathsf|operatorname|rm|bf)\s*\{([^{}]*)\}")
_TAG = re.compile(r"<(/?)(answer)>|<\|(begin|end)_of_box\|>", re.IGNORECASE)
_BOX = re.compile(r"\\(?:boxed|fbox|framebox)\s*\{")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
MOST_BRACES = 200
"""The most braces within a LaTeX box that are counted."""
_TURN_END = re.compile(
    r"<\|(?:im_end|eot_id|end|endoftext|user|im_start|start_header_id|end_of_turn)\|>|</s>|<eos>|<end_of_turn>|\[/?INST\]"
)
"""Ends the model's turn; what it goes on with is no part of its answer."""
_NEXT_QUESTION = re.compile(
    r"^[ \t#*]*(?:(?:next\s+)?question|q|user|human|instruction|problem)(?:\s*\d{1,4})?[ \t*]*[:：]",
    re.IGNORECASE | re.MULTILINE,
)
"""Begins a further question that the model made up, or repeats the one that was asked."""

_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
"""Invisible characters: zero-width spaces and joiners, byte order marks, soft hyphens, direction marks, variation
selectors, control characters (Unicode's Default_Ignorable_Code_Point, Cc)."""
_SQUARED = {first + n: chr(ord("A") + n) for first in (0x1F150, 0x1F170) for n in range(26)}
"""Letters in filled circles and squares, which NFKC leaves as they are."""
_MARKS_KEPT = 30
"""The most combining marks in a row that are kept (Unicode's stream-safe limit): normalising n marks takes n squared steps."""

LONGEST = 20_000
"""The most characters of an answer that are read; of a longer one a fifth from its start and the rest from its end."""

GAP = " … "
"""Replaces a clause that claims nothing; no rule matches across it."""

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
"""Follows a label if the option's text contains the denial and the texts are not known."""
_TAKEN_BACK = re.compile(
    r"\bwait\b(?=\s*(?:[,.:!–—-]|no\b|$))|(?<=[,.?!;])\s*no\s*[,:]|\b(?:scratch\s+that|correction\s*:|on\s+second\s+thoughts?)|"
    r"\b(?:but|however|yet)\b(?=[^.\n]{0,40}\bactually\b)|\bactually\s*,|"
    r"(?P<verdict>\b(?:that|this|it|which)(?:['’]s|\s+(?:is|was))\s+(?:actually\s+)?(?:wrong|incorrect|mistaken|not\s+(?:right|correct|it)|a\s+mistake)\b"
    r"(?=\W{0,3}(?:\n|\s[A-Z]|\s+(?:it|the|i)\b|$)))|"
    r"\bi\s+(?:was|am)\s+(?:wrong|mistaken)\b|\bi\s+(?:have\s+)?made\s+an?\s+(?:mistake|error)\b|"
    r"\bon\s+(?:reflection|(?:closer|further)\s+(?:look|inspection|thought|consideration|reflection))\b",
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
_REJECTED_LIST = re.compile(
    rf"(?:\b(?:options?|choices?|answers?|both)\s+)?{BEFORE}\(?[A-Z]\)?(?:\s*(?:,\s*(?:and|or|nor)\b|,|/|&|\band\b|\bor\b|\bnor\b)\s*"
    r"(?:options?\s+)?\(?[A-Z](?![A-Za-z0-9])\)?){1,25}\s+(?:(?:are|were|is|can|could|do|does|did|have|should|must|would|may)\s*"
    r"(?:all|both|each|clearly|therefore|thus|be|being|been)?\s*)?(?:all\s+|both\s+)?"
    r"(?:not\b|n['’]t\b|never\b|incorrect|wrong|false|be\s+(?:ruled|excluded|eliminated|rejected|discarded)|ruled\s+out|excluded|"
    r"eliminated|rejected|discarded|out\b|impossible|fail\b|cannot\b|irrelevant|unlikely)[^,.;\n]{0,120}",
    re.IGNORECASE,
)
"""Options that are rejected together: "A, C and D are incorrect"."""
_LISTED = re.compile(
    r"\b(?:options|choices)\b(?:\s+\w+){0,3}\s*:(?:\s*\(?[A-Z][).:](?:(?!\banswer\b)[^\n])*)+", re.IGNORECASE
)


def decide(answer: object, levels: Sequence[Level], fallback: object, prefix: str) -> object:
    """The candidate of the first level that finds any, marked "prefix:level"; the fallback if it finds two, or no level any."""
    for name, candidates in levels:
        distinct = set(candidates())
        if len(distinct) == 1:
            return found_by(distinct.pop(), f"{prefix}:{name}")
        if distinct:
            return unread(answer, fallback)
    return unread(answer, fallback)


def unwrapped(text: str) -> str:
    """A readable answer with LaTeX text commands as plain characters and no special tokens; markdown is kept."""
    text = _ROLE.sub("", _without_tail(readable(text)))
    for _ in range(3):
        text = _LATEX_TEXT.sub(r"\1", text)
    text = text.replace("\\(", "").replace("\\)", "").replace("\\[", "").replace("\\]", "").replace("$", " ")
    return _collapse(text)


def plain(text: str) -> str:
    """Text without markdown emphasis and headings, white space at the ends removed."""
    text = re.sub(r"\*+|`+|(?<!\w)__?|__?(?!\w)", "", text)
    return _collapse(re.sub(r"^\s{0,3}#{1,6}\s+", "", text, flags=re.MULTILINE)).strip()


def boxed(text: str) -> list[str]:
    """The content of the last LaTeX box, else of the last answer tag."""
    found = [content for match in _BOX.finditer(text) if (content := _in_braces(text, match.end())) is not None]
    return found[-1:] or _tag_contents(text)[-1:]


def _in_braces(text: str, start: int) -> str | None:
    """The text up to the brace that closes one opened before `start`; None if it is never closed."""
    depth = 1
    for number, brace in enumerate(_BRACE.finditer(text, start)):
        depth += (brace[0] == "{") - (brace[0] == "}")
        if depth == 0:
            return text[start : brace.start()]
        if number > MOST_BRACES:
            break
    return None


def first_turn(text: str) -> tuple[str, str]:
    """(what the model said before its turn ended, what stands before a further question).

    The first is the whole text where no turn ends. The second is empty where there is no further question: one that stands at the
    beginning repeats the question that was asked.
    """
    end = _TURN_END.search(text)
    while end is not None and not text[: end.start()].strip():
        end = _TURN_END.search(text, end.end())
    turn = text[: end.start()] if end is not None else text
    question = _NEXT_QUESTION.search(turn)
    before = turn[: question.start()] if question is not None else ""
    return turn, before if before.strip() else ""


def lines_of(text: str) -> list[str]:
    """The lines that are not blank, without white space at the ends."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def claims(text: str, options: Sequence[str] = ()) -> tuple[str, str]:
    """The clauses of a text that claim something, with gaps between them, and the clauses left out.

    options: the texts of the options; a negation that is part of one ("there is no dog", "not sure") is not a denial.
    """
    left_out: list[str] = []

    def leave_out(part: str) -> str:
        left_out.append(part)
        return "\n" + GAP + "\n" if "\n" in part else GAP

    text = _LISTED.sub(lambda listed: leave_out(listed[0]), text)
    text = _REJECTED_LIST.sub(lambda rejected: leave_out(rejected[0]), text)
    marks = list(_TAKEN_BACK.finditer(text))
    if marks:
        end = marks[-1].end() if marks[-1]["verdict"] else marks[-1].start()
        text = leave_out(text[:end]) + text[end:]
    clauses = _clauses(text, options)
    texts = [option.strip().lower() for option in options if option.strip()]
    denying = [re.compile(re.escape(option.strip()), re.IGNORECASE) for option in options if DENIES.search(option)]
    claimed = "".join(
        leave_out(clause) if _claims_nothing(clause, texts, denying) or _follows(before, clause) else clause
        for before, clause in zip(["", *clauses], clauses, strict=False)
    )
    return claimed, "\n".join(left_out)


def readable(text: str) -> str:
    """An answer in NFKC, of bounded length, without invisible characters and long runs of white space.

    The rules read this text, each in time proportional to its length: a pattern with an unbounded repetition must not be tried
    from many places (write `[^.]{0,300}`), and no rule copies the rest of the text for each of its matches.
    """
    short = _shorten(_collapse(without_invisible(text)))
    return _shorten(_collapse(normal(short)))


def normal(text: str) -> str:
    """NFKC (full-width and circled letters become plain ones) without invisible characters."""
    text = without_invisible(text)
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", _few_marks(text).translate(_SQUARED))


def without_invisible(text: str) -> str:
    """Text without invisible characters; a zero-width space between two Latin words becomes a space."""

    def replacement(run: re.Match[str]) -> str:
        before, after = text[run.start() - 1 : run.start()], text[run.end() : run.end() + 1]
        parts_words = "\u200b" in run[0] and (before + after).isascii() and before.isalnum() and after.isalnum()
        return " " if parts_words else ""

    return _INVISIBLE.sub(replacement, text)


def _few_marks(text: str) -> str:
    """Text without the combining marks after the first 30 in a row."""
    kept, row = [], 0
    for character in text:
        row = row + 1 if unicodedata.combining(character) else 0
        if row <= _MARKS_KEPT:
            kept.append(character)
    return "".join(kept)


def _collapse(text: str) -> str:
    """Text with one space for a run of white space, and at most one blank line in a row."""
    return re.sub(r"\n\s*\n", "\n\n", re.sub(r"[^\S\n]+", " ", text))


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST + 1 else f"{text[: LONGEST // 5]}\n{text[-LONGEST * 4 // 5 :]}"


def _without_tail(text: str) -> str:
    """Text without the special tokens at its end, and the white space before them."""
    end = len(text.rstrip())
    whole = end
    while end and text[end - 1] in ">]":
        start = text.rfind("<" if text[end - 1] == ">" else "[", 0, end)
        if start < 0 or not _TOKEN.fullmatch(text, start, end):
            break
        end = start
        while end and text[end - 1].isspace():
            end -= 1
    return text if end == whole else text[:end]


def _tag_contents(text: str) -> list[str]:
    """The content between each answer tag and the next closing one of its kind."""
    tags = [
        (tag.start(), tag.end(), tag[2] is None, tag[1] == "/" or (tag[3] or "").lower() == "end")
        for tag in _TAG.finditer(text)
    ]
    last_closing = {kind: start for start, _, kind, closes in tags if closes}
    found: list[str] = []
    opened: tuple[bool, int] | None = None
    for start, end, kind, closes in tags:
        if opened is None and not closes and start < last_closing.get(kind, -1):
            opened = kind, end
        elif opened is not None and closes and opened[0] == kind:
            found.append(text[opened[1] : start])
            opened = None
    return found


def _clauses(text: str, options: Sequence[str]) -> list[str]:
    """The clauses with their end marks; a label stays with its option's text and with a verdict on it."""
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
    return bool(about and (DENIES.search(masked) or masked.rstrip().endswith("?") or _is_rejected(masked)))


def _follows(before: str, clause: str) -> bool:
    """Whether a clause is the consequence of the supposition before it."""
    return bool(_IF.search(before) and before.rstrip().endswith(",") and _WOULD_BE.search(clause))


def _is_rejected(clause: str) -> bool:
    label = _LABEL.match(clause)
    return bool(label and _VERDICT.match(clause, label.end()) and not _NO.match(clause, label.end()))
