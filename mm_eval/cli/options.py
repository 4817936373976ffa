"""Options that several verbs share, and how their values are read."""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mm_eval.arguments import Rule, invalid, is_json, read_json, shortly
from mm_eval.errors import ConfigError
from mm_eval.request import RULES, read_option

if TYPE_CHECKING:
    from mm_eval.request import RunRequest


_NAMED_VALUE = Rule("a text, a finite number, a list or a mapping with a name", is_json)


def option(name: str) -> Callable[[str], Any]:
    """Reads and checks an option's text, for argparse."""
    return partial(read_option, name)


def add_task_options(parser: argparse.ArgumentParser) -> None:
    """Which tasks, and where they and their data are."""
    parser.add_argument(
        "--include_path",
        type=option("include_path"),
        metavar="DIR",
        help="a folder with tasks of your own; they override built-in names",
    )
    parser.add_argument(
        "--num_fewshot",
        type=option("num_fewshot"),
        metavar="N",
        help="examples before each question (default: the task's)",
    )
    parser.add_argument(
        "--limit", type=option("limit"), metavar="N", help="only the first N docs of each task, or a share below 1"
    )
    parser.add_argument("--samples", metavar="JSON", help='only these docs: {"mme": [0, 3]} or a file with such JSON')
    parser.add_argument(
        "--data_root",
        type=option("data_root"),
        metavar="DIR",
        help="data sets at DIR/org/name are read from there (env MM_EVAL_DATA_ROOT)",
    )
    parser.add_argument("--sample", action="store_true", help="use the bundled sample data: not the benchmarks")
    parser.add_argument(
        "--allow_url_media",
        action="store_true",
        help="fetch pictures that rows name by URL, from public addresses only",
    )
    parser.add_argument("--offline", action="store_true", help="open no network connection")


def add_model_options(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """Which model, and how it is prompted. several: --model and --model_args may be given more than once, and are lists."""
    action = "append" if several else "store"
    parser.add_argument(
        "--model",
        type=option("model"),
        action=action,
        metavar="NAME",
        help="see `mm-eval ls models`; without it the bundled tiny-llava runs",
    )
    parser.add_argument(
        "--model_args",
        action=action,
        default=[] if several else "",
        metavar="K=V,...",
        help="pretrained=...,dtype=...; or JSON",
    )
    parser.add_argument(
        "--batch_size", type=option("batch_size"), default="auto", metavar="N", help="rows a batch, or auto (default)"
    )
    parser.add_argument(
        "--device",
        type=option("device"),
        metavar="DEVICE",
        help="cpu, cuda, cuda:1, mps (default: an accelerator if there is one)",
    )
    parser.add_argument("--gen_kwargs", default="", metavar="K=V,...", help="overrides the tasks' generation_kwargs")
    parser.add_argument(
        "--prompt_key",
        type=option("prompt_key"),
        metavar="KEY",
        help="the block of model_specific_prompt_kwargs to use",
    )
    parser.add_argument(
        "--system_instruction",
        type=option("system_instruction"),
        metavar="TEXT",
        help="a system message before each question",
    )
    parser.add_argument(
        "--apply_chat_template",
        type=option("chat_template"),
        nargs="?",
        const=True,
        metavar="BOOL|NAME",
        help="true, false, or the name of one of the model's templates (default: on for image-text and chat models)",
    )
    parser.add_argument(
        "--on_long_prompt",
        type=option("on_long_prompt"),
        default="cut",
        metavar="cut|fail",
        help="a prompt of text that is too long for the model is cut from the left and counted (default), or fails; "
        "a prompt with pictures always fails",
    )
    parser.add_argument(
        "--fewshot_as_multiturn",
        type=option("fewshot_as_multiturn"),
        metavar="BOOL",
        help="few-shot examples as turns of the chat",
    )
    parser.add_argument(
        "--seed",
        type=option("seed"),
        default=0,
        metavar="N",
        help="of sampling, few-shot choice and bootstrap (default 0)",
    )


def add_store_options(
    parser: argparse.ArgumentParser, output: str = "the run folder (default: a name made of the run, in ./runs)"
) -> None:
    """Where answers are kept, and how many failures stop a run. output: what --output_path is."""
    parser.add_argument("--output_path", type=option("output_path"), metavar="DIR", help=output)
    parser.add_argument(
        "--use_cache",
        type=option("use_cache"),
        metavar="DIR",
        help="share greedy answers with other runs, by all that decides an answer",
    )
    parser.add_argument(
        "--fail_on_error",
        type=option("fail_on_error"),
        default=False,
        metavar="LIMIT",
        help="stop when so many requests have failed: true (the first), a count, or a share below 1 of all requests, "
        "reached or passed; false (default): go on. Exit code 3 in any case, with the partial results",
    )


def read_task_request(args: argparse.Namespace, **rest: Any) -> RunRequest:
    """The request that the options of `add_task_options` state. rest: further fields of it."""
    from mm_eval.request import RunRequest

    return RunRequest(
        tasks=tuple(read_names(args.tasks)),
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
        **rest,
    )


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
        return _checked(dict(read_json(text, option)), option)
    pairs: dict[str, Any] = {}
    for item in _split(text):
        name, equals, value = item.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"{option} has {shortly(item)} where name=value is needed.")
        if name.strip() in pairs:
            raise ConfigError(f"{option} gives {shortly(name.strip())} twice.")
        pairs[name.strip()] = _typed(value.strip()) if typed else value.strip()
    return _checked(pairs, option)


def _checked(pairs: dict[str, Any], option: str) -> dict[str, Any]:
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


def _typed(value: str) -> Any:
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
