"""Compares our shipped tasks with a peer's own tasks of the same name, on the bundled samples and over the same given answers.

Every task of ours that the peer has under its name or one of its aliases takes part, and so does a variant `<name>_lmms`, which
stands for the peer's rule. What the peer lacks is listed.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mm_eval.cli import main as mm_eval
from mm_eval.config.manager import TaskManager
from mm_eval.gold_checks.trial import wrong_text
from mm_eval.prepare import load_configs, prepare_without_model
from mm_eval.request import RunRequest
from mm_eval.scoring.gold import gold_texts
from mm_eval.values.errors import MMEvalError
from tests.peers import given_answers, recorded, suites
from tests.peers.given_answers import Gold

ROOT = Path(__file__).resolve().parents[2]
VARIANT, VARIANTS = "_lmms", {"seedbench_first_character": "seedbench"}
"""How a variant with the peer's rule is called, and the variant with another name."""
NO_SAMPLE = ("can't be loaded", "not found. Available")
"""What a task says whose subset is not in the sample: MMLU has three of 57 there."""
PERCENT = ("mathvision_", "mmbench_")
"""The peer's tasks whose numbers are percent."""
SAME_METRIC = {
    "accuracy": "acc", "f1_score": "f1", "yes_ratio": "yes_rate", "all": "acc", "overall": "acc",
    "relaxed_overall": "relaxed_accuracy", "relaxed_human_split": "human", "relaxed_augmented_split": "augmented",
}  # fmt: skip
"""Other words for a metric, without the task's name in front."""


@dataclass
class Pair:
    """Two tasks that are compared, by their names."""

    ours: str
    theirs: str


@dataclass
class Report:
    """The values of all pairs, and what could not be compared.

    lacking: our tasks that the peer does not have. refused: by task why it was not run. alone: by task the peer's numbers
    without a counterpart of ours. with_variant: our tasks that have a variant with the peer's rule.
    """

    mine: dict[str, recorded.Recorded] = field(default_factory=dict)
    theirs: dict[str, recorded.Recorded] = field(default_factory=dict)
    lacking: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    alone: dict[str, list[str]] = field(default_factory=dict)
    with_variant: list[str] = field(default_factory=list)

    def notes(self) -> list[str]:
        """What could not be compared, in lines."""
        found = [f"not run: {name}: {why}" for name, why in sorted(self.refused.items())]
        found += [f"no counterpart of ours: {name}: {', '.join(keys)}" for name, keys in sorted(self.alone.items())]
        return [*found, f"the peer lacks {len(self.lacking)} of our tasks: {', '.join(self.lacking)}"]


def pairs(names: Sequence[str], others: Mapping[str, str], theirs: set[str]) -> Iterator[Pair]:
    """Our tasks with the peer's of the same name. names: ours. others: alias -> our name."""
    aliases: dict[str, list[str]] = {}
    for alias, name in others.items():
        aliases.setdefault(name, []).append(alias)
    for name in names:
        plain = VARIANTS.get(name, name.removesuffix(VARIANT))
        found = [each for each in (name, *aliases.get(name, ()), plain, *aliases.get(plain, ())) if each in theirs]
        if found:
            yield Pair(name, found[0])


def data_root(folder: Path, hub_ids: Sequence[Sequence[str]]) -> Path:
    """The bundled samples, each under every name that the hub or the peer has for it. hub_ids: groups of equal names."""
    shutil.rmtree(folder, ignore_errors=True)
    data = ROOT / "assets" / "data"
    for place in sorted(path for path in data.glob("*/*") if path.is_dir()):
        own = str(place.relative_to(data))
        names = {own, *(name for group in hub_ids if own in group for name in group)}
        names |= {name.replace("lmms-lab/", "lmms-lab-encoder/", 1) for name in names}
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            if not (folder / name).exists():
                (folder / name).symlink_to(place)
    return folder


def golds(name: str, root: Path) -> dict[int, Gold]:
    """What is right for each document of one of our tasks."""
    request = RunRequest(tasks=(name,), data_root=str(root), offline=True)
    plan = prepare_without_model(request, name, load_configs(request))
    task, style, docs = plan.tasks[name], plan.styles[name], plan.doc_ids[name]
    found: dict[int, Gold] = {}
    for instance in task.instances(docs, style, lambda doc_id: None):
        doc_id = instance.doc_id
        if instance.error is not None:
            continue
        if instance.request_type == "generate_until":
            texts = gold_texts(task, style, instance) or [""]
            found[doc_id] = Gold(texts[0], wrong_text(texts, instance.metadata.get("choices")))
        else:
            right = instance.target if isinstance(instance.target, list) else [instance.target]
            indices = tuple(place for place in right if isinstance(place, int))
            found[doc_id] = Gold(choices=max(found.get(doc_id, Gold()).choices, instance.choice + 1), right=indices)
    return found


def run_ours(names: Sequence[str], answers: Path, root: Path, folder: Path) -> Path:
    """A run folder of our tasks over given answers."""
    shutil.rmtree(folder, ignore_errors=True)
    words = ["run", "--tasks", ",".join(names), "--model", "replay", "--model_args", f"path={answers}", "--offline"]
    words += [
        "--data_root",
        str(root),
        "--output_path",
        str(folder),
        "--no_report",
        "--bootstrap_iters",
        "0",
        "--no_judge",
    ]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = mm_eval(words)
    if code not in (0, 3):
        raise suites.Failed(f"mm-eval ended with {code}:\n{printed.getvalue()[-2000:]}")
    return folder


def bare_marks(prompt: Any) -> Any:
    """A prompt whose marks of pictures have no numbers: adapters replace them in either suite."""
    return re.sub(r"<image ?\d+>", "<image>", prompt) if isinstance(prompt, str) else prompt


def normal(metric: str, task: str) -> str:
    """A metric's name without the task's, in lower case, and one word for equal metrics."""
    text = metric.lower()
    for prefix in (task.lower(), task.lower().partition("_")[0], task.lower().removesuffix(VARIANT)):
        text = text.removeprefix(f"{prefix}_")
    text = re.sub(r"[\s-]+", "_", text)
    return SAME_METRIC.get(text, text)


def counterpart(key: str, pair: Pair, row: Mapping[str, Any], levels: Mapping[str, Any], alone: bool) -> Any:
    """Our number for a key "metric,filter" of the peer; None if there is none. alone: whether it is the peer's only metric.

    levels: our numbers by category; a metric of the peer that is named as a category is that category's first number.
    """
    if key in row:
        return row[key]
    metric, _, pipeline = key.partition(",")
    own = {
        name: value
        for name, value in row.items()
        if "," in name and "_stderr" not in name and isinstance(value, (int, float))
    }
    wanted = normal(metric, pair.theirs)
    same = [value for name, value in own.items() if normal(name.partition(",")[0], pair.ours) == wanted]
    exact = [value for name, value in own.items() if name == f"{metric},{pipeline}"]
    if exact or len(same) == 1:
        return (exact or same)[0]
    for level in levels.values():
        for category, numbers in level.items():
            if re.sub(r"[\s-]+", "_", category.lower()) == wanted:
                return next(value for name, value in numbers.items() if "," in name)
    return next(iter(own.values())) if alone and own else None


def compare(
    peer: str, python: Path, scratch: Path, quick: bool, reuse: bool = False, only: Sequence[str] = ()
) -> Report:
    """The values of every task that both have. only: these tasks of ours; all if there are none."""
    out = scratch / "out" / f"shipped-{peer}"
    out.mkdir(parents=True, exist_ok=True)
    environment = suites.environment_of(out, "home-peer")
    root = data_root(out / "data", [])

    def ask_peer(spec: Mapping[str, Any], name: str) -> Any:
        said, result = out / f"{name}-spec.json", out / f"{name}.json"
        said.write_text(json.dumps(spec), encoding="utf-8")
        if not (reuse and result.exists()):
            shutil.rmtree(out / "home-peer", ignore_errors=True)
            command = [str(python), str(suites.HERE / "peer_answers.py"), peer, str(said), str(result)]
            suites.call(command, root, environment, out / f"{name}.log")
        return json.loads(result.read_text(encoding="utf-8"))

    theirs = set(ask_peer({}, "names"))
    manager = TaskManager()
    aliases = {each.name: each.members[0] for each in manager.entries.values() if each.kind == "alias"}
    ours = [name for name in manager.all_tasks if "::" not in name]
    found = list(pairs(ours, aliases, theirs))
    with_variant = [name for name in ours if f"{name}{VARIANT}" in ours]
    report = Report(lacking=sorted(set(ours) - {pair.ours for pair in found}), with_variant=with_variant)
    if only:
        found = [pair for pair in found if pair.ours in only]
    configs = list(manager.load([pair.ours for pair in found]).tasks.values())
    judged = [config.task for config in configs if config.judge is not None]
    report.refused |= dict.fromkeys(judged, "its numbers need a judge")
    found = [pair for pair in found if pair.ours not in judged]
    own = {config.dataset_path for config in configs}  # these have configurations of their own
    hub_ids = [
        [name for name in config.metadata["hub"] if name not in own or (ROOT / "assets" / "data" / name).is_dir()]
        for config in configs
        if isinstance(config.metadata.get("hub"), list)
    ]
    root = data_root(out / "data", hub_ids)
    by_form, used = _answers(found, root, given_answers.QUICK if quick else (*given_answers.FORMS, "mixed"), report)
    said = {
        form: {pair.theirs: answers[pair.ours] for pair in used if pair.ours in answers}
        for form, answers in by_form.items()
    }
    spec = {"tasks": sorted({pair.theirs for pair in used}), "answers": said}
    results = ask_peer(spec, "answers")
    for form, answers in by_form.items():
        names = [pair.ours for pair in used if pair.ours in answers]
        path = out / "answers.jsonl"
        rows = [
            {"task": name, "doc_id": doc_id, "resps": [text] if isinstance(text, str) else text}
            for name in names
            for doc_id, text in answers[name].items()
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        folder = run_ours(names, path, root, out / "ours")
        add(report, form, [pair for pair in used if pair.ours in answers], folder, results)
    return report


def _answers(
    found: Sequence[Pair], root: Path, forms: Sequence[str], report: Report
) -> tuple[dict[str, dict[str, dict[int, Any]]], list[Pair]]:
    """By form the answers to the documents of each of our tasks; and the pairs whose task has documents with a right answer.

    A variant gets the answers of the task whose variant it is.
    """
    by_form: dict[str, dict[str, dict[int, Any]]] = {}
    used, made = [], {}
    for pair in sorted(found, key=lambda pair: pair.ours.endswith(VARIANT) or pair.ours in VARIANTS):
        try:
            if pair.theirs not in made:
                right = golds(pair.ours, root)
                made[pair.theirs] = given_answers.answers(pair.theirs, right, forms)
        except MMEvalError as error:
            if not any(text in str(error) for text in NO_SAMPLE):
                report.refused[pair.ours] = str(error)
            continue
        for form, answers in made[pair.theirs].items():
            by_form.setdefault(form, {})[pair.ours] = answers
        if made[pair.theirs]:
            used.append(pair)
    return by_form, used


def add(report: Report, form: str, used: Sequence[Pair], folder: Path, results: Mapping[str, Any]) -> None:
    """Adds the values of a form to a report: prompts once, numbers as "metric@form"."""
    said = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    mine = recorded.ours(folder)
    for pair in used:
        theirs = results.get(pair.theirs, {"refused": "no result"})
        if "refused" in theirs:
            report.refused[pair.ours] = theirs["refused"]
            continue
        left = report.mine.setdefault(pair.ours, recorded.Recorded()).values
        right = report.theirs.setdefault(pair.ours, recorded.Recorded()).values
        left["prompt"] |= {doc_id: bare_marks(text) for doc_id, text in mine[pair.ours].values["prompt"].items()}
        right["prompt"] |= {int(doc_id): bare_marks(text) for doc_id, text in theirs["prompts"].items()}
        row, levels = said["results"][pair.ours], said.get("categories", {}).get(pair.ours, {})
        numbers = theirs["numbers"].get(form, {})
        for key, value in numbers.items():
            own = counterpart(key, pair, row, levels, len(numbers) == 1)
            if own is None:
                missing = report.alone.setdefault(pair.ours, [])
                missing += [key] if key not in missing else []
                continue
            if pair.theirs.startswith(PERCENT):  # and rounded to two digits
                value = own if abs(value - 100 * own) < 0.0051 else value / 100
            left["number"][f"{key}@{form}"], right["number"][f"{key}@{form}"] = own, value
