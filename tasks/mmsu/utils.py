"""MMSU: the letter at the beginning or the end of an answer.

Source: Wang et al. 2025, arXiv:2506.04779; mmsu_evaluation.py of dingdongwang/MMSU_Bench at 321b276.
"""

from mm_eval.tasks.rules.end_letter import letter_of, process_results, right_letter

__all__ = ["letter_of", "process_results", "right_letter"]
