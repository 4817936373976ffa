"""Metrics: the public names of the files of `mm_eval.scoring.metrics`, and the rules that benchmarks share."""

# `metric` is a file of this folder and a function: the file is imported first, so that the name stays the function's.
from mm_eval.metrics.metric import *  # noqa: F403
from mm_eval.scoring.metrics.aggregation import *  # noqa: F403
from mm_eval.scoring.metrics.corpus import *  # noqa: F403
from mm_eval.scoring.metrics.generation import *  # noqa: F403
from mm_eval.scoring.metrics.ll_results import *  # noqa: F403
from mm_eval.scoring.metrics.loglikelihood import *  # noqa: F403
from mm_eval.scoring.metrics.resampling import *  # noqa: F403
from mm_eval.scoring.metrics.stderr import *  # noqa: F403
from mm_eval.scoring.metrics.traits import *  # noqa: F403
from mm_eval.tasks.rules.captions import CaptionBleu, Cider, caption_tokens  # noqa: F401
from mm_eval.tasks.rules.grounding import Units, box_accuracy, box_iou, other_units, point_in_box  # noqa: F401
from mm_eval.tasks.rules.math_equality import math_equal, math_equal_fn  # noqa: F401
from mm_eval.tasks.rules.vqa import agreed_answer, vqa_accuracy  # noqa: F401
from mm_eval.tasks.rules.whole_groups import whole_groups  # noqa: F401


def __dir__() -> list[str]:
    """The names that are defined in mm-eval."""
    return sorted(name for name, value in globals().items() if getattr(value, "__module__", "").startswith("mm_eval."))
