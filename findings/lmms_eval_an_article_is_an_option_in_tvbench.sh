#!/usr/bin/env bash
# lmms-eval's task tvbench reads the option of an answer in words. Which one is it, where the sentence has an article?
#
# Guess: the only capital letter that stands alone ("The man picks up a cup, so B." is B), as options are named A to D in the prompt.
# Seen: the answer is made upper case first, and then the first letter that stands alone counts: the article of "a cup" is option A, ahead of
# the B that ends the sentence. Without an article before it the same sentence is B. "I" is no option, and hides the letter behind it: then only
# the beginning of the answer and the options' texts are looked at. So the number of a model that answers in sentences leans to A.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pyyaml==6.0.2 || exit 2
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps lmms-eval==0.7.3 || exit 2
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import importlib.util
import sys
from importlib.metadata import distribution

package = distribution("lmms-eval")
print("lmms-eval", package.version)
spec = importlib.util.spec_from_file_location("tvbench", package.locate_file("lmms_eval/tasks/tvbench/utils.py"))
tvbench = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tvbench)
doc = {"candidates": ["He puts it down.", "He picks it up.", "He turns round.", "He sits."], "answer": "He picks it up."}
seen = {}
for said, guess in {
    "B": "B",
    "The man picks up a cup, so B.": "B",
    "The man picks up the cup, so B.": "B",
    "I think that the answer is B.": "B",
    "In a first step he sits, and then D.": "D",
}.items():
    letter = tvbench._extract_choice_letter(said, doc["candidates"])
    right = tvbench.tvbench_process_results(doc, [said])["tvbench_acc"]
    print(f"{said!r}: guess {guess}, seen {letter or 'none'}, counted as {'right' if right else 'wrong'}")
    seen[said] = letter
sys.exit(list(seen.values()) != ["B", "A", "B", "", "A"])
PYTHON
