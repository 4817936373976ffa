"""Adapters that were written for the former interface of `Model`: they run, and one note names the new places.

A class that has a former member gets `OldModel` before its bases. It has the former members with their former defaults, so that
`super()` finds them, and answers what the engine asks now by what the adapter overrides.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MethodType
from typing import Any

from mm_eval.engine.generation import GenerationOptions
from mm_eval.engine.model import (
    OLD_MEMBERS,
    Model,
    ModelFacts,
    ModelSettings,
    Preview,
    asked_with,
    check_methods,
    flatten,
    measured,
    prepare_once,
    recall,
)
from mm_eval.engine.prices import Price
from mm_eval.values.types import Instance

log = logging.getLogger(__name__)
FIELDS = {
    **{name: name for name in ("prompt_keys", "chat", "bundled", "local", "tries_first", "travels")},
    **{"video_rule": "frames_rule", "video_input": "frames_as"},
}
"""The former attributes that are a field of the facts."""


def adopt_class(cls: type[Model], old: Sequence[str]) -> None:
    """Puts `OldModel` before the bases of a class that has former members."""
    _note(cls, old)
    if not issubclass(cls, OldModel):
        bases = [base for base in cls.__bases__ if base is not Model]
        cls.__bases__ = (OldModel, *bases)


def adopt_values(model: Model) -> None:
    """Takes over the former attributes that an adapter sets on itself."""
    stated = {name: value for name, value in vars(model).items() if name in OLD_MEMBERS}
    if not isinstance(model, OldModel):
        _note(type(model), sorted(stated))
        model.facts = _with(model.facts, stated)


def old_member(model: Model, name: str) -> Any:
    """A former member of a model that has none of its own."""
    if name in FIELDS:
        return getattr(model.facts, FIELDS[name])
    if name == "function_of_key":
        return model.facts.shares == "all"
    found = vars(OldModel)[name]
    return MethodType(found.__func__, type(model)) if isinstance(found, classmethod) else MethodType(found, model)


def _note(cls: type[Model], old: Sequence[str]) -> None:
    places = ", ".join(f"{name} ({OLD_MEMBERS[name]})" for name in old)
    log.warning(
        "The adapter %s has former members of Model; in brackets where they stand now: %s.", cls.__name__, places
    )


def _with(facts: ModelFacts, stated: Mapping[str, Any]) -> ModelFacts:
    fields = {new: stated[old] for old, new in FIELDS.items() if old in stated}
    if "function_of_key" in stated:
        fields["shares"] = "all" if stated["function_of_key"] else "none"
    return replace(facts, **fields) if fields else facts


def _found_below(model: Model, name: str) -> Any:
    """The member of a class that knows the new interface, as it stands there; None without one."""
    order = type(model).__mro__
    order = order[order.index(OldModel) + 1 :] if isinstance(model, OldModel) else order
    return next((vars(each)[name] for each in order if name in vars(each)), None)


def _below(model: Model, name: str) -> Callable[..., Any] | None:
    found = _found_below(model, name)
    return None if found is None else MethodType(found, model)


def _base(model: Model) -> Any:
    """The model as the bases have it that know the new interface."""
    return super(OldModel, model) if isinstance(model, OldModel) else model


def _measured_below(model: Model) -> ModelFacts:
    """The facts of a model that is described for it."""
    if isinstance(model, OldModel):
        return _facts_below(model)
    model.describe()
    return measured(model)


def _facts_below(model: Model) -> ModelFacts:
    """The facts without what former members say."""
    if not isinstance(model, OldModel):
        return model.facts
    found = _found_below(model, "facts")
    facts: ModelFacts = found.__get__(model) if isinstance(found, property) else vars(model).get("_new_facts", found)
    return facts


class OldModel(Model, former=True):
    """The former interface over the new one: each method that the engine calls asks the former ones, and these the bases."""

    # ------------------------------------------------------------------ the new interface, by the former members
    @property
    def facts(self) -> ModelFacts:
        names = [*FIELDS, "function_of_key"]
        stated = {name: getattr(self, name) for name in names if name in vars(self) or hasattr(type(self), name)}
        found = _with(_facts_below(self), stated)
        return replace(found, findings=self.findings(), ran_on=self.ran_on(), price=self.price())

    @facts.setter
    def facts(self, facts: ModelFacts) -> None:
        known, below = _facts_below(self), _found_below(self, "facts")
        if isinstance(below, property) and below.fset:
            below.fset(self, facts)
        else:
            self.__dict__["_new_facts"] = facts
        if facts.constants and facts.constants != known.constants:
            self.adopt(facts.constants)
        if facts.findings and facts.findings != known.findings:
            self.recall(facts.findings)

    def check(self, first: Sequence[Instance], more: Iterable[Instance] = ()) -> None:
        if not first:
            self.check_arguments()
        for instance in first:
            if instance.request_type == "generate_until":
                self.check_generation(instance.generation_kwargs)
        for kind in dict.fromkeys(each.request_type for each in first):
            self.check_requests(kind, [each for each in first if each.request_type == kind])
        if first:
            self.check_videos(more)

    def show(self, instance: Instance) -> Preview:
        return self.preview(instance)

    def stop(self, at_once: bool) -> None:
        (self.stop_soon if at_once else self.finish)()

    def _measured(self) -> ModelFacts:
        machine = dict(self.machine())
        found = replace(self.facts, constants=dict(self.constants()))
        return (
            replace(found, device=machine.get("device", ""), parameters=machine.get("parameters")) if machine else found
        )

    def _expect(self, constants: Mapping[str, Any]) -> None:
        self.expect(constants)

    def _another(self) -> Model:
        return self.another()

    def _shares(self, instance: Instance) -> bool:
        return self.shares(instance)

    def _dollars(self, usage: Mapping[str, int]) -> float | None:
        return self.dollars(usage)

    def _account(self, usage: Mapping[str, int]) -> str:
        return self.account(usage)

    # ------------------------------------------------------------------ the former members, by the bases
    @classmethod
    def create(cls, args: Mapping[str, Any], settings: ModelSettings) -> Model:
        return cls(args, settings)

    def another(self) -> Model:
        found: Model = _base(self)._another()
        return found

    def prepare_once(self) -> None:
        prepare_once(self)

    def constants(self) -> Mapping[str, Any]:
        return _measured_below(self).constants

    def adopt(self, constants: Mapping[str, Any]) -> None:
        if not isinstance(self, OldModel):
            self.facts = replace(self.facts, constants=constants)

    def expect(self, constants: Mapping[str, Any]) -> None:
        _base(self)._expect(constants)

    def findings(self) -> Mapping[str, Any]:
        return _facts_below(self).findings

    def recall(self, findings: Mapping[str, Any]) -> None:
        if not isinstance(self, OldModel):
            recall(self, findings)

    def ran_on(self) -> Mapping[str, Any]:
        return _facts_below(self).ran_on

    def machine(self) -> Mapping[str, Any]:
        return _measured_below(self).machine

    def price(self) -> Price | None:
        return _facts_below(self).price

    def dollars(self, usage: Mapping[str, int]) -> float | None:
        found: float | None = _base(self)._dollars(usage)
        return found

    def account(self, usage: Mapping[str, int]) -> str:
        return str(_base(self)._account(usage))

    def shares(self, instance: Instance) -> bool:
        return bool(_base(self)._shares(instance))

    def stop_soon(self) -> None:
        if stop := _below(self, "stop"):
            stop(True)

    def finish(self) -> None:
        if stop := _below(self, "stop"):
            stop(False)

    def preview(self, instance: Instance) -> Preview:
        show = _below(self, "show")
        found: Preview = show(instance) if show else Preview(flatten(instance))
        return found

    def check_arguments(self) -> None:
        if own := _below(self, "check"):
            own((), ())

    def check_generation(self, kwargs: Mapping[str, Any]) -> None:
        GenerationOptions.from_kwargs(kwargs)
        if own := _below(self, "check"):
            own([asked_with(kwargs)], ())

    def check_requests(self, request_type: str, instances: Sequence[Instance]) -> None:
        check_methods(self, instances)
        if own := _below(self, "check"):
            own(instances, ())

    def check_videos(self, instances: Iterable[Instance]) -> None:
        if own := _below(self, "check"):
            own((), instances)
