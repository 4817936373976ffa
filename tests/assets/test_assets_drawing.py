"""Drawn pictures, their questions and the prompts that models are trained on."""

import random

from drawing import SIZE
from pictures import DRAW
from prompts import LETTERS, OPTION_LETTER, SINGLE_WORD, Question, render
from questions import draw_training, questions_for
from videos import FRAMES, draw_video

from tests.sets import each_of


@each_of("kind", list(DRAW))
def test_two_draws_of_a_kind_differ(kind: str) -> None:
    rng = random.Random(0)
    drawn = [DRAW[kind](rng) for _ in range(40)]
    assert all(picture.kind == kind and picture.image.size == (SIZE, SIZE) for picture in drawn)
    assert len({picture.image.tobytes() for picture in drawn}) == 40
    assert len({picture.value for picture in drawn}) > 2


def test_a_seed_draws_the_same_again() -> None:
    first, second = (draw_training(random.Random(7)).image.tobytes() for _ in range(2))
    assert first == second


def test_a_video_changes_from_frame_to_frame() -> None:
    video = draw_video(random.Random(1), procedure=True)
    assert len(video.frames) == FRAMES and len({frame.tobytes() for frame in video.frames}) > 2


def test_every_question_is_answerable_and_no_sentence_is_a_lucky_hit() -> None:
    rng = random.Random(2)
    for number in range(1500):
        for question in questions_for(draw_training(rng, video=number % 10 == 0), rng, (5, 3, 1)):
            start = question.sentence[:4].lower()
            assert "yes" not in start and "no" not in start and question.sentence[0] not in LETTERS, question
            if question.kind != "yesno":
                assert len(set(question.options)) == 4 and question.answer in question.options, question


def test_the_prompts_are_those_of_the_tasks() -> None:
    yes_no = Question("yesno", "color", "Is the color of the star red?", "Yes", (), "The star is red.")
    assert render(yes_no, "llava") == ("Is the color of the star red?" + SINGLE_WORD, "Yes")
    assert render(yes_no, "qwen") == ("Is the color of the star red? Answer:", "Yes")
    assert render(yes_no, "bare") == ("Is the color of the star red?", "The star is red.")
    four = Question("choice", "x", "Which?", "b", ("a", "b", "c", "d"), "It is b.")
    listed = "Which?\nA. a\nB. b\nC. c\nD. d"
    assert render(four, "llava") == (listed + OPTION_LETTER, "B")
    assert render(four, "qwen") == (listed + "\nAnswer:", "B")
    assert render(four.opened(), "qwen") == ("Which? Answer :", " b")
    assert render(four.opened(), "llava") == ("Which? Answer :", " b")
