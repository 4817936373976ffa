"""Faults 39, 40, 43 and 44: hostile answers in files and on the terminal, what code may not do, equal bytes in any order."""

import json
import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mm_eval.values.errors import DataError
from mm_eval.values.safe import terminal_safe
from tests.faults.server import Server, echo

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
HOSTILE = [
    "<script>alert(1)</script>",
    "</textarea><img src=x onerror=alert(1)>",
    "![x](javascript:alert(1))",
    '=HYPERLINK("http://evil.example","x")',
    "\x1b[2J\x1b]0;owned\x07",
    "\u202egnp.exe \u2066 \x9b31m",
    "Yes " + "x" * 10_000_000,
]


def replayed(cli, tmp_path: Path, answers: list[str]):
    file = tmp_path / "answers.jsonl"
    rows = [{"task": "mme", "doc_id": n, "resps": [answer]} for n, answer in enumerate(answers)]
    file.write_text("\n".join(json.dumps(row) for row in rows))
    arguments = ("--tasks", "mme", "--sample", "--limit", len(answers), "--model", "replay")
    return cli(*arguments, "--model_args", f"path={file}")


@pytest.mark.full
def test_43_hostile_answers_are_kept_as_they_are_and_steer_no_terminal(cli, tmp_path: Path) -> None:
    ran = replayed(cli, tmp_path, HOSTILE)
    assert ran.code == 0, ran.err
    assert [row["resps"] for row in ran.samples("mme")] == [[answer] for answer in HOSTILE]
    for text in (ran.out, ran.err):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)


def test_43_a_live_script_is_in_no_page(cli, tmp_path: Path) -> None:
    from html.parser import HTMLParser

    ran = replayed(cli, tmp_path, HOSTILE[:-1])

    class Live(HTMLParser):
        """Notes what an answer could have put into the page's own elements."""

        found: list[str] = []

        def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
            for name, value in attributes:
                if name.startswith("on") or (value or "").strip().lower().startswith("javascript:"):
                    self.found.append(f"{tag} {name}={value}")

    text = (ran.folder / "report.html").read_text(encoding="utf-8")
    parser = Live()
    parser.feed(text)
    assert parser.found == []
    assert "<script>alert(1)" not in text and "</textarea><img" not in text and "\x1b" not in text


@pytest.mark.parametrize("answer", HOSTILE[4:6])
def test_43_an_error_text_steers_no_terminal(cli, tmp_path: Path, answer: str) -> None:
    assert re.fullmatch(r"[^\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]*", terminal_safe(answer))
    refused = cli("--tasks", f"mme{answer}", "--model", "dummy")
    logging.getLogger("mm_eval").warning("Failed: %s", answer)
    assert refused.code == 2 and not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", refused.err)


def run_under(seed: str, folder: Path, *words: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "mm_eval", "--tasks", "mme,mmlu", "--sample", "--limit", "6", *words]
    done = subprocess.run([*command, "--output_path", str(folder)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.dumps({**json.loads((folder / "results.json").read_text()), "run": 0})


@pytest.mark.full
def test_44_equal_bytes_under_other_hash_seeds(tmp_path: Path) -> None:
    """A run of dummy, another under another seed, and one that replays the first one's samples under a third."""
    found = [run_under(seed, tmp_path / seed, "--model", "dummy") for seed in ("1", "2")]
    assert found[0] == found[1]
    answers = tmp_path / "answers.jsonl"
    answers.write_bytes(b"".join(path.read_bytes() for path in sorted((tmp_path / "1" / "samples").glob("*.jsonl"))))
    replayed = run_under("3", tmp_path / "3", "--model", "replay", "--model_args", f"path={answers}")
    assert json.loads(replayed)["results"] == json.loads(found[0])["results"]


@pytest.mark.full
def test_44_equal_bytes_with_one_and_64_under_way_and_any_order_of_arrival(cli, tmp_path: Path, monkeypatch) -> None:
    from mm_eval.models.openai.adapter import OpenAI

    found, orders = set(), set()
    for number, (concurrent, spread) in enumerate([(1, 0.0), (64, 0.0), (64, 3.0), (7, 9.0)]):

        def latency(body: dict, nth: int, spread: float = spread) -> float:
            return 0.1 + spread * (hash(str(body["messages"][-1]["content"])[-60:]) % 97) / 97

        server = Server(lambda body, nth: echo(body), latency)
        made = server.model()
        monkeypatch.setattr(OpenAI, "new_loop", lambda self, made=made: made.new_loop())
        monkeypatch.setattr(OpenAI, "new_transport", lambda self, made=made: made.new_transport())
        args = f"base_url=http://server/v1,model=m,num_concurrent={concurrent}"
        folder = tmp_path / str(number)
        words = ("--tasks", "mme,gsm8k", "--sample", "--limit", "12", "--model", "openai", "--model_args", args)
        ran = cli(*words, "--output_path", folder)
        assert ran.code == 0, ran.err
        [journal] = (folder / "journal").glob("*.jsonl")
        orders.add(str([json.loads(line)["slots"] for line in journal.read_text().splitlines()]))
        found.add(json.dumps({**ran.results, "run": 0}))
    assert len(found) == 1 and len(orders) > 1, "answers arrived in several orders"


UNSAFE = re.compile(r"\b(pickle|dill|marshal|shelve)\b\.(load|loads|dump|dumps|open)\b|weights_only=False|yaml\.load\(")


def test_39_no_file_uses_what_can_run_code_on_loading() -> None:
    """The imports and calls are held by tests/test_architecture.py; this reads the text of all that is shipped."""
    files = [path for folder in ("mm_eval", "models", "tasks") for path in (ROOT / folder).rglob("*.py")]
    assert len(files) > 80
    assert [str(path) for path in files if UNSAFE.search(path.read_text(encoding="utf-8"))] == []


def test_40_remote_code_is_off_unless_named_and_then_on_record(cli, tmp_path: Path) -> None:
    from mm_eval.models.hf.arguments import Arguments

    from mm_eval.data.dataset import load_docs
    from mm_eval.data.source import DataSource

    assert Arguments.read({"pretrained": "x"}).trust_remote_code is False
    assert Arguments.read({"pretrained": "x", "trust_remote_code": "true"}).trust_remote_code is True
    script = tmp_path / "data" / "org" / "name" / "name.py"
    script.parent.mkdir(parents=True)
    script.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    source, kwargs = DataSource(tmp_path / "data"), {"trust_remote_code": True}
    with pytest.raises(DataError, match=r"scripts are no longer supported.*name\.py"):
        load_docs("org/name", None, "test", source, where="t.yaml:1", kwargs=kwargs)
    assert not (tmp_path / "ran").exists()
    ran = cli("--tasks", "mme", "--model", "tiny-llava", "--limit", "1", "--model_args", "trust_remote_code=true")
    known = json.loads((ran.folder / "run.json").read_text())
    assert known["request"]["model_args"] == {"trust_remote_code": "true"}


def test_33_nothing_here_unpacks_an_archive() -> None:
    """One file reads members of archives, one at a time, into streams; no name in an archive becomes a path."""
    unpacking = re.compile(r"unpack_archive|\.extract(all)?\(|\b(tarfile|zipfile)\b.*\bextract")
    opening = re.compile(r"\b(tarfile|zipfile)\b")
    files = {
        str(p.relative_to(ROOT)): p for folder in ("mm_eval", "models", "tasks") for p in (ROOT / folder).rglob("*.py")
    }
    texts = {name: path.read_text(encoding="utf-8") for name, path in files.items()}
    read_texts = "foreign_code/child/stand_ins"  # whose methods `extract` read texts
    assert [name for name, text in texts.items() if unpacking.search(text) and read_texts not in name] == []
    assert sorted(name for name, text in texts.items() if opening.search(text)) == [
        "mm_eval/data/archives.py",
        "mm_eval/data/dataset.py",  # names the errors of broken archives
        "mm_eval/data/shards.py",  # reads names of members, and those that are JSON into memory
        "mm_eval/verbs/exports/inspect.py",  # writes one
        "mm_eval/verbs/exports/logs/inspect_log.py",  # reads one member at a time into memory
        "mm_eval/verbs/exports/logs/xlsx.py",  # names zipfile in a comment
        "tasks/convbench/prepare.py",  # run by `mm-eval fetch` alone, on what it downloaded: two members, into memory
        "tasks/mmdu/prepare.py",  # likewise: a picture at a time, into memory
    ]
