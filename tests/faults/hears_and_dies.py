"""`hears_and_dies.py CALLS AT ARGUMENTS...`: the command line with a model that hears, killed at its call AT; 0: never."""

import os
import signal
import sys
from pathlib import Path

from mm_eval.cli import main
from mm_eval.engine.model import Model, ModelFacts, register_model
from mm_eval.values.types import Answer

calls, at = Path(sys.argv[1]), int(sys.argv[2])


@register_model("hears")
class Hears(Model):
    """Answers with the sum of the samples, and notes each call."""

    facts = ModelFacts(name="hears", hears=True)

    def generate(self, instances):
        for number, instance in enumerate(instances, 1):
            with calls.open("a") as file:
                file.write(f"{instance.doc_id}\n")
            if number == at:
                os.kill(os.getpid(), signal.SIGKILL)
            yield instance, Answer(f"{sum(float(abs(each.samples()).sum()) for each in instance.sounds()):.3f}")


sys.exit(main(sys.argv[3:]))
