"""The matches of a regular expression; one whose time could explode is searched in a process that can be ended.

A task states its patterns, and Python's `re` can take any time for one: "^(a+)+$" never ends on 40 characters. Before a search
the ways in which the pattern could match are counted from its parts. Few: it is searched here. Many: it is searched by a child
process, which serves all later searches too and has SECONDS of CPU time for each. A search that takes longer fails its document,
so no number depends on the machine.

This file is also the program of the child process, so it imports nothing of mm_eval at its top.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

MOST_STEPS = 10_000_000
"""A search that could take more steps runs in the child process."""
SECONDS = 2
"""CPU time that the child has for one search."""
_MOST_FAILED = 1000
_CAP = 10**18
_ALTERNATIVE_OR_BACKREFERENCE = re.compile(r"\||\\[1-9]|\(\?P=|\(\?\(")


@dataclass(frozen=True, slots=True)
class Found:
    """A match: where it and each of its groups begin and end, -1 for a group without one."""

    text: str
    spans: Sequence[Sequence[int]]

    def span(self) -> tuple[int, int]:
        return self.spans[0][0], self.spans[0][1]

    def start(self) -> int:
        return self.spans[0][0]

    def end(self) -> int:
        return self.spans[0][1]

    def group(self, number: int = 0) -> str | None:
        start, end = self.spans[number]
        return None if start < 0 else self.text[start:end]

    def groups(self) -> tuple[str | None, ...]:
        return tuple(self.group(number) for number in range(1, len(self.spans)))


def search(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str] | Found]:
    """The matches of `pattern.finditer(text)`. Raises ScoringError where the child process had to be ended."""
    if steps(pattern.pattern, pattern.flags, len(text)) <= MOST_STEPS:
        return matches(pattern, text)
    return iter([Found(text, spans) for spans in _CHILD.search(pattern, text)])


def matches(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """The matches of `pattern.finditer(text)`, in linear time also for a pattern that begins with `.*`.

    If such a pattern does not match at one place, it matches at no later place of that line (of the whole text with `(?s)`).
    `re` tries each of them nevertheless, which takes minutes for "(?s).*#### " and 200,000 digits.
    """
    if not _leads_with_any(pattern.pattern):
        yield from pattern.finditer(text)
        return
    place = 0
    while place <= len(text):
        found = pattern.match(text, place)
        if found is None:
            newline = -1 if pattern.flags & re.DOTALL else text.find("\n", place)
            if newline < 0:
                return
            place = newline + 1
        elif found.end() == place:  # an empty match, so there is one at every place
            yield from pattern.finditer(text, place)
            return
        else:
            yield found
            place = found.end()


@lru_cache(maxsize=256)
def _leads_with_any(pattern: str) -> bool:
    """Whether a pattern begins with `.*` or `.+`, perhaps in a group, which it must pass: not "(.*is )?([A-D])"."""
    if _ALTERNATIVE_OR_BACKREFERENCE.search(pattern):
        return False
    try:
        from re import _parser  # type: ignore[attr-defined]

        parts = _parser.parse(pattern)
        while str(parts[0][0]) == "SUBPATTERN" and parts[0][1][1:3] == (0, 0):  # a group without flags of its own
            parts = parts[0][1][-1]
        name, value = parts[0]
        repeated = str(name) in ("MAX_REPEAT", "MIN_REPEAT") and value[0] < 2 and value[1] == _parser.MAXREPEAT
        return bool(repeated and [str(kind) for kind, _ in value[2]] == ["ANY"])
    except Exception:  # an empty pattern, or another parser than this Python's
        return False


@lru_cache(maxsize=4096)
def steps(pattern: str, flags: int, length: int) -> int:
    """At most so many steps does a search take in a text of this length; a bound, and often far above what it takes.

    >>> steps("(\\\\d+)", 32, 10), steps("^(a+)+$", 32, 40) > MOST_STEPS
    (121, True)
    """
    try:
        from re import _parser  # type: ignore[attr-defined]

        return min(_CAP, (length + 1) * _ways(_parser.parse(pattern, flags), length))
    except Exception:  # the parser is not a public part of Python: what can't be judged runs in the child
        return _CAP


def _ways(parts: Any, length: int) -> int:
    """In how many ways a part of a pattern can match at one place, as far as `re` might try them."""
    ways = 1
    for operation, value in parts:
        name = str(operation)
        if name.endswith("REPEAT"):
            least, most, repeated = value
            times = max(min(int(most), length) - least, 0) + 1
            inner, (narrow, wide) = _ways(repeated, length), repeated.getwidth()
            plain = inner == 1 and narrow == wide > 0
            ways *= times if plain else max(inner, 2) ** min(int(most), length, 60)
        elif name == "SUBPATTERN":
            ways *= _ways(value[-1], length)
        elif name == "BRANCH":
            ways *= sum(_ways(branch, length) for branch in value[1])
        elif name in ("ASSERT", "ASSERT_NOT"):
            ways *= _ways(value[1], length)
        elif name == "ATOMIC_GROUP":
            ways *= _ways(value, length)
        elif name == "GROUPREF_EXISTS":
            ways *= sum(_ways(branch, length) for branch in value[1:] if branch)
        elif name == "GROUPREF":
            ways *= length + 1
        if ways > _CAP:
            return _CAP
    return ways


class _Child:
    """A process that searches, one text after the other. It is started at the first search, and again after it was ended."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        self.owner = 0
        self.failed: dict[tuple[str, int, str], None] = {}

    def search(self, pattern: re.Pattern[str], text: str) -> list[list[list[int]]]:
        """The spans of all matches and their groups."""
        key = pattern.pattern, pattern.flags, text
        with self.lock:
            line = b"" if key in self.failed else self._ask(pattern, text)
            if not line:
                self.failed[key] = None  # a document is filtered again alone after one beside it has failed
                while len(self.failed) > _MOST_FAILED:
                    del self.failed[next(iter(self.failed))]
        if line:
            found: list[list[list[int]]] = json.loads(line)
            return found
        from mm_eval.values.errors import ScoringError

        raise ScoringError(
            f"the regular expression {pattern.pattern!r:.200} was ended after {SECONDS} s of CPU time on a text of "
            f"{len(text):,} characters.",
            hint="It tries too many ways to match: avoid a repetition within a repetition, such as (a+)+.",
        )

    def _ask(self, pattern: re.Pattern[str], text: str) -> bytes:
        """The child's reply; empty where it was ended."""
        process = self._running()
        assert process.stdin and process.stdout
        try:
            process.stdin.write(json.dumps([pattern.pattern, pattern.flags, text]).encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            line = b""
        if not line.endswith(b"\n"):
            process.kill()
            process.wait()
            self.process = None
            return b""
        return line

    def _running(self) -> subprocess.Popen[bytes]:
        if self.process is None or self.owner != os.getpid() or self.process.poll() is not None:
            self.owner = os.getpid()  # a process that was forked has a child of its own
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-S", __file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        return self.process


_CHILD = _Child()


def _serve() -> None:
    """Reads searches from standard input until it ends; each has SECONDS of CPU time before the system ends this process."""
    import resource

    for line in sys.stdin.buffer:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        limit = int(usage.ru_utime + usage.ru_stime) + 1 + SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (limit if hard < 0 else min(limit, hard), hard))
        pattern, flags, text = json.loads(line)
        compiled = re.compile(pattern, flags)
        spans = [[match.span(n) for n in range(compiled.groups + 1)] for match in matches(compiled, text)]
        sys.stdout.write(json.dumps(spans) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
