"""The same questions three ways in one process: as a plain transformers loop, as mm-eval asks them, and as bare tensors.

    python benchmarks/workloads.py multiple_choice|yes_no|few_shot PICTURES QUESTIONS_A_PICTURE

Prints CPU seconds of each way as JSON, after a warm-up of each. plain: one full forward a choice, or one `generate` a question,
at batch 1, the processor run for each as a loop would. ours: instances through the adapter. floor: vision once a picture, the
shared prefix once, the suffixes and the answers' tokens, without copies of keys, already tokenised and preprocessed. The answers
of ours and plain are compared. few_shot: yes/no after the same four examples with pictures, without a floor.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
from typing import Any

import numpy as np
import torch
from measure import SCRATCH, cpu_of
from PIL import Image
from reference_model import build

from mm_eval.engine.model import MODELS, ModelSettings
from mm_eval.values.types import Instance

CHOICES = (" A", " the red car", " a dog on the left side", " yellow bus")
ASKED = (
    "Is there a person in the picture on the left side of the street? Please answer yes or no.",
    "Is there a red car in the picture, or a yellow bus? Please answer yes or no.",
    "Is there a dog on the street in this picture? Please answer yes or no.",
    "Is the color of the car in the picture blue? Please answer yes or no.",
    "Is there a bus on the left side? Please answer yes or no.",
    "Are there two people in the picture, a person on the street and a person in the car? Please answer yes or no.",
)
ANSWER_TOKENS = 16
"""What MME's task allows. An answer of two tokens would hide decoding."""
EXAMPLES = 4


def jpeg(seed: int) -> bytes:
    """A picture of 640 x 480 as a JPEG."""
    blocks = np.random.RandomState(seed).randint(0, 256, (30, 40, 3)).astype(np.uint8)
    target = io.BytesIO()
    Image.fromarray(blocks).resize((640, 480)).save(target, "JPEG", quality=88)
    return target.getvalue()


def read(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data)).convert("RGB")


def asking(number: int) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": ASKED[number % len(ASKED)]}]}


def answering(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def instances(kind: str, first: int, pictures: int, questions: int) -> list[Instance]:
    """Questions on pictures, numbered from `first`, so that a second call shares nothing with the first."""
    made = []
    shots = [jpeg(10_000 + first + number) for number in range(EXAMPLES)] if kind == "few_shot" else []
    turns = [turn for number in range(len(shots)) for turn in (asking(number), answering("Yes"))]
    for number in range(first, first + pictures):
        shown = [*shots, jpeg(number)]
        for asked in range(questions):
            common: dict[str, Any] = {
                "context": [*turns, asking(asked)],
                "images": lambda shown=shown: [read(data) for data in shown],
                "image_digests": tuple(hashlib.sha256(data).hexdigest() for data in shown),
            }
            doc_id = number * questions + asked
            if kind != "multiple_choice":
                kwargs = {"max_new_tokens": ANSWER_TOKENS, "min_new_tokens": ANSWER_TOKENS}
                made.append(Instance("generate_until", kind, doc_id, {}, generation_kwargs=kwargs, **common))
                continue
            for choice, text in enumerate(CHOICES):
                made.append(Instance("loglikelihood", kind, doc_id, {}, continuation=text, choice=choice, **common))
    return made


def ours(model: Any, rows: list[Instance]) -> list[Any]:
    ask = model.generate if rows[0].request_type == "generate_until" else model.loglikelihood
    found = {(row.doc_id, row.choice): answer.output for row, answer in ask(rows)}
    return [found[row.doc_id, row.choice] for row in rows]


@torch.inference_mode()  # type: ignore[untyped-decorator]
def plain(model: Any, rows: list[Instance]) -> list[Any]:
    """A loop over questions and choices as anyone would write it."""
    processor, network = model.writer.processor, model.runtime.model
    answers: list[Any] = []
    for row in rows:
        text = processor.apply_chat_template(row.context, add_generation_prompt=True, tokenize=False)
        pictures = row.images() if row.images else []
        if row.request_type == "generate_until":
            inputs = processor(text=[text], images=pictures, return_tensors="pt").to(network.device, network.dtype)
            steps = {"max_new_tokens": ANSWER_TOKENS, "min_new_tokens": ANSWER_TOKENS, "do_sample": False}
            new = network.generate(**inputs, **steps)[0, inputs["input_ids"].shape[1] :]
            answers.append(processor.tokenizer.decode(new, skip_special_tokens=True))
            continue
        ids = processor.tokenizer(row.continuation, add_special_tokens=False)["input_ids"]
        inputs = processor(text=[text + (row.continuation or "")], images=pictures, return_tensors="pt")
        inputs = inputs.to(network.device, network.dtype)
        logits = torch.log_softmax(network(**inputs).logits[0, -len(ids) - 1 : -1].float().cpu(), -1)
        total = logits.gather(1, torch.tensor(ids)[:, None]).sum()
        answers.append((float(total), bool((logits.argmax(-1) == torch.tensor(ids)).all())))
    return answers


def floor_work(model: Any, rows: list[Instance]) -> Any:
    """What any way has to compute for these rows, as a function of no arguments over prepared tensors.

    Every picture and every beginning once, all in one batch; then the rest of each row on keys and values written in place, each
    beginning held once.
    """
    from mm_eval.models.hf.inference.cache import Rows, root_of
    from mm_eval.models.hf.inference.prefixes import Prefix
    from mm_eval.models.hf.prompts.prompt import Prompt
    from transformers import DynamicCache

    network = model.runtime.model
    pixels, roots, tails = [], [], []
    by_picture: dict[Any, list[Instance]] = {}
    for row in rows:
        by_picture.setdefault(row.image_digests, []).append(row)
    generating = rows[0].request_type == "generate_until"
    for group in by_picture.values():
        written = {row.doc_id: model.writer.write(row) for row in group}
        prompts = list(written.values())
        pixels.append(prompts[0].pictures[0].tensors["pixel_values"])
        if generating:
            length = next(i for i, ids in enumerate(zip(*(p.ids for p in prompts), strict=False)) if len(set(ids)) > 1)
            roots.append(prompts[0].ids[:length])
            tails.append([prompt.ids[length:] for prompt in prompts])
        else:
            scored = [model.writer.split(written[row.doc_id], row.continuation or "")[1] for row in group]
            roots.append(prompts[0].ids)
            tails.append([ids[:-1] for ids in scored if len(ids) > 1])
    assert len({len(root) for root in roots}) == 1

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def work() -> None:
        features = network.model.get_image_features(pixel_values=torch.cat(pixels), return_dict=True)
        cache = DynamicCache(config=network.config)
        given = {"past_key_values": cache, "use_cache": True, "mm_encoder_outputs": {"image": features}}
        out = network(input_ids=torch.tensor(roots), logits_to_keep=1, **given)
        shift = torch.zeros(len(roots), 1, dtype=torch.long)
        prefix, held = Prefix(out.logits, cache, torch.ones(len(roots), len(roots[0])), shift), Rows(model.runtime)
        for line, (root, some) in enumerate(zip(roots, tails, strict=True)):
            held.add(root_of(prefix, line, Prompt(root)), shift[line], len(some))
        ids = [tail for some in tails for tail in some]
        logits = held.run(ids, keep=1 if generating else max(map(len, ids)))
        for _ in range(ANSWER_TOKENS - 1 if generating else 0):
            logits = held.run([[token] for token in logits[:, -1].argmax(-1).tolist()])

    return work


def same(one: list[Any], other: list[Any]) -> bool:
    """Equal text, or log-likelihoods within 1e-4."""
    for a, b in zip(one, other, strict=True):
        if isinstance(a, tuple) and (abs(a[0] - b[0]) > 1e-4 or a[1] != b[1]):
            return False
        if isinstance(a, str) and a != b:
            return False
    return True


def main(kind: str, pictures: int, questions: int) -> None:
    torch.set_num_threads(1)
    folder = build(SCRATCH / "reference-model")
    model = MODELS.get("hf")({"pretrained": str(folder)}, ModelSettings(batch_size="auto", device="cpu"))
    model.prepare()
    warm = instances(kind, 0, 1, questions)
    rows = instances(kind, 1000, pictures, questions)
    floor, warm_floor = ((lambda: None),) * 2 if kind == "few_shot" else (floor_work(model, r) for r in (rows, warm))
    ours(model, warm), plain(model, warm[:1]), warm_floor()
    before, _ = cpu_of(floor)
    seconds, mine = cpu_of(lambda: ours(model, rows))
    after, _ = cpu_of(floor)
    plain_seconds, theirs = cpu_of(lambda: plain(model, rows))
    measured = {"plain": plain_seconds, "ours": seconds, "floor": (before + after) / 2, "same": same(mine, theirs)}
    print(json.dumps(measured))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
