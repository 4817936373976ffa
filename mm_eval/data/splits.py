"""Which files hold a split of a data set on this machine, by its card or by the files' names.

The rules are those of `datasets`, as far as plain ones go; for anything else `split_files` gives None, and `datasets` decides.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from mm_eval.values.types import Fields, JsonObject

SUFFIXES = {".parquet": "parquet", ".jsonl": "json", ".json": "json", ".ndjson": "json", ".csv": "csv", ".tsv": "csv"}
OTHER_DESCRIPTIONS = (".huggingface.yaml", "dataset_infos.json", "dataset_info.json", "dataset_dict.json", "state.json")
"""Files that would tell `datasets` more than the card."""
NEVER_DATA = {"README.md", "config.json"}
SPLITS = ("train", "validation", "test")
CARD = re.compile(r"\s*---[\r\n]+([\S\s]*?)[\r\n]+---(\r\n|\n|$)")
SHARD = re.compile(r"(\w+(?:\.\w+)*)-\d{5}-of-\d{5}.*")

Card: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class SplitFiles:
    """The files of a split, in their order.

    first: the first file of the first split, which decides the columns of all splits.
    features, rows: what the card states, if anything: the columns as `datasets` writes them to JSON, and their number of rows.
    """

    paths: tuple[Path, ...]
    first: Path
    features: Mapping[str, object] | None = None
    rows: int | None = None

    @property
    def suffix(self) -> str:
        return self.paths[0].suffix


def split_files(path: str, name: str | None, split: str, options: Mapping[str, object]) -> SplitFiles | None:
    """The files of a split; None if that takes more than these rules.

    path: a folder, "parquet", "json" or "csv". options: those of `datasets.load_dataset`.
    """
    folder = Path(path)
    card: Card = {}
    if path in SUFFIXES.values():
        if options.keys() != {"data_files"} or name is not None:
            return None
        found = _stated(options["data_files"], Path())
        if found and any(SUFFIXES.get(file.suffix) != path for files in found.values() for file in files):
            return None
    elif options or not folder.is_dir() or any((folder / other).exists() for other in OTHER_DESCRIPTIONS):
        return None
    else:
        card = readme_header(folder / "README.md")
        if card.get("configs"):
            config = _configuration(card["configs"], name)
            found = _stated(config["data_files"], folder) if config else None
            name = config["config_name"] if config else name
        else:
            found = _by_names(folder) if name in (None, "default") else None
    if not found or not found.get(split):
        return None
    suffixes = {file.suffix for files in found.values() for file in files}
    if len(suffixes) != 1 or not suffixes <= SUFFIXES.keys():
        return None
    stated = card.get("dataset_info")
    infos = stated if isinstance(stated, list) else [stated] if stated else []
    info: Card = next((each for each in infos if each.get("config_name", "default") == (name or "default")), {})
    sizes = {each["name"]: each["num_examples"] for each in info.get("splits") or ()}
    if sizes and sizes.keys() != found.keys():
        return None
    features = _columns(info["features"]) if info.get("features") else None
    return SplitFiles(tuple(found[split]), next(iter(found.values()))[0], features, sizes.get(split))


def configurations(folder: Path) -> list[str] | None:
    """The names of the configurations that a data set's card lists; None if it lists none."""
    configs = readme_header(folder / "README.md").get("configs")
    return [str(config["config_name"]) for config in configs] if configs else None


def readme_header(path: Path) -> Card:
    """The YAML at the beginning of a README.md; empty if there is none."""
    try:
        about = path.stat()
    except OSError:
        return {}
    return _card(path, about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=8)
def _card(path: Path, changed: int, size: int) -> Card:
    import yaml

    found = CARD.match(path.read_text(encoding="utf-8"))
    try:
        card = yaml.safe_load(found[1]) if found else None
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    return card if isinstance(card, dict) else {}


def _configuration(configs: Sequence[Mapping[str, object]], name: str | None) -> Fields | None:
    """The configuration of this name, or the default one."""
    if any(
        config.keys() - {"config_name", "data_files", "default"} or "data_files" not in config for config in configs
    ):
        return None
    chosen = [config for config in configs if config["config_name"] == name]
    if name is None:
        chosen = [
            each for each in configs if len(configs) == 1 or each["config_name"] == "default" or each.get("default")
        ]
    return chosen[0] if len(chosen) == 1 else None


def _stated(data_files: Any, folder: Path) -> dict[str, list[Path]] | None:
    """{split: files} of a `data_files`, relative to a folder."""
    if isinstance(data_files, str):
        data_files = [data_files]
    if isinstance(data_files, list):
        by_split = all(isinstance(each, dict) for each in data_files)
        data_files = {each["split"]: each["path"] for each in data_files} if by_split else {"train": data_files}
    found: dict[str, list[Path]] = {}
    for split, patterns in data_files.items():
        files = [_matching(folder, pattern) for pattern in ([patterns] if isinstance(patterns, str) else patterns)]
        if not files or not all(files) or not re.fullmatch(r"\w+(\.\w+)*", str(split)):
            return None
        found[str(split)] = [file for some in files for file in some]
    return found


def _matching(folder: Path, pattern: str) -> list[Path]:
    """The files of a pattern with `*` in its last part only; none for other patterns."""
    parent, last = (folder / pattern).parent, Path(pattern).name
    if any(mark in pattern for mark in ("?", "[", "{", "**", "://", "::", "..")) or "*" in str(parent):
        return []
    if "*" not in last:
        return [folder / pattern] if (folder / pattern).is_file() else []
    files = [
        file for file in parent.iterdir() if fnmatchcase(file.name, last) and not file.name.startswith((".", "__"))
    ]
    return sorted(file for file in files if file.is_file() and file.name not in NEVER_DATA)


def _by_names(folder: Path) -> dict[str, list[Path]] | None:
    """{split: files} without a card: data/test-00000-of-00002.parquet, or test.jsonl; splits in the order of `datasets`."""
    files = sorted(file for file in folder.rglob("*") if not file.is_dir() and file.name not in NEVER_DATA)
    files = [file for file in files if not any(part.startswith(".") for part in file.relative_to(folder).parts)]
    shards = [
        (match[1], file) for file in files if file.parent == folder / "data" and (match := SHARD.fullmatch(file.name))
    ]
    if not shards:
        shards = [
            (file.stem, file) for file in files if file.stem in SPLITS and file.parent in (folder, folder / "data")
        ]
    if len(shards) < len(files):
        return None
    names = {split for split, _ in shards}
    order = [split for split in SPLITS if split in names] + sorted(names - set(SPLITS))
    return {split: [file for of, file in shards if of == split] for split in order}


MEDIA: Mapping[str, dict[str, object]] = {"image": {"_type": "Image"}, "audio": {"_type": "Audio"}}
"""Columns of media by their names in cards."""


def _columns(stated: Sequence[Mapping[str, Any]]) -> JsonObject:
    return {each["name"]: _feature({key: part for key, part in each.items() if key != "name"}) for each in stated}


def _feature(stated: Mapping[str, Any]) -> dict[str, object]:
    """A feature of a card in the form in which `datasets` writes it to JSON."""
    (kind, value), *others = stated.items()
    if others:
        raise ValueError(f"the feature {stated!r:.80}")
    if kind in ("list", "sequence"):
        inner = (
            _columns(value)
            if isinstance(value, list)
            else _feature({"dtype": value} if isinstance(value, str) else value)
        )
        return {"feature": inner, "_type": "Sequence" if kind == "sequence" else "List"}
    if kind == "struct":
        return _columns(value)
    if kind == "class_label":
        names = value["names"]
        return {
            "names": [names[number] for number in sorted(names, key=int)] if isinstance(names, dict) else names,
            "_type": "ClassLabel",
        }
    if kind == "audio" and set(value) <= {
        "sampling_rate"
    }:  # to which `datasets` would convert; samples stay as they are here
        return {"_type": "Audio"}
    if kind != "dtype":
        raise ValueError(f"the feature {stated!r:.80}")
    if isinstance(value, str):
        return MEDIA.get(value) or {"dtype": value, "_type": "Value"}
    return _feature(value)
