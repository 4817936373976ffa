"""GQA: prompts, LLaVA's comparison, and pictures from a second configuration."""

import io
from functools import partial

import pytest
from PIL import Image

from tests.sets import few
from tests.tasks.made_up import ENDINGS, SHORT, MadeUp, categories, prompt

PICTURES = "testdev_balanced_images"
GQA = MadeUp("gqa", "lmms-lab/GQA", "testdev", "testdev_balanced_instructions", [PICTURES])


@pytest.mark.parametrize(("key", "ending"), few([(None, SHORT), *ENDINGS.items()], at=[0, 1, 4]))
def test_the_prompt_of_each_model_family(cli, key: str | None, ending: str) -> None:
    assert prompt(cli, "gqa", key) == "Is there a square in the picture?" + ending


HARD = [
    ("yes", "Yes", 1),
    ("yes", "Yes.", 1),
    ("yes", " yes \n", 1),
    ("no", "no, it is not", 0),
    ("yes", "yes, there is no dog", 0),
    ("dog", "A dog", 0),
    ("t-shirt", "tshirt", 0),
    ("t-shirt", "T-shirt", 1),
    ("left", "on the left", 0),
    ("left", "(B) left", 0),
    ("brown", "brown...", 1),
    ("brown", "brown!", 0),
    ("traffic light", "traffic  light", 0),
    ("brown", "The answer is brown.", 0),
    ("brown", "\\boxed{brown}", 0),
    ("brown", "棕色", 0),
    ("brown", "I cannot tell", 0),
    ("brown", "<think>dark?</think>\nBrown", 1),
    ("brown", "<think>brown", 0),
]


def test_hard_answers(cli, tmp_path) -> None:
    docs = [{"answer": gold} for gold, _, _ in HARD]
    found = GQA.scores(cli, tmp_path, docs, [answer for _, answer, _ in HARD], "exact_match,none")
    assert found == [score for _, _, score in HARD]


def test_types_of_questions(cli, tmp_path) -> None:
    types = [("query", "attr"), ("verify", "obj"), ("query", "rel")]
    docs = [{"answer": "yes", "types": {"structural": one, "semantic": two, "detailed": ""}} for one, two in types]
    ran = GQA.run(cli, tmp_path, docs, ["yes", "no", "no"])
    assert categories(ran, "gqa", "structural", "exact_match,none") == {"query": 0.5, "verify": 0}
    assert categories(ran, "gqa", "semantic", "exact_match,none") == {"attr": 1, "obj": 0, "rel": 0}


def test_each_question_has_its_own_picture(tmp_path) -> None:
    from mm_eval.prepare import load_configs, prepare_without_model
    from mm_eval.request import RunRequest

    request = RunRequest(tasks=("gqa",), sample=True)
    load_configs(request)
    docs = prepare_without_model(request, "gqa").tasks["gqa"].docs
    stored = {row["id"]: row["image"]["bytes"] for row in GQA.table(PICTURES).to_pylist()}
    assert len(docs) == 12 and list(stored) != [docs.text(n)["imageId"] for n in range(0, 12, 3)]
    for n in range(12):
        expected = Image.open(io.BytesIO(stored[docs.text(n)["imageId"]])).convert("RGB")
        assert docs.full(n)["image"].convert("RGB").tobytes() == expected.tobytes()


@pytest.mark.full
def test_thousands_of_questions_share_the_stored_pictures() -> None:
    import datasets
    from mm_eval.tasks.gqa.utils import with_pictures

    from mm_eval.data.dataset import load_further
    from mm_eval.data.source import DataSource

    names = GQA.table(PICTURES)["id"].to_pylist()
    ids = [names[n * 7 % len(names)] for n in range(12578)]
    joined = with_pictures(datasets.Dataset.from_dict({"imageId": ids}), partial(load_further, DataSource(sample=True)))
    column = joined.data.table["image"]
    assert len(joined) == 12578
    assert len({chunk.field("bytes").buffers()[2].address for chunk in column.chunks}) == 1, "no picture is copied"
