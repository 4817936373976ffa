#!/usr/bin/env bash
# sacrebleu's chrF has a smoothing (`eps_smoothing`, as NLTK's and Moses' chrF have it). What does it give for an answer that is equal to the reference?
#
# Guess: 100, whatever the length; smoothing is there so that no division by zero happens, and lifts scores.
# Seen: n-grams that are longer than the texts count as missed: an equal text of one letter gets 16.7, of three 50, and of six or more 100. Without
# smoothing all get 100. Short answers (options, numbers, names) score low by being short; the two settings differ where one would not look.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check sacrebleu==2.6.0 || exit 2
"$folder/venv/bin/python" - <<'PYTHON'
import sys

import sacrebleu
from sacrebleu.metrics import CHRF

print("sacrebleu", sacrebleu.__version__)
seen = []
for text in ("B", "cat", "kitten"):
    seen += [round(CHRF(eps_smoothing=smooth).sentence_score(text, [text]).score, 1) for smooth in (False, True)]
    print(f"{text!r} and itself: guess 100.0 and 100.0; seen {seen[-2]} and, smoothed, {seen[-1]}")
sys.exit(seen != [100, 16.7, 100, 50, 100, 100])
PYTHON
