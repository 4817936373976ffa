"""The filter that applies a function of one's own to the answers of all docs."""

from mm_eval.scoring.filters.base import CustomFilter

__all__ = ["CustomFilter"]
