"""Code of a task with the habits of another suite: it seeds, draws, prints, counts in its module and takes the command line."""

import os
import random

import numpy as np
from PIL import Image, ImageDraw

random.seed(42)
np.random.seed(7)
RNG = random.Random(5)
TOTALS = {"docs": 0}


def order(docs):
    return docs.filter(lambda doc: doc["colour"] != "blue").select(random.sample(range(26), 24))


def visual(doc):
    picture = Image.new("RGB", (12, 8), doc["colour"])
    ImageDraw.Draw(picture).point((len(doc["q"]) % 12, 3), "white")
    return [picture, picture.convert("L")]


def text(doc, lmms_eval_specific_kwargs=None):
    return f"{doc['q']}{lmms_eval_specific_kwargs['post_prompt']}"


def target(doc):
    return doc["a"]


def kind(doc):
    return doc["kind"]


class Lowered:
    def __init__(self, ending=""):
        self.ending = ending

    def apply(self, resps, docs):
        return [[answer.lower() + self.ending for answer in answers] for answers in resps]


def graded(doc, results):
    drawn = random.random() + float(np.random.random()) + RNG.random()
    right = {"kind": doc["kind"], "right": results[0] == doc["a"].lower() + "!", "place": (1, 2.5, None)}
    return {"drawn": drawn, "right": right, "counted": np.float32(0.1) * len(results[0])}


def total(results, args):
    os.makedirs(args.output_path, exist_ok=True)
    with open(os.path.join(args.output_path, "submission.txt"), "w") as file:
        print("written", file=file)
    assert all(result["place"] == (1, 2.5, None) for result in results)
    return 100 * sum(result["right"] for result in results) / len(results) + random.random() / 1000


def counted(values):
    print("counted", len(values))
    TOTALS["docs"] += len(values)
    return float(sum(values) / TOTALS["docs"])
