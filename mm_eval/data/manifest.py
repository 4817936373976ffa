"""What is known of the data sets of the shipped tasks: their ids, where they moved, sizes, gates, and how each fact is known.

One file, assets/data_sets.json: the search on the hub, its errors, `ls tasks`, `bundle`, `fetch`, `validate` and
docs/reference/data.md read it. `python docs/make/manifest.py --check` compares it with the hub, wherever there is one;
nothing else here has seen the hub.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files

from mm_eval.values.types import Fields

NEW_OWNERS = ("lmms-lab-encoder", "lmms-eval")
"""Who has the data sets of lmms-lab since 2026-07-30, videos the second one. Tried for those that the manifest does not have."""
OLD_OWNER = "lmms-lab"


@dataclass(frozen=True)
class KnownDataSet:
    """A data set of a shipped task.

    id: as task files name it. moved_to, moved_from: its other name on the hub. commit: the newest that was seen.
    rows: by split, or by "configuration/split". columns: {name: type} of those that a stored card proves.
    gated: whether the hub wants an agreement, None where that is not known; terms: what to. size: in bytes.
    on_hub: False for one that can't be loaded by its name. fetch: its authors' recipe (verbs/fetch).
    sources: whether other sources agree with the task files ("agree", "differ", "unproven"). known: {fact: how it is known}.
    """

    id: str
    moved_to: str | None = None
    moved_from: str | None = None
    commit: str | None = None
    configurations: tuple[str, ...] = ()
    splits: tuple[str, ...] = ()
    rows: Mapping[str, int] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    gated: bool | None = None
    terms: str = ""
    size: int | None = None
    licence: str | None = None
    on_hub: bool = True
    fetch: Sequence[Fields] = ()
    sources: str = "unproven"
    known: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()

    @property
    def names(self) -> list[str]:
        """All names on the hub, the task files' own first."""
        return [name for name in (self.id, self.moved_to, self.moved_from) if name]

    def rows_of(self, configurations: Sequence[str | None], split: str) -> int | None:
        """The rows of a split, of all these configurations together; None where that is not known."""
        counts: list[int | None] = []
        for name in configurations:
            for part in split.split("+"):
                plain = self.rows.get(part) if name is None or len(self.configurations) < 2 else None
                counts.append(self.rows.get(f"{name}/{part}", plain))
        return None if None in counts else sum(count for count in counts if count is not None)


@lru_cache(maxsize=1)
def manifest() -> dict[str, KnownDataSet]:
    """{id: data set} of all data sets of the shipped tasks."""
    stored = json.loads(files("mm_eval.assets").joinpath("data_sets.json").read_text(encoding="utf-8"))
    known = {}
    for name, entry in stored.items():
        lists = {key: tuple(entry[key]) for key in ("configurations", "splits") if key in entry}
        known[name] = KnownDataSet(**{"id": name, **entry, **lists})
    return known


@lru_cache(maxsize=1)
def _by_name() -> dict[str, KnownDataSet]:
    return {name: entry for entry in manifest().values() for name in entry.names}


def known_data_set(path: str) -> KnownDataSet | None:
    """The data set that has this id, or had it before it moved; None for one that no shipped task names.

    >>> known_data_set("lmms-eval/Video-MME").id
    'lmms-lab/Video-MME'
    """
    return _by_name().get(path)


def hub_ids(path: str) -> list[str]:
    """All ids of a data set on the hub, the given one first.

    >>> hub_ids("lmms-lab/MME"), hub_ids("lmms-lab/Video-MME"), hub_ids("MMMU/MMMU")
    (['lmms-lab/MME', 'lmms-lab-encoder/MME'], ['lmms-lab/Video-MME', 'lmms-eval/Video-MME'], ['MMMU/MMMU'])
    """
    found = known_data_set(path)
    if found is not None:
        return list(dict.fromkeys([path, *found.names]))
    owner, slash, name = path.partition("/")
    if not slash or owner not in (OLD_OWNER, *NEW_OWNERS):
        return [path]
    return [path, *(f"{new}/{name}" for new in NEW_OWNERS)] if owner == OLD_OWNER else [path, f"{OLD_OWNER}/{name}"]


def advice_on_missing(path: str, task: str) -> str:
    """What to do where a data set was not found; "" where nothing special is known. task: its name."""
    found = known_data_set(path)
    if found is None:
        return ""
    if found.fetch:
        return f"It can't be loaded by name: `mm-eval fetch {task} DIR` gets it as its authors say, then use --data_root DIR."
    if found.gated:
        page = f"https://huggingface.co/datasets/{found.names[-1]}"
        return f"It is gated. Accept its terms ({found.terms}) at {page}, and log in (`hf auth login`, or HF_TOKEN)."
    return ""
