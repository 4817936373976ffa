"""Media that are shown as frames: what the core knows of them, and the one feature that reads them.

A medium is a file with an identity. A rule chooses its frames ("frames=32"); only the feature can read the rule, and its text in
full is all that the core holds. The chosen frames are decoded when they are asked for. The feature names the file that fulfils
`Medium` under `MEDIA` in its `__init__.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from mm_eval.values.errors import ConfigError
from mm_eval.values.features import brought

if TYPE_CHECKING:
    from PIL.Image import Image

    from mm_eval.data.places import Places
    from mm_eval.values.types import Clip

DEFAULT_RULE = "frames=8,ends"
"""The rule where neither the user, nor the prompt block, nor the model states one."""

OF_FILE = 32
"""The characters of a frame's digest that are equal for all frames of one file: FRAME_MARK and 27 digits of the file's sha256."""


class Frames(ABC):
    """The chosen frames of one file, not decoded.

    digests: their identities, which begin with that of the file (`OF_FILE`).
    """

    digests: tuple[str, ...]

    @property
    @abstractmethod
    def pixels(self) -> int:
        """Of all frames."""

    @abstractmethod
    def pictures(self) -> list[Image]:
        """Decodes the frames. DataError if one can't be decoded, or the file has changed since it was looked at."""

    @abstractmethod
    def clip(self, first: int) -> Clip:
        """The frames as a value of an instance. first: the number of the first one among its pictures."""


class Medium(Protocol):
    """What the feature brings: a module with these names. KIND: what one file is called in messages."""

    KIND: str

    def full_rule(self, text: object, where: str = "") -> str:
        """A rule with all that it leaves out, in one spelling. ConfigError, located at `where`, if it is none."""

    def shown_as(self, way: str, rule: str) -> str:
        """How a model gets the frames, for the report. way: as `PromptBlock.frames_as`."""

    def frames_of(self, item: Any, rule: str, places: Places) -> Frames | None:
        """The frames of what a task's function returned. None if it is of another kind. DataError if it can't be read."""


@cache
def _brought() -> Medium | None:
    return next(iter(brought("MEDIA").values()), None)


def medium() -> Medium:
    """The medium that a feature brings. ConfigError if none does."""
    if (found := _brought()) is None:
        raise ConfigError("no feature of mm_eval reads files with frames.", hint="Install mm_eval anew.")
    return found


def frames_of(item: Any, rule: str, places: Places) -> Frames | None:
    """As `Medium.frames_of`; None, too, where no feature brings a medium. A picture needs none."""
    from PIL.Image import Image

    found = None if isinstance(item, Image) else _brought()
    return found.frames_of(item, rule, places) if found else None


def files_of(digests: Iterable[str]) -> tuple[str, ...]:
    """The files that pictures of a prompt are frames of, each once, in the order in which they are shown."""
    from mm_eval.values.types import FRAME_MARK  # here, since `--help` imports this file and no values

    return tuple(dict.fromkeys(digest[:OF_FILE] for digest in digests if digest.startswith(FRAME_MARK)))
