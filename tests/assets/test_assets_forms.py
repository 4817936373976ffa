"""Training's questions in other forms: the answer has the form that is asked for, and no sample's question is among them."""

import json
import random
import re
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from forms import FORMS, ask_album, ask_forms, draw_album, draw_clutter
from questions import AGAIN, HEAVY, draw_training, questions_for
from scenes import Scene, draw_scene

DATA = Path(__file__).parents[2] / "assets" / "data"
ANSWER = {
    "letter": r"[A-J]",
    "yesno": r"Yes|No",
    "number": r"\d+(\.\d{1,2})?|\[\d+(, \d+)*\]",
    "word": r"\w+",
    "box": r'\[0\.\d\d, .*\]|\{"bbox_2d": \[\d+, \d+, \d+, \d+\]\}',
    "point": r"\[[\d.]+, [\d.]+\]",
    "boxed": r"\\boxed\{([A-J]|\d+)\}",
    "line": r"Answer: [A-J]",
    "framed": r'\{"solution": "none", "short answer": "\d\.\d{3}"\}|<Thought process>: <<none>> <Answer>: <<[A-J]>>',
    "album": r"[A-D]",
}
COUNTED = r"(?:How many|Count the) (circle|square|triangle|star|cross)(?:e?s)\b"


@pytest.mark.parametrize("arch", ["llava", "qwen"])
def test_an_answer_has_its_form_and_a_letter_that_is_listed(arch: str) -> None:
    rng, seen = random.Random(1), set()
    for number in range(300):
        picture = draw_clutter(rng) if number % 3 == 0 else draw_training(rng)
        asked = ask_forms(picture, arch, rng, 3) + ask_album(draw_album(rng, 2 + number % 3), arch, rng, 2)
        for asking in asked:
            form = asking.question.category.removeprefix("form ")
            seen.add(form)
            assert re.fullmatch(ANSWER[form], asking.answer), (form, asking.answer)
            letter = (
                re.search(r"[A-J](?=\W*$)", asking.answer) if form in ("letter", "line", "album", "boxed") else None
            )
            if letter:
                assert re.search(rf"(^|[\s(]){letter[0]}[.):] ", asking.text), asking.text
    assert seen == {*FORMS, "album"}


def test_what_is_asked_of_a_scene_is_true_of_it() -> None:
    rng = random.Random(2)
    told = 0
    for _ in range(200):
        scene = draw_scene(rng)
        shapes = [thing.shape for thing in scene.things]
        for asking in ask_forms(scene, "qwen", rng, 6):
            if found := re.search(r"(?:a|the|Locate|Locate the) (\w+) (\w+)(?:, output|\? Give its)", asking.text):
                box = json.loads(asking.answer)["bbox_2d"]
                boxes = [thing.box for thing in scene.things if thing.name == " ".join(found.groups())]
                assert box in [[round(1000 * min(max(side / 96, 0), 1)) for side in each] for each in boxes]
                told += 1
            elif asking.question.category == "form number" and (found := re.search(COUNTED, asking.text)):
                assert asking.answer == str(shapes.count(found[1]))
                told += 1
    assert told > 30


@pytest.mark.full
def test_no_question_of_a_sample_is_taught() -> None:
    """But for those in the words of our MME and SEED-Bench, whose templates training has with other pictures."""
    samples = set[str]()
    for file in DATA.rglob("*.parquet"):
        if "SEED-Bench" not in file.parts and "MME" not in file.parts:
            names = [name for name in ("question", "Question") if name in parquet.read_schema(file).names]
            for name in names:
                samples.update(str(value) for value in parquet.read_table(file, columns=[name]).column(0).to_pylist())
    rng = random.Random(3)
    samples -= {question.text for _ in range(2000) for question in questions_for(draw_scene(rng), rng, (9, 9, 0))}
    assert len(samples) > 500
    for _ in range(300):
        for asking in ask_forms(draw_clutter(rng), "llava", rng, 3) + ask_forms(draw_scene(rng), "qwen", rng, 3):
            assert not any(len(question) > 12 and question in asking.text for question in samples), asking.text


def test_other_pictures_get_as_many_questions_as_the_mix_says() -> None:
    rng = random.Random(4)
    kinds = {draw_training(rng, scene=0.0, heavy=AGAIN).kind for _ in range(200)}
    assert kinds >= set(AGAIN) and set(AGAIN) > set(HEAVY)
    for mix, wanted in (((3, 2, 1), 4), ((4, 4, 1), 7)):
        picture = draw_training(rng, scene=0.0)
        assert not isinstance(picture, Scene) and len(questions_for(picture, rng, mix)) == wanted
