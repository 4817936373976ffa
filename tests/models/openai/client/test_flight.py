"""What runs at once is given to the end, whatever ends it."""

import asyncio
from collections.abc import Iterator

import pytest
from mm_eval.models.openai.client.flight import Flight


def test_an_error_of_the_source_costs_no_result_in_flight() -> None:
    loop, given = asyncio.new_event_loop(), list[int]()

    def source() -> Iterator[int]:
        yield from (1, 2, 3)
        raise ValueError("a document can't be prepared")

    async def work(unit: int) -> int:
        await asyncio.sleep(0.01)
        return unit

    flight, units = Flight(loop, 8), source()
    with pytest.raises(ValueError, match="can't be prepared"):
        for found in flight.run(units.__next__, work):
            given.append(found)
    flight.close()
    loop.close()
    assert sorted(given) == [1, 2, 3]
