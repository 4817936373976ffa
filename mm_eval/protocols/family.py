"""What a run says of its model's family: where a protocol asks otherwise than the family's own blocks, and where a task's cap is
shorter than the one that the model's report states."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mm_eval.config.task_config import TaskConfig
from mm_eval.engine.generation import one_token_cap
from mm_eval.prompt.blocks import choose_block
from mm_eval.protocols.protocol import Protocol, Setting
from mm_eval.protocols.protocol_file import protocol_names, read_protocol
from mm_eval.protocols.run_under import adapter_of, applied_protocol, protocol_block
from mm_eval.protocols.verdicts import plain_name, reported_model
from mm_eval.request import RunRequest
from mm_eval.values.errors import ConfigError
from mm_eval.values.words import listed

if TYPE_CHECKING:
    from mm_eval.open_tasks import OpenedTasks

CAP = "max_new_tokens"


@dataclass(frozen=True)
class OtherPrompt:
    """A benchmark whose prompt a protocol states otherwise than the block that the model's family gets without the protocol."""

    family: str
    setting: Setting


def other_prompt(protocol: Protocol, config: TaskConfig, keys: tuple[str, ...]) -> OtherPrompt | None:
    """How the protocol's prompt of a task differs from the family's own; None where they agree, or one of them states none.

    keys: the prompt keys of the model, most specific first.
    """
    stated = protocol_block(protocol, config)
    benchmark = protocol.benchmark_of(config.path)
    if stated is None or benchmark is None:
        return None
    own = choose_block(config, keys)
    if own.key == "default" or dict(own.kwargs) == dict(stated.kwargs):
        return None
    return OtherPrompt(own.key, protocol.settings_of(benchmark)["prompt"])


def prompt_notes(opened: OpenedTasks) -> list[str]:
    """Why the prompts of a run under a protocol are not those of its model's family; one sentence for each reason."""
    protocol = applied_protocol(opened.request)
    model = adapter_of(opened.request) if protocol else None
    if protocol is None or model is None or opened.request.prompt_key or not model.facts.prompt_keys:
        return []
    tasks: dict[str, list[str]] = {}
    for name, task in opened.tasks.items():
        if (other := other_prompt(protocol, task.config, tuple(model.facts.prompt_keys))) is not None:
            said = f"instead of the block {other.family!r}: {other.setting.known}, {other.setting.source}"
            tasks.setdefault(said, []).append(name)
    return [
        f"protocol {protocol.name}: its own prompt in {listed(names, 3)} {said}"
        for said, names in sorted(tasks.items())
    ]


def cap_notes(opened: OpenedTasks) -> list[str]:
    """Where the tasks cut answers earlier than a protocol of the model says, for a run without a protocol."""
    return [note for protocol in protocols_of_model(opened.request) if (note := _cap_note(protocol, opened))]


def protocols_of_model(request: RunRequest) -> Iterator[Protocol]:
    """The protocols of reports that measured the model of a request. Reads only files that name its checkpoint."""
    named = [str(request.model_args[key]) for key in ("pretrained", "model") if request.model_args.get(key)]
    own = plain_name(request.name or "") or next((plain_name(each) for each in named), "")
    if not own:
        return
    named_in = re.compile(
        rf"(?<![\w-]){re.escape(own)}(?![\w-])"
    )  # "m" is a part of every file, and the name of no model
    for path in protocol_names([request.include_path] if request.include_path else []).values():
        if not named_in.search(Path(path).read_text("utf-8").lower().replace("_", "-")):
            continue
        try:
            protocol = read_protocol(path)
        except ConfigError:  # `mm-eval protocols check` reports it; a run without it does not depend on it
            continue
        if reported_model(protocol, request) is not None:
            yield protocol


def _cap_note(protocol: Protocol, opened: OpenedTasks) -> str:
    """One sentence on the tasks of a run whose cap is below the protocol's; "" where there are none."""
    shorter: dict[str, int] = {}
    most = 0
    for name, task in opened.tasks.items():
        benchmark = protocol.benchmark_of(task.config.path)
        stated = (protocol.settings_of(benchmark) if benchmark else protocol.settings).get("gen_kwargs")
        theirs = one_token_cap(stated.value).get(CAP) if stated else None
        ours = one_token_cap(task.config.generation_kwargs).get(CAP)
        if isinstance(theirs, int) and isinstance(ours, int) and ours < theirs:
            shorter[f"{name} ({ours})"], most = theirs, max(most, theirs)
    if not shorter:
        return ""
    return (
        f"answers are capped at fewer tokens than in {protocol.title}'s evaluation ({most}) in {listed(list(shorter), 3)}: "
        f"--protocol {protocol.name}, or --gen_kwargs {CAP}={most}"
    )
