"""mm-eval: evaluation of vision-language and text models."""

from pathlib import Path

__version__ = "0.1.0"

# In a checkout `models/`, `tasks/` and `assets/` stand beside this package; in a wheel they lie inside it. Either way they
# are `mm_eval.models`, `mm_eval.tasks` and `mm_eval.assets`.
if not (Path(__file__).parent / "tasks").is_dir():
    __path__.append(str(Path(__file__).parent.parent))
