"""`@python`: any task, asked with the tool python, without touching its file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mm_eval.config.manager import TaskManager
from mm_eval.config.schema import split_format, split_python
from mm_eval.values.errors import ConfigError
from tests.conftest import Ran

pytestmark = pytest.mark.usefixtures("shipped")


def load(*specs: Any, **more: Any) -> Any:
    return TaskManager().load(list(specs), **more)


def test_the_suffix_stands_behind_an_optional_format() -> None:
    assert split_python("g::t@generate@python") == ("g::t@generate", True) and split_python("t@x") == ("t@x", False)
    assert split_format("t@generate@python") == ("t", "generate") and split_format("t@python") == ("t", None)


def test_a_task_keeps_all_but_its_tools_and_limits() -> None:
    loaded = load("mme,mme@python")
    plain, with_python = loaded.tasks["mme"], loaded.tasks["mme@python"]
    assert plain.tools is None and plain.generation_kwargs["max_new_tokens"] == 16
    assert with_python.tools.use == ("python",) and (with_python.tools.calls, with_python.tools.rounds) == (50, 50)
    assert with_python.generation_kwargs == {**plain.generation_kwargs, "max_new_tokens": 8192}
    same = (
        "doc_to_text",
        "doc_to_target",
        "process_results",
        "metric_list",
        "prompt_kwargs",
        "dataset_path",
        "metadata",
    )
    assert all(getattr(plain, name) == getattr(with_python, name) for name in same)
    assert loaded.roots == ["mme", "mme@python"]


def test_alone_its_row_has_the_same_name() -> None:
    assert list(load("mme@python").tasks) == ["mme@python"]
    assert list(load("mme", python=True).tasks) == ["mme@python"] == list(load("mme@python", python=True).tasks)


def test_it_adds_to_tools_that_are_there() -> None:
    found = load("vstar_tools@python").tasks["vstar_tools@python"].tools
    assert found.use == ("zoom", "python") and (found.calls, found.rounds) == (8, 10)
    assert load("vstar_tools").tasks["vstar_tools"].tools.use == ("zoom",)


@pytest.mark.full
def test_a_format_a_group_a_tag_a_glob_a_path_and_a_file(tmp_path: Path) -> None:
    assert list(load("mmlu@generate@python").tasks)[0].endswith("@python")
    assert load("mmlu@generate@python").roots == ["mmlu@python"]
    assert all(name.endswith("@python") for name in load("mathvista*@python").tasks)
    anatomy = load("mmlu::mmlu_anatomy@generate@python").tasks
    (config,) = anatomy.values()
    assert list(anatomy) == ["mmlu_anatomy@python"] and config.format_asked == "generate" and config.tools.runs_code
    file = tmp_path / "mine.yaml"
    file.write_text(
        "task: mine\ndataset_path: json\ntest_split: test\ndoc_to_text: q\ndoc_to_target: a\n"
        "generation_kwargs: {until: ['\\n\\n'], max_gen_toks: 9000}\nmetric_list: [{metric: exact_match}]\n"
    )
    (mine,) = load(f"{file}@python").tasks.values()
    assert mine.path == "mine@python" and mine.generation_kwargs == {"until": [], "max_gen_toks": 9000}
    group = {"group": "two", "task": ["mme@python", "mme"]}
    assert load(group).group_map["two"] == ["mme@python", "mme"]


def test_a_cap_of_the_command_holds() -> None:
    (config,) = load("mme@python", overrides={"generation_kwargs": {"max_new_tokens": 100}}).tasks.values()
    assert config.generation_kwargs["max_new_tokens"] == 100


def test_a_task_of_log_likelihoods_names_what_can_be_asked(cli: Callable[..., Ran]) -> None:
    with pytest.raises(ConfigError, match="'mmlu_anatomy' is scored .* Ask mmlu_anatomy@generate@python."):
        load("mmlu_anatomy@python")
    with pytest.raises(ConfigError, match="Ask mmlu_\\w+@generate@python."):
        load("mmlu", python=True)
    ran = cli("--tasks", "arc_easy@python", "--model", "dummy", "--sample")
    assert ran.code == 2 and "arc_easy@generate@python" in ran.err


def test_the_other_order_is_an_error_that_names_the_right_one() -> None:
    with pytest.raises(ConfigError, match="Ask mmlu@generate@python."):
        load("mmlu@python@generate")


def test_a_member_is_asked_although_another_one_of_its_group_can_not_be(tmp_path: Path) -> None:
    (tmp_path / "both.yaml").write_text(BOTH)
    manager = TaskManager(str(tmp_path))
    for spec in ("both::written@python", "written@python"):
        (config,) = manager.load([spec]).tasks.values()
        assert config.name == "written" and config.tools.runs_code, spec
    for spec in ("both@python", "choice@python"):
        with pytest.raises(ConfigError, match="Ask choice@generate@python"):
            manager.load([spec])


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("mme@pythn", "Unknown format 'pythn'. Did you mean 'python'?"),
        ("mme@Python", "Did you mean 'python'?"),
        ("mme@generate@pyhton", "'mme@generate' has a format, and 'pyhton' is no tool. Did you mean 'python'?"),
        ("mme@generte@python", "Did you mean 'generate'?"),
    ],
)
def test_a_typo_behind_the_at_sign_may_be_meant_for_the_tool(spec: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(spec)
    assert said in str(caught.value)


def test_a_glob_or_tag_leaves_out_what_can_not_be_asked_and_names_it(tmp_path: Path) -> None:
    """A group goes as a whole, since its number would be of other tasks; its members that match by themselves stay."""
    for name, kind in (("s_picks", ""), ("s_writes", "task"), ("s_other", "task")):
        (tmp_path / f"{name}.yaml").write_text(TAGGED.format(name=name, more="" if kind else CHOICE))
    (tmp_path / "s_all.yaml").write_text("group: s_all\ntask: [s_picks, s_writes]\n")
    manager = TaskManager(str(tmp_path))
    loaded = manager.load(["s_*@python"])
    assert sorted(loaded.tasks) == ["s_other@python", "s_writes@python"]
    assert loaded.notes == ["s_*@python: s_all, s_picks are left out, since log-likelihoods score them"]
    assert sorted(manager.load(["s_tag"], python=True).tasks) == ["s_other@python", "s_writes@python"]
    assert sorted(manager.load(["s_*"]).tasks) == ["s_other", "s_picks", "s_writes"]
    assert list(manager.load(["s_all::s_w*@python"]).tasks) == ["s_writes@python"]
    for spec in ("s_pi*@python", "s_all@python"):  # nothing would be left, or a named group would be another one
        with pytest.raises(ConfigError, match="Ask s_picks@generate@python"):
            manager.load([spec])
    group = {"group": "mine", "task": ["s_*"]}
    with pytest.raises(ConfigError, match="Ask s_picks@generate@python"):
        manager.load([group], python=True)


TAGGED = """task: {name}
dataset_path: json
test_split: test
doc_to_text: q
doc_to_target: a
tag: s_tag
{more}"""
CHOICE = "output_type: multiple_choice\ndoc_to_choice: [a, b]\n"


def test_all_names_that_can_not_be_asked_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        load("mmdu@python,mme,arc_easy@python,mmlu@python")
    said = str(caught.value)
    assert said.startswith("3 mistakes were found") and "'mmdu' makes its own turns" in said, said
    assert "Ask arc_easy@generate@python" in said and "mmlu@generate@python for all of them" in said


BOTH = """group: both
task:
- {task: choice, dataset_path: json, test_split: test, doc_to_text: q, doc_to_target: a, output_type: multiple_choice,
   doc_to_choice: [a, b], metric_list: [{metric: acc}]}
- {task: written, dataset_path: json, test_split: test, doc_to_text: q, doc_to_target: a,
   metric_list: [{metric: exact_match}]}
"""
