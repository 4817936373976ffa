#!/usr/bin/env bash
# OCR benchmarks turn formulas within texts into plain text by pylatexenc before they compare them. Is a fraction in display size still one?
#
# Guess: \dfrac{1}{2} and \tfrac{1}{2} become 1/2 as \frac{1}{2} does; they are the same fraction in another size, of amsmath, which every model writes.
# Seen: the converter knows \frac and \nicefrac alone. Of \dfrac, \tfrac and \cfrac it drops the command and keeps both groups: a half becomes 12, and
# \binom{5}{2} becomes 52, without a warning. \frac12 and \frac{1}{2} are alike. So two right transcriptions of one formula differ, and \dfrac{1}{2} is equal to 12.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
for version in 2.10 3.0a30; do
    python3 -m venv "$folder/$version"
    "$folder/$version/bin/pip" install -q --disable-pip-version-check "pylatexenc==$version" || exit 2
    "$folder/$version/bin/python" - <<'PYTHON'
import sys
from importlib.metadata import version

from pylatexenc.latex2text import LatexNodes2Text

print("pylatexenc", version("pylatexenc"))
seen = []
for latex, guess in {
    r"\frac{1}{2}": "1/2",
    r"\frac12": "1/2",
    r"\dfrac{1}{2}": "1/2",
    r"\tfrac{1}{2}": "1/2",
    r"\cfrac{1}{2}": "1/2",
    r"\binom{5}{2}": "a form that shows two numbers",
}.items():
    seen.append(LatexNodes2Text().latex_to_text(latex))
    print(f"{latex}: guess {guess}, seen {seen[-1]}")
sys.exit(seen != ["1/2", "1/2", "12", "12", "12", "52"])
PYTHON
done
