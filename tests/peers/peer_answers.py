"""Runs a peer's own tasks over given answers, under the peer's own Python: `python peer_answers.py PEER SPEC.json OUT.json`.

SPEC: {"answers": {form: {task: {doc id: answers}}}}; without it OUT is the list of the peer's names. A generated answer is a
text, a likelihood a list with [log-likelihood, is greedy] for each choice. OUT: by task its prompts, and its numbers by form;
a task that can't be run has the reason under "refused" and ends nothing.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

Answers = Mapping[str, Mapping[str, Any]]


def answer_to(answers: Answers, task: str, doc_id: int, choice: int) -> Any:
    """The answer to one request; nothing for a document that the other suite does not have."""
    found = answers.get(task, {}).get(str(doc_id), "")
    return found if isinstance(found, str) else tuple(found[choice % len(found)])


def methods(answers: Answers) -> dict[str, Callable[..., Any]]:
    """The methods of a model that gives these answers."""

    def generate_until(self: Any, requests: Sequence[Any], *rest: Any, **options: Any) -> list[str]:
        return [str(answer_to(answers, each.task_name, each.doc_id, 0)) for each in requests]

    def loglikelihood(self: Any, requests: Sequence[Any], *rest: Any, **options: Any) -> list[Any]:
        return [answer_to(answers, each.task_name, each.doc_id, each.idx) or (-1.0, False) for each in requests]

    def loglikelihood_rolling(self: Any, requests: Sequence[Any], *rest: Any, **options: Any) -> list[float]:
        return [answer_to(answers, each.task_name, each.doc_id, 0)[0] for each in requests]

    found = {each.__name__: each for each in (generate_until, loglikelihood, loglikelihood_rolling)}
    return {**found, "generate_until_multi_round": generate_until}


def without_network() -> None:
    """A judge that a task would ask fails at once, and is not waited for."""
    import socket
    import time

    def refused(*arguments: Any, **options: Any) -> Any:
        raise OSError("no network in this comparison")

    socket.socket.connect = refused  # type: ignore[method-assign]
    socket.getaddrinfo = refused
    time.sleep = lambda seconds: None


def of_lm_eval() -> tuple[Any, Callable[..., Any], type]:
    """lm-eval's task manager, its evaluation, and the class of its models."""
    from lm_eval import simple_evaluate
    from lm_eval.api.model import LM
    from lm_eval.tasks import TaskManager

    return TaskManager(), simple_evaluate, LM


def of_lmms_eval() -> tuple[Any, Callable[..., Any], type]:
    """The same of lmms-eval."""
    from lmms_eval.api.model import lmms
    from lmms_eval.evaluator import simple_evaluate
    from lmms_eval.tasks import TaskManager

    out = tempfile.mkdtemp()
    cli = SimpleNamespace(output_path=out, process_with_media=True, log_samples=True, predict_only=False, limit=None)

    def evaluate(**options: Any) -> Any:
        return simple_evaluate(**options, batch_size=1, force_simple=True, cli_args=cli)

    return TaskManager("ERROR"), evaluate, lmms


def run(task: str, spec: Mapping[str, Any], suite: tuple[Any, Callable[..., Any], type]) -> dict[str, Any]:
    """The prompts of a task, and its numbers over each form of answers."""
    manager, evaluate, base = suite
    prompts: dict[int, Any] = {}
    numbers: dict[str, dict[str, float]] = {}
    for form, answers in spec["answers"].items():
        model = type("Given", (base,), methods(answers))()
        found = evaluate(model=model, tasks=[task], task_manager=manager, bootstrap_iters=0, log_samples=True)
        row = found["results"][task]
        numbers[form] = {
            key: float(value)
            for key, value in row.items()
            if "," in key and "_stderr" not in key and isinstance(value, (int, float)) and not isinstance(value, bool)
        }
        if not prompts:
            for sample in found["samples"][task]:
                arguments = sample["arguments"]
                first = arguments[0]
                while isinstance(first, (list, tuple)):
                    first = first[0]
                if isinstance(arguments, Mapping):  # lm-eval: {"gen_args_0": {"arg_0": ...}}
                    first = next(iter(arguments.values()))["arg_0"]
                prompts[int(sample["doc_id"])] = first
    return {"prompts": prompts, "numbers": numbers}


def main(peer: str, spec: Mapping[str, Any]) -> Any:
    os.environ.update(DISABLE_MULTIPROC="1", OPENAI_API_KEY="none")
    suite = of_lm_eval() if peer == "lm-eval" else of_lmms_eval()
    if "answers" not in spec:
        return sorted(suite[0].all_tasks)
    without_network()
    found: dict[str, Any] = {}
    for task in spec["tasks"]:
        try:
            found[task] = run(task, spec, suite)
        except (Exception, SystemExit) as error:  # of the task's own code, of its data, or of the package
            retried = getattr(error, "last_attempt", None)
            reason = retried.exception() if retried is not None else error
            found[task] = {"refused": f"{type(reason).__name__}: {reason}"[:300]}
        print(task, found[task].get("refused", "done"), flush=True)
    return found


if __name__ == "__main__":
    with open(sys.argv[2], encoding="utf-8") as file:
        result = main(sys.argv[1], json.load(file))
    with open(sys.argv[3], "w", encoding="utf-8") as file:
        json.dump(result, file, default=str)
