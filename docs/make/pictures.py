"""Makes docs/terminal.png, docs/report.png and docs/release.png from real runs of the bundled models. Needs Chromium.

python docs/make/pictures.py
"""

from __future__ import annotations

import html
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from gallery import write_gallery

DOCS = Path(__file__).parent.parent
COMMAND = ["--tasks", "mme,seedbench", "--output_path", "runs/first"]
TERMINAL = """<meta charset="utf-8"><style>
body { margin: 0; background: #1d1f27; padding: 22px 26px }
pre { margin: 0; color: #e4e6eb; font: 14px/1.42 "DejaVu Sans Mono", monospace; white-space: pre-wrap }
b { color: #8fd18b; font-weight: normal }
</style><pre><b>$ mm-eval --tasks mme,seedbench</b>
%s</pre>"""


def main() -> None:
    """Runs the first command of the README and photographs what it prints and the page that it writes."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        command = [sys.executable, "-m", "mm_eval", *COMMAND]
        wide = {**os.environ, "COLUMNS": "110"}  # sentences are broken as on a terminal
        printed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, env=wide).stdout
        page = folder / "terminal.html"
        page.write_text(TERMINAL % html.escape(printed), encoding="utf-8")
        photograph(page, DOCS / "terminal.png", 1180, 60 + 20 * (printed.count("\n") + 2))
        photograph(folder / "runs/first/report.html", DOCS / "report.png", 1280, 1000)
        write_gallery(folder / "gallery")
        photograph(folder / "gallery/release/index.html", DOCS / "release.png", 1100, 940)


def photograph(page: Path, target: Path, width: int, height: int) -> None:
    """A picture of a page at a size in CSS pixels."""
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=4000"]
    size = [f"--window-size={width},{height}", f"--screenshot={target}"]
    subprocess.run(["chromium", *options, *size, page.as_uri()], check=True, capture_output=True)


if __name__ == "__main__":
    main()
