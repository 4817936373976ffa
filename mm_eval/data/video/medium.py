"""Videos as prompts see them: their rules and their frames. `frames` reads files, and is imported when there is one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mm_eval.config.arguments import Rule
from mm_eval.data.video.rule import NEEDED, is_rule, read_rule, shown_as
from mm_eval.values.types import Video

if TYPE_CHECKING:
    from mm_eval.data.frames import Frames
    from mm_eval.data.places import Places

KIND = "video"
RULE = Rule(NEEDED, is_rule)

__all__ = ["KIND", "RULE", "frames_of", "full_rule", "shown_as"]


def full_rule(text: object, where: str = "") -> str:
    """A rule in its full form, as `FrameRule` writes it.

    >>> full_rule("frames=32")
    'frames=32,ends'
    """
    return str(read_rule(text, where))


def frames_of(item: object, rule: str, places: Places) -> Frames | None:
    """The frames of a Video or a path, and an error for a file of sound (`frames.frames_of`). None for anything else."""
    if not isinstance(item, (str, os.PathLike, Video)):
        return None
    from mm_eval.data.video.frames import frames_of as found

    return found(item, read_rule(rule), places)
