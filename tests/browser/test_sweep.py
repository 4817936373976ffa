"""Every page at five widths, light and dark: no label is clipped, none is drawn over another one or out of its card."""

import shutil
import time
from pathlib import Path
from urllib.request import urlopen

import pytest

from mm_eval.cli import main
from mm_eval.results.recorded import RecordedRun
from mm_eval.verbs.report.release.numbers import Reported, release_table
from mm_eval.verbs.report.release.page import write_release_page
from mm_eval.verbs.report.site.bundle import write_bundle
from tests.processes import HANGS

pytestmark = pytest.mark.browser

FAULTS = r"""
const clips = (e) => ["hidden", "auto", "scroll", "clip"].includes(getComputedStyle(e).overflowX);
const found = [], said = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const box = (left, top, right, bottom) => ({ left, top, right, bottom });
const { max, min } = Math;
const meet = (a, b) => box(max(a.left, b.left), max(a.top, b.top), min(a.right, b.right), min(a.bottom, b.bottom));
for (let node = walker.nextNode(); node; node = walker.nextNode()) {
  const parent = node.parentElement, text = node.textContent.trim();
  if (!text || parent.closest("script, style, select, textarea, title")) continue;
  if (!parent.checkVisibility({ visibilityProperty: true })) continue;
  const range = document.createRange();
  range.selectNodeContents(node);
  const scroller = parent.closest(".scroll, #list, #detail, .readings, .tall, #tabs, pre");
  for (const rect of range.getClientRects()) {
    let seen = box(rect.left, rect.top, rect.right, rect.bottom), cut = false;
    for (let one = parent; one && one !== document.body; one = one.parentElement) if (clips(one)) {
      const edge = one.getBoundingClientRect(), inside = meet(seen, edge);
      const meant = scroller || getComputedStyle(one).textOverflow === "ellipsis" || one.clientWidth < 3;
      cut ||= inside.right - inside.left < seen.right - seen.left - 1.5 && !meant;
      seen = inside;
    }
    if (cut) said.push(`clipped: ${text}`);
    if (seen.right - seen.left < 1 || seen.bottom - seen.top < 1) continue;
    const card = parent.closest(".card");
    if (card && !scroller) {
      const edge = card.getBoundingClientRect();
      if (rect.left < edge.left - 1 || rect.right > edge.right + 1) said.push(`outside its card: ${text}`);
    }
    if (rect.right > document.documentElement.clientWidth + 1 && !scroller) said.push(`outside the page: ${text}`);
    found.push({ seen, text, parent, pinned: Boolean(parent.closest("#bar")) });
  }
}
found.sort((a, b) => a.seen.top - b.seen.top);
found.forEach((a, at) => {
  for (let next = at + 1; next < found.length && found[next].seen.top < a.seen.bottom - 3; next += 1) {
    const b = found[next], both = meet(a.seen, b.seen);
    if (a.pinned !== b.pinned || a.parent === b.parent) continue;
    if (both.right - both.left > 2 && both.bottom - both.top > 3) said.push(`over each other: ${a.text} | ${b.text}`);
  }
});
return [...new Set(said)];
"""
WIDTHS = (360, 390, 1024, 1400, 2560)


@pytest.fixture(scope="module")
def pages(base: Path, perfect: Path, worse: Path, dummy_run: Path) -> dict[str, tuple[Path, str]]:
    """{name: (file, part of the address)} of every kind of page that is a file."""
    long = "LLaVA-OneVision-1.5-8B-Instruct"
    three = [RecordedRun.read(run, name) for run, name in ((perfect, "a"), (worse, long), (dummy_run, "dummy"))]
    reported = [Reported("paper", "mme", "mme_perception_score", 1880.0, 30.0, "arXiv:1")]
    release = write_release_page(base / "sweep.html", release_table(three, reported, {"lost": "it was interrupted"}))
    two = write_release_page(base / "sweep-two.html", release_table(three[:2]))
    run = dummy_run / "report.html"
    words = ["prompts", "--tasks", "mme,pope", "--model", "dummy", "--model", "dummy", "--sample", "--limit", "30"]
    assert main([*words, "--output_path", str(base / "sweep-prompts")]) == 0
    site = write_bundle(base / "sweep-site", three, release_table(three), lambda said: None, "")
    prompts = base / "sweep-prompts" / "prompts.html"
    return {
        "prompts": (prompts, ""),
        "samples of prompts": (prompts, "#dummy/mme/3"),
        "site": (site, ""),
        "run of a site": (next(site.parent.glob("*/report.html")), ""),
        "samples of a site": (next(site.parent.glob("*/report.html")), "#mme/7"),
        "release": (release, "#?parts=1"),
        "release of two": (two, ""),
        "comparison": (base / "sweep-two-compare.html", ""),
        "its samples": (base / "sweep-two-compare.html", "#mme/3"),
        "run": (run, ""),
        "samples": (run, "#mme/7"),
        "pictures": (run, "#?view=grid&sort=-length"),
        "wrong": (run, "#problems"),
        "asked": (run, "#asked"),
    }


@pytest.fixture(scope="module")
def further(base: Path, perfect: Path, worse: Path, dummy_run: Path) -> dict[str, tuple[Path | str, str]]:
    """Kinds of pages that take longer to make: many models, models without answers, a curve, efforts, sounds, few-shot."""
    many = [RecordedRun.read(dummy_run, f"Model-{size}B-Instruct-2026") for size in range(12)]
    five = [RecordedRun.read(run, run.name) for run in (perfect, worse, dummy_run)]
    for step, run in ((100, worse), (200, perfect)):
        shutil.copytree(run, base / f"sweep-curve/step-{step:08d}")
    assert main(["report", str(base / "sweep-curve")]) == 0
    tasks = ["--sample", "--limit", "6", "--model", "dummy", "--output_path"]
    assert main(["--tasks", "mme", "--num_fewshot", "2", *tasks, str(base / "sweep-shots")]) == 0
    (base / "sweep-effort.yaml").write_text(
        "tasks: [mme]\nmodel: dummy\nsample: true\nlimit: 20\n"
        "efforts: {short: {gen_kwargs: {max_new_tokens: 8}}, long: {gen_kwargs: {max_new_tokens: 16}}}\n"
        f"output_path: {base / 'sweep-effort'}\n"
    )
    assert main(["effort", str(base / "sweep-effort.yaml")]) == 0
    sounds = [base / "sweep-sounds-a", base / "sweep-sounds-b"]
    for folder in sounds:
        assert main(["--tasks", "mmau_mini", "--seed", str(sounds.index(folder)), *tasks, str(folder)]) == 0
    heard = base / "sweep-heard.html"
    assert main(["compare", *map(str, sounds), "--html", str(heard)]) == 0
    assert main(["report", *map(str, sounds), "--site", str(base / "sweep-sounds")]) == 0
    unanswered = {"gone": "its server can't be reached (http://127.0.0.1:9/v1)", "lost": "it was interrupted"}
    return {
        "release of twelve": (write_release_page(base / "sweep-twelve.html", release_table(many)), "#?parts=1"),
        "release with two lost": (
            write_release_page(base / "sweep-lost.html", release_table(five, (), unanswered)),
            "",
        ),
        "curve": (base / "sweep-curve/curve.html", ""),
        "effort": (base / "sweep-effort/effort.html", ""),
        "few-shot": (base / "sweep-shots/report.html", "#mme/3"),
        "sounds": (sounds[0] / "report.html", "#mmau_mini/3"),
        "sounds compared": (heard, "#mmau_mini/3"),
        "sounds of a site": (next((base / "sweep-sounds").glob("*/report.html")), "#mmau_mini/3"),
    }


def faults(opened, pages: dict[str, tuple[Path | str, str]], width: int, dark: bool) -> dict[str, list[str]]:
    found = {}
    for name, (path, address) in pages.items():
        browser = opened(path, address, width, dark)
        said = browser.execute_script(FAULTS)
        if browser.execute_script("return document.documentElement.scrollWidth > innerWidth"):
            said.append("the page scrolls sideways")
        if said:
            found[name] = said
    return found


def test_no_label_is_clipped_or_covered_on_a_phone(opened, pages) -> None:
    assert faults(opened, pages, 390, False) == {}


@pytest.mark.parametrize(
    ("width", "dark"),
    [
        pytest.param(1400, False, marks=pytest.mark.full),
        pytest.param(1024, True, marks=pytest.mark.full),
        *(pytest.param(width, False, marks=pytest.mark.slow) for width in WIDTHS if width != 1400),
        *(pytest.param(width, True, marks=pytest.mark.slow) for width in WIDTHS if width != 1024),
    ],
)
def test_no_label_is_clipped_or_covered_at_any_width(opened, pages, further, width: int, dark: bool) -> None:
    assert faults(opened, {**pages, **further}, width, dark) == {}


@pytest.mark.full
@pytest.mark.parametrize("place", ["sounds", "sounds compared", "sounds of a site", "view"])
def test_a_sound_is_played_where_it_is_shown(opened, served, further, place: str) -> None:
    """The pages of a run, of a comparison, of a site, and of `view`."""
    path, address = further["sounds" if place == "view" else place]
    if place == "view":
        path = f"{served(path.parent)}{path.parent.name}/report.html"
    browser = opened(path, address, 1024)
    plays = "const audio = document.querySelector('#detail audio'), done = arguments[0]; audio.preload = 'auto'; "
    plays += "audio.addEventListener('error', () => done('error')); "
    plays += "audio.addEventListener('loadedmetadata', () => done(audio.duration)); audio.load()"
    assert browser.execute_async_script(plays) > 0.1
    prompt = browser.find_element("css selector", "#detail pre").text
    assert "<audio>" in prompt and "<image>" not in prompt, "a sound's place"
    assert browser.find_element("css selector", ".row .blank").text == "♪"


@pytest.mark.full
@pytest.mark.parametrize(("width", "dark"), [(390, False), (1400, True), (2560, False)])
def test_no_label_of_view_is_clipped_or_covered(
    opened, served, perfect, worse, tmp_path, width: int, dark: bool
) -> None:
    """The list of runs, a run and its samples, a run that goes on, and the comparison so far."""
    shutil.copytree(worse, tmp_path / "live")
    (tmp_path / "live" / "results.json").unlink()
    address = served(perfect, worse, tmp_path / "live")
    run = f"{address}{perfect.name}/report.html"
    until = time.monotonic() + HANGS
    while b">Reading " in urlopen(run).read() and time.monotonic() < until:
        time.sleep(0.2)
    pages = {
        "view": (address, ""),
        "run": (run, ""),
        "samples": (run, "#mme/7"),
        "live": (f"{address}live/report.html", ""),
        "comparison so far": (f"{address}together/anytime.html", ""),
    }
    assert faults(opened, pages, width, dark) == {}


def test_the_sweep_finds_what_it_looks_for(opened, pages) -> None:
    browser = opened(pages["run"][0])
    browser.execute_script(
        """byId("top").innerHTML = `<div class="card" style="position: relative; margin: 0 200px; height: 90px">
          <b style="position: absolute; left: -90px">beyond</b><i style="position: absolute; left: 9px">under</i>
          <i style="position: absolute; left: 12px">above</i>
          <div style="position: absolute; left: 99px; width: 20px; overflow: hidden"><u>cut_off_word</u></div></div>`"""
    )
    said = browser.execute_script(FAULTS)
    assert {"outside its card: beyond", "over each other: under | above", "clipped: cut_off_word"} <= set(said)
