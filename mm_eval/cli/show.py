"""Shows a doc's prompt as a model gets it: the text after the chat template, pictures with sizes, tokens by kind.

No weights are loaded."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mm_eval.cli.options import add_model_options, add_option, add_task_options, read_names, read_request
from mm_eval.cli.say import say, say_lines
from mm_eval.errors import ConfigError
from mm_eval.request import DEFAULT_MODEL, RunRequest
from mm_eval.task.video.rule import shown_as

if TYPE_CHECKING:
    from mm_eval.engine.model import Model
    from mm_eval.prepare import Prepared
    from mm_eval.types import Instance


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tasks", metavar="TASK", help="a task (or several, with commas)")
    add_option(parser, "doc", "N", "the doc id (default 0)", default=0)
    parser.add_argument(
        "--keys", metavar="A,B", help="the prompt under several prompt keys, side by side, what differs marked"
    )
    parser.add_argument(
        "--judge",
        nargs="?",
        const="",
        metavar="NAME",
        help="the prompt of the task's judge, and what its verdicts on the whole task would cost; no call is made",
    )
    parser.add_argument("--judge_args", default="", metavar="K=V,...", help="with --judge NAME: model=...,base_url=...")
    parser.add_argument(
        "--answer", metavar="TEXT", help="with --judge: the answer that is judged (default: the gold one)"
    )
    add_model_options(parser)
    add_task_options(parser)


def main(args: argparse.Namespace) -> int:
    from mm_eval.prepare import prepare

    request, stand_in = _with_stand_in(args)
    if args.keys and args.prompt_key:
        raise ConfigError("--keys and --prompt_key exclude each other.")
    prepared = prepare(request)
    for name, task in prepared.tasks.items():
        if args.doc >= len(task.docs):
            raise ConfigError(f"--doc {args.doc}: {name} has docs 0 to {len(task.docs) - 1}.")
    model = f"model: {request.model or DEFAULT_MODEL}{f'   ({stand_in})' if stand_in else ''}"
    if args.keys:
        _compare_keys(args, prepared, model)
        return 0
    if args.judge is not None:
        from mm_eval.cli.show_judge import show_judge

        show_judge(args, prepared)
        return 0
    for name, task in prepared.tasks.items():
        block = prepared.styles[name].block
        instances = _instances(prepared, name, args.doc)
        first = instances[0]
        choices = len(instances) if first.request_type == "loglikelihood" else "-"
        say(f"task: {task.path}   doc: {args.doc}   request: {first.request_type}   choices: {choices}")
        say(model)
        say(f"prompt key: {block.key}   {dict(block.kwargs) or ''}")
        if first.videos:
            say(f"video: {shown_as(block.video_input, block.video)}")
        if task.docs.bundled:
            say("data: the bundled sample, not the benchmark")
        _print_prompt(prepared.model, first)
        _print_rest(instances)
    return 0


def _compare_keys(args: argparse.Namespace, prepared: Prepared, model: str) -> None:
    """Prints a doc's prompt under several prompt keys side by side."""
    import shutil

    from mm_eval.cli.prompts import check_keys
    from mm_eval.report.side_by_side import shortened, side_by_side

    keys = read_names(args.keys)
    check_keys(prepared, keys)
    of_keys = {key: prepared.with_prompt_key(key, "") for key in keys}
    for name, task in prepared.tasks.items():
        texts = {}
        for key, one in of_keys.items():
            instance = _instances(one, name, args.doc)[0]
            preview, used = one.model.preview(instance), one.styles[name].block.key
            counts = f", {preview.tokens} tokens, {preview.image_tokens or 0} of pictures"
            heading = f"{key}{'' if used == key else f' (as {used})'}{'' if preview.tokens is None else counts}"
            texts[heading] = shortened(preview.text)
        say(f"task: {task.path}   doc: {args.doc}   {model}")
        _print_pictures(instance)
        say_lines(side_by_side(texts, max(80, shutil.get_terminal_size((120, 24)).columns)))


def _instances(prepared: Prepared, name: str, doc_id: int) -> list[Instance]:
    """The instances of a doc; raises the error of the first."""
    instances = list(prepared.tasks[name].instances([doc_id], prepared.styles[name]))
    if instances[0].error is not None:
        raise instances[0].error
    return instances


def _with_stand_in(args: argparse.Namespace) -> tuple[RunRequest, str]:
    """The request, and a remark: a family without `pretrained` is shown with its bundled model."""
    from dataclasses import replace

    from mm_eval.prepare import model_class_of

    request = read_request(args)
    stand_in = getattr(model_class_of(request), "bundled_stand_in", None)
    if stand_in is None or "pretrained" in request.model_args:
        return request, ""
    remark = f"no pretrained was given for {request.model}: this is the bundled {stand_in}"
    return replace(request, model=stand_in), remark


def _print_prompt(model: Model, instance: Instance) -> None:
    preview = model.preview(instance)
    _print_pictures(instance)
    if preview.tokens is not None:
        say(f"tokens: {preview.tokens}, of which {preview.image_tokens or 0} stand for pictures")
    say("---------------------------------------- prompt")
    say_lines(preview.text)
    say("---------------------------------------- end of prompt")


def _print_pictures(instance: Instance) -> None:
    labels = {number: label for clip in instance.videos for number, label in clip.labels().items()}
    for number, picture in enumerate(instance.images() if instance.images else []):
        frame = f"   {labels[number]}" if number in labels else f"   sha256 {instance.image_digests[number][:12]}"
        say(f"picture {number}: {picture.width} x {picture.height}{frame}")


def _print_rest(instances: list[Instance]) -> None:
    from mm_eval.engine.model import flatten

    first = instances[0]
    if first.request_type == "loglikelihood":
        for instance in instances:
            if instance.context != first.context:  # a gap to be filled, or a choice on its own (acc_mutual_info)
                say(f"context {instance.choice}: {flatten(instance)!r}")
            right = instance.target if isinstance(instance.target, list) else [instance.target]
            marked = " <- right" if instance.choice in right else ""
            say(f"continuation {instance.choice}: {instance.continuation!r}{marked}")
    elif first.generation_kwargs:
        say(f"generation: {dict(first.generation_kwargs)}")
    say(f"target: {first.target!r}")
