"""What a tracker gets of a finished run: the same values for every tracker, as JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mm_eval.results.estimates import numbers_by_path
from mm_eval.results.recorded import RecordedRun
from mm_eval.values.types import Fields

COLUMNS = ("task", "filter", "metric", "value", "stderr", "low", "high", "n", "failed", "unparsed", "truncated")


@dataclass(frozen=True)
class Tracked:
    """A finished run for a tracker.

    name: the model's name. key: equal for launches of the same run folder, so that a second one updates the same entry.
    numbers: {"mme/mme_perception_score": value}, beside it "_stderr", and "_low" and "_high" of the 95% interval.
    rows: the table, by `COLUMNS`. config: what was measured. page, results: files. offline: no connection may be opened.
    """

    name: str
    key: str
    numbers: Mapping[str, float]
    rows: list[list[Any]]
    config: Mapping[str, Any] = field(default_factory=dict)
    page: str = ""
    results: str = ""
    offline: bool = False
    columns: tuple[str, ...] = COLUMNS

    def to_json(self) -> dict[str, object]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Fields) -> Tracked:
        """What `to_json` wrote."""
        return cls(**{**stored, "columns": tuple(stored["columns"])})

    @classmethod
    def of(cls, run: RecordedRun, offline: bool = False) -> Tracked:
        """The values of a recorded run."""
        numbers: dict[str, float] = {}
        rows: list[list[object]] = []
        for path, (name, number) in numbers_by_path(run).items():
            low, high = number.interval or (None, None)
            stated = {"": number.value, "_stderr": number.stderr, "_low": low, "_high": high}
            numbers |= {f"{path}{end}": float(value) for end, value in stated.items() if value is not None}
            counts = [getattr(run.results.rows[name], count) for count in COLUMNS[7:]]
            rows.append([name, number.filter, number.metric, number.value, number.stderr, low, high, *counts])
        page = run.folder / "report.html"
        return cls(
            name=run.model,
            key=hashlib.sha256(str(run.folder.resolve()).encode()).hexdigest()[:16],
            numbers=numbers,
            rows=rows,
            config={
                "model": dict(run.spec["model"]),
                "seed": run.spec["seed"],
                "tasks": sorted(run.spec["tasks"]),
                "versions": run.results.versions,
                "n-shot": run.results.shots,
                "sample": bool(run.results.run.sample),
                "run_folder": str(run.folder.resolve()),
            },
            page=str(page.resolve()) if page.is_file() else "",
            results=str(Path(run.folder, "results.json").resolve()),
            offline=offline,
        )
