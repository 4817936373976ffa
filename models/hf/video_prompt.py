"""Prompts in which each video is one part, for families with a video input of their own.

What stands in the place of a video (its tokens, times between the frames) is written by the checkpoint's own processor. It is
told a clock of milliseconds on which the number of a frame is its time, so that the times are true for any frame rate.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from types import SimpleNamespace
from typing import Any

from mm_eval.errors import ConfigError, ModelError
from mm_eval.types import IMAGE_MARK, Clip, Instance, Message
from mm_eval.words import counted

from .arguments import WHERE
from .preprocessing import Known, Picture, decoded
from .prompt import Prompt, PromptWriter
from .videos import Videos, video_tensors

CLOCK = 1000
"""Ticks a second of the clock that the processor gets."""
AS_PICTURES = "Give video=pictures in --model_args: the frames are then shown as pictures."


def native_clips(instance: Instance) -> tuple[Clip, ...]:
    """The videos of an instance if the frames of each stand together in its prompt; else none.

    With text between the frames of a video (subtitles) all frames of the instance are shown as pictures.
    """
    count = len(instance.image_digests)
    places = _in_text(instance.context, count) if isinstance(instance.context, str) else _in_chat(instance.context)
    together = len(places) == count and all(
        places[clip.last - 1] - places[clip.first] == len(clip.seconds) - 1 for clip in instance.videos
    )
    return instance.videos if together else ()


def _in_chat(messages: Sequence[Message]) -> list[int]:
    """The place of each image part. Parts that follow each other in one message have places that do."""
    found, place = list[int](), 0
    for message in messages:
        for part in _content(message):
            if part.get("type") == "image":
                found.append(place)
            place += 1
        place += 1
    return found


def _in_text(text: str, count: int) -> list[int]:
    """The same for a text's image marks, between which white space does not count. Without marks all pictures come first."""
    pieces = text.split(IMAGE_MARK)
    if len(pieces) != count + 1 or not count:
        return list(range(count))
    places = [0]
    for between in pieces[1:-1]:
        places.append(places[-1] + (2 if between.strip() else 1))
    return places


def _content(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [] if isinstance(content, str) else content


def span(clip: Clip) -> float:
    """The seconds of the file, or of the part of it, that was asked for."""
    end = clip.duration if clip.end is None else min(clip.end, clip.duration)
    return max(end - (clip.start or 0.0), 0.0)


def video_identity(instance: Instance, videos: Videos) -> dict[str, Any]:
    """The part of an identity that says how an instance's videos are shown; empty if it has none that are shown as such."""
    clips = native_clips(instance)
    if not clips:
        return {}
    how = {**asdict(videos.settings), "drops_pair": videos.drops_pair, "spans": [span(clip) for clip in clips]}
    return {"videos": [[clip.first, list(clip.seconds)] for clip in clips], "video": how}


class VideoWriter(PromptWriter):
    """Writes prompts with videos."""

    def __init__(self, *args: Any, videos: Videos, **options: Any) -> None:
        super().__init__(*args, **options)
        self.kind, self.settings, self.drops_pair = videos.kind, videos.settings, videos.drops_pair
        self.video_token = str(self.processor.video_token)
        self._tokens_shown = {self.image_token_id: 1}
        if self.video_token in self.tokenizer.get_vocab():
            self._tokens_shown[self.tokenizer.convert_tokens_to_ids(self.video_token)] = 2
        if not hasattr(self.processor, "replace_video_token"):
            what = f"the processor of {self.name!r} can't write videos in this version of transformers."
            raise ConfigError(what, where=WHERE, hint=AS_PICTURES)
        self._describing = copy.copy(self.processor)
        self._describing.video_processor = SimpleNamespace(
            merge_size=self.settings.merge, temporal_patch_size=self.settings.steps
        )

    def _messages(self, instance: Instance, count: int) -> list[dict[str, Any]]:
        messages = super()._messages(instance, count)
        starts, inside = _places(native_clips(instance))
        numbers = iter(range(count))
        for message in messages:
            parts: list[dict[str, Any]] = []
            for part in _content(message):
                number = next(numbers) if part.get("type") == "image" else None
                if number not in inside:
                    parts.append({"type": "video"} if number in starts else part)
            message["content"] = parts or message["content"]
        return messages

    def _plain(self, instance: Instance, count: int) -> str:
        starts, inside = _places(native_clips(instance))
        if not starts:
            return super()._plain(instance, count)
        text = str(instance.context)
        pieces = text.split(IMAGE_MARK)
        first, after = (
            (pieces[0], pieces[1:]) if len(pieces) == count + 1 else ("", ["\n"] * (count - 1) + ["\n" + text])
        )
        video = self.kind.placeholder or self.video_token
        picture = self.image_token if self.family.placeholder is None else self.family.placeholder
        for number, piece in enumerate(after):
            if number not in inside:
                first += video if number in starts else picture
            if number + 1 not in inside:  # what stands between the frames of a video is white space
                first += piece
        return first

    def _encode(self, instance: Instance, count: int, loaded: Sequence[Any] | None) -> Prompt:
        clips = native_clips(instance)
        if not clips:
            return super()._encode(instance, count, loaded)
        blank = self._blank(instance, count)
        starts, inside = _places(clips)
        stills = [number for number in range(count) if number not in starts and number not in inside]
        self._check(blank.text, len(clips), len(stills))
        units = [self._made(instance, clip) for clip in clips]
        pieces = self._outside(blank.text)
        shown = [self._shown(clip, unit) for clip, unit in zip(clips, units, strict=True)]
        whole = "".join(piece + each for piece, each in zip(pieces, [*shown, ""], strict=True))
        ids = self._tokens(whole, blank.special, blank.chat)
        videos = dict(zip(starts, (unit.pictures[0] for unit in units), strict=True))
        if stills:
            ids, pictures = self._with_stills(instance, stills, ids, pieces, shown)
            videos.update(pictures)
        types = [self._tokens_shown.get(token, 0) for token in ids]
        prompt = replace(
            blank,
            ids=ids,
            types={"mm_token_type_ids": types} if self.family.mrope else {},
            pictures=tuple(videos[number] for number in sorted(videos)),
            image_places=tuple(place for place, kind in enumerate(types) if kind),
        )
        return self._started(prompt)

    def write_brief(self, instance: Instance, pictures: int) -> Prompt:
        """The prompt with one token for each video and each picture, for an engine that processes them itself."""
        clips = native_clips(instance)
        if not clips:
            return super().write_brief(instance, pictures)
        blank = self._blank(instance, pictures)
        starts, inside = _places(clips)
        self._check(blank.text, len(clips), pictures - len(starts) - len(inside))
        text = self.video_token.join(self._outside(blank.text))
        prompt = self._started(replace(blank, ids=self._tokens(text, blank.special, blank.chat)))
        places = tuple(place for place, token in enumerate(prompt.ids) if token in self._tokens_shown)
        return replace(prompt, image_places=places)

    def _check(self, text: str, videos: int, stills: int) -> None:
        """Raises ModelError unless the prompt has a place for each video, and the family takes both kinds together."""
        if (written := text.count(self.video_token)) != videos:
            what = f"The prompt of {self.name!r} has {counted(written, 'place')} for {counted(videos, 'video')}."
            raise ModelError(what, hint=AS_PICTURES)
        if stills and (self.kind.given == "pictures" or self.family.pictures != "picture"):
            what = f"{self.name!r} does not take pictures beside videos in one prompt."
            raise ModelError(what, hint=AS_PICTURES)
        self._check_placeholders(text, stills)

    def _outside(self, text: str) -> list[str]:
        """The text before, between and after the videos."""
        if self.drops_pair:
            pair = f"{self.processor.vision_start_token}{self.video_token}{self.processor.vision_end_token}"
            text = text.replace(pair, self.video_token)
        return text.split(self.video_token)

    def _made(self, instance: Instance, clip: Clip) -> Known:
        """The tensors of a video, made once, and the same as the model takes them."""
        seconds = span(clip)
        digests = ("video", *instance.image_digests[clip.first : clip.last], f"{seconds:.6f}")

        def make() -> Known:
            loaded = decoded(instance)[clip.first : clip.last]
            own = getattr(
                self.processor, "video_processor", None
            )  # without torchvision None, or a stand-in with numbers
            tensors = video_tensors(loaded, self.settings, own if callable(own) else None)
            return Known(tensors, (Picture(digests, self._inputs(tensors, seconds / len(loaded))),))

        return self._preprocessor.once(digests, make, instance.pixels)

    def _inputs(self, tensors: Mapping[str, Any], step: float) -> dict[str, Any]:
        """The tensors of a video as the model takes them. step: seconds from one frame to the next."""
        import torch

        pixels = tensors["pixel_values_videos"]
        if self.kind.given == "frames":
            return {"pixel_values": pixels[0]}
        if self.kind.given == "pictures":
            seen = torch.ones_like(pixels[:, :, 0], dtype=torch.long)
            return {"pixel_values": pixels, "pixel_attention_mask": seen}
        return {
            **tensors,
            **({"second_per_grid_ts": torch.tensor([step * self.settings.steps])} if self.kind.rate else {}),
        }

    def _shown(self, clip: Clip, unit: Known) -> str:
        """What the processor writes for a video."""
        from transformers.video_utils import VideoMetadata

        metadata = VideoMetadata(
            total_num_frames=round(clip.duration * CLOCK) or 1,
            fps=float(CLOCK),
            duration=clip.duration,
            frames_indices=[round(seconds * CLOCK) for seconds in clip.seconds],
        )
        pixels = unit.tensors["pixel_values_videos"]
        inputs = {**unit.tensors, "pixel_values": pixels, "video_metadata": [metadata]}
        return str(self._describing.replace_video_token(inputs, 0))

    def _with_stills(
        self, instance: Instance, stills: Sequence[int], ids: list[int], pieces: Sequence[str], shown: Sequence[str]
    ) -> tuple[list[int], dict[int, Picture]]:
        """(the ids with the tokens of the single pictures, {number: such a picture}).

        Each picture is written by the processor on its own. A video may be written with image tokens too (internvl), so those of
        the pictures are found by counting.
        """
        ordinals, seen = set[int](), 0
        for piece, video in zip(pieces, [*shown, ""], strict=True):
            own = piece.count(self.image_token)
            ordinals.update(range(seen, seen + own))
            seen += own + video.count(self.image_token)
        left, found = iter(stills), dict[int, Picture]()
        written, ordinal = list[int](), 0
        for token in ids:
            if token != self.image_token_id:
                written.append(token)
                continue
            if ordinal in ordinals:
                number = next(left)
                alone = super()._encode(_only(instance, number, self.image_token), 1, None)
                found[number] = alone.pictures[0]
                written += alone.ids[alone.ids[:1] == [self.tokenizer.bos_token_id] :]
            else:
                written.append(token)
            ordinal += 1
        return written, found


def _places(clips: Iterable[Clip]) -> tuple[list[int], set[int]]:
    """(the number of the first frame of each video, the numbers of its other frames)."""
    clips = list(clips)
    return [clip.first for clip in clips], {n for clip in clips for n in range(clip.first + 1, clip.last)}


def _only(instance: Instance, number: int, token: str) -> Instance:
    """An instance with nothing but one of the pictures."""
    load = instance.images
    assert load is not None
    return replace(
        instance, context=token, images=lambda: [load()[number]], image_digests=instance.image_digests[number : number + 1],
        videos=(),
    )  # fmt: skip
