"""Docs that failed: a request, a filter or the scoring of them raised. They have no scores, are counted, and spoil no other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mm_eval.errors import MMEvalError, ScoringError
from mm_eval.types import Instance, ScoredDoc


def failed(doc_id: int, instances: Sequence[Instance], error: Exception) -> ScoredDoc:
    """The doc without scores, with what went wrong."""
    where = f"{instances[0].task}, doc {doc_id}" if instances else f"doc {doc_id}"
    reference = instances[0].target if instances else None
    return ScoredDoc(doc_id, reference, {}, error=as_scoring_error(error, where))


def failed_before(
    doc_id: int, instances: Sequence[Instance], filter_errors: Mapping[int, MMEvalError]
) -> ScoredDoc | None:
    """The doc as failed where a request or a filter failed; None where it can be scored."""
    errors = (instance.error for instance in instances if instance.error is not None)
    error = next(errors, None) or filter_errors.get(doc_id)
    return failed(doc_id, instances, error) if error is not None else None


def as_scoring_error(error: Exception, where: str) -> MMEvalError:
    """An error of whatever kind as one with an owner and a place."""
    if isinstance(error, MMEvalError):
        return error.located(where)
    return ScoringError(f"scoring raised {type(error).__name__}: {error}.", where=where)
