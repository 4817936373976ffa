"""The bundled model and a server of it hold equal conversations with zoom: answers, calls and pictures, turn by turn.

tests/models/vllm/test_real_vllm.py and tests/models/openai/test_real_server.py ask the same of vLLM.
"""

from pathlib import Path
from typing import Any

import httpx
import pytest

from mm_eval.engine.model import MODELS, ModelSettings
from mm_eval.values.types import Answer
from tests.faults.server import Server, reply
from tests.tools.looking import chains, instance_of, write


@pytest.mark.full
@pytest.mark.parametrize("name", ["tiny-qwen2-vl", "tiny-llava"])
def test_a_model_and_a_server_of_it_hold_equal_conversations(tmp_path: Path, name: str) -> None:
    task, settings = write(tmp_path / "task"), ModelSettings(device="cpu")
    expected = chains(task, tmp_path / "hf", MODELS.get(name)({}, settings))
    served = MODELS.get(name)({}, settings)

    def handle(body: dict[str, Any], nth: int) -> httpx.Response:
        if "tools" in body:
            return httpx.Response(400, json={"error": {"message": "tools is not supported", "param": "tools"}})
        ((_, answer),) = served.generate([instance_of(body)])
        assert isinstance(answer, Answer), answer
        return reply(str(answer.output), "length" if answer.truncated else "stop")

    server = Server(handle)
    found = chains(task, tmp_path / "server", server.model(model=name))
    assert found == expected
    said = [turn["answer"].split("\n")[0] for turns in found for turn in turns]
    assert len(set(said)) > 3, "the model's own words depend on what it is shown"
