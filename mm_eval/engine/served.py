"""A model that a server is asked for, by an address and a name: what the server says of it tells one checkpoint from the next.

An adapter's description has it under `SERVED`: a mapping; None where the server was not reached; no entry where it says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SERVED = "served"


def as_recorded(old: Mapping[str, Any], new: Mapping[str, Any], found: Any = None) -> Mapping[str, Any]:
    """A recorded description, to be compared with a new one, with what is unknown of either as the other has it.

    found: what a launch found out later, after the description was recorded.
    """
    known = found if SERVED in old and old[SERVED] is None else old.get(SERVED, {})
    if known is None or SERVED in new and new[SERVED] is None:
        left = {name: value for name, value in old.items() if name != SERVED}
        return {**left, SERVED: new[SERVED]} if SERVED in new else left
    return {**old, SERVED: known} if known else {name: value for name, value in old.items() if name != SERVED}
