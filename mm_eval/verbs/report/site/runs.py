"""The runs that `mm-eval view` shows: what each of them is now, its page, its parts and its pictures.

A finished run's page and parts are the files that a bundle has, written into a temporary folder when they are first needed and
again when results.json has changed. A run that goes on is read from its journal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from mm_eval.config.arguments import column_name
from mm_eval.request import DEFAULT_MODEL
from mm_eval.results.media import Media
from mm_eval.results.page import page
from mm_eval.results.recorded import RecordedRun
from mm_eval.results.thumbnails import thumbnail
from mm_eval.run_page import links_of_release
from mm_eval.values.errors import MMEvalError, StoreError, kind_and_text
from mm_eval.values.run_files import UNREADABLE, odd_content, read_bytes, real_path
from mm_eval.values.safe import in_script
from mm_eval.values.types import FILE_MARK, picture_name
from mm_eval.values.words import counted, of_all
from mm_eval.verbs.report.release.numbers import release_table
from mm_eval.verbs.report.release.page import release_page
from mm_eval.verbs.report.site.bundle import beside, names_of
from mm_eval.verbs.report.site.live import LiveRun, is_live, why_unreadable
from mm_eval.verbs.report.site.parts import PAGE, RunPictures, part, write_run_page

PICTURES = {"thumbnails": "thumbnails/", "full": "pictures/", "listed": False}
PATIENCE = 2.0
"""Seconds for which a request waits until a page is written, before it gets one that says how far it is."""
AGAIN = 1500
"""Milliseconds between two parts of a live run."""
State = tuple[tuple[str, int], ...]
"""The names of the finished runs, with the times of their results."""


class ShownRun:
    """One run folder. pages: where its page and parts are written. include_path: a folder with task code that is trusted."""

    def __init__(self, folder: Path, name: str, pages: Path, include_path: str | None = None) -> None:
        self.folder, self.name, self.pages, self._include_path = folder, name, pages, include_path
        self.pictures = RunPictures.of_folder(folder, include_path)
        self.problem, self.done, self._stopped = "", 0, False
        self._written: State = ()
        self._found_in: dict[str, tuple[str, int]] = {}
        self._live: LiveRun | None = None
        self._recorded: tuple[int, RecordedRun | MMEvalError] | None = None
        self._lock, self._reading = Lock(), Lock()

    @property
    def results_time(self) -> int:
        """When the results of a finished run were written; 0 for a run that goes on or has none."""
        try:
            return 0 if is_live(self.folder) else (self.folder / "results.json").stat().st_mtime_ns
        except OSError:
            return 0

    def recorded(self) -> RecordedRun:
        """The finished run with its samples. Raises as `RecordedRun.read`, and StoreError for a folder of another form."""
        with self._reading:
            now = self.results_time
            if self._recorded is None or self._recorded[0] != now:
                self._recorded = now, self._read()
        if isinstance(self._recorded[1], MMEvalError):
            raise self._recorded[1]
        return self._recorded[1]

    def _read(self) -> RecordedRun | MMEvalError:
        """The run, or why it can't be read: found here, so that it is missing from the other runs' pages and breaks none."""
        try:
            run = RecordedRun.read(self.folder, include_path=self._include_path)
            run.tasks  # noqa: B018 - reads the samples
        except MMEvalError as error:
            return error
        except (OSError, *UNREADABLE) as error:
            return odd_content(error, self.folder)
        return run

    def live(self) -> LiveRun:
        """The run as its journal grows."""
        with self._lock:
            self._live = self._live or LiveRun(self.folder, self.pictures)
        self._live.read()
        return self._live

    def write(self, state: State, others: Mapping[str, RecordedRun], release: Mapping[str, object]) -> None:
        """Writes the page and its parts unless they are of this state. release: the links of `links_of_release`."""
        with self._lock:
            if self._written == state or self._stopped:
                return
            self.problem, self.done, self._live = "", 0, None
            found: dict[str, tuple[str, int]] = {}

            def look(row: Mapping[str, Any]) -> dict[str, str]:
                if self._stopped:
                    raise StoreError("the server has ended.")
                for digest in [*row.get("images", ()), *(digest for digest, *_ in row.get("y", ()))]:
                    found.setdefault(picture_name(digest), (row["t"], row["d"]))
                return {}

            def tick(done: int) -> None:
                self.done = done

            try:
                write_run_page(self.pages, self.recorded(), others, PICTURES, look, tick, release)
                self._found_in = found
            except (MMEvalError, OSError) as error:
                self.problem = str(error)
            except Exception as error:  # rows of a foreign folder; a page that says so ends the waiting
                self.problem = kind_and_text(error)
            self._written = state

    def stop(self, patience: float) -> None:
        """Ends the writing of the page; waits for so many seconds until nothing is written any more."""
        self._stopped = True
        if self._lock.acquire(timeout=patience):
            self._lock.release()

    def is_written(self, state: State) -> bool:
        """Whether the page is that of a state."""
        return self._written == state

    def thumbnail(self, digest: str) -> bytes | None:
        """A small JPEG of a picture: that of the run's pages, else one made now."""
        with self._lock, Media(self.folder) as media:
            if (content := media.content(digest)) is not None:
                return content
        found = self.full_size(digest)
        return None if found is None else thumbnail(found[1])

    def full_size(self, digest: str) -> tuple[str, bytes] | None:
        """(MIME type, content) of a picture, from the data of the run. digest: without its mark."""
        at = self._found_in.get(digest) or (self._live.found_in.get(digest) if self._live else None)
        wanted = self.pictures.of_doc(*at, (digest, FILE_MARK + digest)) if at else iter(())
        return next(((mime, content) for found, mime, content in wanted if picture_name(found) == digest), None)


class Together:
    """The pages on several runs together, by name: what features bring."""

    def __init__(self, folders: Sequence[Path], include_path: str | None) -> None:
        from mm_eval.deciding.live_page import compared
        from mm_eval.verbs.training.curve_page import viewed

        several = {"anytime": compared, "curve": viewed} if len(folders) > 1 else {}
        made: dict[str, Any] = {name: make(folders, include_path) for name, make in several.items()}
        self.pages = {name: page for name, page in made.items() if page is not None}

    @property
    def first(self) -> str | None:
        """The page that stands in place of the index."""
        return next((name for name, page in self.pages.items() if page.leads), None)

    def lines(self) -> list[dict[str, str]]:
        """What the index says of each."""
        return [
            {"name": page.title, "link": f"together/{name}.html", "said": page.said()}
            for name, page in self.pages.items()
        ]

    def script(self, name: str, state: str) -> str:
        """What a page gets that shows a state: that it is the same, what it shows now, or that it must be loaded again."""
        page = self.pages[name]
        now = page.state()
        if now == state:
            return "same();"
        about = page.about()
        return "reload();" if about is None else f"again({in_script(about)});"


class Shown:
    """All runs by their names in an address."""

    def __init__(
        self,
        folders: Sequence[Path],
        pages: Path,
        include_path: str | None = None,
        find: Callable[[], Sequence[Path]] | None = None,
    ) -> None:
        """find: the folders now; runs that begin later are shown, too."""
        self._folders, self._pages, self._include_path = list(folders), pages, include_path
        self._find = find or (lambda: ())
        self.runs: dict[str, ShownRun] = {}
        self._index: tuple[Any, str] | None = None
        self._stopped, self._adding = Event(), Lock()
        self._add()
        self.together = Together(list(folders), include_path)

    def look_for_new(self) -> None:
        """Adds runs that began since."""
        with self._adding:
            known = {real_path(folder) for folder in self._folders}
            fresh = [each for each in self._find() if real_path(each) not in known and not why_unreadable(each)]
            if fresh:
                self._folders += fresh
                self._add()
                self.together = Together(list(self._folders), self._include_path)

    def _add(self) -> None:
        for name, folder in zip(names_of(self._folders), self._folders, strict=True):
            if name not in self.runs:
                self.runs[name] = ShownRun(folder, name, self._pages / name, self._include_path)

    def prepare(self) -> None:
        """Writes the pages of all finished runs in the background, in their order, until `stop`."""

        def write() -> None:
            for run in self.runs.values():
                if run.results_time and not self._stopped.is_set():
                    self._write(run, Event())

        Thread(target=write, daemon=True).start()

    def stop(self) -> None:
        """Ends the writing of pages, so that their folder can be removed."""
        self._stopped.set()
        for run in self.runs.values():
            run.stop(PATIENCE)

    def state(self) -> State:
        """Which runs are finished, and since when."""
        return tuple((name, time) for name, run in self.runs.items() if (time := run.results_time))

    def _write(self, run: ShownRun, written: Event) -> None:
        state, readable = self.state(), dict[str, RecordedRun]()
        for name, _ in state:
            try:
                readable[name] = self.runs[name].recorded()
            except (MMEvalError, OSError):  # that run's own page says why
                continue
        own = readable.get(run.name)
        others = beside(list(readable), list(readable.values()), own) if own else {}
        names = {id(other): name for name, other in readable.items()}
        links = {each: f"../{names[id(other)]}/{PAGE}" for each, other in others.items()}
        run.write(state, others, links_of_release("../runs.html", links) if len(self.runs) > 1 else {})
        written.set()

    def run_page(self, run: ShownRun) -> Iterator[str] | str:
        """The page of a run in pieces; a sentence on how far it is while it is being written, or why it can't be."""
        if not run.results_time:
            return self._live_page(run)
        if not run.is_written(self.state()):
            written = Event()
            Thread(target=self._write, args=(run, written), daemon=True).start()
            if not written.wait(PATIENCE):
                return f"Reading {run.folder}: {counted(run.done, 'sample')} so far. This page loads again by itself."
        if run.problem:
            return f"{run.folder} can't be shown: {run.problem}"
        return iter([(run.pages / PAGE).read_text(encoding="utf-8")])

    def _live_page(self, run: ShownRun) -> Iterator[str]:
        live = run.live()
        model = model_of(live.request)
        about = {
            "kind": "live",
            "model": model,
            "sample": bool(live.request.get("sample")),
            "tasks": [{"name": name} for name in live.spec["tasks"]],
            "beside": [],
            "next": "live.js?from=0",
            "pictures": PICTURES,
        }
        return page(f"{model}: in progress", "live.js", [], lambda: [], lambda: about, in_parts=True)

    def part(self, run: ShownRun, number: int) -> bytes | None:
        """A part of a finished run's samples."""
        try:
            return read_bytes(run.pages, run.pages / "rows" / f"{number}.js")
        except OSError:  # also of a number with more digits than a file name has characters
            return None

    def live_part(self, run: ShownRun, since: int) -> str:
        """What a live run's journal got since, as a part, with its progress."""
        live = run.live()
        rows, until, more = live.rows(since)
        now = live.progress()
        ended = bool(run.results_time) and not more
        following = None if ended else f"live.js?from={until}"
        wait = 0 if more else AGAIN
        return "".join(part(map(in_script, rows), following, wait=wait, progress=now))

    def index(self) -> str:
        """The release page of the finished runs, above it the runs that go on. Its links are to the pages of the runs."""
        self.look_for_new()
        state = self.state()
        going = self.together.lines() + [_going(name, run) for name, run in self.runs.items() if not run.results_time]
        key = state, going
        if self._index is None or self._index[0] != key:
            runs, holes = [], dict[str, str]()
            for name, _ in state:
                try:
                    runs.append(self.runs[name].recorded())
                except (MMEvalError, OSError) as error:
                    holes[name] = str(error)
            pages = {self.runs[name].folder: f"{name}/{PAGE}" for name, _ in state}
            try:
                text = _index_page(runs, holes, pages, going)
            except UNREADABLE:  # one run's values are odd: it must not take the others from the page
                runs = [run for run in runs if _is_shown(run, holes)]
                text = _index_page(runs, holes, pages, going)
            self._index = key, text
        return self._index[1]


def _index_page(
    runs: Sequence[RecordedRun], holes: Mapping[str, str], pages: Mapping[Path, str], going: Sequence[Mapping[str, str]]
) -> str:
    return "".join(f"{text}\n" for text in release_page(release_table(runs, (), holes), Path(), pages, going))


def _is_shown(run: RecordedRun, holes: dict[str, str]) -> bool:
    """Whether a run can stand on the index; the reason is added to `holes` if not."""
    try:
        _index_page([run], {}, {}, [])
    except UNREADABLE as error:
        holes[run.folder.name] = str(odd_content(error, run.folder))
        return False
    return True


def _going(name: str, run: ShownRun) -> dict[str, str]:
    """The line of the index about a run that goes on."""
    model = name
    try:
        live = run.live()
        now, model = live.progress(), f"{model_of(live.request)} ({name})"
        said = f"{of_all(now['docs'], now['total'], 'document')}, {now['failed']:,} failed"
    except (MMEvalError, OSError) as error:
        said = str(error)
    except UNREADABLE as error:
        said = str(odd_content(error, run.folder))
    return {"name": model, "link": f"{name}/{PAGE}", "said": said}


def model_of(request: Mapping[str, Any]) -> str:
    """The model's name in a run that has no results yet."""
    adapter = Path(str(request.get("model") or DEFAULT_MODEL)).name
    return str(request.get("name") or column_name(request.get("model_args") or {}, adapter))
