#!/usr/bin/env bash
# Whisper's normaliser of English writes numbers as digits. What does it make of "ten o'clock" and of "Mr. O'Neill"?
#
# Guess: "10 o'clock" and "mister o'neill", or the same without the apostrophe.
# Seen: the o behind an apostrophe is taken for a spoken zero, which ends the number before it: "ten o'clock" is "100 clock", "10 o'clock" too, and
# "five O'Neill" is "50 neill". "oclock" in one word is left alone, so that "ten oclock" for "ten o'clock" has two errors of two words, and
# "one o'clock" equals "ten clock", which counts as right.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check whisper-normalizer==0.1.15 || exit 2
"$folder/venv/bin/python" - <<'PYTHON'
import sys
from importlib.metadata import version

from whisper_normalizer.english import EnglishTextNormalizer

print("whisper-normalizer", version("whisper-normalizer"))
normal = EnglishTextNormalizer()
guesses = {
    "ten o'clock": "10 o'clock",
    "10 o'clock": "10 o'clock",
    "five O'Neill": "5 o'neill",
    "ten oclock": "10 oclock",
    "one o'clock": "1 o'clock",
    "ten clock": "10 clock",
}
seen = [normal(text) for text in guesses]
for (text, guess), found in zip(guesses.items(), seen, strict=True):
    print(f"{text!r}: guess {guess!r}, seen {found!r}")
sys.exit(seen != ["100 clock", "100 clock", "50 neill", "10 oclock", "10 clock", "10 clock"])
PYTHON
