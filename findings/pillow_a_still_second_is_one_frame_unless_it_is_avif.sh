#!/usr/bin/env bash
# A video whose scene stands still for a second is stored as a moving picture, ten frames a second. How many frames has it?
#
# Guess: as many as were given, in each format; at most GIF drops frames, and a lossless WebP or PNG stands for what was put in.
# Seen: GIF, WebP and PNG have one frame for the ten equal ones, with ten times the duration, and AVIF and TIFF have all. Whoever samples every n-th frame,
# or "frame 15", sees another moment in each format, and the still part is left out of a sample; times alone agree.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pillow==13.0.0 || exit 2
"$folder/venv/bin/python" - <<'PYTHON'
import io
import sys

from PIL import Image, __version__

print("pillow", __version__)
still = [Image.new("RGB", (32, 24), (200, 30, 30))] * 10
moving = [Image.new("RGB", (32, 24), (0, 20 * n, 200)) for n in range(10)]
seen = {}
for kind, options in {"GIF": {}, "WEBP": {"lossless": True}, "PNG": {}, "AVIF": {}, "TIFF": {}}.items():
    times = {} if kind == "TIFF" else {"duration": 100}
    still[0].save(file := io.BytesIO(), kind, save_all=True, append_images=[*still[1:], *moving], **times, **options)
    found = Image.open(file)
    found.load()
    seen[kind] = found.n_frames, found.info.get("duration")
    print(f"{kind}: guess 20 frames, the first for 100 ms; seen {found.n_frames}, the first for {found.info.get('duration')} ms")
sys.exit(seen != {"GIF": (11, 1000), "WEBP": (11, 1000), "PNG": (11, 1000), "AVIF": (20, 100), "TIFF": (20, None)})
PYTHON
