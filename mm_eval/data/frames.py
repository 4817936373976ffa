"""The frames of a file: what the readers of videos give, and what prompts, pages and adapters take.

A rule chooses the frames ("frames=32"); they are decoded when they are asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from PIL.Image import Image

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

    @abstractmethod
    def asked_for_sound(self) -> Self:
        """These frames of a file without sound, in a question that asks for its sound (`Clip.silent`)."""


def files_of(digests: Iterable[str]) -> tuple[str, ...]:
    """The files that pictures of a prompt are frames of, each once, in the order in which they are shown."""
    from mm_eval.values.types import FRAME_MARK  # here, since `--help` imports this file and no values

    return tuple(dict.fromkeys(digest[:OF_FILE] for digest in digests if digest.startswith(FRAME_MARK)))
