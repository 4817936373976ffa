"""A recorded run in the formats of other tools, which their own readers open; and the logs of other suites as run folders.

inspect    one log of inspect_ai for each task, for `inspect view`
harness    the folders that lm-evaluation-harness and lmms-eval write
hub        the model-index of a model card, and the hub's eval-results
logs       readers of what lm-eval, lmms-eval, VLMEvalKit and inspect_ai write
importing  a run folder of such logs; matching finds the document of each row, theirs keeps the other suite's own scores
"""

import os
from collections.abc import Sequence
from typing import Any

VERBS = {"import": ("import_verb", "a run folder of the logs of another suite, scored by our rules")}


def _needed(request: Any, configs: Sequence[Any]) -> bool:
    """Of a folder with what was imported."""
    return request is not None and bool(request.output_path) and os.path.isdir(f"{request.output_path}/imported")


NEEDED = {"imported": _needed}
