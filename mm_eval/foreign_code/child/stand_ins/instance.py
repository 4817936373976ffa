"""A request, as task classes make it and as code of filters sees it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

OutputType = Literal["loglikelihood", "loglikelihood_rolling", "generate_until", "multiple_choice"]


@dataclass
class Instance:
    """A question to a model. metadata: (task, doc id, repeats), or a mapping with these names."""

    request_type: str
    doc: object = None
    arguments: Any = ()
    idx: int = 0
    metadata: Any = (None, None, None)
    resps: list[Any] = field(default_factory=list)
    filtered_resps: dict[str, object] = field(default_factory=dict)
    raw_filtered_resps: dict[str, object] = field(default_factory=dict)
    token_counts: list[object] = field(default_factory=list)
    task_name: object = None
    doc_id: object = None
    repeats: object = None

    def __post_init__(self) -> None:
        stated = self.metadata
        if isinstance(stated, dict):
            stated = (stated.get("task"), stated.get("doc_id"), stated.get("repeats"))
        if isinstance(stated, tuple) and len(stated) == 3:
            self.task_name, self.doc_id, self.repeats = stated

    @property
    def args(self) -> tuple[Any, ...]:
        return self.arguments if isinstance(self.arguments, tuple) else (self.arguments,)
