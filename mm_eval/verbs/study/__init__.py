"""Variants of a run, paired by document: prompts, other runs, the run without its pictures, one setting of a report at a time."""
