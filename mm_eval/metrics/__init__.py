"""Metrics: the public names of `mm_eval.scoring.metrics`, and the rules that benchmarks share."""

from mm_eval.scoring.metrics import *  # noqa: F403
from mm_eval.tasks.rules.captions import CaptionBleu, Cider, caption_tokens  # noqa: F401
from mm_eval.tasks.rules.grounding import Units, box_accuracy, box_iou, other_units, point_in_box  # noqa: F401
from mm_eval.tasks.rules.math_equality import math_equal, math_equal_fn  # noqa: F401
from mm_eval.tasks.rules.vqa import agreed_answer, vqa_accuracy  # noqa: F401
from mm_eval.tasks.rules.whole_groups import whole_groups  # noqa: F401
