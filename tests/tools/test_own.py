"""Tools that are functions of a task's file, also of one that runs in a process of its own, and what they raise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mm_eval.config.functions import runs_elsewhere
from mm_eval.config.manager import TaskManager
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.tools.own import tool_of
from mm_eval.values.errors import ConfigError, kind_and_text
from tests.folders import write_task
from tests.sets import few
from tests.tools.scripted import SIGN, TASK, UTILS, Scripted, call, rows_of, run, way

HERE = ""
ELSEWHERE = {
    "a module of Python": "import sys\n",
    "a package": "try:\n    import cv2\nexcept ImportError:\n    cv2 = None\n",
    "a program": "import subprocess\n",
    "it prints": 'print("loaded")\n',
    "a random state": "import random\nrandom.seed(0)\n",
    "environment": 'import os\nos.environ["X_OF_THE_TASK"] = "1"\n',
}
"""What stands above the functions of a file that must run in a process of its own."""
TYPED = '''
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Optional, Union


def read_sign(which: int, text: str = "x", share: float = 0.5, deep: bool = False, kind: Literal["a", "b"] = "a",
              box: list[float] = (), names: Sequence[str] = (), more: dict[str, int] | None = None, whole: Optional[int] = None,
              rest: Mapping[str, Any] | None = None, other: Union[str, None] = None, pictures: list = (), doc: object = None):
    """Reads a sign
    in the picture.

    which: the number of the sign
    text: what to look for
    """
    return "x"
'''


def tool(folder: Path, head: str, utils: str = TYPED) -> Any:
    """The tool of the function `read_sign`."""
    folder.mkdir(exist_ok=True)
    (folder / "utils.py").write_text(head + utils)
    assert not head or runs_elsewhere(folder / "utils.py")
    task = TASK.replace("doc_to_visual: !function utils.visual\n", "").replace("zoom, rotate, ", "")
    path = write_task(folder, "looks", task, head + utils, [{"q": "1?", "a": "B"}])
    config = TaskManager().load([path]).tasks["looks"].resolved(FOREIGN_CODE)
    found = config.tools
    assert found is not None
    return tool_of(found.use[-1], found.where)


@pytest.mark.parametrize("why", few(ELSEWHERE, "a module of Python", "it prints"))
def test_a_model_is_told_the_same_of_a_function_of_another_process(why: str, tmp_path: Path) -> None:
    """Its docstring and its types are carried over."""
    here = tool(tmp_path / "here", HERE)
    there = tool(tmp_path / "there", ELSEWHERE[why])
    assert there.schema("pixels") == here.schema("pixels")
    assert there.sees_doc and there.about == "Reads a sign in the picture."
    properties = here.schema("pixels")["function"]["parameters"]["properties"]
    assert properties["which"] == {"type": "integer", "description": "the number of the sign"}
    assert properties["kind"] == {"type": "string", "enum": ["a", "b"]} and properties["whole"] == {"type": "integer"}


DOC = TYPED[TYPED.index('    """') : TYPED.rindex('"""') + 3]
WRONG = {
    "no type": (("which: int", "which"), "the parameter 'which' of the tool 'read_sign' needs a type"),
    "another type": (("which: int", "which: complex"), "the parameter 'which' of the tool 'read_sign' needs a type"),
    "an unknown type": (
        ("which: int", "which: Nothing"),
        "the types of the tool 'read_sign' can't be read: name 'Nothing'",
    ),
    "no docstring": ((DOC, "    ..."), "the tool 'read_sign' has no docstring"),
}


@pytest.mark.parametrize("wrong", few(WRONG, "an unknown type"))
def test_what_can_not_be_told_is_the_same_error(wrong: str, tmp_path: Path) -> None:
    """It names the line of the task file."""
    changed, said = WRONG[wrong]
    for head in (HERE, "import sys\n"):
        utils = f"from __future__ import annotations\n{head}{TYPED.replace(*changed)}"
        with pytest.raises(ConfigError, match=said) as error:
            tool(tmp_path / f"{wrong}{bool(head)}", "", utils)
        assert "looks.yaml:7" in str(error.value)


RAISED = (
    "KeyError()",
    "Exception",
    "RuntimeError(' ')",
    "SystemExit()",
    "Mute()",
    "Broken()",
    "Own2()",
)
OWN = """
class Mute(Exception):
    def __str__(self):
        return None


class Broken(Exception):
    def __str__(self):
        return self.args[0]


class Own(ValueError):
    pass


class Own2(KeyError):
    def __init__(self):
        pass
"""


TOLD = ("ValueError()", "Own()", "Own('so')", "json.JSONDecodeError('so', 'x', 0)")


@pytest.mark.parametrize("head", [HERE, "import sys\n"])
def test_what_a_tool_raises_is_a_matter_of_its_document(head: str, tmp_path: Path) -> None:
    """An exception without a text, or whose text can't be made, fails it; an error of a value is told to the model."""
    cases = [*RAISED, *TOLD, ""]
    raising = "".join(f"    if which == {n}:\n        raise {case}\n" for n, case in enumerate(cases[:-1]))
    utils = f"{head}import json\n{OWN}{UTILS}".replace("    if which == 13:", f"{raising}    if which == 13:")
    rows = [{"n": n, "q": f"What is {n}?", "a": "B", "sign": SIGN} for n in range(len(cases))]
    task = write_task(tmp_path, "looks", TASK, utils, rows)
    ways = [way(call("read_sign", which=n), "B") for n in range(len(cases))]
    run(task, tmp_path / "run", Scripted(ways))
    found = dict(zip(cases, rows_of(tmp_path / "run"), strict=True))
    for case in RAISED:
        assert found[case]["status"] == "failed" and case.partition("(")[0] in found[case]["error"]["what"], case
        assert "the tool 'read_sign' raised" in found[case]["error"]["what"], case
    for case in TOLD:
        told = "Error: so" if "so" in case else "Error: the arguments are not accepted."
        assert found[case]["status"] == "answered" and told in str(found[case]["turns"]), case
    assert found[""]["status"] == "answered"


def test_an_exception_in_words() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert kind_and_text(Mute()) == "Mute" and kind_and_text(KeyError("a")) == "KeyError: 'a'"
    assert kind_and_text(ValueError()) == "ValueError"
