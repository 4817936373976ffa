"""The turns of a conversation as requests: what was said before, the model's answer, and what the task says next."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from mm_eval.data.frames import Frames
from mm_eval.data.sound.clip import Sound
from mm_eval.prompt.blind import WITHOUT, without_pictures
from mm_eval.prompt.layout import MARKS, join
from mm_eval.prompt.visuals import PictureCache, Seen, Visual, identities_of, with_frames, with_places
from mm_eval.values.conversation import Conversation, Turns
from mm_eval.values.errors import DataError, MMEvalError, kind_and_text
from mm_eval.values.reasoning.families import NO_MARKS, Marks
from mm_eval.values.reasoning.recorded import Reading, as_text, parts_of
from mm_eval.values.types import (
    AUDIO_MARK,
    IMAGE_MARK,
    Answer,
    Clip,
    Context,
    Doc,
    End,
    Heard,
    Instance,
    Message,
    mark_of,
)

if TYPE_CHECKING:
    from PIL.Image import Image

ENDS = ("filtered", "refused")
"""Answers after which nothing more is asked: the document has the metric's worst value."""


@dataclass(frozen=True)
class Shown:
    """How a task's code shows something in a turn.

    kwargs: gives those of the prompt block. visuals: (where, what the code gives, the code) -> what is shown of it.
    cache, seen: of the task. blind: `--blind`. marks: those that the user states, around the reasoning in answers.
    """

    kwargs: Callable[[], Mapping[str, object]]
    visuals: Callable[[str, list[object], str], list[Visual]]
    cache: PictureCache
    seen: Seen | None = None
    blind: str | None = None
    marks: Marks = NO_MARKS


def begin(instance: Instance, turns: Turns, doc: Doc, shown: Shown) -> Instance:
    """The first request of a conversation. doc: with its pictures."""
    if instance.request_type != "generate_until":
        return instance
    instance = turns.begin(instance)
    instance.messages = ()
    instance.then = _Chain(turns, doc, replace(instance), shown).after
    return instance


def message_of(answer: Answer) -> Message:
    """An answer as the model's message, without its reasoning, as chat templates leave out that of earlier turns.

    It has no white space around it: a template writes its own, and the model's would be a second one (LLaVA's "ASSISTANT: ").
    """
    output = as_text(answer.output)
    parts = parts_of(output)
    text = parts.answer if parts.reasoning else str(output)
    return {"role": "assistant", "content": [{"type": "text", "text": text.strip()}]}


def answer_in(answer: Answer) -> str:
    """The text of an answer without its reasoning; empty where the reasoning has not ended."""
    output = as_text(answer.output)
    parts = parts_of(output)
    if not parts.closed:
        return ""
    return parts.answer if parts.reasoning else str(output)


def with_reasoning_apart(answer: Answer) -> Answer:
    """The answer with its reasoning beside its text, whether or not the adapter has separated the two."""
    return replace(answer, output=answer_in(answer), reasoning=parts_of(as_text(answer.output)).reasoning)


class _Said(NamedTuple):
    """A turn: its messages with a place for each picture and sound, the same messages for the journal, the pictures, frames and
    sounds, and their kinds (`kinds_of`)."""

    messages: list[Message]
    recorded: tuple[Message, ...]
    visuals: Sequence[Visual] = ()
    digests: tuple[str, ...] = ()
    clips: tuple[Clip, ...] = ()
    pixels: int = 0
    heard: tuple[Heard, ...] = ()
    kinds: str = ""


@dataclass
class _Chain:
    """What was said up to an instance: the answers before it, what the turns after the first have shown, and how many pictures
    each turn has."""

    turns: Turns
    doc: Doc
    first: Instance
    shown: Shown
    answers: tuple[Answer, ...] = ()
    added: tuple[Visual, ...] = ()
    counts: tuple[int, ...] = ()

    def after(self, instance: Instance, answer: Answer) -> Instance | End:
        """The next request, or the end. A fault of the task's function is the error of that request."""
        answers = (*self.answers, Reading(self.shown.marks, opened=False).read(answer, ()))
        if answer.ended in ENDS:
            return End(turns=len(answers))
        counts = self.counts or (len(instance.image_digests),)
        following = replace(
            instance,
            turn=instance.turn + 1,
            resps=[],
            filtered_resps={},
            metadata={**instance.metadata},
            ends_when_full=self.turns.ends_when_full,
            messages=(),
            then=None,
        )
        where = f"{instance.task} doc {instance.doc_id}, turn {following.turn + 1}"
        try:
            said = self.turns.said(answers)
            context = instance.context if isinstance(instance.context, str) else [*instance.context, said]
            conversation = Conversation(
                doc=self.doc,
                doc_id=instance.doc_id,
                repeat=instance.repeat,
                context=context,
                first=self.first.context,
                answers=answers,
                pictures=self._pictures,
                shown=counts,
                of_examples=sum(self.first.turn_pictures[:-1]),
                kwargs=self.shown.kwargs(),
                clips=self.first.clips,
            )
            found = self.turns.next(conversation)
            if isinstance(found, End):
                return replace(found, turns=len(answers))
            turn = self._said(found, where)
        except MMEvalError as error:
            return replace(following, error=error.located(where))
        except Exception as error:  # the task's own code
            what = f"the next turn can't be made: {kind_and_text(error)}"
            return replace(following, error=DataError(what, where=where))
        fresh = self.turns.fresh
        chain = replace(
            self,
            answers=answers,
            added=(*turn.visuals,) if fresh else (*self.added, *turn.visuals),
            counts=(*counts, len(turn.digests)),
        )
        before = instance
        if fresh:
            before = replace(instance, pixels=0, image_digests=(), clips=(), turn_pictures=(), heard=(), turn_shown=())
        shown = before.turn_shown or tuple(["i" * count for count in before.turn_pictures])
        heard = (*before.heard, *turn.heard)
        digests = (*before.image_digests, *turn.digests)
        clips = (
            replace(
                clip,
                first=clip.first + len(before.image_digests),
                sound=None if clip.sound is None else clip.sound + len(before.heard),
            )
            for clip in turn.clips
        )
        return replace(
            following,
            context=self._context(
                context, said, turn.messages, "".join(instance.turn_shown) or "i" * len(instance.image_digests)
            ),
            messages=turn.recorded,
            image_digests=digests,
            clips=(*before.clips, *clips),
            pixels=before.pixels + turn.pixels,
            images=chain._pictures_of_turn if digests else None,
            turn_pictures=(*before.turn_pictures, len(turn.digests)),
            sounds=chain._sounds_of_turn if heard else None,
            heard=heard,
            turn_shown=(*shown, turn.kinds) if heard else (),
            then=chain.after,
        )

    def _said(self, messages: Sequence[Message], where: str) -> _Said:
        """What the task's code says, checked. Raises DataError for what is not a message or a picture."""
        taken = [_message(message, where) for message in messages]
        placed, visuals = with_places(taken, "the next turn", where, partial(self.shown.visuals, where))
        if self.shown.blind == WITHOUT:
            unseen = without_pictures(placed)
            return _Said(unseen, tuple(unseen))
        looked = identities_of([lambda: visuals], where, self.shown.seen)
        if looked.error is not None:
            raise looked.error
        [digests] = looked.digests
        recorded = _recorded(placed, visuals, digests, looked.heard)
        seen = tuple(digests), looked.clips, looked.pixels
        return _Said(placed, recorded, visuals, *seen, looked.heard, looked.kinds[0])

    def _context(self, before: Context, said: Message, messages: list[Message], kinds: str) -> Context:
        """The prompt of a turn. before: what was said so far; kinds: of what it shows."""
        if isinstance(before, str):
            if self.turns.fresh:
                return _running_text("", "", messages)
            return _running_text(f"{join(before, _text_of(said), ' ')}\n\n", kinds, messages)
        if not self.turns.fresh:
            return [*before, *messages]
        lead = [message for message in self.first.context if isinstance(message, dict) and message["role"] == "system"]
        return [*(() if messages and messages[0]["role"] == "system" else lead), *messages]

    def _pictures(self) -> list[Image]:
        """All pictures that the model has seen, or the first turn's and the last one's where each turn is asked alone."""
        first = self.first.images() if self.first.images else []
        return [*first, *with_frames(self.added, self.shown.cache, self.shown.seen)]

    def _sounds_of_turn(self) -> list[Sound]:
        """The sounds of the last turn's prompt."""
        first = self.first.sounds() if self.first.sounds and not self.turns.fresh else []
        return [each for each in (*first, *self.added) if isinstance(each, Sound)]

    def _pictures_of_turn(self) -> list[Image]:
        """The pictures of the last turn's prompt."""
        if self.turns.fresh:
            return with_frames(self.added, self.shown.cache, self.shown.seen)
        return self._pictures()


def _recorded(
    messages: Sequence[Message], visuals: Sequence[Visual], digests: Sequence[str], heard: Sequence[Heard]
) -> tuple[Message, ...]:
    """Messages as the journal has them: a picture is its digest and its size, a frame its digest, a sound as `Heard` has it."""
    sizes: list[dict[str, object]] = []
    for visual in visuals:
        if isinstance(visual, Frames):
            sizes += [{}] * len(visual.digests)
        elif not isinstance(visual, Sound):
            sizes.append({"size": [visual.width, visual.height]})
    shown = {
        "image": iter(
            [{"type": "image", "digest": digest, **size} for digest, size in zip(digests, sizes, strict=True)]
        ),
        "audio": iter([{"type": "audio", **each.to_json()} for each in heard]),
    }
    return tuple(
        {
            **message,
            "content": [next(shown[part["type"]]) if part["type"] in shown else part for part in message["content"]],
        }
        for message in messages
    )


def _running_text(before: str, kinds: str, messages: Sequence[Message]) -> str:
    """Messages after a text, for a model without a chat template. kinds: of what the text shows; an adapter shows it first.

    Where the messages have pictures or sounds, all have their places marked, as in a prompt whose examples show some.
    """
    said = "\n\n".join(map(_text_of, messages))
    marked = IMAGE_MARK in before or AUDIO_MARK in before
    if not marked and (IMAGE_MARK in said or AUDIO_MARK in said):
        before = "".join(f"{MARKS[kind]}\n" for kind in kinds) + before
    return before + said


def _text_of(message: Message) -> str:
    """A message as running text, with the places of its pictures and sounds."""
    return "".join(part["text"] if part["type"] == "text" else f"{mark_of(part)}\n" for part in message["content"])


def _message(message: object, where: str) -> Message:
    """A message of a task's code as a list of parts."""
    if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
        hint = 'A message is {"role": "user", "content": "..."}.'
        raise DataError(f"the next turn has {message!r:.80}; expected a message.", where=where, hint=hint)
    content = message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(parts, (list, tuple)):
        hint = 'It is a text, or a list of parts such as {"type": "text", "text": "..."}.'
        raise DataError(f"the content of a message is {content!r:.80}.", where=where, hint=hint)
    return {**message, "content": parts}
