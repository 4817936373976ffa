"""A run as the user asks for it, and what its names stand for: the tasks' configs and the model's adapter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from mm_eval.catalog.manager import Loaded, TaskManager
from mm_eval.engine.model import MODELS, Model, ModelSettings, one_token_cap
from mm_eval.errors import ConfigError, did_you_mean

DEFAULT_MODEL = "tiny-llava"


@dataclass(frozen=True)
class RunRequest:
    """A run as the user asked for it; the command line's options under the same names.

    tasks: what `TaskManager.load` takes. model: None for the bundled tiny model on the bundled sample data.
    fail_on_error: True, a count or a share of all requests at which failures stop the run.
    prompt_blocks: prompt blocks of one's own, {key: block} for every task or {task: {key: block}}, beside those of the tasks.
    samples: {task: doc ids}. chat_template: True, False, a template's name, or None for the model's default.
    on_long_prompt: "cut" or "fail", for a prompt of text that does not fit into the model's length.
    name: what tables and reports call the model, where that is not the checkpoint's or the adapter's name.
    """

    tasks: tuple[str, ...]
    model: str | None = None
    model_args: Mapping[str, Any] = field(default_factory=dict)
    num_fewshot: int | None = None
    batch_size: int | str = "auto"
    device: str | None = None
    limit: int | float | None = None
    samples: Mapping[str, list[int]] | None = None
    include_path: str | None = None
    gen_kwargs: Mapping[str, Any] = field(default_factory=dict)
    system_instruction: str | None = None
    chat_template: bool | str | None = None
    fewshot_as_multiturn: bool | None = None
    seed: int = 0
    data_root: str | None = None
    sample: bool = False
    offline: bool = False
    prompt_key: str | None = None
    prompt_blocks: Mapping[str, Any] | None = None
    output_path: str | None = None
    predict_only: bool = False
    bootstrap_iters: int = 100_000
    fail_on_error: bool | int | float = False
    use_cache: str | None = None
    allow_url_media: bool = False
    report: bool = True
    name: str | None = None
    on_long_prompt: str = "cut"

    def to_json(self) -> dict[str, Any]:
        """For run.json, so that `mm-eval score` can build the tasks again, from whatever folder it is called."""
        folders = ("include_path", "data_root")
        return {k: str(Path(v).resolve()) if k in folders and v else v for k, v in asdict(self).items()}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> RunRequest:
        """What `to_json` gave. ConfigError for options that only another version of mm-eval knows."""
        if unknown := sorted(stored.keys() - {each.name for each in fields(cls)}):
            what = f"the run was asked with {', '.join(unknown)}, which this version of mm-eval does not know."
            raise ConfigError(what, where="run.json", hint="Use the version that made it; results.json names it.")
        return cls(**{**stored, "tasks": tuple(stored["tasks"])})


def load_configs(request: RunRequest, faults: list[tuple[str, ConfigError]] | None = None) -> Loaded:
    """The configs of the tasks that a request names, its overrides laid over them. faults: as in `TaskManager.load`."""
    overrides: dict[str, Any] = {}
    if request.num_fewshot is not None:
        if request.num_fewshot < 0:
            raise ConfigError(f"--num_fewshot {request.num_fewshot} is below 0.")
        overrides["num_fewshot"] = request.num_fewshot
    if request.gen_kwargs:
        overrides["generation_kwargs"] = one_token_cap(request.gen_kwargs)
    manager = TaskManager(include_path=request.include_path)
    loaded = manager.load(list(request.tasks), overrides=overrides or None, faults=faults)
    for name in request.samples or ():
        if name not in loaded.tasks:
            raise ConfigError(
                f"--samples names {name!r}, which is no task of this run.", hint=did_you_mean(name, loaded.tasks)
            )
    return loaded


def model_class_of(request: RunRequest) -> tuple[type[Model], str]:
    """The adapter that a request names."""
    name = request.model or DEFAULT_MODEL
    return MODELS.get(name, where="--model"), name


def make_model(request: RunRequest, model_class: type[Model]) -> Model:
    """The adapter with its arguments checked and no weights loaded."""
    settings = ModelSettings(
        request.batch_size,
        request.device,
        request.seed,
        request.chat_template,
        request.offline,
        request.on_long_prompt,
    )
    return model_class.create(request.model_args, settings)
