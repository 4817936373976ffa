"""All code that a run has recorded, run again: which results are others now.

The code is of a model, and the folder may be of a stranger: it is run in a sandbox only, with the pictures of `tool_files/`, and
no task file is loaded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from mm_eval.engine.journal import read_journal
from mm_eval.engine.tool_records import REFUSED, ToolFiles, ToolRecord
from mm_eval.sandbox.pool import Pool
from mm_eval.sandbox.walls import Sandbox
from mm_eval.tools.python import Open, differs, png_of, run_in, seconds_of
from mm_eval.values.errors import StoreError


@dataclass(frozen=True)
class Replayed:
    """A call that was made again. how: it differs from its record; empty where it does not.

    made: False where it could not be made, such as where a picture of its folder is gone; `how` says why.
    """

    record: ToolRecord
    how: str
    made: bool = True


def conversations(folder: Path) -> list[list[ToolRecord]]:
    """The recorded calls of a run by conversation, in their order. Where a turn was asked again both conversations count."""
    records = read_journal(folder).tools
    followed = {record.after for record in records.values()}
    found = list[list[ToolRecord]]()
    for key, last in records.items():
        if key in followed:
            continue
        chain, seen = [last], {key}
        while (
            before := records.get(chain[-1].after)
        ) is not None and before.key not in seen:  # a stranger's may be a circle
            chain.append(before)
            seen.add(before.key)
        found.append(chain[::-1])
    return sorted(found, key=lambda chain: (chain[0].slot, chain[0].at))


def replay(folder: Path, sandbox: Sandbox, chains: Sequence[Sequence[ToolRecord]]) -> Iterator[Replayed]:
    """Makes the calls again, each conversation in an interpreter of its own. Yields each of them, once.

    Errors: SandboxError where the sandbox does not start.
    """
    files, told = ToolFiles(folder), defaultdict[str, int](int)
    with closing(Pool(sandbox, 1 if len(chains) > 1 else 0)) as pool:
        for chain in chains:
            opened = Open(pool.take())
            try:
                for place, record in enumerate(chain):
                    found = _again(pool, opened, record, seconds_of(sandbox.limits, chain[:place]), files)
                    told[record.key] += 1
                    if told[record.key] == 1:
                        yield found
            finally:
                pool.give_back(opened.interpreter)


def _again(pool: Pool, opened: Open, record: ToolRecord, seconds: float, files: ToolFiles) -> Replayed:
    if record.ending == REFUSED:
        return Replayed(record, "")
    if seconds <= 0:
        return Replayed(record, "the calls before it used up the time that this sandbox's limits allow", made=False)
    try:
        found = run_in(pool, opened, record, seconds, lambda place: png_of(files.read(record.given[place][1])))
    except StoreError as error:  # the calls after it were given the same picture, so none of them runs without it
        return Replayed(record, str(error), made=False)
    return Replayed(record, differs(record, found, opened.interpreter.is_closed))
