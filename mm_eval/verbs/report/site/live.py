"""A run that is still going on, as its journal grows: how far it is, how fast, and each answer and failure as it comes.

live = LiveRun(Path("runs/llava"), pictures)
live.read()          # what the journal got since the last call
live.rows(0)         # the docs of it, for the page
"""

from __future__ import annotations

import re
import socket
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any

from mm_eval.engine.folder import is_alive
from mm_eval.engine.records import answer_of, decode, single_records
from mm_eval.results.file import read_run
from mm_eval.results.page import prompt_text
from mm_eval.values.errors import MMEvalError
from mm_eval.values.run_files import UNREADABLE, journal_files, open_regular, read_bytes
from mm_eval.values.types import Answer, Slot, picture_name
from mm_eval.verbs.report.site.parts import RunPictures

WINDOW = 60.0
"""Seconds over which the rate is measured."""
AT_ONCE = 256 * 2**20
"""Bytes of a journal file that are read at a time."""
MOST = 500
"""Docs of a part."""
Doc = tuple[str, int]


def is_live(folder: Path) -> bool:
    """Whether a launch writes to a run folder now. Reads only: a lock, however short, could refuse a launch that begins.

    It is, if the process that `lock` names is alive and results.json is not newer than its start. Of a process on another
    machine only the journal tells: it grew in the last two minutes.
    """
    try:
        holder = read_bytes(folder, folder / "lock", 4096).decode(errors="replace")
        started = (folder / "lock").stat().st_mtime
    except OSError:
        return False
    with suppress(OSError):
        if (folder / "results.json").stat().st_mtime >= started:
            return False
    found = re.fullmatch(r"pid (\d+) on (.*)", holder.strip())
    if found is None:
        return False
    if found[2] == socket.gethostname():
        return len(found[1]) < 10 and is_alive(int(found[1]))
    try:
        grown = [path.stat().st_mtime for path in journal_files(folder)]
    except (OSError, MMEvalError):
        return False
    return bool(grown) and time.time() - max(grown) < 2 * WINDOW


class LiveRun:
    """The journal of a run folder, read as it grows. May be used by several threads.

    spec, request: of run.json. docs: {(task, doc id): {(repeat, choice): answer}}. found_in: the doc of each picture.
    """

    def __init__(self, folder: Path, pictures: RunPictures) -> None:
        self.folder, self.pictures = folder, pictures
        run = read_run(folder)
        self.spec, self.request = run["spec"], run["request"]
        self.docs: dict[Doc, dict[tuple[int, int], Answer]] = {}
        self.found_in: dict[str, Doc] = {}
        self._names = {task["path"]: name for name, task in self.spec["tasks"].items()}
        self._keys: dict[str, Answer] = {}
        self._ends: dict[Path, int] = {}
        self._events: list[Doc] = []
        self._times: deque[float] = deque()
        self._verdicts = 0
        self._lock = Lock()

    def read(self) -> None:
        """Takes in what the journal got since the last call. Damaged lines are ignored: the run counts and mends them."""
        with self._lock:
            for path in journal_files(self.folder):
                for line in self._new_lines(path):
                    with suppress(*UNREADABLE):
                        for record in single_records(decode(line.strip())):
                            self._add(record)

    def _new_lines(self, path: Path) -> list[bytes]:
        """The whole lines behind those that were read, at most `AT_ONCE` bytes; none of what is not a file of the folder."""
        try:
            with open_regular(self.folder, path) as file:
                file.seek(self._ends.get(path, 0))
                content = file.read(AT_ONCE)
        except OSError:
            return []
        end = content.rfind(b"\n") + 1
        if not end and len(content) == AT_ONCE:
            end = AT_ONCE  # a line that no run writes
        self._ends[path] = self._ends.get(path, 0) + end
        return content[:end].splitlines()

    def _add(self, record: Mapping[str, Any]) -> None:
        slots = [Slot.from_json(slot) for slot in record["slots"]]
        answer = self._keys.get(record["key"]) if record["kind"] == "slots" else answer_of(record)
        if answer is None:
            return
        if answer.error is None:
            self._keys[answer.key] = answer
        for slot in slots:
            if slot.judge:
                self._verdicts += answer.error is None
                continue
            doc = self._names.get(slot.task, slot.task), slot.doc_id
            held = self.docs.setdefault(doc, {})
            before = held.get((slot.repeat, slot.choice))
            if answer.error is not None and before is not None and before.error is None:
                continue  # a failure never replaces an answer
            held[slot.repeat, slot.choice] = answer
            self._events.append(doc)
            for digest in answer.images:
                self.found_in.setdefault(picture_name(digest), doc)
        if float(record.get("t", 0)) > time.time() - WINDOW:
            self._times.append(float(record["t"]))

    def rows(self, since: int) -> tuple[list[dict[str, Any]], int, bool]:
        """The docs answered after the first `since`, as rows of the page; where the next call goes on, and whether at once."""
        with self._lock:
            until = min(len(self._events), since + MOST)
            changed = list(dict.fromkeys(islice(self._events, since, until)))
            more = until < len(self._events)
            held = {doc: dict(sorted(self.docs[doc].items())) for doc in changed}
        return [self._row(doc, answers) for doc, answers in held.items()], until, more

    def _row(self, doc: Doc, answers: dict[tuple[int, int], Answer]) -> dict[str, object]:
        name, doc_id = doc
        outputs = [answer.output for answer in answers.values() if answer.error is None]
        failed = next((answer.error for answer in answers.values() if answer.error is not None), None)
        images = next((list(answer.images) for answer in answers.values() if answer.images), None)
        row: dict[str, object] = {
            "t": name,
            "d": doc_id,
            "s": "failed" if failed else _status(answers.values()),
            "a": outputs,
            "x": {},
            "r": {},
            "v": {},
            "c": "",
            **self._question(name, doc_id, next(iter(answers.values())).shown),
        }
        if failed is not None:
            row["e"] = failed.what
        return {**row, **({"images": images} if images else {})}

    def _question(self, name: str, doc_id: int, shown: Sequence[str]) -> dict[str, Any]:
        """Prompt, gold answer and options of a doc, as far as the data of the run can still be read."""
        opened = self.pictures.tasks()
        if opened is None or name not in opened.tasks:
            return {"p": "", "g": None}
        try:
            instances = list(opened.tasks[name].instances([doc_id], opened.styles[name], lambda doc: shown))
        except Exception:  # a task's own code; the page shows the answer
            return {"p": "", "g": None}
        choices = [instance.continuation for instance in instances if instance.continuation]
        asked = {"p": prompt_text(instances[0].context), "g": instances[0].target}
        return {**asked, "o": choices} if choices else asked

    def progress(self) -> dict[str, Any]:
        """How far the run is: docs with an answer, failures and verdicts, the rate and the seconds left."""
        with self._lock:
            now = time.time()
            while self._times and self._times[0] < now - WINDOW:
                self._times.popleft()
            tasks = list(self._of_tasks())
            docs, total = sum(each["docs"] for each in tasks), sum(each["total"] for each in tasks)
            per_doc = sum(map(len, self.docs.values())) / len(self.docs) if self.docs else 1.0
            rate = len(self._times) / min(WINDOW, max(1.0, now - self._times[0])) / per_doc if self._times else 0.0
            return {
                "docs": docs,
                "total": total,
                "failed": sum(each["failed"] for each in tasks),
                "verdicts": self._verdicts,
                "rate": rate,
                "left": (total - docs) / rate if rate else None,
                "tasks": tasks,
                "problem": f"The questions can't be shown: {self.pictures.problem}" if self.pictures.problem else "",
                "done": self._state(),
            }

    def _of_tasks(self) -> Iterator[dict[str, Any]]:
        counts: dict[str, list[int]] = {name: [0, 0] for name in self.spec["tasks"]}
        for (name, _), answers in self.docs.items():
            failures = [answer for answer in answers.values() if answer.error is not None]
            counts.setdefault(name, [0, 0])[1 if failures else 0] += 1
        for name, task in self.spec["tasks"].items():
            answered, failed = counts[name]
            yield {"name": name, "docs": answered, "failed": failed, "total": task["docs"]["count"]}

    def _state(self) -> str:
        """How the run ended; empty while it goes on."""
        if is_live(self.folder):
            return ""
        if (self.folder / "results.json").is_file():
            return "The run has ended. Load this page again for its scores and samples."
        return "The run has stopped without results. The same command continues it."


def why_unreadable(folder: Path) -> str:
    """Why a folder is not a run that can be shown; empty where it is one."""
    try:
        read_run(folder)
        return ""
    except MMEvalError as error:
        return f"run.json can't be read ({error.what})"


def _status(answers: Iterable[Answer]) -> str:
    """The status of an answered doc's row, as samples/ will have it."""
    endings = {answer.ended for answer in answers}
    kinds = (("filtered", "filtered"), ("refused", "refused"), ("length", "truncated"))
    return next((status for ended, status in kinds if ended in endings), "answered")
