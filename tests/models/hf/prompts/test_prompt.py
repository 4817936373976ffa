"""What the model gets to read: templates, placeholders, the boundary before a continuation."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mm_eval.engine.model import show
from mm_eval.values.errors import ConfigError, DataError, ModelError
from tests.models.questions import instance, outputs, picture
from tests.sets import few

Adapter = Callable[..., Any]
QWEN_PICTURE = "<|vision_start|><|image_pad|><|vision_end|>"


def test_chat_messages_go_through_the_template(adapter: Adapter) -> None:
    model = adapter("qwen2_vl")
    context = [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "Look: "}, {"type": "image"}, {"type": "text", "text": "?"}],
        },
    ]
    prompt = model.writer.write(instance("", [picture(56, 56)], context=context))
    assert prompt.text == f"system: Be brief.\nuser: Look: {QWEN_PICTURE}?\nassistant:"
    preview = show(model, instance("", [picture(56, 56)], context=context))
    assert preview.text == prompt.text.replace("<|image_pad|>", "<|image_pad|>" * 4)
    assert (preview.tokens, preview.image_tokens) == (len(prompt.ids), 4)
    assert model._asking is None, "a preview loads no weights"


@pytest.mark.parametrize("kind", ["llava", "llama"])
def test_a_last_turn_of_the_assistant_is_continued(adapter: Adapter, kind: str) -> None:
    context = [{"role": "user", "content": "Is it?"}, {"role": "assistant", "content": "The answer is"}]
    assert adapter(kind).writer.write(instance("", context=context)).text == "user: Is it?\nassistant: The answer is"


def test_bos_is_there_exactly_once(adapter: Adapter, tmp_path: Path) -> None:
    llava = adapter("llava").writer
    for chat in (True, False):
        assert llava.write(instance("Hi", [picture(28, 28)], chat=chat)).ids.count(1) == 1
    template = tmp_path / "with_bos.jinja"
    template.write_text("{{ bos_token }}{% for m in messages %}{{ m['content'][0]['text'] }}{% endfor %}")
    written = adapter("llava", chat_template=str(template)).writer.write(instance("Hi"))
    assert written.text == "<s>Hi" and written.ids.count(1) == 1
    for kind in ("llava", "llama"):
        asked = adapter(kind, chat_template=str(template), add_bos_token="true")
        assert asked.writer.write(instance("Hi")).ids.count(1) == 1, "the template and the option both write it"
    llama = adapter("llama").writer
    assert llama.write(instance("Hi", chat=False)).ids[0] == 1
    assert 1 not in llama.write(instance("Hi")).ids, "a chat template writes its own special tokens"
    assert 1 not in adapter("llama", add_bos_token="false").writer.write(instance("Hi", chat=False)).ids
    assert adapter("llama", add_bos_token="true").writer.write(instance("Hi")).ids.count(1) == 1
    assert adapter("qwen2_vl", add_bos_token=True).writer.write(instance("Hi", [picture(56, 56)])).ids[0] == 1


def test_a_plain_context_gets_one_placeholder_a_picture_in_front(adapter: Adapter) -> None:
    two = [picture(56, 56, 1), picture(56, 84, 2)]
    assert (
        adapter("qwen2_vl").writer.write(instance("Which?", two, chat=False)).text == f"{QWEN_PICTURE}\n" * 2 + "Which?"
    )
    assert adapter("llava").writer.write(instance("Which?", two, chat=False)).text == "<image>\n<image>\nWhich?"
    interleaved = "First <image> then <image>?"
    assert adapter("llava").writer.write(instance(interleaved, two, chat=False)).text == interleaved
    assert adapter("llava").writer.write(instance("Which?", chat=False)).text == "Which?"


@pytest.mark.parametrize(
    "kind", few(["llava", "llava_next", "llava_onevision", "qwen2_vl", "qwen2_5_vl", "qwen3_vl"], at=[0, 3])
)
def test_plain_prompts_condition_on_their_pictures(adapter: Adapter, kind: str) -> None:
    model = adapter(kind)

    def scored(seed: int) -> float:
        rows = [instance("A dog?", [picture(90, 60, seed)], chat=False, continuation=" yes")]
        return float(outputs(model.loglikelihood(rows))[0, 0][0])

    assert abs(scored(1) - scored(2)) > 1e-3


def test_a_placeholder_in_a_plain_question_is_an_error_not_a_shift(adapter: Adapter) -> None:
    with pytest.raises(DataError, match="2 image placeholders .* 1 picture\\."):
        adapter("llava").writer.write(instance("Is <image> a tag, <image>?", [picture(28, 28)], chat=False))


def test_pictures_and_image_parts_must_agree(adapter: Adapter) -> None:
    context = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "?"}]}]
    with pytest.raises(DataError, match="1 image part for 2 pictures"):
        adapter("llava").writer.write(instance("", [picture(28, 28), picture(28, 28)], context=context))


def test_a_text_model_refuses_pictures(adapter: Adapter) -> None:
    [(_, answer)] = adapter("llama").generate([instance("What?", [picture(28, 28)], doc_id=7)])
    assert isinstance(answer, ModelError)
    assert "reads text only" in str(answer) and "doc 7" in str(answer)


def test_a_model_that_would_ignore_the_second_picture_refuses_two(adapter: Adapter) -> None:
    """BLIP-2's processor writes the tokens of one picture, which its model fills from the first of several."""
    writer = adapter("blip2").writer
    shown = [picture(56, 28, 1), picture(28, 56, 2)]
    assert writer.write(instance("What is shown?", shown[:1], chat=False)).image_tokens == 4
    with pytest.raises(ModelError, match="reads 1 picture in a prompt, and this question has 2.* several pictures"):
        writer.write(instance("What is shown?", shown, chat=False))


def test_messages_without_a_template_name_the_model(adapter: Adapter, checkpoint: Any, tmp_path: Path) -> None:
    bare = shutil.copytree(checkpoint("llama"), tmp_path / "bare")
    (bare / "chat_template.jinja").unlink()
    from mm_eval.engine.model import MODELS, ModelSettings

    model = MODELS.get("hf")({"pretrained": str(bare)}, ModelSettings())
    assert not model.facts.chat and adapter("llama").facts.chat
    with pytest.raises(ConfigError, match="bare' has no chat template"):
        MODELS.get("hf")({"pretrained": str(bare)}, ModelSettings(chat_template=True))
    with pytest.raises(ConfigError, match="bare' has no chat template"):
        list(model.generate([instance("Hi")]))
    assert outputs(model.generate([instance("Hi", chat=False, generation_kwargs={"max_new_tokens": 2})]))


def test_the_template_of_an_argument_replaces_the_checkpoints(adapter: Adapter, tmp_path: Path) -> None:
    template = tmp_path / "mine.jinja"
    template.write_text("Q: {{ messages[0]['content'] }} A:")
    changed = adapter("llama", chat_template=str(template))
    assert changed.writer.write(instance("Hi")).text == "Q: Hi A:"
    assert changed.identity(instance("Hi")) != adapter("llama").identity(instance("Hi"))


@pytest.mark.parametrize("kind", few(["llama", "llava", "qwen2_vl"], at=[0, 2]))
@pytest.mark.parametrize(
    ("context", "continuation"),
    [
        ("Answer:", " dog"),
        ("Answer: ", "dog"),
        ("Answer:  ", " dog"),
        ("Answer: the y", "ellow bus"),
        ("an", "d"),
        ("", " a"),
    ],
)
def test_no_token_is_lost_at_the_boundary(adapter: Adapter, kind: str, context: str, continuation: str) -> None:
    """Context and continuation together give the tokens of the whole text, and what is scored holds the continuation."""
    writer = adapter(kind).writer
    pictures = [] if kind == "llama" else [picture(56, 56)]
    row = instance(context, pictures, chat=False)
    prompt, ids = writer.split(writer.write(row), continuation)
    whole = writer.write(instance(context + continuation, pictures, chat=False))
    assert prompt.ids + ids == whole.ids
    scored = writer.tokenizer.decode(ids)
    spaces = context[len(context.rstrip(" ")) :]
    assert scored.endswith(spaces + continuation)
    assert prompt.image_tokens == whole.image_tokens == prompt.ids.count(writer.image_token_id)


def test_a_continuation_without_tokens_is_that_docs_failure(adapter: Adapter, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its log-likelihood would be 0, and it would beat every other choice."""
    writer = adapter("llama").writer
    tokens = writer._tokens
    monkeypatch.setattr(writer, "_tokens", lambda text, *more: tokens(text.replace("\u200b", ""), *more))
    with pytest.raises(DataError, match="makes no token of the continuation"):
        writer.split(writer.write(instance("A:", chat=False)), "\u200b")


def test_spaces_at_the_end_of_a_context_belong_to_the_continuation(adapter: Adapter) -> None:
    """ "Answer: " + "dog" scores the same tokens after the same prompt as "Answer:" + " dog"."""
    writer = adapter("llama").writer
    split = [writer.split(writer.write(instance(c, chat=False)), t) for c, t in (("A: ", "dog"), ("A:", " dog"))]
    assert split[0][0].ids == split[1][0].ids and split[0][1] == split[1][1]


@pytest.mark.parametrize("kind", ["llama", "llava"])
def test_an_eos_that_the_tokenizer_appends_is_neither_read_nor_scored(
    adapter: Adapter, kind: str, checkpoint: Callable[[str], Path], tmp_path: Path
) -> None:
    from tokenizers import Tokenizer, processors

    folder = shutil.copytree(checkpoint(kind), tmp_path / "with_eos")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    model, plain = adapter(kind, pretrained=str(folder)), adapter(kind)
    pictures = [] if kind == "llama" else [picture(28, 28)]
    assert model.writer.tokenizer("a")["input_ids"][-1] == 2
    row = instance("What?", pictures, chat=False, continuation=" a dog")
    assert model.writer.write(row).ids == plain.writer.write(row).ids
    assert outputs(model.loglikelihood([row])) == outputs(plain.loglikelihood([row]))
