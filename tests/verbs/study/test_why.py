"""`mm-eval why`: which setting explains the difference to a report, with paired trials, and with no request made twice."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mm_eval import cli
from mm_eval.engine.model import Model, Preview, register_model
from mm_eval.request import RunRequest
from mm_eval.results.findings import as_command
from mm_eval.values.types import Answer, Instance
from mm_eval.verbs.study.why import chosen_docs, docs_for
from tests.conftest import named_code
from tests.protocols.test_protocols import PROTOCOL, own, write_answers  # noqa: F401 - a fixture

ASKED: list[tuple[int, int | None]] = []
"""(doc, cap of tokens) of each request."""


@register_model("obeys")
class Obeys(Model):
    """Right for three of four docs if it is asked "Now.", else for every second one."""

    def generate(self, instances):  # type: ignore[no-untyped-def]
        for instance in instances:
            ASKED.append((instance.doc_id, instance.generation_kwargs.get("max_new_tokens")))
            right = instance.doc_id % 4 != 3 if " Now." in str(instance.context) else instance.doc_id % 4 == 0
            yield instance, Answer(str(instance.target) if right else "?")


@pytest.fixture(autouse=True)
def nothing_asked() -> Iterator[None]:
    ASKED.clear()
    yield


def main(words: list[str]) -> int:
    return cli.main([*words, *named_code(words)])


def run(own: Path, *more: str) -> Path:  # noqa: F811
    folder = own / "run"
    command = ["--tasks", "own", "--model", "obeys", "--include_path", str(own), "--output_path", str(folder)]
    assert main([*command, "--name", "Big-7B", "--no_report", *more]) == 0
    ASKED.clear()
    return folder


@pytest.mark.full
def test_the_setting_that_explains_the_difference_is_named(own: Path, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    folder = run(own)
    capsys.readouterr()
    assert main(["why", str(folder), "--protocol", "mine"]) == 0
    said = capsys.readouterr().out
    assert "the run has 25.00, the report 75.00" in said
    assert "+50.0 is to be explained, and the protocol's prompt gives +50.0 ± 16.2: this explains" in said
    assert "the protocol's generation and the run score the same on own" in said
    assert re.search(r"this explains the difference. About \d+ documents show it", said), said
    assert "anls" not in said  # only what the report prints
    assert len(ASKED) == 3 * 40  # the run's own answers are not asked for again
    found = json.loads((folder / "why-mine" / "why.json").read_text())
    assert list(found["models"][0]["blocks"]) == ["as run", "prompt", "generation", "all settings"]

    ASKED.clear()
    assert main(["why", str(folder), "--protocol", "mine"]) == 0
    assert ASKED == []
    assert main(["why", str(folder), "--protocol", "mine", "--docs", "10"]) == 0
    assert ASKED == []  # the same requests as of the larger trial


@pytest.mark.full
def test_more_docs_ask_only_for_the_new_ones(own: Path, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    folder = run(own)
    assert main(["why", str(folder), "--protocol", "mine", "--docs", "10"]) == 0
    assert len(ASKED) == 30
    assert main(["why", str(folder), "--protocol", "mine", "--docs", "15"]) == 0
    assert len(ASKED) == len(set(ASKED)) + 15 == 45
    assert "own: 15 of the run's 40 documents" in capsys.readouterr().out


def test_a_setting_that_an_option_overrides_is_given_back(own: Path, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    folder = run(own, "--protocol", "mine", "--prompt_key", "other")
    capsys.readouterr()
    assert main(["why", str(folder)]) == 0
    said = capsys.readouterr().out
    assert "this explains the difference" in said
    assert "generation" not in said  # it is the protocol's already
    assert len(ASKED) == 40


def test_nothing_is_asked_where_nothing_differs(own: Path, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    folder = run(own, "--protocol", "mine")
    assert main(["why", str(folder)]) == 0
    assert "no setting differs from the protocol mine: nothing was requested" in capsys.readouterr().out
    assert ASKED == []
    assert not (folder / "why-mine").exists()


def test_what_can_change_no_answer_is_not_tried(own: Path, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    """A longer cap where no answer was cut, sampling options of greedy decoding, frames where no video is shown."""
    text = PROTOCOL.replace("{max_new_tokens: 9}", "{max_new_tokens: 9, top_p: 0.5, until: []}")
    video = "  video: {value: 'frames=4,ends', known: assumed}\nconditions:"
    (own / "mine.yaml").write_text(text.replace("conditions:", video, 1))
    folder = run(own, "--gen_kwargs", "max_new_tokens=5")
    capsys.readouterr()
    assert main(["why", str(folder), "--protocol", "mine"]) == 0
    said = capsys.readouterr().out
    assert "max_new_tokens is 5 (protocol: 9) on own: no answer of the run was cut" in said
    assert "top_p is not set (protocol: 0.5" in said and "on own: both take the likeliest token" in said
    assert "until is not set (protocol: []) on own: both mean the same" in said
    assert "on own: its prompts show no video" in said
    assert len(ASKED) == 40, "the prompt alone is tried"


@pytest.mark.full
def test_a_longer_cap_is_tried_where_an_answer_was_cut(
    own: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Obeys, "generate", _cut)
    folder = run(own, "--gen_kwargs", "max_new_tokens=5")
    assert main(["why", str(folder), "--protocol", "mine"]) == 0
    assert len(ASKED) == 3 * 40 and {cap for _, cap in ASKED} == {5, 9}


def _cut(self, instances):  # type: ignore[no-untyped-def]
    for instance in instances:
        ASKED.append((instance.doc_id, instance.generation_kwargs.get("max_new_tokens")))
        yield instance, Answer(str(instance.target), ended="length" if instance.doc_id == 3 else "stop")


def test_extraction_scores_the_same_answers_again(own: Path, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    extraction = "[{name: none, filter: [{function: lowercase}]}]"
    settings = f"settings:\n  filter_list: {{value: {extraction}, known: assumed}}\n"
    text = PROTOCOL.replace("settings:\n", settings).replace("      metric: exact_match", "      metric: anls")
    (own / "mine.yaml").write_text(
        text.replace('    prompt: {value: {post_prompt: " Now."}', "    prompt: {value: default")
    )
    folder = run(own, "--gen_kwargs", "max_new_tokens=9")
    assert main(["why", str(folder), "--protocol", "mine"]) == 0
    said = capsys.readouterr().out
    assert "extraction" in said
    assert ASKED == []


def test_recorded_answers_can_only_be_extracted_anew(own: Path, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    write_answers(own, 30)
    command = ["--tasks", "own", "--model", "replay", "--model_args", f"path={own / 'answers.jsonl'}"]
    assert main([*command, "--include_path", str(own), "--output_path", str(own / "run"), "--no_report"]) == 0
    assert main(["why", str(own / "run"), "--protocol", "mine"]) == 0
    assert "prompt is not tried: the answers are recorded" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ((), "the run has no protocol"),
        (("--protocol", "min"), "there is no protocol 'min'"),
        (("--protocol", "mine", "--tasks", "owl"), "'owl' is not a task of the run"),
        (("--protocol", "mine", "--docs", "0"), "at least one document"),
        (("--protocol", "llava-1.5"), "has none of the run's tasks"),
    ],
)
def test_mistakes_are_said(own: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], said: str) -> None:  # noqa: F811
    folder = run(own)
    assert main(["why", str(folder), *more]) == 2
    assert said in capsys.readouterr().err
    assert ASKED == []


def test_docs_are_drawn_in_whole_clusters_and_more_contain_fewer() -> None:
    clusters = {doc: doc // 4 for doc in range(100)}
    some, more = chosen_docs(clusters, 10, 0), chosen_docs(clusters, 40, 0)
    assert len(some) == 12 and set(some) < set(more)
    assert {doc - doc % 4 for doc in some} <= set(some) and chosen_docs(clusters, 10, 1) != some


def test_how_many_docs_a_difference_needs() -> None:
    assert docs_for(0.1) == 118 and docs_for(0.05) == 471 and docs_for(0.0) is None and docs_for(None) is None


def test_scoring_keeps_the_verdict_of_a_run_under_a_protocol(own: Path, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    folder = run(own, "--protocol", "mine", "--limit", "40")
    before = json.loads((folder / "results.json").read_text())["protocol"]
    assert before["rows"][0]["verdict"] == "matches"
    run(own, "--protocol", "mine", "--limit", "40")  # resumed
    for more in ((), ("--protocol", "mine")):
        assert main(["score", str(folder), *more]) == 0
        assert json.loads((folder / "results.json").read_text())["protocol"] == before
    assert "matches" in capsys.readouterr().out
    assert main(["score", str(folder), "--protocol", "llava-1.5"]) == 2
    assert "under the protocol 'mine'" in capsys.readouterr().err


def test_scoring_gives_an_older_run_a_verdict(own: Path, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    folder = run(own)
    number = json.loads((folder / "results.json").read_text())["results"]
    assert main(["score", str(folder), "--protocol", "mine"]) == 0
    results = json.loads((folder / "results.json").read_text())
    [row] = results["protocol"]["rows"]
    assert results["results"] == number and row["reported"] == 0.75
    assert (
        row["verdict"].startswith("not comparable: settings overridden (prompt is")
        and "max_new_tokens" in row["verdict"]
    )
    assert main(["score", str(folder), "--protocol", "min"]) == 2
    assert "there is no protocol 'min'" in capsys.readouterr().err
    assert ASKED == []


def test_a_run_may_have_some_settings_of_a_protocol(own: Path, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    folder = run(own, "--protocol", "mine", "--protocol_settings", "prompt")
    recorded = json.loads((folder / "run.json").read_text())["request"]
    assert recorded["protocol_settings"] == ["prompt"]
    [row] = json.loads((folder / "results.json").read_text())["protocol"]["rows"]
    assert row["ours"] == 0.75 and [each["setting"] for each in row["differences"]] == ["max_new_tokens"]
    assert "--protocol mine --protocol_settings prompt" in as_command(RunRequest.from_json(recorded))
    assert (
        main(["--tasks", "own", "--include_path", str(own), "--protocol", "mine", "--protocol_settings", "promt"]) == 2
    )
    assert "Did you mean 'prompt'" in capsys.readouterr().err


@pytest.mark.full
def test_a_shorter_cap_is_tried_only_where_an_answer_is_as_long(
    own: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lengths = {3: 8}
    monkeypatch.setattr(Obeys, "generate", lambda self, instances: _counted(instances, lengths))
    folder = run(own, "--gen_kwargs", "max_new_tokens=50")
    assert main(["why", str(folder), "--protocol", "mine"]) == 0
    said = capsys.readouterr().out
    assert "max_new_tokens is 50 (protocol: 9) on own: the longest answer of the run has 8 tokens" in said
    assert len(ASKED) == 40, "the prompt alone is tried"
    lengths[3] = 9  # it may have been cut there
    other = own / "other"
    (own / "run").rename(own / "first")
    folder = run(own, "--gen_kwargs", "max_new_tokens=50").rename(other)
    assert main(["why", str(folder), "--protocol", "mine"]) == 0
    assert len(ASKED) > 40 and "the longest answer" not in capsys.readouterr().out


def _counted(instances, lengths):  # type: ignore[no-untyped-def]
    for instance in instances:
        ASKED.append((instance.doc_id, instance.generation_kwargs.get("max_new_tokens")))
        yield instance, Answer(str(instance.target), usage={"completion_tokens": lengths.get(instance.doc_id, 2)})


@register_model("sees alike")
class SeesAlike(Obeys):
    """Sees all pictures alike from a limit of 1,000 pixels on."""

    def show(self, instance: Instance) -> Preview:
        return Preview(str(instance.context), 10, min(int(self.args.get("max_pixels", 500)), 1000))


def test_limits_of_a_pictures_size_are_tried_only_where_a_picture_changes(
    own: Path,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    limits = "settings:\n  model_args: {value: {max_pixels: 5000}, known: assumed}\n"
    text = PROTOCOL.replace("settings:\n", limits, 1).replace('{post_prompt: " Now."}', "default")
    (own / "mine.yaml").write_text(text)
    for ours, tried in ((2000, False), (900, True)):
        folder = own / f"run-{ours}"
        words = [
            "--tasks",
            "own",
            "--model",
            "sees alike",
            "--model_args",
            f"max_pixels={ours}",
            "--output_path",
            str(folder),
        ]
        words += ["--gen_kwargs", "max_new_tokens=9", "--include_path", str(own), "--name", "Big-7B", "--no_report"]
        assert main(words) == 0
        ASKED.clear()
        capsys.readouterr()
        assert main(["why", str(folder), "--protocol", "mine", "--docs", "5"]) == 0
        said = capsys.readouterr().out
        assert bool(ASKED) is tried and ("the model sees the same pictures" in said) is not tried, said
