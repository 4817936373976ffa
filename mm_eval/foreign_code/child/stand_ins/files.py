"""Where task code writes and finds files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def generate_submission_file(file_name: str, args: object = None, subpath: str = "submissions") -> str:
    """The path of a file for a benchmark's server, below the output folder; its folder is made."""
    folder = os.path.join(getattr(args, "output_path", None) or "", subpath)
    os.makedirs(folder, exist_ok=True)
    return os.path.abspath(os.path.join(folder, file_name))


def load_default_template_yaml(task_file: Any) -> object:
    """The plain keys of `_default_template_yaml` beside a file."""
    import yaml

    lines = Path(task_file).with_name("_default_template_yaml").read_text(encoding="utf-8").splitlines()
    return yaml.safe_load("\n".join(line for line in lines if "!function" not in line))


def get_cache_dir(config: Any, sub_dir: str = "videos") -> str:
    return os.path.join(os.environ["HF_HOME"], config["dataset_kwargs"]["cache_dir"], sub_dir)


def get_video(prefix: str, video_name: object, suffix: str = "mp4") -> str:
    """The file of a video, whose suffix may be written in either case."""
    name = str(video_name)
    tried = []
    for ending in (suffix, suffix.upper(), suffix.lower()):
        tried.append(os.path.abspath(os.path.join(prefix, name if name.endswith(ending) else f"{name}.{ending}")))
        if os.path.exists(tried[-1]):
            return tried[-1]
    raise FileNotFoundError(f"there is no video {name!r}; these were tried: {', '.join(tried)}")
