"""mm-eval's prompts and numbers for tasks of another suite's tree, beside those that the suite itself came to.

    python -m tests.peers.trees TREE OUT [--task NAME] [--show N]

OUT is what `tree_of_lm_eval.py` or `tree_of_lmms_eval.py` wrote. Each task is run on the same rows with the same answers.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mm_eval import evaluate
from mm_eval.errors import MMEvalError

NO_METRICS = ("alias", "name", "sample_len", "samples", "sample_count")

REASONS = (
    (r"needs the package|packages not installed|is not defined", "a package of the task is not installed here"),
    (
        r"which equals no choice|expected an integer choice|but there are \d+ choices",
        "the made-up gold answer is no choice",
    ),
    (
        r"expected a list|Couldn't cast array|KeyError: '(choices|correct_index)'",
        "the made-up columns are of another type",
    ),
    (r"does not take", "a key for the task's own kind of file, which is not the made-up one"),
    (r"scored by a judge|calls \S+ by itself|OPENAI_API_KEY", "a judge, which is stated with --judge"),
    (r"returned none of the metrics", "a function that ends in its `except` gives no metric, and is an error"),
    (r"is not a function", "an object of Python in the place of a function"),
    (r"^no number submission", "a file for a benchmark's server is no number"),
    (r"^no number \d+ ", "values that metric_list does not name are a note, and no number"),
    (r"^continuation ", "a target without white space comes after target_delimiter"),
    (r"^prompt .* (mmlu_flan|mmlu_pro)", "lmms-eval's record has the question without the description"),
    (
        r"^number acc\S* (noor|toksuite|logiqa2|sciknoweval_mcqa)",
        "a letter names a choice; there it is none, and every answer is wrong",
    ),
)
"""Differences that are known: a pattern of `field, of what, task, our value`, and why our number is not wrong."""


def reason_of(task: str, difference: tuple[str, Any, Any, Any]) -> str:
    """Why a difference is no fault of ours; "" for one that is not known."""
    field, of, ours, _ = difference
    text = f"{field} {of} {task} {ours}"
    return next((reason for pattern, reason in REASONS if re.search(pattern, text, re.DOTALL)), "")


def numbers(row: dict[str, Any]) -> dict[str, Any]:
    """The numbers of a row of results.json, without standard errors."""
    return {key: value for key, value in row.items() if "," in key and "_stderr" not in key and key not in NO_METRICS}


def same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(same(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, (int, float)) and isinstance(theirs, (int, float)):
        return math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-9) or ours != ours and theirs != theirs
    if isinstance(theirs, float) and math.isnan(theirs):
        return ours is None
    return bool(ours == theirs) or theirs in ([], "N/A") and ours in (None, "N/A")


def differences(
    said: dict[str, Any], ours: dict[str, Any], rows: list[dict[str, Any]]
) -> Iterator[tuple[str, Any, Any, Any]]:
    """(field, of what, ours, theirs) for each value that differs."""
    name = said["about"]["task"]
    theirs = numbers(said["results"][name])
    mine = numbers(ours)
    for key, value in ((key, value) for key, value in theirs.items() if value != []):
        if key not in mine:
            yield "no number", key, sorted(mine), value
        elif not same(mine[key], value):
            yield "number", key, mine[key], value
    prompts: dict[int, tuple[str, list[str]]] = {}
    for row in said["samples"].get(name, ()):
        arguments = row["arguments"]
        arguments = arguments if isinstance(arguments[0], list) else [arguments]
        prompts[row["doc_id"]] = (
            arguments[0][0],
            [each[1] for each in arguments if len(each) > 1 and isinstance(each[1], str)],
        )
    kind = said["about"]["output_type"]
    if len(prompts) != len(rows):
        yield "docs", "", len(rows), len(prompts)
    for row in rows:
        prompt, continuations = prompts.get(row["doc_id"], ("", []))
        if kind != "loglikelihood_rolling" and isinstance(row["prompt"], str) and row["prompt"] != prompt:
            yield "prompt", row["doc_id"], row["prompt"], prompt
            break
        if continuations and row.get("choices") and list(row["choices"]) != continuations[: len(row["choices"])]:
            yield "continuation", row["doc_id"], row["choices"], continuations
            break


def compared(tree: str, folder: Path) -> tuple[str, list[Any]]:
    """(task, what differs)."""
    said = json.loads((folder / "said.json").read_text())
    about = said["about"]
    files = {split: str(folder / "rows.parquet") for split in about["splits"]}
    config = {
        "task": about["task"], "dataset_path": "parquet", "dataset_name": None, "num_fewshot": 0,
        "dataset_kwargs": {"data_files": files}, **about.get("overrides", {}),
    }  # fmt: skip
    out = folder / "run"
    shutil.rmtree(out, ignore_errors=True)
    try:
        results = evaluate(
            [config], "replay", {"path": str(folder / "answers.jsonl")}, include_path=tree, report=False,
            output_path=str(out), bootstrap_iters=2, **about.get("options", {}),
        )  # fmt: skip
        raw = results.raw["results"]
        if about["task"] not in raw:
            return about["task"], [("error", "", str(results.report)[-300:], "")]
        rows = list(results.samples(about["task"]))
        errors = [("error", row["doc_id"], row["error"], "") for row in rows if "error" in row][:1]
        return about["task"], errors or list(differences(said, raw[about["task"]], rows))
    except MMEvalError as error:
        return about["task"], [("error", "", str(error)[:300], "")]
    except Exception as error:  # a fault of ours
        return about["task"], [("FAULT", "", f"{type(error).__name__}: {error}"[:300], "")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree")
    parser.add_argument("out", type=Path)
    parser.add_argument("--task")
    parser.add_argument("--show", type=int, default=2)
    args = parser.parse_args()
    logging.disable(logging.WARNING)
    count: Counter[str] = Counter()
    for file in sorted(args.out.glob("*/said.json")):
        if args.task and json.loads(file.read_text())["about"]["task"] != args.task:
            continue
        name, found = compared(args.tree, file.parent.resolve())
        reasons = list(dict.fromkeys(reason_of(name, each) for each in found))
        listed = bool(found) and all(reasons)
        count["same" if not found else "listed" if listed else found[0][0]] += 1
        print(f"{file.parent.name} {name}: {'same' if not found else '; '.join(reasons) if listed else ''}", flush=True)
        for field, of, mine, theirs in found[: args.show]:
            print(f"    {field} {of}: ours {str(mine)[:300]!r}, theirs {str(theirs)[:300]!r}", flush=True)
    print(dict(count))


if __name__ == "__main__":
    main()
