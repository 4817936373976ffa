"""Run folders as static files for a web server: a release page, a page of each run in parts, all pictures in full size.

    write_bundle(Path("site"), [RecordedRun.read("runs/llava")], release_table(runs))

    index.html                      the release page
    preview.png                     its picture for links, where the address of the site is known
    <run>/report.html  <run>/rows/  the page of a run, and its samples
    thumbnails/ab/<digest>.jpg      of all runs
    pictures/ab/<digest>.png        in full size

Links are relative, so the folder can be moved, and its pages also open from a disk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mm_eval.results.media import Media
from mm_eval.results.recorded import RecordedRun, told_apart
from mm_eval.results.sample_rows import sample_name
from mm_eval.results.thumbnails import thumbnail
from mm_eval.run_page import links_of_release
from mm_eval.values.errors import ConfigError
from mm_eval.values.files import write_atomic
from mm_eval.values.run_files import real_path
from mm_eval.values.types import picture_name
from mm_eval.values.words import counted
from mm_eval.verbs.report.figures import preview
from mm_eval.verbs.report.release.page import write_release_page
from mm_eval.verbs.report.release.table import ReleaseTable
from mm_eval.verbs.report.site.parts import ENDINGS, PAGE, RunPictures, write_run_page

INDEX, PICTURE = "index.html", "preview.png"
FOLDERS = {"thumbnails": "../thumbnails/", "full": "../pictures/", "listed": True}


def names_of(folders: Sequence[Path]) -> list[str]:
    """A name for each run folder that is safe in an address; unlike for two folders of one name."""
    names: list[str] = []
    for folder in folders:
        name = own = sample_name(real_path(folder).name).replace("@", "_").replace("+", "_")
        number = 2
        while name in (*names, "thumbnails", "pictures", INDEX, PICTURE):
            name, number = f"{own}-{number}", number + 1
        names.append(name)
    return names


def beside(names: Sequence[str], runs: Sequence[RecordedRun], own: RecordedRun) -> dict[str, RecordedRun]:
    """The other runs by what they are called beside a sample: the model's name, with the folder's where two have one name."""
    models = [run.model for run in told_apart(runs)]
    return {
        model if models.count(model) == 1 else f"{model} ({name})": run
        for name, model, run in zip(names, models, runs, strict=True)
        if run is not own
    }


def write_bundle(
    folder: Path,
    runs: Sequence[RecordedRun],
    table: ReleaseTable,
    said: Callable[[str], None] = lambda text: None,
    url: str = "",
) -> Path:
    """Writes the files into a new or empty folder and returns the page to open first. index.html is written last.

    url: where the folder will stand, for the picture that other sites show beside a link: they need its whole address. It is
    drawn by matplotlib.
    said: gets a sentence on each run when it is written. Errors: ConfigError for a folder with files in it; OSError; StoreError.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError("there are files already.", where=str(folder), hint="Name a new folder, or delete this one.")
    names = names_of([run.folder for run in runs])
    for name, run in zip(names, runs, strict=True):
        with Media(run.folder) as media:
            files = _Files(folder, run, media)
            others = beside(names, runs, run)
            links = {each: f"../{names[[*map(id, runs)].index(id(other))]}/{PAGE}" for each, other in others.items()}
            release = links_of_release(f"../{INDEX}", links)
            count = write_run_page(folder / name, run, others, FOLDERS, files.of_row, release=release)
        said(f"{run.folder}: {counted(count, 'sample')}{files.said()}")
    pages = {run.folder: f"{name}/{PAGE}" for name, run in zip(names, runs, strict=True)}
    if url:
        write_atomic(folder / PICTURE, preview(table), durable=False)
    return write_release_page(folder / INDEX, table, pages, f"{url.rstrip('/')}/{PICTURE}" if url else None)


class _Files:
    """Writes the pictures of a run's samples. Each is written once, also where several runs show it."""

    def __init__(self, folder: Path, run: RecordedRun, media: Media) -> None:
        self._folder, self._media = folder, media
        self._pictures = RunPictures(dict(run.request), dict(run.spec))
        self._kinds: dict[str, str] = {}
        self._lacking: set[str] = set()

    def of_row(self, row: Mapping[str, Any]) -> dict[str, str]:
        """{digest: file name ending} of the sample's pictures that are there in full size."""
        wanted = [*row.get("images", ()), *(digest for digest, *_ in row.get("y", ()))]
        new = [digest for digest in wanted if digest not in self._kinds and digest not in self._lacking]
        if new:
            self._write(row["t"], row["d"], new)
        return {digest: self._kinds[digest] for digest in wanted if digest in self._kinds}

    def _write(self, task: str, doc_id: int, digests: list[str]) -> None:
        kept = {digest: jpeg for digest in digests if (jpeg := self._media.content(digest)) is not None}
        for digest, mime, content in self._pictures.of_doc(task, doc_id, digests):
            if digest in digests and mime in ENDINGS:
                self._put("pictures", digest, ENDINGS[mime], content)
                self._kinds[digest] = ENDINGS[mime]
                if digest not in kept and mime.startswith(
                    "image/"
                ):  # of a run with --no_report, or whose page is still to be written
                    kept[digest] = thumbnail(content)
        for digest, jpeg in kept.items():
            self._put("thumbnails", digest, "jpg", jpeg)
        self._lacking.update(digest for digest in digests if digest not in self._kinds)

    def _put(self, kind: str, digest: str, ending: str, content: bytes) -> None:
        name = picture_name(digest)
        path = self._folder / kind / name[:2] / f"{name}.{ending}"
        if not path.exists():
            write_atomic(path, content, durable=False)

    def said(self) -> str:
        """What there is of pictures, and why some are missing."""
        words = f", {counted(len(self._kinds), 'picture')} in full size" if self._kinds else ""
        if not self._lacking:
            return words
        why = f": {self._pictures.problem}" if self._pictures.problem else ""
        return (
            f"{words}; {len(self._lacking):,} only as thumbnails{why or ', since the data of the run lacks them now'}"
        )
