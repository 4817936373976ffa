"""Videos: which frames a rule chooses, and those frames, exact or an error."""

MEDIUM = "medium"
"""The file that fulfils `mm_eval.data.frames.Medium`."""
