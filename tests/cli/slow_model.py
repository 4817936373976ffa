"""`python slow_model.py LOG ARGUMENTS...`: the command line with a model that takes its time and notes each call."""

import hashlib
import sys
import time

from mm_eval.cli import main
from mm_eval.engine.model import Model, register_model
from mm_eval.values.types import Answer

log = open(sys.argv[1], "a")  # noqa: SIM115 - it lives as long as the process


@register_model("slow")
class Slow(Model):
    """Answers by a hash of the question, four at a time."""

    def generate(self, instances):
        batch = []
        for instance in instances:
            batch.append(instance)
            if len(batch) == 4:
                yield from self.answers(batch)
                batch = []
        yield from self.answers(batch)

    def loglikelihood(self, instances):
        for instance in instances:
            digest = hashlib.sha256(f"{instance.context}{instance.continuation}".encode()).digest()
            yield instance, Answer((-digest[0] / 10, False))

    def answers(self, batch):
        time.sleep(0.05)  # longer than a disk takes to write what came before
        for instance in batch:
            log.write(f"{instance.task} {instance.doc_id}\n")
            log.flush()
            digest = hashlib.sha256(str(instance.context).encode()).digest()
            yield instance, Answer(("Yes", "No", "A", "B", "C", "D")[digest[0] % 6])


sys.exit(main(sys.argv[2:]))
