"""Measures a tiny model on the samples through the real path: python assets/make/evaluate.py assets/models/tiny-llava

processor -> from_pretrained -> generate or log-likelihoods; every score is also measured with the pictures shuffled.
"""

import argparse
import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from prompts import LETTERS, RANKED, SUFFIX, listing
from sample_data import PLEASE, SEED_BENCH
from tiny_models import image_only_qwen2_vl
from videos import TYPES as VIDEO_TYPES

DATA = Path(__file__).parent.parent / "data"
COGNITION = ("commonsense_reasoning", "numerical_calculation", "text_translation", "code_reasoning")
MME_TOTALS, SEED_TOTALS = ("accuracy", "perception", "cognition"), ("all image", "all video")
Images = list[Image.Image]
Table = dict[str, float]


class Answerer:
    """A saved model with its processor."""

    def __init__(self, folder: str, batch: int = 32) -> None:
        from transformers import AutoModelForImageTextToText, AutoProcessor

        self.batch = batch
        try:
            self.processor = AutoProcessor.from_pretrained(folder)
        except ImportError:
            self.processor = image_only_qwen2_vl().from_pretrained(folder)
        self.model = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).eval()

    def prompt(self, images: Images, text: str) -> str:
        """The chat template's text for pictures followed by a question."""
        content = [{"type": "image"}] * len(images) + [{"type": "text", "text": text}]
        messages = [{"role": "user", "content": content}]
        return str(self.processor.apply_chat_template(messages, add_generation_prompt=True, tokenize=False))

    def inputs(self, images: list[Images], prompts: list[str]) -> Any:
        """One padded batch."""
        flat = [image for some in images for image in some]
        return self.processor(images=flat, text=prompts, return_tensors="pt", padding=True)

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def generate(self, images: list[Images], texts: list[str]) -> list[str]:
        """Greedy answers."""
        answers: list[str] = []
        for at in range(0, len(texts), self.batch):
            some = images[at : at + self.batch]
            asked = [self.prompt(*pair) for pair in zip(some, texts[at : at + self.batch], strict=True)]
            inputs = self.inputs(some, asked)
            tokens = self.model.generate(**inputs, max_new_tokens=12, do_sample=False)
            said = self.processor.batch_decode(tokens[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
            answers += [answer.strip() for answer in said]
        return answers

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def rank(self, images: list[Images], texts: list[str], options: list[list[str]]) -> list[int]:
        """The index of the likeliest continuation by summed log-likelihood."""
        best = []
        for some, text, continuations in zip(images, texts, options, strict=True):
            prompt = self.prompt(some, text)
            lengths = [len(self.processor.tokenizer(c, add_special_tokens=False)["input_ids"]) for c in continuations]
            inputs = self.inputs([some] * len(continuations), [prompt + c for c in continuations])
            logits = self.model(**inputs, logits_to_keep=max(lengths) + 1).logits.log_softmax(-1)[:, :-1]
            chosen = logits.gather(2, inputs["input_ids"][:, -max(lengths) :, None])[..., 0]
            scores = [chosen[k, -length:].sum().item() for k, length in enumerate(lengths)]
            best.append(scores.index(max(scores)))
        return best


def mme_parse(answer: str) -> str:
    """yes, no or other, by MME's rule."""
    answer = answer.lower().strip()
    if answer in ("yes", "no"):
        return answer
    return "yes" if "yes" in answer[:4] else "no" if "no" in answer[:4] else "other"


def mean_by(names: list[str], hits: list[bool]) -> Table:
    """The share of hits under every name, in %."""
    table: dict[str, list[bool]] = {}
    for name, hit in zip(names, hits, strict=True):
        table.setdefault(name, []).append(hit)
    return {name: 100 * sum(some) / len(some) for name, some in table.items()}


def mme_scores(rows: list[dict[str, Any]], hits: list[bool]) -> Table:
    """MME's sums: accuracy plus accuracy+ (both questions of a picture right) of each category."""
    names = [row["category"] for row in rows]
    pairs: dict[str, list[bool]] = {}
    for row, hit in zip(rows, hits, strict=True):
        pairs.setdefault(row["question_id"], []).append(hit)
    both = mean_by([name.split("/")[0] for name in pairs], [all(pair) for pair in pairs.values()])
    single = mean_by(names, hits)
    score = {name: single[name] + both[name] for name in single}
    table = {"accuracy": 100 * sum(hits) / len(hits)}
    table["perception"] = sum(value for name, value in score.items() if name not in COGNITION)
    table["cognition"] = sum(value for name, value in score.items() if name in COGNITION)
    return {**table, **single}


def seed_scores(rows: list[dict[str, Any]], hits: list[bool]) -> Table:
    """Accuracy over pictures, over videos and by type."""
    types = [*SEED_BENCH, *VIDEO_TYPES]
    table = mean_by([f"all {row['data_type']}" for row in rows], hits)
    return {**table, **mean_by([types[row["question_type_id"] - 1] for row in rows], hits)}


def shuffled(images: list[Images], rows: list[dict[str, Any]]) -> list[Images]:
    """Every question gets another question's picture of the same sort and category."""
    groups: dict[Any, list[int]] = {}
    for k, row in enumerate(rows):
        groups.setdefault((row.get("category"), row.get("question_type_id")), []).append(k)
    moved, rng = list(images), random.Random(0)
    for members in groups.values():
        sources = members[:]
        rng.shuffle(sources)
        for target, source in zip(members, sources, strict=True):
            moved[target] = images[source]
    return moved


def measure(folder: str, prompts: list[str]) -> dict[str, Table]:
    """All tables of one model, by name of the task, the prompt and the state of the pictures."""
    from datasets import load_dataset

    answerer, tables = Answerer(folder), dict[str, Table]()
    mme = load_dataset(str(DATA / "lmms-lab" / "MME"), split="test").to_list()
    seed = load_dataset(str(DATA / "lmms-lab" / "SEED-Bench"), split="test").to_list()
    mme_images, seed_images = ([images_of(row) for row in rows] for rows in (mme, seed))
    options = [[row[f"choice_{letter.lower()}"] for letter in LETTERS] for row in seed]
    orders: list[tuple[str, Callable[[list[Images], list[dict[str, Any]]], list[Images]]]] = [
        ("", lambda images, rows: images),
        (" shuffled", shuffled),
    ]
    for order, arrange in orders:
        for prompt in prompts:
            texts = [row["question"].replace(PLEASE, "") + SUFFIX[prompt]["yesno"] for row in mme]
            answers = answerer.generate(arrange(mme_images, mme), texts)
            hits = [mme_parse(answer) == row["answer"].lower() for answer, row in zip(answers, mme, strict=True)]
            tables[f"mme {prompt}{order}"] = mme_scores(mme, hits)
            texts = [
                row["question"] + listing(tuple(some)) + SUFFIX[prompt]["choice"]
                for row, some in zip(seed, options, strict=True)
            ]
            answers = answerer.generate(arrange(seed_images, seed), texts)
            hits = [answer[:1] == row["answer"] for answer, row in zip(answers, seed, strict=True)]
            tables[f"seedbench {prompt}{order}"] = seed_scores(seed, hits)
        texts = [row["question"] + RANKED for row in seed]
        continuations = [[" " + option for option in some] for some in options]
        best = answerer.rank(arrange(seed_images, seed), texts, continuations)
        hits = [LETTERS[k] == row["answer"] for k, row in zip(best, seed, strict=True)]
        tables[f"seedbench_ppl{order}"] = seed_scores(seed, hits)
    return tables


def card_table(tables: dict[str, Table], own: str) -> str:
    """The tables of a model card: the scores under the model's own prompt, the other one, none, and blind."""
    other = "qwen" if own == "llava" else "llava"
    lines: list[str] = []
    for task, whole in (("mme", MME_TOTALS), ("seedbench", SEED_TOTALS)):
        columns = [f"{task} {own}", f"{task} {own} shuffled", f"{task} {other}", f"{task} bare"]
        if task == "seedbench":
            columns[2:2] = ["seedbench_ppl", "seedbench_ppl shuffled"]
        lines += ["| " + " | ".join(["%", *columns]) + " |", "|---" * (len(columns) + 1) + "|"]
        for name in [*whole, *(name for name in tables[columns[0]] if name not in whole)]:
            cells = (f"{tables[column][name]:.1f}" for column in columns)
            lines.append("| " + " | ".join([name, *cells]) + " |")
        lines.append("")
    return "\n".join(lines)


def images_of(row: dict[str, Any]) -> Images:
    """The pictures of a row, as a list where it has one only too."""
    import io

    images = row["image"] if isinstance(row["image"], list) else [row["image"]]
    return [Image.open(io.BytesIO(image["bytes"])).convert("RGB") for image in images]


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--prompts", default="llava,qwen,bare")
    parser.add_argument("--card", choices=("llava", "qwen"), help="print the card's tables of a model trained so")
    options = parser.parse_args()
    torch.set_num_threads(1)
    begun = time.monotonic()
    tables = measure(options.folder, options.prompts.split(","))
    if options.card:
        print(card_table(tables, options.card))
    else:
        for name, table in tables.items():
            print(f"{name:24s}", json.dumps({key: round(value, 1) for key, value in table.items()}))
    print(f"{time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main()
