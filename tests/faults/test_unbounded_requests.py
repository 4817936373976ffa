"""What is asked for without end is refused before the first request."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Ran

TASK = "include: {mme}\ntask: endless\nrepeats: {repeats}\n"


@pytest.mark.parametrize("repeats", [10_001, 10**12])
def test_repeats_have_a_bound(cli: Callable[..., Ran], tmp_path: Path, repeats: int) -> None:
    mme = Path(__file__).parents[2] / "tasks" / "mme" / "mme.yaml"
    (tmp_path / "endless.yaml").write_text(TASK.format(mme=mme, repeats=repeats))
    ran = cli("--tasks", "endless", "--include_path", tmp_path, "--model", "dummy", "--sample")
    assert ran.code == 2 and "1 to 10,000" in ran.err


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device")
def test_a_config_without_end_is_refused(cli: Callable[..., Ran]) -> None:
    ran = cli("run", "--config", "/dev/zero")
    assert ran.code == 2 and "bytes" in ran.err
