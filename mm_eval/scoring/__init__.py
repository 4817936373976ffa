"""From answers to numbers: filters, metrics, scorers, standard errors, groups.

The public names are those of `mm_eval.filters`, `mm_eval.metrics` and `mm_eval.scorers`.
"""
