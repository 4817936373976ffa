"""Thumbnails of the pictures that were asked about, by content: media/ab/<sha256 of the pixels>.jpg.

Made after a run, from the docs and not from the answers' path, so that no answer waits for a picture to be made smaller.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from mm_eval.errors import MMEvalError
from mm_eval.report.html import thumbnail_path
from mm_eval.task.media import picture_digest, visuals_of
from mm_eval.task.task import PromptStyle, Task

SIDE = 320
"""Pixels of the longer side: a sharp picture at the width of a phone, in 5 to 15 KB."""


def write_thumbnails(folder: Path, task: Task, style: PromptStyle, wanted: Iterable[tuple[int, list[str]]]) -> int:
    """Writes the thumbnails that are missing and returns how many.

    wanted: (doc id, digests of its pictures). A picture that can't be had any more is left out: the page says so.
    """
    made = 0
    if task.config.doc_to_visual is None:
        return made
    for doc_id, digests in wanted:
        if all(thumbnail_path(folder, digest).exists() for digest in digests):
            continue
        try:
            pictures = visuals_of(task.config.doc_to_visual, task.docs.full(doc_id), style.block, f"doc {doc_id}")
        except MMEvalError:
            continue
        for picture in pictures:
            path = thumbnail_path(folder, picture_digest(picture))
            if path.exists():
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            small = picture.copy()
            small.thumbnail((SIDE, SIDE))
            beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
            small.save(beside, format="JPEG", quality=80, optimize=True)
            os.replace(beside, path)
            made += 1
    return made


def pictures_of(rows: Iterable[Mapping[str, object]]) -> list[tuple[int, list[str]]]:
    """The docs of samples/<task>.jsonl that have pictures, with their digests."""
    found: list[tuple[int, list[str]]] = []
    for row in rows:
        images, doc_id = row.get("images"), row["doc_id"]
        if isinstance(images, list) and isinstance(doc_id, int):
            found.append((doc_id, [str(digest) for digest in images]))
    return found
