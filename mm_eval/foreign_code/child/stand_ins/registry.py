"""The decorators by which code of the suites registers what it defines. Here a name is only kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

KNOWN: dict[tuple[str, str], object] = {}
"""{(kind, name): what was registered}."""
HIGHER_IS_BETTER: dict[str, bool] = {}


def _registering(kind: str) -> Callable[..., Callable[[object], object]]:
    def register(*names: str, **about: object) -> Callable[[object], object]:
        def decorate(found: object) -> object:
            for name in names or (about.get("metric", getattr(found, "__name__", "")),):
                KNOWN[kind, str(name)] = found
                if "higher_is_better" in about:
                    HIGHER_IS_BETTER[str(name)] = bool(about["higher_is_better"])
                if "aggregation" in about:
                    KNOWN["aggregation of", str(name)] = about["aggregation"]
            return found

        return decorate

    return register


register_model = _registering("model")
register_task = _registering("task")
register_group = _registering("group")
register_metric = _registering("metric")
register_aggregation = _registering("aggregation")
register_filter = _registering("filter")


def get_filter(name: object) -> Any:
    return KNOWN.get(("filter", str(name)), name)


def get_metric(name: str, hf_evaluate_metric: bool = False) -> object:
    return _known("metric", name)


def get_aggregation(name: str) -> object:
    return _known("aggregation", name)


def get_metric_aggregation(name: str) -> object:
    return _known("aggregation", str(KNOWN.get(("aggregation of", name), name)))


def is_higher_better(metric_name: str) -> bool | None:
    return HIGHER_IS_BETTER.get(metric_name)


def _known(kind: str, name: str) -> Any:
    from mm_eval.foreign_code.child.stand_ins import metrics

    found = KNOWN.get((kind, name), getattr(metrics, name, None))
    if found is None:
        raise KeyError(f"the {kind} {name!r} is not registered")
    return found
