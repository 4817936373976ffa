"""Evaluates each checkpoint of a folder as it appears, and prints the numbers over the steps.

The options are those of `mm-eval run`; each checkpoint is the model's `pretrained`, and has a run folder below --output_path. A
checkpoint is complete when its index files name only weights that are whole. The same command goes on where it stopped."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mm_eval.adapters import own_model
from mm_eval.cli import run as run_verb
from mm_eval.cli.options import add_option
from mm_eval.cli.say import complain_briefly, say, say_lines
from mm_eval.features.training.study import step_folder, step_of
from mm_eval.request import RunRequest
from mm_eval.values.errors import ConfigError, MMEvalError

if TYPE_CHECKING:
    from mm_eval.features.training.curve import Study

INTERRUPTED = 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checkpoints", metavar="FOLDER", help="the folder in which a training saves its checkpoints")
    parser.add_argument(
        "--newest_first", action="store_true", help="the newest checkpoint first (default: in order of steps)"
    )
    parser.add_argument("--once", action="store_true", help="evaluate what is there, and end")
    add_option(parser, "poll", "N", "seconds between two looks at the folder (default 30)", default=30)
    run_verb.add_arguments(parser)


def main(args: argparse.Namespace) -> int:
    from mm_eval.cli.progress import ProgressBar
    from mm_eval.run import evaluate

    if args.config:
        raise ConfigError("watch runs one model.", where="--config", hint="Give --model and --tasks.")
    if not args.tasks and not args.protocol:
        raise ConfigError("no task is named: --tasks is needed.", hint="`mm-eval ls tasks` lists them.")
    base = run_verb.request_of(args)
    if "pretrained" in base.model_args:
        raise ConfigError("pretrained is each checkpoint.", where="--model_args", hint="Leave it out.")
    folder = Path(args.checkpoints)
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {args.checkpoints!r}.", hint="Give the folder with checkpoint-500, ...")
    study = Path(base.output_path or f"runs/watch-{folder.resolve().name}")
    base = replace(base, model=base.model or "hf", output_path=None)

    def run(request: RunRequest) -> int:
        report = evaluate(request, ProgressBar())
        for problem in report.problems:
            say(f"  {problem}")
        return report.exit_code

    watch = Watch(folder, study, base, run, newest_first=args.newest_first)
    return watch.until_interrupted(None if args.once else args.poll)


@dataclass
class Watch:
    """The checkpoints of a folder and their evaluations.

    run: evaluates a request and returns its exit code.
    seen: of checkpoints that are not complete, the state of their files and why. failed: that of those that failed.
    """

    folder: Path
    study: Path
    base: RunRequest
    run: Callable[[RunRequest], int]
    newest_first: bool = False
    code: int = 0
    seen: dict[Path, tuple[tuple[object, ...], str]] = field(default_factory=dict)
    failed: dict[Path, tuple[object, ...]] = field(default_factory=dict)
    _curves: Study | None = None

    def until_interrupted(self, seconds: int | None) -> int:
        """Evaluates until the user ends it; None: once what is there. Returns the exit code."""
        while True:
            while (checkpoint := next(self.pending(), None)) is not None:
                if self.evaluate(checkpoint) == INTERRUPTED:
                    return INTERRUPTED
            if seconds is None:
                for path, (_, why) in self.seen.items():
                    complain_briefly(f"{path.name} is not complete: {why}")
                return self.code
            time.sleep(seconds)

    def pending(self) -> Iterator[Path]:
        """The complete checkpoints without results, in the order in which they are evaluated."""
        found = [path for path in self.folder.iterdir() if path.is_dir() and step_of(path) is not None]
        for path in sorted(found, key=lambda path: step_of(path) or 0, reverse=self.newest_first):
            if (self._folder_of(path) / "results.json").is_file() or self.failed.get(path) == files_of(path):
                continue
            if self.is_complete(path):
                yield path

    def is_complete(self, checkpoint: Path) -> bool:
        """Whether all files of a checkpoint are there and whole: the adapter describes it by them, and they stay as they are."""
        state = files_of(checkpoint)
        if checkpoint in self.seen and self.seen[checkpoint][0] == state and self.seen[checkpoint][1]:
            return False
        try:
            own_model(self.request_of(checkpoint)).describe()
        except MMEvalError as error:
            self.seen[checkpoint] = state, str(error)
            return False
        if files_of(checkpoint) != state:  # it is being written
            return False
        self.seen.pop(checkpoint, None)
        return True

    def evaluate(self, checkpoint: Path) -> int:
        """Evaluates a checkpoint and prints the curve. An error is a line; the others go on."""
        say(f"{checkpoint.name}: {self._folder_of(checkpoint)}")
        try:
            code = self.run(self.request_of(checkpoint))
        except MMEvalError as error:
            complain_briefly(f"{checkpoint.name}: {error}")
            code = 2
        if not (self._folder_of(checkpoint) / "results.json").is_file():
            self.failed[checkpoint] = files_of(checkpoint)  # not again before its files change
        self.code = max(self.code, 3 if code == 2 else code)
        if code in (0, 3):
            from mm_eval.features.training.curve import Study
            from mm_eval.features.training.curve_text import lines

            self._curves = self._curves or Study(self.study, self.base.include_path)
            self._curves.refresh()
            say_lines("\n".join(lines(self._curves)))
        return code

    def request_of(self, checkpoint: Path) -> RunRequest:
        """The request of a checkpoint."""
        args = {**self.base.model_args, "pretrained": str(checkpoint)}
        return replace(self.base, model_args=args, output_path=str(self._folder_of(checkpoint)))

    def _folder_of(self, checkpoint: Path) -> Path:
        return step_folder(self.study, step_of(checkpoint) or 0)


def files_of(checkpoint: Path) -> tuple[object, ...]:
    """Name, size and time of each file of a checkpoint."""
    try:
        found = [(path.name, path.stat()) for path in sorted(checkpoint.iterdir()) if path.is_file()]
    except OSError:  # a file that is being replaced
        return (time.monotonic(),)
    return tuple((name, status.st_size, status.st_mtime_ns) for name, status in found)
