#!/usr/bin/env bash
# A long thin picture (a line of text, a row of a table) is fitted into a square by ImageOps.contain and ImageOps.pad of Pillow, as pipelines for square models do.
#
# Guess: a line of one pixel is left, as `thumbnail` leaves it (since Pillow 7): a side is never rounded below 1.
# Seen: contain rounds 100 * 20 / 5000 to 0 and gives a picture without pixels, which no format can store; pad gives a square of the background, in
# which nothing of the picture is left, without a word. The model is asked about an empty picture. It begins at a ratio of twice the square's side.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pillow==13.0.0 || exit 2
"$folder/venv/bin/python" - <<'PYTHON'
import sys

from PIL import Image, ImageOps, __version__

print("pillow", __version__)
seen = []
for size in ((5000, 20), (5000, 30)):
    strip = Image.new("RGB", size, "red")
    padded = ImageOps.pad(strip, (100, 100), color="white")
    strip.thumbnail((100, 100))
    colours = sorted(colour for _, colour in padded.getcolors())
    seen.append((strip.size, ImageOps.contain(Image.new("RGB", size, "red"), (100, 100)).size, colours))
    print(f"{size} into 100 x 100: thumbnail {seen[-1][0]}, contain {seen[-1][1]}, colours after pad {colours}")
print("guess: contain as thumbnail, and red and white after pad, for both")
sys.exit(seen != [((100, 1), (100, 0), [(255, 255, 255)]), ((100, 1), (100, 1), [(255, 0, 0), (255, 255, 255)])])
PYTHON
