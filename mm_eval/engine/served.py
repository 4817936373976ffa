"""A model that a server is asked for, by an address and a name: what the server says of it tells one checkpoint from the next.

An adapter's description has it under `SERVED`: a mapping; None where the server was not reached; no entry where it says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

SERVED = "served"


def as_recorded(old: Mapping[str, object], new: Mapping[str, object], found: object = None) -> Mapping[str, object]:
    """A recorded description, to be compared with a new one, with what is unknown of either as the other has it.

    found: what a launch found out later, after the description was recorded.
    """
    known = found if SERVED in old and old[SERVED] is None else old.get(SERVED, {})
    if known is None or SERVED in new and new[SERVED] is None:
        left = {name: value for name, value in old.items() if name != SERVED}
        return {**left, SERVED: new[SERVED]} if SERVED in new else left
    return {**old, SERVED: known} if known else {name: value for name, value in old.items() if name != SERVED}
