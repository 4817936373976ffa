"""Writing prompts ahead: in order, bounded, errors in their place, beside the model and not before it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from mm_eval.models.hf.prompts.ahead import written_ahead

from mm_eval.values.errors import DataError
from tests.models.questions import instance, outputs, picture


def test_order_errors_and_bounds() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for n in range(100):
            taken.append(n)
            yield n

    def write(n: int) -> int:
        if n % 7 == 3:
            raise DataError(f"picture {n} is broken")
        time.sleep(0.0005 * (n % 3))
        return n * n

    seen = []
    for n, made in written_ahead(items(), write, lambda n: n if n % 10 else None, most=8):
        assert len(taken) <= n + 10
        assert isinstance(made, DataError) if n % 7 == 3 else made == n * n
        seen.append(n)
    assert seen == list(range(100))


def test_text_is_not_taken_before_it_is_needed() -> None:
    taken: list[int] = []
    asked = written_ahead((taken.append(n) or n for n in range(9)), lambda n: n, lambda n: None)  # type: ignore[func-returns-value]
    next(asked)
    assert taken == [0]


def test_pictures_are_written_while_the_model_computes(adapter: Callable[..., Any]) -> None:
    """The next batch's pictures are read by other threads, some of them during a forward."""
    model = adapter("llava", batch_size=2)
    forward, computing = model.runtime.model.forward, threading.Event()
    during: list[bool] = []
    threads: set[str] = set()

    def slow(*args: Any, **kwargs: Any) -> Any:
        computing.set()
        time.sleep(0.05)
        answer = forward(*args, **kwargs)
        computing.clear()
        return answer

    def load(seed: int) -> list[Any]:
        threads.add(threading.current_thread().name)
        during.append(computing.is_set())
        time.sleep(0.02)
        return [picture(60, 60, seed)]

    model.runtime.model.forward = slow
    steps = {"max_new_tokens": 2, "min_new_tokens": 2}
    rows = [instance("What?", [picture(60, 60, n)], doc_id=n, generation_kwargs=steps) for n in range(30)]
    for n, row in enumerate(rows):
        row.images = lambda n=n: load(n)
    assert len(outputs(model.generate(rows))) == 30
    assert any(during) and all(name.startswith("pictures") for name in threads)


def test_leaving_early_ends_the_threads(adapter: Callable[..., Any]) -> None:
    model = adapter("llava", batch_size=1)
    rows = [instance("What?", [picture(60, 60, n)], doc_id=n, continuation=" a") for n in range(40)]
    answers = model.loglikelihood(rows)
    next(answers)
    answers.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("pictures")]
