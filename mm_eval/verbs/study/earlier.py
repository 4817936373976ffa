"""Answers that runs of the same study have recorded already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mm_eval.engine.cache import KnownAnswers, key_by_other_rule
from mm_eval.engine.journal import read_journal
from mm_eval.engine.model import Model, shares
from mm_eval.values.types import Answer, Instance


class EarlierAnswers(KnownAnswers):
    """The answers of other runs of one model to the same requests, read only.

    A model may be sampled: then only the answer of the same slot to an equal request is taken over.
    """

    def __init__(self, folders: Sequence[Path], model: Model) -> None:
        self._model, self._states = model, [read_journal(folder) for folder in folders]

    def find(self, key: str, instance: Instance) -> Answer | None:
        found = self._find(key, instance)
        if found is None and any(state.answers for state in self._states):
            other = key_by_other_rule(self._model, instance)
            found = None if other is None else self._find(other, instance)
        return found

    def _find(self, key: str, instance: Instance) -> Answer | None:
        for state in self._states:
            answer = state.answer(instance.slot)
            if (answer is None or answer.key != key) and shares(self._model, instance):
                answer = state.answers.get(key)
            if answer is not None and answer.key == key:
                return replace(answer, attempts=0, usage={})
        return None
