"""A model in a file, for sides of `same`: it answers by rule, and each way in which served models change is an argument."""

MODEL = '''
import os
import random
import zlib

from mm_eval.engine.model import Model
from mm_eval.types import Answer
from mm_eval.errors import ModelError
from mm_eval.values.types import Place


class Served(Model):
    """change: other_text, other_tokens, other_places, sampled, fails or wrong; of a share of the documents."""

    def __init__(self, change="", share=1.0, log="", name=""):
        self.change, self.share, self.log, self.called = change, float(share), log, name

    def keep_places(self, count):
        self.kept = count

    def generate(self, instances):
        asked = 0
        for instance in instances:
            if self.log:
                with open(self.log, "a") as file:
                    file.write(f"{instance.task} {instance.doc_id} {instance.repeat}\\n")
            asked += 1
            if asked == int(os.environ.get("STOP_AFTER", -1)):
                raise KeyboardInterrupt
            place = zlib.crc32(f"{instance.task} {instance.doc_id}".encode()) / 2**32
            changed = self.change if place < self.share else ""
            if changed == "fails":
                yield instance, ModelError("no answer.")
                continue
            text = f"the answer is {instance.doc_id}"
            tokens, ll = 10 + instance.doc_id, -0.1
            if changed == "other_text":
                text = f"the answer was {instance.doc_id}"
            if changed == "sampled":
                text += f" {random.random()}"
            if changed == "wrong":
                text = "nothing"
            tokens += changed == "other_tokens"
            ll -= 0.5 * (changed == "other_places")
            places = (Place("the", {"the": ll, "a": -3.0}),)
            yield instance, Answer(text, usage={"prompt_tokens": tokens}, places=places, model=self.called)
'''
TASK = """
task: counted
dataset_path: json
dataset_kwargs: {data_files: docs.jsonl}
test_split: train
output_type: generate_until
doc_to_text: question
doc_to_target: answer
generation_kwargs: {max_gen_toks: 8, until: []}
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true}
"""
