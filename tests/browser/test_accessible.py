"""The pages under axe-core, and with the keyboard alone.

axe-core (MPL-2.0) is fetched from npm's registry when it is not in the cache, and is checked by its digest.
"""

import base64
import hashlib
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from mm_eval.cli import main
from mm_eval.results.recorded import RecordedRun
from mm_eval.run_page import write_report

from .test_report_page import detail
from .test_site import complete, until

pytestmark = pytest.mark.browser

AXE = "axe-core-4.14.1.tgz"
SHA512 = "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
BAD = ("serious", "critical")


@pytest.fixture(scope="session")
def axe():
    """The source of axe-core."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mm-eval-tests"
    if not (cache / AXE).is_file():
        if not shutil.which("npm"):
            pytest.skip(f"no npm to fetch axe-core with, and no {cache / AXE}")
        cache.mkdir(parents=True, exist_ok=True)
        words = ["npm", "pack", AXE.removesuffix(".tgz").replace("core-", "core@"), "--silent"]
        fetched = subprocess.run(words, cwd=cache, capture_output=True, text=True, timeout=120)
        if fetched.returncode:
            pytest.skip(f"npm's registry can't be reached: {fetched.stderr[-200:]}")
    content = (cache / AXE).read_bytes()
    assert base64.b64encode(hashlib.sha512(content).digest()).decode() == SHA512, f"delete {cache / AXE}"
    with tarfile.open(cache / AXE) as archive:
        return archive.extractfile("package/axe.min.js").read().decode()


@pytest.fixture(scope="session")
def compared(base, perfect, worse):
    assert main(["compare", str(perfect), str(worse), "--html", str(base / "axe-compare.html")]) == 0
    return base / "axe-compare.html"


@pytest.fixture(scope="session")
def released(base, perfect, worse, dummy_run):
    words = ["report", str(perfect), str(worse), str(dummy_run), "--output", str(base / "axe-release.html")]
    assert main(words) == 0
    return base / "axe-release.html"


@pytest.fixture(scope="session")
def bundled(base, odd, dummy_run):
    assert main(["report", str(odd), str(dummy_run), "--site", str(base / "axe-bundle")]) == 0
    return base / "axe-bundle/odd/report.html"


def serious(page, axe):
    """What axe-core finds on an open page that is serious or worse."""
    page.execute_script("for (const one of document.querySelectorAll('details')) one.open = true;")
    page.execute_script(axe)
    found = page.execute_async_script(
        "axe.run().then((all) => arguments[0](all.violations.map((one) => "
        "[one.impact, one.id, one.nodes.length, one.nodes.slice(0, 2).map((n) => n.html.slice(0, 160))])))"
    )
    return [one for one in found if one[0] in BAD]


@pytest.mark.parametrize(
    "name, dark",
    [
        ("dummy_run", False),
        *(
            pytest.param(*each, marks=pytest.mark.full)
            for each in (("compared", False), ("released", False), ("bundled", True))
        ),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in (("dummy_run", True), ("compared", True))),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in (("released", True), ("bundled", False))),
    ],
)
def test_axe_finds_nothing_serious(request, opened, axe, name, dark):
    path = request.getfixturevalue(name)
    path = write_report(RecordedRun.read(path)) if name == "dummy_run" else path
    page = opened(path, dark=dark)
    if name == "bundled":
        complete(page)
    assert serious(page, axe) == []
    if name != "released":
        page.execute_script("for (const one of document.querySelectorAll('main > section')) one.hidden = false;")
        assert serious(page, axe) == []


@pytest.mark.full
def test_axe_finds_nothing_serious_in_what_the_server_shows(opened, axe, served, odd, perfect):
    address = served(odd, perfect)
    assert serious(opened(address, width=390), axe) == []
    page = complete(opened(f"{address}odd/report.html", "#samples"))
    page.find_element("css selector", "#detail button.zoom").click()
    assert serious(page, axe) == []


def test_the_keyboard_reaches_samples_pictures_and_filters(opened, bundled):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    def press(*keys):
        ActionChains(page).send_keys(*keys).perform()

    page = complete(opened(bundled, "#mme/3"))
    page.find_element("id", "list").send_keys(Keys.ARROW_DOWN)
    assert "mme, doc 4" in detail(page)
    active = page.find_element("id", "list").get_attribute("aria-activedescendant")
    assert page.find_element("id", active).get_attribute("aria-selected") == "true"
    for _ in range(6):
        press(Keys.TAB)
        if page.switch_to.active_element.get_attribute("class") == "zoom":
            break
    press(Keys.ENTER)
    assert until(page, "document.querySelectorAll('dialog[open]').length", 1) == 1
    press(Keys.ESCAPE)
    assert until(page, "document.querySelectorAll('dialog').length", 0) == 0
    assert page.switch_to.active_element.get_attribute("class") == "zoom"
    press("/")
    assert page.switch_to.active_element.get_attribute("id") == "f-text"
