"""Few-shot examples depend on the seed and the doc alone, and a doc is never its own example."""

import datasets
import pytest
from PIL import Image

from mm_eval.data.docs import Docs
from mm_eval.prompt.fewshot import ExamplePool
from mm_eval.values.errors import ConfigError

DOCS = [{"q": f"question {n}"} for n in range(20)]


def drawn(pool: ExamplePool, doc_id: int, count: int = 4) -> list[str]:
    return [example.doc["q"] for example in pool.draw(count, doc_id, DOCS[doc_id])]


def test_the_same_doc_gets_the_same_examples_whatever_came_before() -> None:
    first = [drawn(ExamplePool(DOCS, seed=1, same_split=True), n) for n in range(20)]
    pool = ExamplePool(DOCS, seed=1, same_split=True)
    backwards = [drawn(pool, n) for n in reversed(range(20))][::-1]
    assert first == backwards
    assert len({tuple(examples) for examples in first}) > 15, "documents get different examples"
    assert first != [drawn(ExamplePool(DOCS, seed=2, same_split=True), n) for n in range(20)]


def test_a_doc_is_never_its_own_example() -> None:
    for sampler in ("default", "first_n"):
        pool = ExamplePool(DOCS, sampler=sampler, same_split=True)
        for doc_id in range(20):
            examples = drawn(pool, doc_id, 19)
            assert DOCS[doc_id]["q"] not in examples and len(set(examples)) == 19


def test_a_copy_of_the_doc_in_another_split_is_left_out_too() -> None:
    pool = ExamplePool(list(DOCS), same_split=False)
    assert all(DOCS[3]["q"] not in drawn(pool, 3, 19) for _ in range(3))


def test_one_question_for_all_pictures_has_examples_with_its_own_answer_and_never_its_own_picture() -> None:
    """Without the pictures 20 docs are two texts: each example would have had the answer that is wrong."""
    shades = [*range(18), 0, 2]  # the last two are copies
    pictures = [Image.new("L", (1, 1), shade) for shade in shades]
    answers = ["yes" if shade % 2 else "no" for shade in shades]
    rows = datasets.Dataset.from_dict({"image": pictures, "a": answers}).cast_column("image", datasets.Image())
    docs = Docs(rows)
    for pool in (ExamplePool(docs, same_split=True, asked=docs), ExamplePool(docs, asked=docs)):
        for doc_id in (0, 1, 19):
            drawn = [example.index for example in pool.draw(17, doc_id, docs.text(doc_id))]
            assert {answers[index] for index in drawn} == {"yes", "no"}
            assert shades[doc_id] not in [shades[index] for index in drawn]


def test_first_n_keeps_the_order_and_indices_name_the_pool() -> None:
    assert drawn(ExamplePool(DOCS, sampler="first_n"), 19, 3) == ["question 0", "question 1", "question 2"]
    assert drawn(ExamplePool(DOCS, sampler="first_n", indices=(7, 5)), 0, 2) == ["question 7", "question 5"]


def test_too_few_docs_and_wrong_settings_are_config_errors() -> None:
    with pytest.raises(ConfigError, match="20 few-shot examples are requested"):
        ExamplePool(DOCS, same_split=True).draw(20, 0, DOCS[0])
    with pytest.raises(ConfigError, match="Did you mean 'first_n'"):
        ExamplePool(DOCS, sampler="firstn")
    with pytest.raises(ConfigError, match="fewshot_indices"):
        ExamplePool(DOCS, indices=(20,))
