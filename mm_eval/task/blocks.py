"""Prompt blocks: the kwargs of `model_specific_prompt_kwargs` that suit a model, and who reads them."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Protocol

from mm_eval.errors import ConfigError, did_you_mean
from mm_eval.types import Doc

log = logging.getLogger(__name__)

PROMPT_KEYWORDS = ("model_specific_prompt_kwargs", "lmms_eval_specific_kwargs")
"""The two names under which a task's function may ask for the prompt block of the model."""

TARGET_KEYWORD = "model_specific_target_kwargs"
"""The name under which it may ask for what the right answer looks like after that prompt (ai2d: a letter or the option)."""


class Asked(Protocol):
    """What is needed of a task to see which keys its functions read."""

    @property
    def config(self) -> Any: ...
    @property
    def docs(self) -> Any: ...
    def question(self, doc: Doc, block: PromptBlock, where: str) -> Any: ...


@dataclass(frozen=True)
class PromptBlock:
    """The prompt kwargs that hold for one task and one model.

    key: the block that was laid over `default` ("default" itself where none was).
    kwargs: what the task's functions get. read: where it is a set, the keys that they look for are put into it.
    targets: the task's `model_specific_target_kwargs`, of which the entry of this key holds, else `default`.
    stated: the task has prompt blocks, even if none is for this model; where it has none, a function's own default holds.
    """

    key: str = "default"
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    read: set[str] | None = field(default=None, compare=False)
    targets: Mapping[str, Any] = field(default_factory=dict)
    stated: bool = True

    def of_task(self, config: Any) -> PromptBlock:
        """This block with what else a task's config says about it."""
        return replace(self, targets=config.target_kwargs, stated=bool(self.kwargs or config.prompt_kwargs))

    @cached_property
    def name(self) -> str:
        """What tells this block from a task's others: what a function showed with one is not what it shows with another."""
        return f"{self.key} {dict(self.kwargs)!r}"

    def for_function(self) -> dict[str, Any]:
        """The kwargs as a task's function gets them: a copy, which notes what is read where that is asked for."""
        return dict(self.kwargs) if self.read is None else RecordingBlock(self.kwargs, self.read)


class RecordingBlock(dict[str, Any]):
    """Prompt kwargs that note which keys a task's function looks for, whether they are there or not."""

    def __init__(self, kwargs: Mapping[str, Any], read: set[str]) -> None:
        super().__init__(kwargs)
        self._read = read

    def __getitem__(self, key: str) -> Any:
        self._read.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self._read.add(key)
        return super().get(key, default)

    def pop(self, key: str, *default: Any) -> Any:
        self._read.add(key)
        return super().pop(key, *default)

    def __contains__(self, key: object) -> bool:
        self._read.add(str(key))
        return super().__contains__(key)

    def __iter__(self) -> Iterator[str]:
        self._read.update(super().keys())
        return super().__iter__()

    def keys(self) -> Any:
        self._read.update(super().keys())
        return super().keys()

    def values(self) -> Any:
        self._read.update(super().keys())
        return super().values()

    def items(self) -> Any:
        self._read.update(super().keys())
        return super().items()


def choose_block(blocks: Mapping[str, Any] | None, model_keys: Sequence[str], asked: str | None = None) -> PromptBlock:
    """`default` overlaid by the most specific block of the model, or by the one asked for where the task has it.

    blocks: `model_specific_prompt_kwargs` of a task; a task without `default` is fine.
    model_keys: from most to least specific.
    """
    blocks = blocks or {}
    keys = (asked,) if asked else model_keys
    key = next((key for key in keys if key in blocks), "default")
    default, chosen = blocks.get("default") or {}, blocks.get(key) or {}
    if isinstance(default, Mapping) and isinstance(chosen, Mapping):
        return PromptBlock(key, {**default, **chosen})
    raise ConfigError(f"the prompt block {key!r} is not a mapping: {chosen!r}.")


def call(function: Callable[..., Any], doc: Doc, block: PromptBlock, *, second: bool = False) -> Any:
    """Calls a task's function with the doc and, if it declares their keywords, with the prompt block and the target's entry.

    second: a second argument is the prompt block whatever its name, as it is for doc_to_text, doc_to_visual and doc_to_messages.
    """
    asked = _asked(function)
    if second and asked.unnamed and block.stated:
        return function(doc, block.for_function())
    given: dict[str, Any] = {}
    for keyword, has_default in asked.keywords.items():
        if keyword == TARGET_KEYWORD:
            if block.targets:
                given[keyword] = block.targets.get(block.key, block.targets.get("default"))
        elif block.stated or not has_default:
            given[keyword] = block.for_function()
    return function(doc, **given)


@dataclass(frozen=True)
class _Asked:
    """What a function takes beside the doc. keywords: ours that it declares, and whether each has a default.

    unnamed: none of these, but a second argument of another name.
    """

    keywords: Mapping[str, bool] = field(default_factory=dict)
    unnamed: bool = False


@lru_cache(maxsize=4096)
def _asked(function: Callable[..., Any]) -> _Asked:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a builtin without a signature
        return _Asked()
    ours = {p.name: p.default is not p.empty for p in parameters if p.name in (*PROMPT_KEYWORDS, TARGET_KEYWORD)}
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return _Asked(ours, not ours and len(places) > 1)


def _takes_block(function: Any, part: str) -> bool:
    asked = _asked(function) if callable(function) else _Asked()
    named = any(keyword in PROMPT_KEYWORDS for keyword in asked.keywords)
    return named or asked.unnamed and part in ("text", "visual", "messages")


def check_prompt_keys(task: Asked, doc_ids: Sequence[int], blocks: Sequence[PromptBlock]) -> None:
    """Checks that some function of the task reads each key of its prompt blocks that says something.

    An empty text is not missed: MMBench's blocks say `pre_prompt: ""`, which none of its functions reads.
    lmms-eval's own files have keys that their functions don't read; these are one warning. A key that the user adds is not.
    Errors: ConfigError naming the keys that none reads, with what they look for instead.
    """
    config = task.config
    own = {key for block in config.prompt_kwargs.values() for key in block or ()} if config.of_lmms_eval else set()
    harmless: list[str] = []
    for block in blocks:
        unread, read = _unread(task, doc_ids, block)
        if wrong := [key for key in unread if key not in own]:
            raise ConfigError(
                f"no function of {config.path} reads {_keys(wrong)} of the prompt block {block.key!r}.",
                where=config.where("prompt_kwargs"),
                hint=did_you_mean(wrong[0], read),
            )
        if unread:
            harmless.append(f"{_keys(unread)} of {block.key!r}")
    if harmless:
        what = "no function of %s reads these keys of its prompt blocks: %s. They have no effect."
        log.warning(f"%s: {what}", config.where("prompt_kwargs"), config.path, "; ".join(harmless))


def _keys(names: Sequence[str]) -> str:
    return f"the key{'s' if len(names) > 1 else ''} {', '.join(map(repr, names))}"


def _unread(task: Asked, doc_ids: Sequence[int], block: PromptBlock) -> tuple[list[str], set[str]]:
    """The keys of a block that say something and that no function of the task reads, and those that are read.

    A function may read a key for some kind of doc only, so that up to 100 docs are tried. A task none of whose functions takes
    the block is left alone.
    """
    config, read = task.config, set[str]()
    parts = ("text", "target", "choice", "visual", "messages")
    if not block.kwargs or not any(_takes_block(getattr(config, f"doc_to_{part}"), part) for part in parts):
        return [], read
    recording = replace(block, read=read)
    telling = [key for key, value in block.kwargs.items() if value not in ("", None)]
    for doc_id in doc_ids[:100]:
        task.question(task.docs.text(doc_id), recording, f"{config.path} doc {doc_id}")
        if read.issuperset(telling):
            return [], read
    for part in ("visual", "messages"):
        of_whole_doc = getattr(config, f"doc_to_{part}")
        if _takes_block(of_whole_doc, part):
            try:
                call(of_whole_doc, task.docs.full(doc_ids[0]), recording, second=True)
            except Exception:  # the task's own code: what it raises is told when the doc is asked
                return [], read
    return [key for key in telling if key not in read], read
