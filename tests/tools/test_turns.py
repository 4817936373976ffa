"""What comes of each way in which a model may behave with tools, in a run: its row, its numbers, and what it is told."""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from mm_eval.config.manager import TaskManager
from mm_eval.engine.model import Answers, ModelFacts
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.run import score
from mm_eval.tools.turns import ToolTurns
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import Instance
from tests.conftest import Ran
from tests.faults.server import Server, reply
from tests.processes import HANGS
from tests.tools.scripted import TASK, UTILS, WAYS, Scripted, Way, box, call, rows_of, run, way, write


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Scripted, dict[str, dict[str, Any]]]]:
    """A run of all ways: its folder, its model, and its rows by the way's name."""
    folder, model = tmp_path_factory.mktemp("looks"), Scripted()
    run(write(folder / "task"), folder / "run", model)
    yield folder, model, dict(zip(WAYS, rows_of(folder / "run"), strict=True))


@pytest.mark.parametrize("name", WAYS)
def test_the_outcome_of_a_way(name: str, whole: tuple[Path, Scripted, dict[str, dict[str, Any]]]) -> None:
    _, model, rows = whole
    row, found = rows[name], WAYS[name]
    counts = {**row["tools"], "by_tool": {tool: calls for tool, calls in row["tools"]["by_tool"].items() if calls}}
    assert {key: counts[key] for key in found.outcome} == found.outcome
    assert row["resps"] == [found.scored] or found.scored == "B" and row["filtered_resps"]["none"] == ["B"]
    assert row["scores"]["exact_match,none"] == float(found.right)
    assert row["tools"]["turns"] == len(row["turns"][0])
    assert found.told in model.prompts.get((list(WAYS).index(name), 1), "")


def test_the_numbers_of_a_task(whole: tuple[Path, Scripted, dict[str, dict[str, Any]]]) -> None:
    folder, _, rows = whole
    results = json.loads((folder / "run" / "results.json").read_text())["results"]["looks"]
    for name in ("calls", "failed", "malformed", "turns", "looked", "unanswered"):
        mean = sum(row["tools"][name] for row in rows.values()) / len(rows)
        assert results[f"{name},tools"] == pytest.approx(mean), name
    zooms = sum(row["tools"]["by_tool"].get("zoom", 0) for row in rows.values())
    assert results["calls_zoom,tools"] == pytest.approx(zooms / len(rows))
    assert results["n"] == len(rows) and results["failed"] == 0


def test_the_last_turn_is_told_that_it_is(whole: tuple[Path, Scripted, dict[str, dict[str, Any]]]) -> None:
    _, model, _ = whole
    doc = list(WAYS).index("calls without end")
    assert "This was the last result: answer the question now." in model.prompts[doc, 5]
    assert "This was the last result" not in model.prompts[doc, 4]


def test_a_second_run_asks_nothing_and_scores_alike(whole: tuple[Path, Scripted, dict[str, dict[str, Any]]]) -> None:
    folder, _, rows = whole
    before, again = (folder / "run" / "results.json").read_text(), Scripted()
    run(str(folder / "task" / "looks.yaml"), folder / "run", again)
    assert again.asked == [] and list(rows.values()) == rows_of(folder / "run")
    assert json.loads(before)["results"] == json.loads((folder / "run" / "results.json").read_text())["results"]


def test_a_tool_that_is_faulty_fails_its_document_and_no_other(tmp_path: Path) -> None:
    ways = [way(call("read_sign", which=13), "B"), way(box(0), "B")]
    run(write(tmp_path / "task", 2), tmp_path / "run", Scripted(ways))
    first, second = rows_of(tmp_path / "run")
    assert first["status"] == "failed" and "KeyError" in first["error"]["what"] and "turn 2" in first["error"]["what"]
    assert second["scores"]["exact_match,none"] == 1.0


@pytest.mark.parametrize(
    ("name", "opening", "box_in_pixels"),
    [
        ("Qwen3-VL-8B-Instruct", '{"name": <function-name>', [250, 250, 500, 500]),
        ("DeepEyes-7B", '{"name": <function-name>', [100, 50, 200, 100]),
        ("Qwen2.5-VL-7B-Instruct", '{"name": <function-name>', [98, 49, 196, 98]),
        ("GLM-4.5V", "<arg_key>{arg-key-1}", [250, 250, 500, 500]),
    ],
)
def test_a_family_is_told_its_format_and_means_its_unit(
    tmp_path: Path, name: str, opening: str, box_in_pixels: list[int]
) -> None:
    model = Scripted([way(call(bbox_2d=box_in_pixels), "B")], name)
    run(write(tmp_path / "task", 1), tmp_path / "run", model)
    assert opening in model.prompts[0, 0]
    (row,) = rows_of(tmp_path / "run")
    (shown,) = [part for part in row["turns"][0][1]["messages"][0]["content"] if part["type"] == "image"]
    assert shown["size"] == [725, 363]  # 100 by 50 pixels of the picture, enlarged


def test_the_task_states_its_unit_and_its_format(tmp_path: Path) -> None:
    task = TASK.replace("calls: 4,", "calls: 4, boxes: fraction, format: gemma4,")
    model = Scripted([Way(("<|tool_call>call:zoom{bbox_2d:[0.25,0.25,0.5,0.5]}<tool_call|>", "B"), {})])
    run(write(tmp_path / "task", 1, task), tmp_path / "run", model)
    assert rows_of(tmp_path / "run")[0]["tools"]["looked"]
    assert "<|tool_call>call:function-name{" in model.prompts[0, 0] and "from 0 to 1, relative" in model.prompts[0, 0]


def test_boxes_in_the_resized_picture_follow_the_limits_of_the_model() -> None:
    of_family = ModelFacts(name="Qwen2.5-VL-7B-Instruct")
    config = TaskManager().load("vstar_tools").tasks["vstar_tools"].resolved(FOREIGN_CODE)
    cases = [
        (of_family, (28, 3136, 12845056)),
        (replace(of_family, fits={"max_pixels": 401408}), (28, 3136, 401408)),
        (replace(of_family, fits={"factor": 32, "min_pixels": 64, "max_pixels": 128}), (32, 64, 128)),
        (ModelFacts(name="Qwen3-VL-8B", fits={"max_pixels": 9}), None),
    ]
    for facts, resized in cases:
        found = ToolTurns.of_task(config, facts)
        assert found is not None and found.resized == resized


def test_a_run_is_scored_again_without_its_model(whole: tuple[Path, Scripted, dict[str, dict[str, Any]]]) -> None:
    folder, _, rows = whole
    (folder / "run" / "samples" / "looks.jsonl").unlink()
    score(folder / "run", include_path=str(folder / "task"))
    assert rows_of(folder / "run") == list(rows.values())


def test_a_tool_that_gets_the_doc_does_not_go_with_the_pictures_of_others(tmp_path: Path) -> None:
    model = Scripted()
    with pytest.raises(ConfigError, match="the tool 'read_sign' gets the document's own pictures"):
        run(write(tmp_path / "task"), tmp_path / "run", model, blind="shuffled")
    assert model.asked == []


def test_picture_0_is_the_questions_where_examples_show_some(tmp_path: Path) -> None:
    task = TASK + "fewshot_split: test\nnum_fewshot: 1\n"
    utils = UTILS.replace("(400, 200)", '(400, 200) if doc["n"] == 0 else (90, 90)')
    model = Scripted([way(call("rotate", angle=90), "B")] * 2)
    path = write(tmp_path / "task", 2, task)
    (tmp_path / "task" / "utils.py").write_text(utils)
    run(path, tmp_path / "run", model, chat_template=True)
    sizes = []
    for row in rows_of(tmp_path / "run"):
        (result,) = row["turns"][0][1]["messages"]
        sizes += [part["size"] for part in result["content"] if part["type"] == "image"]
        assert any("Picture 1 is picture 0" in part.get("text", "") for part in result["content"])
    assert sizes == [[200, 400], [90, 90]]


def test_calls_are_counted_as_the_conversation_has_read_them(tmp_path: Path) -> None:
    """The adapter has cut the reasoning, so a mark in what is left ends none."""

    class Reasoning(Scripted):
        def generate(self, instances: Iterable[Instance]) -> Answers:
            for instance, answer in super().generate(instances):
                yield instance, replace(answer, reasoning="<think>look</think>")  # type: ignore[type-var]

    run(write(tmp_path / "task", 1), tmp_path / "run", Reasoning([way(f"{box(0)}\n</think> So:", "B")]))
    row = rows_of(tmp_path / "run")[0]
    assert len(row["turns"][0]) == 2 and row["tools"]["calls"] == row["tools"]["pictures"] == 1


def test_a_call_between_the_users_own_marks_of_reasoning_is_none(tmp_path: Path) -> None:
    task, model = write(tmp_path / "task", 1), Scripted([way(f"[R]I could {box(0)}[/R]B")])
    run(task, tmp_path / "run", model, reasoning_tags="[R],[/R]")
    first = rows_of(tmp_path / "run")
    assert first[0]["tools"]["turns"] == 1 and first[0]["tools"]["calls"] == 0
    score(tmp_path / "run", include_path=str(tmp_path / "task"), reasoning_tags="[S],[/S]")
    assert rows_of(tmp_path / "run")[0]["tools"] == first[0]["tools"], "it was read so while it was asked"


SLOW = '''
from pathlib import Path


def search(which: int) -> str:
    """Searches."""
    if which == 0:
        return Path(__file__).with_name("pipe").read_text()
    if which == 2:
        raise SystemExit(3)
    if which == 3:
        raise ValueError("signal only works in main thread of the main interpreter")
    return "found"
'''


@pytest.fixture
def searching(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Callable[[], None]]]:
    """The task with a tool that waits in the first document, and what lets the tool return."""
    monkeypatch.setenv("MM_EVAL_TASK_SECONDS", str(HANGS))
    path = write(tmp_path / "task", 4, TASK.replace("!function utils.read_sign", "!function utils.search"))
    (tmp_path / "task" / "utils.py").write_text(UTILS + SLOW)
    os.mkfifo(tmp_path / "task" / "pipe")

    def let_return() -> None:
        os.close(os.open(tmp_path / "task" / "pipe", os.O_RDWR))

    yield path, let_return
    let_return()


def test_a_tool_that_does_not_return_fails_its_document_and_no_other(
    searching: tuple[str, Callable[[], None]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MM_EVAL_TASK_SECONDS", "0.5")
    run(searching[0], tmp_path / "run", Scripted([way(call("search", which=n), "B") for n in range(4)]))
    late, well, exits, signals = rows_of(tmp_path / "run")
    said = "looks doc 0, turn 2: the tool 'search' has not returned within 0.5 s. MM_EVAL_TASK_SECONDS states another limit."
    assert late["error"]["what"] == said and well["scores"]["exact_match,none"] == 1.0
    assert exits["error"]["what"] == "looks doc 2, turn 2: the tool 'search' raised SystemExit."
    assert "sets a signal, which only a program's main thread can" in signals["error"]["what"]


def test_a_tool_at_work_holds_up_no_other_document(searching: tuple[str, Callable[[], None]], tmp_path: Path) -> None:
    """With a server: the tool of the first document returns when another document has its last answer."""
    path, let_return = searching

    def handle(body: dict[str, Any], nth: int) -> httpx.Response:
        first = "What is 0?" in json.dumps(body["messages"])
        if answered(body) == 0:
            return reply(call("search", which=0 if first else 1))
        if not first:
            let_return()
        return reply("B")

    run(path, tmp_path / "run", Server(handle, latency=0.0).model())
    assert [row["scores"]["exact_match,none"] for row in rows_of(tmp_path / "run")] == [1.0] * 4


def answered(body: dict[str, Any]) -> int:
    """The model's answers in a request."""
    return sum(message["role"] == "assistant" for message in body["messages"])


def test_a_count_that_is_1_for_every_document_gets_no_interval_of_a_share(
    tmp_path: Path, cli: Callable[..., Ran]
) -> None:
    task = write(tmp_path / "task", 8)
    run(task, tmp_path / "a", Scripted([way("B")] * 8))
    run(task, tmp_path / "b", Scripted([way(box(0), "B"), *[way("B")] * 7]))
    for name in ("a", "b"):
        row = json.loads((tmp_path / name / "results.json").read_text())["results"]["looks"]
        assert row["turns,tools"] == (1.0 if name == "a" else 1.125)
        assert not {"turns,tools", "calls,tools", "calls_zoom,tools"} & row["intervals"].keys()
        assert "unanswered,tools" in row["intervals"]
    told = json.loads(cli("compare", tmp_path / "a", tmp_path / "b", "--format", "json").out)
    is_exact = {each["metric"]: '"exact": true' in json.dumps(each) for each in told["compared"][0]["changes"]}
    assert not is_exact["turns,tools"] and not is_exact["calls_zoom,tools"]
    assert is_exact["exact_match,none"] and is_exact["looked,tools"]


def test_the_table_and_the_results_state_the_most_calls_and_rounds(cli, tmp_path: Path) -> None:
    """Reports state it, and a number with tools is not comparable without it."""
    run(write(tmp_path / "task"), tmp_path / "run", Scripted())
    about = json.loads((tmp_path / "run" / "results.json").read_text())["run"]["most"]
    assert about == {"looks": {"calls": 4, "rounds": 6}}, about
    scored = cli("score", tmp_path / "run", "--include_path", tmp_path / "task")
    page = cli("report", tmp_path / "run")
    assert page.code == 0, page.err
    assert "looks: at most 4 calls, 6 rounds per document" in scored.out, scored.out
    assert "at most 4 calls, 6 rounds per document" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
