"""A run under a named protocol: the protocol's settings become those of the run, where no option states another.

They reach the run by the same ways as the options: the overrides of the task configs, the prompt blocks, the fields of the
request. So run.json and the request keys hold them, and a run without `--protocol` and with the same settings is the same run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from mm_eval.adapters import own_model
from mm_eval.config.manager import Loaded
from mm_eval.config.task_config import TaskConfig
from mm_eval.engine.generation import one_token_cap
from mm_eval.engine.model import Model, check, check_generation
from mm_eval.judge.reported import judge_of_report
from mm_eval.prompt.blocks import FRAMES_KEY, PromptBlock, choose_block
from mm_eval.protocols.protocol import SETTINGS, TOOLS, Benchmark, Protocol, Setting
from mm_eval.protocols.protocol_file import find_protocol
from mm_eval.request import ProtocolRequest, RunRequest
from mm_eval.values.errors import ConfigError, did_you_mean
from mm_eval.values.types import JsonObject


def protocol_of(request: RunRequest) -> Protocol | None:
    """The protocol that a request names; None where it names none."""
    if request.protocol.name is None:
        return None
    return find_protocol(request.protocol.name, [request.include_path] if request.include_path else [])


def applied_protocol(request: RunRequest) -> Protocol | None:
    """The protocol of a request with those of its settings that the run has: all, unless `protocol_settings` names some."""
    protocol, names = protocol_of(request), request.protocol.settings
    if protocol is None or names is None:
        return protocol
    for name in names:
        if name not in SETTINGS:
            what = f"{name!r} is not a setting of a protocol."
            raise ConfigError(what, where="--protocol_settings", hint=did_you_mean(name, SETTINGS))

    def chosen(settings: Mapping[str, Setting]) -> dict[str, Setting]:
        return {name: setting for name, setting in settings.items() if name in names}

    benchmarks = {name: replace(each, settings=chosen(each.settings)) for name, each in protocol.benchmarks.items()}
    return replace(protocol, settings=chosen(protocol.settings), benchmarks=benchmarks)


def compared_with(request: RunRequest, name: str | None) -> RunRequest:
    """A recorded request whose results get a protocol's verdicts; it has none of its settings. A run under it stays as it is.

    Errors: ConfigError for an unknown protocol, one that has none of the tasks, and a run under another one.
    """
    if name is None or request.protocol.name == name:
        return request
    if request.protocol.name is not None:
        what = f"the run was made under the protocol {request.protocol.name!r}, whose settings it has."
        raise ConfigError(
            what, where="--protocol", hint=f"Compare it with {request.protocol.name}, or run it without one."
        )
    compared = replace(request, protocol=ProtocolRequest(name=name, settings=()))
    protocol_of(compared)
    return compared


def task_overrides(protocol: Protocol) -> dict[str, dict[str, object]]:
    """{task or group: the keys of its config that the protocol states}."""
    found = {}
    for name, benchmark in protocol.benchmarks.items():
        settings = {each: setting.value for each, setting in protocol.settings_of(benchmark).items()}
        keys: dict[str, object] = {
            key: settings[key] for key in ("num_fewshot", "filter_list", TOOLS) if key in settings
        }
        if "gen_kwargs" in settings:
            keys["generation_kwargs"] = one_token_cap(settings["gen_kwargs"])
        found[name] = keys
    return found


def protocol_block(
    protocol: Protocol, config: TaskConfig, frames: str | None = None, of_model: tuple[str, str] = ("", "pictures")
) -> PromptBlock | None:
    """The prompt block that a protocol states for a task; None for a task that it does not have, and where it states no prompt.

    frames: the user's rule of frames, before the protocol's own. of_model: as in `choose_block`.
    Errors: ConfigError for a prompt key that the task does not have.
    """
    benchmark = protocol.benchmark_of(config.path)
    if benchmark is None:
        return None
    settings = protocol.settings_of(benchmark)
    if "prompt" not in settings:
        return None
    stated, blocks = settings["prompt"].value, dict(config.prompt_kwargs)
    if isinstance(stated, Mapping):
        blocks[protocol.name], stated = stated, protocol.name
    elif stated not in {*blocks, "default"}:
        what = f"{config.path} has no prompt key {stated!r}."
        raise ConfigError(what, where=settings["prompt"].where, hint=did_you_mean(stated, blocks))
    return choose_block(config, (), stated, blocks, frames or protocol_frames(protocol, config), of_model)


def protocol_frames(protocol: Protocol | None, config: TaskConfig) -> str | None:
    """The rule of frames that a protocol states for a task; None if it states none."""
    benchmark = protocol.benchmark_of(config.path) if protocol else None
    setting = protocol.settings_of(benchmark).get(FRAMES_KEY) if protocol and benchmark else None
    return str(setting.value) if setting else None


def loaded_benchmarks(protocol: Protocol, loaded: Loaded) -> dict[str, Benchmark]:
    """{task: its benchmark} of the loaded tasks that the protocol has. ConfigError if it has none of them."""
    found = {name: protocol.benchmark_of(config.path) for name, config in loaded.tasks.items()}
    known = {name: benchmark for name, benchmark in found.items() if benchmark is not None}
    if not known:
        what = f"the protocol {protocol.name!r} has no benchmark of this run ({', '.join(list(loaded.tasks)[:5])})."
        hint = f"`mm-eval protocols {protocol.name}` lists its benchmarks."
        raise ConfigError(what, where="--protocol", hint=hint)
    return known


def fill_in(request: RunRequest, loaded: Loaded, sample: bool) -> RunRequest:
    """The request with the settings of its protocol that hold for the whole run; an option that is given stays.

    sample: whether the data is the bundled sample.
    """
    protocol = applied_protocol(request)
    if protocol is None:
        return request
    benchmarks = loaded_benchmarks(protocol, loaded)
    filled: JsonObject = {"tasks": request.tasks or tuple(loaded.roots)}
    for name in ("system_instruction", "chat_template"):
        if getattr(request, name) is None and name in protocol.settings:
            filled[name] = protocol.settings[name].value
    request = replace(request, **filled)
    request = replace(request, model_args=_model_args(request, common_model_args(protocol, benchmarks.values())))
    request = replace(request, gen_kwargs=_gen_kwargs(request, protocol, benchmarks))
    stated = {
        loaded.tasks[name]: {setting.name: setting.value for setting in protocol.settings_of(benchmark).values()}
        for name, benchmark in benchmarks.items()
    }
    return replace(request, judge=judge_of_report(request, stated, sample, protocol.name, "--protocol"))


def common_model_args(protocol: Protocol, benchmarks: Iterable[Benchmark]) -> dict[str, object]:
    """The arguments of the one model of a run: those that its benchmarks state alike, else those of the whole protocol."""
    stated = [stated_model_args(protocol, benchmark) for benchmark in benchmarks]
    whole = protocol.settings["model_args"].value if "model_args" in protocol.settings else {}
    alike = {name: value for name, value in stated[0].items() if all(each.get(name) == value for each in stated)}
    return {**{name: value for name, value in whole.items() if name in stated[0]}, **alike}


def stated_model_args(protocol: Protocol, benchmark: Benchmark) -> dict[str, object]:
    """The model's arguments that a benchmark states, or its protocol."""
    setting = protocol.settings_of(benchmark).get("model_args")
    return dict(setting.value) if setting else {}


def _model_args(request: RunRequest, stated: Mapping[str, object]) -> Mapping[str, object]:
    """The arguments of the model with those of the protocol, if the adapter takes them; the verdicts say so if it does not."""
    own = {name: str(value) for name, value in stated.items() if name not in request.model_args}
    wanted = {**request.model_args, **own}
    return wanted if not own or adapter_of(replace(request, model_args=wanted)) else request.model_args


def _gen_kwargs(request: RunRequest, protocol: Protocol, benchmarks: Mapping[str, Benchmark]) -> Mapping[str, object]:
    """The options of --gen_kwargs, and null for each of the protocol's that the adapter does not have."""
    stated = [protocol.settings_of(each).get("gen_kwargs") for each in benchmarks.values()]
    options = {name: value for setting in stated if setting for name, value in setting.value.items()}
    model, refused = adapter_of(request), dict[str, Any]()
    for name, value in options.items():
        try:
            if model is not None:
                check_generation(model, {name: value})
        except ConfigError:
            refused[name] = None
    return {**refused, **request.gen_kwargs}


def adapter_of(request: RunRequest) -> Model | None:
    """The adapter of a request; None if it does not take its arguments, which `prepare` reports."""
    try:
        model = own_model(request)
        check(model, ())
    except ConfigError:
        return None
    return model
