"""The docs that a config names: those of a split, and those for few-shot examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mm_eval.config.located import located
from mm_eval.config.task_config import TaskConfig
from mm_eval.data.dataset import beside, docs_of, load_docs
from mm_eval.data.docs import Docs
from mm_eval.data.source import LOCAL_FILES, DataSource
from mm_eval.prompt.fewshot import ExamplePool
from mm_eval.values.errors import ConfigError

FEWSHOT_SPLITS = ("fewshot_split", "training_split", "validation_split", "test_split")


def docs_of_split(
    config: TaskConfig, source: DataSource, split: str, key: str, process: Callable[[Any], Any] | None
) -> Docs:
    """The docs of a split, from the task's own function or from its dataset. key: the config key that names the split."""
    if config.custom_dataset is not None:
        arguments = {**config.metadata, **config.dataset_kwargs}
        where = config.where("custom_dataset")
        return docs_of(config.custom_dataset, arguments, split, where, process, source, config.draws())
    if config.dataset_path is None:
        raise ConfigError("dataset_path is missing.", where=config.where("task"))
    options = dict(config.dataset_kwargs)
    place = located(config.dataset_kwargs).places.get("data_files")
    if config.dataset_path in LOCAL_FILES and place and place.file:
        options["data_files"] = beside(options["data_files"], place.file.parent)
    if config.dataset_revision:
        options["revision"] = config.dataset_revision
    return load_docs(
        config.dataset_path,
        config.dataset_name,
        split,
        source,
        where=config.where(key),
        task=config.path,
        mirrors=config.dataset_mirrors,
        kwargs=options,
        process=process,
        draws=config.draws(),
    )


def example_pool(config: TaskConfig, source: DataSource, split: str, own: Docs, seed: int) -> ExamplePool:
    """The docs for examples: of a split named for them, else `samples`, else of the first of FEWSHOT_SPLITS.

    own: the docs that are asked, of the split `split`.
    """
    settings = config.fewshot_config
    common: dict[str, Any] = {
        "sampler": settings.get("sampler", "default"),
        "seed": seed,
        "where": config.where("fewshot_config"),
        "indices": tuple(settings["fewshot_indices"]) if settings.get("fewshot_indices") else None,
    }
    splits = {"fewshot_config": settings.get("split"), **{key: getattr(config, key) for key in FEWSHOT_SPLITS}}
    key, chosen = next((key, name) for key, name in splits.items() if name)
    samples = settings.get("samples")
    if samples and key not in ("fewshot_config", "fewshot_split"):
        return ExamplePool(samples() if callable(samples) else samples, **common)
    process = settings.get("process_docs", config.process_docs)
    if chosen == split and process is config.process_docs:
        return ExamplePool(own, same_split=True, **common)
    docs = docs_of_split(config, source, chosen, key, process)
    return ExamplePool(docs, same_split=chosen == split and len(docs) == len(own), **common)
