"""Each turn of a conversation is a recorded answer: asked once, whatever ends the run, and scored as a whole or not at all."""

import gc
import json
import os
import signal
import threading
import time
import weakref
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from PIL.Image import Image

from mm_eval import evaluate
from mm_eval.engine.journal import JournalState, add_record, read_journal
from mm_eval.engine.model import Answers
from mm_eval.results.sample_rows import spent_on_docs
from mm_eval.rounds.rounds import Rounds
from mm_eval.run import score
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import Answer, Instance, Slot
from mm_eval.verbs.study.earlier import EarlierAnswers
from tests.folders import results_of
from tests.rounds.talking import DOCS, TASK, TURNS, UTILS, Talker, run, turns_of, write
from tests.sets import few


def rows_of(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "samples" / "talks.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("at_once", [1, 5, 64])
def test_each_turn_is_asked_once_with_all_that_was_said(tmp_path: Path, at_once: int) -> None:
    model = Talker(at_once)
    results = run(write(tmp_path / "task"), tmp_path / "run", model)
    assert sorted(model.asked) == [(doc, 0, turn) for doc in range(DOCS) for turn in range(turns_of(doc))]
    assert results["talks"].n == DOCS and results["talks"].failed == 0
    rows = rows_of(tmp_path / "run")
    said = [turn["answer"] for turn in rows[3]["turns"][0]]
    assert rows[3]["resps"] == said[-1:], "the last answer is scored"
    assert model.prompts[3, 3].split("\n")[:5] == [
        "user: <image>",
        "What is 3?",
        f"assistant: {said[0]}",
        f"user: You said '{said[0]}'. Are you sure?",
        f"assistant: {said[1]}",
    ]
    assert model.pictures[3, 0] == [(8, 8)] and model.pictures[3, 3] == [(8, 8), (4, 4)]
    assert [turn["tokens"]["prompt_tokens"] for turn in rows[3]["turns"][0]] == [10, 20, 30, 40]
    assert rows[3]["turns"][0][2]["messages"][0]["content"][0]["size"] == [4, 4]
    assert json.loads((tmp_path / "run" / "results.json").read_text())["results"]["talks"]["turns"] == TURNS


def test_conversations_run_side_by_side(tmp_path: Path) -> None:
    """A document's next turn is asked before further documents are begun, and no batch but the last ones is short."""
    model = Talker(4)
    run(write(tmp_path / "task", docs=40), tmp_path / "run", model)
    full = [batch for batch in model.batches if len(batch) == 4]
    assert len(full) >= 100 / 4 - 3
    turns = [turn for _, _, turn in model.asked]
    assert 3 in turns[:20], "a conversation ends early, long before the last document begins"


@pytest.mark.full
def test_what_a_conversation_has_shown_is_freed_as_it_ends(tmp_path: Path) -> None:
    """Not by the garbage collector, which comes after 50,000 objects: crops of 2,048 pixels are 12 MB each."""
    shown: list[weakref.ref[Image]] = []
    most = 0

    class Watched(Talker):
        def _answers(self, batch):
            nonlocal most
            shown.extend(weakref.ref(each.images()[1]) for each in batch if each.turn == 2)
            most = max(most, sum(ref() is not None for ref in shown))
            return super()._answers(batch)

    task = write(tmp_path / "task", docs=40)
    gc.collect()
    gc.disable()
    try:
        run(task, tmp_path / "run", Watched(1))
    finally:
        gc.enable()
    assert len(shown) == 20 and most <= 2


def test_an_interrupt_does_not_wait_for_the_function_that_makes_a_turn(tmp_path: Path) -> None:
    """It may take ten minutes. The same command calls it again."""
    begun, go_on, ended = (tmp_path / name for name in ("begun", "go_on", "ended"))
    slow = f"""
import time
from pathlib import Path

def next_turn(doc, answers):
    Path({str(begun)!r}).touch()
    while not Path({str(go_on)!r}).exists():
        time.sleep(0.02)
    Path({str(ended)!r}).touch()
    return "And?" if len(answers) < 2 else None
"""
    task = write(tmp_path / "task", docs=2, utils=UTILS.partition("def next_turn")[0] + slow)

    def interrupt() -> None:
        for _ in range(3000):
            if begun.exists():
                os.kill(os.getpid(), signal.SIGINT)
                break
            time.sleep(0.02)
        time.sleep(30)
        go_on.touch()

    threading.Thread(target=interrupt, daemon=True).start()
    assert run(task, tmp_path / "run", Talker(1)).exit_code == 130 and not ended.exists()
    go_on.touch()
    model = Talker(1)
    assert run(task, tmp_path / "run", model).exit_code == 0 and ended.exists()
    assert (0, 0, 0) not in model.asked and len(model.asked) == 3


def test_the_number_does_not_depend_on_the_batch(tmp_path: Path) -> None:
    task = write(tmp_path / "task")
    for at_once in (1, 7):
        run(task, tmp_path / str(at_once), Talker(at_once))
    assert results_of(tmp_path / "1") == results_of(tmp_path / "7")


def cut_journal(folder: Path, lines: int) -> None:
    """The run folder as a kill leaves it after so many records."""
    [journal] = (folder / "journal").glob("*.jsonl")
    kept = journal.read_bytes().splitlines(keepends=True)[:lines]
    journal.write_bytes(b"".join(kept) + b'{"v":1,"kind":"ans')
    (folder / "results.json").unlink()


@pytest.mark.full
def test_a_run_that_is_cut_anywhere_asks_nothing_twice(tmp_path: Path) -> None:
    task, whole = write(tmp_path / "task"), tmp_path / "whole"
    run(task, whole, Talker(3))
    [journal] = (whole / "journal").glob("*.jsonl")
    records = [json.loads(line) for line in journal.read_bytes().splitlines()]
    assert sum(record["kind"] == "answer" for record in records) == TURNS
    assert sum(record["kind"] == "end" for record in records) == DOCS
    for lines in Random(0).sample(range(1, len(records)), 12):
        folder = tmp_path / str(lines)
        run(task, folder, Talker(3))
        cut_journal(folder, lines)
        there = {slot for slot, answer in read_journal(folder).slots.items() if answer.error is None}
        again = Talker(3)
        run(task, folder, again)
        asked = {(doc, repeat, turn) for doc, repeat, turn in again.asked}
        assert len(again.asked) == len(asked) == TURNS - len(there)
        assert not asked & {(slot.doc_id, slot.repeat, slot.turn) for slot in there}
        assert results_of(folder) == results_of(whole)


def test_a_lost_turn_is_asked_again_and_what_followed_it_is_checked(tmp_path: Path) -> None:
    task, folder = write(tmp_path / "task"), tmp_path / "run"
    run(task, folder, Talker())
    before = results_of(folder)
    [journal] = (folder / "journal").glob("*.jsonl")
    kept = [
        line for line in journal.read_text().splitlines(keepends=True) if '["' not in line or ",3,0,0,1]" not in line
    ]
    assert len(kept) == DOCS + TURNS - 1
    journal.write_text("".join(kept))
    again = Talker()
    run(task, folder, again)
    assert again.asked == [(3, 0, 1)] and results_of(folder) == before, (
        "an equal answer leaves the later turns as they are"
    )
    journal.write_text("".join(kept))
    for other in (folder / "journal").glob("*.jsonl"):
        if other != journal:
            other.unlink()
    again = Talker()
    again.generate = lambda instances: ((each, other_answer(again, each)) for each in instances)  # type: ignore[method-assign]
    run(task, folder, again)
    assert again.asked == [(3, 0, 1), (3, 0, 2), (3, 0, 3)], "another answer makes other questions"


def other_answer(model: Talker, instance: object) -> object:
    from mm_eval.values.types import Answer

    model.asked.append((instance.doc_id, instance.repeat, instance.turn))  # type: ignore[attr-defined]
    return Answer("other")


def test_a_failed_turn_fails_its_document_alone_and_is_asked_again(tmp_path: Path) -> None:
    task, folder = write(tmp_path / "task"), tmp_path / "run"
    model = Talker()
    model.fails = {(3, 2)}
    results = run(task, folder, model)
    assert results["talks"].failed == 1 and results.exit_code == 3
    row = rows_of(folder)[3]
    assert row["status"] == "failed" and row["resps"] == [] and row["scores"] == {}
    assert [turn["ended"] for turn in row["turns"][0]] == ["stop", "stop", "failed"]
    assert "turn 3" in row["error"]["what"]
    again = Talker()
    assert run(task, folder, again)["talks"].failed == 0
    assert again.asked == [(3, 0, 2), (3, 0, 3)]


@pytest.mark.parametrize("ended", ["filtered", "refused"])
def test_what_is_filtered_or_refused_ends_a_conversation_with_the_worst_value(tmp_path: Path, ended: str) -> None:
    model = Talker()
    model.ends = {(3, 1): ended}
    run(write(tmp_path / "task"), tmp_path / "run", model)
    assert (3, 0, 2) not in model.asked
    row = rows_of(tmp_path / "run")[3]
    assert row["status"] == ended and row["scores"]["exact_match,none"] == 0


def test_a_fault_of_the_function_is_its_documents(tmp_path: Path) -> None:
    utils = "def visual(doc):\n    return []\n\ndef next_turn(doc, answers):\n    return 1 / (doc['n'] - 5) and None\n"
    results = run(write(tmp_path / "task", utils=utils), tmp_path / "run", Talker())
    assert results["talks"].failed == 1
    what = rows_of(tmp_path / "run")[5]["error"]["what"]
    assert "ZeroDivisionError" in what and "doc 5, turn 2" in what


def test_a_fault_in_what_the_model_is_said_to_have_said_is_its_documents(tmp_path: Path, monkeypatch) -> None:
    def say(self: object, answer: Answer) -> None:
        raise ValueError("no message")

    monkeypatch.setattr(Rounds, "said", say)
    results = run(write(tmp_path / "task"), tmp_path / "run", Talker())
    assert results["talks"].failed == DOCS
    assert "turn 2: the next turn can't be made: ValueError: no message" in str(rows_of(tmp_path / "run")[0]["error"])


def test_repeats_are_conversations_of_their_own(tmp_path: Path) -> None:
    model = Talker(3)
    run(write(tmp_path / "task"), tmp_path / "run", model, repeats=2)
    assert len(model.asked) == len(set(model.asked)) == 2 * TURNS
    rows = rows_of(tmp_path / "run")
    assert len(rows[3]["turns"]) == 2 and rows[3]["turns"][0] != rows[3]["turns"][1]


def test_what_is_said_is_part_of_the_request_key(tmp_path: Path) -> None:
    task = write(tmp_path / "task")
    run(task, tmp_path / "run", Talker())
    state = read_journal(tmp_path / "run")
    assert len({answer.key for answer in state.slots.values()}) == TURNS


def test_a_conversation_ends_at_max_rounds(tmp_path: Path) -> None:
    results = run(write(tmp_path / "task", task=TASK.replace("4", "2")), tmp_path / "run", Talker())
    assert results["talks"].failed == 0
    assert max(len(row["turns"][0]) for row in rows_of(tmp_path / "run")) == 2


def test_the_samples_of_a_run_are_a_replay_file(tmp_path: Path) -> None:
    task = write(tmp_path / "task")
    model = Talker()
    model.fails = {(7, 1)}
    first = run(task, tmp_path / "run", model)
    given = {"path": str(tmp_path / "run" / "samples")}
    options = {"output_path": str(tmp_path / "again"), "report": False, "chat_template": True}
    again = evaluate(task, "replay", given, **options)
    assert again["talks"].failed == first["talks"].failed == 1
    assert results_of(tmp_path / "run") == results_of(tmp_path / "again")


def test_the_tokens_of_a_conversation_are_those_of_all_its_turns(tmp_path: Path) -> None:
    run(write(tmp_path / "task"), tmp_path / "run", Talker())
    found = spent_on_docs(tmp_path / "run")["talks"]
    assert {doc: each.completion for doc, each in found.items()} == {doc: 2 * turns_of(doc) for doc in range(DOCS)}


@pytest.mark.parametrize("scored", ["last", "all"])
def test_a_judge_reads_the_last_answer_or_all_of_them(tmp_path: Path, scored: str) -> None:
    examples = '  verdict_examples: [["Yes", 1], ["?", null]]\n'
    judge = f"judge:\n  prompt: !function utils.ask\n  verdict: !function utils.read\n{examples}"
    utils = "def ask(doc, answer):\n    return f'Grade {answer}'\n\n\n"
    utils += "def read(reply):\n    return None if reply == '?' else 1.0\n"
    text = TASK.replace("metric_list: [{metric: exact_match}]\n", judge)
    if scored == "all":
        text = text.replace("!function utils.next_turn", "{next: !function utils.next_turn, scored: all}")
    task = write(tmp_path / "task", task=text, utils=UTILS + "\n\n" + utils)
    results = run(task, tmp_path / "run", Talker(), judge="dummy", judge_preflight=False)
    row = rows_of(tmp_path / "run")[3]
    turns = [turn["answer"] for turn in row["turns"][0]]
    whole = turns[-1] if scored == "last" else json.dumps(turns)
    assert row["resps"] == [whole] and f"Grade {whole}" in str(row["judge"]["prompt"])
    assert results["talks"]["judge_score"].n == DOCS


def test_a_changed_function_is_found_at_its_turn(tmp_path: Path) -> None:
    """What the function makes is compared with what was asked; a change that asks the same changes nothing."""
    task, folder = write(tmp_path / "task"), tmp_path / "run"
    run(task, folder, Talker())
    before = results_of(folder)
    write(tmp_path / "task", utils=UTILS + "\n\ndef unused():\n    pass\n")
    again = Talker()
    run(task, folder, again)
    assert not again.asked and results_of(folder) == before
    changes = {"And this part of it?": "And that?", 'doc["n"] % 4': 'doc["n"] % 3'}
    for (old, new), where in zip(changes.items(), ("talks doc 2, turn 3", "talks doc 3"), strict=True):
        write(tmp_path / "task", utils=UTILS.replace(old, new))
        with pytest.raises(ConfigError, match="another question") as caught:
            run(task, folder, Talker())
        assert caught.value.where == where


def test_a_task_of_one_turn_shares_the_first_answer_of_a_conversation(tmp_path: Path) -> None:
    """Both orders: the first question is asked once, and neither task takes the other's form."""
    task = write(tmp_path / "task")
    plain = tmp_path / "task" / "plain.yaml"
    lines = [line for line in TASK.splitlines() if "round" not in line]
    plain.write_text("\n".join(lines).replace("task: talks", "task: plain"))
    for number, tasks in enumerate(([task, str(plain)], [str(plain), task])):
        model, folder = Talker(5), tmp_path / str(number)
        results = evaluate(tasks, model, identity="talker", output_path=str(folder), report=False)
        assert results.exit_code == 0 and len(model.asked) == TURNS
        assert results["talks"].failed == results["plain"].failed == 0
        row = json.loads((folder / "samples" / "plain.jsonl").read_text().splitlines()[3])
        assert "turns" not in row and row["resps"] == [rows_of(folder)[3]["turns"][0][0]["answer"]]
        again = Talker()
        evaluate(tasks, again, identity="talker", output_path=str(folder), report=False)
        assert not again.asked


@pytest.mark.parametrize("together", few([False, True], at=[0]))
def test_answers_are_shared_between_runs_and_the_last_conversation_ends_too(tmp_path: Path, together: bool) -> None:
    """Where no answer was asked for, the end of the last conversation was never recorded: its document was in no number."""
    task, cache = write(tmp_path / "task"), str(tmp_path / "cache")
    for name in ("first", "second", "third"):
        model = Talker()
        model.facts = replace(model.facts, together=together)
        if name == "third":  # a kill came before the ends were recorded
            ends = [line for line in journal_lines(tmp_path / "first") if b'"kind":"end"' not in line]
            folder = tmp_path / "third" / "journal"
            folder.mkdir(parents=True)
            (folder / "a.jsonl").write_bytes(b"".join(ends))
            (tmp_path / "third" / "run.json").write_bytes((tmp_path / "first" / "run.json").read_bytes())
        run(task, tmp_path / name, model, use_cache=None if name == "third" else cache)
        assert len(model.asked) == (TURNS if name == "first" else 0)
    assert results_of(tmp_path / "first") == results_of(tmp_path / "second") == results_of(tmp_path / "third")


def journal_lines(folder: Path) -> list[bytes]:
    return [line for path in (folder / "journal").iterdir() for line in path.read_bytes().splitlines(True)]


def test_without_pictures_no_turn_shows_one(tmp_path: Path) -> None:
    model = Talker()
    run(write(tmp_path / "task"), tmp_path / "run", model, blind="without")
    assert len(model.asked) == TURNS and not any(model.pictures.values())
    assert "<image>" not in "".join(model.prompts.values())


def test_an_interrupted_conversation_is_not_scored(tmp_path: Path) -> None:
    """Its answers are kept, its document is in no number, and the same command goes on."""
    task, folder = write(tmp_path / "task"), tmp_path / "run"
    run(task, folder, Talker())
    cut_journal(folder, 7)
    again = score(folder, include_path=str(tmp_path / "task"))
    assert again.exit_code == 3
    rows = rows_of(folder)
    unfinished = [row for row in rows if row["status"] == "not requested"]
    assert unfinished and all(not row["scores"] and not row["resps"] for row in unfinished)


def test_the_pictures_of_other_docs_can_not_be_shown_with_rounds(tmp_path: Path) -> None:
    """The function gets the doc with its own pictures, and would show them after the first turn."""
    model = Talker()
    with pytest.raises(ConfigError, match="`rounds` gets the document's own pictures"):
        run(write(tmp_path / "task"), tmp_path / "run", model, blind="shuffled")
    assert not model.asked


def test_a_list_of_all_answers_is_without_reasoning_and_stays_a_list(tmp_path: Path) -> None:
    says = ["<think>one</think><answer>A</answer>", "<think>two</think>B", "<answer>C</answer>", "<think>no end"]
    task = write(tmp_path / "task", task=TASK.replace("!function utils.next_turn", LISTED))
    run(task, tmp_path / "run", Saying(says))
    row = rows_of(tmp_path / "run")[3]
    whole = json.dumps(["<answer>A</answer>", "B", "<answer>C</answer>", ""])
    assert row["resps"] == [whole] and row["filtered_resps"]["none"] == [whole] and row["status"] == "answered"


def test_reasoning_between_the_users_own_marks_is_in_no_later_turn(tmp_path: Path) -> None:
    task = write(tmp_path / "task", task=TASK.replace("!function utils.next_turn", LISTED))
    model = Saying(["[R]one[/R]A", "[R]two[/R]B", "C", "[R]no end"])
    run(task, tmp_path / "run", model, reasoning_tags="[R],[/R]")
    assert model.prompts[3, 3].count("assistant: ") == 3 and "[R]" not in model.prompts[3, 3]
    assert rows_of(tmp_path / "run")[3]["resps"] == [json.dumps(["A", "B", "C", ""])]
    with pytest.raises(ConfigError, match="reasoning_tags"):
        run(task, tmp_path / "run", Talker(), reasoning_tags="[S],[/S]")


LISTED = "{next: !function utils.next_turn, scored: all}"


class Saying(Talker):
    """Says the same at each turn, whatever was asked."""

    def __init__(self, says: list[str]) -> None:
        super().__init__()
        self.says = says

    def _answers(self, batch: list[Instance]) -> Answers:
        for instance, answer in super()._answers(batch):
            assert isinstance(answer, Answer)
            yield instance, replace(answer, output=self.says[instance.turn])


def test_the_tokens_of_turns_that_are_taken_over_are_not_counted_again(tmp_path: Path) -> None:
    run(write(tmp_path / "task"), tmp_path / "run", Talker())
    slot, answer = next(iter(read_journal(tmp_path / "run").slots.items()))
    assert answer.usage
    instance = Instance("generate_until", slot.task, slot.doc_id, {}, repeat=slot.repeat, turn=slot.turn)
    found = EarlierAnswers([tmp_path / "run"], Talker()).find(answer.key, instance)
    assert found is not None and found.output == answer.output and not found.usage


def stale(folder: Path, task: str) -> None:
    """The run folder of a conversation of which turn 2 was lost, and asked again with another answer.

    The next run's journal comes first by name. It ends at turn 3, which can't be answered.
    """
    [journal] = (folder / "journal").glob("*.jsonl")
    kept = [line for line in journal.read_text().splitlines(keepends=True) if ",3,0,0,1]" not in line]
    journal.unlink()
    (folder / "journal" / "z.jsonl").write_text("".join(kept))
    model = Other()
    model.fails = {(3, 2)}
    run(task, folder, model)
    assert model.asked == [(3, 0, 1), (3, 0, 2)]
    [journal] = [path for path in (folder / "journal").glob("*.jsonl") if path.name != "z.jsonl"]
    journal.rename(folder / "journal" / "a.jsonl")


class Other(Talker):
    """Gives other answers to the same questions."""

    def _answers(self, batch: list[Instance]) -> Answers:
        for instance, answer in super()._answers(batch):
            yield instance, replace(answer, output=f"no {answer.output}") if isinstance(answer, Answer) else answer


@pytest.mark.parametrize("killed", few([False, True], at=[0]), ids=["failed", "killed before it"])
def test_a_stale_turn_is_not_scored(tmp_path: Path, killed: bool) -> None:
    """Old later turns and their end do not belong to another answer before them, in whatever order journals are read."""
    task, folder = write(tmp_path / "task"), tmp_path / "run"
    run(task, folder, Talker())
    stale(folder, task)
    first = folder / "journal" / "a.jsonl"
    if killed:
        first.write_text("".join(line for line in first.read_text().splitlines(keepends=True) if "error" not in line))
    score(folder, include_path=str(tmp_path / "task"))
    row = rows_of(folder)[3]
    assert row["status"] == ("not requested" if killed else "failed") and not row["scores"] and not row["resps"]
    again = Other()
    run(task, folder, again)
    assert again.asked == [(3, 0, 2), (3, 0, 3)]
    for path in (folder / "journal").glob("*.jsonl"):  # the newest first
        path.rename(path.with_name(f"{'ba'[path.name[0] not in 'az']}{path.name}"))
    score(folder, include_path=str(tmp_path / "task"))
    said = [turn["answer"] for turn in rows_of(folder)[3]["turns"][0]]
    assert [text.startswith("no") for text in said] == [False, True, True, True]
    assert rows_of(folder)[3]["resps"] == said[-1:]
    silent = Other()
    run(task, folder, silent)
    assert not silent.asked


def test_an_end_of_an_older_version_is_that_of_its_last_answer() -> None:
    first = Slot("t", 0)
    for key, whole in (("two", True), ("other", False)):
        state = JournalState(conversations={"t"})
        for turn, name in enumerate(("one", "two")):
            state.add(Answer(name, key=name, messages=(), at=1.0 + turn), [first._replace(turn=turn)])
        add_record(state, {"v": 1, "kind": "end", "key": key, "slots": [first.to_json()], "turns": 2, "t": 3.0})
        assert state.complete(first) is whole and (state.result(first) is not None) is whole
