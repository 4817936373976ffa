r"""LaTeX as the text that it looks like: \frac{a}{b} is a/b, \alpha is α, \mathbb{R} is ℝ.

A mirror of `LatexNodes2Text().latex_to_text` of pylatexenc 3.0a30, the version that OmniDocBench 1.5 pins. commands.tsv says what
it does to 1,000 commands. Its ways with mistakes are kept: a brace too many makes the whole text empty, and one that is not
closed what follows it. Commands of whole documents (sections, titles, \item, \verb, \today) are not mirrored; they are left out.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

SPECIALS = {"---": "—", "--": "–", "``": "“", "''": "”", "!`": "¡", "?`": "¿", "~": "\N{NO-BREAK SPACE}", "&": "   "}
MATH = {"$$": "$$", r"\(": r"\)", r"\[": r"\]", "$": "$"}
MATH_TOKENS = ("$$", r"\(", r"\)", r"\[", r"\]", "$")
ENVIRONMENT = re.compile(r"\s*\{([A-Za-z0-9*._ :/!^()\[\]-]+)\}")
ARGUMENTS = {
    **dict.fromkeys(("figure", "figure*", "table", "table*", "enumerate", "itemize", "description", "proof"), "["),
    **dict.fromkeys(("theorem", "proposition", "lemma", "corollary", "definition", "conjecture", "remark"), "["),
    **dict.fromkeys(("thm", "prop", "lem", "cor", "conj", "rem", "defn"), "["),
    **dict.fromkeys(("tabular", "alignat", "alignat*"), "{"),
    "tabular*": "{{",
    "tabularx": "{[{",
    "array": "[{",
}
"""Arguments of environments: [ is optional."""
MATRICES = frozenset(("array", "pmatrix", "bmatrix", "smallmatrix", "psmallmatrix", "bsmallmatrix"))
EQUATIONS = frozenset(("equation", "eqnarray", "align", "multline", "gather", "dmath"))
STYLES = {  # the letters A and a, and letters that stand elsewhere in Unicode
    "bold": (0x1D400, 0x1D41A, {}),
    "italic": (0x1D434, 0x1D44E, {"h": "ℎ"}),
    "script": (0x1D49C, 0x1D4B6, dict(zip("BEFHILMRego", "ℬℰℱℋℐℒℳℛℯℊℴ", strict=True))),
    "fraktur": (0x1D504, 0x1D51E, dict(zip("CHIRZ", "ℭℌℑℜℨ", strict=True))),
    "doublestruck": (0x1D538, 0x1D552, dict(zip("CHNPQRZ", "ℂℍℕℙℚℝℤ", strict=True))),
    "sans": (0x1D5A0, 0x1D5BA, {}),
    "monospace": (0x1D670, 0x1D68A, {}),
}


class State(NamedTuple):
    """What a token may be. square: [ and ] are braces. close: what ends the formula, "" outside formulas."""

    square: bool = False
    close: str = ""


class Token(NamedTuple):
    """kind: char, special, math, macro, begin, end, comment, open or shut. space: in front. after: blanks at its end."""

    kind: str
    text: str
    start: int
    end: int
    space: str = ""
    after: str = ""


class Node(NamedTuple):
    """kind: chars, special, comment, group, macro, environment or math. text: the characters or the name.

    parts: what is in it; None if it could not be read. arguments: of a macro. after: the blanks behind a macro or comment.
    """

    kind: str
    text: str = ""
    parts: list[Node] | None = None
    arguments: Sequence[Node | None] = ()
    after: str = ""


class End(Exception):
    """There is no further token. Its argument: the blanks at the end."""


class Unreadable(Exception):
    """pylatexenc ends with an error."""


@cache
def commands() -> dict[str, tuple[str, str]]:
    r"""For each command its arguments and what becomes of it.

    Arguments: { is one, t one in text, m one in a formula, [ and ! are optional (! without blanks in front), * is a star.
    What becomes of it: - nothing, + its arguments, = a text with %s for them, or an accent or a style of its argument.
    """
    text = Path(__file__).with_name("commands.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.split("\n") if line)
    return {name: (arguments, what.replace(r"\n", "\n").replace(r"\\", "\\")) for name, arguments, what in rows}


@lru_cache(maxsize=4096)
def as_text(latex: str) -> str | None:
    """The text; None where pylatexenc ends with an error."""
    try:
        return shown(Reader(latex).nodes(State(), State()), False)
    except (Unreadable, RecursionError):
        return None


# Reading


class Reader:
    """Reads a text into nodes."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def token(self, state: State, environments: bool = True) -> Token:
        """The next token, which is passed. End if there is none."""
        token = self.peek(state, environments)
        self.at = token.end
        return token

    def peek(self, state: State, environments: bool = True) -> Token:
        """The next token. End if there is none."""
        text, at = self.text, self.blanks(self.at)
        space = text[self.at : at]
        if space.count("\n") >= 2:
            first, last = space.index("\n"), space.rindex("\n") + 1
            return Token("special", "\n\n", self.at + first, self.at + last, space[:first])
        if at >= len(text):
            raise End(space)
        if text[at] in "$\\":
            for mark in (state.close, *MATH_TOKENS):
                if mark and text.startswith(mark, at):
                    return Token("math", mark, at, at + len(mark), space)
        if text[at] == "\\":
            for word in ("begin", "end") if environments else ():
                end = at + 1 + len(word)
                if text.startswith(word, at + 1) and not _is_letter(text[end : end + 1]):
                    if name := ENVIRONMENT.match(text, end):
                        return Token(word, name[1], at, name.end(), space)
                    return Token("char", "\\" + word, at, end, space)
            return self.macro(at, space)
        if text[at] == "%":
            end = text.find("\n", at)
            after = self.after(end) if end >= 0 else ""
            return Token("comment", "", at, end + len(after) if end >= 0 else len(text), space, after)
        if text[at] in ("{[" if state.square else "{"):
            return Token("open", text[at], at, at + 1, space)
        if text[at] in ("}]" if state.square else "}"):
            return Token("shut", text[at], at, at + 1, space)
        for special in SPECIALS:
            if text.startswith(special, at):
                return Token("special", special, at, at + len(special), space)
        return Token("char", text[at], at, at + 1, space)

    def macro(self, at: int, space: str) -> Token:
        """A command: letters with the blanks behind them, or one other character."""
        end = at + 2
        if end > len(self.text):
            raise Unreadable
        after = ""
        if _is_letter(self.text[at + 1]):
            while _is_letter(self.text[end : end + 1]):
                end += 1
            after = self.after(end)
        return Token("macro", self.text[at + 1 : end], at, end + len(after), space, after)

    def blanks(self, at: int) -> int:
        """Where the blanks from a place on end."""
        while at < len(self.text) and self.text[at].isspace():
            at += 1
        return at

    def after(self, at: int) -> str:
        """The blanks from a place on, up to a paragraph's end."""
        space = self.text[at : self.blanks(at)]
        return space[: space.index("\n")] if space.count("\n") >= 2 else space

    def nodes(self, state: State, inner: State, kind: str = "", mark: str = "") -> list[Node] | None:
        """The nodes up to a token of this kind and text, which is passed; up to the end without one. None after a mistake.

        inner: the state of what is inside macros, environments and other groups.
        """
        found: list[Node] = []
        chars = ""
        while True:
            try:
                token = self.token(state)
            except End as ended:
                chars += ended.args[0]
                self.at = len(self.text)
                return None if kind else [*found, *_chars(chars)]
            chars += token.space
            if token.kind == kind and token.text == mark:
                return [*found, *_chars(chars)]
            if token.kind == "char":
                chars += token.text
                continue
            found += _chars(chars)
            chars = ""
            if token.kind in ("shut", "end") or token.kind == "math" and token.text not in MATH:
                return None
            found.append(self.node(token, state, inner))

    def node(self, token: Token, state: State, inner: State) -> Node:
        """The node that begins with a token, which is passed."""
        if token.kind == "comment":
            return Node("comment", after=token.after)
        if token.kind == "open":
            return self.group(token.text, state if token.text == "[" else inner)
        if token.kind == "macro":
            return Node("macro", token.text, None, self.arguments(_arguments_of(token.text), inner), token.after)
        if token.kind == "begin":
            self.arguments(ARGUMENTS.get(token.text, ""), inner)
            return Node("environment", token.text, self.nodes(inner, inner, "end", token.text) or [])
        if token.kind == "math":
            within = State(inner.square, MATH[token.text])
            display = "display" if token.text in ("$$", r"\[") else ""
            return Node("math", display, self.nodes(within, within, "math", within.close))
        return Node("special", token.text)

    def group(self, opening: str, state: State) -> Node:
        """The group behind an opening brace, which is passed."""
        if opening == "[":
            return Node(
                "group", parts=self.nodes(state._replace(square=True), state._replace(square=False), "shut", "]")
            )
        return Node("group", parts=self.nodes(state, state, "shut", "}"))

    def arguments(self, kinds: str, state: State) -> list[Node | None]:
        """The arguments of a command."""
        found: list[Node | None] = []
        for kind in kinds:
            try:
                token = self.peek(state)
                if token.kind == "char" and len(token.text) > 1:
                    self.at = token.end  # a `\\begin` without a name is lost
                if kind in "[!":
                    found.append(self.optional(state, kind == "["))
                elif kind == "*":
                    found.append(self.star(state))
                else:
                    found.append(self.expression(state._replace(close="") if kind in "tm" else state))
            except End:
                found.append(None)
        return found

    def optional(self, state: State, blanks: bool) -> Node | None:
        """What is in square brackets, if they are there."""
        token = self.peek(state._replace(square=True))
        if token.kind != "open" or token.text != "[" or (token.space and not blanks):
            return None
        self.at = token.end
        return self.group("[", state)

    def star(self, state: State) -> Node | None:
        """A star, if it is there."""
        token = self.peek(state)
        if token.kind != "char" or token.text != "*":
            return None
        self.at = token.end
        return Node("chars", "*")

    def expression(self, state: State) -> Node | None:
        """A group, a command without arguments, or a character; None for a closing brace."""
        last = Node("group", parts=[])
        while True:
            try:
                token = self.token(state, environments=False)
            except End:
                return last
            if token.kind == "macro":
                return Node("macro", token.text)
            if token.kind == "special":
                return Node("special", token.text)
            if token.space:
                self.at = token.start
                last = Node("chars", token.space)
            elif token.kind == "comment":
                last = Node("comment", after=token.after)
            elif token.kind == "open":
                return self.group(token.text, state)
            elif token.kind == "char":
                return Node("chars", token.text)
            elif token.kind == "shut":
                self.at = token.start
                return None
            else:
                raise Unreadable  # a formula


def _is_letter(character: str) -> bool:
    return character.isascii() and character.isalpha()


def _chars(text: str) -> list[Node]:
    return [Node("chars", text)] if text else []


def _arguments_of(name: str) -> str:
    return commands().get(name, ("", ""))[0]


# Showing


def shown(nodes: Sequence[Node | None] | None, equation: bool) -> str:
    """The text of nodes. equation: blanks alone are left out, those between a command and a text are not."""
    found: list[str] = []
    last: Node | None = None
    for node in nodes or ():
        if node is not None and node.kind == "chars":
            if equation and last is not None and last.kind == "macro" and not last.arguments:
                found.append(last.after)
            if not equation or node.text.strip():
                found.append(node.text)
        elif node is not None:
            found.append(_shown(node, equation))
        last = node
    return "".join(found)


def _shown(node: Node, equation: bool) -> str:
    if node.kind == "macro":
        return _macro(node, equation)
    if node.kind == "special":
        return SPECIALS.get(node.text, node.text)
    if node.kind == "comment":
        return node.after
    if node.kind == "math":
        content = shown(node.parts, True).strip()
        return _display(content) if node.text else content
    if node.kind == "environment":
        if node.text in MATRICES:
            return _matrix(node.parts or [], equation)
        if node.text.removesuffix("*") in EQUATIONS:
            return _display(shown(node.parts, True).strip())
        content = shown(node.parts, equation)
        return f"\n{content}\n" if node.text in ("center", "flushleft", "flushright") else content
    return shown(node.parts, equation)


def _display(content: str) -> str:
    return "\n    " + content.replace("\n", "\n    ") + "\n"


def _matrix(nodes: Sequence[Node], equation: bool) -> str:
    rows: list[list[str]] = [[]]
    cell: list[Node] = []

    def end_of_cell() -> None:
        if cell:
            rows[-1].append(shown(cell, equation).strip())
        cell.clear()

    for node in nodes:
        if (node.kind, node.text) in (("special", "&"), ("macro", "\\")):
            end_of_cell()
            rows += [[]] if node.kind == "macro" else []
        else:
            cell.append(node)
    end_of_cell()
    if not any(rows):
        raise Unreadable
    width = max(len(text) for row in rows for text in row)
    return "[ " + "; ".join(" ".join(text.rjust(width) for text in row) for row in rows) + " ]"


def _macro(node: Node, equation: bool) -> str:
    kinds, what = commands().get(node.text, ("", "-"))
    if what == "-" or what[0] == "=" and ("%" not in what or what == "=%"):
        return what[1:]
    given = [shown([argument], equation) for argument in node.arguments]
    if what == "+":
        return "".join(given)
    if what.startswith("accent "):
        letters = (given[0].strip() if given else " ").translate({0x131: "i", 0x237: "j"})
        return "".join(unicodedata.normalize("NFC", letter + what[-1]) for letter in letters)
    if what.startswith("style "):
        return "".join(_styled(letter, what.removeprefix("style ")) for letter in (given[0] if given else ""))
    text, given = what[1:], [*given, *[""] * (len(kinds) - len(given))]
    try:
        return text % (tuple(given) if "%s" in text else {str(at): each for at, each in enumerate(given, 1)})
    except (TypeError, ValueError, KeyError):
        return text


def _styled(letter: str, style: str) -> str:
    capital, small, others = STYLES[style]
    if letter in others:
        return others[letter]
    if not _is_letter(letter):
        return letter
    return chr(capital + ord(letter) - ord("A") if letter.isupper() else small + ord(letter) - ord("a"))
