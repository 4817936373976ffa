"""Headless Chromium for the tests of report.html; without a browser or selenium they are skipped, with the reason."""

import json
import shutil
import socket
import threading
from pathlib import Path

import pytest

from mm_eval.results.recorded import RecordedRun
from mm_eval.run_page import write_report
from mm_eval.verbs.report.site.app import app_of
from mm_eval.verbs.report.site.runs import Shown
from tests.processes import HANGS
from tests.recorded import answers_with, ran, set_count

ATTACK = (
    "</script><script>window.attacked=1</script><img src=x onerror='window.attacked=2'> \x1b[31mred<!-- --> <!--ROWS-->"
)


@pytest.fixture(scope="session")
def chromium():
    webdriver = pytest.importorskip("selenium.webdriver", reason="pip install -e '.[browser]'")
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not binary or not driver:
        pytest.skip("no Chromium: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield browser
    browser.quit()


@pytest.fixture
def new_tab(chromium):
    """A tab with a history of its own: Chromium keeps 50 entries a tab, and first drops those that no person's click made."""
    before = chromium.current_window_handle
    chromium.switch_to.new_window("tab")
    yield
    chromium.close()
    chromium.switch_to.window(before)


@pytest.fixture
def opened(chromium):
    """Opens a page from disk at a width, light or dark, and waits until it is drawn; it must not complain.

    A page is a file or an address. broken: files beside it are missing, of which the browser complains.
    """

    def open_page(path: Path | str, hash_: str = "", width: int = 1280, dark: bool = False, broken: bool = False):
        chromium.get("about:blank")
        chromium.get_log("browser")
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
        chromium.get((path if isinstance(path, str) else path.resolve().as_uri()) + hash_)
        assert chromium.execute_script("return document.documentElement.dataset.ready") is not None
        assert chromium.get_log("browser") == [] or broken
        return chromium

    return open_page


@pytest.fixture
def served(tmp_path):
    """Serves run folders in a thread and gives the address."""
    import uvicorn

    running = []

    def serve(*folders: Path) -> str:
        listening = socket.create_server(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        app = app_of(Shown(folders, tmp_path / "pages"), "token", (f"127.0.0.1:{port}",))
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        running.append((server, thread, listening))
        return f"http://127.0.0.1:{port}/token/"

    yield serve
    for server, thread, listening in running:
        server.should_exit = True
        thread.join(HANGS)
        listening.close()


@pytest.fixture(scope="session")
def attacked(base, mme_rows):
    """A run of which one answer tries everything that an answer could try on a page."""
    path = answers_with(base / "attack.jsonl", mme_rows, set(range(20)), said={3: ATTACK})
    folder = ran(base / "attacked", "--tasks", "mme", "--model", "replay", "--model_args", f"path={path}")
    return folder / "report.html"


@pytest.fixture(scope="session")
def odd(base, mme_rows):
    """40 docs, the first 12 with an empty answer and the others right."""
    said = dict.fromkeys(range(12), " ")
    path = answers_with(base / "odd.jsonl", mme_rows[:40], set(), said=said)
    return ran(base / "odd", "--tasks", "mme", "--limit", "40", "--model", "replay", "--model_args", f"path={path}")


@pytest.fixture(scope="session")
def large(base, dummy_run):
    """Pages of a run with its samples repeated to 2,000 and to 20,000 docs."""
    rows = [json.loads(line) for line in (dummy_run / "samples/mme.jsonl").read_text().splitlines()]
    pages = {}
    for count in (2_000, 20_000):
        folder = base / f"large-{count}"
        shutil.copytree(dummy_run, folder)
        with (folder / "samples/mme.jsonl").open("w") as file:
            for doc_id in range(count):
                file.write(json.dumps({**rows[doc_id % len(rows)], "doc_id": doc_id}) + "\n")
        (folder / "samples/seedbench.jsonl").write_text("")
        set_count(folder, "mme", count)
        set_count(folder, "seedbench", 0)
        pages[count] = write_report(RecordedRun.read(folder))
    return pages
