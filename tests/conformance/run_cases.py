"""Runs recorded cases of another evaluation suite against mm-eval.

    python tests/conformance/run_cases.py FILE.json

FILE holds {"cases": [{"kind", "name", "params", "inputs", "expected", "preferred"?}]}. Where a case has `preferred`, that is the
right answer. {"$float": "nan"} stands for a number that JSON lacks, {"$raises": ...} for "this is an error".
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from mm_eval.config.formats import build_format
from mm_eval.scorers import Member, MetricKey, aggregate_group, build_scorer
from mm_eval.scoring.filters import build_filter_ensemble
from mm_eval.scoring.metrics.ll_results import LLResults
from mm_eval.scoring.metrics.metric import Metric, aggregation_named, reduction_named
from mm_eval.scoring.metrics.stderr import bootstrap_stderr, mean_stderr, pop_stddev, sample_stddev
from mm_eval.values.types import Instance

Case = dict[str, Any]


def metric_of_choices(case: Case) -> Any:
    """A metric of one doc's log-likelihoods."""
    import numpy as np

    inputs = case["inputs"]
    lls = np.array(inputs["lls"], dtype=float)
    bare = inputs.get("lls_unconditional")
    results = LLResults(
        results=[],
        targets=inputs["reference"],
        choices=inputs["choices"],
        lls_mutual_info=lls - np.array(bare) if bare is not None else np.array([]),
        lls=lls,
        is_greedy=inputs["is_greedy"],
    )
    return Metric.from_dict({"metric": case["name"]}).compute(inputs["reference"], results, **case["params"])


def metric_of_answers(case: Case) -> Any:
    """A metric of generated answers."""
    inputs = case["inputs"]
    scores = Metric.from_dict({"metric": case["name"], "kwargs": case["params"]}).compute(
        inputs["references"], inputs["predictions"]
    )
    return scores[case["name"]] if isinstance(scores, dict) else scores


def reduction(case: Case) -> Any:
    """A reduction of a doc's repeats."""
    return reduction_named(case["name"])(None, case["inputs"]["scores"], **case["params"])


def aggregation(case: Case) -> Any:
    """An aggregation of all docs."""
    return aggregation_named(case["name"])(case["inputs"]["items"], **case["params"])


def corpus(case: Case) -> Any:
    """A corpus metric from its items, or from texts."""
    inputs = case["inputs"]
    metric = Metric.from_dict({"metric": case["name"], "kwargs": case["params"]})
    if "items" in inputs:
        return metric.aggregate([tuple(item) if isinstance(item, list) else item for item in inputs["items"]])
    pairs = zip(inputs["references"], inputs["predictions"], strict=True)
    return metric.aggregate([metric.fn(references, [prediction]) for references, prediction in pairs])


def standard_error(case: Case) -> Any:
    """A standard deviation or standard error."""
    items = case["inputs"]["items"]
    if case["name"] == "bootstrap":
        params = case["params"]
        return bootstrap_stderr(aggregation_named(params["statistic"]), items, params["iters"])
    return {"mean_stderr": mean_stderr, "sample_stddev": sample_stddev, "pop_stddev": pop_stddev}[case["name"]](items)


def filtering(case: Case) -> Any:
    """A filter pipeline."""
    ensemble = build_filter_ensemble("case", case["params"]["steps"])
    return ensemble.chain(case["inputs"]["resps"], case["inputs"]["docs"])


def group(case: Case) -> Any:
    """The numbers of a group, without standard errors."""
    members = {
        name: Member({key: value for key, value in row.items() if "," in key}, row.get("sample_len", 0))
        for name, row in case["inputs"]["tasks"].items()
    }
    result = aggregate_group(members, case["params"]["aggregate_metric_list"])
    numbers = {key: value for key, value in result.numbers.items() if not _is_stderr(key)}
    return {"sample_len": result.n, **numbers, **({"sample_count": result.sizes} if result.sizes else {})}


def _is_stderr(key: str) -> bool:
    parsed = MetricKey.parse(key)
    return parsed is not None and parsed.is_stderr


def metric_key(case: Case) -> Any:
    """The parts of a metric key."""
    key = MetricKey.parse(case["inputs"]["key"])
    if key is None:
        return None
    return {"metric": key.metric, "scorer": key.scorer, "is_stderr": key.is_stderr, "parent": key.parent_metric}


def scoring(case: Case) -> Any:
    """A scorer from answers to numbers."""
    params = case["params"]
    scorer = build_scorer(
        {"name": "none", **params["config"]},
        params["output_type"],
        None if case["name"] == "default" else case["name"],
        context=params.get("context") or {},
    )
    scorer.run([instance for i, doc in enumerate(case["inputs"]["docs"]) for instance in _instances(i, doc)])
    numbers, n = scorer.aggregate(bootstrap_iters=0)
    for doc in scorer.raw_docs.values():
        if doc.error is not None:
            raise doc.error
    return {
        "reduced": {str(doc_id): dict(doc) for doc_id, doc in scorer.reduced_docs.items()},
        "aggregated": {key: value for key, value in numbers.items() if not _is_stderr(key)},
        "n": n,
        "higher_is_better": scorer.higher_is_better,
    }


def _instances(doc_id: int, doc: Case) -> list[Instance]:
    if "lls" not in doc:
        return [
            Instance("generate_until", "case", doc_id, doc, repeat=i, target=doc["target"], resps=[answer])
            for i, answer in enumerate(doc["resps"])
        ]
    greedy = doc.get("is_greedy") or [False] * len(doc["lls"])
    made = []
    for conditional, lls in ((True, doc["lls"]), (False, doc.get("lls_unconditional") or [])):
        for i, (ll, text) in enumerate(zip(lls, doc["choices"], strict=False)):
            metadata = {"choice_text": text, **({} if conditional else {"acc_mutual_info": True})}
            made.append(
                Instance(
                    "loglikelihood",
                    "case",
                    doc_id,
                    doc,
                    continuation=text,
                    choice=i,
                    target=doc["target"],
                    metadata=metadata,
                    resps=[(ll, greedy[i])],
                )  # fmt: skip
            )
    return made


def prompt_format(case: Case) -> Any:
    """A prompt format on a doc."""
    doc = case["inputs"]["doc"]
    layout = build_format(case["params"]["spec"])
    return {
        "text": layout.text(doc["question"], doc["choices"]),
        "target": str(layout.target(doc["answer"], doc["choices"])),
        "choices": str(layout.options(doc["choices"])),
        "output_type": layout.output_type,
        "target_delimiter": layout.target_delimiter,
        "fewshot_delimiter": layout.fewshot_delimiter,
        "gen_prefix": layout.gen_prefix,
        "scorer": layout.scorer,
    }


KINDS: dict[str, Callable[[Case], Any]] = {
    "metric_ll": metric_of_choices,
    "metric_gen": metric_of_answers,
    "reduction": reduction,
    "aggregation": aggregation,
    "corpus": corpus,
    "stderr": standard_error,
    "filter": filtering,
    "group": group,
    "metric_key": metric_key,
    "scorer": scoring,
    "format": prompt_format,
}


def decoded(value: Any) -> Any:
    """JSON values with {"$float": ...} as numbers."""
    if isinstance(value, dict):
        return (
            float(value["$float"]) if set(value) == {"$float"} else {key: decoded(part) for key, part in value.items()}
        )
    return [decoded(part) for part in value] if isinstance(value, list) else value


def same(got: Any, wanted: Any, tolerance: float) -> bool:
    """Equality of values, numbers within a relative tolerance, lists and tuples alike."""
    if hasattr(got, "tolist"):
        got = got.tolist()
    if isinstance(wanted, dict):
        return (
            isinstance(got, dict)
            and set(got) == set(wanted)
            and all(same(got[k], wanted[k], tolerance) for k in wanted)
        )
    if isinstance(wanted, list):
        alike = isinstance(got, (list, tuple)) and len(got) == len(wanted)
        return alike and all(same(one, other, tolerance) for one, other in zip(got, wanted, strict=True))
    if isinstance(wanted, (int, float)) and isinstance(got, (int, float)):
        if math.isnan(wanted) or math.isnan(got):
            return math.isnan(wanted) and math.isnan(got)
        return got == wanted or math.isclose(got, wanted, rel_tol=tolerance, abs_tol=1e-12)
    return bool(got == wanted)


def right_answer(case: Case) -> Any:
    """What a case wants: `preferred` where it is there; for a group it replaces single numbers."""
    if "preferred" not in case:
        return case["expected"]
    return {**case["expected"], **case["preferred"]} if case["kind"] == "group" else case["preferred"]


def failure(case: Case) -> str | None:
    """Why a case fails, or None."""
    wanted = right_answer(case)
    run = KINDS.get(case["kind"])
    if run is None:
        return f"no kind {case['kind']!r} is known"
    must_raise = isinstance(wanted, dict) and "$raises" in wanted
    try:
        got = run({**case, "inputs": decoded(case["inputs"]), "params": decoded(case["params"])})
    except Exception as error:
        return None if must_raise else f"raised {type(error).__name__}: {error}; wanted {wanted!r}"
    if must_raise:
        return f"got {got!r}; wanted an error"
    return None if same(got, decoded(wanted), case.get("tolerance_rel", 1e-9)) else f"got {got!r}; wanted {wanted!r}"


def run_file(path: Path) -> tuple[int, list[str]]:
    """How many cases of a file pass, and a line for each that does not."""
    content = json.loads(path.read_text(encoding="utf-8"))
    cases = content["cases"] if isinstance(content, dict) else content
    failed = []
    for number, case in enumerate(cases):
        reason = failure(case)
        if reason is not None:
            failed.append(f"case {number} ({case['kind']} {case.get('name')}): {reason[:600]}")
    return len(cases) - len(failed), failed


def main(arguments: list[str]) -> int:
    """Prints what fails and "N passed, M failed"; 1 where anything failed."""
    if len(arguments) != 1:
        print("Usage: python tests/conformance/run_cases.py FILE.json", file=sys.stderr)
        return 2
    passed, failed = run_file(Path(arguments[0]))
    print("\n".join([*failed, f"{passed} passed, {len(failed)} failed"]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
