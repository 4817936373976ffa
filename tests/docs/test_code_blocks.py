"""The documentation is true: its code blocks run as they stand, and every option that it names exists."""

from __future__ import annotations

import io
import os
import re
import runpy
import shlex
import subprocess
import sys
from contextlib import redirect_stdout, suppress
from functools import cache
from pathlib import Path

import pytest

from mm_eval.aliases.flags import FLAGS
from mm_eval.cli import VERBS, main
from tests.docs.pages import PAGES, ROOT, Block, blocks
from tests.processes import HANGS
from tests.sets import each_of, few


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


QUICK = ("python.md",)
"""Page of the default set; README's first screen has tests of its own. The others are in `full`."""
RUN = [page for page in PAGES if any(b.runs for b in blocks(page))]
MARKED = [page if page.name in QUICK else pytest.param(page, marks=pytest.mark.full) for page in RUN]


@pytest.mark.parametrize("page", MARKED, ids=name_of)
def test_the_blocks_of_a_page_run(page: Path, tmp_path: Path) -> None:
    environment = with_command(tmp_path / "bin")
    folder = tmp_path / "reader"
    folder.mkdir()
    for block in blocks(page):
        if block.title:
            file = folder / block.title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
        elif block.runs:
            assert "pip install" not in block.text, "a block that installs something would change the other tests"
            command = ["bash", "-euo", "pipefail", "-c"] if block.language == "bash" else [sys.executable, "-c"]
            done = subprocess.run(
                [*command, block.text], cwd=folder, env=environment, capture_output=True, text=True, timeout=HANGS
            )
            assert done.returncode == 0, f"{name_of(page)}:{block.line}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"


def with_command(folder: Path) -> dict[str, str]:
    """An environment in which `mm-eval` and `python` are those under test."""
    folder.mkdir()
    for name, words in (("mm-eval", f"{sys.executable} -m mm_eval"), ("python", sys.executable)):
        program = folder / name
        program.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        program.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}


@cache
def help_of(verb: str) -> str:
    printed = io.StringIO()
    with redirect_stdout(printed), suppress(SystemExit):  # argparse ends so after its help
        main([verb, "--help"])
    return printed.getvalue()


def skipped_commands() -> list[tuple[str, Block, list[str]]]:
    """(place, block, words) of each `mm-eval` command in a block that is not run."""
    found = []
    for page in PAGES:
        for block in blocks(page):
            lines = block.text.replace("\\\n", " ").splitlines() if block.reason and block.language == "bash" else []
            for line in lines:
                words = shlex.split(line, comments=True)
                starts = [n + 1 for n, word in enumerate(words) if word in ("mm-eval", "mm_eval")]
                if starts and words[0] not in ("pip",):
                    found.append((f"{name_of(page)}:{block.line}", block, words[starts[0] :]))
    return found


@each_of(("place", "block", "words"), skipped_commands(), ids=lambda value: str(value)[:40])
def test_a_command_that_is_not_run_has_only_options_that_exist(place: str, block: Block, words: list[str]) -> None:
    verb = words[0] if words and words[0] in VERBS else "run"
    for option in [word for word in words if word.startswith("--")]:
        assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", help_of(verb)), f"{place}: {option}"


def test_every_option_that_the_pages_name_exists() -> None:
    known = "".join(help_of(verb) for verb in VERBS)
    others = " ".join(f"--{name} --{name.replace('_', '-')}" for name in FLAGS)  # that are read as they are typed
    launchers = {
        "--multi_gpu",
        "--cpu",
        "--max",
        "--nproc_per_node",
        "--user",
        "--init",
    }  # of accelerate launch, torchrun, systemd-run and podman; the beginning of torchrun's --max-restarts
    for page in PAGES:
        named = set(re.findall(r"`(?!python )[^`\n]*?(?<![\w-])(--[a-z][a-z_]+)", page.read_text(encoding="utf-8")))
        # the beginnings of three of vLLM (--chat-template-content-format, ...), and two of llama-server
        of_servers = {"--trust", "--enable", "--chat", "--alias", "--mmproj"}
        for option in named - launchers - of_servers - {"--help", "--strict"}:
            theirs = others if page.parent.name == "coming-from" else ""
            assert option in known or option in theirs, f"{name_of(page)}: {option}"


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{name_of(page)}: {target}"


MADE = {
    "reference/cli.md": ["## mm-eval watch", "exit codes:", "--newest_first"],
    "reference/tasks.md": [
        "## Groups",
        "| `release_core` |",
        "| `pope` |",
        "[arXiv:2305.10355](https://arxiv.org/abs/2305.10355)",
    ],
    "reference/models.md": ["| `qwen3_vl` | yes | yes | yes |  | `qwen3_vl`, `qwen_vl` |"],
    "reference/data.md": ["[openai/gsm8k](https://huggingface.co/datasets/openai/gsm8k)"],
    "guides/protocols.md": ["| `llava-1.5` |"],
    "guides/servers.md": ["| vLLM 0.32.0 (CPU build) |"],
}
"""Of pages whose tables are put in when the documentation is built: what they then have."""


@pytest.mark.parametrize("name", few(MADE, *(name for name in MADE if name != "reference/tasks.md")))
def test_a_page_is_built_with_its_tables(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "make"))
    filled = runpy.run_path(str(ROOT / "docs" / "make" / "tables.py"))["filled"]
    page = ROOT / "docs" / name
    text = filled(page.read_text(encoding="utf-8"), page.parent)
    assert "<!-- made by" not in text and not re.search(r"^\[[^\]]+\]\([^)]+\.csv\)$", text, re.M)
    assert [each for each in MADE[name] if each not in text] == []


def test_each_table_is_in_a_page_and_has_full_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    csv_table = runpy.run_path(str(ROOT / "docs" / "make" / "tables.py"))["csv_table"]
    linked = {
        match for page in PAGES for match in re.findall(r"^\[[^\]]+\]\(\S*tables/(\w+\.csv)\)$", page.read_text(), re.M)
    }
    files = sorted((ROOT / "docs" / "tables").glob("*.csv"))
    assert {path.name for path in files} == linked
    for path in files:
        assert csv_table(path).count("\n") > 1, path.name
