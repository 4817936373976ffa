"""Copies the recorded answers that tests/papers replays: python tests/papers/fetch.py [--from TEMPLATE] [NAME ...]

NAME is the end of a test module (`mmmu` for test_mmmu.py); without one all are copied. TEMPLATE is an address or a
folder with {owner} and {name}, by default GitHub's; a folder must hold git repositories.
"""

import argparse
import importlib
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

from tests.papers.recordings import Recording  # noqa: E402

GITHUB = "https://github.com/{owner}/{name}"


def recordings(names: list[str]) -> list[Recording]:
    """The recordings that the named test modules state, or those of all."""
    modules = names or sorted(path.stem.removeprefix("test_") for path in HERE.glob("test_*.py"))
    found: dict[Recording, None] = {}
    for module in modules:
        for value in vars(importlib.import_module(f"tests.papers.test_{module}")).values():
            values = (
                value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else [value]
            )
            found.update(dict.fromkeys(each for each in values if isinstance(each, Recording)))
    return list(found)


def git(repository: Path, *words: str) -> bytes:
    """What a git command prints."""
    return subprocess.run(["git", "-C", str(repository), *words], check=True, stdout=subprocess.PIPE).stdout


def copy(repository: Path, recording: Recording) -> int:
    """Copies the files of a recording; how many."""
    listed = git(repository, "ls-tree", "-r", "-z", "--name-only", recording.commit, "--", recording.path)
    paths = [name for name in listed.decode().split("\0") if name]
    if not paths:
        raise SystemExit(f"{recording.repository} has no {recording.path} at {recording.commit}")
    for path in paths:
        target = recording.place.parents[len(Path(recording.path).parts) - 1] / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(git(repository, "show", f"{recording.commit}:{path}"))
    return len(paths)


def main(names: list[str], template: str) -> None:
    by_repository: dict[str, list[Recording]] = defaultdict(list)
    for recording in recordings(names):
        by_repository[recording.repository].append(recording)
    for repository, wanted in by_repository.items():
        owner, _, name = repository.partition("/")
        source = template.format(owner=owner, name=name)
        with tempfile.TemporaryDirectory() as scratch:
            local = Path(source) if Path(source).is_dir() else Path(scratch)
            if local == Path(scratch):
                git(local, "init", "-q")
                git(local, "remote", "add", "origin", source)
            for commit in dict.fromkeys(each.commit for each in wanted):
                if local == Path(scratch):
                    git(local, "fetch", "-q", "--depth=1", "--filter=blob:none", "origin", commit)
            for recording in wanted:
                print(f"{repository}:{recording.path}: {copy(local, recording)} files")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--from", dest="template", default=GITHUB, metavar="TEMPLATE", help=f"default: {GITHUB}")
    args = parser.parse_args()
    main(args.names, args.template)
