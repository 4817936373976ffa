"""A task with conversations of one to four rounds, and a model that answers by its prompt alone and counts what it is asked."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mm_eval import evaluate
from mm_eval.engine.model import Answers, Model, ModelFacts, ModelSettings, flatten, question
from mm_eval.values.files import digest_of
from mm_eval.values.types import Answer, Instance
from tests.folders import write_task

TASK = """task: talks
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: q
doc_to_target: a
doc_to_visual: !function utils.visual
rounds: !function utils.next_turn
max_rounds: 4
metric_list: [{metric: exact_match}]
"""
UTILS = """
from PIL import Image


def visual(doc):
    return [picture(doc, 8)]


def picture(doc, size):
    return Image.new("RGB", (size, size), (doc["n"] % 250, 10, 20))


def next_turn(doc, answers):
    if len(answers) > doc["n"] % 4:
        return None
    if len(answers) == 2:
        shown = {"type": "image", "image": picture(doc, 4)}
        return {"role": "user", "content": [shown, {"type": "text", "text": "And this part of it?"}]}
    return f"You said {answers[-1].output!r}. Are you sure?"
"""
DOCS = 12


def turns_of(doc: int) -> int:
    """The answers of a doc's conversation."""
    return doc % 4 + 1


TURNS = sum(map(turns_of, range(DOCS)))


def write(folder: Path, docs: int = DOCS, task: str = TASK, utils: str = UTILS) -> str:
    """The task's files. Returns the path of its YAML."""
    rows = [{"n": n, "q": f"What is {n}?", "a": "x"} for n in range(docs)]
    return write_task(folder, "talks", task, utils, rows)


class Talker(Model):
    """Answers with a digest of its prompt, `at_once` requests together. asked: the slots of all requests in their order.

    fails: {(doc, turn)} that it fails on. ends: {(doc, turn): how its answer ends}.
    """

    def __init__(self, at_once: int = 1, chat: bool = True) -> None:
        super().__init__({}, ModelSettings())
        self.facts = ModelFacts(name="talker", chat=chat)
        self.at_once = at_once
        self.asked: list[tuple[int, int, int]] = []
        self.prompts: dict[tuple[int, int], str] = {}
        self.pictures: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self.batches: list[list[int]] = []
        self.fails: set[tuple[int, int]] = set()
        self.ends: dict[tuple[int, int], str] = {}

    def describe(self) -> dict[str, Any]:
        return {"adapter": "talker"}

    def identity(self, instance: Instance) -> dict[str, Any]:
        return {"adapter": "talker", **question(instance, 0)}

    def generate(self, instances: Iterable[Instance]) -> Answers:
        batch: list[Instance] = []
        for instance in instances:
            batch.append(instance)
            if len(batch) == self.at_once:
                yield from self._answers(batch)
                batch = []
        yield from self._answers(batch)

    def _answers(self, batch: list[Instance]) -> Answers:
        self.batches += [[instance.doc_id for instance in batch]] if batch else []
        for instance in batch:
            place = instance.doc_id, instance.turn
            self.asked.append((instance.doc_id, instance.repeat, instance.turn))
            self.prompts[place] = flatten(instance)
            shown = instance.images() if instance.images else []
            assert len(shown) == len(instance.image_digests)
            self.pictures[place] = [picture.size for picture in shown]
            if place in self.fails:
                from mm_eval.values.errors import ModelError

                yield instance, ModelError("it can't.")
                continue
            said = digest_of([instance.context, instance.image_digests, instance.repeat])[:4]
            usage = {"prompt_tokens": 10 * (instance.turn + 1), "completion_tokens": 2}
            yield instance, Answer(said, usage=usage, ended=self.ends.get(place, "stop"))  # type: ignore[arg-type]


def run(task: str, folder: Path, model: Model, **options: Any) -> Any:
    """The results of the task."""
    return evaluate(task, model, identity="talker", output_path=str(folder), report=False, **options)
