"""How soon a page of many samples is there, and how quickly it filters: `python benchmarks/pages.py [--docs 100000]`.

Needs Chromium and selenium. A run of the dummy model is made on the sample data, and its samples are repeated. Two pages are
measured: report.html, which holds all samples, and the page of a bundle or of `mm-eval view`, which loads them in parts.
Milliseconds in the browser, median and range; CPU seconds for writing.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from selenium import webdriver

from mm_eval.cli import main
from mm_eval.results.recorded import RecordedRun
from mm_eval.run_page import write_report
from mm_eval.verbs.report.site.parts import write_run_page

FILTER = """const field = document.getElementById(arguments[0]), before = performance.now();
field.value = arguments[1]; apply(); return performance.now() - before"""
FILTERS = (
    ("f-result", "wrong"),
    ("f-result", ""),
    ("f-category", "color"),
    ("f-category", ""),
    ("f-text", "purple cross"),
)


def repeated(folder: Path, docs: int) -> RecordedRun:
    """A run of MME whose samples are repeated to so many docs."""
    assert main(["--tasks", "mme", "--sample", "--model", "dummy", "--no_report", "--output_path", str(folder)]) == 0
    path = folder / "samples/mme.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    with path.open("w") as file:
        file.writelines(json.dumps({**rows[n % len(rows)], "doc_id": n}) + "\n" for n in range(docs))
    results = json.loads((folder / "results.json").read_text())
    results["results"]["mme"]["n"] = docs
    (folder / "results.json").write_text(json.dumps(results))
    return RecordedRun.read(folder)


def browser() -> Any:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))


def loaded(chromium: Any, page: Path, sign: str) -> dict[str, float]:
    """Milliseconds until the page was drawn, until its first samples were there, and until all were."""
    chromium.get("about:blank")
    chromium.get(f"{page.resolve().as_uri()}#?result=")
    while True:
        found = chromium.execute_script("return Object.assign({}, document.documentElement.dataset)")
        if sign in found:
            return {name: float(value) for name, value in found.items()}
        time.sleep(0.05)


def said(values: Sequence[float]) -> str:
    return f"{statistics.median(values):6.0f} ({min(values):.0f} to {max(values):.0f})"


def measure(docs: int, repeats: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        run = repeated(folder, docs)
        start = time.process_time()
        whole = write_report(run)
        middle = time.process_time()
        pictures = {"thumbnails": "t/", "full": "f/", "listed": True}
        write_run_page(folder / "site", RecordedRun.read(folder), {}, pictures, lambda row: {})
        end = time.process_time()
        print(f"{docs:,} docs. Written in CPU seconds: report.html {middle - start:.1f}, in parts {end - middle:.1f}")
        chromium = browser()
        try:
            for name, page, sign in (
                ("report.html", whole, "ready"),
                ("in parts", folder / "site/report.html", "complete"),
            ):
                times = [loaded(chromium, page, sign) for _ in range(repeats)]
                for each in sorted(times[0], key=lambda key: times[0][key]):
                    print(f"{name:12} {each:10} {said([time[each] for time in times])} ms")
                took = [chromium.execute_script(FILTER, *each) for _ in range(repeats) for each in FILTERS]
                print(f"{name:12} {'filter':10} {said(took)} ms")
        finally:
            chromium.quit()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    measure(asked.docs, asked.repeats)
