"""Shows a doc's prompt as a model gets it: the text after the chat template, pictures with sizes, tokens by kind.

No weights are loaded."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mm_eval.cli.options import (
    add_model_options,
    add_option,
    add_protocol_option,
    add_task_options,
    read_names,
    read_pairs,
    read_request,
)
from mm_eval.cli.say import say, say_lines
from mm_eval.prompt.blind import SAID
from mm_eval.request import DEFAULT_MODEL, RunRequest
from mm_eval.values.errors import ConfigError
from mm_eval.values.files import write_atomic
from mm_eval.values.words import counted

if TYPE_CHECKING:
    from mm_eval.engine.model import Preview
    from mm_eval.features.judge.judges import Judge
    from mm_eval.features.show.text import ShownPrompt
    from mm_eval.prepare import Prepared
    from mm_eval.values.types import Instance


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
    add_option(
        parser, "html", "FILE", "write a page with the prompt, its pictures, and the frames of videos with their times"
    )
    add_protocol_option(parser)
    add_model_options(parser)
    add_task_options(parser)


def main(args: argparse.Namespace) -> int:
    from mm_eval.prepare import prepare

    request, stand_in = _with_stand_in(args)
    if args.keys and args.prompt_key:
        raise ConfigError("--keys and --prompt_key exclude each other.")
    if args.html and (args.keys or args.judge is not None):
        raise ConfigError("--html shows one prompt; it excludes --keys and --judge.", where="--html")
    prepared = prepare(request)
    for name, task in prepared.tasks.items():
        if args.doc >= len(task.docs):
            raise ConfigError(f"--doc {args.doc}: {name} has docs 0 to {len(task.docs) - 1}.")
    model = f"model: {request.model or DEFAULT_MODEL}{f'   ({stand_in})' if stand_in else ''}"
    if args.keys:
        _compare_keys(args, prepared, model)
        return 0
    if args.judge is not None:
        from mm_eval.features.show.verb import show_judge

        show_judge(args, prepared)
        return 0
    shown = [_show(prepared, name, args.doc, model) for name in prepared.tasks]
    if args.html:
        from mm_eval.features.show.text import shown_page

        title = f"{', '.join(prepared.tasks)}, doc {args.doc}"
        _write(args.html, shown_page(title, (prompt() for prompt in shown)))
    return 0


def _show(prepared: Prepared, name: str, doc_id: int, model: str) -> Callable[[], ShownPrompt]:
    """Prints a doc's prompt. Returns a function that gives it for a page."""
    task, block = prepared.tasks[name], prepared.styles[name].block
    instances = _instances(prepared, name, doc_id)
    first = instances[0]
    choices = len(instances) if first.request_type == "loglikelihood" else "-"
    head = [
        f"task: {task.config.row_name}   doc: {doc_id}   request: {first.request_type}   choices: {choices}",
        model,
        f"prompt key: {block.key}   {dict(block.kwargs) or ''}",
        *([f"video: {block.shown_as}"] if first.clips else []),
        *([SAID[prepared.request.blind]] if prepared.request.blind else []),
        *(["data: the bundled sample, not the benchmark"] if task.docs.bundled else []),
    ]
    for line in head:
        say(line)
    preview, rest = prepared.model.preview(first), [*_rest(instances), *_protocol(prepared, name)]
    _print_prompt(preview, first)
    for line in rest:
        say(line)

    def for_page() -> ShownPrompt:
        from mm_eval.features.show.text import ShownPrompt, shortened

        pictures = first.images() if first.images else []
        return ShownPrompt(head, shortened(preview.text), rest, pictures, first.clips)

    return for_page


def _protocol(prepared: Prepared, name: str) -> list[str]:
    """How each setting of the protocol is known, and what an option overrides. Empty without a protocol."""
    from mm_eval.features.protocols.run_under import protocol_of
    from mm_eval.features.protocols.text import provenance
    from mm_eval.features.protocols.verdicts import differences

    protocol = protocol_of(prepared.request)
    if protocol is None:
        return []
    differing = [f"  differs: {each.said}" for each in differences(prepared, protocol, name)]
    return [*provenance(protocol, prepared.tasks[name].path), *differing]


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

    from mm_eval.features.show.text import shortened, side_by_side
    from mm_eval.features.study.prompts_verb import check_keys

    keys = read_names(args.keys)
    check_keys(prepared, keys)
    of_keys = {key: prepared.asked_with(key, prepared.request.video, "") for key in keys}
    for name, task in prepared.tasks.items():
        texts = {}
        for key, one in of_keys.items():
            instance = _instances(one, name, args.doc)[0]
            preview, used = one.model.preview(instance), one.styles[name].block.key
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
    from dataclasses import replace

    from mm_eval.engine.adapters import model_class_of

    request = read_request(args, protocol=args.protocol)
    stand_in = getattr(model_class_of(request), "bundled_stand_in", None)
    if stand_in is None or "pretrained" in request.model_args:
        return request, ""
    remark = f"no pretrained was given for {request.model}: this is the bundled {stand_in}"
    return replace(request, model=stand_in), remark


def _print_prompt(preview: Preview, instance: Instance) -> None:
    from mm_eval.features.show.text import shortened

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


def show_judge(args: argparse.Namespace, prepared: Prepared) -> None:
    """Prints the questions about one doc's gold answer, or about `--answer`, and the estimate for all docs.

    Errors: ConfigError for a task without a judge, and for a doc without a gold answer where `--answer` is not given.
    """
    from mm_eval.engine.model import flatten
    from mm_eval.features.judge.config import judge_of_task
    from mm_eval.features.judge.cost import cost_of, gold_answer, questions_about

    judge = _judge(args, prepared)
    model = judge.model if judge is not None else None
    for name, task in prepared.tasks.items():
        config = judge_of_task(task.config)
        if config is None:
            raise ConfigError(f"{name} has no judge: its answers are scored by rules.", where="--judge")
        style = prepared.styles[name]
        first = next(iter(task.instances([args.doc], style, lambda doc_id: None)))
        answer = gold_answer(task, style, first) if args.answer is None else args.answer
        if args.answer is not None and not answer.strip():
            what = "an empty answer is not sent to a judge: the task states its verdict."
            raise ConfigError(what, where="--answer")
        if not answer:
            raise ConfigError(f"no gold answer is known for doc {args.doc} of {name}.", hint="Give one with --answer.")
        gold = " (gold)" if args.answer is None else ""
        say(f"task: {task.config.row_name}   doc: {args.doc}   judged answer: {answer!r}{gold}")
        questions = questions_about(task, args.doc, first.doc, answer)
        for number, instance in enumerate(questions, 1):
            if instance.error is not None:
                raise instance.error
            step = f" of step {number}, after a made-up verdict" if number > 1 else ""
            pictures = f", pictures: {len(instance.image_digests)}" if instance.image_digests else ""
            say(f"---------------------------------------- the judge's prompt{step}{pictures}")
            say_lines(flatten(instance))
            say("---------------------------------------- end of prompt")
            say(f"generation: {dict(instance.generation_kwargs)}")
        official = config.official or next((str(each.metadata.get("model", "")) for each in questions), "")
        say(f"official judge: {official or 'none is stated'}")
        cost = cost_of(task, style, prepared.doc_ids[name], model)
        docs = counted(len(prepared.doc_ids[name]), "doc")
        say(f"verdicts on {docs}{f' by {judge.name}' if judge else ''}: {cost}")
        if model is not None and model.dollars({}) is None:
            say("prices: give input_price=...,output_price=... (dollars per million tokens) in --judge_args")


def _judge(args: argparse.Namespace, prepared: Prepared) -> Judge | None:
    """The judge of the options, its weights not loaded; None where none is named."""
    from mm_eval.features.judge.judges import make_judges

    if not args.judge:
        if args.judge_args:
            raise ConfigError("--judge_args needs the judge's adapter: --judge openai.", where="--judge_args")
        return None
    own = read_pairs(args.judge_args, "--judge_args")
    [judge] = make_judges(replace(prepared.request, judge=(args.judge,), judge_args=(own,), no_judge=False))
    return judge
