"""The command chooses how threads wait, and only where the user has chosen nothing."""

import os
import subprocess
import sys

import pytest

SHOW = "import os; print(os.environ.get('OMP_WAIT_POLICY'), os.environ.get('GOMP_SPINCOUNT'))"


def child(code: str, **variables: str) -> str:
    clean = {name: value for name, value in os.environ.items() if name not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**clean, **variables}, check=True, capture_output=True, text=True
    )
    return done.stdout.splitlines()[-1]


COMMAND = f"from mm_eval.cli import main; main(['ls', 'groups']); {SHOW}"


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, "passive None"),
        ({"OMP_WAIT_POLICY": "active"}, "active None"),
        ({"GOMP_SPINCOUNT": "9"}, "None 9"),
    ],
)
def test_threads_sleep_while_they_wait_unless_the_user_says_otherwise(variables: dict[str, str], expected: str) -> None:
    assert child(COMMAND, **variables) == expected


@pytest.mark.full
def test_from_python_nothing_is_changed() -> None:
    evaluate = "from mm_eval import evaluate; evaluate(tasks=['mme'], model='dummy', sample=True, limit=1)"
    assert child(f"{evaluate}; {SHOW}") == "None None"


def test_it_is_chosen_before_torch_is_imported() -> None:
    code = "import sys; import mm_eval.cli as c; c._wait_without_spinning(); print('torch' in sys.modules)"
    assert child(code) == "False"
