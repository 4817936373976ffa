"""The vLLM adapter with a thinking model, on an engine that stops as vLLM does: at the first stop string in the text."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mm_eval.engine.model import MODELS, ModelSettings
from mm_eval.values.types import Answer
from tests.models.questions import instance
from tests.models.tiny_random import TEXT_TEMPLATE, tokenizer
from tests.models.vllm.recorded import RecordedEngine

OPENS = TEXT_TEMPLATE.replace("assistant:{% endif %}", "assistant:<think>\n{% endif %}")


@pytest.fixture(scope="module")
def thinker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch
    import transformers as tf

    from tests.models.tiny_random import TEXT

    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("thinker")
    made = tokenizer("<think>", "</think>")
    made.chat_template = TEXT_TEMPLATE
    tf.LlamaForCausalLM(tf.LlamaConfig(**TEXT)).save_pretrained(folder)
    made.save_pretrained(folder)
    return folder


def answered(
    monkeypatch: pytest.MonkeyPatch, thinker: Path, text: str, until: list[str], *, opens: bool = False, cap: int = 99
) -> tuple[Answer, list[list[str]]]:
    """The answer to one question by a model that writes a text, and the stop strings of each request."""
    sent: list[list[str]] = []

    class Writing(RecordedEngine):
        async def run(self, prompt: Any, **sampling: Any) -> Any:
            sent.append(sampling["stop"])
            tokens = tokenizer("<think>", "</think>")
            ids, found = list(tokens(text, add_special_tokens=False)["input_ids"]), None
            for place in range(1, len(ids) + 1):
                plain = tokens.decode(ids[:place], skip_special_tokens=True)
                found = next((stop for stop in sampling["stop"] if stop in plain), None)
                if found or place == min(cap, sampling["max_tokens"]):
                    ids = ids[:place]
                    break
            reason = "stop" if found or len(ids) < cap else "length"
            made = SimpleNamespace(text="", token_ids=ids, finish_reason=reason, stop_reason=found, logprobs=None)
            return SimpleNamespace(prompt_token_ids=prompt["prompt_token_ids"], outputs=[made])

    monkeypatch.setattr("mm_eval.models.vllm.engine.Engine", Writing)
    template = thinker / "opens.jinja"
    template.write_text(OPENS)
    args = {"pretrained": str(thinker), **({"chat_template": str(template)} if opens else {})}
    model = MODELS.get("vllm")(args, ModelSettings())
    [(_, found)] = list(model.generate([instance("A or B?", generation_kwargs={"until": until})]))
    model.close()
    assert isinstance(found, Answer), found
    return found, sent


def test_a_stop_string_inside_the_reasoning_is_not_sent_again(monkeypatch: pytest.MonkeyPatch, thinker: Path) -> None:
    found, sent = answered(monkeypatch, thinker, "<think>A?\nNo</think>\n\nB\nso", ["\n"])
    assert (found.output, found.reasoning, found.ended) == ("B", "<think>A?\nNo</think>", "stop")
    assert sent == [["\n"], []]


def test_a_prompt_that_opens_the_reasoning_sends_no_stop_strings(
    monkeypatch: pytest.MonkeyPatch, thinker: Path
) -> None:
    found, sent = answered(monkeypatch, thinker, "A?\nNo</think>\n\nB\nso", ["\n"], opens=True)
    assert (found.output, found.ended, sent) == ("B", "stop", [[]])
    cut, _ = answered(monkeypatch, thinker, "I lean to A\nso and so on", ["\n"], opens=True, cap=6)
    assert cut.ended == "length" and str(cut.output).startswith("<think>\nI lean")


def test_white_space_before_the_answer_does_not_end_it(monkeypatch: pytest.MonkeyPatch, thinker: Path) -> None:
    found, sent = answered(monkeypatch, thinker, "\n\nB\nso", ["\n"])
    assert str(found.output).strip() == "B" and sent == [["\n"], []]


def test_an_answer_without_reasoning_is_asked_for_once(monkeypatch: pytest.MonkeyPatch, thinker: Path) -> None:
    found, sent = answered(monkeypatch, thinker, "B\nso", ["\n"])
    assert (found.output, found.reasoning, sent) == ("B", None, [["\n"]])
