"""A callback of transformers' Trainer that evaluates the model in memory, in its own folder for each step.

The numbers go into the Trainer's log and to its trackers. The model, its gradients and all random streams are left as they were,
so that the training goes on as if nothing had been asked.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Literal

from mm_eval.api import Results, evaluate
from mm_eval.results.estimates import numbers_by_path
from mm_eval.results.recorded import RecordedRun
from mm_eval.scoring.run_results import INTERRUPTED
from mm_eval.values.errors import ConfigError, MMEvalError, kind_and_text
from mm_eval.values.types import Fields, JsonObject, Options
from mm_eval.values.words import counted
from mm_eval.verbs.training.study import (
    begin_at,
    have_other_weights,
    in_own_folder,
    leave_out_before,
    recorded,
    step_folder,
)

log = logging.getLogger("mm_eval.training")


class Evaluations:
    """Evaluates the model of a Trainer every N steps, or whenever it saves a checkpoint.

        trainer = Trainer(..., callbacks=[EvalCallback("mme,seedbench", processor, every=500, limit=200)])

    tasks: as `evaluate` takes them. processor: of the model; the Trainer's processing_class by default.
    every: steps between two evaluations; None evaluates at each save. at_end: also when the training ends.
    output_path: the folder of the study, with one run folder for each step.
    on_error: "note" logs what fails in an evaluation and lets the training go on, in all processes of a launch; "raise" ends it.
        What is wrong before the first step (a task that is unknown, a model that can't be evaluated) always raises.
    prefix: of the numbers in the log, "eval/mme/mme_perception_score".
    options: further options of `evaluate`: limit, sample, prompt_key, num_fewshot, gen_kwargs, seed, batch_size, data_root, ...

    results: {step: Results} of this process.
    """

    def __init__(
        self,
        tasks: str | Sequence[str],
        processor: object = None,
        *,
        every: int | None = None,
        output_path: str | Path = "runs/training",
        at_end: bool = True,
        on_error: Literal["note", "raise"] = "note",
        prefix: str = "eval",
        **options: Any,
    ) -> None:
        if every is not None and (not isinstance(every, int) or isinstance(every, bool) or every < 1):
            raise ConfigError(
                f"every={every!r}; a number of steps is needed.", where="EvalCallback", hint="Or None: at saves."
            )
        if on_error not in ("note", "raise"):
            raise ConfigError(f"on_error={on_error!r}.", where="EvalCallback", hint="It is 'note' or 'raise'.")
        self.tasks, self.processor, self.every = tasks, processor, every
        self.output_path, self.at_end, self.on_error, self.prefix = Path(output_path), at_end, on_error, prefix
        self.options = {"report": False, **options}
        self.results: dict[int, Results] = {}
        self._handler: Any = None
        self._check_options()

    # Of the Trainer

    def on_train_begin(self, args: object, state: Any, control: object, **kwargs: object) -> None:
        """Checks what can be wrong, and makes up for an evaluation that was cut off when the training was."""
        self._handler = _caller()
        self._check(kwargs)
        if self._handler is not None:  # trackers close their runs in on_train_end, perhaps before the last evaluation
            self._handler.callbacks.sort(key=lambda each: each is not self)
            self._check_folder(self._handler.callbacks)
        step = state.global_step
        if state.is_world_process_zero and (left := begin_at(self.output_path, step)):
            log.warning(
                "%s holds %s of an earlier training after step %d: left out of the curve of this one.",
                self.output_path,
                counted(len(left), "evaluation"),
                step,
            )
        if step and self._is_due(step):  # also where it is done: the weights may have been those of another training
            self._evaluate(args, state, control, kwargs, recorded(self.output_path).get(step))

    def on_step_end(self, args: object, state: Any, control: object, **kwargs: object) -> None:
        is_last = self.at_end and state.global_step >= state.max_steps
        if self.every is not None and (is_last or self._is_due(state.global_step)):
            self._evaluate(args, state, control, kwargs)

    def on_save(self, args: object, state: object, control: object, **kwargs: object) -> None:
        if self.every is None:
            self._evaluate(args, state, control, kwargs)

    def on_train_end(self, args: Any, state: Any, control: object, **kwargs: object) -> None:
        step = state.global_step
        if self.at_end and step not in self.results and not args.load_best_model_at_end:  # those would be other weights
            self._evaluate(args, state, control, kwargs, recorded(self.output_path).get(step))

    # Our own

    def _is_due(self, step: int) -> bool:
        return self.every is None or step % self.every == 0

    def _check_options(self) -> None:
        """ConfigError for an option that `evaluate` does not take, or that is stated here."""
        from mm_eval.request import by_field, check_options, task_names

        for name in ("model", "model_args", "output_path", "processor", "executor"):
            if name in self.options and (name != "model_args"):
                raise ConfigError(
                    f"{name} is stated by the callback itself.", where="EvalCallback", hint="Leave it out."
                )
        options = {
            name: value for name, value in self.options.items() if name not in ("identity", "progress", "model_args")
        }
        check_options(by_field(options, "EvalCallback"), "EvalCallback")
        task_names(self.tasks, "EvalCallback")

    def _check(self, kwargs: Options) -> None:
        """ConfigError for tasks that are unknown, and a model that can't be evaluated, before the first step."""
        from mm_eval.config.manager import TaskManager
        from mm_eval.engine.model import MODELS
        from mm_eval.request import task_names

        TaskManager(include_path=self.options.get("include_path")).load(task_names(self.tasks, "EvalCallback"))
        memory: Any = MODELS.get("memory")
        memory.check_module(kwargs["model"], self._processor(kwargs))

    def _check_folder(self, callbacks: Sequence[object]) -> None:
        """ConfigError where another callback writes into the same folder: of each step one of the two would be shown."""
        own = self.output_path.resolve()
        if any(
            each is not self and isinstance(each, Evaluations) and each.output_path.resolve() == own
            for each in callbacks
        ):
            hint = "Give each an output_path of its own, or one of them all tasks."
            raise ConfigError(f"two callbacks evaluate into {self.output_path}.", where="EvalCallback", hint=hint)

    def _processor(self, kwargs: Options) -> object:
        return self.processor if self.processor is not None else kwargs.get("processing_class")

    def _evaluate(self, args: object, state: Any, control: object, kwargs: Options, before: Path | None = None) -> None:
        """Evaluates a step and logs its numbers. before: the folder with the step's results, of these weights or of others."""
        step = state.global_step

        def run(folder: Path) -> Results:
            given: JsonObject = {**self.options, "processor": self._processor(kwargs), "output_path": str(folder)}
            return evaluate(self.tasks, kwargs["model"], **given)

        try:
            results = in_own_folder(step_folder(self.output_path, step), run)
        except Exception as error:  # in a launch of several processes all have it
            if self.on_error == "raise":
                raise
            said = str(error) if isinstance(error, MMEvalError) else kind_and_text(error)
            if state.is_world_process_zero:
                log.warning("The evaluation at step %d failed; the training continues: %s", step, said)
            return
        if results.exit_code == INTERRUPTED:
            raise KeyboardInterrupt
        self.results[step] = results
        if before is not None and results.folder == before:
            return  # logged when it was made
        if before is not None and state.is_world_process_zero and have_other_weights(before, results.folder):
            self._leave_out_another(step, state.log_history)
        if results.raw:
            self._log(self._numbers(results.folder), args, state, control)

    def _leave_out_another(self, step: int, history: Sequence[Fields]) -> None:
        """Leaves out the steps of another training, which has other weights at this step. history: the log of this training."""
        logged: dict[int, Fields] = {}
        for entry in history:
            if any(name.startswith(f"{self.prefix}/") for name in entry):
                logged[int(entry.get("step", 0))] = entry
        own = set()
        for at, folder in recorded(self.output_path).items():
            with suppress(MMEvalError):
                if at in logged and self._numbers(folder).items() <= logged[at].items():
                    own.add(at)
        left = leave_out_before(self.output_path, step, own)
        log.warning(
            "%s holds step %d of another training: it was evaluated with the weights of this one%s.",
            self.output_path,
            step,
            f", and {counted(len(left), 'evaluation')} before it left out of the curve" if left else "",
        )

    def _numbers(self, folder: Path) -> dict[str, float]:
        """{"eval/mme/mme_perception_score": value}, and "_low" and "_high" of the 95% interval."""
        found: dict[str, float] = {}
        for path, (_, number) in numbers_by_path(RecordedRun.read(folder)).items():
            low, high = number.interval or (None, None)
            ends = {"": number.value, "_low": low, "_high": high}
            found |= {f"{self.prefix}/{path}{end}": float(value) for end, value in ends.items() if value is not None}
        return found

    def _log(self, numbers: Mapping[str, float], args: object, state: Any, control: object) -> None:
        """Writes the numbers into the Trainer's log and hands them to its other callbacks, among them the trackers."""
        if not state.is_world_process_zero:
            return
        epoch = {} if state.epoch is None else {"epoch": state.epoch}
        state.log_history.append({**numbers, **epoch, "step": state.global_step})
        if self._handler is None:
            return
        handler = self._handler
        for other in handler.callbacks:
            if other is not self:
                # some trackers write "eval_x" as "eval/x", and "train/" before anything else
                shown = numbers
                if _rewrites(other):
                    shown = {f"eval_{name.removeprefix('eval/')}": value for name, value in numbers.items()}
                given = {name: getattr(handler, name, None) for name in ("model", "processing_class", "optimizer")}
                other.on_log(args, state, control, logs={**shown, **epoch}, **given)


def _caller() -> object:
    """The handler of the Trainer's callbacks, which is the caller of `on_train_begin`: a callback is given no Trainer."""
    handler = sys._getframe(2).f_locals.get("self")
    return handler if hasattr(handler, "callbacks") and hasattr(handler, "call_event") else None


def _rewrites(callback: object) -> bool:
    code = getattr(getattr(type(callback), "on_log", None), "__code__", None)
    return code is not None and "rewrite_logs" in (*code.co_names, *code.co_freevars)


@cache
def _callback_class() -> type:
    from transformers import TrainerCallback

    return type(
        "EvalCallback",
        (Evaluations, TrainerCallback),
        {"__doc__": Evaluations.__doc__, "__module__": "mm_eval.training"},
    )


def __getattr__(name: str) -> Any:
    """`EvalCallback`: transformers is imported when it is used."""
    if name == "EvalCallback":
        return _callback_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
