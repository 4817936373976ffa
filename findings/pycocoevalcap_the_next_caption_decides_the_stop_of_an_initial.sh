#!/usr/bin/env bash
# The tokens of a caption that ends in an initial, "a sign that reads K.", by the tokenizer of the COCO caption evaluation. Do other captions matter?
#
# Guess: no; each caption stands in a line of its own, and the program is told to keep lines.
# Seen: the program looks beyond the line. Before a caption that begins with "A" or "The" the stop ends a sentence and is dropped: "k". Before "dog" or
# "Dogs run", and as the last one, it is the token "k.". So BLEU, ROUGE and CIDEr of a caption change with the order of the captions.
set -euo pipefail
command -v java > /dev/null || { echo "needs Java"; exit 2; }
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps pycocoevalcap==1.2 || exit 2
"$folder/venv/bin/python" - <<'PYTHON'
import sys
from importlib.metadata import version

from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

print("pycocoevalcap", version("pycocoevalcap"))
seen = {}
for following in ("A dog", "The dog", "dog", "Dogs run", None):
    captions = ["a sign that reads K.", *([following] if following else [])]
    found = PTBTokenizer().tokenize({place: [{"caption": text}] for place, text in enumerate(captions)})
    seen[following] = found[0][0].split()[-1]
    print(f"before {following!r}: guess 'k' as before any other, seen {seen[following]!r}")
sys.exit(seen != {"A dog": "k", "The dog": "k", "dog": "k.", "Dogs run": "k.", None: "k."})
PYTHON
