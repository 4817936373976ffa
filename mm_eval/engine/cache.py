"""Greedy answers shared between runs (`--use_cache DIR`): the journal's lines, found by request key.

What is shared is only what cannot differ: answers of an adapter that is a function of its key, drawn without sampling. A key
holds all that decides the answer, the pictures' pixels and the seed included, so that no other question can get it. Errors
are never shared.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mm_eval.engine.generation import GenerationOptions
from mm_eval.engine.journal import Journal, mend_torn_tails, read_journal
from mm_eval.engine.model import Model
from mm_eval.errors import ConfigError, StoreError
from mm_eval.types import Answer, Instance

log = logging.getLogger(__name__)


class AnswerCache:
    """A folder of answers that any number of runs read and write at the same time, each its own file."""

    def __init__(self, folder: Path, model: Model) -> None:
        self._model, self._broken = model, False
        hint = "Choose another folder for --use_cache."
        try:
            folder.mkdir(parents=True, exist_ok=True)
            mend_torn_tails(folder)
            self._answers = read_journal(folder).answers
            self._journal = Journal(folder)
        except OSError as error:
            raise ConfigError(f"the cache can't be used: {error.strerror}.", where=str(folder), hint=hint) from error
        except StoreError as error:
            raise ConfigError(error.what, where=error.where, hint=hint) from error

    def find(self, key: str, instance: Instance) -> Answer | None:
        """The answer that another run got to this very question; None when it must be asked."""
        found = self._answers.get(key)
        if found is None or found.output is None or not self._shareable(instance):
            return None
        if self._model.settings.on_long_prompt == "fail" and found.cut is not False:
            return None  # it is, or may be, the answer to a prompt that was cut
        return Answer(found.output, found.truncated, attempts=0, cut=bool(found.cut))

    def put(self, record: Mapping[str, Any], instance: Instance) -> None:
        """Takes in an answer that was just recorded, for runs to come. A cache that can't be written ends no run."""
        if not self._broken and record["key"] not in self._answers and self._shareable(instance):
            try:
                self._journal.put({**record, "slots": []})
            except StoreError as error:
                self._give_up(error)

    def close(self) -> None:
        """Writes what waits."""
        try:
            self._journal.close()
        except StoreError as error:
            self._give_up(error)

    def _give_up(self, error: StoreError) -> None:
        if not self._broken:
            log.warning("--use_cache keeps no further answers: %s: %s", error.where, error.what)
        self._broken = True

    def _shareable(self, instance: Instance) -> bool:
        if not self._model.shares(instance):
            return False
        if instance.request_type != "generate_until":
            return True
        return not GenerationOptions.from_kwargs(instance.generation_kwargs).do_sample
