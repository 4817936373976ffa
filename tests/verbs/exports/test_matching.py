"""Which document a row of a log is about: by place and text, never by place alone where the text says otherwise."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from mm_eval.config.manager import TaskManager
from mm_eval.data.source import DataSource
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.prompt.blocks import PromptBlock
from mm_eval.prompt.task import PromptStyle, Task
from mm_eval.values.errors import ConfigError
from mm_eval.verbs.exports.logs.values import LogRow
from mm_eval.verbs.exports.matching import Matched, Matcher, answers_in_order

STYLE = PromptStyle(PromptBlock(), False, None, None)


@pytest.fixture(scope="module")
def mme() -> Task:
    config = TaskManager().load(["mme"]).tasks["mme"].resolved(FOREIGN_CODE)
    return Task.load(config, DataSource(sample=True))


@pytest.fixture(scope="module")
def style(mme: Task) -> PromptStyle:
    return replace(STYLE, block=PromptBlock.of_task(mme.config, "default", mme.config.prompt_kwargs["default"]))


@pytest.fixture(scope="module")
def arc() -> Task:
    return Task.load(TaskManager().load(["arc_easy"]).tasks["arc_easy"].resolved(FOREIGN_CODE), DataSource(sample=True))


@pytest.fixture(scope="module")
def plain(arc: Task) -> PromptStyle:
    return replace(STYLE, block=PromptBlock.of_task(arc.config))


def row(task: Task, style: PromptStyle, place: int, **fields: object) -> LogRow:
    """A row as lmms-eval writes it: place, prompt and gold, no document."""
    question = task.question(task.docs.text(place), style.block, "")
    made = LogRow(f"log:{place}", ["Yes"], place, str(place), prompt=question.text, target=question.target)
    return replace(made, **fields)


def matched(task: Task, style: PromptStyle, rows: Sequence[LogRow]) -> tuple[list[int], Matched]:
    matcher = Matcher(task, style)
    return [doc_id for doc_id, _ in matcher.match(iter(rows), iter(rows))], matcher.found


def test_the_place_counts_where_the_text_agrees(mme: Task, style: PromptStyle) -> None:
    ids, found = matched(mme, style, [row(mme, style, n) for n in (3, 0, 7)])
    assert ids == [3, 0, 7] and found.said("mme") == []


def test_another_prompt_with_the_same_question_agrees(mme: Task, style: PromptStyle) -> None:
    question = mme.docs.text(2)["question"]
    ids, _ = matched(mme, style, [row(mme, style, 2, prompt=f"USER: <image>\n{question} ASSISTANT:")])
    assert ids == [2]


def test_a_shifted_log_is_never_taken_by_its_places(
    mme: Task, style: PromptStyle, arc: Task, plain: PromptStyle
) -> None:
    """Every doc_id is one too high, as after a row was dropped: the rows are found by their text, or not at all.

    Neighbours in MME share their question, so that the text at a wrong place may agree.
    """
    rows = [row(arc, plain, n, doc_id=n + 1, choices=arc.docs.text(n)["choices"]["text"]) for n in range(20)]
    ids, found = matched(arc, plain, rows)
    assert ids == list(range(20)) and found.by_text == 20
    assert "20 documents found by the text, since the place in the log disagreed" in found.said("arc")[-1]
    rows = [replace(row(mme, style, n), doc_id=n + 1) for n in range(40)]
    ids, found = matched(mme, style, rows)
    rights = {(row.prompt, row.target): n for n, row in enumerate(rows)}
    questions = {n: mme.question(mme.docs.text(n), style.block, "") for n in ids}
    assert all(rights[asked.text, asked.target] == n for n, asked in questions.items())
    assert found.counts["several documents have this text, and the log does not say which one"] == 40 - len(ids) > 0


def test_rows_of_other_data_are_counted_with_examples(mme: Task, style: PromptStyle) -> None:
    rows = [row(mme, style, n) for n in range(9)]
    rows[4] = replace(rows[4], prompt="Is this the cat that you asked for yesterday?")
    ids, found = matched(mme, style, rows)
    assert ids == [0, 1, 2, 3, 5, 6, 7, 8]
    [said] = found.said("mme")
    assert "1 of 9 rows of the log left out: no document of our data has this text (log:4)" in said


def test_another_data_set_is_an_error(mme: Task, style: PromptStyle) -> None:
    rows = [row(mme, style, n, prompt=f"What is {n} plus {n}, in words of one syllable?") for n in range(9)]
    with pytest.raises(ConfigError, match="only 0 of 9 rows of the log are documents of our data of mme") as caught:
        matched(mme, style, rows)
    assert caught.value.where == "log:0" and "--docs log" in caught.value.hint


def test_a_document_that_is_there_twice_counts_once(mme: Task, style: PromptStyle) -> None:
    ids, found = matched(mme, style, [row(mme, style, n) for n in (0, 1, 1)])
    assert ids == [0, 1] and found.counts == {"the document is in the log twice; the first row counts": 1}


def test_rows_without_a_place(mme: Task, style: PromptStyle) -> None:
    """Questions of MME occur several times, on other pictures: the order decides if it agrees everywhere, else nothing does."""
    every = [row(mme, style, n, doc_id=None, id="") for n in range(len(mme.docs))]
    ids, _ = matched(mme, style, every)
    assert ids == list(range(len(mme.docs)))
    with pytest.raises(ConfigError, match="several documents have this text"):
        matched(mme, style, [*every[1:], every[0]])


def test_pipelines_are_rows_of_the_same_document(mme: Task, style: PromptStyle) -> None:
    rows = [row(mme, style, n, filter=name) for name in ("strict", "flexible") for n in (2, 5)]
    matcher = Matcher(mme, style)
    found = [(doc_id, each.filter) for doc_id, each in matcher.match(iter(rows), iter(rows))]
    assert found == [(2, "strict"), (5, "strict"), (2, "flexible"), (5, "flexible")] and matcher.found.rows == 2


def test_a_gold_that_differs_is_counted_and_ours_is_kept(mme: Task, style: PromptStyle) -> None:
    rows = [row(mme, style, n) for n in range(4)]
    rows[1] = replace(rows[1], target="Perhaps")
    _, found = matched(mme, style, rows)
    assert found.said("mme") == ["mme: the log has another gold for 1 document; the one of our data counts"]


def test_the_documents_of_the_log_are_compared_column_by_column(mme: Task, style: PromptStyle) -> None:
    rows = [row(mme, style, n, doc=mme.docs.text(n), prompt=None) for n in range(4)]
    rows[2] = replace(rows[2], doc={**mme.docs.text(2), "question": mme.docs.text(3)["question"]})
    ids, found = matched(mme, style, rows)
    assert 2 not in ids and found.rows == 4


def test_options_in_another_order_are_no_match(arc: Task, plain: PromptStyle) -> None:
    options, style = arc.docs.text(0)["choices"]["text"], plain
    rows = [row(arc, style, n, choices=list(arc.docs.text(n)["choices"]["text"])) for n in range(4)]
    assert matched(arc, style, rows)[0] == [0, 1, 2, 3]
    rows[0] = replace(rows[0], choices=[*options[1:], options[0]])
    assert matched(arc, style, rows)[0] == [1, 2, 3]
    instances = list(arc.instances([0], style, lambda _: None))
    likelihoods = [[-1.0, False]] * 4
    same = LogRow("a", likelihoods, choices=[f" {each}" for each in options])
    assert answers_in_order(same, instances) == ([0, 1, 2, 3], "")
    turned = LogRow("a", likelihoods, choices=[*options[1:], options[0]])
    assert answers_in_order(turned, instances) == ([3, 0, 1, 2], ""), "by the options' texts"
    other = LogRow("a", likelihoods, choices=[*options[1:], "another"])
    assert "its choices differ" in answers_in_order(other, instances)[1]
    assert "compares log-likelihoods" in answers_in_order(LogRow("a", ["A"]), instances)[1]
    assert "asks for 4" in answers_in_order(LogRow("a", likelihoods[:2]), instances)[1]


def test_an_id_needs_the_text_too(arc: Task, plain: PromptStyle) -> None:
    ids = [arc.docs.text(n)["id"] for n in range(4)]
    rows = [row(arc, plain, n, doc_id=None, id=ids[n]) for n in (2, 0)]
    assert matched(arc, plain, rows)[0] == [2, 0]
    rows = [row(arc, plain, n, doc_id=None, id=ids[3 - n]) for n in range(4)]
    assert matched(arc, plain, rows)[0] == [0, 1, 2, 3], "the ids are another's: the text decides"
