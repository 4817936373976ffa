"""The key `tools` of task files: each mistake is one sentence with its place, before anything is asked."""

from pathlib import Path

import pytest

from mm_eval.config import tools
from mm_eval.config.tools import ToolsConfig
from mm_eval.tools import built_in
from mm_eval.tools.boxes import UNITS
from mm_eval.tools.formats.table import FORMATS
from mm_eval.tools.tool import Limits
from mm_eval.values.errors import ConfigError
from tests.tools.scripted import TASK, Scripted, run, write

USE = "{use: [zoom, rotate, calculator, !function utils.read_sign], calls: 4, rounds: 6}"


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ("[zom]", "looks.yaml:8: unknown tool 'zom'. Did you mean 'zoom'?"),
        ("zoom", "'tools' must be a list of tools or a mapping, not 'zoom'"),
        ("[3]", "3 is not a tool"),
        ("[zoom, zoom]", "the tool 'zoom' is named twice"),
        ("{calls: 3}", "tools needs `use`"),
        ("{use: [zoom], calls: 0}", "calls"),
        ("{use: [zoom], rounds: 1}", "rounds"),
        ("{use: [zoom], boxes: inches}", "boxes"),
        ("{use: [zoom], format: xml}", "format"),
        ("{use: [zoom], most: 3}", "most"),
        ("{use: [zoom], boxes: resized}", "the size at which 'scripted' sees a picture is not known"),
        ("[!function utils.visual]", "the tool 'visual' has no docstring"),
    ],
)
def test_a_mistake(tmp_path: Path, stated: str, said: str) -> None:
    model = Scripted()
    with pytest.raises(ConfigError, match=said.replace("[", r"\[").replace("?", r"\?")):
        run(write(tmp_path / "task", 1, TASK.replace(USE, stated)), tmp_path / "run", model)
    assert model.asked == []


def test_what_a_file_may_name_is_what_there_is() -> None:
    """Task files are checked without the code of tools."""
    assert tuple(built_in.BUILT_IN) == tools.BUILT_IN and tuple(FORMATS) == tools.CALL_FORMATS
    assert tuple(UNITS) == tools.BOX_UNITS
    limits = Limits()
    assert (ToolsConfig.calls, ToolsConfig.edge) == (limits.calls, limits.edge)


def test_tools_need_generated_answers(tmp_path: Path) -> None:
    task = TASK.replace("metric_list: [{metric: exact_match}]", "output_type: multiple_choice\ndoc_to_choice: [A, B]\n")
    with pytest.raises(ConfigError, match="tools needs output_type generate_until"):
        run(write(tmp_path / "task", 1, task), tmp_path / "run", Scripted())
