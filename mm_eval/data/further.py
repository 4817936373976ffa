"""Further data that a task's own function loads while it makes the docs, such as GQA's pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mm_eval.data.data_files import content_cache
from mm_eval.data.manifest import hub_ids
from mm_eval.data.source import LOADING, LOCAL_FILES, DataSource, hub_answers, load_from_hub


def load_further(source: DataSource, path: str, name: str | None = None, **options: Any) -> Any:
    """As `datasets.load_dataset`, but below the data roots of `source` first.

    Cached rows of local files that have changed since are not used. `token=True` means "use a token if there is one". On the
    hub a data set that has moved is looked up under both of its ids; offline, and without network, in the hub's local cache.
    """
    import datasets
    import huggingface_hub

    found = source.found(path)
    path = str(found[1]) if found else path
    if options.get("token") is True:
        options["token"] = huggingface_hub.get_token() or None
    if Path(path).is_dir() or path in LOCAL_FILES:
        with LOADING:
            options |= content_cache(datasets.load_dataset_builder, path, name, options)
            return datasets.load_dataset(path, name, **options)
    failures: list[Exception] = []
    reachable = not source.offline and hub_answers()
    for hub_id in hub_ids(path):
        try:
            return load_from_hub(hub_id, name, reachable, **options)
        except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
            failures.append(error)
    raise failures[0]
