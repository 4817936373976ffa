"""How often `mm-eval gate` is wrong, beside the rule of NeMo Evaluator.

    python benchmarks/gate.py --repetitions 500
    python benchmarks/gate.py --repetitions 20 --nemo SRC     # also by NeMo Evaluator's own code: `src` of a checkout

Two models are drawn on some benchmarks: each document is right with 70%, and 10% of the documents change between them. The policy
allows a loss of 1 point on each benchmark. Where one benchmark loses exactly 1 point, every GO is wrong; where all of them do,
every NO-GO is. NeMo Evaluator at ac66aff5 (engine/gate.py) decides each benchmark by a 95% interval of the paired difference,
whatever their number is; `interval` is that rule, and `--nemo` checks it against their code on the same draws.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import sys
import tempfile
import types
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from mm_eval.deciding.policy import GO, NO_GO, UNDECIDED, Clause
from mm_eval.scoring.metrics.aggregation import mean
from mm_eval.scoring.metrics.paired import paired_difference
from mm_eval.values.distributions import t_quantile
from mm_eval.verbs.gate.gate import BROKEN, OPEN, Checked
from mm_eval.verbs.study.one_sided import lower_end, negative, upper_end

ALLOWED, ALPHA, CHANGED, RIGHT = 0.01, 0.05, 0.1, 0.7
Pair = tuple[list[float], list[float]]


def drawn(docs: int, loss: float, generator: np.random.Generator) -> Pair:
    """The scores of the reference and of a model that truly loses so much."""
    place = generator.random(docs)
    lost, changed = place < (CHANGED + loss) / 2, place < CHANGED
    same = generator.random(docs) < RIGHT
    reference, model = np.where(changed, lost, same), np.where(changed, ~lost, same)
    return reference.astype(float).tolist(), model.astype(float).tolist()


def ours(pairs: Sequence[Pair]) -> str:
    """The verdict of `mm-eval gate` on drawn benchmarks."""
    level, states = ALPHA / len(pairs), set()
    for reference, model in pairs:
        loss = negative(paired_difference(mean, reference, model))
        low, high = lower_end(loss, level), upper_end(loss, level)
        states.add(Checked("", Clause(1.0), loss=loss, margin=ALLOWED, low=low, high=high).state)
    return NO_GO if BROKEN in states else UNDECIDED if OPEN in states else GO


def by_interval(pairs: Sequence[Pair]) -> str:
    """The verdict by a 95% interval on each benchmark, not corrected for their number."""
    states = set()
    for reference, model in pairs:
        changes = [a - b for a, b in zip(reference, model, strict=True)]
        loss, docs = sum(changes) / len(changes), len(changes)
        spread = math.sqrt(sum((each - loss) ** 2 for each in changes) / (docs - 1) / docs)
        reach = t_quantile(0.975, docs - 1) * spread
        states.add(BROKEN if loss - reach > ALLOWED else OPEN if loss + reach > ALLOWED else GO)
    return NO_GO if BROKEN in states else UNDECIDED if OPEN in states else GO


def by_nemo(source: str, pairs: Sequence[Pair]) -> str:
    """The verdict of NeMo Evaluator's own code, from a checkout's folder `src`.

    Its packages import clients and servers that a gate does not need, and Python 3.12; the modules of the gate run without them.
    """
    for name in ("", ".config", ".engine", ".metrics"):
        package = types.ModuleType(f"nemo_evaluator{name}")
        package.__path__ = [str(Path(source) / f"nemo_evaluator{name}".replace(".", "/"))]
        sys.modules.setdefault(package.__name__, package)
    gate_runs = importlib.import_module("nemo_evaluator.engine.gate").gate_runs
    load_policy = importlib.import_module("nemo_evaluator.config.gate_policy").load_gate_policy
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        (top / "policy.yaml").write_text(
            f"version: 1\ndefaults: {{tier: critical, metric: mean_reward, max_drop: {ALLOWED}}}\nbenchmarks: "
            + json.dumps({f"b{place}": {} for place in range(len(pairs))})
        )
        for place, pair in enumerate(pairs):
            for side, values in zip(("baseline", "candidate"), pair, strict=True):
                below = top / side / f"b{place}"
                below.mkdir(parents=True)
                scores = {"mean_reward": {"value": sum(values) / len(values)}}
                bundle = {"run_id": side, "config": {"model": side}}
                bundle["benchmark"] = {"name": f"b{place}", "samples": len(values), "scores": scores}
                (below / f"eval-b{place}.json").write_text(json.dumps(bundle))
                rows = [{"problem_idx": n, "repeat": 0, "reward": value} for n, value in enumerate(values)]
                (below / "results.jsonl").write_text("\n".join(map(json.dumps, rows)))
        policy = load_policy(top / "policy.yaml")
        return str(gate_runs(top / "baseline", top / "candidate", policy).verdict)


TRUTHS: dict[str, Callable[[int], float]] = {
    "none loses": lambda place: 0.0,
    "one loses 1.0": lambda place: 0.0 if place else ALLOWED,
}
TRUTHS |= {"all lose 1.0": lambda place: ALLOWED, "one loses 4.0": lambda place: 0.0 if place else 4 * ALLOWED}
VERDICTS = (GO, NO_GO, UNDECIDED)


def rows(repetitions: int, nemo: str | None) -> Iterator[tuple[str, ...]]:
    """A row for each number of benchmarks, size and truth: how often each rule gave each verdict."""
    for count, docs in ((1, 500), (1, 4000), (8, 500)):
        for said, loss in TRUTHS.items():
            generator = np.random.default_rng(zlib.crc32(f"{count} {docs} {said}".encode()))
            ours_, interval, theirs = Counter[str](), Counter[str](), Counter[str]()
            for _ in range(repetitions):
                pairs = [drawn(docs, loss(place), generator) for place in range(count)]
                ours_[ours(pairs)] += 1
                interval[by_interval(pairs)] += 1
                if nemo:
                    theirs[by_nemo(nemo, pairs).replace("INCONCLUSIVE", UNDECIDED)] += 1
            shown = [ours_, interval, theirs] if nemo else [ours_, interval]
            shares = [f"{found[each] / repetitions:.1%}" for found in shown for each in VERDICTS]
            yield str(count), f"{docs:,}", said, *shares


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--nemo", help="the folder src of a checkout of NVIDIA-NeMo/Evaluator")
    args = parser.parse_args()
    rules = ["mm-eval", "interval", *(["NeMo"] if args.nemo else [])]
    print(",".join(["benchmarks", "documents", "truth", *(f"{rule}: {each}" for rule in rules for each in VERDICTS)]))
    for row in rows(args.repetitions, args.nemo):
        print(",".join(f'"{each}"' if "," in each else each for each in row), flush=True)


if __name__ == "__main__":
    main()
