"""The table of protocols in docs/guides/protocols.md, made of their files when the documentation is built."""

from __future__ import annotations

from tables import table

from mm_eval.protocols.protocol_file import protocol_names, read_protocol
from mm_eval.values.safe import markdown


def made() -> str:
    """A row for each shipped protocol."""
    protocols = [read_protocol(path) for path in protocol_names().values()]
    rows = [(f"`{each.name}`", markdown(each.title), markdown(each.report), markdown(each.about)) for each in protocols]
    text: str = table(("protocol", "of", "report", "about"), rows)
    return text
