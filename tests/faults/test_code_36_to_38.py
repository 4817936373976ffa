"""Faults 36 to 38, what the tests of the catalogue and of prompts do not hold by number: listing runs nothing, a wrong config is
told at once with its line, a template does not leave its sandbox.
"""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from mm_eval.config.manager import TaskManager
from mm_eval.prompt.template import render
from mm_eval.values.errors import ConfigError, DataError
from tests.sets import each_of

LISTING = """
import sys
ran = []
sys.addaudithook(lambda event, args: ran.append(args[0].co_filename) if event == "exec" else None)
from mm_eval.cli import main
main(["ls", "tasks"])
print("executed:", [file for file in ran if "/tasks/" in file])
"""


def test_36_listing_all_tasks_executes_no_task_code() -> None:
    done = subprocess.run([sys.executable, "-c", LISTING], capture_output=True, text=True, check=True)
    assert "seedbench" in done.stdout and done.stdout.endswith("executed: []\n")


WHOLE = "task: wrong\ndataset_path: d\ntest_split: test\ndoc_to_text: q\ndoc_to_target: a\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{WHOLE}test_split: b\n", "wrong.yaml:6: the key 'test_split' is written twice (first on line 3)"),
        (f"{WHOLE}doc_to_txt: b\n", "wrong.yaml:6: "),
        (f"{WHOLE}num_fewshot: many\n", "wrong.yaml:6: "),
        (f"{WHOLE}include: wrong.yaml\n", "wrong.yaml:6: include goes in a circle"),
    ],
)
def test_37_a_wrong_config_is_told_with_its_line_within_50_ms(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "wrong.yaml").write_text(text)
    manager, seconds = TaskManager(include_path=str(tmp_path)), []
    manager.load(["arc_easy"])  # the index of the built-in tasks is there by then
    for _ in range(3):
        started = time.process_time()
        with pytest.raises(ConfigError) as caught:
            manager.load(["wrong"])
        seconds.append(time.process_time() - started)
        assert said in str(caught.value)
    assert min(seconds) < 0.05
    if "doc_to_txt" in text:
        assert "doc_to_text" in str(caught.value), "the suggestion"


ESCAPES = [
    "{{ ''.__class__ }}",
    "{{ ''['__class__'] }}",
    "{{ q|attr('__class__') }}",
    "{{ q.__init__.__globals__ }}",
    "{{ [].__class__.__base__.__subclasses__() }}",
    "{{ self._TemplateReference__context }}",
    "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
    "{{ joiner.__init__.__globals__.os.environ }}",
    "{{ namespace.__init__.__globals__ }}",
    "{{ lipsum.__globals__['os'].system('id') }}",
    "{{ config.from_pyfile('/etc/passwd') }}",
    "{{ request.application.__globals__.__builtins__.__import__('os') }}",
    "{% include '/etc/passwd' %}",
    "{% import 'os' as os %}{{ os.system('id') }}",
    "{{ '{0.__class__.__init__.__globals__}'.format(q) }}",
]


@each_of("payload", ESCAPES)
def test_38_no_known_payload_leaves_the_sandbox(payload: str) -> None:
    with pytest.raises((ConfigError, DataError)):
        render(payload, {"q": "text"})
