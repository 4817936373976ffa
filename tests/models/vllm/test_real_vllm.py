"""The vLLM adapter on a real engine; skipped where vllm is not installed. `.ci/vllm` installs it and runs these tests."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mm_eval.engine.model import MODELS, ModelSettings
from mm_eval.request import RunRequest
from mm_eval.run import evaluate
from mm_eval.values.errors import ModelError
from tests.models.questions import instance, mixed, outputs, picture
from tests.tools.looking import chains, write

pytest.importorskip("vllm")
MODELS_FOLDER = Path(__file__).parents[3] / "assets" / "models"


@pytest.fixture(scope="module", params=["tiny-llava", "tiny-qwen2-vl"])
def both(request: pytest.FixtureRequest) -> Iterator[tuple[Any, Any]]:
    """(the checkpoint on vLLM, the same on transformers), in float32 and at the checkpoint's own length, 2,048 tokens."""
    folder = {"pretrained": str(MODELS_FOLDER / request.param)}
    settings = ModelSettings(device="cpu")
    model = MODELS.get("vllm")({**folder, "enforce_eager": True}, ModelSettings())
    model.prepare()
    yield model, MODELS.get("hf")(folder, settings)
    model.close()


LENGTH = 2048
WORDS = ("the", "cat", "and", "a", "dog", "saw", "red", "car", "under", "yellow", "bus", "with", "person", "at", "noon")


def _long(model: Any, tokens: int) -> str:
    """A plain text of exactly so many tokens, none like the one before it."""
    text, number = "", 0
    while len(model.writer.encode_text(text)) < tokens:
        text += f" {WORDS[number % len(WORDS)]} {number}"
        number += 1
    ids = model.writer.encode_text(text)
    for cut in range(len(text), 0, -1):
        if len(model.writer.encode_text(text[:cut])) == tokens:
            return text[:cut]
    raise AssertionError(f"no text of {tokens} tokens, only of {len(ids)}")


def test_log_likelihoods_agree_around_the_models_length(both: tuple[Any, Any]) -> None:
    """Plain prompts that with their options have from 3 tokens below the length to 60 above it; the last are cut, alike."""
    options = (" yes", " a red circle under a blue square")
    longest = max(len(both[1].writer.encode_text(text)) for text in options)
    lengths = [*range(LENGTH - longest - 1, LENGTH - longest + 3), *range(LENGTH - 2, LENGTH + 3), LENGTH + 60]
    rows = [
        instance(_long(both[1], length), chat=False, doc_id=length, choice=n, continuation=text)
        for length in lengths
        for n, text in enumerate(options)
    ]
    same(both[0].loglikelihood(rows), both[1].loglikelihood(rows))
    found = [
        {(i.doc_id, i.choice): (a.cut, a.usage["prompt_tokens"], a.usage["completion_tokens"]) for i, a in answers}
        for answers in (model.loglikelihood(rows) for model in both)
    ]
    assert found[0] == found[1] and {cut for cut, _, _ in found[0].values()} == {False, True}
    assert max(prompt + option - 1 for _, prompt, option in found[0].values()) == LENGTH, (
        "all but the last token are fed"
    )


def test_a_chosen_continuation_is_scored_up_to_the_models_length_beside_pictures(both: tuple[Any, Any]) -> None:
    shown = [picture(90, 60, 1)]
    fixed = next(iter(both[1].generate([instance("x", shown, generation_kwargs={"max_new_tokens": 1})])))[1].usage
    room = LENGTH - fixed["prompt_tokens"]
    rows = [
        instance(_long(both[1], room + more), shown, doc_id=100 + more, continuation=" a red circle")
        for more in range(-12, 4)
    ]
    mine, theirs = (outputs(model.loglikelihood(rows)) for model in both)
    failed = [{key for key, answer in found.items() if isinstance(answer, ModelError)} for found in (mine, theirs)]
    assert failed[0] == failed[1] and 0 < len(failed[0]) < len(rows)
    for key in mine.keys() - failed[0]:
        assert mine[key][0] == pytest.approx(theirs[key][0], abs=1e-4, rel=1e-5) and mine[key][1] == theirs[key][1]


def test_answers_to_cut_prompts_are_equal(both: tuple[Any, Any]) -> None:
    kwargs = {"max_new_tokens": 16, "min_new_tokens": 4}
    rows = [
        instance(_long(both[1], length), chat=False, doc_id=length, generation_kwargs=kwargs)
        for length in (*range(LENGTH - 18, LENGTH + 2, 3), 3 * LENGTH)
    ]
    same(both[0].generate(rows), both[1].generate(rows))


def same(one: Any, other: Any) -> None:
    """Equal answers; sums within 1e-4, of long texts within a millionth: they add up hundreds of float32 numbers."""
    mine, theirs = outputs(one), outputs(other)
    assert mine.keys() == theirs.keys()
    for key, answer in mine.items():
        if isinstance(answer, tuple):
            assert answer[0] == pytest.approx(theirs[key][0], abs=1e-4, rel=1e-6), key
            assert answer[1] == theirs[key][1], key
        else:
            assert answer == theirs[key], key


def test_greedy_answers_are_equal(both: tuple[Any, Any]) -> None:
    rows = mixed(generation_kwargs={"max_new_tokens": 12})
    same(both[0].generate(rows), both[1].generate(rows))


def test_stop_strings_cut_alike(both: tuple[Any, Any]) -> None:
    rows = mixed(generation_kwargs={"max_new_tokens": 24, "until": [" the", "\n", "."]})
    same(both[0].generate(rows), both[1].generate(rows))


def test_log_likelihoods_agree_with_and_without_pictures(both: tuple[Any, Any]) -> None:
    rows = [
        instance("What is shown? " * 12, [picture(90, 60, n)] * (n < 3), doc_id=n, choice=c, continuation=text)
        for n in range(4)
        for c, text in enumerate([" yes", " no", " a red circle under a blue square", " a red circle"])
    ]
    same(both[0].loglikelihood(rows), both[1].loglikelihood(rows))
    same(both[0].loglikelihood(rows), both[1].loglikelihood(rows))  # now everything is in the prefix cache


def test_rolling_log_likelihoods_agree_over_several_windows(both: tuple[Any, Any]) -> None:
    text = "The red circle is left of the blue square. Is there a star? " * 240
    rows = [
        instance("", chat=False, continuation=text[:length], request_type="loglikelihood_rolling", doc_id=n)
        for n, length in enumerate([40, 4000, len(text)])
    ]
    same(both[0].loglikelihood_rolling(rows), both[1].loglikelihood_rolling(rows))


def test_a_sampled_answer_depends_on_its_question_and_seed_alone(both: tuple[Any, Any]) -> None:
    kwargs = {"max_new_tokens": 12, "temperature": 1.5, "do_sample": True}
    rows = [instance("Describe it.", [picture(60, 60)], repeat=n, doc_id=n, generation_kwargs=kwargs) for n in range(6)]
    first = outputs(both[0].generate(rows))
    again = outputs(both[0].generate(rows[::-1]))
    assert first == again and len(set(first.values())) > 1


def test_a_prompt_that_is_too_long_fails_alone(both: tuple[Any, Any]) -> None:
    long = instance("What is shown? " * 1800, [picture(90, 60)], doc_id=7, generation_kwargs={"max_new_tokens": 4})
    found = outputs(both[0].generate([*mixed(generation_kwargs={"max_new_tokens": 4}), long]))
    failed = {key: answer for key, answer in found.items() if isinstance(answer, ModelError)}
    assert list(failed) == [(7, 0)] and "tokens" in str(failed[7, 0]), failed


def test_chains_with_zoom_are_equal(both: tuple[Any, Any], tmp_path: Path) -> None:
    task = write(tmp_path / "task")
    mine, theirs = (chains(task, tmp_path / str(number), model) for number, model in enumerate(both))
    assert mine == theirs


def test_a_dead_engine_ends_the_run_and_a_second_launch_completes_it(tmp_path: Path) -> None:
    """SIGKILL to every process of the engine after the first answers: nothing that was answered is requested again.

    There are more questions than are in flight at once, so that some are left when it dies."""
    from mm_eval.models.vllm.engine import Engine

    request = RunRequest(
        tasks=("mme",),
        model="vllm",
        model_args={"pretrained": str(MODELS_FOLDER / "tiny-llava"), "enforce_eager": True},
        sample=True,
        limit=240,
        output_path=str(tmp_path / "run"),
    )
    whole, answered = Engine.run, 0

    async def killing(self: Any, prompt: Any, **sampling: Any) -> Any:
        nonlocal answered
        output = await whole(self, prompt, **sampling)
        answered += 1
        if answered == 20:
            for pid in _children(os.getpid()):
                os.kill(pid, signal.SIGKILL)
        return output

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Engine, "run", killing)
        first = evaluate(request)
    assert first.exit_code == 3, "a dead engine is not a clean end"
    journal = [
        line for path in (tmp_path / "run" / "journal").glob("*.jsonl") for line in path.read_text().splitlines()
    ]
    kept = sum(json.loads(line)["kind"] == "answer" for line in journal)
    assert 0 < kept < 240
    second = evaluate(request)
    assert second.exit_code == 0 and second.results.rows["mme"].failed == 0


def _children(pid: int) -> list[int]:
    """All processes below one, from /proc."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found, front = [], [pid]
    while front:
        front = [child for child, parent in parents.items() if parent in front]
        found += front
    return found


def test_videos_are_shown_as_by_hf(both: tuple[Any, Any]) -> None:
    """As the family's own video input where it has one (tiny-qwen2-vl), with true times; else as pictures (tiny-llava)."""
    from tests.models.hf.prompts.test_videos import asked

    assert (
        both[0].facts.frames_as
        == both[1].facts.frames_as
        == ("video" if both[1].facts.prompt_keys[-1] == "qwen_vl" else "pictures")
    )
    kwargs = {"max_new_tokens": 12, "min_new_tokens": 6}
    size = (96, 96)  # shown as they are
    rows = [
        asked(text, seed, order=order, size=size, doc_id=4 * seed + 2 * (order < 0) + n, generation_kwargs=kwargs)
        for seed in (0, 1)
        for order in (1, -1)
        for n, text in enumerate(["What is shown?", "Is there a person in the photo?"])
    ]
    same(both[0].generate(rows), both[1].generate(rows))
    scored = [
        asked("Which color?", order=order, size=size, doc_id=100 + order, choice=choice, continuation=text,
              request_type="loglikelihood")
        for order in (1, -1)
        for choice, text in enumerate([" yes", " a red circle under a blue square"])
    ]  # fmt: skip
    other = [
        asked("What?", size=size, generation_kwargs={"max_new_tokens": 1}) for size in ((84, 56), (160, 64), (300, 500))
    ]
    tokens = [[answer.usage["prompt_tokens"] for _, answer in model.generate(other)] for model in both]
    assert sorted(tokens[0]) == sorted(tokens[1]), "frames have the same size in both"
    sums = outputs(both[0].loglikelihood(scored))
    same(both[0].loglikelihood(scored), both[1].loglikelihood(scored))
    assert sums[101, 1][0] != pytest.approx(sums[99, 1][0], abs=1e-4), "the order of the frames matters"
    assert both[0].identity(rows[0]).get("videos") == both[1].identity(rows[0]).get("videos")
