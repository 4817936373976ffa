"""Reads results.json: the numbers of a row as values, and what a reader should know before them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mm_eval.results.answered_by import oddities
from mm_eval.values.types import MetricKey, Number
from mm_eval.values.words import of_all

STOPPED = "stopped"
"""The key of a row whose run ended by what it saw, with the words: "stopped after 41% of the docs: decided"."""
AFTER_LOOKING = "intervals_after_looking"
"""The key of a row with the 95% intervals of a run that was stopped by what it saw, by number: they hold all the same."""


def numbers_of(row: Mapping[str, Any], better: Mapping[str, bool] | None = None) -> list[Number]:
    """The numbers of a row of results.json, in its order. better: the row's part of `higher_is_better`.

    This is the only reader of the string keys: everything after it has values.
    """
    scored = row.get("n", 0) - row.get("failed", 0) - row.get("not_requested", 0)
    found = []
    for text, value in row.items():
        key = MetricKey.parse(text)
        if key is None or key.is_stderr:
            continue
        interval = row.get("intervals", {}).get(text)
        found.append(
            Number(
                key,
                value,
                row.get(str(MetricKey(key.metric, key.scorer, is_stderr=True))),
                None if interval is None else (interval[0], interval[1]),
                row.get("n_by_metric", {}).get(text, scored),
                (better or {}).get(key.metric),
            )
        )
    return found


def headline_of(results: Mapping[str, Any], name: str) -> Number | None:
    """The number by which a task is compared: that of `metadata.metric`, else the first. None if it has no numbers."""
    stated = results["configs"].get(name, {}).get("metadata") or {}
    numbers = numbers_of(results["results"][name], results["higher_is_better"].get(name))
    wanted = (number for number in numbers if stated.get("metric") in (number.metric, str(number.key)))
    return next(wanted, numbers[0] if numbers else None)


def is_official(judge: Mapping[str, Any]) -> bool:
    """Whether every verdict came from the judge that the benchmark's authors used, or none is known. judge: of results.json.

    A server's own name for the model that replied decides, where it gives one. Recorded verdicts go by the name that they are
    given (`--judge_args name=`).
    """
    official = judge["official"]
    returned = {model.split(" (")[0] for model in judge["models"]} or {judge["name"]}
    return official is None or returned == {official}


def warnings_of(results: Mapping[str, Any]) -> list[str]:
    """What a reader should know before the numbers, a sentence a task; empty where nothing is odd."""
    of_tasks = [f"{name}: {said}" for name, row in results["results"].items() for said in row.get("warnings", ())]
    return [*oddities(results), *of_tasks]


def unanswered_words(row: Mapping[str, Any]) -> str:
    """How many docs of a row have a missing answer, by kind: "5 of 20 docs (3 filtered, 2 refused)". Empty for none."""
    if not (count := row.get("unanswered", 0)):
        return ""
    filtered, refused = row.get("filtered", 0), row.get("refused", 0)
    cut = count - filtered - refused
    kinds = [
        *([f"{filtered:,} filtered"] if filtered else []),
        *([f"{refused:,} refused"] if refused else []),
        *([f"{cut:,} cut before an answer"] if cut > 0 else []),
    ]
    return f"{of_all(count, row['n'], 'doc')} ({', '.join(kinds)})"


def incomplete(row: Mapping[str, Any]) -> list[str]:
    """What a row's numbers lack, in words: docs that failed, were not requested or have no verdict, prompts that were cut."""
    flaws = {
        "failed": ("doc", "failed", "failed"),
        "not_requested": ("doc", "was not requested", "were not requested"),
        "cut": ("prompt", "was cut", "were cut"),
        "judge_failed": ("doc", "has no verdict", "have no verdict"),
    }
    stopped = [str(row[STOPPED])] if row.get(STOPPED) else []
    return stopped + [of_all(row[count], row["n"], *said) for count, said in flaws.items() if row.get(count)]
