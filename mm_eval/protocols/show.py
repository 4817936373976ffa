"""What `mm-eval show --protocol NAME` says below a prompt."""

from __future__ import annotations

from mm_eval.prepare import Prepared
from mm_eval.protocols.run_under import protocol_of
from mm_eval.protocols.text import provenance
from mm_eval.protocols.verdicts import differences


def lines(prepared: Prepared, name: str) -> list[str]:
    """How each setting of the protocol is known, and what an option overrides. Empty without a protocol."""
    protocol = protocol_of(prepared.request)
    if protocol is None:
        return []
    differing = [f"  differs: {each.said}" for each in differences(prepared, protocol, name)]
    return [*provenance(protocol, prepared.tasks[name].path), *differing]
