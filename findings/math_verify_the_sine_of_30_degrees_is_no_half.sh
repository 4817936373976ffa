#!/usr/bin/env bash
# An exact answer that keeps a function of degrees, \sin 30^\circ or 10\cos 60^\circ, as geometry has it. Does math-verify take it for its value?
#
# Guess: yes; it takes \sin\frac{\pi}{6} for a half, and reads ^\circ.
# Seen: ^\circ is dropped, so \sin 30^\circ is the sine of 30 radians: wrong where the gold answer is a half, and right where it is \sin 30. As an angle
# 30^\circ equals 30, and not \frac{\pi}{6}.
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
for gold, answer, guess in (
    (r"\frac{1}{2}", r"\sin\frac{\pi}{6}", True),
    (r"\frac{1}{2}", r"\sin 30^\circ", True),
    ("5", r"10\cos 60^{\circ}", True),
    (r"\sin 30", r"\sin 30^\circ", False),
):
    seen.append(verify(parse(f"${gold}$"), parse(f"${answer}$")))
    print(f"gold {gold}, answer {answer}: guess {'right' if guess else 'wrong'}, seen {'right' if seen[-1] else 'wrong'}")
sys.exit(seen != [True, False, False, True])
PYTHON
