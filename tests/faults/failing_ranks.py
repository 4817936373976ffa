"""`failing_ranks.py LOG ARGUMENTS...`: the command line with a model that takes 50 ms to fail, and processes that talk often."""

import sys
import time

from mm_eval.cli import main
from mm_eval.engine import launch as ranks
from mm_eval.engine.model import Model, register_model
from mm_eval.values.errors import ModelError

log = open(sys.argv[1], "a")  # noqa: SIM115 - it lives as long as the process


@register_model("failing")
class Failing(Model):
    """Fails on every question."""

    def generate(self, instances):
        for instance in instances:
            time.sleep(0.05)
            log.write(f"{instance.doc_id}\n")
            log.flush()
            yield instance, ModelError("the server is down")


ranks.RETOLD = 0.1
sys.exit(main(sys.argv[2:]))
