"""Texts of thinking models into reasoning and answer: every known format, every edge case, and user's marks."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import replace

import pytest

from mm_eval.engine.journal import JournalState
from mm_eval.scoring.filters.base import rule_of
from mm_eval.scoring.filters.transformation import StripThinkingFilter
from mm_eval.values.errors import ConfigError
from mm_eval.values.reasoning import recorded
from mm_eval.values.reasoning.families import FAMILIES, FRAMES, marks_in_template, marks_of
from mm_eval.values.reasoning.recorded import Reading, Recorded, parts_of
from mm_eval.values.reasoning.split import cut_at, split, unframed
from mm_eval.values.types import Answer, Slot
from tests.sets import each_of

from .formats import ANSWERED, CUT, FORMATS, QUOTED, USER_TAGS

WHY = "The options are A, B and C. A bus is red, so A? No:\n\nthe answer is C. Answer: C"
MARKS = marks_of(USER_TAGS)


def answer_in(text, **known):
    found = split(text, MARKS, **known)
    return unframed(found.answer) if found.closed else None


@each_of("answer", ["B", "B. the bus", "a red bus\nin two lines", "Yes", "42", "$\\boxed{7}$"])
@each_of("name", FORMATS)
def test_every_format_gives_the_answer_after_its_reasoning(name, answer):
    for why in ("", WHY, "short"):
        text = FORMATS[name].format(w=why, b=answer) if why or "without marks" not in name else f"assistant: {answer}"
        if "without marks" in name and not why:
            continue
        assert answer_in(text) == answer, text
        assert answer_in(text, capped=True) == answer, text


@each_of("name", [name for name in FORMATS if "off" not in name and "stray" not in name])
def test_a_format_that_is_cut_inside_its_reasoning_has_no_answer(name):
    """Where the model writes its opening mark; a prompt that wrote it is another case."""
    before, reasoning, _ = FORMATS[name].partition("{w}")
    if not before:
        return
    assert answer_in(f"{before}{WHY}", capped=True) is None


@pytest.mark.parametrize("case", ANSWERED)
def test_edge_cases_with_an_answer(case):
    assert answer_in(ANSWERED[case].format(w=WHY, b="B")) == "B"


@pytest.mark.parametrize("case", CUT)
def test_edge_cases_that_are_cut(case):
    text = Recorded(CUT[case].format(w=WHY, b="B"))
    text.capped, text.opened = True, True
    assert not parts_of(text).closed
    found = StripThinkingFilter().one(text)
    assert (found, rule_of(found)) == ("", "truncated")


def test_edge_cases_that_quote_a_mark():
    shown = {case: answer_in(text.format(w=WHY, b="B")) for case, (text, _) in QUOTED.items()}
    assert shown == {5: "B", 6: "B, without the tag <think>", 20: "B, without the tag <think>"}
    for case in (6, 20):
        assert answer_in(QUOTED[case][0].format(w=WHY, b="B"), capped=True) is None


def test_an_answer_inside_the_reasoning_only_is_unparsed():
    for text in ("<think>B</think>", "B</think>", "<think>B</think>\n<answer></answer>"):
        found = StripThinkingFilter().one(text)
        assert (found, rule_of(found)) == ("", "unparsed")


def test_a_tool_call_ends_the_reasoning():
    call = '<tool_call>\n{"name": "zoom"}\n</tool_call>'
    assert answer_in(f"<think>{WHY}{call}") == call
    assert answer_in(f"<think>{WHY}<tool_calls>[]") is None  # Hunyuan's are text inside its reasoning


@each_of(
    "text",
    ["B", "", " ", "analysis of the picture", "Here is my response: B", "I think B", "<table><tr><th>a</th></tr></table>",
     "<table><tr><th>a</th", "a < b > c", "[B]", "x <|box_start|>(1,2)<|box_end|>", "final answer: B", "assistantfinal"],
)  # fmt: skip
def test_an_answer_without_marks_is_kept_as_it_is(text):
    for capped in (False, True):
        found = split(text, capped=capped)
        assert (found.reasoning, found.answer, found.closed) == ("", text, True)
        assert unframed(text) == text


def test_a_cut_answer_on_a_server_is_truncated_if_other_answers_begin_inside_the_reasoning():
    cut, whole, other = Answer("I lean to A", ended="length"), Answer("so B</think>\n\nB"), Answer("B")
    for others, closed in (([other, whole], False), ([other], True), ([Answer("<think>x</think>B")], True)):
        read = Reading().read(cut, [cut, *others])
        assert parts_of(read.output).closed is closed
    assert parts_of(Reading().read(Answer("I lean to A"), [whole]).output).closed  # the model ended it


def test_a_recorded_reasoning_is_not_looked_for_again():
    read = Reading().read(Answer("The mark </think> closes. B", reasoning="<think>x</think>"), [])
    assert StripThinkingFilter().one(read.output) == "The mark </think> closes. B"
    unclosed = Reading().read(Answer("<think>", reasoning="<think>the tag </think> quoted"), [])
    assert rule_of(StripThinkingFilter().one(unclosed.output)) == "truncated"


def test_marks_of_the_user():
    assert marks_of('[["<a>", "</a>"], ["<b>", "</b>"]]').pairs == (("<a>", "</a>"), ("<b>", "</b>"))
    assert marks_of("[THINK],[/THINK]").pairs == (("[THINK]", "[/THINK]"),)
    assert split("<muse>A</muse>B", marks_of("<muse>,</muse>")).answer == "B"
    assert split("<think>A</think>B", marks_of("none")).answer == "<think>A</think>B"
    for wrong in ("<a>", "<a>,", ",</a>", "<a>,<a>", "<a>,</a>,<b>", '[["<a>"]]', "[1]"):
        with pytest.raises(ConfigError, match="reasoning_tags"):
            marks_of(wrong)


def test_the_marks_that_a_template_removes_from_earlier_turns():
    template = "{% if '</muse>' in content %}{{ content.split('</muse>')[-1].split('</tool_call>')[0] }}{% endif %}"
    assert marks_in_template(template) == (("<muse>", "</muse>"),)


@each_of(
    ("answer", "until", "kept"),
    [
        ("\n\nB\nbecause", ["\n"], "\n\nB"),
        ("B\n\nQ:", ["\n\n"], "B"),
        ("<answer>\nB\n</answer>", ["\n"], "<answer>\nB"),
        ("B", ["\n"], "B"),
        ("B; Q:", ["Q:", ";"], "B"),
    ],
)
def test_a_stop_string_ends_the_answer_and_not_the_white_space_before_it(answer, until, kept):
    assert cut_at(answer, until)[0] == kept
    assert unframed(kept).strip() == "B"


@pytest.mark.full
def test_long_texts_take_linear_time():
    """100,000 characters of what a mark begins with; a pattern that looks twice would take minutes for each."""
    for piece in (
        "<",
        "<think ",
        "</",
        "[THINK",
        "analysis",
        "<|channel|>analysis",
        "Here is my ",
        "\n",
        "<answer>",
        "</th",
    ):
        many = piece * (100_000 // len(piece))
        for text in (many, f"analysis assistantfinal{many}", f"{many}<|end|> x", f"<think>{many}</answer>"):
            assert len(split(text).answer) + len(unframed(text)) <= 2 * len(text)
            assert cut_at(text, ["no such string"]) == (text, False)


def test_an_answer_that_is_not_searched_for_marks_can_have_none():
    """A family whose marks begin in another way must be named in `split._may_have_marks`."""
    marks = [mark for family in FAMILIES for mark in (family.opening, *[family.closing] * (family.at != "start"))]
    for mark in (*marks, *(mark for frame in FRAMES for mark in frame)):
        assert re.match(r"<|\\\[|◁|\(\?:<|analysis|Here", mark), mark
    assert not split("\n Here is my thought process: A? Here is my response: B").answer.startswith("\n Here")


def test_an_answer_with_another_output_is_else_the_same():
    answer = Answer("B", usage={"completion_tokens": 3}, attempts=2, key="k", images=("a",), model="m", ended="length")
    assert answer.having(output="C") == replace(answer, output="C")
    fields = {each.name: object() for each in dataclasses.fields(Answer) if each.name not in ("ended", "truncated")}
    assert all(
        getattr(Answer(**fields).having(output="C"), name) is fields[name]
        for name in fields
        if name not in ("output", "error")
    )


def test_a_cut_answer_that_was_read_before_others_came_is_read_by_them_when_it_is_scored():
    """A judge, or a look of `--stop_when`, reads answers while others are pending."""
    state, cut = JournalState(), Slot("t", 0)
    state.add(Answer("I lean to A", key="k0", ended="length"), [cut])
    assert parts_of(state.lookup(cut).output).closed
    state.add(Answer("so B</think>\n\nB", key="k1"), [Slot("t", 1)])
    assert not parts_of(state.lookup(cut).output).closed


def test_the_other_answers_are_looked_at_once_while_a_judge_or_the_model_goes_on(monkeypatch):
    """A judge asks about one cut answer after another; reading all others for each would take hours for 100,000 docs."""
    looked: list[Answer] = []
    look = recorded.closes_what_the_prompt_opened
    monkeypatch.setattr(
        recorded, "closes_what_the_prompt_opened", lambda other, marks: looked.append(other) or look(other, marks)
    )
    state = JournalState()
    for doc_id in range(20):
        state.add(Answer("I lean to A", key=f"k{doc_id}", ended="length"), [Slot("t", doc_id)])
    for doc_id in range(20):
        state.lookup(Slot("t", doc_id))
        state.add(Answer("GRADE: C", key=f"j{doc_id}"), [Slot("t", doc_id, judge="judge")])
        assert len(looked) == 20
    for doc_id in range(20, 25):
        state.add(Answer("B", key=f"k{doc_id}"), [Slot("t", doc_id)])
        state.lookup(Slot("t", 0))
        assert len(looked) == doc_id + 1


def test_the_other_answers_are_looked_at_while_further_ones_come():
    """A look of `--until_interval` is scored in a thread of its own."""
    state = JournalState()
    state.add(Answer("A", key="k0"), [Slot("t", 0)])
    slots = iter(state.slots)
    assert next(slots) == Slot("t", 0)
    state.add(Answer("A", key="k1"), [Slot("t", 10**6)])
    state.add(Answer("A", key="k2"), [Slot("u", 0)])
    assert list(slots) == []
