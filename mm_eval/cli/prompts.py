"""Asks the same model with several prompt blocks and says which suits it: one table, differences paired by doc.

Several models (--model a --model b, each with its --model_args) give the matrix models x prompts. The same command goes on
where it stopped."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from mm_eval.cli.options import add_model_options, add_store_options, add_task_options, option, read_names, read_request
from mm_eval.cli.say import complain_briefly, say, say_lines
from mm_eval.errors import ConfigError, MMEvalError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tasks", required=True, metavar="A,B", help="tasks, groups, tags, globs, YAML files")
    parser.add_argument(
        "--keys",
        metavar="A,B",
        help="prompt keys; the first is the one to compare with (default: all, `default` first)",
    )
    parser.add_argument(
        "--prompt_file",
        type=option("prompt_file"),
        metavar="FILE",
        help="blocks of your own, in YAML: {mine: {post_prompt: ' Answer:'}}",
    )
    add_model_options(parser, several=True)
    add_task_options(parser)
    add_store_options(
        parser, "a run folder a model and block goes below, and prompts.html (default: runs/prompts-TASKS)"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="text (default) or json")


def main(args: argparse.Namespace) -> int:
    from mm_eval.engine.folder import RunFolder
    from mm_eval.prompts import read_prompt_file, try_prompts
    from mm_eval.release_plan import INTERRUPTED, PARTIAL, attempt, check_models
    from mm_eval.report.progress import Progress
    from mm_eval.report.prompts import as_json, render, write_prompts
    from mm_eval.runs.prompts import PromptComparison

    keys = read_names(args.keys) if args.keys else None
    blocks = read_prompt_file(args.prompt_file) if args.prompt_file else None
    if args.prompt_key:
        raise ConfigError("prompts takes --keys, not --prompt_key.", hint=f"--keys default,{args.prompt_key}")
    output = Path(args.output_path or "runs/prompts-" + "-".join(read_names(args.tasks)).replace("/", "_"))
    requests = {
        name: read_request(one, prompt_blocks=blocks, use_cache=args.use_cache, fail_on_error=args.fail_on_error)
        for name, one in _models(args)
    }
    if len(requests) > 1:
        check_models(requests)
    trials, code, holes = [], 0, dict[str, MMEvalError]()
    for name, request in requests.items():
        try:
            ask = partial(try_prompts, request, keys, output, name, Progress())
            trial = ask() if len(requests) == 1 else attempt(ask)
        except KeyboardInterrupt:
            code = INTERRUPTED
            break
        if isinstance(trial, MMEvalError):  # its own: the other models go on
            holes[name], code = trial, max(code, PARTIAL)
            continue
        code = max(code, trial.exit_code)
        folders = {key: report.folder for key, report in trial.reports.items() if report.results}
        if folders:  # of several processes only the first has results to tell
            trials.append(PromptComparison.read(name, folders))
        if trial.exit_code == INTERRUPTED:
            break
    for name, error in holes.items():
        complain_briefly(f"{name} has no numbers: {error.owner} error: {error}")
    if not trials:
        return code
    text = as_json(trials)
    folder = RunFolder(output)
    folder.write("prompts.json", text)
    page = write_prompts(output / "prompts.html", trials)
    if args.format == "json":
        say_lines(text)
    else:
        say_lines(render(trials) + "\n")
        say(f"page with the flips: {page}")
        say(f"run folders, each with a report.html: {output}")
    return code


def _models(args: argparse.Namespace) -> list[tuple[str, argparse.Namespace]]:
    """Each model's name, by which its folder is called, and the command with that model alone."""
    models: list[Any] = args.model or [None]
    settings = args.model_args or [""]
    if len(settings) not in (1, len(models)):
        raise ConfigError(f"{len(models)} --model and {len(settings)} --model_args: give one of each to a model.")
    settings = settings if len(settings) == len(models) else settings * len(models)
    named: dict[str, argparse.Namespace] = {}
    for model, arguments in zip(models, settings, strict=True):
        one = argparse.Namespace(**{**vars(args), "model": model, "model_args": arguments})
        name = model or "tiny-llava"
        pretrained = [item.split("=", 1)[1] for item in arguments.split(",") if item.startswith("pretrained=")]
        name = Path(pretrained[0]).name if pretrained else name
        while name in named:
            name += "'"
        named[name] = one
    return list(named.items())
