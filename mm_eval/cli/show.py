"""Shows a doc's prompt as a model gets it: the text after the chat template, pictures with sizes, tokens by kind.

No weights are loaded."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from mm_eval.cli.options import add_model_options, add_task_options, option, read_names, read_request
from mm_eval.cli.say import say, say_lines
from mm_eval.errors import ConfigError

if TYPE_CHECKING:
    from mm_eval.engine.model import Model
    from mm_eval.prepare import Prepared
    from mm_eval.types import Instance


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tasks", metavar="TASK", help="a task (or several, with commas)")
    parser.add_argument("--doc", type=option("doc"), default=0, metavar="N", help="the doc id (default 0)")
    parser.add_argument(
        "--keys", metavar="A,B", help="the prompt under several prompt keys, side by side, what differs marked"
    )
    add_model_options(parser)
    add_task_options(parser)


def main(args: argparse.Namespace) -> int:
    from mm_eval.prepare import prepare

    request, stand_in = _with_stand_in(args)
    if args.keys and args.prompt_key:
        raise ConfigError("--keys and --prompt_key exclude each other.")
    plan = prepare(request)
    if args.keys:
        return _compare_keys(args, plan, f"{request.model or 'tiny-llava'}{f'   ({stand_in})' if stand_in else ''}")
    for name, task in plan.tasks.items():
        if not 0 <= args.doc < len(task.docs):
            raise ConfigError(f"--doc {args.doc}: {name} has docs 0 to {len(task.docs) - 1}.")
        style = plan.styles[name]
        instances = list(task.instances([args.doc], style))
        first = instances[0]
        if first.error is not None:
            raise first.error
        say(f"task: {task.path}   doc: {args.doc}   request: {first.request_type}   choices: {_choices(instances)}")
        say(f"model: {request.model or 'tiny-llava'}{f'   ({stand_in})' if stand_in else ''}")
        say(f"prompt key: {style.block.key}   {dict(style.block.kwargs) or ''}")
        if task.docs.bundled:
            say("data: the bundled sample, not the benchmark")
        _print_prompt(plan.model, first)
        _print_rest(instances)
    return 0


def _compare_keys(args: argparse.Namespace, plan: Prepared, model: str) -> int:
    """Prints a doc's prompt under several prompt keys beside each other."""
    import shutil

    from mm_eval.cli.prompts import check_keys
    from mm_eval.report.side_by_side import shortened, side_by_side

    keys = read_names(args.keys)
    check_keys(plan, keys)
    plans = {key: plan.with_prompt_key(key, "") for key in keys}
    for name, task in plan.tasks.items():
        if not 0 <= args.doc < len(task.docs):
            raise ConfigError(f"--doc {args.doc}: {name} has docs 0 to {len(task.docs) - 1}.")
        texts = {}
        for key, one in plans.items():
            instance = next(iter(task.instances([args.doc], one.styles[name])))
            if instance.error is not None:
                raise instance.error
            preview = one.model.preview(instance)
            used = one.styles[name].block.key
            tokens = (
                "" if preview.tokens is None else f", {preview.tokens} tokens, {preview.image_tokens or 0} of pictures"
            )
            texts[f"{key}{'' if used == key else f' (as {used})'}{tokens}"] = shortened(preview.text)
        say(f"task: {task.path}   doc: {args.doc}   model: {model}")
        _print_pictures(instance)
        say_lines(side_by_side(texts, max(80, shutil.get_terminal_size((120, 24)).columns)))
    return 0


def _with_stand_in(args: argparse.Namespace) -> tuple[Any, str]:
    """The request; a family named without `pretrained` is shown with its bundled model, and says so."""
    from dataclasses import replace

    from mm_eval.prepare import model_class_of

    request = read_request(args)
    stand_in = getattr(model_class_of(request), "bundled_stand_in", None)
    if stand_in is None or "pretrained" in request.model_args:
        return request, ""
    return replace(
        request, model=stand_in
    ), f"no pretrained was given for {request.model}: this is the bundled {stand_in}"


def _print_prompt(model: Model, instance: Instance) -> None:
    preview = model.preview(instance)
    _print_pictures(instance)
    if preview.tokens is not None:
        say(f"tokens: {preview.tokens}, of which {preview.image_tokens or 0} stand for pictures")
    say("---------------------------------------- prompt")
    say_lines(preview.text)
    say("---------------------------------------- end of prompt")


def _print_pictures(instance: Instance) -> None:
    for number, picture in enumerate(instance.images() if instance.images else []):
        say(f"picture {number}: {picture.width} x {picture.height}   sha256 {instance.image_digests[number][:12]}")


def _print_rest(instances: list[Instance]) -> None:
    from mm_eval.engine.model import flatten

    first = instances[0]
    if first.request_type == "loglikelihood":
        for instance in instances:
            if instance.context != first.context:  # a gap to be filled, or a choice on its own (acc_mutual_info)
                say(f"context {instance.choice}: {flatten(instance)!r}")
            marked = " <- right" if _is_right(instance) else ""
            say(f"continuation {instance.choice}: {instance.continuation!r}{marked}")
    elif first.generation_kwargs:
        say(f"generation: {dict(first.generation_kwargs)}")
    say(f"target: {first.target!r}")


def _is_right(instance: Instance) -> bool:
    return (
        instance.choice == instance.target or isinstance(instance.target, list) and instance.choice in instance.target
    )


def _choices(instances: list[Instance]) -> int | str:
    return len(instances) if instances[0].request_type == "loglikelihood" else "-"
