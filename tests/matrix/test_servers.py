"""Each cell of the tables about servers is what their recorded replies give, and what the adapter makes of them today."""

import csv
from functools import cache

import pytest

from tests.matrix import servers

NEWEST = [f"{kind}-{servers.versions(kind)[0]}" for kind in servers.SERVERS]


@cache
def written() -> dict[str, list[list[str]]]:
    """The rows of each table as they stand in docs/tables/."""
    found = {}
    for path in servers.TABLES.glob("servers_*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            found[path.name] = list(csv.reader(file))
    return found


@pytest.mark.full
def test_every_cell_is_what_the_replies_give() -> None:
    """After a change on purpose: `python -m tests.matrix.servers`."""
    made = dict(servers.tables())
    assert made.keys() == written().keys()
    for name, rows in made.items():
        for row, before in zip(rows, written()[name], strict=True):
            assert row == before, name


@pytest.mark.parametrize("name", NEWEST)
def test_no_answer_of_the_script_is_lost(name: str) -> None:
    """Whatever a server does with a cap, a stop string, a reasoning or a picture: mm-eval has the words that the model says."""
    said = {row[1]: row[3] for row in servers.rows_of(name)}
    whole, circle = '`"The circle is red, the square blue."`, stop', '`"The circle is"`, '
    for behaviour in (
        "the model ends",
        "a cap of 100,000",
        "a cap that does not fit beside the prompt",
        "a system turn",
        "a stream",
    ):
        assert said[behaviour] == whole, behaviour
    for behaviour in ("a stop string ends", "seven stop strings", "a picture with a stop string"):
        assert said[behaviour] == f"{circle}stop", behaviour
    assert said["the token cap ends"] == f"{circle}length"
