"""A model that knows a share of the answers and notes each call. `python skilled.py ARGUMENTS...` is the command line with it."""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from mm_eval.engine.model import Model, register_model
from mm_eval.values.errors import ModelError
from mm_eval.values.types import Answer

WRONG = {"Yes": "No", "No": "Yes", "A": "B", "B": "C", "C": "D", "D": "A"}


@register_model("skilled")
class Skilled(Model):
    """knows: the share of the questions that it answers rightly. log: gets a line a call. fails, dies: at this call.

    flaky: every so many docs fail when they are first asked for.
    in_flight: answers that it owes at a time, as a server does. gold: a file with {doc: target}, for workers, who get no targets.
    """

    def generate(self, instances):
        flying = []
        for each in self._answers(instances):
            flying.append(each)
            if len(flying) >= int(self.args.get("in_flight", 1)):
                yield flying.pop(0)
        yield from flying

    def _answers(self, instances):
        known = json.loads(Path(self.args["gold"]).read_text()) if "gold" in self.args else {}
        for number, instance in enumerate(instances):
            log, first = self.args.get("log"), True
            if log:
                first = instance.doc_id not in calls(Path(log))
                with Path(log).open("a") as file:
                    file.write(f"{instance.doc_id}\n")
            if self.args.get("dies") == str(number):
                time.sleep(0.3)  # the answers before are on disk
                os.kill(os.getpid(), signal.SIGKILL)
            if self.args.get("fails") == str(number):
                raise ModelError("the model is broken")
            if first and "flaky" in self.args and instance.doc_id % int(self.args["flaky"]) == 0:
                yield instance, ModelError("the server is busy")
                continue
            drawn = random.Random(f"{self.args.get('seed', 0)} {instance.doc_id}").random()
            gold = known.get(str(instance.doc_id), str(instance.target))
            yield instance, Answer(gold if drawn < float(self.args["knows"]) else WRONG.get(gold, "none"))

    def identity(self, instance):
        return {**super().identity(instance), "args": {"knows": self.args["knows"], "seed": self.args.get("seed", 0)}}

    def describe(self):
        return {"adapter": "skilled", "knows": self.args["knows"], "seed": self.args.get("seed", 0)}


def calls(log: Path) -> list[int]:
    """The docs that were requested, in this order."""
    return [int(line) for line in log.read_text().split()] if log.exists() else []


if __name__ == "__main__":
    from mm_eval.cli import main

    sys.exit(main(sys.argv[1:]))
