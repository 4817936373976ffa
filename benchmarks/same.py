"""What `mm-eval same` finds, and how often it is wrong where there is nothing to find.

    python benchmarks/same.py found              # the bundled model against changed copies of it
    python benchmarks/same.py alarms             # one unsteady model against itself, 200 times each

`found` asks tiny-qwen2-vl (2 million parameters, float32) and copies of it the 152 documents of the probe set that take a short
answer. "int8" and "int4" are weights that were rounded to so many bits for each
row and saved as floats, not quantised kernels. "Another revision" is the same model after five further steps of training. A
temperature stands for a server that samples although it was asked not to.

`alarms` makes four replies to each document out of one distribution, two for each side, and counts the verdict "differs".
"Sampled" draws from answers that tiny-qwen2-vl gave at temperature 1. "Batches" changes the end of some documents' answers with a
chance of their own, as kernels do that depend on the batch; "router" changes the tokens that are counted, too.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mm_eval.cli import main as mm_eval
from mm_eval.engine.model import keep_places
from mm_eval.prepare import prepare
from mm_eval.request import RunRequest
from mm_eval.results.recorded import RecordedRun
from mm_eval.run import run
from mm_eval.verbs.same.evidence import DIFFERS, LEVELS, OTHER, UNTOLD, Evidence
from mm_eval.verbs.same.replies import Reply, Side
from mm_eval.verbs.same.sides import probe_files

MODEL = "tiny-qwen2-vl"
CHECKPOINT = Path(__file__).parents[1] / "assets" / "models" / MODEL
SHORT = probe_files()[:1]
"""The documents that take a short answer."""
STEPS = 5
PIXELS = 96 * 96
"""The pixels to which the model resizes every picture."""
POOL = 6
"""Answers at temperature 1 to each document, from which four are drawn."""


def asked(folder: Path, tasks: Sequence[str], repeats: int = 2, **options: Any) -> Path:
    """The folder of a run of the bundled model. One that is finished is taken as it is."""
    if (folder / "finished.json").is_file():
        return folder
    request = RunRequest(tuple(tasks), model=MODEL, repeats=repeats, output_path=str(folder), report=False, **options)
    prepared = prepare(request)
    prepared.repeats_apart = True
    keep_places(prepared.model, 8)
    run(prepared)
    return folder


# ---------------------------------------------------------------------- what is found
def copied(folder: Path) -> Path:
    shutil.copytree(CHECKPOINT, folder)
    return folder


def rounded(folder: Path, bits: int) -> Path:
    """A copy whose matrices are rounded to so many bits for each row."""
    import torch
    from safetensors.torch import load_file, save_file

    def of_row(weight: Any) -> Any:
        most = 2 ** (bits - 1) - 1
        scale = weight.float().abs().amax(-1, keepdim=True).clamp(min=1e-9) / most
        return ((weight.float() / scale).round().clamp(-most, most) * scale).to(weight.dtype)

    path = copied(folder) / "model.safetensors"
    weights = load_file(path)
    inside = {name: of_row(each) if each.dim() == 2 and "embed" not in name else each for name, each in weights.items()}
    save_file({name: each.to(torch.float32).contiguous() for name, each in inside.items()}, path, {"format": "pt"})
    with_config(folder, dtype="float32")
    return folder


def with_config(folder: Path, **changes: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def with_template(folder: Path, change: Callable[[str], str]) -> Path:
    """A copy with another chat template."""
    path = copied(folder) / "chat_template.jinja"
    before = path.read_text()
    path.write_text(change(before))
    assert path.read_text() != before, "the template is as it was"
    return folder


def trained(folder: Path, steps: int) -> Path:
    """A copy after some steps of further training on the questions of the probe set."""
    import torch
    from transformers import AutoModelForImageTextToText, AutoTokenizer

    from mm_eval.verbs.same.probe import docs

    model = AutoModelForImageTextToText.from_pretrained(CHECKPOINT, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(CHECKPOINT)
    texts = [f"{row['question']} {row['answer']}" for row in docs.short()["test"]][:64]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    torch.manual_seed(0)
    for step in range(steps):
        ids = tokenizer(texts[step % len(texts)], return_tensors="pt").input_ids[:, :256]
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    copied(folder)
    model.save_pretrained(folder)
    return folder


def without_system(template: str) -> str:
    """A template that leaves system messages out."""
    head = "{%- set messages = messages | rejectattr('role', 'equalto', 'system') | list -%}"
    return f"{head}{template}"


def other_turns(template: str) -> str:
    """A template without the line end after the mark of the answer."""
    return template.replace("<|im_start|>assistant\n", "<|im_start|>assistant")


def sides(top: Path) -> dict[str, Callable[[], str]]:
    """{what was changed: makes side B, and gives its word}."""

    def at(temperature: float) -> str:
        options = {"temperature": temperature, "do_sample": True}
        return str(asked(top / f"t{temperature}", SHORT, gen_kwargs=options))

    return {
        "nothing": lambda: MODEL,
        "bfloat16 in place of float32": lambda: f"{MODEL},dtype=bfloat16",
        "int8 weights": lambda: f"hf,pretrained={rounded(top / 'int8', 8)}",
        "int4 weights": lambda: f"hf,pretrained={rounded(top / 'int4', 4)}",
        "another chat template": lambda: f"hf,pretrained={with_template(top / 'template', other_turns)}",
        "system text dropped": lambda: f"hf,pretrained={with_template(top / 'system', without_system)}",
        "a quarter of max_pixels": lambda: f"{MODEL},min_pixels={PIXELS // 4},max_pixels={PIXELS // 4}",
        "another revision": lambda: f"hf,pretrained={trained(top / 'trained', STEPS)}",
        "temperature 0.3": lambda: at(0.3),
        "temperature 1.0": lambda: at(1.0),
    }


def found(top: Path, only: str | None) -> Iterator[tuple[str, ...]]:
    """A row for each change: the verdict, and the difference by each level in percent, * where it differs."""
    known = asked(top / "short", SHORT)
    for said, make in sides(top).items():
        if only and only not in said:
            continue
        output = top / f"same {said}"
        code = mm_eval(["same", str(known), make(), "--output_path", str(output), "--format", "json"])
        values = json.loads((output / "same.json").read_text())
        assert code == {"same": 0, "differs": 1}.get(values["verdict"], 3)
        cells = [
            "-"
            if each["state"] == UNTOLD
            else f"{100 * each['difference']:.1f}{'*' if each['state'] == DIFFERS else ''}"
            for each in values["levels"]
        ]
        print(said, values["said"], file=sys.stderr, flush=True)
        yield said, values["verdict"], *cells


# ---------------------------------------------------------------------- false alarms
def side(name: str, recorded: Side, replies: Callable[[tuple[str, int]], tuple[Reply | None, ...]]) -> Side:
    docs = {key: replace(doc, replies=replies(key), score=None) for key, doc in recorded.docs.items()}
    return Side(name, recorded.run, docs)


def sampled(pool: Side, draw: np.random.Generator) -> tuple[Side, Side]:
    """Four of the pool's replies to each document, two a side."""
    chosen = {key: draw.permutation(POOL)[:4] for key in pool.docs}

    def replies(place: int) -> Callable[[tuple[str, int]], tuple[Reply | None, ...]]:
        return lambda key: tuple(pool.docs[key].replies[n] for n in chosen[key][2 * place : 2 * place + 2])

    return side("A", pool, replies(0)), side("B", pool, replies(1))


def unsteady(share: float, tokens: bool) -> Callable[[Side, np.random.Generator], tuple[Side, Side]]:
    """Replies that change in some documents with a chance of their own."""

    def drawn(pool: Side, draw: np.random.Generator) -> tuple[Side, Side]:
        chances = {key: draw.beta(0.3, 0.3) if draw.random() < share else 0.0 for key in pool.docs}

        def reply(key: tuple[str, int]) -> Reply:
            first = pool.docs[key].replies[0]
            assert first is not None
            changed = draw.random() < chances[key]
            said = f"{first.said} and" if changed else first.said
            return replace(first, said=said, ended="length" if changed else "stop", tokens=100 + (tokens and changed))

        return (
            side("A", pool, lambda key: (reply(key), reply(key))),
            side("B", pool, lambda key: (reply(key), reply(key))),
        )

    return drawn


def alarms(top: Path, repetitions: int) -> Iterator[tuple[str, ...]]:
    """A row for each kind of noise: how often one model was called another, the same, or nothing."""
    options = {"temperature": 1.0, "do_sample": True}
    folder = asked(top / "pool", SHORT, POOL, gen_kwargs=options)
    pool = Side.read("pool", RecordedRun.read(folder))
    kinds: dict[str, Callable[[Side, np.random.Generator], tuple[Side, Side]]] = {"sampled at temperature 1": sampled}
    for share in (0.05, 0.3, 1.0):
        kinds[f"batches change {share:.0%} of the documents"] = unsteady(share, tokens=False)
    kinds["a router of two builds"] = unsteady(1.0, tokens=True)
    for said, make in kinds.items():
        draw, verdicts, apart = np.random.default_rng(len(said)), list[str](), list[float]()
        for _ in range(repetitions):
            evidence = Evidence(*make(pool, draw))
            verdicts.append(evidence.verdict)
            apart.append(next(each.between for each in evidence.levels if each.name == "texts"))
        shares = [f"{verdicts.count(each) / repetitions:.1%}" for each in (OTHER, "SAME", "NOT DECIDED")]
        yield said, f"{sum(apart) / len(apart):.1%}", *shares


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("found", "alarms"))
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--only", help="only the changes with this in their name")
    parser.add_argument("--folder", type=Path, help="where the runs go; by default they are removed")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        top = args.folder or Path(made)
        if args.what == "found":
            header, rows = ["changed", "verdict", *LEVELS], found(top, args.only)
        else:
            header, rows = ["noise", "texts apart", "differs", "same", "not decided"], alarms(top, args.repetitions)
        stdout, sys.stdout = sys.stdout, sys.stderr
        print(",".join(header), file=stdout)
        for row in rows:
            print(",".join(f'"{each}"' if "," in each else each for each in row), file=stdout, flush=True)


if __name__ == "__main__":
    main()
