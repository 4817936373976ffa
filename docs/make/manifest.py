"""The table of docs/reference/data.md, made of assets/data_sets.json; with --check compares that file with the hub.

    python docs/make/manifest.py --check     what differs from the hub (HF_ENDPOINT); ends with 1 if anything does, 3 without one
    python docs/make/manifest.py --check A B only these data sets

Compared are: whether a data set is there, under which id, its newest commit, its gate, its licence's tag, and the splits, rows
and columns that its card states. What a card does not state is not compared. Nothing is changed: a person judges a difference.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tables import table

from mm_eval.data.manifest import KnownDataSet, manifest
from mm_eval.values.safe import markdown
from mm_eval.verbs.bundle.copying import size_text


class NoHub(Exception):
    """The hub can't be reached."""


def made() -> str:
    """The table."""
    columns = ("data set", "now at", "rows", "gate", "size", "sources", "notes")
    text: str = table(columns, [row_of(entry) for entry in manifest().values()])
    return text


def row_of(entry: KnownDataSet) -> tuple[str, ...]:
    """The cells of one data set."""
    rows = ", ".join(f"{split} {count:,}" for split, count in list(entry.rows.items())[:4])
    more = f" and {len(entry.rows) - 4} more" if len(entry.rows) > 4 else ""
    gate = {True: f"yes: {entry.terms}", False: "no", None: ""}[entry.gated]
    access = ["`mm-eval fetch`"] if entry.fetch else []
    return (
        f"[{markdown(entry.id)}](https://huggingface.co/datasets/{entry.id})" if entry.on_hub else markdown(entry.id),
        markdown(entry.moved_to or ""),
        rows + more,
        gate,
        size_text(entry.size) if entry.size else "",
        entry.sources,
        markdown("; ".join(entry.notes)) + ("; " if entry.notes and access else "") + "".join(access),
    )


def differences(entry: KnownDataSet) -> Iterator[str]:
    """In what the hub differs from the file, one sentence each."""
    about = None
    for name in entry.names:
        about = asked(name)
        if about is not None:
            break
    if about is None:
        if entry.on_hub:
            yield f"is not on the hub as {' or '.join(entry.names)}"
        return
    if about["id"] not in entry.names:
        yield f"is at {about['id']} now"
    elif entry.moved_to and about["id"] != entry.moved_to:
        yield f"is at {about['id']} and not at {entry.moved_to}"
    if entry.commit and not str(about.get("sha", "")).startswith(entry.commit):
        yield f"has the commit {str(about.get('sha'))[:12]}, and {entry.commit} is known"
    gated = bool(about.get("gated"))
    if entry.gated is not None and gated != entry.gated or entry.gated is None and gated:
        yield f"is {'gated' if gated else 'not gated'}, and {known_gate(entry)} is known"
    yield from of_card(entry, about.get("cardData") or {})


def known_gate(entry: KnownDataSet) -> str:
    return {True: "a gate", False: "no gate", None: "nothing"}[entry.gated]


def of_card(entry: KnownDataSet, card: Mapping[str, Any]) -> Iterator[str]:
    """What the hub's card states otherwise. A card may describe one configuration, or several in a list."""
    tag = card.get("license")
    if entry.licence and isinstance(tag, str) and plain(tag) not in plain(entry.licence):
        yield f"has the licence {tag!r}, and {entry.licence!r} is known"
    stated = card.get("dataset_info") or []
    for info in stated if isinstance(stated, list) else [stated]:
        name = info.get("config_name", "default")
        for split in info.get("splits") or []:
            key = next((key for key in (f"{name}/{split['name']}", split["name"]) if key in entry.rows), None)
            if key is not None and split.get("num_examples") not in (None, entry.rows[key]):
                yield f"has {split['num_examples']:,} rows in {key}, and {entry.rows[key]:,} are known"
        columns = {each["name"]: type_of(each) for each in info.get("features") or [] if "name" in each}
        for column, kind in entry.columns.items() if columns else ():
            if column not in columns:
                yield f"has no column {column!r} in {name}, which is known"
            elif columns[column] != kind:
                yield f"has {columns[column]} in {column!r} of {name}, and {kind} is known"


def type_of(feature: Mapping[str, Any]) -> str:
    """A column's type in a card, as the file has it."""
    if "dtype" in feature:
        return str(feature["dtype"])
    for kind in ("sequence", "list"):
        if kind in feature:
            inner = feature[kind]
            return f"list<{inner if isinstance(inner, str) else inner.get('dtype', 'struct')}>"
    return "struct"


def plain(licence: str) -> str:
    return "".join(sign for sign in licence.lower() if sign.isalnum())


def asked(name: str) -> dict[str, Any] | None:
    """What the hub's API says of a data set; None where there is none. A name that moved is answered under its new one."""
    endpoint = (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
    request = urllib.request.Request(f"{endpoint}/api/datasets/{name}", headers={"User-Agent": "mm-eval"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            found: dict[str, Any] = json.load(answer)
            return found
    except urllib.error.HTTPError as error:
        if error.code in (401, 403, 404):  # the hub says 401 for an unknown id, too
            return None
        raise NoHub(f"{name}: the hub answered {error.code}") from error
    except (OSError, ValueError) as error:
        raise NoHub(f"the hub can't be reached: {error}") from error


def check(names: Sequence[str]) -> int:
    """Prints what differs. 0 if nothing does, 1 if something does, 3 if the hub can't be reached."""
    every = manifest()
    unknown = [name for name in names if name not in every]
    if unknown:
        print(f"not in assets/data_sets.json: {', '.join(unknown)}", file=sys.stderr)
        return 2
    found = 0
    for name in names or every:
        try:
            for said in differences(every[name]):
                found += 1
                print(f"{name} {said}")
        except NoHub as error:
            print(f"{error}; nothing was compared after {name}.", file=sys.stderr)
            return 3
    print(f"{len(names or every)} data sets compared, {found} differences.")
    return 1 if found else 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", nargs="*", metavar="ID", required=True, help="compare with the hub")
    args = parser.parse_args(arguments)
    return check(args.check)


if __name__ == "__main__":
    raise SystemExit(main())
