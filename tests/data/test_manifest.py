"""The manifest of data sets: it has those of all shipped tasks, names where they moved, and is compared with a hub."""

import importlib.util
import json
import sys
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Any

import pytest

from mm_eval.config.manager import TaskManager
from mm_eval.data.manifest import KnownDataSet, advice_on_missing, hub_ids, known_data_set, manifest
from tests.conftest import ROOT

COLUMNS = {"a": "string", "b": "list<string>", "c": "image"}


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    """docs/make/manifest.py, which imports its neighbours."""
    sys.path.insert(0, str(ROOT / "docs" / "make"))
    spec = importlib.util.spec_from_file_location("manifest_script", ROOT / "docs" / "make" / "manifest.py")
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    yield found
    sys.path.remove(str(ROOT / "docs" / "make"))


def test_it_has_the_data_set_of_each_shipped_task() -> None:
    ids = {name for entry in TaskManager().entries.values() for name in entry.card.get("data", ())}
    without = {name for name in ids if "/" in name and known_data_set(name) is None}
    mirrors = {"xai-org/RealworldQA", "lmms-lab/ai2d-no-mask", "AI4Math/MathVerse", "lmms-lab/EMMA-mini"}
    assert without <= {*mirrors, "lmms-lab-audio/WenetSpeech", "lmms-lab/AIR_Bench"}, "mirrors of other owners"
    assert len(manifest()) == 140
    assert {entry.sources for entry in manifest().values()} == {"agree", "differ", "unproven"}


def test_35_moved_seven_of_them_to_the_owner_of_videos() -> None:
    moved = [entry.moved_to or entry.id for entry in manifest().values() if entry.moved_to or entry.moved_from]
    owners = [name.partition("/")[0] for name in moved]
    assert (owners.count("lmms-lab-encoder"), owners.count("lmms-eval"), len(moved)) == (28, 7, 35)


def test_the_ids_that_are_tried() -> None:
    assert hub_ids("lmms-lab/Video-MME") == ["lmms-lab/Video-MME", "lmms-eval/Video-MME"], "not at lmms-lab-encoder"
    assert hub_ids("lmms-lab-encoder/RefCOCO") == ["lmms-lab-encoder/RefCOCO", "lmms-lab/RefCOCO"]
    assert hub_ids("lmms-lab-encoder/MME") == ["lmms-lab-encoder/MME", "lmms-lab/MME"]
    assert hub_ids("lmms-lab/of-a-user") == ["lmms-lab/of-a-user", "lmms-lab-encoder/of-a-user", "lmms-eval/of-a-user"]
    assert hub_ids("lmms-eval/of-a-user") == ["lmms-eval/of-a-user", "lmms-lab/of-a-user"]
    assert hub_ids("own/data") == ["own/data"] and hub_ids("json") == ["json"]


def test_the_advice_on_a_gate_and_on_a_recipe() -> None:
    advice = advice_on_missing("lmms-lab/VideoMMMU", "x")
    assert "(agree to share contact information) at https://huggingface.co/datasets/lmms-eval/VideoMMMU" in advice
    assert "`mm-eval fetch mmhal DIR`" in advice_on_missing("Shengcao1006/MMHal-Bench", "mmhal")
    assert advice_on_missing("lmms-lab/MME", "mme") == advice_on_missing("own/data", "mine") == ""


def test_rows_of_configurations_and_added_splits() -> None:
    entry = KnownDataSet("a/b", configurations=("x", "y"), rows={"x/test": 2, "y/test": 3, "val": 5})
    assert entry.rows_of(["x", "y"], "test") == 5 and entry.rows_of(["z"], "test") is None
    assert KnownDataSet("a/b", rows={"one": 2, "two": 3}).rows_of([None], "one+two") == 5


def test_the_list_of_tasks_names_gates_and_recipes(cli: Any) -> None:
    assert "mm-eval fetch" in cli("ls", "tasks", "mmhal", "--verbose").out
    assert "gated" in cli("ls", "tasks", "longvideobench", "--verbose").out


def test_validate_says_where_the_rows_are_not_those_that_are_known(cli: Any, tmp_path: Path) -> None:
    folder = tmp_path / "openai" / "gsm8k" / "main"
    folder.mkdir(parents=True)
    (folder / "test.jsonl").write_text('{"question": "1+1?", "answer": "#### 2"}\n')
    (folder / "train.jsonl").write_text('{"question": "1+1?", "answer": "#### 2"}\n' * 9)
    said = cli("validate", "gsm8k", "--data_root", tmp_path, "--num_fewshot", 0)
    assert "1 rows, where 1,319 are known" in said.out, said.out + said.err
    assert "are known" not in cli("validate", "gsm8k", "--sample").out, "the sample is no data set of the hub"


class Hub:
    """The hub's API of data sets. answers: {id: its JSON, or a status}."""

    def __init__(self) -> None:
        self.answers: dict[str, Mapping[str, Any] | int] = {}
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                answer = hub.answers.get(self.path.removeprefix("/api/datasets/"), 401)
                status = answer if isinstance(answer, int) else 200
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps(answer).encode())

            def log_message(self, *args: object) -> None:
                return None

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        self.thread = Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.thread.start()


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Any:
    found = Hub()
    monkeypatch.setenv("HF_ENDPOINT", found.url)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    yield found
    found.http.shutdown()
    found.http.server_close()
    found.thread.join()


def card(**changes: Any) -> dict[str, Any]:
    """What a hub says of a/b when nothing differs."""
    features = [{"name": "a", "dtype": "string"}, {"name": "b", "sequence": "string"}, {"name": "c", "dtype": "image"}]
    info = {"features": features, "splits": [{"name": "test", "num_examples": 7}]}
    stated = {"license": "cc-by-4.0", "dataset_info": info}
    return {"id": "new/b", "sha": "0123456789abcdef", "gated": False, "cardData": stated, **changes}


def of_card(info: dict[str, Any]) -> dict[str, Any]:
    return {"cardData": {"dataset_info": [info]}}


ENTRY = KnownDataSet(
    "a/b", moved_to="new/b", commit="0123456", rows={"test": 7}, columns=COLUMNS, gated=False, licence="CC BY 4.0"
)


def test_nothing_differs_from_a_hub_that_has_it_so(script: ModuleType, hub: Hub) -> None:
    hub.answers["a/b"] = card()
    assert list(script.differences(ENTRY)) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"id": "third/b"}, "is at third/b now"),
        ({"id": "a/b"}, "is at a/b and not at new/b"),
        ({"sha": "fedcba9876543210"}, "has the commit fedcba987654, and 0123456 is known"),
        ({"gated": "manual"}, "is gated, and no gate is known"),
        ({"cardData": {"license": "mit"}}, "has the licence 'mit', and 'CC BY 4.0' is known"),
        (of_card({"splits": [{"name": "test", "num_examples": 8}]}), "has 8 rows in test, and 7 are known"),
        (of_card({"features": [{"name": "a", "dtype": "int64"}]}), "has int64 in 'a' of default, and string is known"),
        (of_card({"features": [{"name": "a", "dtype": "string"}]}), "has no column 'b' in default, which is known"),
    ],
)  # fmt: skip
def test_what_differs_from_the_hub_is_said(script: ModuleType, hub: Hub, changes: dict[str, Any], said: str) -> None:
    hub.answers["a/b"] = card(**changes)
    assert said in list(script.differences(ENTRY))


def test_a_data_set_that_is_gone_and_a_hub_that_fails(
    script: ModuleType, hub: Hub, capsys: Any, monkeypatch: Any
) -> None:
    assert list(script.differences(ENTRY)) == ["is not on the hub as a/b or new/b"]
    hub.answers["new/b"] = card()
    assert list(script.differences(ENTRY)) == [], "the new name is tried"
    monkeypatch.setattr(script, "manifest", lambda: {"a/b": ENTRY})
    assert script.main(["--check"]) == 0 and "1 data sets compared, 0 differences" in capsys.readouterr().out
    hub.answers["a/b"] = card(gated="auto")
    assert script.main(["--check", "a/b"]) == 1
    hub.answers["a/b"] = 500
    assert script.main(["--check"]) == 3 and "nothing was compared after a/b" in capsys.readouterr().err
    assert script.main(["--check", "no/such"]) == 2
