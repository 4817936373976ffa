"""Packages that task code imports, and how each is installed.

install_command("cv2.resize") -> "pip install opencv-python-headless"
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

from mm_eval.values.errors import ConfigError, kind_and_text

DISTRIBUTIONS = {
    "absl": "absl-py",
    "bert_score": "bert-score",
    "bleurt_pytorch": "git+https://github.com/lucadiliello/bleurt-pytorch.git",
    "bs4": "beautifulsoup4",
    "Crypto": "pycryptodome",
    "cv2": "opencv-python-headless",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "fitz": "pymupdf",
    "google.genai": "google-genai",
    "google.generativeai": "google-generativeai",
    "iso639": "iso639-lang",
    "kstar_planner": "kstar-planner",
    "langchain_community": "langchain-community",
    "lm_eval": "lm_eval",
    "lmms_eval": "lmms_eval",
    "more_itertools": "more-itertools",
    "opencc": "opencc-python-reimplemented",
    "PIL": "pillow",
    "qa_metrics": "qa-metrics",
    "requests_cache": "requests-cache",
    "rouge_score": "rouge-score",
    "sam2": "git+https://github.com/facebookresearch/sam2.git",
    "sentence_transformers": "sentence-transformers",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
"""{name that is imported: what pip calls it}, where these differ by more than a case."""


def package_of(module: str) -> str:
    """The package of a module's or a name's dotted name: what a user would say is missing."""
    return next(
        (name for name in DISTRIBUTIONS if "." in name and f"{module}.".startswith(f"{name}.")), module.split(".")[0]
    )


def install_command(module: str) -> str:
    """The command that installs the package of a module."""
    package = package_of(module)
    return f"pip install {DISTRIBUTIONS.get(package, package)}"


class MissingPackages(ConfigError):
    """Task code needs packages that are not installed. at_import: it can't even be imported without them."""

    def __init__(self, who: str, packages: Sequence[str], *, at_import: bool = False, where: str = "") -> None:
        named = " and ".join(f"the package {package!r}" for package in packages)
        what = f"{who} {named}, which {'is' if len(packages) == 1 else 'are'} not installed."
        commands = " ".join(install_command(package).removeprefix("pip install ") for package in packages)
        super().__init__(what, where=where, hint=f"Install it: pip install {commands}")
        self.packages, self.at_import = tuple(packages), at_import


def import_error(error: BaseException, function: str, folder: Path, where: str) -> ConfigError:
    """The error of a `!function` whose file can't be imported. folder: that of its YAML file; where: file:line."""
    who, hint = f"importing the file of !function {function} failed", ""
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        if (folder / f"{package}.py").is_file():
            hint = f"Write `from .{error.name} import ...` for a file beside it."
        elif package in sys.modules or importlib.util.find_spec(package):
            hint = f"The task's file was written for another version of the package {package!r} than the one installed."
        else:
            return MissingPackages(f"{who}: it needs", [package_of(error.name)], at_import=True, where=where)
    return ConfigError(f"{who}: {kind_and_text(error)}", where=where, hint=hint)
