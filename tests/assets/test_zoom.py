"""The conversations with zoom that tiny-qwen2-vl learns from are what mm-eval sends, and its sample's pictures need the tool."""

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import torch
from mm_eval.tasks.vstar.utils import process_results

from mm_eval import evaluate
from mm_eval.engine.model import MODELS, Answers, ModelSettings
from mm_eval.values.types import Answer, Instance
from tests.folders import write_task

TASK = """task: looks
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: q
doc_to_target: a
doc_to_visual: !function utils.visual
tools: [zoom]
metric_list: [{metric: exact_match}]
"""
UTILS = """
from pathlib import Path

from PIL import Image


def visual(doc):
    return [Image.open(Path(__file__).parent / doc["picture"])]
"""


@pytest.fixture(scope="module")
def model() -> Any:
    return MODELS.get("tiny-qwen2-vl")({}, ModelSettings(device="cpu"))


@pytest.fixture(scope="module")
def packer(model: Any) -> Any:
    from packing import Packer
    from tiny_models import load

    tokenizer, own = load("qwen", Path(__file__).parents[2] / "assets" / "models" / "tiny-qwen2-vl")
    return Packer("qwen", own.eval(), tokenizer)


def chains(count: int = 3) -> list[Any]:
    """Conversations with a call, each with the picture that it is about."""
    import zoom

    found, rng = list[Any](), random.Random(7)
    while len(found) < count:
        table = zoom.draw_table(rng)
        found.append((table, zoom.chain(table, zoom.ask_table(table, rng), rng)))
    return found


def test_a_conversation_is_what_the_engine_sends(model: Any, packer: Any, tmp_path: Path) -> None:
    """Token for token and pixel for pixel, in both turns; and what the model is taught to say ends as its answers do."""
    made = chains()
    rows = [{"q": chain.parts[2][1], "a": "x", "picture": f"{k}.png"} for k, (_, chain) in enumerate(made)]
    task = write_task(tmp_path / "task", "looks", TASK, UTILS, rows)
    for number, (table, _) in enumerate(made):
        table.image.save(Path(task).parent / f"{number}.png")
    sent: dict[tuple[int, int], Any] = {}

    def generate(instances: Iterable[Instance]) -> Answers:
        for instance in instances:
            sent[instance.doc_id, instance.turn] = model.writer.write(instance)
            said = [text for kind, text in made[instance.doc_id][1].parts if kind == "said"]
            yield instance, Answer(said[instance.turn])

    whole, model.generate = model.generate, generate
    try:
        evaluate(model=model, tasks=[task], output_path=str(tmp_path / "run"), report=False)
    finally:
        model.generate = whole
    batch = packer.chains([chain for _, chain in made], rows=1)
    end = packer.tokenizer.eos_token_id
    for number, (_, chain) in enumerate(made):
        mine = batch.question[0] == number + 1
        ids, target = (values[0][mine].tolist() for values in (batch.ids, batch.target))
        ids = packer._system.ids.tolist() + ids
        target = [-100] * len(packer._system.ids) + target
        said = [packer.encode(text) for kind, text in chain.parts if kind == "said"]
        for turn, answer in enumerate(said):
            prompt = sent[number, turn]
            assert ids[: len(prompt.ids)] == prompt.ids
            begin = len(prompt.ids) - 1
            assert target[begin : begin + len(answer) + 1] == [*answer, end]
            assert begin == 0 or target[begin - 1] == -100
            pixels = torch.cat([torch.as_tensor(picture.tensors["pixel_values"]) for picture in prompt.pictures])
            wanted = packer.pixels([picture.image for picture in chain.pictures[: turn + 1]])
            assert torch.equal(pixels, wanted)
        assert len(ids) == len(prompt.ids) + len(said[-1])


@pytest.mark.full
def test_packed_conversations_have_the_logits_of_the_stock_forward(packer: Any) -> None:
    made = [chain for _, chain in chains(4)]
    batch = packer.chains(made, rows=2)
    with torch.no_grad():
        _, packed, answers = packer.forward(batch)
        at, pictures = 0, iter(batch.pictures)
        for row in range(2):
            for number in (1, 2):
                mine = batch.question[row] == number
                ids = torch.cat([packer._system.ids, batch.ids[row][mine]])[None]
                pixels = packer.pixels([next(pictures).image for _ in range(2)])
                side = 2 * packer.side
                shown = {"pixel_values": pixels, "image_grid_thw": torch.tensor([[1, side, side]] * 2)}
                kinds = (ids == packer.encode(packer.image_token)[0]).long()
                stock = packer.model(
                    input_ids=ids, attention_mask=torch.ones_like(ids), mm_token_type_ids=kinds, **shown
                ).logits[0, -int(mine.sum()) :]
                wanted = stock[batch.target[row][mine] >= 0]
                assert (wanted - packed[at : at + len(wanted)]).abs().max() < 1e-4
                at += len(wanted)
    assert at == len(packed)


def test_what_decides_is_marked(packer: Any) -> None:
    """Four numbers of the box; then the things that are named again, and what is true."""
    for _, chain in chains(6):
        batch = packer.chains([chain], rows=1)
        marked = [packer.tokenizer.decode([token]).strip() for token in batch.target[0][batch.first[0] >= 0]]
        box = json.loads(chain.parts[3][1].split("\n")[1])["arguments"]["bbox_2d"]
        assert [str(number).startswith(token) for number, token in zip(box, marked, strict=False)] == [True] * 4
        truth = chain.question.truth
        why = [question.category for question, _ in batch.asked]
        assert why[:4] == ["box"] * 4 and why[4:].count("truth") == 1 and len(why) == len(marked)
        for word, category in zip(marked[4:], why[4:], strict=True):
            assert word == truth if category == "truth" else word in chain.question.text + chain.question.sentence
        ((row, column, label),) = batch.hints.truths
        assert packer.tokenizer.decode(batch.ids[row][: column + 1]).endswith("assistant\n" + chain.question.text)
        assert packer.tokenizer.decode([label]).strip() == truth


def test_a_scene_in_which_nothing_is_small_is_answered_at_once() -> None:
    import zoom

    rng = random.Random(3)
    made = [zoom.draw_chain(rng) for _ in range(40)]
    looks = [sum(kind == "said" for kind, _ in chain.parts) - 1 for chain in made]
    assert 2 < looks.count(0) < 16 and looks.count(1) == 40 - looks.count(0)
    assert all(picture.image.size == (zoom.SIZE, zoom.SIZE) for chain in made for picture in chain.pictures)


def test_the_answers_of_a_conversation_are_read_as_they_are_meant() -> None:
    """What the model is taught to say scores by the rule of vstar."""
    import zoom

    rng = random.Random(11)
    for _ in range(30):
        table = zoom.draw_table(rng)
        question = zoom.ask_table(table, rng)
        listed = "\n".join(f"({letter}) {option}" for letter, option in zip("ABCD", question.options, strict=False))
        doc = {"text": f"{question.text}\n{listed}", "label": "ABCD"[question.options.index(question.answer)]}
        said = zoom.chain(table, question, rng).parts[-1][1]
        assert process_results(doc, [said])["acc"] == 1.0, said


def test_the_sample_of_v_star_needs_the_tool() -> None:
    """At the size at which the model sees it a thing covers less than a token, and each letter is right as often."""
    from collections import Counter

    import zoom
    from samples import vstar

    (sample,) = vstar.samples()
    found = Counter((row["category"], row["label"]) for row in sample.rows)
    assert found == {
        **{("direct_attributes", letter): 6 for letter in "ABCD"},
        **{("relative_position", letter): 6 for letter in "AB"},
    }
    rng = random.Random(1)
    for _ in range(10):
        table = zoom.draw_table(rng)
        side = max(max(t.box[2] - t.box[0], t.box[3] - t.box[1]) for t in table.things) * zoom.SIZE / zoom.TABLE
        assert side < 6, "of the 16 pixels of an image token"
