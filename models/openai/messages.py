"""A prompt in the protocol's form: chat messages with each picture, frame or video file in its place.

    Videos.of(args, prompt_keys)   how the videos of a run are shown
    chat_messages(instance, ...)   the prompt

A video is shown as its frames, with the family's time text between them, or as the file itself. The frames are the ones that
mm-eval chose. A file is sampled by the server: the rule is passed on in the fields that vLLM reads, and the token count of the
reply is all that it says about what it took.
"""

from __future__ import annotations

import base64
import hashlib
import json
import mimetypes
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from mm_eval.data import kept_files
from mm_eval.data.decode import MIME, format_of
from mm_eval.data.frames import files_of
from mm_eval.data.media import encoded, own_file, picture_digest
from mm_eval.data.sent_files import HELD, file_identity
from mm_eval.data.video.rule import FrameRule, read_rule
from mm_eval.values.errors import DataError, ModelError
from mm_eval.values.types import FILE_MARK, FRAME_MARK, Audible, Clip, Fields, Instance, JsonObject, Message

if TYPE_CHECKING:
    from PIL.Image import Image


Parts = list[dict[str, Any]]


class Files:
    """The files of pictures and sounds in base64, and a mark for each place: JSON is written of the marks, not of megabytes."""

    def __init__(self) -> None:
        self._mark, self._found = secrets.token_hex(16), list[bytes]()

    def put(self, content: bytes) -> str:
        """The mark of a file."""
        self._found.append(base64.b64encode(content))
        return f"{self._mark}{len(self._found) - 1:08}"

    def filled_in(self, text: bytes) -> bytes:
        """A text with each file in the place of its mark."""
        first, *rest = text.split(self._mark.encode())
        return b"".join([first, *(part for each in rest for part in (self._found[int(each[:8])], each[8:]))])


def chat_messages(
    instance: Instance,
    videos: Videos,
    files: Files,
    png: bool = False,
    sound: Callable[[Audible, Callable[[bytes], str]], dict[str, object]] | None = None,
) -> list[Message]:
    """The context with what it shows as data URLs. Reads the pictures, or the files of videos where those are sent.

    files: gets the contents of pictures and sounds, whose marks stand in the parts. png: what is not JPEG is sent as PNG,
    which has the same pixels. sound: makes the part of a sound.
    """
    heard = None
    if sound is not None and instance.sounds is not None:
        heard = (sound(each, files.put) for each in instance.sounds())
    if videos.way == "file":
        _check_together(instance)
        return _filled(instance, _files(instance, videos, files), heard)
    if not png and (held := held_files(instance)) is not None:
        sent = ((MIME[format_of(content)], content) for content in held)
    else:
        loaded = zip(instance.images() if instance.images else [], instance.image_digests, strict=True)
        sent = (_content(picture, digest, png) for picture, digest in loaded)
    shown = _timed(instance, videos, (_part(mime, content, files) for mime, content in sent))
    return _filled(instance, shown, heard)


def held_files(instance: Instance) -> list[bytes] | None:
    """The files of all pictures of an instance, where each is known by its file and is at hand; else None."""
    found = list[bytes]()
    for digest in instance.image_digests:
        content = HELD.get(digest) if digest.startswith(FILE_MARK) else None
        if content is None:
            return None
        found.append(content)
    return found


COMMON = ("image/jpeg", "image/png")
"""The forms of pictures that every endpoint takes."""


def picture_forms(messages: Iterable[Message]) -> set[str]:
    """{"common", "other"}, as far as the pictures of a prompt have such forms."""
    parts = (part for message in messages if isinstance(message["content"], list) for part in message["content"])
    addresses = (part["image_url"]["url"] for part in parts if part["type"] == "image_url")
    return {"common" if address[5:40].startswith(COMMON) else "other" for address in addresses}


def with_flat_pictures(messages: Iterable[Message]) -> list[Message]:
    """The messages with the address of each picture as a text, which some servers take instead of an object."""

    def flat(part: JsonObject) -> dict[str, object]:
        return {**part, "image_url": part["image_url"]["url"]} if part["type"] == "image_url" else part

    return [
        {**message, "content": [flat(part) for part in message["content"]]}
        if isinstance(message["content"], list)
        else message
        for message in messages
    ]


def preview_messages(instance: Instance, videos: Videos) -> list[Message]:
    """The same for people: a place for each picture, and the name of each file that is sent."""
    if videos.way != "file":
        return _filled(instance, _timed(instance, videos, ({"type": "image"} for _ in instance.image_digests)))
    names = {clip.first: f"<the file {clip.path.rpartition('/')[2]}>\n" for clip in instance.clips}
    frames = {place for clip in instance.clips for place in range(clip.first, clip.last)}
    places = range(len(instance.image_digests))
    return _filled(
        instance, iter([_text(names.get(place)) if place in frames else [{"type": "image"}] for place in places])
    )


def _filled(
    instance: Instance, shown: Iterator[Parts], heard: Iterator[dict[str, object]] | None = None
) -> list[Message]:
    """The context with the parts of each picture and each sound in its place. heard: None leaves the places of sounds."""
    assert not isinstance(instance.context, str)
    messages = []
    for message in instance.context:
        content = message["content"]
        if not isinstance(content, str):
            parts: Parts = []
            for part in content:
                if part["type"] == "audio" and heard is not None:
                    if (sent := next(heard, None)) is None:
                        raise ModelError("the prompt has more places for sounds than there are sounds.")
                    parts.append(sent)
                elif part["type"] != "image":
                    parts.append(part)
                elif (found := next(shown, None)) is None:
                    raise ModelError("the prompt has more places for pictures than there are pictures.")
                else:
                    parts += found
            only_text = all(part["type"] == "text" for part in parts)
            content = "".join(str(part["text"]) for part in parts) if only_text else parts
        messages.append(
            {
                **{name: message[name] for name in OF_CALLS if name in message},
                "role": message["role"],
                "content": content,
            }
        )
    return messages


OF_CALLS = ("tool_calls", "tool_call_id", "name")
"""The keys of messages that belong to calls of tools."""


def with_results(messages: list[Message]) -> list[Message]:
    """The messages as servers take those with calls: arguments as text, and pictures of results in a turn of the user after them.

    OpenAI's protocol allows text alone in a message of the role `tool`.
    """
    found, shown = list[Message](), Parts()
    for message in messages:
        if message["role"] != "tool" and shown:
            text = message["content"]
            if message["role"] == "user":
                message = {**message, "content": [*shown, *(_text(text) if isinstance(text, str) else text)]}
            else:
                found.append({"role": "user", "content": shown})
            shown = []
        if message["role"] == "tool" and not isinstance(message["content"], str):
            shown += [part for part in message["content"] if part["type"] != "text"]
            message = {**message, "content": text_of(message)}
        if calls := message.get("tool_calls"):
            calls = [_with_arguments_as_text(each) for each in calls]
            message = {**message, "content": message["content"] or None, "tool_calls": calls}
        found.append(message)
    return [*found, {"role": "user", "content": shown}] if shown else found


def _with_arguments_as_text(call: Fields) -> dict[str, object]:
    function = call["function"]
    return {**call, "function": {**function, "arguments": json.dumps(function["arguments"], ensure_ascii=False)}}


def text_of(message: Message) -> str:
    """The text of a message, without what it shows."""
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def beginning_of(context: object) -> str:
    """The beginning of the answer, where the context of a chat ends in one; else empty."""
    last = context[-1] if isinstance(context, list) and context else {}
    return text_of(last) if last.get("role") == "assistant" else ""


def _timed(instance: Instance, videos: Videos, pictures: Iterable[dict[str, object]]) -> Iterator[Parts]:
    """The parts in the place of each picture: the picture, and around a video's frames the family's time text."""
    before: dict[int, str] = {}
    after: dict[int, str] = {}
    for clip in instance.clips if videos.way == "times" else ():
        *texts, end = videos.text.around(clip)
        before.update(enumerate(texts, clip.first))
        after[clip.last - 1] = end
    for place, picture in enumerate(pictures):
        yield [*_text(before.get(place)), picture, *_text(after.get(place))]


def _files(instance: Instance, videos: Videos, files: Files) -> Iterator[Parts]:
    """The parts in the place of each picture: a video's file in that of its first frame, and nothing for the other frames."""
    clips = {clip.first: clip for clip in instance.clips}
    frames = {place for clip in instance.clips for place in range(clip.first, clip.last)}
    only_videos = len(frames) == len(instance.image_digests)
    loaded = instance.images() if instance.images and not only_videos else []
    for place, digest in enumerate(instance.image_digests):
        if place in clips:
            yield [videos.file_part(clips[place], digest)]
        else:
            yield [] if place in frames else [_part(*_content(loaded[place], digest), files)]


def _content(picture: Image, digest: str, png: bool = False) -> tuple[str, bytes]:
    """(MIME type, file) of a picture as it is sent. DataError where it is another one than the request was made of.

    The pixels of a frame of a video are those of its file, which is looked at where it is decoded.
    """
    by_file, by_pixels = (
        digest.startswith(FILE_MARK),
        own_file(picture) is not None and not digest.startswith(FRAME_MARK),
    )
    if (file_identity(picture) if by_file else picture_digest(picture) if by_pixels else digest) != digest:
        raise DataError(
            "a picture's file has changed during the run.",
            hint="The same command asks again, with the file as it is then.",
        )
    mime, data = encoded(picture, digest)
    if png and mime not in COMMON:
        plain = picture.copy()
        plain.info.clear()  # what it was read from
        mime, data = encoded(plain, digest)
    return mime, data


def _part(mime: str, content: bytes, files: Files) -> JsonObject:
    return {"type": "image_url", "image_url": {"url": f"data:{mime};base64,{files.put(content)}"}}


def _text(text: str | None) -> Parts:
    return [{"type": "text", "text": text}] if text else []


def _check_together(instance: Instance) -> None:
    """DataError if text stands between the frames of a video, as with subtitles: a file has no place for it."""
    frames = {place for clip in instance.clips for place in range(clip.first + 1, clip.last)}
    place = 0
    for message in instance.context:
        parts = message["content"] if isinstance(message, dict) and not isinstance(message["content"], str) else []
        for previous, part in zip([None, *parts], parts, strict=False):
            if part["type"] == "image":
                if place in frames and (previous is None or previous["type"] != "image"):
                    raise DataError("text is between the frames of a video, so its file can't be sent.", hint=HINT)
                place += 1


SHOWN_AS = {"pictures": "pictures", "times": "pictures with times", "file": "file"}
"""The values of `video=`, and what `ModelFacts.frames_as` says for each."""
HINT = "video=times and video=pictures in --model_args send the chosen frames as pictures."
MEGABYTE = 1_000_000


@dataclass(frozen=True)
class TimeText:
    """The text that a family writes around the frames of a video, as its processor in transformers does.

    before, after: of the whole video. each: before each frame. between: of two frames.
    Fields: {number} of the frame from 1, {seconds} and {clock} (MM:SS) of its time, {count} of the frames in words,
    {length} of the file as H:MM:SS.
    """

    each: str
    before: str = ""
    between: str = ""
    after: str = ""

    def around(self, clip: Clip) -> list[str]:
        """The texts before each frame, and the one after the last."""
        whole = {"count": in_words(len(clip.seconds)), "length": str(timedelta(seconds=int(clip.duration)))}
        texts = [
            self.each.format(number=number, seconds=seconds, clock=f"{int(seconds) // 60:02}:{int(seconds) % 60:02}")
            for number, seconds in enumerate(clip.seconds, 1)
        ]
        texts[1:] = [self.between + text for text in texts[1:]]
        return [self.before.format(**whole) + texts[0], *texts[1:], self.after]


SECONDS = TimeText("<{seconds:.1f} seconds>")
TIME_TEXTS: dict[str, TimeText] = {
    **dict.fromkeys(("qwen3_vl", "qwen3_vl_moe", "qwen3_5"), SECONDS),
    "smolvlm": TimeText(
        "\nFrame from {clock}:",
        before="You are provided the following series of {count} frames from a {length} [H:MM:SS] video.\n",
        after="\n\n",
    ),
    "video_llama_3": TimeText("Time {seconds:.1f}s:", between=","),
    "internvl": TimeText("Frame{number}: ", between="\n"),
}
"""By prompt key. Other families write no times; `video=times` writes SECONDS for them, as lmms-eval does."""


@dataclass(frozen=True)
class Videos:
    """How a run shows its videos. way: a key of SHOWN_AS. text: for "times". most: bytes of a file."""

    way: str
    text: TimeText = SECONDS
    most: int = 100 * MEGABYTE

    @classmethod
    def of(cls, args: Mapping[str, Any], prompt_keys: Sequence[str]) -> Videos:
        """As `video=` and `max_video_mb=` state it; by default with times where the family has a text for them."""
        text = next((TIME_TEXTS[key] for key in prompt_keys if key in TIME_TEXTS), None)
        way = str(args.get("video") or ("times" if text else "pictures"))
        return cls(way, text or SECONDS, int(float(args.get("max_video_mb", 100)) * MEGABYTE))

    def identity(self, instance: Instance) -> dict[str, object]:
        """What of a question's videos decides the answer, beside the digests of the frames."""
        if not instance.clips or self.way == "pictures":
            return {}
        if self.way == "file":
            return {"video": "file", "videos": [[clip.first, clip.rule] for clip in instance.clips]}
        shown = [[clip.first, list(clip.seconds), clip.duration] for clip in instance.clips]
        return {"video": asdict(self.text), "videos": shown}

    def fields(self, instance: Instance) -> dict[str, object]:
        """The fields of a request that tell vLLM which frames to take of a file. Raises DataError for a rule that it lacks."""
        if self.way != "file" or not instance.clips:
            return {}
        rule = read_rule(instance.clips[0].rule)
        if rule.spread != "ends" or rule.size or rule.fps is not None and rule.least > 1:
            what = f"the rule {rule} can't be passed on to a server, which spreads the frames of a file as `ends` does."
            raise DataError(what, hint=f"Use frames=N or fps=X,max=N. Or: {HINT}")
        # Without do_sample_frames the checkpoint's processor samples a short file again, by its own rule
        return {"media_io_kwargs": {"video": _sampling(rule)}, "mm_processor_kwargs": {"do_sample_frames": False}}

    def file_part(self, clip: Clip, digest: str) -> dict[str, object]:
        """A video's file as a part of a message. digest: of one of its frames. Raises DataError if it can't be sent."""
        name = clip.path.rpartition("/")[2]
        if clip.start is not None or clip.end is not None:
            raise DataError(f"the question shows a part of {name!r}, and a server gets whole files only.", hint=HINT)
        try:
            with kept_files.local(clip.path) as path, open(path, "rb") as file:
                content = file.read(self.most + 1)
        except OSError as error:
            raise DataError(f"the video {name!r} can't be read: {error.strerror}.", hint=HINT) from error
        if len(content) > self.most:
            what = f"the video {name!r} has more than {self.most / MEGABYTE:g} MB."
            raise DataError(what, hint=f"Raise max_video_mb if the server takes larger requests. Or: {HINT}")
        if files_of([digest]) != files_of([FRAME_MARK + hashlib.sha256(content).hexdigest()]):
            raise DataError(f"the video {name!r} has changed during the run.")
        kind = mimetypes.guess_type(name)[0] or ""
        mime = kind if kind.startswith("video/") else "video/mp4"
        return {"type": "video_url", "video_url": {"url": f"data:{mime};base64,{base64.b64encode(content).decode()}"}}

    def note(self, usage: Mapping[str, int]) -> str:
        """What is known of the frames that a server took; empty for frames that mm-eval chose."""
        if self.way != "file":
            return ""
        tokens = usage.get("video_tokens")
        taken = f"{tokens:,} tokens of videos, as the server counts them" if tokens else "it does not report it"
        return f"which frames the server took of a file is unknown ({taken})"


def _sampling(rule: FrameRule) -> dict[str, object]:
    """The rule for vLLM. Its readers for Qwen's families ignore num_frames; that named opencv spreads frames as `ends` does."""
    if rule.fps is None:
        return {"video_backend": "opencv", "num_frames": rule.frames}
    return {
        "video_backend": "opencv",
        "fps": rule.fps,
        "num_frames": rule.most,
    }  # the smaller number of the two is taken


ONES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
ONES += ["eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
TENS = ["_", "_", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def in_words(number: int) -> str:
    """A whole number below 10,000 in English words.

    >>> in_words(8), in_words(64), in_words(128), in_words(1024)
    ('eight', 'sixty-four', 'one hundred and twenty-eight', 'one thousand and twenty-four')
    """
    for size, name in ((1000, "thousand"), (100, "hundred")):
        if number >= size:
            rest = number % size
            join = " and " if rest < 100 else ", "
            return f"{in_words(number // size)} {name}{join + in_words(rest) if rest else ''}"
    if number < 20:
        return ONES[number]
    return TENS[number // 10] + (f"-{ONES[number % 10]}" if number % 10 else "")
