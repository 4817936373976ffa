"""Where the rows of a data set may name files: pictures, videos and subtitles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mm_eval.task.data_files import datasets_cache
from mm_eval.task.media import Places
from mm_eval.task.video.files import DataFiles, keep_in


def places_of(
    folder: Path | None, kwargs: Mapping[str, Any], urls: bool, repository: Callable[[], Sequence[Path]] | None
) -> Places:
    """The dataset's folder, the folders of its data files, and the caches of the hub.

    Videos and subtitles are also found in archives there, and with `dataset_kwargs: {video: true}` in the hub's repository.
    folder: of the dataset on this machine, None if its rows are from the hub. repository: gives the folder with all files of the
    hub's repository, which it downloads; called when the first video is looked for.
    """
    from huggingface_hub.constants import HF_HUB_CACHE

    own = [folder] if folder is not None else []
    named = kwargs.get("data_files") or ()
    files = named.values() if isinstance(named, Mapping) else [named]
    flat = [name for item in files for name in ([item] if isinstance(item, str) else item)]
    base = folder or Path()  # of a dataset on this machine its files are meant, and not those of the working directory
    own += [(base / name).parent for name in flat if "://" not in name and "*" not in name]
    own += [Path(str(kwargs["data_dir"]))] if kwargs.get("data_dir") else []
    own = list(dict.fromkeys(own))
    caches = (Path(HF_HUB_CACHE), datasets_cache())
    videos = DataFiles(repository if kwargs.get("video") and repository is not None else own, caches)
    if kwargs.get("video") and kwargs.get("cache_dir"):
        keep_in(str(kwargs["cache_dir"]), videos)
    return Places((*own, *caches), urls, videos)
