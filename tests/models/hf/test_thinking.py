"""Checkpoints with reasoning marks as special tokens: templates that open the reasoning, stop strings, what is recorded.

The logits are replaced by a script, so that the model writes what a thinking model would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf

from mm_eval.engine.model import MODELS, ModelSettings
from mm_eval.values.errors import ConfigError, ModelError
from mm_eval.values.types import Answer
from tests.models.questions import instance
from tests.models.tiny_random import TEXT, TEXT_TEMPLATE, tokenizer
from tests.sets import few

OPENS = TEXT_TEMPLATE.replace("assistant:{% endif %}", "assistant:<think>\n{% endif %}")
PLAIN = TEXT_TEMPLATE + "{# content.split('</think>')[-1] #}"


@pytest.fixture(scope="module")
def thinker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of Llama's type whose tokenizer has Qwen's marks as special tokens."""
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("thinker")
    made = tokenizer("<think>", "</think>", "<|turn|>")
    made.chat_template = PLAIN
    model = tf.LlamaForCausalLM(tf.LlamaConfig(**TEXT))
    model.generation_config = tf.GenerationConfig(bos_token_id=1, eos_token_id=2, pad_token_id=0)
    model.save_pretrained(folder)
    made.save_pretrained(folder)
    return folder


@pytest.fixture
def said(thinker: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Answer]:
    """The answer of the checkpoint that writes a text. ends: an end token follows it."""

    def answered(
        text: str, template: str = PLAIN, *, ends: bool = True, cap: int = 60, until: Any = None, **args: Any
    ) -> Answer:
        file = tmp_path / "template.jinja"
        file.write_text(template)
        settings = ModelSettings(batch_size=1, device="cpu", reasoning_tags=args.pop("reasoning_tags", None))
        in_place = args.pop("in_place", True)
        chat = args.pop("chat", True)
        arguments = {"pretrained": str(thinker), "chat_template": str(file), **args}
        model = MODELS.get("hf")(arguments, settings)
        model.runtime.in_place = in_place
        tokens = model.writer.tokenizer
        ids = [*tokens(text, add_special_tokens=False)["input_ids"], *([2] if ends else [])]
        script: Iterator[int] = iter([*ids, *[2] * 5])
        monkeypatch.setattr(
            "mm_eval.models.hf.inference.decoding.likeliest", lambda logits: torch.tensor([next(script)] * len(logits))
        )
        options = {"max_new_tokens": len(ids) if not ends else cap, **({"until": until} if until else {})}
        [(_, found)] = list(model.generate([instance("A or B?", chat=chat, generation_kwargs=options)]))
        assert isinstance(found, Answer), found
        return found

    return answered


@pytest.mark.parametrize("in_place", few([True, False], at=[0]))
def test_a_stop_string_ends_the_answer_and_not_the_reasoning(said: Callable[..., Answer], in_place: bool) -> None:
    found = said("<think>A?\n\nNo\n</think>\n\nB\nbecause", until=["\n"], in_place=in_place)
    assert (found.output, found.ended) == ("B", "stop")
    assert found.reasoning == "<think>A?\n\nNo\n</think>"
    assert said("\n\nB\nbecause", until=["\n"]).output == "\n\nB"
    assert said("\n\nB\nbecause", until=["\n"], chat=False).output == ""  # a plain text's continuation, as in lm-eval


def test_a_template_that_opens_the_reasoning(said: Callable[..., Answer]) -> None:
    whole = said("no, A\nis not\n</think>\n\nB\n", OPENS, until=["\n"])
    assert (whole.output, whole.ended) == ("B", "stop") and str(whole.reasoning).startswith("<think>\n")
    cut = said("I lean to A\nso", OPENS, ends=False, until=["\n"])
    assert (cut.output, cut.ended, cut.reasoning) == ("<think>\nI lean to A\nso", "length", None)
    ended = said("I lean to A", OPENS)
    assert str(ended.output).startswith("<think>") and ended.ended == "stop"


def test_options_behind_an_opened_reasoning_are_not_scored(thinker: Path, tmp_path: Path) -> None:
    """The next token would be one of the reasoning. A plain text, and a user who says that nothing is reasoning, are scored."""
    file = tmp_path / "template.jinja"
    file.write_text(OPENS)

    def scored(chat: bool, tags: str | None = None) -> object:
        settings = ModelSettings(batch_size=1, device="cpu", reasoning_tags=tags)
        model = MODELS.get("hf")({"pretrained": str(thinker), "chat_template": str(file)}, settings)
        [(_, found)] = model.loglikelihood([instance("A or B?", chat=chat, continuation="A")])
        return found

    refused = scored(chat=True)
    assert isinstance(refused, ModelError) and "begins the model's turn with '<think>'" in str(refused)
    for found in (scored(chat=False), scored(chat=True, tags="none")):
        assert isinstance(found, Answer) and isinstance(found.output, tuple)


def test_the_marks_that_the_user_states(said: Callable[..., Answer]) -> None:
    text = "reasons end A?|turn|>B"
    assert said(text, reasoning_tags="reasons,|turn|>").output == "B"
    assert said("A?<|turn|>B", think_end_token="<|turn|>").output == "B"
    assert said("A?<|turn|>B").output == "A?B"
    assert said("<think>A?</think>B", reasoning_tags="none").output == "A?B"


def test_special_tokens_that_are_no_marks_are_dropped_as_before(said: Callable[..., Answer]) -> None:
    found = said("A red<|turn|> car")
    assert (found.output, found.reasoning) == ("A red car", None)


def test_stated_marks_are_part_of_the_fingerprint(thinker: Path) -> None:
    def fingerprint(settings: ModelSettings, **args: Any) -> str:
        return str(MODELS.get("hf")({"pretrained": str(thinker), **args}, settings).fingerprint)

    plain = fingerprint(ModelSettings(device="cpu"))
    assert fingerprint(ModelSettings(device="cpu", reasoning_tags="<a>,</a>")) != plain
    assert fingerprint(ModelSettings(device="cpu"), think_end_token="</think>") != plain


def test_the_tokenizer_of_another_folder_writes_the_prompts(thinker: Path, tmp_path: Path) -> None:
    """lm-eval's tokenizer=: its template and its tokens, and answers of their own in the journal."""
    other, large = tokenizer("<think>", "</think>"), tokenizer(*(f"<{n}>" for n in range(400)))
    for made, name in ((other, "other"), (large, "large")):
        made.chat_template = "{% for m in messages %}OTHER{% endfor %}"
        made.save_pretrained(tmp_path / name)

    def model(**args: str) -> Any:
        return MODELS.get("hf")({"pretrained": str(thinker), **args}, ModelSettings(batch_size=1, device="cpu"))

    with_other, plain = model(tokenizer=str(tmp_path / "other")), model()
    assert "OTHER" in with_other.show(instance("A or B?", chat=True)).text
    files = [each.source.constants()["files"] for each in (with_other, plain)]
    assert files[0]["weights"] == files[1]["weights"] and files[0]["tokenizer"] != files[1]["tokenizer"]
    with pytest.raises(ConfigError, match="ids up to .* vocabulary ends at 699"):
        _ = model(tokenizer=str(tmp_path / "large")).writer
    with pytest.raises(ConfigError, match="tokenizer=.*no tokenizer_config.json"):
        model(tokenizer=str(tmp_path))
