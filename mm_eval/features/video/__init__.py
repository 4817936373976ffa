"""Videos: which frames a rule chooses, and those frames, exact or an error."""

from mm_eval.values.features import Option

_FRAMES = "the frames that are shown of a video: frames=32 or fps=2,min=4,max=768; with ends, starts, middle or inside"
_DEFAULT = " (default: the prompt block's, else the model's own, else frames=8,ends)"
OPTIONS = {
    "video": (
        ("model",),
        Option(
            "video",
            "RULE",
            f"{_FRAMES}{_DEFAULT}",
            several=f"{_FRAMES}; given more than once, the rules are compared{_DEFAULT}",
            rule="medium:RULE",
        ),
    )
}
