"""The numbers of a task whose own `process_results` asks a judge through lmms-eval's module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mm_eval.scorers.judged import DocVerdict, Judged
from mm_eval.scorers.process_results import ProcessResultsScorer
from mm_eval.types import Instance, ScoredDoc

if TYPE_CHECKING:
    from mm_eval.lmms_eval_judges import Asked


@dataclass(kw_only=True)
class JudgedCode(Judged):
    """Scores the docs by the task's function, which reads the judge's replies itself.

    source: a CodeVerdicts (judging/code.py). A doc with a missing reply has no scores, whatever its function would return.
    """

    source: Any

    def run_docs(self, by_doc: Mapping[int, list[Instance]]) -> Mapping[int, ScoredDoc]:
        inner = self.inner
        assert isinstance(inner, ProcessResultsScorer)
        inner.replies, self.shown = self.source, {}
        scored = dict(inner.run_docs(by_doc))
        for doc_id in by_doc:
            asked: Asked | None = inner.asked.pop(doc_id, None)
            if asked is None or scored[doc_id].error is not None:
                continue
            found: DocVerdict = self.source.outcome(doc_id, asked)
            if found.shown:
                self.shown[doc_id] = found.shown
            if found.error is not None:
                self.failed_docs[doc_id] = found.error
        self.set_results(scored)
        return self.raw_docs
