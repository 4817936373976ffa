"""A video's shown frames as a record, in the journal and in the samples."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from mm_eval.types import Clip

STORED = ("first", "seconds", "numbers", "total", "duration", "fps", "start", "end", "rule")


def clip_record(clip: Clip) -> dict[str, Any]:
    """A clip as JSON values, with the file's name in place of its path."""
    return {**{name: getattr(clip, name) for name in STORED}, "path": os.path.basename(clip.path)}


def clip_of(record: Mapping[str, Any]) -> Clip:
    """The clip that `clip_record` wrote. Its path is the file's name alone."""
    fields: dict[str, Any] = {name: record[name] for name in (*STORED, "path")}
    return Clip(**{**fields, "seconds": tuple(record["seconds"]), "numbers": tuple(record["numbers"])})
