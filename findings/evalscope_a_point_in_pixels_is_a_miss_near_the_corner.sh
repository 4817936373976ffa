#!/usr/bin/env bash
# evalscope's task screenspot_pro takes points as parts of one, as thousandths, and as pixels. How does it tell which a model gave?
#
# Guess: by the largest number of the model's answers, or by what the model is known to give; a model that answers in pixels is read so at all documents.
# Seen: by each point alone. A point whose numbers are both at most 1000 is in thousandths, also on a screenshot of 3840 x 2160: exact pixels of a button at
# (700, 400) are read as (2688, 864), a miss. At (1100, 400) the same model is right. So what models in pixels score depends on where the
# buttons are: about a tenth of such a screenshot is out of reach, its upper left, where menus are.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps evalscope==1.14.1 || exit 2
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import importlib.util
import sys
from importlib.metadata import distribution

package = distribution("evalscope")
print("evalscope", package.version)
spec = importlib.util.spec_from_file_location("screenspot", package.locate_file("evalscope/benchmarks/screenspot_pro/utils.py"))
screenspot = importlib.util.module_from_spec(spec)
spec.loader.exec_module(screenspot)
size = (3840, 2160)
seen = []
for x, y in ((2000, 1200), (1100, 400), (700, 400), (40, 1100), (40, 30)):
    button = screenspot.normalize_bbox([x - 20, y - 10, x + 20, y + 10], *size)
    point = screenspot.to_normalized_point(screenspot.parse_point(f"Answer: [{x}, {y}]"), size)
    seen.append(screenspot.point_in_bbox(point, button))
    taken = [round(part * side) for part, side in zip(point, size, strict=True)]
    print(f"a button around ({x}, {y}) of 3840 x 2160, answered by its middle in pixels: guess a hit, seen {'a hit' if seen[-1] else 'a miss'} at {taken}")
sys.exit(seen != [True, True, False, True, False])
PYTHON
