"""Trains a tiny model from scratch: python assets/make/train.py --arch llava --minutes 75

The schedule goes by wall time, not by steps, so that a slow machine ends on time with a model that has seen less.
Every few minutes a checkpoint is written (atomically, below --work); --resume goes on from it. The recipe, in order:
name what lies under each image token; short questions without suffix; the model's own prompt. All along single tokens
of the question are taught the steps that lead to an answer (hints.py).
"""

import argparse
import json
import math
import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from block_attention import PLAIN, dense
from drawing import Picture
from forms import draw_album, draw_clutter
from muon import Muon
from packing import Batch, Packer
from pictures import DRAW
from questions import AGAIN, HEAVY, draw_training
from safetensors.torch import load_file, save_file
from sample_data import digest, held_out
from stories import draw_stories
from tiny_models import build_model, build_processor, build_tokenizer, load, save_checkpoint, save_processor
from torch import Tensor
from tqdm import tqdm
from zoom import draw_chain

FOLDERS = {"llava": "tiny-llava", "qwen": "tiny-qwen2-vl"}
WARM_BATCH, BATCH, VIDEO_BATCH, STORY_BATCH = 64, 24, 5, 8
CHAINS, CHAIN_ROWS, CALLED, BOX = 20, 2, 0.02, 0.25
"""Of the batches that --zoom asks for: their conversations, the rows that these are packed in, and the weights of a token that
decides nothing, as most of a call are, and of a number of a box: reading the part is harder, and would not be heard."""
FORM_BATCH, FORMS_EACH, CLUTTER, ALBUMS, ALBUM_BATCH = 16, 6, 0.3, 0.2, 9
"""Of the batches that --forms asks for: their pictures, the questions of each, the share of pictures that show nothing known,
and the share of batches whose questions are about several pictures, with their rows."""
HEADS_FIRST = 400
"""So many steps until the heads of a model that is trained on have their full weight."""
STORIES_SHORT = 0.45
"""Until this share of the time the questions about stories are short."""
EASY_MIX, MIX = (4, 4, 2), (4, 4, 1)
LEARNING_RATE, MUON_RATE = 2e-3, 0.015


@dataclass
class Progress:
    """What a checkpoint keeps beside the weights."""

    seconds: float = 0.0
    step: int = 0
    images: int = 0
    questions: int = 0


def fast_vision(model: Any) -> None:
    """Attends to all pictures as one batch, by the plain kernel; stock Qwen2-VL loops over pictures in Python."""
    if not hasattr(model.model, "visual"):
        model.model.vision_tower.config._attn_implementation = PLAIN
        return
    from transformers.models.qwen2_vl import modeling_qwen2_vl as qwen2_vl

    def forward(self: Any, hidden_states: Tensor, cu_seqlens: Tensor, **kwargs: Any) -> Tensor:
        images = len(cu_seqlens) - 1
        length = hidden_states.shape[0] // images
        queries, keys, values = self.qkv(hidden_states).reshape(images * length, 3, self.num_heads, -1).unbind(1)
        queries, keys = qwen2_vl.apply_rotary_pos_emb_vision(queries, keys, *kwargs["position_embeddings"])
        shape = (images, length, self.num_heads, -1)
        queries, keys, values = (part.reshape(shape).transpose(1, 2) for part in (queries, keys, values))
        mixed = dense(queries, keys, values, values.shape[-1] ** -0.5)
        done: Tensor = self.proj(mixed.transpose(1, 2).reshape(images * length, -1))
        return done

    qwen2_vl.VisionAttention.forward = forward


class Run:
    """One training run: the model, its optimisers, its random numbers and how far it is."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.progress = options, Progress()
        torch.manual_seed(options.seed)
        self.rng = random.Random(options.seed + 1)
        if options.start:
            self.tokenizer, self.model = load(options.arch, Path(options.start))
        else:
            self.tokenizer = build_tokenizer(options.arch)
            self.model = build_model(options.arch, self.tokenizer)
        self.processor = build_processor(options.arch, self.tokenizer)
        self.packer = Packer(options.arch, self.model, self.tokenizer)
        self.held_out = held_out()
        matrices: list[Tensor] = []
        self.rest: list[Tensor] = []
        for name, parameter in self.model.named_parameters():
            table = any(word in name for word in ("embed", "lm_head", "patch"))
            (self.rest if parameter.ndim != 2 or table else matrices).append(parameter)
        head = [*self.packer.auxiliary.parameters(), *self.packer.hint_heads.parameters()]
        adam = torch.optim.AdamW(self.rest + head, LEARNING_RATE, betas=(0.9, 0.98), weight_decay=0.0)
        self.optimizers: list[torch.optim.Optimizer] = [Muon(matrices, MUON_RATE), adam]
        self.checkpoint = Path(options.work) / f"{options.arch}.pt"
        self.log: list[dict[str, Any]] = []

    def save(self) -> None:
        """Writes the checkpoint beside itself and moves it into place, so that a kill leaves the old one."""
        state = {
            "tokenizer": self.tokenizer.backend_tokenizer.to_str(),
            "model": self.model.state_dict(),
            "auxiliary": self.packer.auxiliary.state_dict(),
            "hint_heads": self.packer.hint_heads.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "python_random": self.rng.getstate(),
            "torch_random": torch.get_rng_state(),
            "progress": vars(self.progress),
            "log": self.log,
        }
        save_checkpoint(state, self.checkpoint)

    def resume(self) -> None:
        """Goes on from the checkpoint, at the share of the schedule that it had reached."""
        state = torch.load(self.checkpoint, weights_only=False)
        mine = self.tokenizer.backend_tokenizer.to_str()
        if state.get("tokenizer", mine) != mine:
            raise ValueError(f"{self.checkpoint} was trained with another tokenizer: the questions have changed since")
        self.model.load_state_dict(state["model"])
        self.packer.auxiliary.load_state_dict(state["auxiliary"])
        self.packer.hint_heads.load_state_dict(state["hint_heads"])
        for optimizer, kept in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(kept)
        self.rng.setstate(state["python_random"])
        torch.set_rng_state(state["torch_random"])
        self.progress, self.log = Progress(**state["progress"]), state["log"]

    def draw(self, count: int, video: bool = False) -> list[Picture]:
        """Training pictures, none of which is in the samples."""
        pictures: list[Picture] = []
        heavy = {**(AGAIN if self.options.start else HEAVY), **self.options.heavy}
        while len(pictures) < count:
            picture = draw_training(self.rng, video, self.options.scenes, heavy)
            if not any(digest(frame) in self.held_out for frame in picture.frames):
                pictures.append(picture)
        return pictures

    def rate(self, share: float) -> float:
        """The factor of the learning rates: a short rise, constant for a share of the time, then a cosine to 1%."""
        rise: float = min(1.0, (self.progress.step + 1) / 40) * self.options.rate
        hold: float = self.options.hold
        return rise * (1 if share < hold else 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * (share - hold) / (1 - hold))))

    def loss(self, share: float) -> tuple[Tensor, dict[str, Any]]:
        """The loss of one batch, and what to log of it."""
        progress, options = self.progress, self.options
        if share < options.warm:
            pictures = self.draw(WARM_BATCH)
            progress.images += len(pictures)
            features = self.packer.features([picture.image for picture in pictures])
            loss, accuracy = self.packer.auxiliary_loss(features, pictures)
            return loss, {"aux": [round(value, 2) for value in accuracy]}
        drawn = self.rng.random()
        story, form = drawn < options.stories, 0 < drawn - options.stories < options.forms
        if 0 < drawn - options.stories - options.forms < options.zoom:
            return self._trained(self.packer.chains([draw_chain(self.rng) for _ in range(CHAINS)], CHAIN_ROWS), "zoom")
        album = form and self.rng.random() < ALBUMS
        easy = share < (STORIES_SHORT if story else options.easy)
        # A video batch costs about two thirds of a picture batch; it needs shapes first, so it starts later.
        video = (
            not story
            and not form
            and (bool(options.start) or share > options.warm + 0.1)
            and progress.step % options.video == 0
        )
        if story:
            pictures = draw_stories(self.rng, options.arch, STORY_BATCH, easy)
        elif album:
            count = self.rng.choice((2, 2, 3, 4))
            pictures = [draw_album(self.rng, count) for _ in range(ALBUM_BATCH)]
        elif form:
            pictures = self.draw(FORM_BATCH)
            pictures = [draw_clutter(self.rng) if self.rng.random() < CLUTTER else picture for picture in pictures]
        else:
            pictures = self.draw(VIDEO_BATCH if video else BATCH, video)
        native = 0.05 if easy else 0.85
        batch = self.packer.batch(
            pictures, self.rng, EASY_MIX if easy else options.mix, native, easy, FORMS_EACH * form
        )
        return self._trained(batch, "story" if story else "album" if album else "frames" if video else "")

    def _trained(self, batch: Batch, kind: str) -> tuple[Tensor, dict[str, Any]]:
        """The loss of a batch, and what to log of it. kind: of its pictures; empty for stills that are asked about alone."""
        progress = self.progress
        progress.images += sum(len(picture.frames) for picture in batch.pictures)
        progress.questions += CHAINS if kind == "zoom" else len(batch.asked)
        features, logits, answers = self.packer.forward(batch)
        # The first token decides nearly every answer; the others are half grammar.
        decides = batch.first[answers]
        weight = torch.where(decides >= 0, 1.0, CALLED if kind == "zoom" else 0.4)
        if kind == "zoom":
            boxes = torch.tensor([question.category == "box" for question, _ in batch.asked])
            weight = torch.where((decides >= 0) & boxes[decides.clamp(min=0)], BOX, weight)
        loss = (F.cross_entropy(logits, batch.target[answers], reduction="none") * weight).sum() / weight.sum()
        hinted, known = self.packer.hint_loss(batch)
        kept = {"lm": round(loss.item(), 3), **known}
        # The heads of a model that is trained on are new: they learn before the model hears from them.
        told = 0.3 * min(1.0, 0.01 + progress.step / HEADS_FIRST) if self.options.start else 0.3
        loss = loss + told * hinted
        if kind in ("", "zoom"):
            named, accuracy = self.packer.auxiliary_loss(features, batch.pictures)
            loss = loss + told * named
            kept["aux"] = [round(value, 2) for value in accuracy]
        return loss, {**kept, **({"kind": kind} if kind else {})}

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def quick_check(self, easy: bool) -> dict[str, float]:
        """Accuracy of the first answer token by category, on fresh pictures, the truth before it given."""
        rng, hits = random.Random(10**9), dict[str, list[float]]()
        self.model.eval()
        kinds = ["picture", "picture", "picture", "video"]
        kinds += ["story"] * 4 * bool(self.options.stories) + ["zoom"] * 2 * bool(self.options.zoom)
        for kind in kinds:
            if kind == "zoom":
                batch = self.packer.chains([draw_chain(rng) for _ in range(CHAINS)], CHAIN_ROWS)
            else:
                pictures = [draw_training(rng, kind == "video") for _ in range(6 if kind == "video" else 48)]
                pictures = draw_stories(rng, self.options.arch, 8) if kind == "story" else pictures
                batch = self.packer.batch(pictures, rng, (4, 3, 3), 0.0 if easy else 1.0, easy)
            _, logits, answers = self.packer.forward(batch)
            right = logits.argmax(-1) == batch.target[answers]
            for number, hit in zip(batch.first[answers].tolist(), right.tolist(), strict=True):
                if number >= 0:
                    question = batch.asked[number][0]
                    for key in (question.kind, f"{question.kind} {question.category}"):
                        hits.setdefault(key, []).append(hit)
        self.model.train()
        return {key: round(sum(values) / len(values), 2) for key, values in sorted(hits.items())}

    def train(self) -> None:
        """Trains until the minutes are over."""
        options, progress = self.options, self.progress
        total = options.minutes * 60
        begun, saved, before = time.monotonic(), time.monotonic(), progress.seconds
        self.model.train()
        form = "{l_bar}{bar}| {n:.0f} s, {remaining} left{postfix}"
        bar = tqdm(total=total, initial=progress.seconds, desc=options.arch, bar_format=form, mininterval=5)
        while (share := progress.seconds / total) < 1:
            for optimizer, rate in zip(self.optimizers, (MUON_RATE, LEARNING_RATE), strict=True):
                optimizer.param_groups[0]["lr"] = rate * self.rate(share)
            # bfloat16 products take a fifth of the time where the CPU has AVX512-BF16; weights and sums stay float32.
            with torch.autocast("cpu", torch.bfloat16):
                loss, shown = self.loss(share)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.rest, 1.0)
            for optimizer in self.optimizers:
                optimizer.step()
                optimizer.zero_grad()
            progress.step += 1
            progress.seconds = before + time.monotonic() - begun
            bar.set_postfix({"questions": progress.questions, "loss": f"{loss.item():.2f}"}, refresh=False)
            bar.update(min(progress.seconds, total) - bar.n)
            if progress.step % 100 == 0:
                left = (total - progress.seconds) / 60
                line = {**vars(progress), "seconds": round(progress.seconds), "minutes_left": round(left, 1), **shown}
                if progress.step % 400 == 0 and share >= options.warm:
                    line.update(self.quick_check(share < options.easy))
                self.log.append(line)
                tqdm.write(json.dumps(line))
            if time.monotonic() - saved > 150:
                self.save()
                saved = time.monotonic()
        bar.close()
        self.save()

    def export(self, folder: Path) -> None:
        """Writes a folder for from_pretrained, in float16."""
        folder.mkdir(parents=True, exist_ok=True)
        self.model.eval().to(torch.float16).save_pretrained(folder)
        write_hub_names(folder / "model.safetensors")
        save_processor(self.processor, folder)
        for path in folder.iterdir():
            path.chmod(0o644)


def write_hub_names(weights: Path) -> None:
    """Names LLaVA's vision weights as the hub's checkpoints do; transformers 5.23 reads both names, and vLLM only the hub's."""
    tower, wanted = "vision_tower.", "vision_tower.vision_model."
    tensors = load_file(weights)
    if any(name.startswith(tower) and not name.startswith(wanted) for name in tensors):
        named = {
            wanted + name.removeprefix(tower) if name.startswith(tower) else name: tensors[name] for name in tensors
        }
        save_file(dict(sorted(named.items())), weights, metadata={"format": "pt"})


def _three(text: str) -> tuple[int, int, int]:
    first, second, third = map(int, text.split(","))
    return first, second, third


def _heavy(text: str) -> dict[str, int]:
    """How often kinds of pictures come, from a text such as "arithmetic=7,code=6"."""
    pairs = (part.split("=") for part in text.split(",") if part)
    found = {kind: int(times) for kind, times in pairs}
    if unknown := sorted(found.keys() - DRAW):
        raise argparse.ArgumentTypeError(f"no kinds of pictures: {', '.join(unknown)}. There are {', '.join(DRAW)}.")
    return found


def main() -> None:
    """Trains, or with --export-only writes what the checkpoint holds so far."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arch", choices=list(FOLDERS), required=True)
    parser.add_argument("--minutes", type=float, default=62)
    parser.add_argument("--warm", type=float, default=0.08, help="share of the time for naming image tokens")
    parser.add_argument("--easy", type=float, default=0.4, help="until this share of the time: no suffixes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rate", type=float, default=1.0, help="factor of the learning rates")
    parser.add_argument(
        "--mix", type=_three, default=MIX, help="yes/no, four-way and open questions a scene, later half"
    )
    parser.add_argument("--video", type=int, default=4, help="one batch in so many is of videos")
    parser.add_argument(
        "--start", default="", help="a model's folder to go on from, with its tokenizer; give --warm 0 --easy 0"
    )
    parser.add_argument(
        "--stories", type=float, default=0.0, help="share of the batches that show videos as their benchmarks do"
    )
    parser.add_argument(
        "--forms", type=float, default=0.0, help="share of the batches that ask in the forms of other benchmarks"
    )
    parser.add_argument(
        "--zoom",
        type=float,
        default=0.0,
        help="share of the batches that show conversations with the zoom tool; for qwen",
    )
    parser.add_argument("--scenes", type=float, default=0.65, help="share of the pictures that are scenes of shapes")
    parser.add_argument(
        "--heavy",
        type=_heavy,
        default={},
        help="kinds of pictures that come more often than by default: arithmetic=7,code=6",
    )
    parser.add_argument("--hold", type=float, default=0.4, help="share of the time before the learning rate falls")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint in --work")
    parser.add_argument("--export-only", action="store_true", help="write the checkpoint's model and stop")
    parser.add_argument("--work", default=str(Path(__file__).parent / "work"), help="where the checkpoint lies")
    parser.add_argument("--out", default="", help="the model's folder; default assets/models/tiny-...")
    options = parser.parse_args()
    if options.zoom and options.arch != "qwen":
        parser.error("--zoom is for --arch qwen: the other model's context is too short, and it knows one picture only")
    torch.set_num_threads(1)
    run = Run(options)
    if options.resume or options.export_only:
        run.resume()
    if not options.export_only:
        count = sum(parameter.numel() for parameter in run.model.parameters())
        print(f"{options.arch}: {count / 1e6:.2f} M parameters, vocabulary {len(run.tokenizer)}", flush=True)
        fast_vision(run.model)
        run.train()
    run.export(Path(options.out or Path(__file__).parent.parent / "models" / FOLDERS[options.arch]))


if __name__ == "__main__":
    main()
