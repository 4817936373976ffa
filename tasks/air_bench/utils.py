"""AIR-Bench: the letter at the beginning or the end of an answer.

Source: Yang et al. 2024, arXiv:2402.07729; score_foundation.py of OFA-Sys/AIR-Bench at 9832476.
"""

from mm_eval.tasks.rules.end_letter import process_results, right_letter

__all__ = ["process_results", "right_letter"]
