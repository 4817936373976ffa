"""The same model asked with several prompt blocks: one run a block, one process, tasks and pictures shared.

    for trial in trials(request, ["default", "qwen_vl"], Path("runs/prompts")): ...

Each block has its run folder <output_path>/<model>/<key>, so that the same command goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mm_eval.errors import ConfigError, did_you_mean
from mm_eval.prepare import Prepared, asked_with, check_generation, prepare, prompt_blocks
from mm_eval.release_plan import check_folders, folder_name
from mm_eval.request import RunRequest
from mm_eval.run import Progress, Report, Silent, run


@dataclass
class Trial:
    """One model's runs: its name, and a report for each prompt key, in the order asked."""

    model: str
    reports: dict[str, Report]
    plan: Prepared

    @property
    def exit_code(self) -> int:
        return max((report.exit_code for report in self.reports.values()), default=0)


def try_prompts(
    request: RunRequest, keys: Sequence[str] | None, output_path: Path, name: str, progress: Progress | None = None
) -> Trial:
    """Asks one model with each prompt key.

    keys: None for every block that the tasks (or request.prompt_blocks) have. name: of the model's folder.
    Errors: ConfigError, before anything is asked, for a key that no task has or a block with a key that nothing reads.
    """
    progress = progress or Silent()
    plan = prepare(request, progress.phase)
    assert plan.model is not None
    chosen = list(keys) if keys else known_keys(plan)
    check_keys(plan, chosen)
    folder = output_path / folder_name(name)
    plans = {key: asked_with(plan, key, str(folder / folder_name(key))) for key in chosen}
    check_generation(plan)
    trial = Trial(name, {}, plan)
    for key, one in plans.items():
        trial.reports[key] = run(one, progress)
        if trial.reports[key].exit_code == 130:
            break
    return trial


def known_keys(plan: Prepared) -> list[str]:
    """Every prompt key of the tasks, `default` first."""
    found = [key for name in plan.tasks for key in prompt_blocks(plan, name)]
    return list(dict.fromkeys(["default", *found]))


def check_keys(plan: Prepared, keys: Sequence[str]) -> None:
    """ConfigError for a key that no task has, for one given twice, and where there is nothing to compare."""
    known = known_keys(plan)
    for key in keys:
        if key not in known:
            raise ConfigError(
                f"no task of this run has the prompt key {key!r}.", where="--keys", hint=did_you_mean(key, known)
            )
    if len(set(keys)) < max(2, len(keys)):
        hint = "Add blocks of your own with --prompt_file."
        raise ConfigError(
            f"two different prompt keys at least are needed, not {list(keys)}.", where="--keys", hint=hint
        )
    check_folders(keys, "--keys")


def read_prompt_file(path: str) -> dict[str, Any]:
    """Prompt blocks of one's own: {key: block} for every task, or {task: {key: block}}.

    Errors: ConfigError with the place of what is no mapping.
    """
    from mm_eval.catalog.yaml import load_file

    blocks = load_file(Path(path))
    for key, block in blocks.items():
        if not isinstance(block, Mapping):
            hint = "A block is a mapping, such as {post_prompt: ' Answer:'}."
            raise ConfigError(f"the prompt block {key!r} is {block!r}.", where=path, hint=hint)
    return dict(blocks)
