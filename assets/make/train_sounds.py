"""Trains the tiny model that hears: python assets/make/train_sounds.py

A Qwen2-Audio of about half a million parameters, trained from scratch on drawn sounds (sounds.py) in about ten CPU minutes.
Checkpoints are written below --work, and --resume goes on from the last. First the encoder learns to name what lies under each
audio token, and what is true of the whole sound. Then it stays as it is, its output is kept, and the language model learns to
answer, with several questions packed behind one sound: open questions first, then with options. The answer is the text of an
option, as MMAU's rule wants it; some questions ask for its letter.
"""

import argparse
import json
import math
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from muon import Muon
from sounds import ASKS, KINDS, PITCHES, RATE, Question, Sound, draw, pitch_class, questions
from tiny_models import PLAIN, byte_level_bpe, save_checkpoint
from torch import Tensor
from tqdm import trange
from transformers import (
    PreTrainedTokenizerFast,
    Qwen2AudioConfig,
    Qwen2AudioEncoderConfig,
    Qwen2AudioForConditionalGeneration,
    Qwen2AudioProcessor,
    Qwen2Config,
    WhisperFeatureExtractor,
)

SECONDS, HOP, MELS = 8, 320, 48
"""What the model hears of a clip, the samples between two frames of its spectrogram, and the bands of a frame."""
FRAMES = SECONDS * RATE // HOP
WIDTH, LAYERS, AUDIO_WIDTH, AUDIO_LAYERS = 96, 3, 64, 2
BATCH, ASKED, EACH = 24, 24, 3
"""Sounds of a batch of the encoder and of one of the language model, and questions about each."""
STEPS, EASY = (600, 400), 0.25
"""The steps of the encoder and those of the language model; for this share of the latter the questions list no options."""
BANK, FRESH = 2048, 8
"""Sounds that are kept to be heard again, and how many of them are new at each step of the encoder."""
ANSWERED = 8192
"""Sounds that the language model is asked about."""
LETTERS = "ABCD"
LETTER_SHARE = 0.15
LEARNING_RATE, MUON_RATE = 2e-3, 0.015
SYSTEM = "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
BEFORE = SYSTEM + "<|im_start|>user\nAudio 1: <|audio_bos|>"
AFTER = "<|audio_eos|>\n"
TAIL = "<|im_end|>\n<|im_start|>assistant\n"
AUDIO = "<|AUDIO|>"
LABELS = ("silence", *KINDS)


def render(question: Question, rng: random.Random, easy: bool = False) -> tuple[str, str]:
    """(what is asked, the answer) in one of the forms in which benchmarks list their options."""
    if easy:
        return question.text, question.answer
    options = list(question.options)
    right = options.index(question.answer)
    lettered = [f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=True)]
    bracketed = [f"({letter}) {option}" for letter, option in zip(LETTERS, options, strict=True)]
    if rng.random() < LETTER_SHARE:
        return rng.choice(
            (
                f"{question.text}\n" + "\n".join(lettered) + "\nAnswer with the option's letter.",
                f"{question.text}\n" + "\n".join(bracketed) + "\nAnswer with the option's letter.",
            )
        ), LETTERS[right]
    choose = "Choose the correct option from the following options:"
    return rng.choices(
        (
            f"{question.text} {choose}\n" + "\n".join(bracketed),
            f"{question.text}\n" + "\n".join(options),
            f"{question.text}\n" + "\n".join(lettered),
            f"{question.text} Please choose the answer from the following options: {options}.",
            f"{question.text}\nChoices: " + ", ".join(options),
            question.text,
        ),
        (6, 1, 1, 1, 1, 3),
    )[0], question.answer


def build_tokenizer(vocabulary: int = 560) -> PreTrainedTokenizerFast:
    """A byte-level BPE trained on the questions and plain English: every text has tokens, none is unknown."""
    rng = random.Random(5)
    text = [PLAIN] * 3 + [SYSTEM, "user\nAudio 1: ", "assistant\n"] * 20
    for name, (asked, values) in ASKS.items():
        for _ in range(60):
            options = rng.sample(list(values), 4)
            for _ in range(4):
                text += render(Question(asked, tuple(options), options[0], name), rng)
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", AUDIO, "<|audio_bos|>", "<|audio_eos|>"]
    tokenizer = byte_level_bpe(text, special, vocabulary)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        padding_side="left",
        model_max_length=2048,
        clean_up_tokenization_spaces=False,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        extra_special_tokens={
            "audio_token": AUDIO,
            "audio_bos_token": "<|audio_bos|>",
            "audio_eos_token": "<|audio_eos|>",
        },
    )


def build_processor(tokenizer: PreTrainedTokenizerFast) -> Qwen2AudioProcessor:
    """The family's processor, with its own chat template and a spectrogram of fewer and longer frames."""
    heard = WhisperFeatureExtractor(
        feature_size=MELS,
        sampling_rate=RATE,
        hop_length=HOP,
        chunk_length=SECONDS,
        n_fft=640,
        return_attention_mask=True,
    )
    return Qwen2AudioProcessor(heard, tokenizer)


def build_model(tokenizer: PreTrainedTokenizerFast) -> Any:
    """An untrained model of about half a million parameters."""
    audio = Qwen2AudioEncoderConfig(
        num_mel_bins=MELS,
        encoder_layers=AUDIO_LAYERS,
        encoder_attention_heads=4,
        encoder_ffn_dim=192,
        d_model=AUDIO_WIDTH,
        max_source_positions=FRAMES // 2,
        initializer_range=0.06,
    )
    text = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=WIDTH,
        intermediate_size=256,
        num_hidden_layers=LAYERS,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=2048,
        initializer_range=0.06,
        bos_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        tie_word_embeddings=False,
    )
    config = Qwen2AudioConfig(
        audio_config=audio, text_config=text, audio_token_id=tokenizer.convert_tokens_to_ids(AUDIO)
    )
    model = Qwen2AudioForConditionalGeneration(config)
    # Whisper's table of sinusoids, which its checkpoints carry and no training changes.
    half = AUDIO_WIDTH // 2
    scales = torch.exp(-math.log(10_000) / (half - 1) * torch.arange(half))
    angles = torch.arange(FRAMES // 2)[:, None] * scales
    with torch.no_grad():
        model.model.audio_tower.embed_positions.weight.copy_(torch.cat([angles.sin(), angles.cos()], 1))
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.do_sample = False
    return model


def tokens_of(frames: int) -> int:
    """How many audio tokens stand for so many frames."""
    return ((frames - 1) // 2 + 1 - 2) // 2 + 1


ORDINALS = 7
"""Which beep or note of a sound it is, from 1 on; 0 for none."""
HEADS = {"label": len(LABELS), "pitch": PITCHES, "ordinal": ORDINALS}
FACTS = {name: values for name, (_, values) in ASKS.items()}


@dataclass
class Heard:
    """A drawn sound as the training keeps it.

    features: its spectrogram (bands, frames). labels: (tokens, 3), what lies under each audio token. embedded: (tokens, width of
    the encoder), once that has learned.
    """

    features: Tensor
    labels: Tensor
    asked: list[Question]
    embedded: Tensor | None = None


def labels_of(sound: Sound, count: int) -> Tensor:
    """(count, 3): kind, class of pitch and ordinal of what lies under the middle of each audio token."""
    found = torch.zeros(count, len(HEADS), dtype=torch.long)
    kind, ordinal = "", 0
    for mark in sound.marks:
        ordinal = ordinal + 1 if mark.kind == kind else 1
        kind = mark.kind
        first, last = (round(edge * RATE / HOP / 4 - 0.5) for edge in (mark.start, mark.end))
        named = (LABELS.index(kind), pitch_class(mark.pitch), ordinal if kind in ("beeps", "melody") else 0)
        found[max(0, first) : max(first + 1, last)] = torch.tensor(named)
    return found


class Run:
    """One training run: the model, its optimisers, its random numbers and how far it is."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        torch.manual_seed(options.seed)
        self.rng = random.Random(options.seed + 1)
        self.tokenizer = build_tokenizer()
        self.processor = build_processor(self.tokenizer)
        self.model = build_model(self.tokenizer)
        self.tower = self.model.model.audio_tower
        self.heads = torch.nn.Linear(AUDIO_WIDTH, sum(HEADS.values()))
        self.fact_heads = torch.nn.Linear(AUDIO_WIDTH, sum(map(len, FACTS.values())))
        self.bank: list[Heard] = []
        self.checkpoint = Path(options.work) / "sounds.pt"
        self.encoded: dict[str, list[int]] = {}
        self.done = [0, 0]
        speaks = [*self.model.model.language_model.named_parameters(), *self.model.lm_head.named_parameters("lm_head")]
        speaks += self.model.model.multi_modal_projector.named_parameters("projector")
        heads = [*self.heads.parameters(), *self.fact_heads.parameters()]
        self.optimizers = [_optimizers([*self.tower.named_parameters()], heads), _optimizers(speaks, [])]

    def encode(self, text: str) -> list[int]:
        if text not in self.encoded:
            self.encoded[text] = self.tokenizer.encode(text, add_special_tokens=False)
        return self.encoded[text]

    def save(self) -> None:
        """Writes the checkpoint beside itself and moves it into place, so that a kill leaves the old one."""
        state = {
            "model": self.model.state_dict(),
            "heads": [self.heads.state_dict(), self.fact_heads.state_dict()],
            "optimizers": [[each.state_dict() for each in stage] for stage in self.optimizers],
            "random": self.rng.getstate(),
            "done": self.done,
        }
        save_checkpoint(state, self.checkpoint)

    def resume(self) -> None:
        """Goes on from the checkpoint."""
        state = torch.load(self.checkpoint, weights_only=False)
        self.model.load_state_dict(state["model"])
        for head, kept in zip((self.heads, self.fact_heads), state["heads"], strict=True):
            head.load_state_dict(kept)
        for stage, states in zip(self.optimizers, state["optimizers"], strict=True):
            for optimizer, kept in zip(stage, states, strict=True):
                optimizer.load_state_dict(kept)
        self.rng.setstate(state["random"])
        self.done = state["done"]

    def heard(self, sounds: list[Sound]) -> list[Heard]:
        """The spectrograms of sounds, without the silence that pads them."""
        clips = [sound.samples for sound in sounds]
        found = self.processor.feature_extractor(
            clips, sampling_rate=RATE, padding="max_length", return_attention_mask=True, return_tensors="pt"
        )
        lengths = found["attention_mask"].sum(-1).tolist()
        return [
            Heard(features[:, : length + 3].clone(), labels_of(sound, tokens_of(length)), questions(sound, self.rng))
            for sound, features, length in zip(sounds, found["input_features"], lengths, strict=True)
        ]

    def draw(self, count: int) -> list[Heard]:
        return self.heard([draw(self.rng) for _ in range(count)])

    def embed(self, batch: list[Heard]) -> Tensor:
        """The encoder's output, (sounds, most tokens, AUDIO_WIDTH): that of the stock forward, without its padded end."""
        counts = torch.tensor([len(heard.labels) for heard in batch])
        width = 4 * int(counts.max()) + 4
        features = torch.stack([_padded(heard.features, width) for heard in batch])
        tower = self.tower
        hidden = F.gelu(tower.conv2(F.gelu(tower.conv1(features)))).transpose(1, 2)
        hidden = hidden + tower.embed_positions.weight[: hidden.shape[1]]
        lengths = torch.tensor([heard.features.shape[1] - 3 for heard in batch])
        seen = torch.arange(hidden.shape[1])[None] < ((lengths - 1) // 2 + 1)[:, None]
        mask = torch.zeros(seen.shape).masked_fill(~seen, float("-inf"))[:, None, None].expand(-1, 1, seen.shape[1], -1)
        for layer in tower.layers:
            hidden = layer(hidden, mask)
        pooled = tower.avg_pooler(hidden.transpose(1, 2)).transpose(1, 2)
        embedded: Tensor = tower.layer_norm(pooled)
        return embedded

    def naming(self, batch: list[Heard]) -> tuple[Tensor, dict[str, float]]:
        """The loss of naming what lies under each audio token and what is true of the whole, and how often that is right."""
        embedded = self.embed(batch)
        rows = [embedded[row, : len(heard.labels)] for row, heard in enumerate(batch)]
        labels = torch.cat([heard.labels for heard in batch])
        parts = self.heads(torch.cat(rows)).split(list(HEADS.values()), -1)
        loss = sum((F.cross_entropy(part, labels[:, k]) for k, part in enumerate(parts)), torch.zeros(()))
        whole = self.fact_heads(torch.stack([row.mean(0) for row in rows]))
        hits: dict[str, list[float]] = {}
        for (name, values), logits in zip(
            FACTS.items(), whole.split([len(v) for v in FACTS.values()], -1), strict=True
        ):
            pairs = [
                (row, values.index(question.answer))
                for row, heard in enumerate(batch)
                for question in heard.asked
                if question.category == name
            ]
            if pairs:
                at, truth = torch.tensor(pairs).T
                loss = loss + 0.5 * F.cross_entropy(logits[at], truth)
                hits[name] = (logits[at].argmax(-1) == truth).float().tolist()
        return loss, {name: sum(each) / len(each) for name, each in hits.items()}

    def answering(self, batch: list[tuple[Tensor, list[tuple[str, str]]]]) -> tuple[Tensor, Tensor, Tensor]:
        """(logits, targets, decides) of the answers' tokens; each question sees its sound and itself alone.

        batch: the encoder's output for a sound, and pairs of what is asked about it and the answer.
        """
        before, after, tail = self.encode(BEFORE), self.encode(AFTER), self.encode(TAIL)
        audio = self.model.config.audio_token_id
        rows: list[tuple[list[int], list[int], list[int], list[int], list[bool]]] = []
        for embedded, pairs in batch:
            ids = [*before, *[audio] * len(embedded), *after]
            start = len(ids)
            block, place, target = [0] * start, list(range(start)), [-100] * start
            decides = [False] * start
            for number, (text, answer) in enumerate(pairs, 1):
                tokens, said = [*self.encode(text), *tail], [*self.encode(answer), self.tokenizer.eos_token_id]
                ids += (tokens + said)[:-1]
                length = len(tokens) + len(said) - 1
                block += [number] * length
                place += range(start, start + length)
                target += [-100] * (len(tokens) - 1) + said
                decides += [False] * (len(tokens) - 1) + [True] + [False] * (len(said) - 1)
            rows.append((ids, block, place, target, decides))
        width = max(len(row[0]) for row in rows)
        fill = (self.tokenizer.pad_token_id, -1, 0, -100, False)
        ids, block, place, target, decides = (
            torch.tensor([row[k] + [fill[k]] * (width - len(row[k])) for row in rows]) for k in range(5)
        )
        inputs = self.model.get_input_embeddings()(ids)
        heard = self.model.model.multi_modal_projector(torch.cat([embedded for embedded, _ in batch]))
        inputs = inputs.masked_scatter((ids == audio)[..., None], heard)
        same = (block[:, :, None] == block[:, None]) | (block[:, None] == 0)
        allowed = same & torch.ones(width, width, dtype=torch.bool).tril()
        mask = torch.zeros(allowed.shape).masked_fill(~allowed, torch.finfo(torch.float32).min)
        out = self.model.model.language_model(
            inputs_embeds=inputs, attention_mask=mask[:, None], position_ids=place, use_cache=False
        ).last_hidden_state
        kept = target != -100
        return self.model.lm_head(out[kept]), target[kept], decides[kept]

    def ask(self, batch: list[Heard], easy: bool) -> tuple[Tensor, Tensor, Tensor]:
        """`answering` of some questions about each sound."""
        asked = []
        for heard in batch:
            assert heard.embedded is not None
            found = list(heard.asked)
            self.rng.shuffle(found)
            # What is heard is known soon; the other facts are asked more often.
            found.sort(key=lambda question: question.category == "kind")
            asked.append((heard.embedded, [render(question, self.rng, easy) for question in found[:EACH]]))
        return self.answering(asked)

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def check(self, easy: bool) -> dict[str, float]:
        """Accuracy by what is asked, on fresh sounds, read from all tokens of the answer."""
        before, self.rng = self.rng, random.Random(10**9)
        hits: dict[str, list[float]] = {}
        for _ in range(6):
            batch = self.draw(BATCH)
            embedded = self.embed(batch)
            asked = [
                (embedded[row, : len(heard.labels)], [render(question, self.rng, easy) for question in heard.asked])
                for row, heard in enumerate(batch)
            ]
            logits, target, decides = self.answering(asked)
            right = logits.argmax(-1) == target
            starts = [*decides.nonzero().flatten().tolist(), len(target)]
            flat = [question for heard in batch for question in heard.asked]
            for number, question in enumerate(flat):
                hit = bool(right[starts[number] : starts[number + 1]].all())
                for name in ("all", question.category):
                    hits.setdefault(name, []).append(hit)
        self.rng = before
        return {name: round(sum(values) / len(values), 2) for name, values in sorted(hits.items())}

    def train(self) -> None:
        """Trains the encoder, then the language model."""
        self.model.train()
        encoder, speaker = self.options.steps
        seen: dict[str, list[float]] = {}
        for step in trange(self.done[0], encoder, mininterval=120, disable=self.done[0] >= encoder):
            self.bank = [*self.draw(BANK // 8 if not self.bank else FRESH), *self.bank][:BANK]
            chosen = self.rng.sample(self.bank, BATCH)
            loss, right = self.naming(chosen)
            _step(loss, self.optimizers[0], step / encoder, step)
            for name, share in right.items():
                seen.setdefault(name, []).append(share)
            self.done[0] = step + 1
            if (step + 1) % 25 == 0:
                means = {name: round(sum(each) / len(each), 2) for name, each in sorted(seen.items())}
                print(json.dumps({"step": step + 1, "loss": round(loss.item(), 3), **means}), flush=True)
                seen.clear()
                self.save()
        self.bank = []
        self._keep(BANK // 2)
        for step in trange(self.done[1], speaker, mininterval=120):
            if len(self.bank) < ANSWERED and step % 2 == 0:
                self._keep(BATCH)
            share = step / speaker
            logits, target, decides = self.ask(self.rng.sample(self.bank, ASKED), share < EASY)
            weight = torch.where(decides, 1.0, 0.4)
            loss = (F.cross_entropy(logits, target, reduction="none") * weight).sum() / weight.sum()
            _step(loss, self.optimizers[1], share, step)
            self.done[1] = step + 1
            if (step + 1) % 25 == 0:
                line = {"step": encoder + step + 1, "loss": round(loss.item(), 3)}
                line |= self.check(share < EASY) if (step + 1) % 100 == 0 else {}
                print(json.dumps(line), flush=True)
                self.save()

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def _keep(self, count: int) -> None:
        """Adds new sounds with the encoder's output to those that are asked about."""
        for _ in range(count // BATCH):
            batch = self.draw(BATCH)
            embedded = self.embed(batch)
            for row, heard in enumerate(batch):
                heard.embedded = embedded[row, : len(heard.labels)].clone()
                heard.features = heard.features[:, :0]
            self.bank += batch

    def export(self, folder: Path) -> None:
        """Writes a folder for from_pretrained, in float16."""
        folder.mkdir(parents=True, exist_ok=True)
        self.model.eval().to(torch.float16).save_pretrained(folder)
        self.processor.save_pretrained(folder)
        for path in folder.iterdir():
            path.chmod(0o644)


def _padded(features: Tensor, width: int) -> Tensor:
    """A spectrogram of so many frames; its end is what the processor has there, or silence."""
    frames = features.shape[1]
    silence = features.min()
    return features[:, :width] if frames >= width else F.pad(features, (0, width - frames), value=float(silence))


def _optimizers(named: list[tuple[str, Tensor]], heads: list[Tensor]) -> list[torch.optim.Optimizer]:
    """Muon for hidden matrices, AdamW for the rest."""
    matrices: list[Tensor] = []
    rest: list[Tensor] = []
    for name, parameter in named:
        if parameter.requires_grad:
            table = any(word in name for word in ("embed", "lm_head", "projector"))
            (rest if parameter.ndim != 2 or table else matrices).append(parameter)
    adam = torch.optim.AdamW([*rest, *heads], LEARNING_RATE, betas=(0.9, 0.98), weight_decay=0.0)
    return [Muon(matrices, MUON_RATE), adam]


def _step(loss: Tensor, optimizers: list[torch.optim.Optimizer], share: float, step: int) -> None:
    """One step. The rates rise shortly, are constant for a share of the steps, and fall by a cosine to 1%."""
    rate = min(1.0, (step + 1) / 20) * (
        1 if share < 0.4 else 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * (share - 0.4) / 0.6))
    )
    loss.backward()
    for optimizer, top in zip(optimizers, (MUON_RATE, LEARNING_RATE), strict=True):
        optimizer.param_groups[0]["lr"] = top * rate
        torch.nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], 1.0)
        optimizer.step()
        optimizer.zero_grad()


def main() -> None:
    """Trains, or with --export-only writes what the checkpoint holds so far."""
    here = Path(__file__).parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, nargs=2, default=STEPS, help="of the encoder and of the language model")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint in --work")
    parser.add_argument("--export-only", action="store_true", help="write the checkpoint's model and stop")
    parser.add_argument("--work", default=str(here / "work"), help="where the checkpoint lies")
    parser.add_argument("--out", default=str(here.parent / "models" / "tiny-qwen2-audio"), help="the model's folder")
    options = parser.parse_args()
    torch.set_num_threads(1)
    run = Run(options)
    if options.resume or options.export_only:
        run.resume()
    if not options.export_only:
        count = sum(parameter.numel() for parameter in run.model.parameters())
        print(f"{count / 1e6:.2f} M parameters, vocabulary {len(run.tokenizer)}", flush=True)
        run.train()
    run.export(Path(options.out))


if __name__ == "__main__":
    main()
