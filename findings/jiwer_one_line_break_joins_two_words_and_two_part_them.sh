#!/usr/bin/env bash
# A transcription is right but for a line break where the reference has a space. What is its word error rate by jiwer?
#
# Guess: 0; words are what stands between white space, and the default transformation says that it removes multiple spaces.
# Seen: words are split at the space character alone. One line break, or one tab, joins its two neighbours to one word: two errors of three words.
# Two line breaks, or a line break after a space, count as a space, since only runs of two and more are replaced. So a transcription in
# verses gets an error at each line, and one with an empty line between them none.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jiwer==4.0.0 || exit 2
"$folder/venv/bin/python" - <<'PYTHON'
import sys
from importlib.metadata import version

import jiwer

print("jiwer", version("jiwer"))
between = ["\n", "\t", "\n\n", " \n"]
seen = [round(jiwer.wer("one two three", f"one{space}two three"), 3) for space in between]
for space, rate in zip(between, seen, strict=True):
    print(f"{space!r} for the first space: guess 0, seen {rate}")
sys.exit(seen != [0.667, 0.667, 0, 0])
PYTHON
