"""`mm-eval ls`: words and options stand in any order."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mm_eval.cli import main

TASK = "dataset_path: d\ntest_split: test\ndoc_to_text: q\n"


@pytest.mark.parametrize("order", ["tasks colour --include_path DIR", "tasks --include_path DIR colour",
                                   "--include_path DIR tasks colour", "--include-path=DIR tasks colour"])  # fmt: skip
def test_the_word_may_stand_before_or_behind_an_option(
    order: str,
    tmp_path: Path,
    known_tasks: Callable[[Path], str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MM_EVAL_CACHE", known_tasks(tmp_path / "cache"))
    mine = tmp_path / "mine"
    mine.mkdir()
    for name in ("my_colours", "my_shapes"):
        (mine / f"{name}.yaml").write_text(f"task: {name}\n{TASK}")
    assert main(["ls", *order.replace("DIR", str(mine)).split()]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["task", "my_colours"]


def test_a_word_too_many_is_still_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ls", "tasks", "--verbosity", "ERROR", "mme", "seedbench"]) == 2
    assert "unrecognized arguments: seedbench" in capsys.readouterr().err


@pytest.fixture
def ls(
    tmp_path: Path,
    known_tasks: Callable[[Path], str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setenv("MM_EVAL_CACHE", known_tasks(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "mine").mkdir()

    def run(*words: str) -> list[str]:
        capsys.readouterr()
        assert main(["ls", "tasks", *words, "--include_path", str(tmp_path / "mine")]) == 0
        return capsys.readouterr().out.splitlines()

    def write(name: str, text: str) -> None:
        (tmp_path / "mine" / f"{name}.yaml").write_text(text)

    run.write = write  # type: ignore[attr-defined]
    return run


MEMBERS = ", ".join(f"{{task: part_{n}, dataset_name: p{n}}}" for n in range(12))
CARD = "metadata: {size: 1500, metric: acc, hub: [lmms-lab/MME], published: 'GPT-4o, 55.0'}\n"


def test_tasks_stand_below_their_groups_with_what_their_header_says(ls) -> None:
    ls.write(
        "one", f"task: one_{TASK}".replace("one_d", "one\nd") + f"tag: [multi_image, math]\naliases: [uno]\n{CARD}"
    )
    ls.write("two", f"task: two\n{TASK}")
    ls.write("both", "group: both\ntask: [uno, two]\nmetadata: {metric: mean}\n")
    ls.write("many", f"group: many\ninclude: {{dataset_path: d}}\ntask: [{MEMBERS}]\n")
    ls.write("outer", "group: outer\ntask: [both]\n")
    lines = ls()
    first = [line.split("  ")[0] or line for line in lines]
    assert lines[0].split()[:3] == ["task", "metric", "docs"]
    found = [
        line.rstrip() for line in lines if line.lstrip().startswith(("outer", "both", "one", "two", "many", "part_"))
    ]
    assert [line.split()[0] for line in found] == ["many", "outer", "both", "one", "two"]
    assert found[0].endswith("12 subtasks") and found[2].startswith("  both") and found[3].startswith("    one")
    assert found[3].split() == ["one", "acc", "1500", "multi_image", "lmms-lab/MME", "no", "GPT-4o,", "55.0"]
    assert "two" not in first, "a task of a group is not listed again"


def test_a_word_finds_names_aliases_tags_and_members(ls) -> None:
    ls.write("one", f"task: one\n{TASK}tag: [hallucination]\naliases: [uno]\n{CARD}")
    ls.write("many", f"group: many\ninclude: {{dataset_path: d}}\ntask: [{MEMBERS}]\n")
    assert [line.split()[0] for line in ls("uno")] == ["task", "one"]
    assert "one" in [line.split()[0] for line in ls("hallucination")]
    assert [line.split()[0] for line in ls("part_11")] == ["task", "part_11"]
    ls.write("all_mine", "group: all_mine\ntask: [uno]\n")
    ls.write("around", "group: around_all\ntask: [all_mine]\n")
    assert (
        [line.split()[0] for line in ls("all_mine")]
        == [line.split()[0] for line in ls("around_all")]
        == ["task", "one"]
    )


def test_whole_words_come_first_below_a_header(ls) -> None:
    for name in ("bbh_movie_recomzzzdation", "zzz", "zzz_lite", "azzz", "zzzreal"):
        ls.write(name, f"task: {name}\n{TASK}")
    head, *lines = ls("zzz")
    assert head.split()[:5] == ["task", "metric", "docs", "modality", "data"]
    assert [line.split()[0] for line in lines] == ["zzz", "zzz_lite", "zzzreal", "azzz", "bbh_movie_recomzzzdation"]


def test_the_spelling_of_a_name_does_not_matter(ls) -> None:
    """As for --tasks, which takes seed_bench for seedbench."""
    for name in ("zzzbench", "zzzbench_lite", "my_zzzbench"):
        ls.write(name, f"task: {name}\n{TASK}")
    ls.write("other", f"task: other\naliases: [zzz_benchmark]\n{TASK}")
    assert [line.split()[0] for line in ls("ZZZ-Bench")[1:]] == ["zzzbench", "zzzbench_lite", "other"]


def test_lines_fit_the_terminal_unless_verbose(ls, monkeypatch: pytest.MonkeyPatch) -> None:
    ls.write("one", f"task: one\n{TASK}metadata: {{published: {'x' * 300}}}\n")
    monkeypatch.setenv("COLUMNS", "90")
    assert max(map(len, ls())) <= 90 and not any(line.endswith("xxx") for line in ls())
    monkeypatch.setenv("COLUMNS", "80")
    head, *lines = ls()
    assert head.split() == ["task", "metric", "docs", "modality"] and max(map(len, lines)) <= 80
    assert any(line.endswith("  multi_image") for line in lines), "a column is whole, cut with ... or left out"
    assert any(line.endswith("x" * 300) for line in ls("--verbose"))


@pytest.mark.full
def test_listing_2000_tasks_imports_no_data_library_and_is_fast(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(2000):
        (folder / f"t{number}.yaml").write_text(f"task: t{number}\n{TASK}tag: image\n{CARD}")
    code = (
        "import sys, time\nfrom mm_eval.cli import main\nmain(sys.argv[1:])\n"
        "heavy = [name for name in ('yaml', 'datasets', 'numpy', 'PIL', 'jinja2') if name in sys.modules]\n"
        "print(heavy, time.process_time(), file=sys.stderr)"
    )
    environment = {**os.environ, "MM_EVAL_CACHE": str(tmp_path / "cache")}
    words = [sys.executable, "-c", code, "ls", "tasks", "--include_path", str(folder)]
    ran = [subprocess.run(words, capture_output=True, text=True, check=True, env=environment) for _ in range(3)]
    heavy, seconds = zip(*(each.stderr.split("\n")[-2].rsplit(" ", 1) for each in ran[1:]), strict=True)
    assert set(heavy) == {"[]"} and min(map(float, seconds)) < 0.6


def test_the_modality_of_a_video_task(ls) -> None:
    [line] = [each for each in ls("mlvu") if each.startswith("mlvu_dev")]
    assert " video " in line and " image " not in line


@pytest.mark.parametrize("what", ["tasks", "groups", "tags", "models", "metrics", "filters", "scorers", "formats"])
def test_each_list_fits_80_columns_and_has_whole_lines_on_demand(
    what: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["ls", what]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown and max(map(len, shown)) <= 80
    if what != "tasks":  # whose cells are cut, not broken
        assert main(["ls", what, "--verbose"]) == 0
        whole = capsys.readouterr().out.splitlines()
        assert " ".join(" ".join(shown).split()) == " ".join(" ".join(whole).split())
