"""Code in the sandbox: what comes back, and that bad code ends in one sentence, within its limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from mm_eval.sandbox.check import check_walls
from mm_eval.sandbox.interpreter import Asked, Interpreter, Ran
from tests.sandbox.there import pool, sandbox

pytestmark = pytest.mark.full  # one start of a sandbox in the default set: tests/tools/test_python.py
Run = Callable[..., Ran]


@pytest.fixture(scope="module")
def interpreter() -> Iterator[Interpreter]:
    """One for all tests of the file: it must survive them."""
    started = pool(memory=700, files=32)
    yield started.take()
    started.close()


@pytest.fixture
def run(interpreter: Interpreter) -> Run:
    def call(code: str, seconds: float = 20, characters: int = 2000) -> Ran:
        return interpreter.run(Asked(code, seconds, characters, 2, 64, 3))

    return call


def test_what_comes_back(run: Run) -> None:
    assert run("x = 20\nprint('out')\nx * 2").text == "out\n40"
    assert run("x + 1").text == "21"
    wrong = run("y = 1\n1 / 0")
    assert wrong.ending == "error" and wrong.text.endswith("ZeroDivisionError: division by zero")
    assert "\n... (3,001 characters left out) ...\naaa" in run("print('a' * 5000)").text


def test_pictures_come_back_within_bounds(run: Run, interpreter: Interpreter) -> None:
    interpreter.put([("image_01.png", b"not one")])
    shown = run("from PIL import Image\nImage.new('RGB', (128, 32), 'red').save('a.png')\nImage.new('RGBA', (2, 2))")
    assert [(name, picture.size, picture.getpixel((0, 0))) for name, picture in shown.pictures] == [
        ("image_03.png", (2, 2), (255, 255, 255)),
        ("a.png", (64, 16), (255, 0, 0)),
    ]
    both = run("Image.new('RGB', (8, 8), 'red').save('image_03.png')\nImage.new('RGB', (2, 2), 'blue')")
    assert [(name, picture.getpixel((0, 0))) for name, picture in both.pictures] == [
        ("image_03.png", (0, 0, 255)),
        ("image_04.png", (255, 0, 0)),
    ]
    assert run("[Image.open(f'image_0{n}.png').size for n in (3, 4)]").text == "[(2, 2), (8, 8)]"
    many = run("for n in range(1000): Image.new('RGB', (4, 4)).save(f'{n}.png')")
    assert len(many.pictures) == 2 and many.remarks == (
        "998 further pictures were left out: at most 2 a call are returned.",
    )
    broken = run("_ = open('b.png', 'w').write('xx')")
    assert broken.remarks == ("b.png: it can't be read as a picture (UnidentifiedImageError).",)
    large = run("Image.new('1', (20000, 10000)).save('c.png')")
    assert large.remarks == ("c.png: it has more pixels than are returned (64,000,000).",)
    assert run("from IPython.display import HTML, SVG\nHTML('<b>x</b>')").text == "<IPython.core.display.HTML object>"


BAD = {
    "never ends": ("while True: pass", "it took more than 1 s, on the clock or of CPU"),
    "waits": ("import time\ntime.sleep(9)", "it took more than 1 s, on the clock or of CPU"),
    "ends itself": ("import os\nos._exit(3)", "the code ended it with exit code 3"),
    "kills its process": ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "it was killed"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_call_that_is_ended_says_why(name: str, run: Run) -> None:
    code, why = BAD[name]
    found = run(code, 1)
    assert found.ending in ("stopped", "ended") and found.reason == why
    assert run("1 + 1").text == "2"


def test_what_the_code_may_not_do_is_an_error_that_it_sees(run: Run) -> None:
    assert "No space left on device" in run("_ = open('large', 'wb').write(bytes(64 << 20))").text
    run("import os; os.remove('large')")
    assert "Read-only file system" in run("open('/usr/mine', 'w')").text
    assert "MemoryError" in run("bytearray(2 << 30)").text
    assert run("import os\nsorted(set(os.environ) & {'PYTEST_CURRENT_TEST', 'HOME'})").text == "['HOME']"
    assert run("import socket\n[name for _, name in socket.if_nameindex()]").text == "['lo']"
    left = run("import subprocess\n_ = subprocess.Popen(['sleep', '100'])")
    assert left.remarks == ("1 process that the code had left running was ended.",)


def test_text_that_no_file_can_hold_is_escaped(run: Run) -> None:
    """The kernel's own library fails on half of a surrogate pair, and the model got that traceback for its output."""
    assert run("print('a', '\\ud800', 'b')").text == "a \\ud800 b"
    assert run("!printf 'one\\ntwo\\n'").text == "one\ntwo"


def test_code_that_breaks_its_own_output_breaks_nothing_else(run: Run) -> None:
    assert run("print = len\nprint('abc')").text == "3"
    run("import sys, os\nsys.stdout.close()\nos.close(1)")
    assert "closed file" in run("del print\nprint(3)").text
    assert run("2 + 2").text == "4"
    run("import os\nos._exit(0)")
    again = run("print(3)")
    assert (again.text, again.fresh) == ("3", True)


@pytest.mark.parametrize(
    ("code", "holds"),
    [
        ("print('a' * 100_000_000)", lambda ran: "characters left out" in ran.text),
        (
            "kept = []\nwhile True: kept.append(bytes(b'x' * (8 << 20)))",
            lambda ran: "MemoryError" in ran.text or "memory" in ran.reason,
        ),
        (
            "import os, time\nstarted = 0\ntry:\n    while True:\n        if not os.fork():\n            time.sleep(60)\n"
            "        started += 1\nexcept OSError:\n    print('at the limit')",
            lambda ran: ran.text == "at the limit" and "had left running" in ran.remarks[0],
        ),
        ("from PIL import Image\nImage.new('RGB', (20000, 10000))", lambda ran: not ran.pictures),
        (
            "import time\ntry:\n    time.sleep(90)\nexcept KeyboardInterrupt:\n    time.sleep(90)",
            lambda ran: ran.ending == "ended",
        ),
    ],
)  # fmt: skip
def test_harmless_forms_of_bad_input(code: str, holds: Callable[[Ran], bool], run: Run) -> None:
    found = run(code, 30 if "sleep(90)" not in code else 2)
    assert holds(found), found
    assert run("1 + 1").text == "2"


@pytest.mark.parametrize("home", ["/tmp", "/usr/local/lib/service", "/"])
def test_a_home_in_a_folder_that_the_sandbox_has_of_its_own_is_no_open_wall(
    home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", home)
    assert not [wall for wall in check_walls(sandbox(), limits=False) if not wall.holds]


def test_every_wall_holds() -> None:
    assert not [wall for wall in check_walls(sandbox()) if not wall.holds]
