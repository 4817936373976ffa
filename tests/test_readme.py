"""README is true: its lines run as they stand, its commands are those that CI runs, and what it says of options exists."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mm_eval.cli import VERBS, main
from tests.docs import pages
from tests.processes import HANGS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_ci_installs_and_tests_as_the_readme_says() -> None:
    [_, tests] = blocks("bash")[:2]
    install, test = tests.strip().split(" && ")
    script = (ROOT / ".ci" / "run").read_text()
    assert install.replace("pip install ", "") in script and {test, f"{test} -m full"} <= set(
        map(str.strip, script.splitlines())
    )


SHOWN = README.split("on two cores:\n\n```text\n")[1].split("\n```")[0]


@pytest.mark.full
def test_the_first_command_prints_what_the_readme_shows(tmp_path: Path) -> None:
    """The numbers and the order of rows; where the run lies may differ."""
    command = [sys.executable, "-m", "mm_eval", "--tasks", "mme,seedbench", "--no_report"]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=HANGS)
    assert printed.returncode == 0, printed.stderr

    def rows(text: str) -> list[str]:
        return [line for line in text.splitlines() if not line.startswith(("note: report", "run folder"))]

    assert rows(printed.stdout) == rows(SHOWN)


def test_the_first_command_prints_the_words_that_the_readme_shows(cli) -> None:
    """Of a few docs: the names of columns and rows, and each line that does not depend on all docs."""
    some = json.dumps({"mme": [0, 1, 418, 419], "seedbench": [0, 1]})
    printed = cli("--tasks", "mme,seedbench", "--no_report", "--samples", some)
    assert printed.code == 0, printed.err
    lines, rows = printed.out.splitlines(), re.compile(r"\S+_(?:score|all) +↑")
    for text in (printed.out, SHOWN):
        assert re.search(r"^task .* metric  .* value  ± +stderr .* docs +n$", text, re.MULTILINE)
    assert rows.findall(printed.out) == rows.findall(SHOWN) and len(rows.findall(SHOWN)) == 3
    always = ("Bundled sample data", "model: ", "prompt of ", "shares are", "note: no --model")
    shown = [line for line in SHOWN.splitlines() if line.startswith(always)]
    assert [line for line in lines if line.startswith(always)] == shown and len(shown) == 6


def test_the_group_lines_run(cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for block in pages.blocks(pages.ROOT / "docs" / "guides" / "tasks.md"):
        if block.title:
            file = tmp_path / block.title
            file.parent.mkdir(exist_ok=True)
            file.write_text(block.text)
    answers = [{"task": task, "doc_id": n, "resps": ["red"]} for task in ("red", "blue") for n in range(3)]
    (tmp_path / "answers.jsonl").write_text("\n".join(json.dumps(row) for row in answers))
    monkeypatch.chdir(tmp_path)
    words = ("--include_path", "my_tasks", "--model", "replay", "--model_args", "path=answers.jsonl")
    done = cli(*words, "--tasks", "both", "--output_path", "one")
    assert done.code == 0, done.err
    rows_by_path = {name: row["exact_match,none"] for name, row in done.results["results"].items()}
    macro = [value for name, value in rows_by_path.items() if name.rsplit("::", 1)[-1] == "colours"]
    assert macro == [0.5, 0.5], "the mean over tasks, under each parent"
    assert rows_by_path["both"] == pytest.approx(0.75), "the mean over documents"
    assert len([name for name in rows_by_path if name.rsplit("::", 1)[-1] == "red"]) == 2, "two results of one task"
    leaf = cli(*words, "--tasks", "both::brief::red", "--output_path", "two")
    assert leaf.code == 0, leaf.err
    assert len(leaf.results["results"]) == 1


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_that_the_readme_names_is_one_of_a_verb(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([verb, "--help"])
    shown = capsys.readouterr().out
    assert f"usage: mm-eval {verb}" in shown
    for line in re.findall(rf"mm-eval {verb} (.*?)[`\n]", README):
        for option in re.findall(r"(?<![\w-])(--[a-z_]+)", line):
            assert option in shown, option
