"""The page of a run with its samples in files beside it, so that a browser loads 100,000 of them part by part.

    write_run_page(Path("site/llava"), run, {"qwen": other})

A part is a script that calls `part(...)`: a script element loads it from a web server and from a disk alike, and each part names
the next one.
Beside them: the pictures of a run in full size, by the digest of what its prompts showed.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from mm_eval.data.frames import Frames
from mm_eval.data.media import encoded, picture_digest
from mm_eval.data.sent_files import file_identity
from mm_eval.data.sound.clip import Sound
from mm_eval.data.sound.forms import MIME
from mm_eval.engine.folder import RunFolder
from mm_eval.results.file import read_run
from mm_eval.results.page import SampleRows, page
from mm_eval.results.recorded import RecordedRun
from mm_eval.run_page import PageParts, about_run, title_of
from mm_eval.values.errors import MMEvalError, kind_and_text
from mm_eval.values.files import write_atomic
from mm_eval.values.safe import in_script

if TYPE_CHECKING:
    from mm_eval.open_tasks import OpenedTasks


ROWS = 1_000
"""Samples of a part: 0.3 to 2 MB."""
FIRST = 200
"""Samples of the first part, which the reader waits for."""
PAGE = "report.html"


def part(rows: Iterable[str], next_part: str | None, **more: object) -> Iterator[str]:
    """The script of a part in pieces. rows: JSON of each sample. next_part: its address; None for the last."""
    yield 'part({"rows":['
    for place, row in enumerate(rows):
        yield f",{row}" if place else row
    yield f'],"next":{in_script(next_part)}'
    for name, value in more.items():
        yield f",{in_script(name)}:{in_script(value)}"
    yield "});"


def write_run_page(
    folder: Path,
    run: RecordedRun,
    others: Mapping[str, RecordedRun],
    pictures: Mapping[str, object],
    kinds: Callable[[Mapping[str, object]], Mapping[str, str]],
    tick: Callable[[int], None] = lambda done: None,
    release: Mapping[str, object] | None = None,
) -> int:
    """Writes the page and its parts into a folder and returns the number of samples.

    others: runs whose answers stand beside each sample, by their names. pictures: the addresses of the folders `thumbnails` and
    `full`, from the page, and whether those in full size are `listed`. kinds: gets each sample and gives {digest: file name
    ending} of its listed pictures. tick: gets the number of samples so far.
    release: the links of `links_of_release`.
    """
    beside = {name: other for name, other in others.items() if other.spec["tasks"].keys() & run.spec["tasks"].keys()}
    parts = PageParts(run)
    rows = SampleRows(run, list(beside.values()), look=parts.look)
    done, number, each = 0, 1, iter(rows)
    chunk = list(islice(each, FIRST))
    while True:
        following = list(islice(each, ROWS)) if chunk else []
        found: dict[str, str] = {}
        for row in chunk:
            found.update(kinds(row))
        name = f"rows/{number + 1}.js" if following else None
        write_atomic(folder / f"rows/{number}.js", part(map(in_script, chunk), name, kinds=found), durable=False)
        done += len(chunk)
        tick(done)
        if not following:
            break
        chunk, number = following, number + 1
    about = {
        **about_run(run, rows.categories, parts, list(beside)),
        "own": run.model if beside else "",
        "next": "rows/1.js",
        "samples": done,
        "pictures": pictures,
        **(release or {}),
    }
    RunFolder(folder).write_lines(PAGE, page(title_of(run), "run.js", [], lambda: [], lambda: about, in_parts=True))
    return done


ENDINGS = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp", "image/gif": "gif", "image/bmp": "bmp"}
ENDINGS |= {mime: form for form, mime in MIME.items()}
"""File name endings of the types that browsers show and play."""


class RunPictures:
    """The docs of a run, opened when they are first needed. May be used by several threads.

    problem: why they can't be opened; empty otherwise.
    """

    def __init__(self, request: dict[str, object], spec: dict[str, object], include_path: str | None = None) -> None:
        self._request, self._spec, self._include_path = request, spec, include_path
        self._opened: OpenedTasks | None = None
        self._lock = RLock()
        self.problem = ""

    @classmethod
    def of_folder(cls, folder: Path, include_path: str | None = None) -> RunPictures:
        """Of the run whose run.json is in a folder. Raises ConfigError or StoreError if it can't be read."""
        run = read_run(folder)
        return cls(run["request"], run["spec"], include_path)

    def tasks(self) -> OpenedTasks | None:
        """The run's tasks with their data; None if either has changed since the run.

        Task code comes from the installation and from `include_path`, data from this machine.
        """
        from mm_eval.prepare import prepare_from_spec
        from mm_eval.trust import for_data_alone, trusted_request

        with self._lock:
            if self._opened is None and not self.problem:
                try:
                    request = trusted_request(for_data_alone(self._request), self._include_path, Path("."))
                    self._opened = prepare_from_spec(request, self._spec)
                except MMEvalError as error:
                    self.problem = str(error)
                except Exception as error:  # a task's own file
                    self.problem = kind_and_text(error)
            return self._opened

    def of_doc(self, name: str, doc_id: int, wanted: Container[str]) -> Iterator[tuple[str, str, bytes]]:
        """(digest, MIME type, content) of each picture and sound of a doc's question. Nothing where the doc can't be
        read any more.

        wanted: the digests that are looked for: of files, of pixels, or of frames.
        """
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
                        jpeg = io.BytesIO()
                        frame.save(jpeg, "JPEG", quality=92)
                        yield digest, "image/jpeg", jpeg.getvalue()
                elif isinstance(picture, Sound):
                    form, content = picture.encoded(tuple(MIME))
                    yield picture.digest, MIME[form], content
                else:
                    own = file_identity(picture)
                    digest = own if own is not None and own in wanted else picture_digest(picture)
                    yield digest, *encoded(picture, digest)
        except Exception:  # foreign bytes and a task's own code: the page shows the thumbnail
            return
