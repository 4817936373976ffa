#!/usr/bin/env bash
# math-verify reads numbers within dollars. Is 1\,000, as style guides write a thousand, 1000? And 0.\overline{3}, a third?
#
# Guess: yes for both; \, is white space, 1{,}000 is a thousand to it, and a bar over decimals is how schools write a third.
# Seen: 1\,000 is the product of 1 and 000: it equals 0, and 12\,000 does too. 0.\overline{3} is what stands before the dot: 0. So right answers count as wrong,
# and a gold answer 0 is met by 1\,000. 1{,}000 is right, and 0.333333 meets 1/3.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check math-verify==0.9.0 latex2sympy2_extended==1.11.0 sympy==1.14.0 || exit 2
"$folder/venv/bin/python" - <<'PYTHON'
import sys
from importlib.metadata import version

from math_verify import parse, verify

print("math-verify", version("math-verify"), "| latex2sympy2_extended", version("latex2sympy2_extended"))
seen = {}
for gold, answer, guess in (
    ("1000", r"1{,}000", True),
    ("1000", r"1\,000", True),
    ("0", r"1\,000", False),
    ("12000", r"12\,000", True),
    ("0", r"12\,000", False),
    (r"\frac{1}{3}", "0.333333", True),
    (r"\frac{1}{3}", r"0.\overline{3}", True),
    ("0", r"0.\overline{3}", False),
):
    seen[gold, answer] = verify(parse(f"${gold}$"), parse(f"${answer}$"))
    print(f"gold {gold}, answer {answer}: guess {'right' if guess else 'wrong'}, seen {'right' if seen[gold, answer] else 'wrong'}")
sys.exit(list(seen.values()) != [True, False, True, False, True, True, False, True])
PYTHON
