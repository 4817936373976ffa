"""The order of requests: pictures and prefixes together, nothing lost, memory bounded, prepared ahead of the model."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator

import pytest

from mm_eval.engine.order import WINDOW, CheapestOrder, Windows, by_cost, in_docs
from mm_eval.values.types import Instance
from tests.processes import HANGS


def question(doc_id: int, context: str, picture: str = "", **fields: object) -> Instance:
    digests = (picture,) if picture else ()
    kind = "loglikelihood" if "continuation" in fields else "generate_until"
    return Instance(kind, "t", doc_id, {}, context=context, image_digests=digests, **fields)  # type: ignore[arg-type]


def test_every_instance_comes_exactly_once_whatever_the_window() -> None:
    draw = random.Random(0)
    rows = [question(n, f"question {draw.random()}", draw.choice(["", "a", "b", "c"])) for n in range(700)]
    for window in (1, 7, 64, WINDOW):
        made = list(CheapestOrder(iter(rows), window))
        assert sorted(row.doc_id for row in made) == list(range(700))


def test_questions_on_a_picture_and_equal_prompts_come_together() -> None:
    rows = [question(n, f"is there a {n % 5}", f"picture {n % 7}") for n in range(35)]
    made = by_cost(rows)
    shown = [row.image_digests for row in made]
    assert sum(a != b for a, b in zip(shown, shown[1:], strict=False)) == 6
    assert shown[0] == rows[0].image_digests
    rows = [question(n, "shared " * 60 + str(n), continuation=f" {c}", choice=c) for c in range(4) for n in range(9)]
    contexts = [row.context for row in by_cost(rows)]
    assert sum(a != b for a, b in zip(contexts, contexts[1:], strict=False)) == 8


def test_prompts_with_one_beginning_stay_together_and_others_are_sorted_by_length() -> None:
    few, many = "an example. " * 40, "another example. " * 40
    rows = [question(n, (few if n % 2 else many) + "x" * (n * 37 % 11)) for n in range(20)]
    begins = [row.context.startswith(few) for row in by_cost(rows)]  # type: ignore[union-attr]
    assert sum(a != b for a, b in zip(begins, begins[1:], strict=False)) == 1
    rows = [question(n, f"{n} " + "x" * (n * 37 % 101)) for n in range(50)]
    lengths = [len(row.context) for row in by_cost(rows)]
    assert lengths == sorted(lengths)


def test_a_window_never_divides_a_doc_or_mixes_request_types() -> None:
    rows = [question(n, f"q{n}", continuation=f" {c}", choice=c) for n in range(50) for c in range(7)]
    rows += [question(n, f"q{n}") for n in range(50)]
    prepared = Windows(20)
    found = [*(prepared.add(doc) for doc in in_docs(rows)), prepared.take()]
    windows = [[row for doc in docs for row in doc] for docs in found if docs]
    assert [row for made in windows for row in made] == rows
    assert all(len({row.request_type for row in made}) == 1 for made in windows)
    docs = [{row.doc_id for row in made} for made in windows if made[0].request_type == "loglikelihood"]
    assert all(a.isdisjoint(b) for a, b in zip(docs, docs[1:], strict=False))
    assert max(map(len, windows)) <= 26


def test_only_a_few_windows_are_made_ahead() -> None:
    made: list[int] = []

    def endless() -> Iterator[Instance]:
        n = 0
        while True:
            made.append(n)
            yield question(n, f"q{n}")
            n += 1

    requests = CheapestOrder(endless(), 32)
    for _ in range(100):
        next(requests)
    assert len(made) <= 100 + 4 * 32
    requests.close()  # type: ignore[attr-defined]
    assert not [thread for thread in threading.enumerate() if thread.name == "order"]


def test_an_error_comes_after_what_was_made_before_it() -> None:
    def breaks() -> Iterator[Instance]:
        yield from (question(n, f"q{n}") for n in range(64))
        yield question(64, "q")
        raise ValueError("the data ends here")

    taken = []
    with pytest.raises(ValueError, match="ends here"):
        for row in CheapestOrder(breaks(), 64):
            taken.append(row.doc_id)
    assert sorted(taken) == list(range(64))


def test_a_hungry_reader_gets_each_doc_as_soon_as_the_next_one_is_begun() -> None:
    """Docs are not held back until a window is full, and the reader is woken."""
    go_on, begun, woken = threading.Semaphore(0), threading.Semaphore(0), threading.Event()

    def slow() -> Iterator[Instance]:
        for n in range(4):
            begun.release()
            assert go_on.acquire(timeout=HANGS)
            yield question(n, f"q{n}")

    requests = CheapestOrder(slow(), 512)
    requests.wake = woken.set
    assert not requests.ready()
    assert begun.acquire(timeout=HANGS)
    assert not requests.ready()
    go_on.release(2)
    assert woken.wait(HANGS) and requests.ready() and next(requests).doc_id == 0
    go_on.release(2)
    assert [row.doc_id for row in requests] == [1, 2, 3] and requests.ready()


def test_windows_end_at_a_number_of_pixels_where_one_is_stated() -> None:
    rows = [question(n, f"question {n}", f"picture {n}") for n in range(12)]
    for row in rows:
        row.pixels = 100
    windows = Windows(8, pixels=300)
    sizes = [len(window) for row in rows if (window := windows.add([row]))]
    assert sizes == [3, 3, 3, 3]
    windows = Windows(8)
    assert [len(window) for row in rows if (window := windows.add([row]))] == [8]
