"""What a recorded run may load and ask when it is opened again: people exchange run folders, and run.json may name anything.

    request = trusted_request(RunRequest.from_json(run["request"]), include_path=None, folder=Path("runs/llava"))
    check_own(run["request"], run.get("mark"), folder=Path("runs/llava"))

Task code comes from the installation, and from folders that this command names: the `include_path` of run.json, and task files
that it names, count only where the command names them too. A model that run.json names by any option is asked, or loaded, only if
this user made the run (`engine.own_runs`), or says that the run is trusted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mm_eval.config.arguments import as_list, shortly
from mm_eval.config.installed import check_code, untrusted_code
from mm_eval.engine.model import MODELS, is_bundled
from mm_eval.engine.own_runs import is_own
from mm_eval.prepare import load_configs
from mm_eval.request import DEFAULT_MODEL, RunRequest
from mm_eval.values.errors import ConfigError
from mm_eval.values.run_files import UNREADABLE, odd_content


def trusted_request(stored: object, include_path: str | None, folder: Path) -> RunRequest:
    """The request of run.json, with task code from the installation and from `include_path` alone. Imports nothing.

    Errors: UntrustedCode where that is not enough; ConfigError for unknown tasks; StoreError for what is not a request.
    """
    where = str(folder / "run.json")
    request = recorded_request(stored, where)
    if request.include_path and not include_path:
        raise untrusted_code(
            f"the run was made with --include_path {request.include_path}", request.include_path, where
        )
    path = str(Path(include_path).resolve()) if include_path else None
    request = replace(request, include_path=path, output_path=str(folder))
    check_code(load_configs(request), request.include_path, where)
    return request


class UntrustedRun(ConfigError):
    """A verb would ask, or load, what somebody else's run folder names."""


HARMLESS = ("dummy", "replay")
"""Adapters that ask nobody and load nothing."""


def check_own(request: Mapping[str, object], mark: object, folder: Path) -> None:
    """Raises UntrustedRun if the request of a run.json, as it is stored, names a model and another user made it."""
    model = request.get("model") or DEFAULT_MODEL
    named = [] if _is_bundled(model) and not request.get("model_args") else [("--model", model, request)]
    judges, args = as_list(request.get("judge")), as_list(request.get("judge_args"))
    named += [("--judge", adapter, {"model_args": args[i : i + 1]}) for i, adapter in enumerate(judges)]
    said = [_describe(option, name, given.get("model_args")) for option, name, given in named if name not in HARMLESS]
    if said and not is_own({"request": request}, mark):
        raise _of_another("; ".join(said), folder)


def _is_bundled(model: object) -> bool:
    """Whether a model is shipped with mm-eval: nothing else is loaded for it."""
    return isinstance(model, str) and model in MODELS and is_bundled(MODELS.get(model))


def check_named(option: str, adapter: object, args: object, marked: bool, folder: Path) -> None:
    """The same of one model that a run.json names by an option. marked: this user's mark stands under it."""
    if adapter not in HARMLESS and not marked:
        raise _of_another(_describe(option, adapter, args), folder)


def for_data_alone(request: Mapping[str, object]) -> dict[str, object]:
    """The request of a run.json, as it is stored, to open the run's data again: nobody is asked, nothing is fetched."""
    return {**request, "judge": [], "judge_args": [], "allow_url_media": False, "offline": True}


def _describe(option: str, name: object, args: object) -> str:
    return f"{option} {shortly(name)} with {shortly(args, 300)}"


def _of_another(what: str, folder: Path) -> UntrustedRun:
    return UntrustedRun(
        f"nothing shows that you made this run on this machine, and it names what would be contacted or loaded: {what}.",
        where=str(folder / "run.json"),
        hint="If you know who made it, or made it elsewhere, and trust these addresses and checkpoints, add --trust_run.",
    )


def recorded_request(stored: Any, where: str) -> RunRequest:
    """The request of run.json, without workers, and for all of its docs. StoreError for what is not a request."""
    try:
        return RunRequest.from_json(stored).of_record()
    except UNREADABLE as error:
        raise odd_content(error, where) from error
