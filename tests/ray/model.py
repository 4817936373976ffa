"""A model for workers: what goes wrong with it is stated in its arguments."""

import errno
import hashlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mm_eval.engine.model import Answers, Model, ModelFacts, question
from mm_eval.ray.worker import Worker
from mm_eval.values.errors import ConfigError, ModelError
from mm_eval.values.types import Answer, Instance

RECALLED = threading.Event()
"""Set in a worker's process when the asking process has called requests back."""
HANGS = 200
"""Seconds after which a test that waits has failed."""
CODE = (
    "from PIL import Image\nred = sum(p == (255, 0, 0) for p in Image.open('image_01.png').getdata())\nprint('counted')",
    "print(red)",
)
CALLS = [f"<tool_call>\n{json.dumps({'name': 'python', 'arguments': {'code': code}})}\n</tool_call>" for code in CODE]
"""Two calls of code, of which the second needs a variable of the first."""
_recall = Worker.recall


def _noticed(self: Worker, stop: bool) -> None:
    _recall(self, stop)
    RECALLED.set()


Worker.recall = _noticed


class Scripted(Model):
    """Answers by a hash of the question. The usage of an answer is the pid of its process.

    log: a file that gets "pid kind what" for each load, request and opened file. seconds: of sleep a request. loading: of
    sleep a load. slow: the first worker to load sleeps so many times as long. poison: kills its process at a prompt with this
    text. fails: gives a failure for it. hang: the first worker that meets a prompt with this text hangs. die: kills its
    process in a load. unloadable: raises ConfigError in a load. differs: the second worker to be made says that it has
    another dtype. watch: opened files are logged. counts: it counts the red pixels of its picture by two calls of code.
    recalled: a worker answers its second request once the others were called back. full: the number of the request at which
    the disk of a worker is full.
    """

    facts = ModelFacts(local=True)

    def __init__(self, args: Mapping[str, Any], settings: Any) -> None:
        super().__init__(args, settings)
        self.seconds, self.asked = float(self.args.get("seconds", 0)), 0

    def prepare(self) -> None:
        self.note("load", str(time.time()))
        if "die" in self.args:
            os.kill(os.getpid(), signal.SIGKILL)
        if "unloadable" in self.args:
            raise ConfigError("the weights are not here.", where="--model_args", hint="Put them here.")
        time.sleep(float(self.args.get("loading", 0)))
        if "slow" in self.args and self.first("slow"):
            self.seconds *= float(self.args["slow"])
        self.note("sleeps", str(self.seconds))
        if "watch" in self.args:
            sys.addaudithook(lambda event, args: event == "open" and self.note("open", str(args[0])))

    def describe(self) -> Mapping[str, Any]:
        if not self.facts.constants:
            other = "differs" in self.args and not self.first("described")
            self.facts = replace(self.facts, constants={"dtype": "float32" if other else "bfloat16"})
        return {"adapter": "scripted", **self.facts.constants}

    def identity(self, instance: Instance) -> Mapping[str, Any]:
        return {"adapter": "scripted", **question(instance, self.settings.seed)}

    def generate(self, instances: Iterable[Instance]) -> Answers:
        for instance in instances:
            self.asked += 1
            if self.asked == int(self.args.get("full", 0)):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            text = str(instance.context)
            turn = f":{instance.turn}" if instance.turn else ""
            self.note("ask", f"{instance.task}:{instance.doc_id}{turn}")
            if "poison" in self.args and self.args["poison"] in text:
                os.kill(os.getpid(), signal.SIGKILL)
            if "hang" in self.args and self.args["hang"] in text and self.first("hang"):
                time.sleep(1000)
            time.sleep(self.seconds)
            if "recalled" in self.args and self.asked > 1:
                assert RECALLED.wait(HANGS), "nothing was recalled"
            if "watch" in self.args and instance.images:
                from mm_eval.data.media import picture_digest

                same = tuple(map(picture_digest, instance.images())) == instance.image_digests
                self.note("pixels", "same" if same else "other")
            if "fails" in self.args and self.args["fails"] in text:
                yield instance, ModelError("refused")
                continue
            if "counts" in self.args:
                shown = [line for line in text.splitlines() if line.strip().isdecimal()]
                says = CALLS[instance.turn] if instance.turn < len(CALLS) else shown[-1].strip()
                yield instance, Answer(says, usage={"pid": os.getpid()})
                continue
            answer = ("Yes", "No")[hashlib.sha256(text.encode()).digest()[0] % 2]
            yield instance, Answer(answer, usage={"pid": os.getpid()})

    def note(self, kind: str, what: str) -> None:
        if "log" in self.args and self.args["log"] not in what:
            with Path(self.args["log"]).open("a") as file:
                file.write(f"{os.getpid()} {kind} {what}\n")

    def first(self, what: str) -> bool:
        """Whether no worker was here before."""
        try:
            os.close(os.open(f"{self.args['log']}.{what}", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True
