#!/usr/bin/env bash
# The calibration error of Humanity's Last Exam, in inspect_evals: 199 answers, 100 of them right with confidence 0 and 99 wrong with confidence 100.
#
# Guess: bins of a hundred answers by confidence, as its text says: one of 100 that is off by 1, one of 99 that is off by 1, so an error near 1.
# Seen: 0.005. What does not fill a bin joins the one before, so 199 answers are one bin, whose mean confidence is the share that is right: the
# worst calibration there is counts as perfect. With 200 answers of the same kind it is 1. Categories and samples of HLE are mostly smaller
# than 200; the authors' own script has the same bins and leaves out the last one, which is all there is below 200.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check inspect_evals==0.26.0 || exit 2
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import sys
from importlib.metadata import version

from inspect_ai.scorer import CORRECT, INCORRECT, SampleScore, Score
from inspect_evals.hle.metrics import cerr

print("inspect_evals", version("inspect_evals"))


def error(unsure_and_right, sure_and_wrong):
    values = [{"score": CORRECT, "confidence": 0}] * unsure_and_right
    values += [{"score": INCORRECT, "confidence": confidence} for confidence in sure_and_wrong]
    return cerr()([SampleScore(score=Score(value=value), sample_id=n) for n, value in enumerate(values)])


small, whole = error(100, [100] * 99), error(100, [100] * 100)
print("guess for 199 answers: near 1; seen:", round(small, 4))
print("200 answers:", round(whole, 4))
sys.exit(not (small < 0.01 and whole > 0.99))
PYTHON
