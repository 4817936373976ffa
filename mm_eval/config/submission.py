"""The key `submission: {file, record, form}` of task files: the file that a benchmark's server takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mm_eval.config.arguments import Rule
from mm_eval.config.located import located
from mm_eval.config.schema import FUNCTION, TEXT, check_keys
from mm_eval.values.errors import ConfigError

FORMS = ("json", "jsonl", "csv")
KEYS: dict[str, Rule] = {
    "file": TEXT,
    "record": FUNCTION,
    "form": Rule("one of " + ", ".join(FORMS), lambda v: v in FORMS),
}


@dataclass(frozen=True)
class SubmissionConfig:
    """The checked `submission` of a task. file: a plain name. record: (doc, answer) -> a mapping. form: one of `FORMS`."""

    file: str
    record: object
    form: str = "json"


def submission_of(stated: object, where: str) -> SubmissionConfig:
    """The `submission` of a task.

    Errors: ConfigError with file:line for an unknown or missing key, a wrong type, and a file that is not a plain name.
    """
    if not isinstance(stated, Mapping):
        raise ConfigError(f"'submission' must be a mapping, not {stated!r:.80}.", where=where)
    entry = located(stated)
    check_keys(entry, KEYS, "submission")
    if missing := [key for key in ("file", "record") if entry.get(key) is None]:
        raise ConfigError(f"submission needs a `{missing[0]}`.", where=where)
    name = entry["file"]
    is_plain = name and name == name.strip() and name.isprintable() and not set(name) & set('/\\:*?"<>|')
    if not is_plain or name[0] == ".":
        raise ConfigError(f"submission: {name!r} is not the plain name of a file.", where=entry.where("file"))
    return SubmissionConfig(name, entry["record"], entry.get("form") or "json")
