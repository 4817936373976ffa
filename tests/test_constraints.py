"""constraints.txt: README's installation works with the oldest Python that pyproject.toml promises."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[1]


def test_every_pinned_package_admits_the_oldest_python_of_pyproject() -> None:
    promised = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    oldest = re.fullmatch(r">=(3\.\d+)", promised)
    assert oldest
    pins = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
    refused = {}
    known = 0
    for name, version in pins.items():
        try:
            package = metadata.metadata(name)
        except metadata.PackageNotFoundError:
            continue
        if package["Version"].split("+")[0] == version.split("+")[0]:
            known += 1
            needs = package.get("Requires-Python") or ""
            if f"{oldest[1]}.0" not in SpecifierSet(needs):
                refused[name] = needs
    assert known > 50
    assert not refused
