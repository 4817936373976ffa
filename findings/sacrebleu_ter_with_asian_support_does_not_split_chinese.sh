#!/usr/bin/env bash
# sacrebleu's TER has an option for Chinese and Japanese, `asian_support`. What is the TER of two Chinese sentences that differ in one letter?
#
# Guess: one edit of seven letters, 14.3; without the option each sentence is one word, and the TER is 100.
# Seen: 100 with the option as well. It acts only together with `normalized`, without a warning; the signature says `asian:yes` though nothing was split.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check sacrebleu==2.6.0 || exit 2
"$folder/venv/bin/python" - <<'PYTHON'
import sys

import sacrebleu
from sacrebleu.metrics import TER

print("sacrebleu", sacrebleu.__version__)
seen = {}
for options in ({}, {"asian_support": True}, {"asian_support": True, "normalized": True}):
    ter = TER(**options)
    seen[str(ter.get_signature()) if options else "plain"] = round(ter.corpus_score(["今天天气很好啊"], [["明天天气很好啊"]]).score, 1)
    print(options, "TER", list(seen.values())[-1], "|", ter.get_signature())
print("guess: 100, 14.3, 14.3")
sys.exit(list(seen.values()) != [100, 100, 14.3] or "asian:yes" not in list(seen)[1])
PYTHON
