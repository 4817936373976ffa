#!/usr/bin/env bash
# Does math-verify tell a derivative from its function, and minutes of arc from degrees?
#
# Guess: it does: y' = 2x and y = 2x are two statements, as a prime is a sign of its own; 60' is a degree.
# Seen: primes are dropped: f'(x) equals f(x) and f''(x), the equation y' = 2x equals y = 2x, and 60' equals 60^\circ. An answer that forgot to
# derive, or gives minutes for degrees, is right. A dot over the letter, \dot{x}, is told from x.
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
seen = []
for gold, answer in (("f'(x)", "f(x)"), ("f''(x)", "f'(x)"), ("y'=2x", "y=2x"), (r"60^\circ", "60'"), (r"\dot{x}", "x")):
    seen.append(verify(parse(f"${gold}$"), parse(f"${answer}$")))
    print(f"gold {gold}, answer {answer}: guess wrong, seen {'right' if seen[-1] else 'wrong'}")
sys.exit(seen != [True, True, True, True, False])
PYTHON
