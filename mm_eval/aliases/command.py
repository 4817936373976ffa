"""The words of a command for another suite as words for mm-eval.

words_of(["--tasks", "mme", "pope", "--log_samples"], known)  gives
["--tasks", "mme,pope"], ["--log_samples: answers and scores of every doc are always in samples/ of the run folder"]
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from mm_eval.aliases.flags import (
    ARGUMENTS,
    FLAGS,
    LISTS,
    LM_EVAL,
    LMMS_EVAL,
    PROGRAMS,
    SEEDS,
    SHORT,
    VERBS,
    Flag,
)
from mm_eval.options import OF_PARTS
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import Fields, Options

_NUMBER = re.compile(r"-[0-9.]+")
_PAIRS = (
    "--model_args",
    "--gen_kwargs",
    "--metadata",
    *(f"--{each.name}" for part in OF_PARTS for each in part.options if each.pairs),
)
_LEVELS = {"CRITICAL": "ERROR", "FATAL": "ERROR", "WARN": "WARNING", "TRACE": "DEBUG", "NOTSET": "DEBUG"}
_LEVELS |= {"HTTP": "INFO", "SANDBOX": "INFO", "SUCCESS": "INFO"}
_BARE = ("--fewshot_as_multiturn",)
"""Options of ours that take a value, and that other suites write without one."""
SEED = 3
"""The place of the seed of few-shot examples in lm-eval's four: those of Python, numpy, torch and few-shot examples."""


def verb_of(word: str, words: Sequence[str]) -> str:
    """What a first word means that is not a command here, as a hint; "" where no other suite has it."""
    if word == "eval" and len(words) > 1 and words[1].startswith("-"):
        return f"Leave it out: {shlex.join(['mm-eval', *words[1:]])}"
    if word in VERBS:
        return VERBS[word]
    if word.startswith("inspect_evals/"):
        return f"Tasks are named by an option: {shlex.join(['mm-eval', '--tasks', *words])}"
    first = next((place for place, each in enumerate(words) if not _ASSIGNED.match(each)), 0)
    if _program(words[first]) == "":
        return ""
    begin = (
        max(
            place for place, each in enumerate(words) if _program(each) and (not place or words[place - 1] != "--model")
        )
        + 1
    )
    own = next((place for place in range(begin, len(words)) if _OWN.match(words[place])), None)
    named = (
        [each for each in words[begin:own] if "/" in each and not each.startswith("-")] if "inspect" in words else []
    )
    rest = [*(["--tasks", ",".join(named)] if named else []), *(words[own:] if own is not None else [])]
    hint = f"Leave the program's name out: {shlex.join(['mm-eval', *(rest or ['--tasks', 'mme'])])}"
    several = {"accelerate", "accelerate.commands.launch", "torchrun"} & set(words)
    return hint + (" (several processes: torchrun -m mm_eval ...)" if several else "")


def _program(word: str) -> str:
    """The program that a word names, as `/opt/bin/lm_eval` does; "" for any other word."""
    name = word.rpartition("/")[2]
    return name if name in PROGRAMS and (name == word or word.startswith(("/", ".", "~"))) else ""


_ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_OWN = re.compile(r"--(model|tasks|model_args|config|data|limit|gen_kwargs)\b|-[mtaM]$|(ls|validate|run)$")
"""The first word of a command's own, after what starts a program."""


@dataclass
class Command:
    """The words of a command as they are translated. known: the options of the parser."""

    known: Collection[str]
    words: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    into: dict[str, list[str]] = field(default_factory=dict)

    def add(self, option: str, value: str | None = None) -> None:
        """An option of ours. value: None for a switch."""
        self.words += [option] if value is None else [f"{option}={value}"]


def words_of(verb: str, words: Sequence[str], known: Collection[str]) -> tuple[list[str], list[str]]:
    """The words of a command in our options, and a note for each option that does nothing here.

    known: the options of this verb, which are left as they are. Errors: ConfigError for an option that can't be left out.
    """
    made, queue = Command(known), [part for word in words for part in _parts(word, known)]
    queue = _with_file(queue)
    if verb == "bundle":
        queue = _with_folder_first(queue)
    if verb == "ls":
        return ["tasks" if word == "subtasks" else word for word in words], []
    while queue:
        word = queue.pop(0)
        name, equals, first = word.partition("=")
        name = SHORT.get(name, name) if name not in known else name
        if word == "-M" and queue and "=" in queue[0]:  # inspect_ai's model arguments; lm-eval's model
            name = "--model_arg"
        if not name.startswith("--"):
            made.words.append(word)
            continue
        given = [first] if equals else []
        if verb == "run" and name == "--model" and len(models := _taken(Flag("+"), given[:], queue)) > len(given):
            made.words += [part for model in models for part in (name, model)]  # VLMEvalKit names several behind one
        elif name in known:
            _own(made, name, given, queue)
        elif (flag := FLAGS.get(name[2:])) is not None:
            _other(made, name, flag, given, queue)
        elif verb == "run" and (meant := _abbreviated(name, known)):
            queue.insert(0, meant + equals + first)
        else:
            made.words.append(name + equals + first)
    for option, pairs in made.into.items():
        _join(made.words, option, pairs)
    return made.words, list(dict.fromkeys(made.notes))


def options_of(options: Options, known: Collection[str]) -> tuple[dict[str, object], list[str]]:
    """The options of `evaluate` without those of other suites that do nothing here, and a note for each that is on.

    Errors: ConfigError for an option of theirs that can't be left out.
    """
    kept, notes = {}, []
    seeds = {name: options[name] for name in SEEDS if options.get(name) is not None}
    if seeds and options.get("seed") is None:
        options = {**options, "seed": seeds.get(SEEDS[-1], next(reversed(seeds.values())))}
    if others := [f"{name}={value}" for name, value in seeds.items() if value != options["seed"]]:
        notes.append(f"a run has one seed, {options['seed']}; {', '.join(others)} is not used")
    for name, value in options.items():
        if name in SEEDS:
            continue
        flag = {**FLAGS, **ARGUMENTS}.get(name, Flag()) if name not in known else Flag()
        if flag.refused and value:
            raise ConfigError(f"{name} is not an option here: {flag.refused}", where="evaluate")
        if flag.ours or flag.into or flag.means or not (flag.note or flag.refused):
            kept[name] = value
        elif value:
            notes.append(f"{name}: {flag.note}")
    return kept, notes


def _abbreviated(name: str, known: Collection[str]) -> str:
    """The one option of lm-eval and lmms-eval that begins so: their parsers take `--output` for --output_path. "" for none.

    Errors: ConfigError for a word that is nearer to an option of theirs than to one of ours.
    """
    theirs = [*(f"--{flag}" for flag in {**LMMS_EVAL, **LM_EVAL}), *(each for each in known if each.startswith("--"))]
    begun = {each for each in theirs if len(name) > 5 and each.startswith(name)}
    if len(begun) == 1:
        return begun.pop()
    near = difflib.get_close_matches(name, theirs, n=1, cutoff=0.8)
    if near and near[0] not in known:
        raise ConfigError(f"unknown option {name!r}.", hint=f"Did you mean {near[0]!r}, an option of other suites?")
    return ""


def _with_file(words: list[str]) -> list[str]:
    """The words with the options of lm-eval's or lmms-eval's `--config FILE` before them, in its place.

    A file with `models:` is a release file of ours, and one that can't be read is left to its reader.
    """
    place = next((n for n, word in enumerate(words) if re.match(r"(--config|-C)(=|$)", word)), None)
    if place is None:
        return words
    inside = "=" in words[place]
    name = words[place].partition("=")[2] if inside else (words[place + 1 : place + 2] or [""])[0]
    stated = _stated(name)
    if stated is None:
        return words
    rest = [*words[:place], *words[place + (1 if inside else 2) :]]
    return [*(word for key, value in stated.items() for word in _as_words(key, value)), *rest]


def _means_models(key: object) -> bool:
    """Whether a key is `models`, or a slip for it that is followed by nothing of another suite's file."""
    return (
        isinstance(key, str) and key != "model" and bool(difflib.get_close_matches(key.lower(), ["models"], cutoff=0.8))
    )


def _stated(name: str) -> Fields | None:
    """The options of another suite's file; None for any other file. ConfigError for several runs in one."""
    import yaml

    from mm_eval.config.yaml import MAX_BYTES

    if not os.path.isfile(name):  # a pipe can be read once, and its reader is another
        return None
    try:
        with open(name, "rb") as file:
            text = file.read(MAX_BYTES + 1)
        if len(text) > MAX_BYTES:
            return None
        found = yaml.safe_load(text.decode("utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return None
    if isinstance(found, dict) and isinstance(found.get("model"), dict) and isinstance(found.get("data"), dict):
        data = [each.get("dataset") or key if isinstance(each, dict) else key for key, each in found["data"].items()]
        words = [*(f"--model {each}" for each in found["model"]), "--tasks", ",".join(map(str, data))]
        what = "it is a config of VLMEvalKit, which names classes of its code and their arguments."
        raise ConfigError(what, where=name, hint=f"Write mm-eval {' '.join(words)}.")
    runs = found if isinstance(found, list) else [found]
    if not runs or not all(
        isinstance(run, dict)
        and not any(_means_models(key) for key in run)
        and {"model", "tasks"} & run.keys()
        and not isinstance(run.get("model"), (list, dict))  # a slip for `models:`
        for run in runs
    ):
        return None
    if len(runs) > 1:
        hint = "Write a command for each, or a release file with `models:`."
        raise ConfigError(f"it holds {len(runs)} runs; one is needed.", where=name, hint=hint)
    stated = dict(runs[0])
    env = stated.pop("env", None) or {}
    unset = (
        [key for key, value in env.items() if not _is_as_here(str(key), str(value))] if isinstance(env, dict) else []
    )
    if unset:
        raise ConfigError(
            f"`env` sets {', '.join(map(str, unset))} for the whole process, which differ from the shell's.",
            where=name,
            hint="Set them in the shell (export NAME=...), and leave them out of the file.",
        )
    return stated


def _is_as_here(name: str, value: str) -> bool:
    """Whether an entry of `env:` is what the process has already: `${NAME}`, or its value."""
    return value in (f"${{{name}}}", f"${name}") or os.environ.get(name) in (value, os.path.expanduser(value))


def _as_words(key: object, value: object) -> list[str]:
    """One option of a file as words."""
    option = f"--{str(key).replace('-', '_')}"
    if value is None or value is False or value in ("", {}, []):
        return []
    if value is True:
        return [option]
    if isinstance(value, dict):
        return [f"{option}={json.dumps(value)}"]
    if isinstance(value, list):
        return [f"{option}={','.join('none' if each is None else str(each) for each in value)}"]
    return [f"{option}={value}"]


def _parts(word: str, known: Collection[str]) -> list[str]:
    """-L8 and -L=8 as -L 8."""
    if len(word) > 2 and word[:2] in SHORT and word[:2] not in known and not _NUMBER.fullmatch(word):
        return [word[:2], word[2:].removeprefix("=")]
    return [word]


def _with_folder_first(words: list[str]) -> list[str]:
    """`--tasks mme seedbench DIR` as `DIR --tasks mme seedbench`: the option would take all three words as tasks."""
    place = next((place for place, word in enumerate(words) if word in ("--tasks", "-t")), None)
    if place is None or _is_value(words[0]):
        return words
    end = next((end for end in range(place + 1, len(words)) if not _is_value(words[end])), len(words))
    return words if end - place < 3 else [words[end - 1], *words[: end - 1], *words[end:]]


def _is_value(word: str) -> bool:
    return not word.startswith("-") or bool(_NUMBER.fullmatch(word)) or word == "-"


def _taken(flag: Flag, given: list[str], queue: list[str]) -> list[str]:
    """The value of an option, its words taken from the queue."""
    if given or flag.takes == 0:
        return given
    if flag.takes == "+":
        while queue and _is_value(queue[0]):
            given.append(queue.pop(0))
    elif queue and _is_value(queue[0]):
        given.append(queue.pop(0))
    return given


def _own(made: Command, name: str, given: list[str], queue: list[str]) -> None:
    """An option that mm-eval has, too: its value may be written otherwise."""
    if name == "--tasks":
        made.add(name, _tasks(_taken(Flag("+"), given, queue)))
    elif name in _PAIRS:
        given = given or [queue.pop(0)] if queue else given
        while queue and _is_value(queue[0]) and "=" in queue[0]:
            given.append(queue.pop(0))
        if name == "--gen_kwargs":
            given = [re.sub(r"^\s*stop=", "until=", pair) for pair in given]
        text = ",".join(stripped for pair in given if (stripped := pair.strip().strip(",")))  # `a=1, b=2` too
        if text or name not in made.known:
            made.add(name, text)
    elif name in _BARE and not given and not (queue and _is_value(queue[0])):
        made.add(name, "true")
    elif (read := _READ.get(name)) is not None and (given or queue and _is_value(queue[0])):
        value, note = read(given[0] if given else queue.pop(0))
        if value is not None:
            made.add(name, value)
        if note:
            made.notes.append(f"{name}: {note}")
    else:
        made.words.append(f"{name}={given[0]}" if given else name)


def _other(made: Command, name: str, flag: Flag, given: list[str], queue: list[str]) -> None:
    """An option that mm-eval has not."""
    given = _taken(flag, given, queue)
    if flag.form:
        given = [flag.form.format(given[0] if given else "")]
    text = given[0] if given else ""
    if name == "--offset" and text == "0":
        return
    if flag.refused:
        raise ConfigError(f"{name} is not an option here: {flag.refused}")
    if name == "--model_arg":
        made.into.setdefault("--model_args", []).extend(given)
    elif name in _SPECIAL:
        _SPECIAL[name](made, text)
    elif flag.into:
        option, key = flag.into
        made.into.setdefault(option, []).append(f"{key}={text or 'True'}")
    elif flag.ours and flag.form:
        made.add(flag.ours, text)
    elif flag.ours:
        queue[:0] = [flag.ours, *given]
    elif flag.means:
        queue[:0] = flag.means
    if flag.note:
        made.notes.append(f"{name}: {flag.note}")


def _tasks(words: Sequence[str]) -> str:
    names = [name.strip() for word in words for name in word.split(",") if name.strip()]
    if len(names) == 1 and names[0] in LISTS:
        raise ConfigError(f"--tasks {names[0]} names no task.", hint=f"Write mm-eval ls {LISTS[names[0]]}.")
    return ",".join(names)


def _join(words: list[str], option: str, pairs: Sequence[str]) -> None:
    """Adds `NAME=value` to the option's value; what the command states itself stays, and of one name the last pair counts."""
    pairs = list({pair.partition("=")[0]: pair for pair in pairs}.values())
    places = [place for place, word in enumerate(words) if word.startswith(f"{option}=")]
    if not places:
        words.append(f"{option}={','.join(pairs)}")
        return
    text = words[places[-1]].partition("=")[2]
    if text.lstrip().startswith("{"):
        from mm_eval.config.arguments import parse_json

        stated = parse_json(text, option)
        more = dict(pair.split("=", 1) for pair in pairs)
        words[places[-1]] = f"{option}={json.dumps({**more, **stated})}"
        return
    names = {pair.partition("=")[0].strip() for pair in text.split(",")}
    more_pairs = [pair for pair in pairs if pair.partition("=")[0] not in names]
    words[places[-1]] = f"{option}={','.join([text, *more_pairs]) if text else ','.join(more_pairs)}"


def _seed(text: str) -> tuple[str | None, str]:
    """lm-eval's three or four seeds as the one of mm-eval, which all draws of a run derive from."""
    seeds = [part.strip() for part in text.split(",")]
    if len(seeds) not in (3, 4) or not all(seed.isdigit() or seed.lower() == "none" for seed in seeds):
        return text, ""
    stated = [seed for seed in seeds if seed.lower() != "none"]
    if not stated:
        return None, ""
    chosen = seeds[SEED] if len(seeds) > SEED and seeds[SEED].lower() != "none" else stated[-1]
    others = sorted({seed for seed in stated if seed != chosen})
    return chosen, f"a run has one seed, {chosen}; {', '.join(others)} is not used" if others else ""


def _batch_size(text: str) -> tuple[str | None, str]:
    return ("auto", "") if re.fullmatch(r"auto:\d+(\.\d+)?", text) else (text, "")


def _limit(text: str) -> tuple[str | None, str]:
    """-1 means no limit in lmms-eval. A range `10-20` of inspect_ai is refused: docs are named by --samples."""
    if text.strip() in ("-1", "-1.0"):
        return None, ""
    if re.fullmatch(r"[0-9]+-[0-9]+", text.strip()):
        raise ConfigError(
            f"--limit {text} is a range; a count is needed.", hint="Name documents with --samples '{\"mme\": [9]}'."
        )
    return text, ""


def _level(text: str) -> tuple[str | None, str]:
    return _LEVELS.get(text.upper(), text), ""


def _output_path(text: str) -> tuple[str | None, str]:
    """lm-eval takes the path of a JSON file, too; a run is a folder."""
    if text.endswith(".json"):
        folder = text.removesuffix(".json")
        return folder, f"a run is a folder: {folder}, with results.json in it"
    return text, ""


_READ: Mapping[str, Callable[[str], tuple[str | None, str]]] = {
    "--seed": _seed,
    "--batch_size": _batch_size,
    "--limit": _limit,
    "--verbosity": _level,
    "--output_path": _output_path,
}


def _mode(made: Command, text: str) -> None:
    """VLMEvalKit's three modes."""
    if text == "infer":
        made.add("--predict_only")
    elif text == "eval":
        raise ConfigError("--mode eval asks no model.", hint="Write mm-eval score RUN.")


def _stops(made: Command, text: str) -> None:
    made.into.setdefault("--gen_kwargs", []).append(f"until={json.dumps(text.split(','))}")


_SPECIAL: Mapping[str, Callable[[Command, str], None]] = {
    "--mode": _mode,
    "--stop_seqs": _stops,
}
