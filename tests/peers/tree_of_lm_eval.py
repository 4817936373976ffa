"""lm-eval's own numbers for tasks of its tree, on made-up documents and drawn answers, under its own Python.

    python tree_of_lm_eval.py NAMES.json OUT [DOCS [SECONDS]]

Writes OUT/<n>/: rows.parquet, answers.jsonl (which mm-eval replays) and said.json with what `simple_evaluate` gives.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", DISABLE_MULTIPROC="1")
import contextlib

import datasets
import jinja2
import jinja2.meta
import lm_eval
import made_up_docs
from lm_eval.api.model import LM
from lm_eval.api.task import ConfigurableTask
from lm_eval.tasks import TaskManager

SPLITS = ("training_split", "validation_split", "test_split", "fewshot_split")
POOL = ("A", "The answer is B.", "yes", "No, it is 42.", "(C) third choice", "cat\n\\boxed{7}", "So #### 3", "red")


def drawn(*names: object) -> int:
    return int.from_bytes(hashlib.sha256("/".join(map(str, names)).encode()).digest()[:4], "big")


class Drawn(LM):
    """Answers that hang on the document alone: the gold answer, a form of it, or one of a pool; drawn log-likelihoods."""

    def __init__(self) -> None:
        super().__init__()
        self.golds: dict[int, str] = {}

    def text(self, doc: int) -> str:
        gold, form = self.golds.get(doc, ""), drawn("form", doc) % 4
        return (gold, f"The answer is {gold}.", POOL[drawn("pool", doc) % len(POOL)], f"{gold}\nIt is so.")[form]

    def generate_until(self, requests: Any, disable_tqdm: bool = False) -> list[str]:
        return [self.text(each.doc_id) for each in requests]

    def loglikelihood(self, requests: Any, disable_tqdm: bool = False) -> list[tuple[float, bool]]:
        return [likelihood(each.doc_id, each.idx) for each in requests]

    def loglikelihood_rolling(self, requests: Any, disable_tqdm: bool = False) -> list[float]:
        return [likelihood(each.doc_id, 0)[0] for each in requests]

    @property
    def tokenizer_name(self) -> str:
        return "drawn"

    def apply_chat_template(self, chat_history: Any, add_generation_prompt: bool = True) -> str:
        return ""


def likelihood(doc: int, place: int) -> tuple[float, bool]:
    return -1.0 - drawn("ll", doc, place) % 1000 / 50, drawn("greedy", doc, place) % 2 == 0


def names_in(config: Any) -> list[str]:
    """The columns that the templates of a config read."""
    found: list[str] = []
    env = jinja2.Environment()
    for key in ("doc_to_text", "doc_to_target", "doc_to_choice", "description"):
        text = getattr(config, key, None)
        if isinstance(text, str) and re.fullmatch(r"\w+", text):
            found.append(text)
        elif isinstance(text, str):
            with contextlib.suppress(jinja2.TemplateError):
                found += sorted(jinja2.meta.find_undeclared_variables(env.parse(text)))
    return list(dict.fromkeys(found))


class Stop(Exception):
    pass


def made(manager: Any, name: str, count: int) -> list[dict[str, Any]]:
    """Rows that the task's own code takes."""
    named: list[str] = []

    def peek(self: Any, *_: Any, **__: Any) -> None:
        if callable(self.config.custom_dataset):
            raise made_up_docs.Unfit("custom_dataset")
        named.extend(names_in(self.config))
        raise Stop

    ConfigurableTask.download = peek
    with contextlib.suppress(Stop):
        manager.load([name])

    def use(docs: list[made_up_docs.Made]) -> None:
        def given(self: Any, *_: Any, **__: Any) -> None:
            self.dataset = {getattr(self.config, each): made_up_docs.Split(docs) for each in SPLITS}

        ConfigurableTask.download = given
        task = next(iter(manager.load([name])["tasks"].values()))
        values: dict[str, list[Any]] = {}
        for i, doc in enumerate(task.eval_docs):
            context = task.doc_to_text(doc)
            target = task.doc_to_target(doc)
            requests = task.construct_requests(
                doc, context, metadata=(name, i, 1), apply_chat_template=False, chat_template=None
            )
            requests = requests if isinstance(requests, list) else [requests]
            assert isinstance(context, (str, int)) and all(
                isinstance(arg, (str, dict)) for r in requests for arg in r.args
            )
            if task.OUTPUT_TYPE == "generate_until":
                results: Any = [str(target)]
            else:
                results = [likelihood(i, each.idx) for each in requests]
                if task.OUTPUT_TYPE != "multiple_choice" and len(results) == 1:
                    results = results if task.OUTPUT_TYPE != "loglikelihood_rolling" else [results[0][0]]
            for metric, value in task.process_results(doc, results).items():
                values.setdefault(metric, []).append(value)
        assert values
        for metric, aggregate in task.aggregation().items():
            if metric in values:
                float(aggregate(values[metric]))

    return made_up_docs.rows_of(made_up_docs.fitted(use, count, made_up_docs.text_guess, named))


def run(manager: Any, name: str, folder: Path, count: int) -> None:
    rows = made(manager, name, count)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "rows.parquet"
    datasets.Dataset.from_list(rows).to_parquet(file)

    def given(self: Any, *_: Any, **__: Any) -> None:
        data = datasets.load_dataset("parquet", data_files={"test": str(file)}, cache_dir=str(folder / "cache"))["test"]
        splits = [getattr(self.config, each) for each in SPLITS]
        self.dataset = {each: data for each in splits if each}

    ConfigurableTask.download = given
    model = Drawn()
    task = next(iter(manager.load([name])["tasks"].values()))
    for i, doc in enumerate(task.eval_docs):
        target = task.doc_to_target(doc)
        model.golds[i] = str(target[0] if isinstance(target, list) and target else target)
    found = lm_eval.simple_evaluate(
        model=model, tasks=[name], num_fewshot=0, task_manager=manager, bootstrap_iters=2, log_samples=True
    )
    parts: dict[str, Any] = {part: found[part] for part in ("results", "samples")}
    config = task.config
    parts["about"] = {
        "task": name, "output_type": config.output_type, "splits": sorted({s for s in (getattr(config, k) for k in SPLITS) if s}),
        "repeats": config.repeats,
    }  # fmt: skip
    with (folder / "answers.jsonl").open("w") as out:
        seen = set()
        for row in found["samples"].get(name, ()):
            if row["doc_id"] in seen:
                continue
            seen.add(row["doc_id"])
            answers = row["resps"]
            if config.output_type == "generate_until":
                resps: Any = list(answers[0])
            elif config.output_type == "loglikelihood_rolling":
                resps = [[answers[0][0], False]]
            else:
                resps = [each[0] for each in answers]
            out.write(json.dumps({"task": name, "doc_id": row["doc_id"], "resps": resps}, default=str) + "\n")
    said = json.dumps(parts, default=lambda value: value.tolist() if hasattr(value, "tolist") else str(value))
    (folder / "said.json").write_text(said)


def each_alone(run: Callable[..., None], manager: Any) -> None:
    """Calls `run` for each name of the command, in a process of its own with a limit of CPU seconds; log.txt has a line a task.

    run: (manager, name, folder, number of documents)
    """
    names, out = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]).resolve()
    count, seconds = (int(sys.argv[at]) if len(sys.argv) > at else usual for at, usual in ((3, 6), (4, 120)))
    out.mkdir(parents=True, exist_ok=True)
    datasets.disable_progress_bars()
    log = (out / "log.txt").open("a")
    for place, name in enumerate(names):
        folder = out / f"{place:04}"
        if folder.exists():
            continue
        child = os.fork()
        if not child:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            try:
                run(manager, name, folder, count)
                said = "ok"
            except BaseException as error:
                said = f"{type(error).__name__}: {error}"[:200].replace("\n", " ")
            log.write(f"{name}\t{said}\n")
            log.flush()
            os._exit(0)
        began = time.time()
        while not (ended := os.waitpid(child, os.WNOHANG))[0]:
            if time.time() - began > 3 * seconds:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                log.write(f"{name}\ttime\n")
                log.flush()
                break
            time.sleep(0.02)
        if ended[1] == signal.SIGXCPU or ended[1] == signal.SIGKILL:
            log.write(f"{name}\tCPU time\n")
            log.flush()


if __name__ == "__main__":
    each_alone(run, TaskManager())
