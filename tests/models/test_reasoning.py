"""Token ids into reasoning and answer: special tokens, quoted marks, prompts that open the reasoning, stop strings."""

from __future__ import annotations

from typing import Any

from mm_eval.models.reasoning import TokenReader

from mm_eval.values.reasoning.families import marks_of
from mm_eval.values.reasoning.recorded import Reading, parts_of
from mm_eval.values.types import Answer
from tests.models.tiny_random import tokenizer
from tests.sets import each_of

SPECIAL = {
    "qwen": ("<think>", "</think>"),
    "gemma": ("<|channel>", "<channel|>"),
    "magistral": ("[THINK]", "[/THINK]"),
    "harmony": ("<|channel|>", "<|message|>", "<|start|>", "<|end|>"),
    "cohere": ("<|START_THINKING|>", "<|END_THINKING|>", "<|START_RESPONSE|>", "<|END_RESPONSE|>"),
    "kimi_k3": ("<|open|>", "<|close|>", "<|sep|>"),
    "glm": ("<think>", "</think>", "<|begin_of_box|>", "<|end_of_box|>"),
}
WRITTEN = {
    "qwen": "<think>\nIs it A?\n\nNo</think>\n\nB",
    "gemma": "<|channel>thought\nIs it A?\n<channel|>B",
    "magistral": "[THINK]Is it A?\n[/THINK]B",
    "harmony": "<|channel|>analysis<|message|>Is it A?\n<|end|><|start|>assistant<|channel|>final<|message|>B",
    "cohere": "<|START_THINKING|>Is it A?\n<|END_THINKING|><|START_RESPONSE|>B<|END_RESPONSE|>",
    "kimi_k3": "<|open|>think<|sep|>Is it A?\n<|close|>think<|sep|><|open|>response<|sep|>B",
    "glm": "<think>Is it A?\n</think><|begin_of_box|>B<|end_of_box|>",
}


def made(family: str) -> Any:
    return tokenizer(*SPECIAL[family])


def encoded(tokens: Any, text: str) -> list[int]:
    return list(tokens(text, add_special_tokens=False)["input_ids"])


def plainly(tokens: Any, text: str) -> list[int]:
    """A text as ordinary tokens, so that marks in it are quoted ones."""
    return [token for character in text for token in encoded(tokens, character)]


def scored(reply: Any) -> str | None:
    """What a scorer reads of a reply; None for a reasoning that never closed."""
    from mm_eval.scoring.filters.base import rule_of
    from mm_eval.scoring.filters.transformation import StripThinkingFilter

    read = Reading().read(Answer(reply.answer, reasoning=reply.reasoning), [])
    found = StripThinkingFilter().one(read.output)
    return None if rule_of(found) == "truncated" else str(found)


@each_of("family", SPECIAL)
def test_special_tokens_are_marks_and_not_padding(family: str) -> None:
    tokens = made(family)
    ids = encoded(tokens, WRITTEN[family])
    assert scored(TokenReader(tokens).read(ids, until=["\n"])) == "B"
    assert "Is it A?" in str(TokenReader(tokens).read(ids).reasoning)
    padded = [tokens.pad_token_id, *ids, tokens.eos_token_id]
    assert scored(TokenReader(tokens).read(padded, until=["\n"])) == "B"


@each_of("family", SPECIAL)
def test_a_reasoning_that_is_cut_has_no_answer(family: str) -> None:
    tokens = made(family)
    ids = encoded(tokens, WRITTEN[family].partition("A?")[0])
    for capped in (True, False):
        assert scored(TokenReader(tokens).read(ids, capped=capped)) is None


def test_token_ids_tell_a_mark_from_a_quoted_one() -> None:
    tokens = made("qwen")
    reader = TokenReader(tokens)
    quoting = encoded(tokens, "<think>x</think>") + plainly(tokens, "the </think> ends it: B")
    assert scored(reader.read(quoting)) == "the </think> ends it: B"
    inside = [*encoded(tokens, "<think>"), *plainly(tokens, "`</think>`: A"), *encoded(tokens, "</think>B")]
    assert scored(reader.read(inside)) == "B"
    named = plainly(tokens, "<think> and </think> are tags")
    assert reader.read(named).reasoning == ""  # so that no filter cuts it later
    assert scored(reader.read(named)) == "<think> and </think> are tags"
    unclosed = [*encoded(tokens, "<think>"), *plainly(tokens, "the </think> says A")]
    assert scored(reader.read(unclosed, capped=True)) is None
    late = [*plainly(tokens, "B "), *encoded(tokens, "<think>"), *plainly(tokens, "why")]
    assert scored(reader.read(late)) is None  # the token opens wherever it stands


def test_an_answer_without_marks_is_what_the_tokenizer_decodes() -> None:
    tokens = tokenizer("<think>", "</think>", "<|box_start|>", "<|vision_start|>")
    reader = TokenReader(tokens)
    for text in (" B", "A red car.\n\nIt is here", "<|box_start|>(1,2)<|vision_start|>", ""):
        ids = encoded(tokens, text)
        said = reader.read(ids)
        assert (said.answer, said.reasoning) == (tokens.decode(ids, skip_special_tokens=True), None)


@each_of(
    ("prompt", "opened"),
    [
        ("<|im_start|>assistant\n<think>\n", "<think>\n"),
        ("<|im_start|>assistant\n<think>\n\n</think>\n\n", ""),
        ("user: write in <think> tags\nassistant:", ""),
        ("<|START_THINKING|>", "<|START_THINKING|>"),
        ("<start>model\n<|channel>thought\n", "<|channel>thought\n"),
        ("assistant\nHere are my reasoning steps:\n", "Here are my reasoning steps:\n"),
        (
            "<seed:think>\n<seed:cot_budget_reflect>The budget is 0.</seed:cot_budget_reflect>\n",
            "<seed:think>\n<seed:cot_budget_reflect>The budget is 0.</seed:cot_budget_reflect>\n",
        ),
        ("assistant</mm:think>", ""),
    ],
)
def test_a_prompt_that_opens_the_reasoning(prompt: str, opened: str) -> None:
    tokens = made("qwen")
    reader = TokenReader(tokens)
    assert reader.opened(prompt) == opened
    cut, whole = encoded(tokens, "I lean to A so"), encoded(tokens, "no\n</think>\n\nB")
    if opened:
        assert scored(reader.read(cut, opened, capped=True)) is None
        assert scored(reader.read(cut, opened)) is None
        assert not reader.stops(encoded(tokens, "x\n\ny\n"), opened, ["\n"])
    else:
        assert scored(reader.read(cut, opened, capped=True)) == "I lean to A so"
    if opened.startswith("<think>"):
        assert scored(reader.read(whole, opened, ["\n"])) == "B"
        assert not reader.stops(whole, opened, ["\n"])
        assert reader.stops([*whole, *encoded(tokens, "\nQ")], opened, ["\n"])


def test_a_stop_string_is_looked_for_in_the_answer() -> None:
    tokens = made("qwen")
    reader = TokenReader(tokens)
    for text, stops in (
        ("<think>a\nb", False),
        ("<think>a\nb</think>\n\n", False),
        ("\n\nB", False),
        ("\n\nB\n", True),
    ):
        assert reader.stops(encoded(tokens, text), "", ["\n"]) is stops
    assert reader.stops(encoded(tokens, "\n\nB"), "", ["\n"], chat=False)  # a plain text's continuation


def test_marks_of_the_template_and_of_the_user() -> None:
    tokens = tokenizer("<muse>", "</muse>")
    ids = encoded(tokens, "<muse>A?</muse>B")
    assert scored(TokenReader(tokens).read(ids)) == "A?B"  # nothing says that these are marks
    template = "{{ content.split('</muse>')[-1] }}"
    assert scored(TokenReader(tokens, template).read(ids)) == "B"
    assert scored(TokenReader(tokens, marks=marks_of("<muse>,</muse>")).read(ids)) == "B"
    for end in ("</muse>", tokens.convert_tokens_to_ids("</muse>")):
        assert scored(TokenReader(tokens, end=end).read(ids)) == "B"
    assert TokenReader(tokens, marks=marks_of("none")).read(encoded(made("qwen"), "B")).answer == "B"


def test_the_text_of_the_record_says_the_same_as_the_ids() -> None:
    """What is recorded of an unclosed reasoning is read as such from the journal alone."""
    tokens = made("qwen")
    said = TokenReader(tokens).read(encoded(tokens, "I lean to A"), "<think>\n", capped=True)
    assert (said.answer, said.reasoning) == ("<think>\nI lean to A", None)
    assert not parts_of(said.answer).closed
