"""The base classes of task classes and of groups.

A task class says by its methods what a YAML file says by its keys. `task_classes.py` runs one.
"""

from __future__ import annotations

from typing import Any


class TaskConfig(dict[str, Any]):
    """A task's keys, also as attributes; one that is not stated is None."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.get(name)

    def __setattr__(self, name: str, value: object) -> None:
        self[name] = value

    def to_dict(self, keep_callable: bool = False) -> dict[str, object]:
        return dict(self)


class GroupConfig(TaskConfig):
    """A group's keys."""


class AggMetricConfig(TaskConfig):
    """How a group makes a number of those of its members."""


class Task:
    """A task that is written as a class."""

    VERSION: object = None
    DATASET_PATH: object = None
    DATASET_NAME: object = None
    OUTPUT_TYPE: object = None
    CONFIG: Any = None

    def __init__(self, *args: object, config: Any = None, **kwargs: object) -> None:
        given = next((each for each in args if isinstance(each, dict)), {}) if config is None else config
        self._config = self.config = TaskConfig(self.CONFIG or {}, **dict(given))
        self.dataset: Any = None
        self.task_name = self._config.get("task")
        self._training_docs = self._fewshot_docs = self.features = None
        self.fewshot_rnd: object = None

    def download(self, *args: object, **kwargs: object) -> None:
        """Loads the data set of the class. mm-eval calls it; a class may load in its own way."""
        import datasets

        options = dict(self._config.get("dataset_kwargs") or {})
        path = self.DATASET_PATH or self._config.get("dataset_path")
        self.dataset = datasets.load_dataset(path, self.DATASET_NAME or self._config.get("dataset_name"), **options)

    def has_training_docs(self) -> bool:
        return self._config.get("training_split") is not None

    def has_validation_docs(self) -> bool:
        return self._config.get("validation_split") is not None

    def has_test_docs(self) -> bool:
        return self._config.get("test_split") is not None

    def training_docs(self) -> object:
        return self._split("training_split")

    def validation_docs(self) -> object:
        return self._split("validation_split")

    def test_docs(self) -> object:
        return self._split("test_split")

    def _split(self, key: str) -> object:
        return None if self._config.get(key) is None else self.dataset[self._config[key]]

    def doc_to_text(self, doc: object, *args: object) -> object:
        return self._of_config("doc_to_text", doc)

    def doc_to_target(self, doc: object, *args: object) -> object:
        return self._of_config("doc_to_target", doc)

    def doc_to_choice(self, doc: object, *args: object) -> object:
        return self._of_config("doc_to_choice", doc)

    def _of_config(self, key: str, doc: Any) -> object:
        stated = self._config.get(key)
        if callable(stated):
            return stated(doc)
        if isinstance(stated, str) and stated in doc:
            return doc[stated]
        if isinstance(stated, str):
            return apply_template(stated, doc)
        return stated

    def should_decontaminate(self) -> bool:
        return False

    def dump_config(self) -> dict[str, object]:
        return dict(self._config)


class ConfigurableTask(Task):
    """The class that nearly all task classes derive from."""


class ConfigurableMessagesTask(ConfigurableTask):
    """The one of tasks that write their chats."""


class MultipleChoiceTask(Task):
    OUTPUT_TYPE = "loglikelihood"


class PerplexityTask(Task):
    OUTPUT_TYPE = "loglikelihood_rolling"


class Group:
    """A group of tasks, for code that asks what an object is."""

    def __init__(self, config: Any = None, **kwargs: object) -> None:
        self.config = GroupConfig(config or {}, **kwargs)

    @property
    def group_name(self) -> object:
        return self.config.get("group")


class ConfigurableGroup(Group):
    """The same, by its other name."""


def get_subtask_list(task_dict: Any, task_root: object = None, depth: int = 0) -> dict[object, list[object]]:
    """{(group, depth): its members}: for tables that a task's code prints."""
    found: dict[object, list[object]] = {}
    for name, below in dict(task_dict).items():
        key = getattr(name, "group_name", name)
        if isinstance(below, dict):
            found[key] = list(below)
            found |= get_subtask_list(below, key, depth + 1)
    return found


def apply_template(template: str, doc: dict[str, object]) -> str:
    from jinja2.sandbox import SandboxedEnvironment

    return SandboxedEnvironment(keep_trailing_newline=True).from_string(template).render(**doc)
