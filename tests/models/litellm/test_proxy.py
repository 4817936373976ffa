"""`--model openai` through a real proxy of LiteLLM before a scripted vendor; skipped where it is missing. `.ci/servers` runs it.

What the proxy hides of a vendor's endings is in docs/guides/servers.md. The last test shows when that is no longer so.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mm_eval.models.openai.adapter import OpenAI

from mm_eval.data.media import encoded, picture_digest
from mm_eval.engine.model import ModelSettings
from mm_eval.values.types import Answer, Instance
from tests.models.litellm import vendors
from tests.models.litellm.test_litellm import instance
from tests.models.litellm.vendors import KEY, Vendors, anthropic
from tests.processes import HANGS

for needed in ("litellm", "litellm_proxy_extras"):
    if importlib.util.find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed", allow_module_level=True)
CONFIG = """
model_list:
  - model_name: claude
    litellm_params: {{model: anthropic/claude-sonnet-4-5, api_base: "{url}", api_key: {key}}}
litellm_settings: {{num_retries: 0}}
general_settings: {{dangerously_permit_weak_or_unset_master_key: true}}
"""
START = "from litellm.proxy.proxy_cli import run_server; run_server()"


@pytest.fixture(scope="module")
def vendor() -> Iterator[Vendors]:
    with vendors.serving() as served:
        yield served


@pytest.fixture(scope="module")
def address(vendor: Vendors, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("proxy")
    (folder / "config.yaml").write_text(CONFIG.format(url=vendor.url, key=KEY))
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = str(found.getsockname()[1])
    command = [sys.executable, "-c", START, "--config", "config.yaml", "--host", "127.0.0.1", "--port", port]
    hidden = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # its imports are its own
    local = {**hidden, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([*command, "--telemetry", "False"], cwd=folder, env=local, **quiet)
    try:
        until = time.monotonic() + HANGS
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/liveliness", timeout=2):
                    break
            except OSError:
                assert process.poll() is None and time.monotonic() < until, "the proxy is not ready"
                time.sleep(1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()


def answer_of(address: str, asked: Instance) -> Answer:
    made = OpenAI({"base_url": address, "model": "claude", "max_retries": 0}, ModelSettings())
    ((_, answer),) = made.generate(iter([asked]))
    assert isinstance(answer, Answer), answer
    return answer


def test_texts_and_pictures_pass_in_their_order(address: str, vendor: Vendors) -> None:
    asked = instance(1, pictures=3)
    answer = answer_of(address, asked)
    assert (answer.output, answer.ended, answer.model) == ("Yes", "stop", "claude")  # its name for the model
    assert asked.images is not None
    files = [encoded(shown, picture_digest(shown))[1] for shown in asked.images()]
    digests = [hashlib.sha256(file).hexdigest() for file in files]
    expected = [*(each for place in range(3) for each in (f"{place}:", digests[place])), "Question 1?"]
    assert [each for each in vendor.pictures[-1] if each != "Be brief."] == expected


@pytest.mark.parametrize(
    ("stated", "ended"),
    [
        ("end_turn", "stop"),
        ("max_tokens", "length"),
        ("refusal", "filtered"),
        ("pause_turn", "stop"),
        ("model_context_window_exceeded", "stop"),
        ("of_tomorrow", "stop"),
    ],
)
def test_what_the_proxy_makes_of_endings(address: str, vendor: Vendors, stated: str, ended: str) -> None:
    vendor.replies = [anthropic(stop_reason=stated)]
    assert answer_of(address, instance(2)).ended == ended
