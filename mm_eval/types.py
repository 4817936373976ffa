"""The values of a run: the public names of `mm_eval.values.types`, and lm-eval's names for the same."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from mm_eval.data.media import shown_picture as shown_picture
from mm_eval.data.media import shown_size as shown_size
from mm_eval.values.types import *  # noqa: F403
from mm_eval.values.types import Context, Instance, Target

LLArgs: TypeAlias = tuple[Context, str]
GenKwargs: TypeAlias = Mapping[str, Any]
GenArgs: TypeAlias = tuple[Context, GenKwargs]
Reference: TypeAlias = Target
LLInstance: TypeAlias = Instance
GenInstance: TypeAlias = Instance
