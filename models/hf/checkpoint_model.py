"""What adapters of checkpoints share: `Source` writes their questions and says what decides the answers; they run the weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mm_eval.engine.model import Model, Preview
from mm_eval.values.types import Instance, Options

from .prompts.prompt import PromptWriter
from .source import Source


class CheckpointModel(Model):
    """A model whose questions are written as the files of its checkpoint say, whatever runs the weights."""

    source: Source

    @property
    def writer(self) -> PromptWriter:
        """Writes prompts. Loads the tokenizer or the processor on first use."""
        return self.source.writer

    @property
    def _constants(self) -> Mapping[str, object]:
        """Everything that decides an answer and is the same for every question."""
        raise NotImplementedError

    @property
    def fingerprint(self) -> str:
        """sha256 of everything that decides this model's answers apart from the question."""
        return self.source.fingerprint(self._constants)

    def _expect(self, constants: Options) -> None:
        if self.source.goes_on(constants):
            self.settings, self.facts = self.source.settings, replace(self.facts, constants={})
        super()._expect(constants)

    def identity(self, instance: Instance) -> Mapping[str, object]:
        return self.source.identity(instance, self.fingerprint)

    def describe(self) -> Mapping[str, object]:
        return self.source.describe(self._constants)

    def show(self, instance: Instance) -> Preview:
        return self.source.show(instance)
