"""The pictures of a run in full size, by the digest of what its prompts showed.

    pictures = RunPictures.of_folder(Path("runs/llava"))
    for digest, mime, content in pictures.of_doc("mme", 0): ...

A picture comes from the data of the run's tasks and is given only if its pixels have the digest that the run recorded.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from mm_eval.errors import MMEvalError
from mm_eval.task.media import encoded, picture_digest
from mm_eval.task.video.frames import Frames

if TYPE_CHECKING:
    from mm_eval.prepare import OpenedTasks

ENDINGS = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp", "image/gif": "gif", "image/bmp": "bmp"}
"""File name endings of the types that browsers show."""


class RunPictures:
    """The docs of a run, opened when they are first needed. May be used by several threads.

    problem: why they can't be opened; empty otherwise.
    """

    def __init__(self, request: dict[str, Any], spec: dict[str, Any]) -> None:
        self._request, self._spec = request, spec
        self._opened: OpenedTasks | None = None
        self._lock = RLock()
        self.problem = ""

    @classmethod
    def of_folder(cls, folder: Path) -> RunPictures:
        """Of the run whose run.json is in a folder. Raises OSError, ValueError or KeyError if it can't be read."""
        run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        return cls(run["request"], run["spec"])

    def tasks(self) -> OpenedTasks | None:
        """The run's tasks with their data; None if they are no longer what the run was requested on."""
        from mm_eval.prepare import prepare_from_spec
        from mm_eval.request import RunRequest

        with self._lock:
            if self._opened is None and not self.problem:
                try:
                    self._opened = prepare_from_spec(RunRequest.from_json(self._request), self._spec)
                except MMEvalError as error:
                    self.problem = str(error)
                except Exception as error:  # a task's own file
                    self.problem = f"{type(error).__name__}: {error}"
            return self._opened

    def of_doc(self, name: str, doc_id: int) -> Iterator[tuple[str, str, bytes]]:
        """(digest, MIME type, content) of each picture of a doc's question. Nothing where the doc can't be read any more."""
        opened = self.tasks()
        if opened is None or name not in opened.tasks:
            return
        task = opened.tasks[name]
        try:
            with self._lock:
                doc = task.docs.full(doc_id)
                shown = task.pictures(doc, opened.styles[name], f"doc {doc_id}", task.docs.places)
            for picture in shown:
                if isinstance(picture, Frames):
                    for digest, frame in zip(picture.digests, picture.pictures(), strict=True):
                        yield digest, "image/jpeg", _jpeg(frame)
                else:
                    digest = picture_digest(picture)
                    yield digest, *encoded(picture, digest)
        except Exception:  # foreign bytes and a task's own code: the page shows the thumbnail
            return


def _jpeg(picture: Any) -> bytes:
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=92)
    return file.getvalue()
