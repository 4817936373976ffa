"""An engine that plays back what a real vLLM answered, so that the adapter is tested where vLLM is not installed.

python -m tests.models.vllm.recorded      # where vLLM is installed: records recorded.json again
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections.abc import Coroutine, Mapping
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

FILE = Path(__file__).with_name("recorded.json")
ROOT = Path(__file__).parents[3]
COMMANDS = {
    "mme": ("mme", {"mme": [0, 1, 2, 3, 400, 401]}),
    "seedbench_ppl": ("seedbench_ppl", {"seedbench_ppl": [0, 1, 24, 200]}),
    "arc_easy": ("arc_easy", {"arc_easy": [0, 1, 2]}),
}
"""What is recorded: name -> (tasks, the documents of each)."""
LAST = 24
"""Entries of the prompt's log-probabilities that are kept, from the end; no option is longer."""


def key_of(model: str, prompt: Mapping[str, Any], sampling: Mapping[str, Any]) -> str:
    """A digest of everything that a request holds; of its pictures the digests."""
    uuids = (prompt.get("multi_modal_uuids") or {}).get("image")
    text = json.dumps([model, prompt["prompt_token_ids"], uuids, dict(sampling)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def to_json(output: Any) -> dict[str, Any]:
    made = output.outputs[0]

    def plain(entries: Any) -> Any:
        return entries and [
            entry and {token: [each.logprob, each.rank] for token, each in entry.items()} for entry in entries
        ]

    return {
        "length": len(output.prompt_token_ids),
        "cached": output.num_cached_tokens,
        "text": made.text,
        "ids": list(made.token_ids),
        "finish": made.finish_reason,
        "logprobs": plain(made.logprobs),
        "prompt": plain((output.prompt_logprobs or [])[-LAST:]),
    }


def from_json(stored: Mapping[str, Any]) -> Any:
    def entries(rows: Any) -> Any:
        return rows and [
            row and {int(token): SimpleNamespace(logprob=v[0], rank=v[1]) for token, v in row.items()} for row in rows
        ]

    made = SimpleNamespace(
        text=stored["text"],
        token_ids=stored["ids"],
        finish_reason=stored["finish"],
        logprobs=entries(stored["logprobs"]),
    )
    prompt = entries(stored["prompt"])
    return SimpleNamespace(
        outputs=[made],
        prompt_token_ids=[0] * stored["length"],
        num_cached_tokens=stored["cached"],
        prompt_logprobs=prompt and [None] * (stored["length"] - len(prompt)) + prompt,
    )


class RecordedEngine:
    """Has the methods of `models.vllm.engine.Engine`. A request that was not recorded is an AssertionError."""

    max_length = 2048
    dead = False
    known: dict[str, Any] = {}
    closed = 0

    def __init__(self, options: Mapping[str, Any], lora: Path | None = None) -> None:
        type(self).known = self.known or json.loads(FILE.read_text(encoding="utf-8"))
        self.options, self.model = dict(options), Path(options["model"]).name
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def submit(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def run(self, prompt: Mapping[str, Any], **sampling: Any) -> Any:
        stored = self.known.get(key_of(self.model, prompt, sampling))
        assert stored is not None, f"not recorded: {prompt['prompt_token_ids']} with {sampling}"
        return from_json(stored)

    def close(self) -> None:
        type(self).closed += 1
        self._loop.call_soon_threadsafe(self._loop.stop)


def record() -> None:
    """Runs COMMANDS on a real engine and writes what it answered."""
    import tempfile

    from mm_eval.models.vllm import engine

    from mm_eval.run import evaluate

    found: dict[str, Any] = {}

    class Recording(engine.Engine):
        def __init__(self, options: Mapping[str, Any], lora: Path | None = None) -> None:
            super().__init__(options, lora)
            self.model = Path(options["model"]).name

        async def run(self, prompt: Mapping[str, Any], **sampling: Any) -> Any:
            output = await super().run(prompt, **sampling)
            found[key_of(self.model, prompt, sampling)] = to_json(output)
            return output

    engine.Engine = Recording  # type: ignore[misc]
    for model in ("tiny-llava", "tiny-qwen2-vl"):
        with tempfile.TemporaryDirectory() as folder:
            evaluate(request(model, Path(folder) / "run"))
    FILE.write_text(json.dumps(found, sort_keys=True), encoding="utf-8")
    print(f"{FILE}: {len(found)} requests, {FILE.stat().st_size / 1000:.0f} kB")


def request(model: str, folder: Path) -> Any:
    """The run that is recorded."""
    from mm_eval.request import RunRequest

    return RunRequest(
        tasks=tuple(COMMANDS),
        model="vllm",
        model_args={"pretrained": str(ROOT / "assets" / "models" / model), "enforce_eager": True},
        sample=True,
        samples={name: docs for _, own in COMMANDS.values() for name, docs in own.items()},
        output_path=str(folder),
    )


if __name__ == "__main__":
    record()
