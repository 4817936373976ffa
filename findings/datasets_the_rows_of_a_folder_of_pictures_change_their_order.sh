#!/usr/bin/env bash
# A folder of pictures with a metadata.jsonl, loaded with `load_dataset("imagefolder")`. In which order do its rows come?
#
# Guess: in one order, that of the lines of metadata.jsonl or that of the file names, whatever the version.
# Seen: datasets 3.3.2 has the order of the file names, 5.2.0 that of the lines. So row 0 is another picture, and a sample that a seed draws by row number
# holds others: SURDS draws 925 pictures and the wrong answers of their questions so, with requirements that say 2.21.0.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cat > "$folder/rows.py" <<'PYTHON'
import json
import random
import sys
from pathlib import Path

import datasets
from PIL import Image

datasets.disable_progress_bars()
here = Path(sys.argv[1])
names = ["d.png", "b.png", "a.png", "c.png"]
(here / "data").mkdir(parents=True)
for name in names:
    Image.new("RGB", (2, 2)).save(here / "data" / name)
lines = [json.dumps({"file_name": name, "name": name}) + "\n" for name in names]
(here / "data" / "metadata.jsonl").write_text("".join(lines))
rows = datasets.load_dataset("imagefolder", data_dir=str(here / "data"), split="train", cache_dir=str(here / "cache"))["name"]
drawn = [rows[place] for place in sorted(random.Random(42).sample(range(4), 2))]
print(datasets.__version__, "".join(name[0] for name in rows), "".join(name[0] for name in drawn))
PYTHON
seen=""
for version in 3.3.2 5.2.0; do
  python3 -m venv "$folder/$version"
  "$folder/$version/bin/pip" install -q --disable-pip-version-check "datasets==$version" pillow || exit 2
  line="$(HF_HUB_OFFLINE=1 "$folder/$version/bin/python" "$folder/rows.py" "$folder/of-$version")"
  echo "version, rows, two that seed 42 draws: $line"
  seen="$seen$line;"
done
[ "$seen" = "3.3.2 abcd ad;5.2.0 dbac dc;" ]
