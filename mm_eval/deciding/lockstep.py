"""What the models of a comparison know of each other: whose answers decide with theirs, and where those lie.

Each model is a run of its own, perhaps in a process of its own. What it is worth after each look is in its folder, as files
that are written once. Each run reads those of the others and comes to the same decisions, in whatever order the answers came.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from mm_eval.request import RunRequest
from mm_eval.values.errors import ConfigError, did_you_mean
from mm_eval.values.files import write_atomic

COMMON = ("looks", "alpha", "margin", "gate", "pairs", "stop_when")
"""Options that are the same for all models of a comparison."""
SAME_DOCS = ("tasks", "limit", "samples", "sample", "data_root", "include_path", "protocol")
"""Options that decide which docs are asked."""


@dataclass(frozen=True)
class Linked:
    """The runs of several models, linked where they stop each other. launch: of this command, no other one's."""

    requests: dict[str, RunRequest]
    over: Mapping[str, Path]
    launch: str = ""

    def ended(self, name: str) -> None:
        """A run ended for good: the others wait for it no longer."""
        if name in self.over:
            with suppress(OSError):
                write_atomic(self.over[name], self.launch, durable=False)


def linked(requests: Mapping[str, RunRequest], at_a_time: int) -> Linked:
    """The requests of several models, each with the others' folders where they are compared as the answers come.

    Errors: ConfigError where the models are asked different docs, and for pairs that are wrong or not stated.
    """
    deciding = {name: request for name, request in requests.items() if request.deciding.stop_when}
    if not deciding:
        return Linked(dict(requests), {})
    for option in COMMON:
        if len({repr(request.options()[option]) for request in requests.values()}) > 1:
            what = f"the models of a comparison need the same `{option}`."
            raise ConfigError(what, where=f"--{option}", hint="State it once for all models.")
    if len(requests) < 2:
        hint = "Name a second model, leave --only out, or use --until_interval for one model."
        raise ConfigError("a comparison needs two models.", where="--stop_when", hint=hint)
    for option in SAME_DOCS:
        if len({repr(request.options()[option]) for request in requests.values()}) > 1:
            what = f"the models of a comparison must answer the same documents, and their `{option}` differs."
            raise ConfigError(what, where="--stop_when", hint="State it once for all models.")
    first = next(iter(requests.values()))
    pairs = pairs_of(list(requests), first.deciding.pairs)
    if first.deciding.gate and not isinstance(first.deciding.pairs, Mapping):
        hint = "State `pairs: {reference: NAME}`: the model that nothing may be lost against."
        raise ConfigError("a policy compares each model with a reference.", where="pairs", hint=hint)
    folders = {name: str(Path(str(request.output_path)).resolve()) for name, request in requests.items()}
    common = os.path.commonpath([os.path.dirname(folder) for folder in folders.values()])
    over = {name: Path(common) / "lockstep" / f"{Path(folder).name}.over" for name, folder in folders.items()}
    launch = uuid.uuid4().hex
    common_part = {
        "folders": folders,
        "over": {name: str(path) for name, path in over.items()},
        "pairs": [list(pair) for pair in pairs],
        "seed": first.seed,
        "launch": launch,
        "together": at_a_time >= len(requests),
    }
    return Linked(
        {name: r.with_options(linked={**common_part, "name": name}) for name, r in requests.items()}, over, launch
    )


def pairs_of(names: Sequence[str], stated: object) -> list[tuple[str, str]]:
    """The pairs (first, second) that are compared. ConfigError where three or more models have none stated."""
    if isinstance(stated, Mapping):
        reference = stated["reference"]
        if reference not in names:
            what = f"the reference {reference!r} is not one of these models."
            raise ConfigError(what, where="pairs", hint=did_you_mean(reference, names))
        return [(reference, name) for name in names if name != reference]
    if stated is None and len(names) > 2:
        hint = "State `pairs: all`, or `pairs: {reference: NAME}` for fewer comparisons."
        raise ConfigError(f"which of {len(names)} models are compared?", where="pairs", hint=hint)
    return list(combinations(names, 2))
