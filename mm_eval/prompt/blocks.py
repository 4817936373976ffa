"""Prompt blocks: the prompt kwargs that a task states for a model, and how they reach the task's functions.

A task file states its blocks under `model_specific_prompt_kwargs` (in lmms-eval `lmms_eval_specific_kwargs`): `default`, and one
for each model key that differs. Under `model_specific_target_kwargs` it may state what the right answer looks like after each of
them. `choose_block` makes the block of a run, and `call` passes it to a function.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

from mm_eval.config.located import LocatedDict
from mm_eval.config.task_config import TaskConfig
from mm_eval.data.frames import DEFAULT_RULE
from mm_eval.data.video.medium import full_rule, shown_as
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import Clip, Doc, Fields

FRAMES_KEY, FRAMES_AS_KEY = "video", "video_input"
"""The keys of run.json and results.json under which a prompt states its rule of frames and how they are shown."""

VIDEO_SOUND_KEY = "video_sound"
"""The key there of a prompt in which each video is heard, too."""

PROMPT_KEYWORDS = ("model_specific_prompt_kwargs", "lmms_eval_specific_kwargs")
"""A task's function that declares one of these parameters gets the prompt kwargs there."""

AROUND = {"pre_prompt": "", "post_prompt": ""}
"""The keys of a prompt block that every template may read."""

TARGET_KEYWORD = "model_specific_target_kwargs"
"""A function that declares this parameter gets the entry of the block's key there (ai2d: answer with a letter or the option)."""

CLIPS_KEYWORD = "clips"
"""A function that declares this parameter gets the `Clip` of each video of its question: the shown frames and the subtitles."""


@dataclass(frozen=True)
class PromptBlock:
    """The prompt kwargs of one task for one model.

    key: the block that was laid over `default`; "default" if there was none.
    kwargs: the result, as the task's functions get it.
    targets: the task's `model_specific_target_kwargs`, by block key.
    stated: false if the task has no prompt blocks; the default of a function's own parameter then holds.
    read: if given, each key that a function looks up is added to it; `names_in` says what a template reads.
    frames: the rule by which frames of a video are shown: `--video`, else the block's key `video`, which no function gets, else
        the model's own rule. frames_as: how the model gets them (`ModelFacts.frames_as`).
    video_sound: whether the sound of each video is part of its question, whatever the task states (`ModelFacts.hears_videos`).
    clips: the shown frames of one question; none while it is not known which frames are shown.
    places: file:line of each key, where it comes from a file.
    """

    key: str = "default"
    kwargs: Mapping[str, object] = field(default_factory=dict)
    targets: Mapping[str, object] = field(default_factory=dict)
    stated: bool = True
    read: set[str] | None = field(default=None, compare=False)
    frames: str = DEFAULT_RULE
    frames_as: str = "pictures"
    video_sound: bool = False
    clips: tuple[Clip, ...] = field(default=(), compare=False)
    places: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of_task(
        cls,
        config: TaskConfig,
        key: str = "default",
        kwargs: Mapping[str, object] | None = None,
        frames: str = DEFAULT_RULE,
        frames_as: str = "pictures",
    ) -> PromptBlock:
        """The block of a task with these kwargs."""
        stated = bool(kwargs or config.prompt_kwargs)
        return cls(key, kwargs or {}, config.target_kwargs, stated, frames=frames, frames_as=frames_as)

    @classmethod
    def recorded(cls, config: TaskConfig, prompt: Fields) -> PromptBlock:
        """The block that `to_json` wrote."""
        frames = full_rule(prompt[FRAMES_KEY], "run.json") if FRAMES_KEY in prompt else DEFAULT_RULE
        found = cls.of_task(config, prompt["key"], prompt["kwargs"], frames, prompt.get(FRAMES_AS_KEY, "pictures"))
        return replace(found, video_sound=prompt.get(VIDEO_SOUND_KEY) is True)

    def to_json(self) -> dict[str, object]:
        """For run.json. Default values of frames are not stated."""
        rule = {} if self.frames == DEFAULT_RULE else {FRAMES_KEY: self.frames}
        shown = {} if self.frames_as == "pictures" else {FRAMES_AS_KEY: self.frames_as}
        heard = {VIDEO_SOUND_KEY: True} if self.video_sound else {}
        return {"key": self.key, "kwargs": dict(self.kwargs), **rule, **shown, **heard}

    @cached_property
    def cache_key(self) -> str:
        """Differs between two blocks of a task for which its functions may show different pictures."""
        return f"{self.key} {dict(self.kwargs)!r} {self.frames}{' heard' if self.video_sound else ''}"

    @property
    def shown_as(self) -> str:
        """What is shown as frames, and how the model gets them, for the report: "video: the frames are shown as pictures"."""
        return f"video: {shown_as(self.frames_as, self.frames)}"

    def without_texts(self) -> PromptBlock:
        """The block without the texts around a question, for a format, which lays out the question itself."""
        around = {name: "" for name in ("pre_prompt", "post_prompt") if self.kwargs.get(name)}
        return replace(self, kwargs={**self.kwargs, **around}) if around else self

    def for_function(self) -> dict[str, object]:
        """A copy of the kwargs for a task's function."""
        return dict(self.kwargs) if self.read is None else _RecordingBlock(self.kwargs, self.read)

    def for_template(self) -> Mapping[str, object]:
        """The kwargs for a template, with the texts around a question where none are stated; `post_prompt:` alone is empty."""
        return {**AROUND, **{name: "" if value is None else value for name, value in self.kwargs.items()}}


def choose_block(
    config: TaskConfig,
    model_keys: Sequence[str],
    requested: str | None = None,
    blocks: Mapping[str, object] | None = None,
    frames: str | None = None,
    of_model: tuple[str, str] = ("", "pictures"),
) -> PromptBlock:
    """The block of a run: `default` overlaid by the requested block, or else by the most specific block of the model.

    model_keys: the model's prompt keys, most specific first. requested: `--prompt_key`; a task without it uses `default`.
    blocks: the task's blocks with those of the user; by default the task's own. frames: `--video`, before the block's own rule.
    of_model: its rule of frames, used last, and how it gets them (`ModelFacts.frames_rule`, `ModelFacts.frames_as`).
    """
    blocks = config.prompt_kwargs if blocks is None else blocks
    keys = (requested,) if requested else model_keys
    key = next((key for key in keys if key in blocks), "default")
    default, chosen = blocks.get("default") or {}, blocks.get(key) or {}
    if not isinstance(default, Mapping) or not isinstance(chosen, Mapping):
        raise ConfigError(f"the prompt block {key!r} is not a mapping: {chosen!r}.")
    kwargs = {**default, **chosen}
    stated = kwargs.pop(FRAMES_KEY, None)
    own, frames_as = of_model
    if frames is not None:
        rule = full_rule(frames)
    elif stated is not None:
        rule = full_rule(stated, f"{config.where('prompt_kwargs')}: `video` of the block {key!r}")
    else:
        rule = full_rule(own, "the model's own rule") if own else DEFAULT_RULE
    places = {
        name: of.where(name) for of in (default, chosen) if isinstance(of, LocatedDict) for name in of if name in kwargs
    }
    return replace(PromptBlock.of_task(config, key, kwargs, rule, frames_as), places=places)


def call(function: Callable[..., object], doc: Doc, block: PromptBlock, *, second: bool = False) -> object:
    """Calls a task's function with the doc, and with the prompt kwargs and the target entry if it declares them.

    second: a second parameter of any name gets the prompt kwargs, as in doc_to_text, doc_to_visual and doc_to_messages.
    """
    parameters = _parameters(function)
    if second and parameters.other and block.stated:
        return function(doc, block.for_function())
    arguments: dict[str, object] = {}
    for keyword, has_default in parameters.known.items():
        if keyword == TARGET_KEYWORD:
            if block.targets:
                arguments[keyword] = block.targets.get(block.key, block.targets.get("default"))
        elif keyword == CLIPS_KEYWORD:
            arguments[keyword] = block.clips
        elif block.stated or not has_default:
            arguments[keyword] = block.for_function()
    return function(doc, **arguments)


def check_pixel_limits(blocks: Mapping[str, PromptBlock], model_args: Mapping[str, object]) -> None:
    """ConfigError if the model would resize again what a task has resized so that it knows the pixels that the model counts.

    blocks: by task. A block states such pixels under `coordinates` (docs/guides/grounding.md).
    """
    for task, name, known in _resized_again(blocks, model_args):
        what = (
            f"{task} reads pixels of pictures resized with {name}={known}, but the model has {name}={model_args[name]}."
        )
        hint = (
            f"Leave it out, or state {name} under `coordinates` in the block {blocks[task].key!r} of a task of yours."
        )
        raise ConfigError(what, where="--model_args", hint=hint)


def pixel_notes(blocks: Mapping[str, PromptBlock], limits: Mapping[str, int]) -> Iterator[str]:
    """The same of limits that the user has a server keep to, where only the server knows whether it does."""
    for task, name, known in _resized_again(blocks, limits):
        yield (
            f"{task} reads boxes as pixels of pictures resized with {name}={known}, and the server is told {name}="
            f"{limits[name]}: where that resizes a picture again, its boxes are read wrongly"
        )


def _resized_again(blocks: Mapping[str, PromptBlock], limits: Mapping[str, object]) -> Iterator[tuple[str, str, int]]:
    """(task, name of a limit, the task's own value) where a picture that the task has resized is outside of the limits."""
    for task, block in blocks.items():
        stated = block.kwargs.get("coordinates")
        if not isinstance(stated, Mapping):
            continue
        for name, sign in (("min_pixels", -1), ("max_pixels", 1)):
            given, known = str(limits.get(name, "")), stated.get(name)
            if given.isdecimal() and isinstance(known, int) and sign * int(given) < sign * known:
                yield task, name, known


@dataclass(frozen=True)
class _Parameters:
    """The parameters of a task's function beside the doc.

    known: those of PROMPT_KEYWORDS, TARGET_KEYWORD and CLIPS_KEYWORD that it declares, and whether each has a default.
    other: it declares none of these, but has a second parameter.
    """

    known: Mapping[str, bool] = field(default_factory=dict)
    other: bool = False


def _parameters(function: Callable[..., object]) -> _Parameters:
    # by its signature where it has one of its own: a function of another process is not kept, nor is that process
    return _parameters_of(getattr(function, "__signature__", function))


@lru_cache(maxsize=4096)
def _parameters_of(given: Any) -> _Parameters:
    try:
        signature = given if isinstance(given, inspect.Signature) else inspect.signature(given)
        parameters = list(signature.parameters.values())
    except (TypeError, ValueError):  # a builtin without a signature
        return _Parameters()
    names = (*PROMPT_KEYWORDS, TARGET_KEYWORD, CLIPS_KEYWORD)
    known = {each.name: each.default is not each.empty for each in parameters if each.name in names}
    positional = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    return _Parameters(known, not known and len(positional) > 1)


class _RecordingBlock(dict[str, Any]):
    """Prompt kwargs that record the keys that a function looks up, present or not; iterating over them looks up all."""

    def __init__(self, kwargs: Mapping[str, object], read: set[str]) -> None:
        super().__init__(kwargs)
        self.read = read


def _recording(name: str) -> Callable[..., object]:
    """The method of dict with this name, for a _RecordingBlock."""

    def method(block: _RecordingBlock, *args: object) -> object:
        block.read.update(map(str, args[:1]) if args else dict.keys(block))
        return getattr(dict, name)(block, *args)

    return method


for _name in ("__getitem__", "get", "pop", "__contains__", "__iter__", "keys", "values", "items"):
    setattr(_RecordingBlock, _name, _recording(_name))


def takes_clips(entry: object) -> bool:
    """Whether a config entry is a function whose result depends on the shown frames of the videos."""
    return callable(entry) and CLIPS_KEYWORD in _parameters(entry).known


def takes_targets(entry: object) -> bool:
    """Whether a config entry is a function that takes the block's entry of `model_specific_target_kwargs`."""
    return callable(entry) and TARGET_KEYWORD in _parameters(entry).known


def names_in(entry: object) -> frozenset[str]:
    """The names that a config entry reads, of columns and of keys of the prompt block; none of one that is not a template."""
    if not isinstance(entry, str) or "{" not in entry:
        return frozenset()
    from mm_eval.prompt.template import names_read  # jinja2 takes 20 ms of CPU, and many tasks have no template

    return names_read(entry)


def takes_block(entry: object, second: bool) -> bool:
    """Whether a config entry is a function that takes the prompt kwargs. second: as in `call`."""
    if not callable(entry):
        return False
    parameters = _parameters(entry)
    return any(keyword in PROMPT_KEYWORDS for keyword in parameters.known) or parameters.other and second
