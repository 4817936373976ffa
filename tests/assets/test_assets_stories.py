"""Training's videos and their questions are those of the video benchmarks' samples, in the tasks' own words."""

import random

import pytest
from drawing import COLORS, PAPERS
from samples._movies import STEPS, Asked
from stories import LETTERED, RULES, _lettered, ask_story, draw_stories

from tests.sets import few

TASKS = ("videomme", "mvbench_action_sequence", "egoschema_subset", "longvideobench_val_v", "mlvu_dev", "nextqa_mc",
         "perceptiontest_val_mc", "tempcompass_multi_choice")  # fmt: skip


def asked_by_task(task: str, adapter: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What `show` prints of the first doc."""
    from mm_eval.cli import main

    folder = {"llava": "tiny-llava", "qwen": "tiny-qwen2-vl"}[adapter]
    assert main(["show", task, "--model", folder, "--sample"]) == 0
    return capsys.readouterr().out


@pytest.mark.full
@pytest.mark.parametrize("arch", ["llava", "qwen"])
def test_the_words_are_those_of_the_tasks(arch: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = set()
    for task in TASKS:
        shown = asked_by_task(task, arch, capsys)
        asked = sample_question(shown)
        texts = {
            _lettered(asked, form, arch, random.Random(seed)).text: form
            for form in LETTERED[arch]
            for seed in range(20)
        }
        forms = [form for text, form in texts.items() if text in shown]
        assert forms or task == "mlvu_dev" and arch == "qwen", (task, shown)  # it is asked with its own sentence now
        found.update(forms)
    assert found >= {"plain", "best", "select", "given"}


def sample_question(shown: str) -> Asked:
    """The question and options of a prompt that lists them as "A. ..." or "(A) ..."."""
    lines = shown.split("- prompt")[1].splitlines()
    listed = next(number for number, line in enumerate(lines) if line.startswith(("A. ", "(A) ")))
    options = []
    for line in lines[listed:]:
        if not line.startswith(
            tuple(f"{letter}. " for letter in "ABCDE") + tuple(f"({letter}) " for letter in "ABCDE")
        ):
            break
        options.append(line.split(" ", 1)[1])
    text = (
        [line for line in lines[:listed] if "option" not in line.lower()][-1]
        .rpartition("|>")[2]
        .rpartition("Question:")[2]
        .strip()
    )
    return Asked("order", text, tuple(options), 0)


@pytest.mark.parametrize("arch", few(list(RULES), at=(0,)))
def test_every_answer_follows_from_the_story(arch: str) -> None:
    rng = random.Random(4)
    forms = set()
    for number in range(60):
        for picture in draw_stories(rng, arch, 2, short=number % 3 == 0):
            told = picture.told
            assert len(picture.moves) == len(picture.frames) <= STEPS * len(told.actions)
            for asking in ask_story(picture, arch, rng):
                question = asking.question
                forms.add(asking.prompt)
                right = {
                    "story first": told.actions[0],
                    "story last": told.actions[-1],
                    "story order": f"{told.actions[0]}, then {told.actions[-1]}",
                    "story color": told.color,
                    "story shape": told.shape,
                    "story count": str(len(told.actions)),
                }[question.category]
                if question.kind == "yesno":
                    assert question.answer == ("Yes" if f"that it {right}?" in asking.text else "No")
                elif question.kind == "caption":
                    assert f"{question.answer}: It {right}." in asking.text
                else:
                    assert question.answer == right
                if question.kind == "choice":
                    marks = (f"{asking.answer}. {right}", f"({asking.answer}) {right}")
                    assert any(line.startswith(marks) for line in asking.text.splitlines())
                for kind, end, label in asking.ends:
                    assert 0 <= end < len(asking.text), (kind, label)
                    if kind == "options":
                        assert asking.text[: end + 1].rstrip(".").endswith(question.options)
    assert forms >= {"plain", "open", "statement", "captions", "count"}


@pytest.mark.full
def test_no_story_has_the_colors_of_a_sample() -> None:
    """A sample's colours are exactly those of the palette; training never draws them."""
    rng = random.Random(5)
    for _ in range(200):
        [picture] = draw_stories(rng, "llava", 1)
        assert picture.told.frames[0].getpixel((0, 0)) not in PAPERS
        assert not set(picture.told.frames[-1].getdata()) & set(COLORS.values())
