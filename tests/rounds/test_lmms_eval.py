"""Tasks of lmms-eval with `generate_until_multi_round` run as they are, in this process or in one of their own."""

import json
from pathlib import Path

import pytest

from mm_eval.config.rounds import RoundsConfig
from mm_eval.config.task_config import TaskConfig
from mm_eval.engine.model import Answers
from mm_eval.values.types import Answer, Instance
from tests.rounds.talking import Talker, run
from tests.sets import few

TASK = """task: forward
dataset_path: json
dataset_kwargs: {{data_files: {{test: rows.jsonl}}}}
test_split: test
output_type: generate_until_multi_round
doc_to_visual: !function utils.visual
doc_to_text: !function utils.text
doc_to_target: a
process_results: !function utils.results
generation_kwargs: {{max_new_tokens: 8}}
metric_list: [{{metric: share, aggregation: mean, higher_is_better: true}}]
lmms_eval_specific_kwargs:
  default: {{post_prompt: " Briefly."}}
{more}"""
UTILS = """
{imports}
from PIL import Image


def visual(doc, lmms_eval_specific_kwargs=None):
    return [Image.new("RGB", (8, 8), (doc["n"], 0, 0))]


def text(doc, lmms_eval_specific_kwargs=None, previous_output=None, round_idx=None, previous_round_info=None):
    post = lmms_eval_specific_kwargs["post_prompt"]
    if round_idx is None:
        return doc["q"] + post
    info = previous_round_info or {{"rounds": 0}}
    info["rounds"] += 1
    assert info["rounds"] == round_idx == len(previous_output), (info, round_idx, previous_output)
    if round_idx > doc["n"]:
        return None, None, True, previous_output, info
    shown = [Image.new("RGB", (4, 4), (doc["n"], round_idx, 0))]
    return shown, f"Round {{round_idx}} of {{doc['q']}}: {{previous_output[-1]}}{{post}}", False, previous_output, info


def results(doc, results):
    outputs = results[0]
    assert isinstance(outputs, list) and len(outputs) == doc["n"] + 1, outputs
    return {{"share": len(outputs)}}
"""
ELSEWHERE = "import lmms_eval\nfrom lmms_eval.tasks._task_utils.file_utils import generate_submission_file"


def write(folder: Path, imports: str = "", more: str = "", utils: str = UTILS) -> str:
    folder.mkdir()
    (folder / "utils.py").write_text(utils.format(imports=imports))
    (folder / "rows.jsonl").write_text("".join(json.dumps({"n": n, "q": f"Q{n}", "a": ""}) + "\n" for n in range(4)))
    (folder / "forward.yaml").write_text(TASK.format(more=more))
    return str(folder / "forward.yaml")


@pytest.mark.parametrize("imports", ["", ELSEWHERE], ids=["here", "in a process of its own"])
@pytest.mark.parametrize("chat", few([True, False], at=(0,)))
def test_a_task_of_lmms_eval_runs_as_it_is(tmp_path: Path, imports: str, chat: bool) -> None:
    model = Talker(3, chat=chat)
    results = run(write(tmp_path / "task", imports), tmp_path / "run", model)
    assert results.exit_code == 0 and results["forward"]["share"].value == (1 + 2 + 3 + 4) / 4
    assert len(model.asked) == 10
    first, later = model.prompts[3, 0], model.prompts[3, 2]
    assert first == ("user: <image>\nQ3 Briefly." if chat else "Q3 Briefly.")
    rows = [json.loads(line) for line in (tmp_path / "run" / "samples" / "forward.jsonl").read_text().splitlines()]
    said = [turn["answer"] for turn in rows[3]["turns"][0]]
    text = f"<image>\nRound 2 of Q3: {said[1]} Briefly."
    assert later == (f"user: {text}" if chat else text), "each round is asked alone"
    assert model.pictures[3, 0] == [(8, 8)] and model.pictures[3, 2] == [(4, 4)]
    assert json.loads(rows[3]["resps"][0]) == said


def test_a_list_of_messages_gets_the_pictures_in_its_first_question(tmp_path: Path) -> None:
    utils = UTILS.replace(
        "f\"Round {{round_idx}} of {{doc['q']}}: {{previous_output[-1]}}{{post}}\"",
        '[{{"role": "user", "content": doc["q"]}}, {{"role": "assistant", "content": previous_output[-1]}},'
        ' {{"role": "user", "content": "And?"}}]',
    )
    model = Talker()
    run(write(tmp_path / "task", utils=utils), tmp_path / "run", model)
    first = json.loads((tmp_path / "run" / "samples" / "forward.jsonl").read_text().splitlines()[1])["turns"][0][0]
    assert model.prompts[1, 1] == f"user: <image>\nQ1\nassistant: {first['answer']}\nuser: And?"


def test_what_is_no_round_is_one_sentence(tmp_path: Path) -> None:
    utils = UTILS.replace("return None, None, True, previous_output, info", "return 'the end'")
    results = run(write(tmp_path / "task", utils=utils), tmp_path / "run", Talker())
    assert results["forward"].failed == 4
    row = json.loads((tmp_path / "run" / "samples" / "forward.jsonl").read_text().splitlines()[0])
    assert "doc_to_text gave 'the end' after a round; expected (pictures, text" in row["error"]["what"]


def test_the_conversation_ends_at_max_rounds(tmp_path: Path) -> None:
    utils = UTILS.replace('isinstance(outputs, list) and len(outputs) == doc["n"] + 1', "isinstance(outputs, list)")
    results = run(write(tmp_path / "task", more="max_rounds: 2\n", utils=utils), tmp_path / "run", Talker())
    assert results["forward"]["share"].value == (1 + 2 + 2 + 2) / 4


def test_the_output_type_is_read_as_rounds() -> None:
    config = TaskConfig.from_mapping({
        "task": "t", "dataset_path": "d", "test_split": "test", "doc_to_text": len, "output_type": "generate_until_multi_round",
    })  # fmt: skip
    assert config.output_type == "generate_until" and config.rounds == RoundsConfig("doc_to_text")


@pytest.mark.parametrize("imports", few(["", ELSEWHERE], at=[0]), ids=["here", "in a process of its own"])
def test_outputs_are_without_reasoning(tmp_path: Path, imports: str) -> None:
    class Thinking(Talker):
        def _answers(self, batch: list[Instance]) -> Answers:
            for instance, _ in super()._answers(batch):
                yield instance, Answer(f"<think>a while</think>{instance.turn}")

    utils = UTILS.replace(
        'return {{"share"', 'assert outputs == list("0123"[: len(outputs)]), outputs\n    return {{"share"'
    )
    model = Thinking(3)
    results = run(write(tmp_path / "task", imports, utils=utils), tmp_path / "run", model)
    assert results.exit_code == 0 and results["forward"]["share"].value == (1 + 2 + 3 + 4) / 4
    assert "Round 2 of Q3: 1 Briefly." in model.prompts[3, 2]


AGENT = TASK.replace("generate_until_multi_round", "generate_until_agentic").replace(
    "max_new_tokens: 8", "max_new_tokens: 8, max_agentic_steps: 4"
)
ACTS = """
{imports}
import json
from PIL import Image


def visual(doc):
    return [Image.new("RGB", (8, 8), (doc["n"], 0, 0))]


def text(doc, lmms_eval_specific_kwargs=None, previous_output=None, round_idx=None, previous_round_info=None):
    if round_idx is None:
        return doc["q"]
    info = previous_round_info or {{"state": {{"cash": 0}}, "tool_calls": 0}}
    info["state"]["cash"] += 5
    info["tool_calls"] += 1
    if doc["n"] == 3:
        return None if round_idx == 2 else "Only a text."
    if round_idx > doc["n"] + 1:
        return None, None, True, [json.dumps({{"success": True, "cash": info["state"]["cash"]}})], info
    shown = [Image.new("RGB", (4, 4))] if round_idx == 1 and doc["n"] == 1 else None
    said = None if round_idx == 2 else f"You have {{info['state']['cash']}}."
    return shown, said, doc["n"] == 2, previous_output, info


def results(doc, results):
    assert isinstance(results[0], str)
    found = json.loads(results[0]) if results[0].startswith("{{") else {{}}
    return {{"share": found.get("cash", -1)}}
"""


@pytest.mark.parametrize("imports", few(["", ELSEWHERE], at=[0]), ids=["here", "in a process of its own"])
def test_a_task_of_lmms_eval_that_acts_runs_as_it_is(tmp_path: Path, imports: str) -> None:
    """Each document ends otherwise: by its function's own output, with none, with a report, and with a bare text."""
    path = write(tmp_path / "task", imports, utils=ACTS)
    Path(path).write_text(AGENT.format(more=""))
    model = Talker(3)
    results = run(path, tmp_path / "run", model)
    assert results.exit_code == 0 and results["forward"]["share"].value == (10 + 15 + 5 - 1) / 4
    assert model.prompts[1, 1] == "user: <image>\nYou have 5."
    assert model.pictures[0, 1] == [(8, 8)] and model.pictures[1, 1] == [(4, 4)]
    rows = [json.loads(line) for line in (tmp_path / "run" / "samples" / "forward.jsonl").read_text().splitlines()]
    _, first, second = rows[1]["turns"][0]
    assert second == {**first, "t": second["t"]}, "the same question again has the same answer"
    assert json.loads(rows[2]["resps"][0])["error"] == "max_agentic_steps_reached", (
        "lmms-eval says so of a bare end, too"
    )
    assert rows[3]["resps"] == [rows[3]["turns"][0][1]["answer"]] and len(rows[3]["turns"][0]) == 2


def test_steps_that_are_spent_are_reported_as_in_lmms_eval(tmp_path: Path) -> None:
    path = write(tmp_path / "task", utils=ACTS.replace('if round_idx > doc["n"] + 1:', "if False:"))
    Path(path).write_text(AGENT.format(more="").replace("max_agentic_steps: 4", "max_agentic_steps: 3"))
    run(path, tmp_path / "run", Talker())
    row = json.loads((tmp_path / "run" / "samples" / "forward.jsonl").read_text().splitlines()[0])
    said = [turn["answer"] for turn in row["turns"][0]]
    report = {"success": False, "error": "max_agentic_steps_reached", "tool_calls": 3.0, "valid_tool_calls": 3.0}
    report |= {"invalid_steps": 0.0, "state": {"cash": 15}, "last_model_output": said[-1], "trace": said, "cash": 15}
    assert len(said) == 3 and json.loads(row["resps"][0]) == report
