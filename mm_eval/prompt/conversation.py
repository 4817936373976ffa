"""The turns of a conversation as requests: what was said before, the model's answer, and what the task says next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mm_eval.data.decode import decoding
from mm_eval.data.media import picture_digest, to_pictures
from mm_eval.prompt.blind import WITHOUT, without_pictures
from mm_eval.prompt.layout import joined
from mm_eval.prompt.visuals import Seen
from mm_eval.values.conversation import Conversation, Turns
from mm_eval.values.errors import DataError, MMEvalError
from mm_eval.values.reasoning.recorded import Reading, as_text, parts_of
from mm_eval.values.types import IMAGE_MARK, Answer, Doc, End, Instance, Message

if TYPE_CHECKING:
    from PIL.Image import Image

ENDS = ("filtered", "refused")
"""Answers after which nothing more is asked: the document has the metric's worst value."""


def begin(instance: Instance, turns: Turns, doc: Doc, blind: str | None = None, seen: Seen | None = None) -> Instance:
    """The first request of a conversation. doc: with its pictures. blind, seen: as of the task's own requests."""
    if instance.request_type != "generate_until":
        return instance
    instance = turns.begin(instance)
    instance.messages = ()
    chain = _Chain(turns, doc, instance, blind, seen)
    instance.then = lambda answer: chain.after(instance, answer)
    return instance


def message_of(answer: Answer) -> Message:
    """An answer as the model's message, without its reasoning, as chat templates leave out that of earlier turns."""
    output = as_text(answer.output)
    parts = parts_of(output)
    text = parts.answer if parts.reasoning else str(output)
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


@dataclass
class _Chain:
    """What was said up to an instance, the answers before it, and the pictures that the turns after the first have added."""

    turns: Turns
    doc: Doc
    first: Instance
    blind: str | None
    seen: Seen | None
    answers: tuple[Answer, ...] = ()
    added: tuple[Image, ...] = ()
    shown: tuple[int, ...] = ()

    def after(self, instance: Instance, answer: Answer) -> Instance | End:
        """The next request, or the end. A fault of the task's function is the error of that request."""
        answers = (*self.answers, Reading(opened=False).read(answer, ()))
        shown = self.shown or (len(instance.image_digests),)
        if answer.ended in ENDS:
            return End(turns=len(answers))
        said = self.turns.said(answers[-1])
        context = instance.context if isinstance(instance.context, str) else [*instance.context, said]
        told = Conversation(
            self.doc, instance.doc_id, instance.repeat, context, self.first.context, answers, self._pictures, shown
        )
        following = replace(
            instance, turn=instance.turn + 1, resps=[], filtered_resps={}, metadata={**instance.metadata}, then=None
        )
        where = f"{instance.task} doc {instance.doc_id}, turn {following.turn + 1}"
        try:
            found = self.turns.next(told)
            if isinstance(found, End):
                return replace(found, turns=len(answers))
            with decoding(where):
                messages, pictures = _taken(found, where)
                digests = tuple(map(picture_digest, pictures))
        except MMEvalError as error:
            following.error = error.located(where)
            return following
        except Exception as error:  # the task's own code
            what = f"the next turn can't be made: {type(error).__name__}: {error}"
            following.error = DataError(what, where=where)
            return following
        if self.blind == WITHOUT:
            messages, pictures, digests = without_pictures(messages), [], ()
        for digest, picture in zip(digests, pictures, strict=True) if self.seen is not None else ():
            self.seen(digest, picture)  # type: ignore[misc]
        added = (*pictures,) if self.turns.fresh else (*self.added, *pictures)
        chain = replace(self, answers=answers, added=added, shown=(*shown, len(pictures)))
        following.messages = tuple(_recorded(messages, digests, pictures))
        if isinstance(context, str):
            context = "" if self.turns.fresh else f"{joined(context, _text_of(said), ' ')}\n\n"
            following.context = _running_text(
                context, len(() if self.turns.fresh else instance.image_digests), messages
            )
        else:
            following.context = messages if self.turns.fresh else [*context, *messages]
        before = () if self.turns.fresh else instance.image_digests
        following.image_digests = (*before, *digests)
        following.images = chain._shown_pictures if following.image_digests else None
        following.pixels = (0 if self.turns.fresh else instance.pixels) + sum(
            each.width * each.height for each in pictures
        )
        if self.turns.fresh:
            following.clips = ()
        counts = list(instance.metadata.get("turn_pictures", ()))
        following.metadata["turn_pictures"] = [len(pictures)] if self.turns.fresh else [*counts, len(pictures)]
        following.then = lambda answer: chain.after(following, answer)
        return following

    def _pictures(self) -> list[Image]:
        """All pictures that the model has seen."""
        return [*(self.first.images() if self.first.images else ()), *self.added]

    def _shown_pictures(self) -> list[Image]:
        """The pictures of the last turn's prompt."""
        return list(self.added) if self.turns.fresh else self._pictures()


def _running_text(before: str, pictures: int, messages: Sequence[Message]) -> str:
    """Messages after a text, for a model without a chat template. pictures: of the text, which an adapter shows first.

    Where the messages have pictures, all have their places marked, as in a prompt whose examples show some.
    """
    said = "\n\n".join(map(_text_of, messages))
    if IMAGE_MARK in said and IMAGE_MARK not in before:
        before = f"{IMAGE_MARK}\n" * pictures + before
    return before + said


def _text_of(message: Message) -> str:
    """A message as running text, with the places of its pictures."""
    return "".join(part["text"] if part["type"] == "text" else f"{IMAGE_MARK}\n" for part in message["content"])


def _taken(messages: Sequence[Message], where: str) -> tuple[list[Message], list[Image]]:
    """The messages with a place for each picture, and the pictures. Raises DataError for what is no message."""
    pictures: list[Any] = []
    taken = [_message(message, pictures, where) for message in messages]
    return taken, to_pictures(pictures, where, "the next turn")


def _message(message: Any, pictures: list[Any], where: str) -> Message:
    if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
        hint = 'A message is {"role": "user", "content": "..."}.'
        raise DataError(f"the next turn has {message!r:.80}; expected a message.", where=where, hint=hint)
    content = message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(parts, (list, tuple)):
        hint = 'It is a text, or a list of parts such as {"type": "text", "text": "..."}.'
        raise DataError(f"the content of a message is {content!r:.80}.", where=where, hint=hint)
    return {**message, "content": [_part(part, pictures, where) for part in parts]}


def _part(part: Any, pictures: list[Any], where: str) -> dict[str, Any]:
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind == "text" and isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    if kind == "image" and ("image" in part or "url" in part):
        pictures.append(part["image"] if "image" in part else part["url"])
        return {"type": "image"}
    raise DataError(f"a message has a part that is neither text nor picture: {part!r:.80}.", where=where)


def _recorded(messages: Sequence[Message], digests: Sequence[str], pictures: Sequence[Image]) -> list[Message]:
    """The messages for the journal: a picture is its digest and its size."""
    shown = iter(zip(digests, pictures, strict=True))

    def part(stated: dict[str, Any]) -> dict[str, Any]:
        if stated["type"] != "image":
            return stated
        digest, picture = next(shown)
        return {"type": "image", "digest": digest, "size": [picture.width, picture.height]}

    return [{**message, "content": [part(each) for each in message["content"]]} for message in messages]
