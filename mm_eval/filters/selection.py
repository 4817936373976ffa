"""The filters that choose among the answers to a doc."""

from mm_eval.scoring.filters.transformation import MajorityVoteFilter, TakeFirstFilter, TakeFirstKFilter

__all__ = ["MajorityVoteFilter", "TakeFirstFilter", "TakeFirstKFilter"]
