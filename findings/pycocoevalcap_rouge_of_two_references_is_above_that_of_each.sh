#!/usr/bin/env bash
# ROUGE-L of a caption with several references, by the code of the COCO caption evaluation. How does it choose among the references?
#
# Guess: the best F measure of the caption and one reference, as other libraries do (rouge_score's score_multi), so never above the best of them alone.
# Seen: the best precision and the best recall of all references are taken, each from another, and F is that of the two. A caption whose parts
# are from two references gets .76 where each alone gives .53 and .49. It grows with the number of references: datasets of five are not comparable to one.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pycocoevalcap==1.2 || exit 2
"$folder/venv/bin/pip" install -q --disable-pip-version-check numpy==2.4.6 rouge-score==0.1.2 || exit 2
"$folder/venv/bin/python" - <<'PYTHON'
import sys
from importlib.metadata import version

from pycocoevalcap.rouge.rouge import Rouge
from rouge_score.rouge_scorer import RougeScorer

print("pycocoevalcap", version("pycocoevalcap"), "| rouge_score", version("rouge_score"))
references = ["a dog runs over green grass near water", "a ball"]
caption = "a dog runs over ball in the sun"
alone = [float(round(Rouge().compute_score({1: [one]}, {1: [caption]})[0], 3)) for one in references]
both = float(round(Rouge().compute_score({1: references}, {1: [caption]})[0], 3))
other = RougeScorer(["rougeL"])
best = max(other.score(one, caption)["rougeL"].fmeasure for one in references)
multi = other.score_multi(references, caption)["rougeL"].fmeasure
print(f"each reference alone {alone}; guess for both: {max(alone)}; seen: {both}; rouge_score's is its best one: {multi == best}")
sys.exit(not (both > max(alone) + 0.1 and multi == best))
PYTHON
