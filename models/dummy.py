"""A model that answers at random and at once: to time the suite itself, and to test everything around a model."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping

from mm_eval.engine.model import Answers, Model, ModelFacts, question, register_model
from mm_eval.values.types import Answer, Instance

ANSWERS = ("Yes", "No", "A", "B", "C", "D", "42", "I can't tell.")


@register_model("dummy")
class Dummy(Model):
    """Seeded random answers, instantly; the same question always gets the same one."""

    facts = ModelFacts(name="dummy", endings=("stop",), together=True, hears=True)

    def identity(self, instance: Instance) -> Mapping[str, object]:
        return {"adapter": "dummy", **question(instance, self.settings.seed)}

    def describe(self) -> Mapping[str, object]:
        return {"adapter": "dummy", "seed": self.settings.seed}

    def generate(self, instances: Iterable[Instance]) -> Answers:
        for instance, drawn in self._draws(instances):
            yield instance, Answer(ANSWERS[drawn % len(ANSWERS)])

    def loglikelihood(self, instances: Iterable[Instance]) -> Answers:
        for instance, drawn in self._draws(instances):
            yield instance, Answer((-(drawn % 10**6) / 10**5, drawn % 7 == 0))

    loglikelihood_rolling = loglikelihood

    def _draws(self, instances: Iterable[Instance]) -> Iterator[tuple[Instance, int]]:
        """Each with its number. The context is hashed once for all choices of a doc."""
        context, begun = None, hashlib.sha256()
        for instance in instances:
            if instance.context is not context:
                context = instance.context
                begun = hashlib.sha256(f"({self.settings.seed!r}, {context!r}, ".encode())
            asked = begun.copy()
            if instance.heard:
                asked.update(repr(instance.sound_digests).encode())
            asked.update(f"{instance.continuation!r}, {instance.image_digests!r}, {instance.repeat!r})".encode())
            yield instance, int.from_bytes(asked.digest()[:8], "big")
