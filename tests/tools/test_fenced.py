"""Code in a fenced block: a call where it was announced and nowhere else, in the form of each family's authors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mm_eval.config.manager import TaskManager
from mm_eval.engine.journal import read_journal
from mm_eval.engine.model import Answers, ModelFacts
from mm_eval.tools.calls import results_in, said_in
from mm_eval.tools.formats import fenced
from mm_eval.tools.formats.call import Broken
from mm_eval.tools.formats.reading import read_calls
from mm_eval.tools.formats.table import FORMATS, family_of
from mm_eval.tools.replay import conversations, replay
from mm_eval.tools.turns import ToolTurns
from mm_eval.values.reasoning.recorded import Reading
from mm_eval.values.types import Answer, Instance
from tests.sandbox.there import sandbox
from tests.tools.scripted import Scripted, Way, rows_of, run
from tests.tools.test_python import write
from tests.tools.test_turns import FOREIGN_CODE

FORMS = ("deepeyes_v2", "thyme", "pyvision")
CODE = "for n in range(2):\n    print(n)"


def codes(text: str, fences: bool = True) -> list[Any]:
    return [getattr(call, "arguments", call) for call in read_calls(text, with_fences=fences).calls]


@pytest.mark.parametrize(
    "text",
    [
        f"<code>\n```python\n{CODE}\n```\n</code>",
        f"I count.\n<code>\n```python\n{CODE}\n```\n",  # the stop string is cut off
        f"<code>```Python\n{CODE}\n```</code>",
        f"<CODE>\n```\n{CODE}\n```\n</CODE> and then",
        f"<code>\n```py\n{CODE}\n</code>",  # the fence is left open
        f"<code>\n{CODE}\n</code>",
    ],
)
def test_a_block_is_read_where_it_was_announced(text: str) -> None:
    assert [each["code"].strip("\n") for each in codes(text)] == [CODE]
    assert codes(text, fences=False) == []


@pytest.mark.parametrize("text", [f"```python\n{CODE}\n```", "<codex>", "use the <code>\\n"[:8]])
def test_what_is_no_block_is_no_call(text: str) -> None:
    assert codes(text) == []


def test_a_fence_inside_of_the_code_does_not_end_it() -> None:
    code = "print('''\n```\na table\n```\n''')"
    assert codes(fenced.write(code)) == [{"code": code}]


@pytest.mark.parametrize(("text", "cut"), [("<code>\n```python\nprint(", True), ("<code>\n</code>", False)])
def test_a_block_that_can_not_be_read(text: str, cut: bool) -> None:
    (found,) = read_calls(text, with_fences=True).calls
    assert isinstance(found, Broken) and found.cut is cut and found.name == "python"


def test_another_call_beside_code_is_read_as_well() -> None:
    zoom = '<tool_call>\n{"name": "zoom", "arguments": {}}\n</tool_call>'
    assert [call.name for call in read_calls(f"{zoom}\n{fenced.write(CODE)}", with_fences=True).calls] == [
        "zoom",
        "python",
    ]


@pytest.mark.parametrize(
    ("reasoning", "is_call"),
    [
        (f"<think>I count.\n<code>\n```python\n{CODE}\n```\n", True),
        (f"<think>One might write <code>\n```python\n{CODE}\n```\n</code>, but not now.", False),
        ("<think>I could <code>", False),
    ],
)
def test_code_that_ends_open_reasoning_is_a_call(reasoning: str, is_call: bool) -> None:
    """Thyme writes its code inside of `<think>`, whether the text has its reasoning or the adapter has cut it."""
    for answer in (Answer(reasoning), Answer("", reasoning=reasoning)):
        read = Reading(opened=False).read(answer, ())
        said = said_in(read, {}, with_fences=True)
        assert bool(said.calls) is is_call
        assert not said_in(read, {}).calls


@pytest.mark.parametrize(
    "name", ["honglyhly/DeepEyesV2_7B_1031", "DeepEyesV2-32B", "Kwai-Keye/Thyme-RL", "PyVision-Image-7B"]
)
def test_the_family_of_a_name(name: str) -> None:
    family = family_of([name])
    assert family is not None and FORMATS[family.format].fence is not None
    assert family_of(["DeepEyes-7B"]).format == "hermes"  # type: ignore[union-attr]


def parts(*texts: str) -> list[dict[str, Any]]:
    return [{"type": "image"} if text == "PICTURE" else {"type": "text", "text": text} for text in texts]


RESULTS = {
    "deepeyes_v2": (
        "Code execution result:\nstdout:\n```\n7\n```\n\nstderr:\n```\n\n```\n\nImages:\nPICTURE",
        "Code execution result:\nstdout:\n```\n\n```\n\nstderr:\n```\n7\n```\n\nImages:\n",
    ),
    "thyme": ("<sandbox_output>PICTURE7</sandbox_output>", "<sandbox_output>7</sandbox_output>"),
    "pyvision": (
        "<interpreter>\nText Result:\n7\nImage Result:\n<image_clue_2>PICTURE</image_clue_2></interpreter>\n",
        "<interpreter>7</interpreter>\n",
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_result_has_the_frame_of_the_authors_and_is_counted_as_one(form: str) -> None:
    fence = FORMATS[form].fence
    assert fence is not None
    shown = fence.result(parts("7"), parts("PICTURE"), False, 2)
    failed = fence.result(parts("7"), [], True, 2)
    for found, expected in zip((shown, failed), RESULTS[form], strict=True):
        assert "".join(part.get("text", "PICTURE") for part in found) == expected
    twice = Answer(
        "", messages=({"role": "user", "content": [*shown, *failed, *parts("\nThis was the last result: so")]},)
    )
    assert list(results_in(twice)) == [(1, "7"), (0, "7")]


def test_no_mark_of_a_frame_is_left_in_a_result() -> None:
    assert (
        fenced.harmless("</sandbox_output><code>a < b</interpreter>") == "< /sandbox_output>< code>a < b< /interpreter>"
    )


class Fencing(Scripted):
    """Writes code as its family does. prompts, kwargs: of each request."""

    def __init__(self, name: str, *says: str) -> None:
        super().__init__([Way(says, {})], name)
        self.facts = replace(ModelFacts(name=name, chat=True), takes_tools=True)
        self.until: list[Any] = []

    def generate(self, instances: Iterable[Instance]) -> Answers:
        instances = list(instances)
        self.until += [instance.generation_kwargs.get("until") for instance in instances]
        assert not any(instance.tools for instance in instances)
        yield from super().generate(instances)


VARIABLES = {"DeepEyesV2": "image_1.size", "Thyme": "Image.open(image_path).size", "PyVision-7B": "image_clue_0.size"}


@pytest.mark.full
@pytest.mark.parametrize("name", VARIABLES)
def test_a_run_of_a_family_has_its_variables_and_can_be_replayed(name: str, tmp_path: Path) -> None:
    first = f"<think>I look.\n<code>\n```python\nfrom PIL import Image\nprint({VARIABLES[name]})\n```\n"
    ends = "<code>\n```python\nimport os\nos._exit(1)\n```\n"
    again = f"<code>\n```python\nfrom PIL import Image\nprint({VARIABLES[name]})\n```\n</code>"
    model = Fencing(name, first, ends, again, "</think><answer>15</answer>")
    walls = sandbox()
    run(write(tmp_path / "task", 1), tmp_path / "run", model)
    (row,) = rows_of(tmp_path / "run", "counts")
    assert row["tools"]["calls"] == 3 and row["tools"]["by_tool"]["python"] == 3 and row["tools"]["failed"] == 1, row[
        "tools"
    ]
    assert all("</code>" in until for until in model.until)
    form = family_of([name]).format  # type: ignore[union-attr]
    opening = {"deepeyes_v2": "Code execution result:", "thyme": "<sandbox_output>", "pyvision": "<interpreter>\nText"}[
        form
    ]
    assert opening in model.prompts[0, 1] and "(60, 40)" in model.prompts[0, 1]
    assert "I look.\n<code>" in model.prompts[0, 1] and "```\n</code>" in model.prompts[0, 1]
    assert "The interpreter is a new one" in model.prompts[0, 3] and model.prompts[0, 3].count("(60, 40)") == 2
    assert "between <code> and </code>" in model.prompts[0, 0] and '"name": "image_zoom_in_tool"' in model.prompts[0, 0]
    chains = conversations(tmp_path / "run")
    assert [found.how for found in replay(tmp_path / "run", walls, chains)] == ["", "", ""]
    assert read_journal(tmp_path / "run").tools


def test_a_task_without_python_announces_no_block(tmp_path: Path) -> None:
    config = TaskManager().load("vstar_tools").tasks["vstar_tools"].resolved(FOREIGN_CODE)
    turns = ToolTurns.of_task(config, ModelFacts(name="DeepEyesV2"))
    assert turns is not None and not turns.has_fences and "<code>" not in turns.format.announce(turns.declared)
