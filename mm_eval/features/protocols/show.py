"""What `mm-eval show --protocol NAME` says below a prompt."""

from __future__ import annotations

from mm_eval.features.protocols.run_under import protocol_of
from mm_eval.features.protocols.text import provenance
from mm_eval.features.protocols.verdicts import differences
from mm_eval.prepare import Prepared


def lines(prepared: Prepared, name: str) -> list[str]:
    """How each setting of the protocol is known, and what an option overrides. Empty without a protocol."""
    protocol = protocol_of(prepared.request)
    if protocol is None:
        return []
    differing = [f"  differs: {each.said}" for each in differences(prepared, protocol, name)]
    return [*provenance(protocol, prepared.tasks[name].path), *differing]
