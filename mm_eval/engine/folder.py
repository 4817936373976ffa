"""The run folder: one spec, one launch at a time, every file complete.

<output_path>/run.json  files.json  lock  journal/*.jsonl  results.json  samples/<task>.jsonl  submissions/*
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from mm_eval.config.schema import SCORING_KEYS, functions_in
from mm_eval.config.task_config import ASKS_NOTHING, DISPLAY_KEYS, TaskConfig
from mm_eval.data.docs import FileState
from mm_eval.engine.journal import mend_torn_tails
from mm_eval.engine.own_runs import is_own, mark_of
from mm_eval.engine.served import SERVED, as_recorded
from mm_eval.package import commit_of_checkout
from mm_eval.values.errors import ConfigError, MMEvalError, StoreError
from mm_eval.values.files import make_folder, write_all, write_atomic
from mm_eval.values.run_files import FORMAT, UNREADABLE, journal_files, odd_content, read_json, refuse_links_out
from mm_eval.values.types import Fields, JsonObject
from mm_eval.values.words import counted, listed

WRITTEN = ("journal", "samples", "submissions", "media", "tool_files")
"""The folders in a run folder that a launch writes to."""
RESTORE = "Restore it, or choose another --output_path."
PICTURES, FILES = "pictures", "files"
"""The entry of run.json that says how the pictures of a task are identified, and its value; by pixels where it says nothing."""

Files: TypeAlias = Mapping[str, Mapping[str, FileState]]
"""{task: {name of a picture file in the task's rows: its state}}"""

PartSpec: TypeAlias = Callable[[Mapping[str, int]], Mapping[str, Any]]
"""The spec of the part of a run that has these tasks, each with its first so many docs."""

NOTHING: Mapping[str, object] = {}
DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG, errno.ESTALE})
"""The disk is full or fails. Any other error means that the folder is the wrong one."""


def folder_error(what: str, path: Path, error: OSError, hint: str = "Choose another --output_path.") -> MMEvalError:
    """The error of an unusable run folder: StoreError (exit code 3) if the disk failed, else ConfigError (exit code 2)."""
    where = str(error.filename or path)
    sentence = f"{what}: {error.strerror or error}."
    if error.errno in DISK_ERRORS:
        return StoreError(sentence, where=where, hint=StoreError.SAFE_ANSWERS)
    return ConfigError(sentence, where=where, hint=hint)


class OtherRunError(ConfigError):
    """A run folder holds the answers of another model, or to other questions."""


class RunFolder:
    """A folder that belongs to one spec. `locked` opens it for one launch; reading needs no lock."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def has_answers(self) -> bool:
        """Whether an earlier launch recorded anything. Needs no lock. False if the folder can't be read."""
        with suppress(OSError, MMEvalError):
            return any(path.is_file() and path.stat().st_size for path in journal_files(self.path))
        return False

    def entry(self, name: str) -> Mapping[str, Any]:
        """What run.json states beside the spec, such as the `constants` of the model and its `machine`; empty if nothing."""
        return entry_of(self.read("run.json"), name)

    def add_to_entry(self, name: str, found: Mapping[str, object]) -> None:
        """Adds to what run.json states beside the spec. Every process of a launch may do so."""
        journal = os.open(self.path / "journal", os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(journal, fcntl.LOCK_EX)
            run = self.read("run.json")
            before = entry_of(run, name)
            if run and (added := {**before, **found}) != before:
                self._write_run({**run, name: added})
        finally:
            os.close(journal)

    def findings(self, name: str = "model") -> Mapping[str, object]:
        """What an earlier launch found out about an endpoint, that of the run's model by default; empty if nothing."""
        return findings_of(self.read("run.json"), name)

    def keep_findings(self, findings: Mapping[str, object], name: str = "model") -> None:
        """Writes what a launch found out about an endpoint into run.json."""
        self.add_to_entry("endpoints", {name: findings})

    def refused(self, name: str = "model") -> dict[str, object]:
        """What an endpoint refuses, for results.json."""
        return refused_in(self.findings(name))

    def refuse_if_held(self) -> None:
        """Raises ConfigError if another launch holds the folder. Creates nothing, so it can be called before anything else."""
        try:
            fd = os.open(self.path / "lock", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return  # no lock, or an unreadable folder, which `locked` reports
        try:
            self._take(fd)
        finally:
            os.close(fd)

    @contextmanager
    def locked(self) -> Iterator[RunFolder]:
        """Holds the folder for this launch, and mends torn journal tails.

        The lock is the kernel's (flock), so a killed launch leaves none behind.
        Raises ConfigError if another launch holds the folder (with its pid and host), or if it can't be written; StoreError if
        the disk is full or fails.
        """
        fd = -1
        try:
            try:
                make_folder(self.path)
                refuse_links_out(self.path, *WRITTEN)
                fd = os.open(self.path / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
                self._take(fd)
                os.ftruncate(fd, 0)
                write_all(fd, f"pid {os.getpid()} on {socket.gethostname()}".encode())
                mend_torn_tails(self.path)
                self._remove_leftovers()
            except OSError as error:
                raise folder_error("the run folder can't be written", self.path, error) from error
            yield self
        finally:
            if fd >= 0:
                os.close(fd)

    def _remove_leftovers(self) -> None:
        """Removes the temporary files of killed processes (`write_atomic`)."""
        for path in chain.from_iterable((self.path / part).glob(".*.tmp") for part in (".", *WRITTEN)):
            pid = path.name.split(".")[-2]
            with suppress(OSError):
                if pid.isdigit() and not is_alive(int(pid)):
                    path.unlink()

    def _take(self, fd: int) -> None:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(fd, 4096, 0).decode(errors="replace").strip() or "another process"
            hint = "Wait for it to end, or choose another --output_path."
            if (count := _started_together()) > 1:
                hint += f" Where a launcher started this command {count} times: start it once, with --executor ray."
            raise ConfigError(f"the run folder is in use by {holder}.", where=str(self.path), hint=hint) from error

    def claim(
        self,
        spec: Mapping[str, object],
        request: Mapping[str, object],
        machine: Mapping[str, object] = NOTHING,
        constants: Mapping[str, object] = NOTHING,
        leads: bool = True,
        part: PartSpec | None = None,
        by_files: Callable[[Collection[str]], Sequence[str]] = lambda tasks: (),
    ) -> bool:
        """Writes run.json, or checks that the folder has the same spec. Returns whether this continues an earlier run.

        request: the command's settings, from which `mm-eval score` builds the tasks again. machine: of the model's facts, which
        may differ when the run is resumed. constants: of the same, by which a launch without the weights describes the model.
        leads: this process is the one of its launch that changes a run.json that exists. part: the spec of a part of this run; a
        run of more tasks, or of more docs, continues one of a part of them. by_files: gives those of some tasks whose pictures
        are identified by their files. A recorded task continues with its own rule. One that is added to a run without any such
        task is identified by pixels, so that equal questions have equal keys.
        Raises ConfigError with the first differences.
        """
        known = self.read("run.json")
        if known is not None:
            if self._refuse_other(known, spec, request, part) and leads:
                known = self._go_on_with_more(known, spec, request, by_files)
            if leads:
                self._mark(known, request)
            return True
        if journal_files(self.path):
            what, hint = "the folder has answers, but no run.json with their spec.", "Choose another --output_path."
            raise ConfigError(what, where=str(self.path), hint=hint)
        created = round(time.time(), 3)
        run = {"format": FORMAT, "spec": spec, "request": request, "machine": machine, "created": created}
        if mark := mark_of({"request": request}):
            run["mark"] = mark  # this user has stated it (`foreign.check_own`)
        if constants:
            run["constants"] = constants
        if names := by_files(list(entry_of(spec, "tasks"))):
            run[PICTURES] = dict.fromkeys(names, FILES)
        if commit := commit_of_checkout():
            run["commit"] = commit  # of the launch that began it; a later one may have another
        self._write_run(run)
        return False

    def _go_on_with_more(
        self,
        run: Mapping[str, object],
        spec: Mapping[str, object],
        request: Mapping[str, object],
        by_files: Callable[[Collection[str]], Sequence[str]],
    ) -> dict[str, object]:
        """Makes the folder that of the same run over more tasks or docs. Its numbers are of a part of them, so they go first."""
        before = entry_of(entry_of(run, "spec"), "tasks")
        added = [name for name in entry_of(spec, "tasks") if name not in before]
        named = by_files(added) if added and entry_of(run, PICTURES) else ()
        for name in ("report.html", "results.json", "finished.json"):
            (self.path / name).unlink(missing_ok=True)
        changed = {**run, "spec": spec, "request": request}
        if named:
            changed[PICTURES] = {**entry_of(run, PICTURES), **dict.fromkeys(named, FILES)}
        changed.pop("mark", None)
        if mark := mark_of({"request": request}):
            changed["mark"] = mark
        self._write_run(changed)
        return changed

    def _mark(self, run: Mapping[str, object], request: Mapping[str, object]) -> None:
        """Marks a run.json of another machine as this user's, if the command states the very same request."""
        same = json.loads(json.dumps(request)) == run.get("request")
        if same and not is_own({"request": request}, run.get("mark")) and (mark := mark_of({"request": request})):
            self._write_run({**run, "mark": mark})

    def or_its_like(self, spec: Mapping[str, object], pattern: str) -> RunFolder:
        """This folder if it exists, else the newest one beside it that fits the pattern and whose run makes the same requests.

        So a task whose scoring has changed finds the answers of its earlier runs. Without such a folder: this one.
        """
        if self.path.exists():
            return self
        found = [RunFolder(run.parent) for run in self.path.parent.glob(f"{pattern}/run.json")]
        for folder in sorted(found, key=lambda folder: folder.path.stat().st_mtime, reverse=True):
            with suppress(MMEvalError, OSError):
                if (known := folder.read("run.json")) is not None:
                    folder._refuse_other(known, spec)
                    return folder
        return self

    def refuse_other(
        self, spec: Mapping[str, object], request: Mapping[str, object] = NOTHING, part: PartSpec | None = None
    ) -> None:
        """Raises ConfigError if the folder has a run of another spec, or another launch holds it. Writes nothing.

        request, part: as of `claim`.
        """
        self.refuse_if_held()
        if (known := self.read("run.json")) is not None:
            self._refuse_other(known, spec, request, part)

    def grows(self, spec: Mapping[str, object], request: Mapping[str, object], part: PartSpec | None) -> bool:
        """Whether a run of this spec continues that of the folder with more tasks or docs. Writes nothing, and needs no lock.

        request, part: as of `claim`. Raises ConfigError if the folder has a run of another spec.
        """
        known = self.read("run.json")
        return known is not None and self._refuse_other(known, spec, request, part)

    def _refuse_other(
        self,
        known: Mapping[str, Any],
        spec: Mapping[str, Any],
        request: Mapping[str, object] = NOTHING,
        part: PartSpec | None = None,
    ) -> bool:
        """Raises OtherRunError for a run of other requests. Returns whether the run has asked only a part of the spec."""
        if not isinstance(known.get("spec"), dict):
            raise StoreError("it has no spec of a run.", where=str(self.path / "run.json"), hint=RESTORE)
        spec = requests_of_spec(spec)
        try:
            old = known["spec"]
            if isinstance(model := old.get("model"), Mapping):
                found = entry_of(entry_of(known, "endpoints"), "model").get(SERVED)
                old = {**old, "model": as_recorded(model, spec.get("model", {}), found)}
            old = requests_of_spec(old)
            different = list(differences(old, spec))
            begun = entry_of(known, "request")
            if different and part is not None and (counts := common_counts(old, spec)):
                by_number = not begun.get("samples") and not request.get("samples")
                before, now = ({name: of[place] for name, of in counts.items()} for place in (0, 1))
                grows = before == now or (by_number and all(before[name] <= now[name] for name in now))
                if grows and not list(differences(old, requests_of_spec(part(before)))):
                    return True
                spec = requests_of_spec(part(now))
                different = list(differences(old, spec))
            different = shorter(different, old, spec, begun, request)
        except UNREADABLE as error:
            raise odd_content(error, self.path / "run.json") from error
        if different:
            hint = "Choose another --output_path, or repeat the first command of this run; `mm-eval score` scores it again."
            shown = "; ".join(different[:4])
            raise OtherRunError(f"the folder holds another run: {shown}.", where=str(self.path), hint=hint)
        return False

    def drop_numbers_of_others(
        self, configs: Mapping[str, TaskConfig], made_by: object, changed: Sequence[str]
    ) -> None:
        """Removes results.json and report.html if they were not made by the rules of these configs.

        made_by: `scored_by` of the configs whose rules made them; empty if unknown. changed: as of `changed_tasks`.
        Scoring then writes samples/ again, task by task: a kill must not leave some by the new rules beside numbers by the old.
        """
        if made_by != scored_by(configs) if made_by else changed:
            for name in ("report.html", "results.json"):
                (self.path / name).unlink(missing_ok=True)

    def hold_files(self, find: Callable[[Files], Files]) -> None:
        """Records the state of the picture files that rows name. A run can't continue with changed files.

        find: gives the current state of the files, from the recorded one. Missing files may appear, and files may disappear: the
        docs of those fail, and are requested again.
        Raises ConfigError with the names of the first changed files.
        """
        stored = (self.read("files.json") or {}).get("files", {})
        try:
            known = {task: {name: FileState(*state) for name, state in files.items()} for task, files in stored.items()}
        except (AttributeError, TypeError) as error:
            what = "it does not hold the states of files."
            raise StoreError(what, where=str(self.path / "files.json"), hint=RESTORE) from error
        files = find(known)
        changed = [
            name
            for task, found in files.items()
            for name, state in found.items()
            if (before := known.get(task, {}).get(name)) and before.digest != state.digest
        ]
        if changed:
            files_have = counted(len(changed), "picture file has", "picture files have")
            what = f"{files_have} changed since the requests: {listed(changed, 4)}."
            hint = "Put the old ones back, or choose another --output_path."
            raise ConfigError(what, where=str(self.path), hint=hint)
        merged = {task: {**known.get(task, {}), **files.get(task, {})} for task in {**known, **files}}
        if merged != known:
            self.write("files.json", json.dumps({"v": 1, "files": merged}, indent=1, ensure_ascii=False))

    def read(self, name: str) -> JsonObject | None:
        """A JSON file of the folder. None if it is missing.

        Raises StoreError if it is not a JSON object; if it is unreadable, ConfigError, or StoreError where the disk fails;
        OtherFormatError for a run.json of another format.
        """
        path = self.path / name
        try:
            return read_json(self.path, name, RESTORE)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise folder_error("it can't be read", path, error) from error

    def _write_run(self, run: Mapping[str, object]) -> None:
        self.write("run.json", json.dumps(run, indent=2, ensure_ascii=False))

    def write(self, name: str, text: str) -> Path:
        """Puts a whole file in place, or leaves the old one."""
        return self.write_lines(name, [text])

    def write_lines(self, name: str, lines: Iterable[str]) -> Path:
        """Puts a whole file in place line by line, or leaves the old one. Raises StoreError if it can't be written."""
        path = self.path / name
        try:
            refuse_links_out(self.path, str(path.parent.relative_to(self.path)))
            write_atomic(path, (f"{line}\n" for line in lines))
        except OSError as error:
            hint = StoreError.SAFE_ANSWERS
            what = f"it can't be written: {error.strerror or error}."
            raise StoreError(what, where=str(path), hint=hint) from error
        return path


def entry_of(run: Mapping[str, object] | None, name: str) -> Fields:
    """What a run.json states by this name; empty if nothing, or where there is none. A stranger's may hold anything."""
    found = (run or NOTHING).get(name)
    return found if isinstance(found, dict) else NOTHING


def findings_of(run: Mapping[str, object] | None, name: str = "model") -> Mapping[str, object]:
    """What a run.json says about an endpoint, as of `RunFolder.findings`, and of the model that it serves."""
    found = entry_of(entry_of(run, "endpoints"), name)
    served = entry_of(entry_of(run, "spec"), "model").get(SERVED) if name == "model" else None
    return found if served is None else {SERVED: served, **found}


def refused_in(findings: Mapping[str, object]) -> dict[str, object]:
    """What an endpoint refuses: its findings without what it accepted."""
    return {field: value for field, value in findings.items() if field not in ("accepted", SERVED)}


def changed_tasks(run: Fields | None, configs: Mapping[str, TaskConfig]) -> list[str]:
    """The tasks whose file, or a function that it names, has changed since a run.json was written."""
    made_with = {
        name: config.get(FUNCTIONS)
        for name, task in entry_of(run, "spec").get("tasks", {}).items()
        if isinstance(config := task.get("config"), Mapping)  # a stranger's folder may hold anything
    }
    return [name for name, config in configs.items() if made_with.get(name) not in (None, config.digest())]


def _started_together() -> int:
    """How many processes `srun` or `mpirun` started with this one, as their variables say."""
    counts = (os.environ.get(name, "") for name in ("SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"))
    return max(int(count) if count.isdigit() else 1 for count in counts)


def is_alive(pid: int) -> bool:
    """Whether a process of this machine runs, whichever user it belongs to."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's process
        return True
    return True


UNSTATED = {"on_long_prompt": "cut", "blind": None}
"""The values of options that a spec leaves out."""

VERSIONS = ("adapter_version", "version")
"""The names under which adapters state their version."""

FUNCTIONS = "with_functions"
"""The digest of a task's config and of the source of its functions."""

NOT_COMPARED = frozenset(
    {
        *(*DISPLAY_KEYS, *ASKS_NOTHING, *SCORING_KEYS),
        *("batch_size", "cluster_key", "doc_to_target", "doc_to_text", "model_specific_target_kwargs"),
        *("multiple_targets", "reasoning_tags", "process_results_use_image", "unsafe_code"),
        "model_specific_prompt_kwargs",
    }
)
"""Keys of a task that change no request by themselves. How a text is written is not compared, since the prompts of the first docs
and the request key of each recorded answer are. A target that a prompt or a continuation holds changes a request key, and
the prompt block of the run's model is in the spec by itself: another family's block is none of its requests."""

PICTURE_KEYS = (
    "doc_to_visual",
    "doc_to_audio",
    "doc_to_messages",
    "process_docs",
    "custom_dataset",
    "class",
    "fewshot_config",
)
"""Keys whose functions decide which pictures a doc shows."""

DIGESTS = {
    "asked": "the prompts differ",
    "data": "the data differs",
    "examples": "the data of the few-shot examples differs",
    "sha256": "the documents differ",
    "fingerprint": "the model's files differ",
}
"""What a difference between two digests of a spec means, by the digest's name."""


def requests_of_spec(spec: Mapping[str, Any]) -> JsonObject:
    """The part of a spec that decides the requests, as run.json gives it back: two specs that differ in it are two runs.

    A run is its requests: the model, the data, the docs and what is asked about them. A launch with the same requests goes on
    with the recorded answers, however they are scored; every launch scores all of them by the rules of its own task files. The
    source of a task's functions is not compared: it also decides scores, and what it makes of a doc is compared answer by answer
    with the request key (`pending.py`).
    """
    spec = json.loads(json.dumps({**UNSTATED, **spec}))
    for task in spec.get("tasks", {}).values():
        config = task.get("config")
        if isinstance(config, dict) and isinstance(stated := config.get("stated"), dict):
            stated = {key: value for key, value in stated.items() if key not in NOT_COMPARED}
            if not stated.get("custom_dataset"):  # metadata are its arguments
                stated.pop("metadata", None)
            if isinstance(layout := stated.get("formats"), dict):
                stated["formats"] = {key: value for key, value in layout.items() if key != "scorer"}
            task["config"] = {"stated": stated}
    return dict(spec)


def scored_by(configs: Mapping[str, TaskConfig]) -> dict[str, str]:
    """{task: digest of its config and functions}: what results.json was made by."""
    return {name: config.digest() for name, config in configs.items()}


def shows_by_code(config: TaskConfig) -> bool:
    """Whether a function of the task decides which pictures a doc shows."""
    return any(True for key in PICTURE_KEYS for _ in functions_in(config.source.get(key)))


def differences(old: object, new: object, at: str = "") -> Iterator[str]:
    """The differences between two specs, one sentence each."""
    if at == "model" and isinstance(old, Mapping) and isinstance(new, Mapping):
        names = [name for name in VERSIONS if old.get(name) != new.get(name)]
        for name in names:
            yield (
                f"{at}.{name} was {_short(old.get(name))} and is {_short(new.get(name))}: this version of mm-eval records other "
                "texts for the same requests (`mm-eval score` still scores the folder)"
            )
        if names:  # the fingerprint holds the version
            old, new = ({k: v for k, v in each.items() if k not in (*VERSIONS, "fingerprint")} for each in (old, new))
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted({*old, *new}, key=str):
            yield from differences(old.get(key), new.get(key), f"{at}.{key}" if at else str(key))
    elif old != new:
        place, _, name = at.rpartition(".")
        meaning = DIGESTS.get(name) if isinstance(old, str) and isinstance(new, str) else None
        yield f"{place}: {meaning}" if meaning else f"{at} was {_short(old)} and is {_short(new)}"


def common_counts(old: Fields, new: Fields) -> dict[str, tuple[int, int]]:
    """{task: how many docs the old run asks, and the new one}; empty where the new run lacks a task of the old one."""
    before, now = ({name: task["docs"]["count"] for name, task in spec["tasks"].items()} for spec in (old, new))
    return {name: (before[name], now[name]) for name in before} if before.keys() <= now.keys() else {}


def shorter(
    found: list[str],
    old: Fields,
    new: Fields,
    begun: Mapping[str, object],
    request: Mapping[str, object],
) -> list[str]:
    """The differences of two specs as the user's options say them, where they do. begun, request: those of the two runs."""
    if not found or not request:
        return found
    names = [list(spec.get("tasks", {})) for spec in (old, new)]
    if set(names[0]) != set(names[1]):
        return [f"the tasks were {listed(names[0], 5)} and are {listed(names[1], 5)}"]
    models = [_named_model(run) for run in (begun, request)]
    adapters = [spec.get("model", {}).get("adapter") for spec in (old, new)]
    said = list[str]()
    if models[0] != models[1] and (begun.get("model") != request.get("model") or adapters[0] != adapters[1]):
        said.append(f"the model was {models[0]} and is {models[1]}")
        found = [each for each in found if not each.startswith(("model", "chat was", "tasks."))]
    docs = [{name: spec["tasks"][name].get("docs") for name in names[0]} for spec in (old, new)]
    other = [name for name in names[0] if docs[0][name] != docs[1][name]]
    for option in ("samples", "limit") if other else ():
        values = [run.get(option) for run in (begun, request)]
        if values[0] != values[1]:
            before, now = ("not given" if value is None else _short(value) for value in values)
            said.append(f"--{option} was {before} and is {now}")
            about = tuple(f"tasks.{name}{rest}" for name in other for rest in (".docs", ": the prompts differ"))
            found = [each for each in found if not each.startswith(about)]
    return said + found


def _named_model(request: Mapping[str, object]) -> str:
    """The model of a request: the adapter's name, and what it loads."""
    args = request.get("model_args")
    loaded = args.get("pretrained") or args.get("model") if isinstance(args, Mapping) else None
    name = str(request.get("model") or "tiny-llava")
    return f"{name} ({loaded})" if loaded else name


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
