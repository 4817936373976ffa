"""How many sentences an English text has, by the rules of Punkt.

Source: Kiss and Strunk 2006, "Unsupervised multilingual sentence boundary detection", Computational Linguistics 32(4), with the
abbreviations, the words that begin sentences and the pairs that Punkt learnt from the Wall Street Journal. The benchmark's
own evaluation counts with Punkt; its table of how 20,000 words are written is left out here. So an abbreviation or a row of
dots ends a sentence only before a word that often begins one, and a single letter only before a word that is no name: one of
the common words, or one that the text also has in lower case.
"""

import re
from collections.abc import Collection, Iterator
from itertools import pairwise

_ABBREVIATIONS = """
a.a a.c a.d a.g a.h a.m a.m.e a.s a.t adm ala ariz aug ave b.f b.v bros c c.i.t c.o.m.b c.v calif chg cie co col colo conn
corp cos ct d d.c d.h d.w dec dr e e.f e.h e.l e.m f f.g f.j feb fla fri ft g g.d g.f g.k ga gen h h.c h.f h.m i.m.s ill inc
j.b j.c j.j j.k j.p j.r jan jr k kan ky l l.a l.f l.p lt ltd m m.b.a m.d.c m.j maj messrs mg mich minn mr mrs ms n n.c n.d
n.h n.j n.m n.v n.y nev nov oct ok okla ore p p.a.m p.m pa ph.d prof r r.a r.h r.i r.j r.k r.t rep reps s s.a s.a.y s.c s.g
s.p.a s.s sen sep sept sr st sw t t.j tenn tues u.k u.n u.s u.s.a u.s.s.r v va vs vt w w.c w.r w.va w.w wash wed wis yr
"""
_STARTERS = """
according although among both but despite even he however i if in indeed instead it many meanwhile moreover most
nevertheless nonetheless nor sales separately similarly since so some the there these they this though thus under when while
yet
"""
_COMMON = """
a about above after again all also always an and any anyone are as ask at back be because been before being below best both
brief by call can choose come could create did do does during each every everyone few find first for from get give go good
great had has have help her here his how introduction is it's just keep last let let's like long look make may maybe more my
never next no not now of often on once one only or other our out over own part people please remember see she should such
take tell than thank that that's their then there's think to today together too two up use very was way we we're welcome
well were what where which who whose why will with without work would you your
"""
_AFTER_A_NUMBER = """
abreast business commodities corrections credit dividend financing insider international leisure letters notable review who
"""
ABBREVIATIONS, STARTERS = frozenset(_ABBREVIATIONS.split()), frozenset(_STARTERS.split())
COMMON = STARTERS.union(_COMMON.split())
AFTER_A_NUMBER = frozenset(_AFTER_A_NUMBER.split())  # words that follow a number and a full stop within a sentence
_CLOSING = re.compile(r"""["')\]}]+(?:\s+|$|(?=--))""")
_END = re.compile(r"[.?!](?=[)\";}\]*:@'({\[?!])|[.?!]$")
_CHUNK = re.compile(r"\S+")
_TOKEN = re.compile(
    r"""-{2,}|\.{2,}
    |[^("`{\[:;&\#*@)}\]\-,\s]\S*?(?=$|[)";}\]*:@'({\[?!]|-{2,}|\.{2,}|,(?:$|[)";}\]*:@'({\[?!]|-{2,}|\.{2,}))
    |\S""",
    re.VERBOSE,
)
_NUMBER = re.compile(r"-?[.,]?\d[\d,.-]*\.?$")
_INITIAL = re.compile(r"[^\W\d]\.$")


def count_sentences(text: str) -> int:
    """The number of sentences; 0 for a text of white space."""
    end = len(text.rstrip())
    count, start = 0, len(text) - len(text.lstrip())
    known = COMMON.union(re.findall(r"\b[a-z][\w'’]*", text))
    for stop, after in _breaks(text, known):
        if start >= stop:  # closing marks that were counted with the sentence before
            continue
        count, start = count + 1, after
        closing = _CLOSING.match(text, start)
        if closing:
            start = closing.end()
    return count + (start < end)


def _breaks(text: str, known: Collection[str]) -> Iterator[tuple[int, int]]:
    """(end of a sentence, begin of the next), at most once in a run of characters without white space.

    known: words that are written in lower case.
    """
    chunks = [*_CHUNK.finditer(text), None]
    for chunk, following in pairwise(chunks):
        assert chunk is not None
        marks = [mark.start() for mark in _END.finditer(chunk[0])]
        if following is None and marks and marks[-1] == len(chunk[0]) - 1:
            marks.pop()  # nothing follows
        if not marks:
            continue
        at = marks[-1] + 1
        inside = at < len(chunk[0])
        tokens = _TOKEN.findall(chunk[0][: at + 1])
        if not inside and following is not None:
            tokens += _TOKEN.findall(following[0])
        if any(_ends(token, after, known) for token, after in pairwise(tokens)):
            stop = chunk.start() + at
            yield stop, stop if inside or following is None else following.start()


def _ends(token: str, following: str, known: Collection[str]) -> bool:
    """Whether a token ends a sentence, given the next token."""
    if token in ("?", "!", "."):
        return True
    if not token.endswith("."):
        return False
    upper, after = following[0].isupper(), following.lower().rstrip(".")
    starts = upper and after in STARTERS
    if token.endswith(".."):
        return starts
    word = token[:-1].lower()
    number, initial = bool(_NUMBER.match(token)), bool(_INITIAL.match(token))
    if word in ABBREVIATIONS or word.rpartition("-")[2] in ABBREVIATIONS:
        return starts and not initial
    if number and after in AFTER_A_NUMBER or initial and upper and after not in known:
        return False
    if number or initial:
        return not (following[0].islower() or following[0] in ";:,.!?")
    return True
