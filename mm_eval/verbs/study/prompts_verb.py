"""Runs the same model with several prompt blocks and shows which suits it: one table, differences paired by document.

Rules of frames (--video a --video b) are compared in the same way: with the model's own block, or with each of --keys. Several
models (--model a --model b, each with its --model_args) give the matrix models x prompts. The same command resumes where it
stopped."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mm_eval.cli.folders import add_format_option
from mm_eval.cli.options import add_option, add_options, read_names, read_request
from mm_eval.cli.say import complain_briefly
from mm_eval.config.arguments import PATH
from mm_eval.data.video.medium import full_rule
from mm_eval.values.errors import ConfigError, MMEvalError

if TYPE_CHECKING:
    from mm_eval.engine.progress import Progress
    from mm_eval.request import RunRequest
    from mm_eval.run import Report

SETS = ("model", "tasks", "store", "prompts")
WRITES_RESULTS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tasks", required=True, metavar="A,B", help="tasks, groups, tags, globs, YAML files")
    parser.add_argument(
        "--keys",
        metavar="A,B",
        help="prompt keys; the first is the one to compare with (default: all, `default` first)",
    )
    add_option(
        parser, "prompt_file", "FILE", "blocks of your own, in YAML: {mine: {post_prompt: ' Answer:'}}", rule=PATH
    )
    output = "one run folder per model and block goes below it, with prompts.html (default: runs/prompts-TASKS)"
    add_options(parser, *SETS, several=True, output_path=output)
    add_format_option(parser)


def main(args: argparse.Namespace) -> int:
    from mm_eval.check_runs import attempt, check_models
    from mm_eval.cli.progress import ProgressBar
    from mm_eval.scoring.run_results import INTERRUPTED, PARTIAL
    from mm_eval.verbs.study.prompts import Prompts
    from mm_eval.verbs.study.trials import folders_of, show_study

    rules = read_rules(args.video or ())
    keys = read_names(args.keys) if args.keys else None
    blocks = read_prompt_file(args.prompt_file) if args.prompt_file else None
    if args.prompt_key:
        raise ConfigError("prompts takes --keys, not --prompt_key.", hint=f"--keys default,{args.prompt_key}")
    output = Path(args.output_path or "runs/prompts-" + "-".join(read_names(args.tasks)).replace("/", "_"))
    requests = {name: read_request(one, *SETS, prompt_blocks=blocks, output_path=None) for name, one in _models(args)}
    if len(requests) > 1:
        check_models(requests)
    found, code, holes = list[Prompts](), 0, dict[str, MMEvalError]()
    for name, request in requests.items():
        try:
            run_keys = partial(run_prompts, request, keys, rules, output, name, ProgressBar())
            reports = run_keys() if len(requests) == 1 else attempt(run_keys)
        except KeyboardInterrupt:
            code = INTERRUPTED
            break
        if isinstance(reports, MMEvalError):  # of this model alone: the other models still run
            holes[name], code = reports, max(code, PARTIAL)
            continue
        code = max([code, *(report.exit_code for report in reports.values())])
        if folders := folders_of(reports):
            found.append(Prompts.read(name, folders, args.include_path))
        if code == INTERRUPTED:
            break
    for name, error in holes.items():
        complain_briefly(f"{name} has no scores: {error.owner} error: {error}")
    if found:
        show_study(found, output, "prompts", args.format)
    return code


def run_prompts(
    request: RunRequest,
    keys: Sequence[str] | None,
    rules: Sequence[str],
    output_path: Path,
    name: str,
    progress: Progress,
) -> dict[str, Report]:
    """Runs one model with each prompt into <output_path>/<name>/<prompt>; tasks, pictures and weights are shared.

    keys: None for every block of the tasks and of request.prompt_blocks; for the model's own one where there are several rules.
    rules: of the frames that are shown. name: of the model's folder.
    Errors: ConfigError, before the first request, for a key that no task has or a block with a key that nothing reads.
    """
    from mm_eval.check_runs import check_keys, folder_name, known_keys
    from mm_eval.prepare import prepare
    from mm_eval.verbs.study.trials import run_trials

    prepared = prepare(request, progress.phase)
    chosen = list(keys) if keys else [] if len(rules) > 1 else known_keys(prepared)
    if chosen:
        check_keys(prepared, chosen, fewest=1 if len(rules) > 1 else 2)
    folder = output_path / folder_name(name)
    trials = {
        label: prepared.asked_with(key, rule, str(folder / folder_name(label)))
        for label, (key, rule) in asked_with(chosen, rules).items()
    }
    return run_trials(trials, progress)


def asked_with(keys: Sequence[str], rules: Sequence[str]) -> dict[str, tuple[str | None, str | None]]:
    """{name of a prompt: its key and its rule of frames}. What all have in common is not named.

    >>> list(asked_with(["default", "qwen_vl"], ["frames=2,ends", "frames=8,ends"]))[:2]
    ['default frames=2,ends', 'default frames=8,ends']
    """
    named: dict[str, tuple[str | None, str | None]] = {}
    for key, rule in product(keys or [""], rules or [""]):
        parts = [key if len(keys) > 1 else "", rule if len(rules) > 1 else ""]
        named[" ".join(filter(None, parts))] = key or None, rule or None
    return named


def read_prompt_file(path: str) -> dict[str, object]:
    """Prompt blocks of the user: {key: block} for every task, or {task: {key: block}}.

    Errors: ConfigError with the file and the key of a block that is not a mapping.
    """
    from mm_eval.config.yaml import load_file

    blocks = load_file(Path(path))
    for key, block in blocks.items():
        if not isinstance(block, Mapping):
            hint = "A block is a mapping, such as {post_prompt: ' Answer:'}."
            raise ConfigError(f"the prompt block {key!r} is {block!r}.", where=path, hint=hint)
    return dict(blocks)


def read_rules(texts: Sequence[str]) -> list[str]:
    """Rules of frames in their full form. ConfigError for one given twice.

    >>> read_rules(["frames=2", "fps=1,middle"])
    ['frames=2,ends', 'fps=1,min=1,max=768,middle']
    """
    rules = [full_rule(text) for text in texts]
    for place, rule in enumerate(rules):
        if rule in rules[:place]:
            raise ConfigError(f"the rule {rule!r} is given twice.", where="--video", hint="Give each rule once.")
    return rules


def _models(args: argparse.Namespace) -> list[tuple[str, argparse.Namespace]]:
    """The name of each model and of its folder, and the command with that model alone."""
    models: list[Any] = args.model or [None]
    settings = args.model_args or [""]
    if len(settings) not in (1, len(models)):
        raise ConfigError(f"{len(models)} --model and {len(settings)} --model_args: give one of each to a model.")
    settings = settings if len(settings) == len(models) else settings * len(models)
    named: dict[str, argparse.Namespace] = {}
    for model, arguments in zip(models, settings, strict=True):
        alone = {"model": model, "model_args": arguments, "video": None}
        one = argparse.Namespace(**{**vars(args), **alone})
        name = model or "tiny-llava"
        pretrained = [item.split("=", 1)[1] for item in arguments.split(",") if item.startswith("pretrained=")]
        name = Path(pretrained[0]).name if pretrained else name
        while name in named:
            name += "'"
        named[name] = one
    return list(named.items())
