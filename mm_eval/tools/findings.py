"""What `mm-eval diagnose` finds in the rows of a task with tools: loops, broken and failed calls, tools without a use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mm_eval.config.tools import PYTHON
from mm_eval.values.words import counted, of_all

NAME = "tools"
LEAST_DOCS = 20
"""Docs that a task needs before it is said that a tool has no use, or that the model seldom looks."""
LOOP = 2
"""Calls of a doc that were made before."""
MOST = 0.5
"""The share of docs without a look, or of calls that fail, from which it is a fault."""
KEPT = 20
CODE = {
    "raised": "raised an exception",
    "stopped": "met a limit",
    "ended": "ended their interpreter",
    "silent": "printed nothing",
}
"""What came of calls of code, as rows count them, in words."""

Finding = tuple[str, int, int, str, str, str, list[tuple[int, str]]]
"""(kind, docs with it, of how many, a sentence, its likely cause, what mends it, [(doc id, answer) as examples])."""


@dataclass
class _Docs:
    count: int = 0
    kept: list[tuple[int, str]] = field(default_factory=list)

    def add(self, row: Mapping[str, Any]) -> None:
        self.count += 1
        if len(self.kept) < KEPT:
            turns = next(iter(row.get("turns") or ()), None) or [{}]
            self.kept.append((row["doc_id"], str(turns[-1].get("answer") or "")))


class ToolFindings:
    """Counts the rows of one task."""

    def __init__(self) -> None:
        self._docs = 0
        self._of: dict[str, _Docs] = {}
        self._calls: Counter[str] = Counter()
        self._failed = 0
        self._with_code = 0
        self._code: Counter[str] = Counter()

    def add(self, row: Mapping[str, object]) -> None:
        """Counts a row of samples/<task>.jsonl."""
        if not isinstance(found := row.get(NAME), Mapping):
            return
        self._docs += 1
        self._failed += found["failed"]
        self._calls.update(found["by_tool"])
        holds = {
            "loop": found["repeated"] >= LOOP,
            "malformed calls": found["malformed"] > 0,
            "failed calls": found["failed"] > 0,
            "no look": not found["looked"],
            "no answer": found["unanswered"],
        }
        if isinstance(code := found.get("code"), Mapping) and found["by_tool"].get(PYTHON):
            self._with_code += 1
            holds |= {
                "stopped code": code["stopped"] + code["ended"] > 0,
                "code that raises": code["raised"] > 0,
                "silent code": code["silent"] > 0,
                "code without a picture": not code["opened"],
            }
            self._code.update({name: code[name] for name in CODE})
        holds["restored code"] = bool(found.get("restored"))
        for kind, it_does in holds.items():
            if it_does:
                self._of.setdefault(kind, _Docs()).add(row)

    def found(self) -> Iterator[Finding]:
        """The faults, as far as they are frequent enough to be one."""
        calls = self._calls.total()
        yield from self._fault(
            "loop",
            f"made a call again, {LOOP} times or more",
            "the model does not continue from a result: it may not see the picture, or it repeats itself when greedy",
        )
        yield from self._fault(
            "malformed calls",
            "wrote a call that can't be read",
            "the format of calls is not the model's own (`format` under `tools`), or the token cap cuts its calls",
        )
        if self._failed >= MOST * calls > 0:
            said = f"made calls that failed ({self._failed:,} of {calls:,} calls)"
            cause = (
                "boxes may be in another unit than the model's own (`boxes` under `tools`), or it calls unknown tools"
            )
            yield from self._fault("failed calls", said, cause)
        yield from self._fault(
            "no answer",
            "ended without an answer",
            "it calls until its rounds are spent, or in a form that can't be read",
        )
        yield from self._of_code()
        if self._docs < LEAST_DOCS:
            return
        if (silent := self._of.get("no look")) is not None and silent.count >= MOST * self._docs:
            cause = "the prompt asks for a letter at once, the model does not know tools, or the things are large enough without"
            yield from self._fault("no look", "answered without looking closer", cause)
        for tool in sorted(tool for tool, count in self._calls.items() if not count and tool != "unknown"):
            said = f"the tool {tool} was not called in any of {self._docs:,} documents"
            yield (
                "unused tool",
                self._docs,
                self._docs,
                said,
                "it has no use for these questions, or its description is unclear",
                "show",
                [],
            )

    def _of_code(self) -> Iterator[Finding]:
        """Faults of the code that was run, after a count of its calls where any of them came to nothing."""
        without = self._counted("code without a picture")
        if self._with_code and (self._code.total() or without):
            calls = counted(self._calls[PYTHON], "call")
            said = f"{of_all(self._with_code, self._docs, 'document')} ran code, in {calls}: "
            said += ", ".join(f"{self._code[name]:,} {words}" for name, words in CODE.items())
            said += f"; in {counted(without, 'document')} no code opened a picture"
            cause = "a model tries and corrects itself; frequent errors have lines of their own"
            yield "code", self._with_code, self._docs, said, cause, "show", []
        yield from self._fault(
            "restored code",
            "continued after an interruption, and code gave other results when it was run again",
            "the code depends on time, chance or what lay in memory; the model was shown what is recorded",
        )
        limits = "it searches too long, or a limit is too low (`--sandbox_args`)"
        yield from self._fault("stopped code", "ran code that a limit stopped or ended", limits)
        if self._counted("code that raises") >= MOST * self._with_code > 0:
            cause = "the model takes other libraries or names of files for granted than the tool's description says"
            yield from self._fault("code that raises", "ran code that raised an exception", cause)
        if self._counted("silent code") >= MOST * self._with_code > 0:
            cause = "the model takes it for a file that is run: it does not print, and its last line has no value"
            yield from self._fault("silent code", "ran code that printed nothing", cause)
        if self._counted("code without a picture") >= MOST * self._with_code > 0:
            cause = "the model computes with what it has seen, and does not look at the picture by code"
            yield from self._fault("code without a picture", "ran code that opened no picture", cause)

    def _counted(self, kind: str) -> int:
        return docs.count if (docs := self._of.get(kind)) is not None else 0

    def _fault(self, kind: str, said: str, cause: str) -> Iterator[Finding]:
        if (docs := self._of.get(kind)) is not None:
            whose = of_all(docs.count, self._docs, "document")
            yield kind, docs.count, self._docs, f"{whose} {said}", cause, "show", docs.kept
