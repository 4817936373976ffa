"""A model that answers at random and at once: to time the suite itself, and to test everything around a model."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from mm_eval.engine.model import Answers, Model, ModelFacts, question, register_model
from mm_eval.values.types import Answer, Instance

ANSWERS = ("Yes", "No", "A", "B", "C", "D", "42", "I can't tell.")


@register_model("dummy")
class Dummy(Model):
    """Seeded random answers, instantly; the same question always gets the same one."""

    facts = ModelFacts(name="dummy", endings=("stop",), together=True)

    def identity(self, instance: Instance) -> Mapping[str, Any]:
        return {"adapter": "dummy", **question(instance, self.settings.seed)}

    def describe(self) -> Mapping[str, Any]:
        return {"adapter": "dummy", "seed": self.settings.seed}

    def generate(self, instances: Iterable[Instance]) -> Answers:
        for instance in instances:
            yield instance, Answer(ANSWERS[self._draw(instance) % len(ANSWERS)])

    def loglikelihood(self, instances: Iterable[Instance]) -> Answers:
        for instance in instances:
            drawn = self._draw(instance)
            yield instance, Answer((-(drawn % 10**6) / 10**5, drawn % 7 == 0))

    loglikelihood_rolling = loglikelihood

    def _draw(self, instance: Instance) -> int:
        asked = (self.settings.seed, instance.context, instance.continuation, instance.image_digests, instance.repeat)
        return int.from_bytes(hashlib.sha256(repr(asked).encode()).digest()[:8], "big")
