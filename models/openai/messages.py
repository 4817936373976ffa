"""A prompt in the protocol's form: chat messages with each picture, frame or video file in its place."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from mm_eval.errors import DataError, ModelError
from mm_eval.task.media import encoded
from mm_eval.types import Instance, Message

from .videos import HINT, Videos

if TYPE_CHECKING:
    from PIL.Image import Image

Parts = list[dict[str, Any]]


def chat_messages(instance: Instance, videos: Videos) -> list[Message]:
    """The context with what it shows as data URLs. Reads the pictures, or the files of videos where those are sent."""
    if videos.way == "file":
        _check_together(instance)
        return _filled(instance, _files(instance, videos))
    loaded = zip(instance.images() if instance.images else [], instance.image_digests, strict=True)
    return _filled(instance, _timed(instance, videos, (_picture(picture, digest) for picture, digest in loaded)))


def preview_messages(instance: Instance, videos: Videos) -> list[Message]:
    """The same for people: a place for each picture, and the name of each file that is sent."""
    if videos.way != "file":
        return _filled(instance, _timed(instance, videos, ({"type": "image"} for _ in instance.image_digests)))
    names = {clip.first: f"<the file {clip.path.rpartition('/')[2]}>\n" for clip in instance.videos}
    frames = {place for clip in instance.videos for place in range(clip.first, clip.last)}
    places = range(len(instance.image_digests))
    return _filled(
        instance, iter([_text(names.get(place)) if place in frames else [{"type": "image"}] for place in places])
    )


def _filled(instance: Instance, shown: Iterator[Parts]) -> list[Message]:
    """The context with the parts of each picture in its place."""
    assert not isinstance(instance.context, str)
    messages = []
    for message in instance.context:
        content = message["content"]
        if not isinstance(content, str):
            parts: Parts = []
            for part in content:
                if part["type"] != "image":
                    parts.append(part)
                elif (found := next(shown, None)) is None:
                    raise ModelError("the prompt has more places for pictures than there are pictures.")
                else:
                    parts += found
            only_text = all(part["type"] == "text" for part in parts)
            content = "".join(str(part["text"]) for part in parts) if only_text else parts
        messages.append({"role": message["role"], "content": content})
    return messages


def text_of(message: Message) -> str:
    """The text of a message, without what it shows."""
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _timed(instance: Instance, videos: Videos, pictures: Iterable[dict[str, Any]]) -> Iterator[Parts]:
    """The parts in the place of each picture: the picture, and around a video's frames the family's time text."""
    before: dict[int, str] = {}
    after: dict[int, str] = {}
    for clip in instance.videos if videos.way == "times" else ():
        *texts, end = videos.text.around(clip)
        before.update(enumerate(texts, clip.first))
        after[clip.last - 1] = end
    for place, picture in enumerate(pictures):
        yield [*_text(before.get(place)), picture, *_text(after.get(place))]


def _files(instance: Instance, videos: Videos) -> Iterator[Parts]:
    """The parts in the place of each picture: a video's file in that of its first frame, and nothing for the other frames."""
    clips = {clip.first: clip for clip in instance.videos}
    frames = {place for clip in instance.videos for place in range(clip.first, clip.last)}
    only_videos = len(frames) == len(instance.image_digests)
    loaded = instance.images() if instance.images and not only_videos else []
    for place, digest in enumerate(instance.image_digests):
        if place in clips:
            yield [videos.file_part(clips[place], digest)]
        else:
            yield [] if place in frames else [_picture(loaded[place], digest)]


def _picture(picture: Image, digest: str) -> dict[str, Any]:
    mime, data = encoded(picture, digest)
    return {"type": "image_url", "image_url": {"url": f"data:{mime};base64,{base64.b64encode(data).decode()}"}}


def _text(text: str | None) -> Parts:
    return [{"type": "text", "text": text}] if text else []


def _check_together(instance: Instance) -> None:
    """DataError if text stands between the frames of a video, as with subtitles: a file has no place for it."""
    frames = {place for clip in instance.videos for place in range(clip.first + 1, clip.last)}
    place = 0
    for message in instance.context:
        parts = message["content"] if isinstance(message, dict) and not isinstance(message["content"], str) else []
        for previous, part in zip([None, *parts], parts, strict=False):
            if part["type"] == "image":
                if place in frames and (previous is None or previous["type"] != "image"):
                    raise DataError(
                        "text stands between the frames of a video, so that its file can't be sent.", hint=HINT
                    )
                place += 1
