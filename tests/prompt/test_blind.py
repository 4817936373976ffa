"""`--blind`: a question without its pictures has no place of one, and a shuffled one has another doc's."""

from pathlib import Path

import pytest

from mm_eval.prompt.blind import SHUFFLED, WITHOUT, others, without_marks
from mm_eval.prompt.task import PromptStyle
from mm_eval.values.types import IMAGE_MARK
from tests.data.test_task import load as shapes
from tests.data.test_task import root as shapes_root  # noqa: F401 - a fixture
from tests.prompt.test_visuals import interleaved
from tests.prompt.test_visuals import load as pairs
from tests.prompt.test_visuals import root as pairs_root  # noqa: F401 - a fixture
from tests.sets import each_of

MARKED = f"{IMAGE_MARK}\nWhich one, {IMAGE_MARK} or not?"


@pytest.mark.parametrize("chat", [True, False])
@pytest.mark.parametrize("shots", [0, 2])
def test_no_place_of_a_picture_is_left(shapes_root: Path, chat: bool, shots: int) -> None:  # noqa: F811
    task = shapes(shapes_root, num_fewshot=shots, doc_to_text=MARKED)
    for style in (PromptStyle(chat=chat, blind=WITHOUT),):
        instances = list(task.instances(range(6), style))
        for instance in instances:
            assert "image" not in str(instance.context) and "Which one, or not?" in str(instance.context)
            assert instance.images is None and instance.image_digests == () and instance.error is None
        again = list(task.instances(range(6), style, lambda doc_id: ()))
        assert [each.context for each in again] == [each.context for each in instances]


def test_a_chat_that_the_task_writes_keeps_its_texts(pairs_root: Path) -> None:  # noqa: F811
    [seen] = pairs(pairs_root, interleaved).instances([0], PromptStyle(chat=True))
    [blind] = pairs(pairs_root, interleaved).instances([0], PromptStyle(chat=True, blind=WITHOUT))

    def texts(context) -> list[str]:  # type: ignore[no-untyped-def]
        return [part["text"] for turn in context for part in turn["content"] if part["type"] == "text"]

    assert texts(blind.context) == texts(seen.context) and blind.images is None
    assert all(part["type"] == "text" for turn in blind.context for part in turn["content"])


def test_the_choices_of_a_multiple_choice_question_stay(shapes_root: Path) -> None:  # noqa: F811
    keys = {"output_type": "multiple_choice", "doc_to_choice": "options", "metric_list": [{"metric": "acc"}]}
    found = list(shapes(shapes_root, **keys).instances([0], PromptStyle(blind=WITHOUT)))
    assert [each.continuation for each in found] == [" cat", " dog"] and found[0].images is None


def test_a_shuffled_question_has_the_picture_of_a_doc_with_another_one(shapes_root: Path) -> None:  # noqa: F811
    style = PromptStyle(chat=True, blind=SHUFFLED)
    task = shapes(shapes_root, doc_to_text=MARKED.replace(f", {IMAGE_MARK} or", ",  or"))
    own = {i.doc_id: i.image_digests for i in task.instances(range(6), PromptStyle(chat=True))}
    other = {i.doc_id: i.image_digests for i in task.instances(range(6), style)}
    assert all(len(other[n]) == 1 and other[n] != own[n] and other[n] in own.values() for n in range(6))
    assert other == {i.doc_id: i.image_digests for i in task.instances(range(6), style)}  # fixed
    part = {i.doc_id: i.image_digests for i in task.instances([3], style)}
    assert part[3] == other[3]  # whatever else is asked
    [instance] = task.instances([0], style)
    assert instance.images is not None
    from mm_eval.data.media import picture_digest

    assert tuple(map(picture_digest, instance.images())) == instance.image_digests


def test_a_written_chat_is_shuffled_too(pairs_root: Path) -> None:  # noqa: F811
    task = pairs(pairs_root, interleaved)
    seen = list(task.instances([0, 1], PromptStyle(chat=True)))
    found = list(task.instances([0, 1], PromptStyle(chat=True, blind=SHUFFLED)))
    assert [set(each.image_digests) for each in found] == [set(seen[1].image_digests), set(seen[0].image_digests)]
    assert [each.context for each in found] == [each.context for each in seen]


def test_a_task_of_one_picture_can_not_be_shuffled(shapes_root: Path) -> None:  # noqa: F811
    task = shapes(shapes_root, process_docs=lambda docs: docs.select([0, 1]))  # both show the same
    errors = [each.error for each in task.instances([0, 1], PromptStyle(blind=SHUFFLED))]
    assert all("no other document of the task has other pictures" in str(error) for error in errors)


def test_the_order_is_a_derangement_by_the_seed() -> None:
    for count in (2, 3, 50):
        firsts = [next(others(doc, count, 0)) for doc in range(count)]
        assert sorted(firsts) == list(range(count)) and all(a != b for a, b in enumerate(firsts))
        assert sorted(others(0, count, 0)) == list(range(1, count))
    assert [next(others(doc, 50, 1)) for doc in range(50)] != firsts
    assert list(others(0, 1, 0)) == []


@each_of(
    ("text", "left"),
    [
        ("<image>\nWhat?", "What?"),
        ("<image> <image>\nWhat?", "What?"),
        ("In <image 1>, what?", "In , what?"),
        ("no <imagery> here", "no <imagery> here"),
        ("", ""),
    ],
)
def test_marks_leave_a_text(text: str, left: str) -> None:
    assert without_marks(text) == left
