"""`mm-eval show TASK --judge`: the prompts of a task's judge about one answer, and what its verdicts would cost."""

from __future__ import annotations

import argparse

from mm_eval.cli.options import read_pairs
from mm_eval.cli.say import say, say_lines
from mm_eval.engine.model import dollars, flatten
from mm_eval.judge.config import judge_of_task
from mm_eval.judge.cost import cost_of, gold_answer, questions_about
from mm_eval.judge.judges import Judge, make_judges
from mm_eval.prepare import Prepared
from mm_eval.values.errors import ConfigError
from mm_eval.values.words import counted


def show_judge(args: argparse.Namespace, prepared: Prepared) -> None:
    """Prints the questions about one doc's gold answer, or about `--answer`, and the estimate for all docs.

    Errors: ConfigError for a task without a judge, and for a doc without a gold answer where `--answer` is not given.
    """
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
        docs = counted(len(prepared.doc_ids[name]), "document")
        say(f"verdicts on {docs}{f' by {judge.name}' if judge else ''}: {cost}")
        if model is not None and dollars(model, {}) is None:
            say("prices: give input_price=...,output_price=... (dollars per million tokens) in --judge_args")


def _judge(args: argparse.Namespace, prepared: Prepared) -> Judge | None:
    """The judge of the options, its weights not loaded; None where none is named."""
    if not args.judge:
        if args.judge_args:
            raise ConfigError("--judge_args needs the judge's adapter: --judge openai.", where="--judge_args")
        return None
    own = read_pairs(args.judge_args, "--judge_args")
    [judge] = make_judges(prepared.request.with_options(judge=(args.judge,), judge_args=(own,), no_judge=False))
    return judge
