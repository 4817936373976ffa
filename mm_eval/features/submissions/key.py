"""The key `submission: {file, record, form}` of task files."""

from __future__ import annotations

from collections.abc import Mapping

from mm_eval.config.arguments import Rule
from mm_eval.config.located import LocatedDict, located
from mm_eval.config.schema import FUNCTION, TEXT, check_keys
from mm_eval.config.task_config import TaskKey
from mm_eval.values.errors import ConfigError

FORMS = ("json", "jsonl", "csv")
KEYS: dict[str, Rule] = {
    "file": TEXT,
    "record": FUNCTION,
    "form": Rule("one of " + ", ".join(FORMS), lambda v: v in FORMS),
}


class SubmissionKey(TaskKey):
    """The key `submission` of task files."""

    name = "submission"

    @staticmethod
    def check(source: LocatedDict) -> None:
        """ConfigError with file:line for an unknown or missing key, a wrong type, and a file that is not a plain name."""
        if not isinstance(source["submission"], Mapping):
            what = f"'submission' must be a mapping, not {source['submission']!r:.80}."
            raise ConfigError(what, where=source.where("submission"))
        stated = located(source["submission"])
        check_keys(stated, KEYS, "submission")
        if missing := [key for key in ("file", "record") if stated.get(key) is None]:
            raise ConfigError(f"submission needs a `{missing[0]}`.", where=source.where("submission"))
        name = stated["file"]
        is_plain = name and name == name.strip() and name.isprintable() and not set(name) & set('/\\:*?"<>|')
        if not is_plain or name[0] == ".":
            raise ConfigError(f"submission: {name!r} is not the plain name of a file.", where=stated.where("file"))
