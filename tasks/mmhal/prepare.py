"""Writes the rows of MMHal-Bench from its template: python -m mm_eval.tasks.mmhal.prepare FOLDER

FOLDER has the benchmark's `response_template.json` and `images`. Written is FOLDER/test.json, whose rows name their picture.
"""

import json
import sys
from pathlib import Path


def main(folder: Path) -> str | None:
    """Writes the rows and removes the template; what is wrong, if something is."""
    template = folder / "response_template.json"
    if not template.is_file():
        return None if (folder / "test.json").is_file() else f"{folder} has no response_template.json."
    rows = json.loads(template.read_text(encoding="utf-8"))
    for row in rows:
        row["image_path"] = "images/" + row["image_src"].rpartition("/")[2]
    missing = [row["image_path"] for row in rows if not (folder / row["image_path"]).is_file()]
    if missing:
        return f"{folder} has no {missing[0]} ({len(missing)} pictures are missing)."
    (folder / "test.json").write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    template.unlink()  # it is no split of the data set
    return None


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])) if len(sys.argv) == 2 else __doc__)
