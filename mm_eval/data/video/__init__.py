"""Videos: which frames a rule chooses, and those frames, exact or an error."""
