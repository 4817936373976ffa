"""Shows a document's prompt as a model gets it: the text after the chat template, pictures with sizes, tokens by kind.

No weights are loaded."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mm_eval.cli.options import add_option, add_options, read_names, read_request
from mm_eval.cli.say import say, say_lines
from mm_eval.config.arguments import PATH, WHOLE_FROM_0
from mm_eval.prompt.blind import joined_media, said_of
from mm_eval.request import DEFAULT_MODEL, RunRequest
from mm_eval.values.errors import ConfigError
from mm_eval.values.files import write_atomic
from mm_eval.values.words import counted

if TYPE_CHECKING:
    from mm_eval.engine.model import Preview
    from mm_eval.prepare import Prepared
    from mm_eval.values.types import Instance
    from mm_eval.verbs.show.text import ShownPrompt


SETS = ("show", "model", "tasks")
NOT_SHOWN = ("batch_size", "device", "reasoning_tags", "limit", "samples")
"""Options that are read and decide nothing here: the help leaves them out."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tasks", metavar="TASK", help="a task (or several, with commas)")
    add_option(parser, "doc", "N", "the document id (default 0)", default=0, rule=WHOLE_FROM_0)
    parser.add_argument(
        "--keys", metavar="A,B", help="the prompt under several prompt keys, side by side, what differs marked"
    )
    add_option(
        parser, "html", "FILE", "write a page with the prompt, its pictures, and frames with their times", rule=PATH
    )
    add_options(parser, *SETS)


def main(args: argparse.Namespace) -> int:
    from mm_eval.prepare import prepare

    request, stand_in = _with_stand_in(args)
    if args.keys and args.prompt_key:
        raise ConfigError("--keys and --prompt_key can't be combined.")
    others = [f"--{name}" for name in ("keys", "judge", "turns") if getattr(args, name, None) is not None]
    if args.html and others:
        raise ConfigError(f"--html shows one prompt; it excludes {others[0]}.", where="--html")
    prepared = prepare(request)
    for name, task in prepared.tasks.items():
        if args.doc >= len(task.docs):
            raise ConfigError(f"--doc {args.doc}: {name} has docs 0 to {len(task.docs) - 1}.")
    model = f"model: {request.model or DEFAULT_MODEL}{f'   ({stand_in})' if stand_in else ''}"
    if args.keys:
        _compare_keys(args, prepared, model)
        return 0
    if args.judge is not None:
        from mm_eval.judge.show import show_judge

        show_judge(args, prepared)
        return 0
    if args.turns is not None:
        from mm_eval.rounds.show import show_turns

        show_turns(args, prepared)
        return 0
    shown = [_show(prepared, name, args.doc, model) for name in prepared.tasks]
    if args.html:
        from mm_eval.verbs.show.text import shown_page

        title = f"{', '.join(prepared.tasks)}, doc {args.doc}"
        _write(args.html, shown_page(title, (prompt() for prompt in shown)))
    return 0


def _show(prepared: Prepared, name: str, doc_id: int, model: str) -> Callable[[], ShownPrompt]:
    """Prints a doc's prompt. Returns a function that gives it for a page."""
    task, block, blind = prepared.tasks[name], prepared.styles[name].block, prepared.request.blind
    instances = _instances(prepared, name, doc_id)
    first = instances[0]
    choices = len(instances) if first.request_type == "loglikelihood" else "-"
    head = [
        f"task: {task.config.row_name}   doc: {doc_id}   request: {first.request_type}   choices: {choices}",
        model,
        f"prompt key: {block.key}   {dict(block.kwargs) or ''}",
        *([block.shown_as] if first.clips else []),
        *([said_of(blind, joined_media([task.media(prepared.styles[name])]))] if blind else []),
        *(["data: the bundled sample, not the benchmark"] if task.docs.bundled else []),
    ]
    for line in head:
        say(line)
    from mm_eval.engine.model import show

    preview = show(prepared.model, first)
    from mm_eval.protocols.show import lines as protocol_lines

    rest = [*_rest(instances), *protocol_lines(prepared, name)]
    _print_prompt(preview, first)
    for line in rest:
        say(line)

    def for_page() -> ShownPrompt:
        from mm_eval.verbs.show.text import ShownPrompt, shortened

        pictures = first.images() if first.images else []
        return ShownPrompt(head, shortened(preview.text), rest, pictures, first.clips)

    return for_page


def _write(path: str, page: Iterable[str]) -> None:
    """Writes a page and says where. ConfigError if the file can't be written."""
    try:
        write_atomic(Path(path), page, durable=False)
    except OSError as error:
        raise ConfigError(f"the page can't be written: {error.strerror}.", where=path) from error
    say(f"page: {path}")


def _compare_keys(args: argparse.Namespace, prepared: Prepared, model: str) -> None:
    """Prints a doc's prompt under several prompt keys side by side."""
    import shutil

    from mm_eval.check_runs import check_keys
    from mm_eval.engine.model import show
    from mm_eval.verbs.show.text import shortened, side_by_side

    keys = read_names(args.keys)
    check_keys(prepared, keys)
    of_keys = {key: prepared.asked_with(key, prepared.request.video, "") for key in keys}
    for name, task in prepared.tasks.items():
        texts = {}
        for key, one in of_keys.items():
            instance = _instances(one, name, args.doc)[0]
            preview, used = show(one.model, instance), one.styles[name].block.key
            counts = f", {preview.tokens} tokens, {preview.image_tokens or 0} of pictures"
            heading = f"{key}{'' if used == key else f' (as {used})'}{'' if preview.tokens is None else counts}"
            texts[heading] = shortened(preview.text)
        say(f"task: {task.config.row_name}   doc: {args.doc}   {model}")
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

    from mm_eval.adapters import in_our_words, model_class_of

    request, _ = in_our_words(read_request(args, *SETS))
    stand_in = getattr(model_class_of(request), "bundled_stand_in", None)
    if stand_in is None or "pretrained" in request.model_args:
        return request, ""
    remark = f"no pretrained was given for {request.model}: this is the bundled {stand_in}"
    return replace(request, model=stand_in), remark


def _print_prompt(preview: Preview, instance: Instance) -> None:
    from mm_eval.verbs.show.text import shortened

    _print_pictures(instance)
    if preview.tokens is not None:
        say(f"tokens: {preview.tokens}, of which {preview.image_tokens or 0} stand for pictures")
    say("---------------------------------------- prompt")
    say_lines(shortened(preview.text))
    say("---------------------------------------- end of prompt")


def _print_pictures(instance: Instance) -> None:
    labels = {number: label for clip in instance.clips for number, label in clip.labels().items()}
    for number, picture in enumerate(instance.images() if instance.images else []):
        frame = f"   {labels[number]}" if number in labels else f"   sha256 {instance.image_digests[number][:12]}"
        say(f"picture {number}: {picture.width} x {picture.height}{frame}")
    for number, sound in enumerate(instance.heard):
        of_file = f"   {sound.name}" if sound.name else ""
        form = f"{sound.seconds:.3f} s, {sound.rate:,} Hz, {counted(sound.channels, 'channel')}"
        say(f"sound {number}: {form}   sha256 {sound.digest[:12]}{of_file}")


def _rest(instances: list[Instance]) -> list[str]:
    """The lines below a prompt: its continuations or generation options, and the target."""
    from mm_eval.engine.model import flatten

    first, lines = instances[0], list[str]()
    if first.request_type == "loglikelihood":
        for instance in instances:
            if instance.context != first.context:  # a gap to be filled, or a choice on its own (acc_mutual_info)
                lines.append(f"context {instance.choice}: {flatten(instance)!r}")
            right = instance.target if isinstance(instance.target, list) else [instance.target]
            marked = " <- right" if instance.choice in right else ""
            lines.append(f"continuation {instance.choice}: {instance.continuation!r}{marked}")
    elif first.generation_kwargs:
        lines.append(f"generation: {dict(first.generation_kwargs)}")
    return [*lines, f"target: {first.target!r}"]
