"""`effort`: the same questions at several efforts, paired, resumable, with the cheapest effort that is enough."""

import importlib.util
import json
import random
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from mm_eval.scoring.metrics.aggregation import mean
from mm_eval.scoring.metrics.paired import paired_difference
from mm_eval.values.types import UNNAMED, Number
from mm_eval.verbs.study.effort import upper_end
from mm_eval.verbs.study.effort_file import read_efforts

RIGHT = {
    "low": 0.5,
    "medium": 0.9,
    "high": 0.91,
    "off": 0.4,
    "1024": 0.6,
    "8192": 0.9,
    "1": 0.3,
    "2": 0.32,
    "3": 0.66,
    "4": 0.68,
    "5": 0.68,
}
"""How often an effort answers right; a question that a lower one answers is answered by each higher one, too."""
TOKENS = {
    "low": 40,
    "medium": 300,
    "high": 2500,
    "off": 5,
    "1024": 700,
    "8192": 3000,
    "1": 300,
    "2": 310,
    "3": 500,
    "4": 530,
    "5": 900,
}
TASK = """
task: sums
dataset_path: json
dataset_kwargs: {data_files: {test: %s}}
test_split: test
doc_to_text: "{{question}}"
doc_to_target: answer
output_type: generate_until
generation_kwargs: {max_new_tokens: 16, until: []}
metric_list: [{metric: exact_match}]
"""


class Handler(BaseHTTPRequestHandler):
    """A model whose accuracy and tokens depend on the effort that the request states."""

    server: "Model"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.path.endswith("/chat/completions"):
            return self.send_error(404)
        thinking = body.get("enable_thinking", True)
        effort = str(
            body.get("reasoning_effort") or body.get("thinking_budget") or ("off" if thinking is False else "")
        )
        self.server.asked[effort] += 1
        question = body["messages"][-1]["content"]
        question = question if isinstance(question, str) else question[-1]["text"]
        luck = int(question.removesuffix("?")) * 37 % 100 / 100
        text = question.removesuffix("?") if luck < RIGHT[effort] else "no"
        usage = {"prompt_tokens": 7, "completion_tokens": int(TOKENS[effort] * (0.5 + luck))}
        usage = {} if self.server.silent else usage
        message = {"role": "assistant", "content": text}
        reply = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def do_GET(self) -> None:
        self.send_error(404)

    def log_message(self, *args: Any) -> None:
        pass


class Model(ThreadingHTTPServer):
    """asked: requests by effort. silent: it counts no tokens."""

    request_queue_size = 128
    silent = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked = Counter[str]()


@pytest.fixture
def model() -> Iterator[Model]:
    server = Model()
    thread = threading.Thread(target=server.serve_forever, args=[0.01], daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def write(tmp_path: Path, model: Model | None, efforts: str, docs: int = 100, more: str = "") -> Path:
    rows = [{"question": f"{n}?", "answer": str(n)} for n in range(docs)]
    (tmp_path / "sums.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "sums.yaml").write_text(TASK % (tmp_path / "sums.jsonl"))
    address = f"http://127.0.0.1:{model.server_address[1]}/v1" if model else "http://127.0.0.1:9/v1"
    path = tmp_path / "efforts.yaml"
    path.write_text(
        f"tasks: [{tmp_path / 'sums.yaml'}]\nmodel: openai\nmodel_args: {{model: m, base_url: '{address}'}}\n"
        f"output_path: {tmp_path / 'out'}\n{efforts}\n{more}"
    )
    return path


def test_the_cheapest_effort_that_is_enough_is_named(cli, tmp_path: Path, model: Model) -> None:
    path = write(tmp_path, model, "reasoning_effort: [low, medium, high]", more="margin: 6\n")
    ran = cli("effort", path)
    assert ran.code == 0, ran.err
    assert model.asked == dict.fromkeys(("low", "medium", "high"), 100)
    said = json.loads((tmp_path / "out" / "effort.json").read_text())["effort"]["tasks"]["sums"]
    assert (said["best"], said["cheapest_not_worse"]) == ("high", "medium")
    low, medium, high = (said["efforts"][name] for name in ("low", "medium", "high"))
    assert low["loss"]["value"] > 0.3 and not low["not_worse"] and medium["not_worse"] and high["loss"] is None
    assert low["tokens"]["value"] < medium["tokens"]["value"] < high["tokens"]["value"] and high["tokens"]["interval"]
    assert medium["loss"]["value"] < medium["at_most"] < 0.06
    assert "sums: medium is the cheapest effort that is not worse within 6 points: it loses" in ran.out
    assert "<- cheapest" in next(line for line in ran.out.splitlines() if line.startswith("medium"))
    assert (tmp_path / "out" / "effort.html").is_file()
    runs = {name: json.loads((tmp_path / "out" / name / "run.json").read_text()) for name in ("low", "medium", "high")}
    assert {run["request"]["name"] for run in runs.values()} == {"m (low)", "m (medium)", "m (high)"}
    if importlib.util.find_spec("matplotlib"):
        figures = {path.name for path in (tmp_path / "out" / "figures").iterdir()}
        assert figures == {f"effort-sums.{ending}" for ending in ("svg", "pdf", "png")}
        drawn = (tmp_path / "out" / "figures" / "effort-sums.svg").read_text()
        assert all(f">{name}<" in drawn for name in ("low", "medium", "high", "within 6 of the best"))
    again = cli("effort", path)
    assert again.code == 0 and sum(model.asked.values()) == 300, "nothing is asked twice"
    assert again.out.split("page with")[0] == ran.out.split("page with")[0]
    narrow = cli("effort", path, "--margin", "0.5", "--format", "json")
    assert json.loads(narrow.out)["effort"]["tasks"]["sums"]["cheapest_not_worse"] == "high"
    assert sum(model.asked.values()) == 300


@pytest.mark.full
def test_what_differs_may_be_stated_for_each_effort(cli, tmp_path: Path, model: Model) -> None:
    efforts = (
        "efforts:\n  off: {model_args: {extra_body: {enable_thinking: false}}}\n"
        "  8192: {model_args: {extra_body: {thinking_budget: 8192}}, gen_kwargs: {max_new_tokens: 9000}}\n"
    )
    ran = cli("effort", write(tmp_path, model, efforts, docs=40))
    assert ran.code == 0, ran.err
    assert model.asked == {"off": 40, "8192": 40}
    assert "effort 'off': enable_thinking=False" in ran.out, ran.out
    assert "no cheaper effort surely loses less than 1 point" in ran.out or "sums: 8192 has the best number" in ran.out


def test_a_setting_that_nobody_reads_is_said(cli, tmp_path: Path, model: Model) -> None:
    efforts = "efforts: {a: {gen_kwargs: {seed: 1, reasoning_effort: low}}, b: {gen_kwargs: {seed: 2, reasoning_effort: low}}}"
    ran = cli("effort", write(tmp_path, model, efforts, docs=5))
    assert ran.code == 0 and "warning: every answer at b is the one at a, with as many tokens" in ran.out, ran.out
    assert "does not read seed=2" in ran.out


@pytest.mark.full
def test_without_counts_of_tokens_no_effort_is_the_cheapest(cli, tmp_path: Path, model: Model) -> None:
    model.silent = True
    ran = cli("effort", write(tmp_path, model, "thinking_budget: [1024, 8192]", docs=20))
    assert ran.code == 0, ran.err
    assert model.asked == {"1024": 20, "8192": 20}
    assert "no tokens were counted at 1024, 8192, so no effort can be called the cheapest" in ran.out


@pytest.mark.parametrize(
    ("adapter", "setting", "found"),
    [
        ("hf", "reasoning_effort: [low, high]", ("model_args", {"chat_template_kwargs": {"reasoning_effort": "low"}})),
        ("hf", "thinking_budget: [0, 64]", ("model_args", {"chat_template_kwargs": {"thinking_budget": 0}})),
        ("openai", "reasoning_effort: [low, high]", ("gen_kwargs", {"reasoning_effort": "low"})),
        ("openai", "thinking_budget: [0, 64]", ("model_args", {"extra_body": {"thinking_budget": 0}})),
    ],
)
def test_a_setting_stands_where_the_adapter_reads_it(tmp_path: Path, adapter: str, setting: str, found: Any) -> None:
    path = tmp_path / "efforts.yaml"
    shared = "{pretrained: a/b, chat_template_kwargs: {x: 1}, extra_body: {y: 2}}"
    path.write_text(f"tasks: [mme]\nmodel: {adapter}\nmodel_args: {shared}\ngen_kwargs: {{top_p: 1}}\n{setting}\n")
    stated = read_efforts(str(path))
    key, value = found
    request = next(iter(stated.runs.values()))
    merged, kept = dict(getattr(request, key)), {"chat_template_kwargs": {"x": 1}, "extra_body": {"y": 2}}
    for name, each in value.items():
        assert merged[name] == ({**kept[name], **each} if isinstance(each, dict) else each)
    assert request.gen_kwargs["top_p"] == 1 and request.model_args["pretrained"] == "a/b"
    assert (stated.margin, str(stated.output)) == (1.0, "runs/effort-b")


def test_mistakes_are_one_sentence_and_nothing_is_asked(cli, tmp_path: Path, model: Model) -> None:
    cases = [
        ("", "", "one of reasoning_effort, thinking_budget, efforts is needed"),
        ("reasoning_effort: [low]", "", "a list of at least two texts, such as [low, high]"),
        ("reasoning_effort: [low, low]", "", "`reasoning_effort` has a value twice"),
        ("reasoning_effort: [low, high]", "thinking_budget: [1, 2]\n", "and the file has 2"),
        ("thinking_budget: [1, many]", "", "a list of at least two counts of tokens is needed"),
        ("efforts: {a: {}, b: {}}", "", "two of the efforts are the same"),
        ("efforts: {a: {limit: 3}, b: {}}", "", "the effort 'a' states 'limit'"),
        ("efforts: {a: {gen_kwargs: 3}, b: {}}", "", "`gen_kwargs` of the effort 'a' is not a mapping"),
        ("reasoning_effort: [low, high]", "margin: -1\n", "`margin` is -1; a number above 0 is needed"),
        ("reasoning_effort: [low, high]", "stop_when: decided\n", "`stop_when` does not go with several efforts"),
        ("reasoning_effort: [low, high]", "models: [{model: hf}]\n", "this is the file of a release"),
        ("reasoning_effort: [low, high]", "limits: 3\n", "unknown key 'limits'"),
        ("reasoning_effort: [a b, a_b]", "", "would have one folder"),
    ]
    for efforts, more, wanted in cases:
        ran = cli("effort", write(tmp_path, model, efforts, docs=4, more=more))
        assert ran.code == 2 and wanted in ran.err and "Traceback" not in ran.err, (efforts, more, ran.err)
    assert not model.asked and cli("effort", tmp_path / "none.yaml").code == 2


@pytest.mark.full
def test_the_upper_end_of_a_loss_holds_the_true_one() -> None:
    """Over many evaluations with a true loss of the margin, at most 5% call the effort not worse, at each level."""
    draw = random.Random(3)
    for alpha, few in ((0.05, False), (0.05 / 3, False), (0.05 / 3, True)):
        missed, trials = 0, 400
        share, docs = (0.05, 60) if few else (0.2, 150)
        for _ in range(trials):
            pairs = [(0.0, 1.0) if draw.random() < share else (1.0, 1.0) for _ in range(docs)]
            loss = paired_difference(mean, [a for a, _ in pairs], [b for _, b in pairs])
            end = upper_end(loss, alpha)
            missed += end is not None and end < share
        assert missed / trials <= alpha + 0.02, (alpha, few)
    assert upper_end(Number(UNNAMED, 0.0, None), 0.05) is None


def test_equal_answers_do_not_prove_that_nothing_is_lost() -> None:
    same = paired_difference(mean, [1.0] * 30, [1.0] * 30)
    end = upper_end(same, 0.05)
    assert end is not None and end > 0.05, "30 documents can't exclude a loss of 5 points"
