"""`python -m tests.ray ARGUMENTS`: the command line with a model that sleeps, dies, hangs or differs as they say."""

import sys

from mm_eval.cli import main
from mm_eval.engine.model import MODELS
from tests.ray.model import Scripted

MODELS.register("scripted")(Scripted)
sys.exit(main())
