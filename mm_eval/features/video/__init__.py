"""Videos: which frames a rule chooses, and those frames, exact or an error."""

MEDIA = {"video": "medium"}
OPTIONS = {"video": "options"}
