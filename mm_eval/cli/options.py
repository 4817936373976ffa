"""Options that several verbs share, and how their values are read."""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mm_eval.config.arguments import Rule, invalid, is_json, read_json, shortly
from mm_eval.request import COMMAND_NAMES, RULES, read_option, task_names
from mm_eval.values.errors import ConfigError
from mm_eval.values.features import Option, stated

if TYPE_CHECKING:
    from mm_eval.request import RunRequest
    from mm_eval.scoring.run_results import Report


_NAMED_VALUE = Rule("a text, a finite number, a list or a mapping with a name", is_json)


def in_group(parser: argparse._ActionsContainer, title: str) -> argparse._ActionsContainer:
    """The group of options of this title in the help of a verb."""
    if isinstance(parser, argparse._ArgumentGroup):
        return parser
    known = (group for group in parser._action_groups if group.title == title)
    return next(known, None) or parser.add_argument_group(title)


def add_option(
    parser: argparse._ActionsContainer, name: str, metavar: str, help: str, rule: Rule | None = None, **more: Any
) -> None:
    """Adds `--name`, read and checked by its rule. rule: of an option of this verb alone. more: as of `add_argument`."""
    parser.add_argument(
        f"--{COMMAND_NAMES.get(name, name)}", type=option(name, rule), metavar=metavar, help=help, **more
    )


def option(name: str, rule: Rule | None = None) -> Callable[[str], Any]:
    """A function that reads and checks an option's text, for argparse. rule: as of `add_option`."""
    return partial(read_option, name, rule=rule)


def add_task_options(parser: argparse._ActionsContainer) -> None:
    """Which tasks, and where they and their data are."""
    parser = in_group(parser, "tasks and data")
    add_option(parser, "include_path", "DIR", "a folder with tasks of your own; they override built-in names")
    add_option(parser, "num_fewshot", "N", "examples before each question (default: the task's)")
    add_option(parser, "limit", "N", "only the first N docs of each task, or a share below 1")
    what = "laid over the tasks' `metadata`, the arguments of those that make their own docs (custom_dataset)"
    parser.add_argument("--metadata", action="append", metavar="K=V,...", help=what)
    parser.add_argument("--samples", metavar="JSON", help='only these docs: {"mme": [0, 3]} or a file with such JSON')
    add_option(parser, "data_root", "DIR", "data sets at DIR/org/name are read from there (env MM_EVAL_DATA_ROOT)")
    parser.add_argument("--sample", action="store_true", help="use the bundled sample data: not the benchmarks")
    parser.add_argument(
        "--allow_url_media",
        action="store_true",
        help="fetch pictures that rows name by URL, from public addresses only",
    )
    parser.add_argument("--offline", action="store_true", help="open no network connection")


def add_model_options(parser: argparse._ActionsContainer, *, several: bool = False) -> None:
    """Which model, and how it is prompted. several: these may be given more than once, as lists."""
    parser = in_group(parser, "model and prompts")
    action = "append" if several else "store"
    add_option(
        parser, "model", "NAME", "see `mm-eval ls models`; without it the bundled tiny-llava runs", action=action
    )
    parser.add_argument(
        "--model_args",
        action=action,
        default=[] if several else "",
        metavar="K=V,...",
        help="pretrained=...,dtype=...; or JSON",
    )
    add_option(parser, "batch_size", "N", "rows a batch, or auto (default)", default="auto")
    add_option(parser, "device", "DEVICE", "cpu, cuda, cuda:1, mps (default: an accelerator if there is one)")
    parser.add_argument("--gen_kwargs", default="", metavar="K=V,...", help="overrides the tasks' generation_kwargs")
    add_option(parser, "prompt_key", "KEY", "the block of model_specific_prompt_kwargs to use")
    add_option(parser, "system_instruction", "TEXT", "a system message before each question")
    add_option(
        parser,
        "chat_template",
        "BOOL|NAME",
        "true, false, or the name of one of the model's templates (default: on for image-text and chat models)",
        nargs="?",
        const=True,
    )
    add_option(
        parser,
        "on_long_prompt",
        "cut|fail",
        "a prompt of text that is too long for the model is cut from the left and counted (default), or fails; "
        "a prompt with pictures always fails",
        default="cut",
    )
    add_reasoning_option(parser)
    add_feature_options(parser, "model", several=several)
    what = (
        "ask without the pictures (--blind), or with those of other docs (--blind shuffled); `mm-eval blind` compares"
    )
    add_option(parser, "blind", "shuffled", what, nargs="?", const="without")
    add_option(parser, "fewshot_as_multiturn", "BOOL", "few-shot examples as turns of the chat")
    add_option(parser, "seed", "N", "of sampling, few-shot choice and bootstrap (default 0)", default=0)


def add_reasoning_option(parser: argparse._ActionsContainer) -> None:
    what = 'the marks around the reasoning, beside those of known models: "<a>,</a>", pairs as JSON, or none to cut nothing'
    add_option(parser, "reasoning_tags", "A,B", what)


def add_store_options(
    parser: argparse._ActionsContainer, output: str = "the run folder (default: a name made of the run, in ./runs)"
) -> None:
    """Where answers are kept, and how many failures stop a run. output: what --output_path is."""
    parser = in_group(parser, "answers and failures")
    add_option(parser, "output_path", "DIR", output)
    add_option(parser, "use_cache", "DIR", "share greedy answers with other runs, by all that decides an answer")
    add_option(
        parser,
        "fail_on_error",
        "LIMIT",
        "stop when so many requests have failed: true (the first), a count, or a share below 1 of all requests, "
        "reached or passed; false (default): go on. Exit code 3 in any case, with the partial results",
        default=False,
    )


def _feature_options(verb: str) -> Iterator[tuple[str, str, Option]]:
    """(title in the help, the feature that brings it, the option) of a verb, or of `add_model_options` ("model")."""
    for title, (feature, (verbs, *options)) in stated("OPTIONS").items():
        yield from ((title, feature, each) for each in options if verb in verbs)


def add_feature_options(parser: argparse._ActionsContainer, verb: str, *, several: bool = False) -> None:
    """The options that features add to a verb, or to those of `add_model_options` ("model")."""
    for title, feature, each in _feature_options(verb):
        group, help, more = in_group(parser, title), each.help, dict(each.more)
        if several and each.several:
            help, more["action"] = each.several, "append"
        if each.metavar:
            more["metavar"] = each.metavar
            if each.is_field and not each.pairs:
                more["type"] = option(each.name)
        try:
            group.add_argument(f"--{COMMAND_NAMES.get(each.name, each.name)}", help=help, **more)
        except argparse.ArgumentError as error:
            said = f"{feature} brings an option of `mm-eval {verb}` that another part has: {error}."
            raise ConfigError(said, hint="Rename it, or remove that feature's folder.") from error


def read_feature_options(args: argparse.Namespace, verb: str) -> dict[str, Any]:
    """The fields of a request that the options of `add_feature_options` state."""
    found: dict[str, Any] = {}
    for _, _, each in _feature_options(verb):
        value = getattr(args, each.name, None)
        if each.pairs and value is not None:
            texts = value if isinstance(value, list) else [value]
            read = tuple(read_pairs(text, f"--{each.name}", typed=each.pairs == "typed") for text in texts)
            found[each.name] = read if isinstance(value, list) else read[0]
        elif each.is_field:
            found[each.name] = tuple(value) if isinstance(value, list) else value
    return found


def add_cost_options(parser: argparse._ActionsContainer) -> None:
    """What the model's answers may cost, and where prices are found."""
    parser = in_group(parser, "cost")
    what = (
        "the most that the model's answers may cost; nothing more is requested then. A model without a price is refused"
    )
    add_option(parser, "budget", "DOLLARS", what)
    what = "a CSV of prices by model, before the shipped ones: model,input_price,output_price,date,source"
    add_option(parser, "prices", "FILE", what)


def add_bootstrap_option(parser: argparse._ActionsContainer) -> None:
    add_option(parser, "bootstrap_iters", "N", "draws for corpus metrics; 0: none", default=100_000)


def add_categories_option(parser: argparse._ActionsContainer) -> None:
    what = "show all numbers of each task, and its main number by category (default: its main number)"
    parser.add_argument("--categories", action="store_true", help=what)
    what = "the table for the terminal (default) or in Markdown"
    parser.add_argument("--format", choices=("text", "md"), default="text", help=what)


def report_lines(report: Report, args: argparse.Namespace) -> str:
    """The report of a run as the options of `add_categories_option` want it, on a terminal of this width."""
    from mm_eval.results.run_table import render
    from mm_eval.results.table import terminal_width

    return render(report, terminal_width(), markdown=args.format == "md")


def read_task_request(args: argparse.Namespace, **rest: Any) -> RunRequest:
    """The request that the options of `add_task_options` state. rest: further fields of it."""
    from mm_eval.request import RunRequest

    return RunRequest(
        tasks=() if args.tasks is None else read_tasks(args.tasks),
        metadata=_read_metadata(args.metadata),
        num_fewshot=args.num_fewshot,
        limit=args.limit,
        samples=_read_samples(args.samples),
        include_path=args.include_path,
        data_root=args.data_root or os.environ.get("MM_EVAL_DATA_ROOT"),
        sample=args.sample,
        offline=args.offline,
        allow_url_media=args.allow_url_media,
        **rest,
    )


def read_request(args: argparse.Namespace, **rest: Any) -> RunRequest:
    """The request that the options of `add_task_options` and `add_model_options` state. rest: further fields of it."""
    options = (each for _, (_, *of_title) in stated("OPTIONS").values() for each in of_title)
    rest = {**{each.name: each.elsewhere for each in options if each.elsewhere is not None}, **rest}
    return read_task_request(
        args,
        model=args.model,
        model_args=read_pairs(args.model_args, "--model_args"),
        batch_size=args.batch_size,
        device=args.device,
        gen_kwargs=read_pairs(args.gen_kwargs, "--gen_kwargs", typed=True),
        system_instruction=args.system_instruction,
        chat_template=args.apply_chat_template,
        fewshot_as_multiturn=args.fewshot_as_multiturn,
        seed=args.seed,
        prompt_key=args.prompt_key,
        on_long_prompt=args.on_long_prompt,
        blind=args.blind,
        reasoning_tags=args.reasoning_tags,
        **read_feature_options(args, "model"),
        **rest,
    )


def read_tasks(text: str) -> tuple[str | Mapping[str, Any], ...]:
    """The tasks that a command names: names with commas, or a list with mappings as JSON."""
    return task_names(text, "--tasks") if text.lstrip()[:1] in ("[", "{") else tuple(read_names(text))


def _read_metadata(texts: list[str] | None) -> dict[str, Any] | None:
    """Of one `--metadata` or several, of which the last counts where two state one key."""
    if texts is None:
        return None
    return {name: value for text in texts for name, value in read_pairs(text, "--metadata", typed=True).items()}


def read_names(text: str) -> list[str]:
    """Names separated by commas. >>> read_names("mme, seedbench")  gives  ['mme', 'seedbench']"""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise ConfigError("no task is named.", hint="`mm-eval ls tasks` lists them.")
    return names


def read_pairs(text: str, option: str, *, typed: bool = False) -> dict[str, Any]:
    """`k=v,k=v` or a JSON object. A comma inside brackets or quotes separates nothing: until=["\\n","a,b"].

    typed: values are read as JSON where they are JSON (0.7, true, ["a"]), and stay text otherwise.
    """
    if text.lstrip().startswith("{"):
        return _check_pairs(dict(read_json(text, option)), option)
    pairs: dict[str, Any] = {}
    for item in _split(text):
        name, equals, value = item.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"{option} has {shortly(item)} where name=value is needed.")
        if name.strip() in pairs:
            raise ConfigError(f"{option} gives {shortly(name.strip())} twice.")
        pairs[name.strip()] = _read_value(value.strip()) if typed else value.strip()
    return _check_pairs(pairs, option)


def _check_pairs(pairs: dict[str, Any], option: str) -> dict[str, Any]:
    for name, value in pairs.items():
        if not _NAMED_VALUE.fits({name: value}):
            raise invalid(f"{option}: {shortly(name)}", value, _NAMED_VALUE)
    return pairs


def _split(text: str) -> list[str]:
    items, depth, quote, current = [], 0, "", ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "[{(":
            depth += 1
        elif character in "]})":
            depth -= 1
        elif character == "," and depth <= 0:
            items.append(current)
            current = ""
            continue
        current += character
    return [item for item in [*items, current] if item.strip()]


def _read_value(value: str) -> Any:
    """A value as JSON where it is JSON, else as text. A number that is not finite becomes a float, for the check to reject."""
    words = {"true": True, "false": False, "none": None, "null": None}
    if value.lower() in words:
        return words[value.lower()]
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        with suppress(ValueError):
            return value if math.isfinite(float(value)) else float(value)
        return value


def _read_samples(text: str | None) -> Mapping[str, list[int]] | None:
    """The value of --samples: JSON, or the path of a file with JSON."""
    if text is None:
        return None
    if not text.lstrip().startswith(("{", "[")):
        try:
            if not os.path.isfile(text):
                raise OSError(0, "there is no such file")
            text = Path(text).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            hint = 'Or give JSON: {"mme": [0, 3]}.'
            raise ConfigError(f"--samples {shortly(text)} can't be read: {why}.", hint=hint) from error
    chosen, rule = read_json(text, "--samples"), RULES["samples"]
    for task, ids in chosen.items() if isinstance(chosen, dict) else ():
        if not rule.fits({task: ids}):
            hint = "Each is a list of doc ids: whole numbers from 0, none twice."
            raise ConfigError(f"--samples has {shortly(ids)} for {shortly(task)}.", hint=hint)
    if not rule.fits(chosen):
        raise invalid("--samples", chosen, rule)
    return dict(chosen)
