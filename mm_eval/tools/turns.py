"""The turns of a task with tools (`Turns`): the model calls, gets the results, and goes on until it answers.

The rules, in this order:

- An answer without a call is the last one. So is a framed answer (`<answer>`, `\\boxed`) beside a call, which is dropped.
- After the last of its rounds a document has no answer. What stands beside a call is none: it was written before the result.
- After the first turn in which no call can be read, the model is told how to write one. The second such turn ends the document
  without an answer.
- All calls of a turn are made, in their order. A call that was made before is not made again; its result says so. Code is run
  again: what it returns depends on what ran before it.
- Calls beyond the limit, of unknown tools, or with wrong arguments are errors that the model reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mm_eval.config.task_config import TaskConfig
from mm_eval.config.tools import PYTHON, ToolsConfig
from mm_eval.engine.journal import Journal, JournalState
from mm_eval.engine.model import ModelFacts
from mm_eval.engine.tool_records import ToolFiles, ToolRecord
from mm_eval.open_tasks import OpenedTasks
from mm_eval.sandbox.pool import Pool
from mm_eval.sandbox.walls import Sandbox
from mm_eval.tools.boxes import resized
from mm_eval.tools.built_in import tools_in
from mm_eval.tools.calls import ERROR, UNREADABLE, Said, said_in, signature
from mm_eval.tools.formats import fenced
from mm_eval.tools.formats.as_text import announced
from mm_eval.tools.formats.call import Broken, Call, Found
from mm_eval.tools.formats.table import FORMATS, Family, Format, family_of
from mm_eval.tools.python import Call as PythonCall
from mm_eval.tools.python import PythonCalls, interpreters
from mm_eval.tools.tool import Given, Limits, Result, Tool, ToolError, brief, check_arguments, harmless
from mm_eval.values.conversation import Conversation
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import CALL_FORMAT, Answer, End, Instance, Message, Slot

if TYPE_CHECKING:
    from PIL.Image import Image

NO_ANSWER = "no answer"
"""Why a conversation ended: its rounds were spent."""
MALFORMED = "malformed calls"
"""The same: two turns whose calls can't be read."""
LAST = "This was the last result: answer the question now."
FITS = ("factor", "min_pixels", "max_pixels")
"""Names of `ModelFacts.fits`."""
DEFAULT = "hermes"
"""The format for a model of an unknown family."""


@dataclass(frozen=True)
class ToolTurns:
    """The turns of one task under one model.

    form: the name of the format of calls. unit: of boxes. resized: (factor, fewest, most pixels), for boxes in the picture that
    the model sees. native: the model takes `tools` and messages with calls, so that nothing is written as text.
    known: the format is the family's, or stated. python: the calls of code; None where the task offers none.
    """

    tools: tuple[Tool, ...]
    limits: Limits = Limits()
    rounds: int = 10
    form: str = DEFAULT
    unit: str = "per_mille"
    resized: tuple[int, int, int] | None = None
    native: bool = False
    known: bool = True
    fresh: bool = False
    ends_when_full: bool = True
    python: PythonCalls | None = field(default=None, compare=False)

    @classmethod
    def of_task(cls, config: TaskConfig, facts: ModelFacts) -> ToolTurns | None:
        """The turns of a resolved config; None for a task without tools.

        A model of an unknown family gets `DEFAULT`, which its prompt describes.

        Errors: ConfigError where boxes are to be in pixels of the resized picture, and its size is not known.
        """
        if (found := config.tools) is None:
            return None
        family = family_of([facts.name, *facts.prompt_keys])
        form = found.format or (family.format if family else DEFAULT)
        unit = found.boxes or (family.unit if family else "per_mille")
        shown = _resized(family, facts) if unit == "resized" else None
        if unit == "resized" and shown is None:
            hint = "Choose another unit; models of the family of Qwen2.5-VL have this one."
            raise ConfigError(
                f"the size at which {facts.name!r} sees a picture is not known.", where=found.where, hint=hint
            )
        known = {} if found.format or family else {"known": False}
        native = facts.takes_tools and FORMATS[form].fence is None
        return cls._made(found, {**known, "format": form, "boxes": unit, "resized": shown, "native": native})

    @classmethod
    def recorded(cls, config: TaskConfig, stated: Mapping[str, object]) -> ToolTurns | None:
        """The same of a recorded run."""
        return None if config.tools is None else cls._made(config.tools, stated)

    @classmethod
    def _made(cls, found: ToolsConfig, stated: Mapping[str, Any]) -> ToolTurns:
        shown, form = stated.get("resized"), str(stated.get("format") or DEFAULT)
        fence = FORMATS[form].fence
        prelude = fence.prelude if fence is not None else None
        return cls(
            tools_in(found),
            Limits(found.calls, found.edge),
            found.rounds,
            form,
            str(stated.get("boxes") or "per_mille"),
            tuple(shown) if shown else None,
            bool(stated.get("native")),
            bool(stated.get("known", True)),
            python=PythonCalls(found.pictures, found.characters, found.edge, prelude) if found.runs_code else None,
        )

    def to_json(self) -> Mapping[str, Any]:
        shown = {"resized": list(self.resized)} if self.resized else {}
        others = {"native": True} if self.native else {}
        return {"format": self.form, "boxes": self.unit, **shown, **others, **({} if self.known else {"known": False})}

    @property
    def most(self) -> Mapping[str, int]:
        return {"calls": self.limits.calls, "rounds": self.rounds}

    @cached_property
    def by_name(self) -> dict[str, Tool]:
        """The tools by the name that models call, and by their own."""
        return {**{tool.key: tool for tool in self.tools}, **{tool.name: tool for tool in self.tools}}

    @cached_property
    def schemas(self) -> dict[str, Mapping[str, Any]]:
        """{name: the schema of its arguments}."""
        return {name: tool.parameters(self.unit) for name, tool in self.by_name.items()}

    @property
    def keys(self) -> dict[str, str]:
        """{name that models call: name in the task file}."""
        return {name: tool.key for name, tool in self.by_name.items()}

    @property
    def declared(self) -> tuple[dict[str, Any], ...]:
        """The tools as servers and chat templates take them."""
        return tuple(tool.schema(self.unit) for tool in self.tools)

    @property
    def format(self) -> Format:
        return FORMATS[self.form]

    @property
    def has_fences(self) -> bool:
        """Whether code in a fenced block is a call."""
        return self.python is not None and self.format.fence is not None

    def begin(self, instance: Instance) -> Instance:
        """The first request, which announces the tools: in its field, or at the end of the system turn."""
        instance.runs_code = self.python is not None
        if self.has_fences:  # what follows would be a result that the model makes up
            until = [*(instance.generation_kwargs.get("until") or ()), fenced.CLOSING]
            instance = replace(instance, generation_kwargs={**instance.generation_kwargs, "until": until})
            instance.runs_code = True
        if self.native and not isinstance(instance.context, str):
            known = {CALL_FORMAT: self.form} if self.known else {}
            return replace(instance, tools=self.declared, metadata={**instance.metadata, **known})
        return replace(instance, context=announced(instance.context, self.format.announce(self.declared)))

    def said(self, answers: Sequence[Answer]) -> Message:
        """The last answer without its reasoning. With calls that the model's own template writes, where it takes them.

        An answer with code in a fenced block is whole: the reasoning before it is part of the form.
        """
        last = self._read(answers[-1])
        if self.has_fences and last.calls:
            return {"role": "assistant", "content": _text(fenced.closed(f"{last.reasoning}{last.text}".strip()))}
        if not (self.native and last.calls):
            return {"role": "assistant", "content": _text(last.text.strip())}
        said = [*map(self._read, answers[:-1]), last]
        calls = [
            {"id": ident, "type": "function", "function": {"name": named(call), "arguments": dict(call.arguments)}}
            for ident, call in zip(self._idents(said), last.calls, strict=True)
        ]
        return {"role": "assistant", "content": _text(last.reading.before), "tool_calls": calls}

    def next(self, conversation: Conversation) -> Sequence[Message] | End:
        found = self._next(conversation)
        if self.python is not None and isinstance(found, End):
            self.python.end(conversation)
        return found

    def _next(self, conversation: Conversation) -> Sequence[Message] | End:
        said = list(map(self._read, conversation.answers))
        last = said[-1]
        if not last.closed or not last.reading.calls:
            return End()
        if last.is_answer:
            return End(output=last.beside, ended="stop")
        if len(said) >= self.rounds:
            return End(output="", ended="tool", why=NO_ANSWER)
        if not last.calls and any(each.broken and not each.calls for each in said[:-1]):
            return End(output="", ended="tool", why=MALFORMED)
        shown = sum(conversation.shown) - conversation.of_examples
        return self._messages(said, self._results(said, conversation), shown, len(said) + 1 == self.rounds)

    def _read(self, answer: Answer) -> Said:
        return said_in(answer, self.schemas, with_fences=self.has_fences)

    def _idents(self, said: Sequence[Said]) -> list[str]:
        """A name for each call of the last answer that no call of the conversation has: the model's own where there is one.

        Others have nine letters and digits, as Mistral's servers ask for; those of Kimi are part of its prompt.
        """
        taken, found = set[str](), list[str]()
        for answer in said:
            found = []
            for call in answer.calls:
                own = f"functions.{named(call)}:{len(taken)}" if self.form == "kimi" else f"call{len(taken):05d}"
                ident = call.ident if call.ident and call.ident not in taken else own
                while ident in taken:
                    ident += "x"
                taken.add(ident)
                found.append(ident)
        return found

    def _results(self, said: Sequence[Said], conversation: Conversation) -> list[Result]:
        """The result of each call of the last answer, those that can't be read included."""
        before = [call for each in said[:-1] for call in each.calls]
        made, count = {signature(call) for call in before}, len(before)
        pictures: list[Image] | None = None
        results = []
        code, run = self._code_in(said), len(self._code_in(said[:-1]))
        for each in said[-1].reading.calls:
            if isinstance(each, Broken):
                what = f"{UNREADABLE}{harmless(each.why)} {self._form_of_calls()}"
                results.append(Result(what.strip(), failed=True))
                continue
            count += 1
            if each.name not in self.by_name:
                names = ", ".join(tool.name for tool in self.tools)
                results.append(Result(f"{ERROR}there is no tool {brief(each.name)}. Tools are {names}.", failed=True))
            elif signature(each) in made and self.by_name[each.name].key != PYTHON:
                results.append(Result("This call was made before: its result stands above."))
            elif count > self.limits.calls:
                what = f"{ERROR}only {self.limits.calls} calls are allowed. Answer the question now."
                results.append(Result(what, failed=True))
            else:
                pictures = conversation.pictures()[conversation.of_examples :] if pictures is None else pictures
                if self.python is not None and self._is_code(each):
                    run += 1
                    found = self.python.result(conversation, code[:run], pictures)
                else:
                    found = self.by_name[each.name].call(each.arguments, self._given(pictures, conversation.doc))
                pictures = [*pictures, *found.pictures]
                results.append(found)
            made.add(signature(each))
        return results

    def _is_code(self, call: Call) -> bool:
        """Whether a call is one of code that is run. Arguments that are none are told to the model."""
        if self.by_name[call.name].key != PYTHON:
            return False
        try:
            check_arguments(call.arguments, self.schemas[call.name])
        except ToolError:
            return False
        return True

    def _code_in(self, said: Sequence[Said]) -> list[PythonCall]:
        """The calls of code that a conversation has run."""
        found, count = list[PythonCall](), 0
        for number, answer in enumerate(said):
            for call in answer.calls:
                count += 1
                if call.name in self.by_name and count <= self.limits.calls and self._is_code(call):
                    found.append(PythonCall(call.arguments["code"], number, len(found)))
        return found

    def code_of(
        self, slot: Slot, answers: Sequence[Answer], recorded: Mapping[str, ToolRecord]
    ) -> list[tuple[int, ToolRecord]]:
        """(number of the answer that made it, the call) of a conversation's recorded calls of code, in their order."""
        if self.python is None or not recorded:
            return []
        calls = self._code_in([self._read(answer) for answer in answers])
        keys = self.python.keys((slot.task, slot.doc_id, slot.repeat), answers, calls)
        return [(call.answer, recorded[key]) for call, key in zip(calls, keys, strict=True) if key in recorded]

    def _given(self, pictures: Sequence[Image], doc: Mapping[str, object]) -> Given:
        shown_as = None
        if self.resized is not None:
            factor, least, most = self.resized
            shown_as = partial(resized, factor=factor, least=least, most=most)
        return Given(pictures, self.unit, shown_as, doc, self.limits)

    def _form_of_calls(self) -> str:
        """How a call is written, for a model that gets its tools as text."""
        if self.native:
            return ""
        tool = self.tools[0]
        required = self.schemas[tool.name].get("required", ())
        return f"Write it in this form:\n{self.format.write(Call(tool.name, dict.fromkeys(required, '...')))}"

    def _messages(self, said: Sequence[Said], results: Sequence[Result], shown: int, is_last: bool) -> list[Message]:
        """The results as messages: one for each call where the model takes such, else one of the user.

        shown: how many pictures were shown before them.
        """
        if not self.native:
            parts: list[dict[str, object]] = []
            for call, result in zip(said[-1].reading.calls, results, strict=True):
                parts += self._framed(call, result, shown)
                shown += len(result.pictures)
            return [{"role": "user", "content": [*parts, *(_text(f"\n{LAST}") if is_last else ())]}]
        messages, told = list[Message](), list[dict[str, Any]]()
        idents = iter(self._idents(said))
        for call, result in zip(said[-1].reading.calls, results, strict=True):
            if isinstance(call, Broken):
                told += _shown(result)
                continue
            own = {"role": "tool", "tool_call_id": next(idents), "name": named(call)}
            messages.append({**own, "content": _shown(result)})
        if is_last:
            told += _text(LAST)
        return [*messages, {"role": "user", "content": told}] if told else messages

    def _framed(self, call: Found, result: Result, shown: int) -> list[dict[str, object]]:
        """A result in the frame of the format. shown: how many pictures were shown before it."""
        fence = self.format.fence
        if fence is None or call.name != PYTHON:
            opening, closing = self.format.reply
            return [*_text(opening), *_shown(result), *_text(closing)]
        parts = _shown(result)
        text = [{**part, "text": fenced.harmless(part["text"])} for part in parts if part["type"] == "text"]
        pictures = [part for part in parts if part["type"] != "text"]
        return fence.result(text, pictures, result.failed, shown)


@contextmanager
def running_code(
    opened: OpenedTasks, sandbox: Sandbox, folder: Path, journal: Journal, state: JournalState, warm: int
) -> Iterator[None]:
    """Gives the tasks with `python` their interpreters. folder: of the run, where calls are recorded. warm: started ahead."""
    calls = {
        opened.tasks[name].path: style.turns.python
        for name, style in opened.styles.items()
        if isinstance(style.turns, ToolTurns) and style.turns.python is not None
    }
    with interpreters(Pool(sandbox, warm), journal, state, ToolFiles(folder)) as running:
        for path, python in calls.items():
            python.open(path, running)
        try:
            yield
        finally:
            for path, python in calls.items():
                python.open(path, None)


def _resized(family: Family | None, facts: ModelFacts) -> tuple[int, int, int] | None:
    """(factor, fewest, most pixels) of a model's processor: by what is known of the model, else its family's; None if unknown."""
    usual = dict(zip(FITS, family.resized, strict=True)) if family is not None and family.resized else {}
    known = {**usual, **facts.fits}
    return (known["factor"], known["min_pixels"], known["max_pixels"]) if known.keys() >= set(FITS) else None


def named(call: Call) -> str:
    """The name of a call as a server takes it back: a model may call a tool by any text, and servers refuse most of them."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", call.name)[:64]


def _shown(result: Result) -> list[dict[str, Any]]:
    """A result as parts of a message: its pictures, then its text, in which there are no marks of a chat."""
    pictures = [{"type": "image", "image": picture} for picture in result.pictures]
    own = result.text if result.text.startswith(UNREADABLE) else harmless(result.text)
    return [*pictures, *_text(own)] if own else pictures


def _text(text: str) -> list[dict[str, object]]:
    return [{"type": "text", "text": text}]
