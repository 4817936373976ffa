"""How a run asks each of its tasks: the prompt block of `--prompt_key`, of the protocol or of the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mm_eval.catalog.config import TaskConfig
from mm_eval.engine.model import Model
from mm_eval.errors import ConfigError, did_you_mean
from mm_eval.request import RunRequest
from mm_eval.task.blocks import PromptBlock, choose_block
from mm_eval.task.task import PromptStyle
from mm_eval.under_protocol import applied_protocol, protocol_block, protocol_video


def prompt_blocks(request: RunRequest, configs: Mapping[str, TaskConfig]) -> dict[str, dict[str, Any]]:
    """{task: {key: block}}: the prompt blocks of each task's YAML, the user's own over them."""
    own = request.prompt_blocks or {}
    common = {key: block for key, block in own.items() if key not in configs}
    return {name: {**config.prompt_kwargs, **common, **(own.get(name) or {})} for name, config in configs.items()}


def choose_styles(
    request: RunRequest, configs: Mapping[str, TaskConfig], model: Model | None, chat: bool
) -> dict[str, PromptStyle]:
    """The prompt style of each task: the block of the model, or of `--prompt_key`. ConfigError for a key that no task has.

    model: None if there is none, so that `default` is used.
    """
    blocks, key = prompt_blocks(request, configs), request.prompt_key
    known = {"default"}.union(*blocks.values())
    if key and key not in known:
        hint = did_you_mean(key, known)
        raise ConfigError(f"no task of this run has the prompt key {key!r}.", where="--prompt_key", hint=hint)
    system, multiturn = request.system_instruction, request.fewshot_as_multiturn
    keys, of_model = (model.prompt_keys, (model.video_rule, model.video_input)) if model else ((), ("", "pictures"))
    protocol = applied_protocol(request)

    def block(name: str) -> PromptBlock:
        shows = configs[name].doc_to_visual is not None or configs[name].doc_to_messages is not None
        rule = of_model if shows else ("", "pictures")  # the folder of a text task is the same for every family
        stated = protocol_block(protocol, configs[name], request.video, rule) if protocol and not key else None
        video = request.video or protocol_video(protocol, configs[name])
        return stated or choose_block(configs[name], keys, key, blocks[name], video, rule)

    return {name: PromptStyle(block(name), chat, system, multiturn, request.blind) for name in blocks}


def missing_key_notes(request: RunRequest, configs: Mapping[str, TaskConfig]) -> list[str]:
    """The tasks that have other prompt keys, and not the requested one."""
    key, blocks = request.prompt_key, prompt_blocks(request, configs)
    without = [name for name, own in blocks.items() if key and own and key not in own]
    return [f"{name} has no prompt key {key!r}: 'default' was used" for name in without]
