"""What another feature may use of protocols: which settings a report has, and where a run differs from them (`REPORTS`)."""

from __future__ import annotations

from collections.abc import Sequence

from mm_eval.protocols.protocol import SETTINGS, Protocol
from mm_eval.protocols.run_under import compared_with, protocol_of
from mm_eval.protocols.verdicts import differences, protocol_results
from mm_eval.request import RunRequest

__all__ = ["SETTINGS", "compared_with", "differences", "named_by", "protocol_of", "protocol_results", "with_settings"]


def named_by(request: RunRequest) -> str | None:
    """The name of the protocol that a run was made under; None for none."""
    return request.protocol.name


def with_settings(request: RunRequest, protocol: Protocol, settings: Sequence[str]) -> RunRequest:
    """A request with some settings of a protocol, whose options are taken back; its other options stay."""
    own = request.protocol.settings if request.protocol.name else ()
    cleared: dict[str, object] = {}
    for setting in settings:
        if setting == "prompt":
            cleared["prompt_key"] = None
        elif setting == "gen_kwargs":
            cleared["gen_kwargs"] = {}
        elif setting == "model_args":
            benchmarks = protocol.benchmarks.values()
            of_model = [protocol.settings_of(each).get("model_args") for each in benchmarks]
            stated = {key for each in of_model if each for key in each.value}
            cleared["model_args"] = {key: value for key, value in request.model_args.items() if key not in stated}
        elif setting != "filter_list":
            cleared[setting] = None
    named = None if own is None else tuple(dict.fromkeys([*own, *settings]))
    return request.with_options(protocol=protocol.name, protocol_settings=named, **cleared)
