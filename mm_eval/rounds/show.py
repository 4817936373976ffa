"""`mm-eval show TASK --turns`: a whole conversation with a scripted model. No weights are loaded and nothing is requested."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace

from mm_eval.cli.say import say, say_lines
from mm_eval.prepare import Prepared
from mm_eval.values.conversation import Turns
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import Answer, End, Instance, Message, mark_of
from mm_eval.values.words import counted

RULE = "-" * 40


def show_turns(args: argparse.Namespace, prepared: Prepared) -> None:
    """Prints each turn of one doc's conversation: what is said, its pictures with sizes, and the scripted answer.

    Errors: ConfigError for a task of one turn; the error of a turn that can't be made.
    """
    for name, task in prepared.tasks.items():
        turns = prepared.styles[name].turns
        if turns is None:
            hint = "`rounds` or `tools` in a task file makes a conversation."
            raise ConfigError(f"{name} asks one question per document.", where="--turns", hint=hint)
        say(f"task: {task.config.row_name}   doc: {args.doc}   the answers are scripted, no model is asked")
        first = next(iter(task.instances([args.doc], prepared.styles[name])))
        _show_chain(first, _script(args.turns, turns))


def _script(given: list[str], turns: Turns) -> Callable[[Instance], str]:
    """What the model answers to a turn: as given, then as its kind of turns says it may, then a text that names the turn."""
    example: Callable[[Instance], str | None] = getattr(turns, "example", lambda instance: None)

    def answer(instance: Instance) -> str:
        if instance.turn < len(given):
            return given[instance.turn]
        return example(instance) or f"(answer {instance.turn + 1})"

    return answer


def _show_chain(first: Instance, answer: Callable[[Instance], str]) -> None:
    instance, shown = first, 0
    while True:
        if instance.error is not None:
            raise instance.error
        messages = instance.messages if instance.turn else _first_messages(instance)
        pictures = instance.images() if instance.images else []
        before = 0 if instance.turn and len(pictures) < shown else shown
        say(f"{RULE} turn {instance.turn + 1}, {counted(len(pictures), 'picture')} in its prompt")
        for number, picture in enumerate(pictures[before:], before):
            digest = instance.image_digests[number][:12]
            say(f"picture {number}: {picture.width} x {picture.height}   sha256 {digest}")
        shown = len(pictures)
        for message in messages or ():
            say_lines(f"{message['role']}: {_text(message)}")
        text = answer(instance)
        say_lines(f"assistant: {text}")
        assert instance.then is not None
        found = instance.then(instance, replace(Answer(text), messages=()))
        if isinstance(found, End):
            break
        instance = found
    say(f"{RULE} end of the conversation, {counted(found.turns, 'answer')}{f': {found.why}' if found.why else ''}")
    scored = text if found.output is None else found.output
    say_lines(f"scored: {scored!r}" + (f"   ended: {found.ended}" if found.ended else ""))
    say(f"target: {first.target!r}")


def _first_messages(instance: Instance) -> list[Message]:
    """The prompt of the first turn as messages."""
    return [{"role": "prompt", "content": instance.context}] if isinstance(instance.context, str) else instance.context


def _text(message: Message) -> str:
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    calls = [f"<calls {call['function']['name']}>" for call in message.get("tool_calls", ())]
    return "".join([part["text"] if part["type"] == "text" else f"{mark_of(part)}\n" for part in parts] + calls)
