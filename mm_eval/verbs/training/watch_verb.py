"""Evaluates each checkpoint of a folder as it appears, and prints the scores over the steps.

The options are those of `mm-eval run`. Each checkpoint is the model's `pretrained`, or its `peft` if it is an adapter, and has a
run folder below --output_path. A checkpoint is complete when its index files name only weights that are whole. The same command
continues where it stopped."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mm_eval.adapters import in_our_words, own_model
from mm_eval.cli import run as run_verb
from mm_eval.cli.options import add_option
from mm_eval.cli.say import complain_briefly, say, say_lines
from mm_eval.config.arguments import COUNT_FROM_1
from mm_eval.engine.folder import RunFolder
from mm_eval.engine.model import Model, measured
from mm_eval.request import RunRequest
from mm_eval.results.recorded import RecordedRun
from mm_eval.scoring.run_results import INTERRUPTED
from mm_eval.values.errors import ConfigError, MMEvalError, StoreError
from mm_eval.values.files import write_atomic
from mm_eval.values.run_files import journal_files, read_json
from mm_eval.verbs.training.study import step_folder, step_folders, step_of

if TYPE_CHECKING:
    from mm_eval.verbs.training.curve import Study

ADAPTER = "adapter_config.json"
WEIGHTS = (".safetensors", ".bin", ".pt")
"""Endings of files with weights."""
SKEW = 60.0
"""Seconds by which the clocks of two machines may differ."""
OF_PROCESSOR = ("processor", "token", "vocab", "merges", "chat_template", "spiece")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checkpoints", metavar="FOLDER", help="the folder in which a training saves its checkpoints")
    parser.add_argument(
        "--newest_first", action="store_true", help="evaluate the newest checkpoint first (default: in order of steps)"
    )
    parser.add_argument("--once", action="store_true", help="evaluate the checkpoints that are there, and end")
    add_option(
        parser, "poll", "N", "seconds between two looks at the folder (default 30)", default=30, rule=COUNT_FROM_1
    )
    what = "files that a checkpoint lacks: processor, tokenizer, chat template (default: those in FOLDER itself)"
    parser.add_argument("--processor", metavar="DIR", help=what)
    run_verb.add_arguments(parser)


def main(args: argparse.Namespace) -> int:
    from mm_eval.cli.progress import ProgressBar
    from mm_eval.prepare import names_tasks
    from mm_eval.run import evaluate

    if args.config:
        raise ConfigError("watch runs one model.", where="--config", hint="Give --model and --tasks.")
    base = run_verb.request_of(args)
    if not names_tasks(base):
        raise ConfigError("no task is named: --tasks is needed.", hint="`mm-eval ls tasks` lists them.")
    if base.deciding.stop_when and base.deciding.until_interval:
        raise ConfigError("--stop_when and --until_interval can't be combined.", hint="Give one or the other.")
    if "peft" in base.model_args:
        raise ConfigError("peft is each checkpoint that is an adapter.", where="--model_args", hint="Leave it out.")
    folder, processor = Path(args.checkpoints), Path(args.processor or args.checkpoints)
    if args.processor and not any(map(is_of_processor, _names(processor))):
        hint = "Give the folder that processor.save_pretrained wrote."
        raise ConfigError(
            f"{args.processor!r} has no files of a processor or a tokenizer.", where="--processor", hint=hint
        )
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {args.checkpoints!r}.", hint="Give the folder with checkpoint-500, ...")
    study = Path(base.output_path or f"runs/watch-{folder.resolve().name}")
    for path in step_folders(study):
        with suppress(StoreError):  # a damaged one is a line when its step is evaluated
            RunFolder(path).read("run.json")  # one of another format is refused before anything is evaluated
    base = replace(base, model=base.model or "hf", output_path=None)

    def run(request: RunRequest) -> int:
        report = evaluate(request, ProgressBar())
        for problem in report.problems:
            say(f"  {problem}")
        return report.exit_code

    watch = Watch(folder, study, base, run, newest_first=args.newest_first, processor=processor)
    return watch.until_interrupted(None if args.once else args.poll)


@dataclass
class Watch:
    """The checkpoints of a folder and their evaluations.

    run: evaluates a request and returns its exit code. processor: where the files are that checkpoints lack.
    seen: of checkpoints that can't be evaluated so far, the state of their files and why. failed: that of those that failed.
    said: those of `seen` that were reported.
    """

    folder: Path
    study: Path
    base: RunRequest
    run: Callable[[RunRequest], int]
    newest_first: bool = False
    processor: Path | None = None
    code: int = 0
    seen: dict[Path, tuple[tuple[object, ...], str]] = field(default_factory=dict)
    failed: dict[Path, tuple[object, ...]] = field(default_factory=dict)
    said: set[tuple[Path, str]] = field(default_factory=set)
    _before: dict[Path, tuple[object, ...]] = field(default_factory=dict)
    _no_room: set[Path] = field(default_factory=set)
    _curves: Study | None = None

    def until_interrupted(self, seconds: int | None) -> int:
        """Evaluates until the user ends it; None: once what is there. Returns the exit code."""
        if not self._checkpoints():
            after = "" if seconds is None else f"; it is looked at every {seconds} s"
            complain_briefly(f"{self.folder} has no checkpoint (a folder such as checkpoint-500) so far{after}.")
        while True:
            while (checkpoint := next(self.pending(), None)) is not None:
                if self.evaluate(checkpoint) == INTERRUPTED:
                    return INTERRUPTED
            self._report_unread(at_once=seconds is None)
            if seconds is None:
                return max(self.code, 3) if self.seen else self.code
            time.sleep(seconds)
            self._no_room.clear()

    def _report_unread(self, at_once: bool) -> None:
        """Says of each checkpoint that can't be evaluated why: at once, or when its files did not change between two looks."""
        for path, (state, why) in self.seen.items():
            is_still = at_once or self._before.get(path) == state
            if is_still and (path, why) not in self.said:
                self.said.add((path, why))
                complain_briefly(f"{path.name} can't be evaluated so far: {why}")
        self._before = {path: state for path, (state, _) in self.seen.items()}

    def _checkpoints(self) -> list[Path]:
        try:
            return [path for path in self.folder.iterdir() if path.is_dir() and step_of(path) is not None]
        except OSError:  # the folder was removed, or its disk is away for a while
            return []

    def pending(self) -> Iterator[Path]:
        """The complete checkpoints without results, in the order in which they are evaluated."""
        for path in sorted(self._checkpoints(), key=lambda path: step_of(path) or 0, reverse=self.newest_first):
            if self._is_done(folder := self._folder_of(path)):
                self._report_rewritten(path, folder)
                continue
            if self.failed.get(path) == files_of(path) or path in self._no_room:
                continue
            if self.is_complete(path):
                yield path

    def _report_rewritten(self, checkpoint: Path, folder: Path) -> None:
        """Says once of a checkpoint that is not what was evaluated that its results are of the weights before.

        Its digests are compared where a file was written after the run began, or shortly before it.
        """
        state = str(files_of(checkpoint))
        if (checkpoint, state) in self.said:
            return
        try:
            run = read_json(folder, "run.json")
            written = [path.stat() for path in checkpoint.iterdir() if path.suffix in WEIGHTS]
            newest = max((max(stat.st_mtime, stat.st_ctime) for stat in written), default=0.0)
            if newest < float(run.get("created", 0)) - SKEW:
                return
            model = self._model_of(checkpoint)
            model.describe()
            before, now = (constants_of(each) for each in (run.get("constants"), measured(model).constants))
        except (OSError, MMEvalError):  # files that are being replaced
            return
        self.said.add((checkpoint, state))
        if before and now != before:
            self.code = max(self.code, 3)
            complain_briefly(
                f"{checkpoint.name} was written again after it was evaluated: {folder} has the scores of the weights before. "
                "Move that folder away, and the checkpoint is evaluated."
            )

    def _is_done(self, folder: Path) -> bool:
        """Whether a run folder has results; those of the reference must be of all docs."""
        if not (folder / "results.json").is_file():
            return False
        if not self.base.deciding.stop_when or self._reference() != folder:
            return True
        return not any(row.stopped for row in RecordedRun.read(folder).results.rows.values())

    def _model_of(self, checkpoint: Path) -> Model:
        return own_model(in_our_words(self.request_of(checkpoint))[0])

    def is_complete(self, checkpoint: Path) -> bool:
        """Whether all files of a checkpoint are there and whole: the adapter describes it by them, and they stay as they are."""
        state = files_of(checkpoint)
        if checkpoint in self.seen and self.seen[checkpoint][0] == state and self.seen[checkpoint][1]:
            return False
        try:
            self._model_of(checkpoint).describe()
        except (MMEvalError, OSError) as error:
            if checkpoint.is_dir():  # else it was removed meanwhile
                self.seen[checkpoint] = state, str(error) + self._hint(checkpoint)
            return False
        if files_of(checkpoint) != state:  # it is being written
            return False
        self.seen.pop(checkpoint, None)
        return True

    def _hint(self, checkpoint: Path) -> str:
        if (
            any(map(is_of_processor, [*_names(checkpoint), *_names(self.processor)]))
            or (checkpoint / ADAPTER).is_file()
        ):
            return ""
        return " It has no processor: name one by --processor DIR, or give the Trainer processing_class=processor."

    def evaluate(self, checkpoint: Path) -> int:
        """Evaluates a checkpoint and prints the curve. An error is a line; the others go on."""
        say(f"{checkpoint.name}: {self._folder_of(checkpoint)}")
        state = files_of(checkpoint)
        try:
            code = self._run(self.request_of(checkpoint))
        except (MMEvalError, OSError) as error:
            complain_briefly(f"{checkpoint.name}: {self._removed(checkpoint) or error}")
            code = 2
            if isinstance(error, StoreError):  # a full disk is not the checkpoint's fault: at the next look again
                self._no_room.add(checkpoint)
        if checkpoint not in self._no_room and not (self._folder_of(checkpoint) / "results.json").is_file():
            self.failed[checkpoint] = state  # not again before its files change, which they may have done meanwhile
        self.code = max(self.code, 3 if code == 2 else code)
        if code in (0, 3):
            from mm_eval.verbs.training.curve import Study
            from mm_eval.verbs.training.curve_text import lines

            self._curves = self._curves or Study(self.study, self.base.include_path)
            self._curves.refresh()
            say_lines("\n".join(lines(self._curves)))
        return code

    def _removed(self, checkpoint: Path) -> str:
        """That a checkpoint is gone, and where the answers are that it gave; empty where it is there."""
        if checkpoint.is_dir():
            return ""
        folder = self._folder_of(checkpoint)
        kept = f" Its answers are kept: `mm-eval score {folder}` scores them." if journal_files(folder) else ""
        return f"the checkpoint was removed before it was evaluated; see the training's save_total_limit.{kept}"

    def _run(self, request: RunRequest) -> int:
        """Runs a request. With --stop_when against the reference: the first checkpoint, then each that is better than it."""
        if not request.deciding.stop_when:
            return self.run(request)
        whole = replace(request, deciding=replace(request.deciding, stop_when=None))
        reference, folder = self._reference(), Path(str(request.output_path))
        if reference is None or reference == folder:
            code = self.run(whole)
        else:
            from mm_eval.deciding.against import against

            code = self.run(against(request, reference))
            if code or not is_better_than_reference(folder):
                return code
            say(
                f"  {folder.name} is better than {reference.name}: it answers all documents, and later ones are compared with it"
            )
            write_atomic(self._reference_file, folder.name)  # first: a launch that ends here goes on with all docs
            code = self.run(whole)
        if code == 0:
            write_atomic(self._reference_file, folder.name)
        return code

    @property
    def _reference_file(self) -> Path:
        return self.study / "reference.txt"

    def _reference(self) -> Path | None:
        """The folder of the checkpoint that later ones are compared with; None where there is none so far."""
        try:
            return self.study / Path(self._reference_file.read_text(encoding="utf-8").strip()).name
        except OSError:
            return None

    def request_of(self, checkpoint: Path) -> RunRequest:
        """The request of a checkpoint. ConfigError for an adapter of an unknown model, and for a model that is not an adapter."""
        args = dict(self.base.model_args)
        if (checkpoint / ADAPTER).is_file():
            args = {"pretrained": base_of(checkpoint), **args, "peft": str(checkpoint)}
        elif "pretrained" in args:
            hint = "Leave it out: each checkpoint is the model."
            raise ConfigError(
                f"{checkpoint.name} is not an adapter of {args['pretrained']!r}.", where="--model_args", hint=hint
            )
        else:
            args["pretrained"] = str(self._completed(checkpoint))
        return replace(self.base, model_args=args, output_path=str(self._folder_of(checkpoint)))

    def _completed(self, checkpoint: Path) -> Path:
        """The checkpoint, or a folder of links to its files and to those of the processor that it lacks."""
        own = _names(checkpoint)
        lacking = [name for name in _names(self.processor) if is_of_processor(name) and name not in own]
        if (
            not lacking
            or {"processor_config.json", "preprocessor_config.json"} & set(own)
            and "tokenizer_config.json" in own
        ):
            return checkpoint
        folder = self.study / "checkpoints" / checkpoint.name
        folder.mkdir(parents=True, exist_ok=True)
        wanted = {name: checkpoint / name for name in own} | {name: self.processor / name for name in lacking}  # type: ignore[operator]
        for name, target in wanted.items():
            link = folder / name
            if not link.is_symlink() or link.readlink() != target.resolve():
                link.unlink(missing_ok=True)
                link.symlink_to(target.resolve())
        for name in set(_names(folder)) - wanted.keys():
            (folder / name).unlink()
        return folder

    def _folder_of(self, checkpoint: Path) -> Path:
        return step_folder(self.study, step_of(checkpoint) or 0)


def constants_of(stated: object) -> Mapping[str, object]:
    """The digests of a checkpoint's files, and of its adapter's, among the constants of a model."""
    found = stated if isinstance(stated, Mapping) else {}
    return {name: found[name] for name in ("files", "peft") if name in found}


def files_of(checkpoint: Path) -> tuple[object, ...]:
    """Name, size and time of each file of a checkpoint."""
    try:
        found = [(path.name, path.stat()) for path in sorted(checkpoint.iterdir()) if path.is_file()]
    except OSError:  # a file that is being replaced
        return (time.monotonic(),)
    return tuple((name, status.st_size, status.st_mtime_ns) for name, status in found)


def is_better_than_reference(folder: Path) -> bool:
    """Whether a run that stopped is better than the one it was compared with in a number, and worse in none."""
    results = RecordedRun.read(folder).results
    found = []
    for each in results.looks["comparisons"] if results.looks is not None else ():
        if each["ended"] == "differs" and each.get("difference"):
            metric = results.headline(each["row"])
            better = None if metric is None else results.better(each["row"], metric.metric)
            found.append(better is not None and (each["difference"] > 0) == better)
    return bool(found) and all(found)


def is_of_processor(name: str) -> bool:
    """Whether a file is of a processor or a tokenizer, by its name."""
    return name.endswith((".json", ".jinja", ".txt", ".model")) and any(word in name for word in OF_PROCESSOR)


def base_of(checkpoint: Path) -> str:
    """The model that an adapter was trained on, as its settings name it. ConfigError where they do not."""
    try:
        found = json.loads((checkpoint / ADAPTER).read_text(encoding="utf-8")).get("base_model_name_or_path")
    except (OSError, ValueError, AttributeError):
        found = None
    if not isinstance(found, str) or not found:
        hint = "Give it: --model_args pretrained=MODEL."
        raise ConfigError(f"{checkpoint.name} does not name the model that it was trained on.", hint=hint)
    return found


def _names(folder: Path | None) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir() if path.is_file()) if folder is not None else []
    except OSError:
        return []
