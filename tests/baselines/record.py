"""Records the byte baselines again: `python -m tests.baselines.record [--keep FOLDER] [NAME ...]`.

A change on purpose is named in CHANGELOG.md. --keep leaves the run folders there: those of two checkouts can be compared with
`diff -r`.
"""

import argparse
import importlib.util
import json
import tempfile
from pathlib import Path

from tests.baselines.runs import HF_MODELS, RECORDED, RUNS, hf_keys


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these runs")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="a new folder for the run folders")
    args = parser.parse_args()
    before = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    found = before if args.names else {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for name, run in RUNS.items():
            if name == "ray" and not importlib.util.find_spec("ray"):
                print("Ray is not installed: its record stays as it was.")
                found[name] = before[name]
            elif not args.names or name in args.names:
                found[name] = run(folder / name)
    if not args.names:
        found["request keys of hf"] = {model: hf_keys(model) for model in HF_MODELS}
    RECORDED.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
