"""Many questions behind one image prefix: the loss of ten questions for the price of one picture.

Each question sees the pictures and itself (block_attention.py), and its positions go on from the prefix. The logits
equal those of the stock forward, which one_by_one_difference measures.
"""

import random
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from block_attention import blocks_of, packed_attention
from drawing import CELL, COLORS, GRID, SHAPES, SIZE, WORDS, Picture
from forms import ask_album, ask_forms
from hints import MOVES, HintHeads, Hints, ends
from pictures import ACTS, FACES, LANDMARKS, LOCATIONS, SPANISH, STATES, STYLES, TITLES
from PIL import Image
from prompts import Asking, Question, render
from questions import questions_for
from stories import ask_story
from tiny_models import PATCH, SIDE, WIDTH
from torch import Tensor
from zoom import SYSTEM, Chain

LABELS = (*WORDS, *"0123456789+-*", *TITLES, *SPANISH, *LOCATIONS, *LANDMARKS, *FACES, *STYLES, *STATES, *ACTS)
HEADS = {"shape": ("", *SHAPES), "color": ("", *COLORS), "cell": tuple("012345678"), "label": ("", *LABELS)}
"""What each image token is taught to say of its place in the picture; the first entry means nothing there."""
VIDEO_TOKEN = "<|video_pad|>"
INDEX = {head: {name: k for k, name in enumerate(names)} for head, names in HEADS.items()}


@dataclass
class Batch:
    """Packed rows: token ids, the question each belongs to (0 is the prefix, -1 padding), positions and targets.

    prefix: what stands before each row. pictures: those of all rows, in their order. position: (rows, length), or (3, rows,
    length). is_image: where image tokens are behind the prefix. first: at the position that predicts an answer's first token
    the question's number in `asked`, else -1.
    """

    prefix: "Prefix"
    pictures: list[Picture]
    ids: Tensor
    question: Tensor
    position: Tensor
    target: Tensor
    first: Tensor
    asked: list[tuple[Question, str]]
    hints: Hints
    is_image: Tensor


@dataclass
class Prefix:
    """The tokens before the questions. is_image: where image tokens are. places: positions of shape (3, length).

    next: the position after it. frame_ends: the last token of each picture, or of each step of a video.
    """

    ids: Tensor
    is_image: Tensor
    places: Tensor
    next: int
    frame_ends: list[int]


class Line:
    """Tokens as they are written one after another, with their positions; pictures are squares of side x side tokens."""

    def __init__(self, begin: int, side: int, flat: bool) -> None:
        self.position, self.side, self.flat = begin, side, flat
        self.ids: list[int] = []
        self.is_image: list[bool] = []
        self.frame_ends: list[int] = []
        self._places: list[Tensor] = []
        self._rows = torch.arange(side).repeat_interleave(side)
        self._columns = torch.arange(side).repeat(side)

    @property
    def places(self) -> Tensor:
        """(3, length): of time, row and column."""
        return torch.cat(self._places, 1)

    def _write(self, tokens: list[int], shown: bool, places: Tensor) -> None:
        self.ids += tokens
        self.is_image += [shown] * len(tokens)
        self._places.append(places)

    def text(self, tokens: list[int]) -> None:
        self._write(tokens, False, self.position + torch.arange(len(tokens)).expand(3, -1))
        self.position += len(tokens)

    def picture(self, token: int, step: int = 0) -> None:
        """The tokens of a picture, or of a step of a video; the positions go on behind it with `after`."""
        count = self.side**2
        if self.flat:
            places = torch.arange(count).expand(3, -1)
        else:
            places = torch.stack([torch.full_like(self._rows, step), self._rows, self._columns])
        self._write([token] * count, True, self.position + places)

    def after(self, steps: int = 1) -> None:
        """Goes on behind a picture, or a video of so many steps."""
        self.position += self.side**2 if self.flat else max(steps, self.side)

    def drop_last(self) -> None:
        """Takes the last token away: nothing is predicted after it."""
        self.ids.pop()
        self.is_image.pop()
        self._places[-1] = self._places[-1][:, :-1]

    def end_of_frame(self) -> None:
        self.frame_ends.append(len(self.ids) - 1)


def _as_prefix(line: Line) -> Prefix:
    return Prefix(torch.tensor(line.ids), torch.tensor(line.is_image), line.places, line.position, line.frame_ends)


class Packer:
    """Turns pictures and their questions into batches, and batches into logits, for one model."""

    def __init__(self, arch: str, model: Any, tokenizer: Any) -> None:
        self.arch, self.model, self.tokenizer = arch, model, tokenizer
        self.side = SIDE[arch]
        self.auxiliary = torch.nn.Linear(WIDTH, sum(map(len, HEADS.values())))
        self.hint_heads = HintHeads(model)
        self._encoded: dict[str, list[int]] = {}
        self._token_of: dict[str, list[int]] = {}
        self._prefixes: dict[tuple[int, bool], Prefix] = {}
        self._system: Prefix | None = None
        if arch == "llava":
            self.before, self.image_token, self.after = "USER: ", "<image>", "\n"
            self.tail, self.lead, self.opening = " ASSISTANT:", " ", [tokenizer.bos_token_id]
        else:
            self.before = "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\n"
            self.image_token, self.tail = "<|image_pad|>", "<|im_end|>\n<|im_start|>assistant\n"
            self.after, self.lead, self.opening = "<|vision_end|>", "", []
        centers = np.arange(self.side) * (SIZE / self.side) + SIZE / self.side / 2
        self._x, self._y = np.meshgrid(centers, centers)
        self._cells = (self._y // CELL * GRID + self._x // CELL).astype(int).ravel()

    def encode(self, text: str) -> list[int]:
        """Token ids, remembered: the same questions come again and again."""
        ids = self._encoded.get(text)
        if ids is None:
            ids = self.tokenizer.encode(text, add_special_tokens=False)
            if len(self._encoded) < 200_000:
                self._encoded[text] = ids
        return ids

    def token_of(self, text: str) -> list[int]:
        """For each character of the text the index of its token, remembered."""
        found = self._token_of.get(text)
        if found is None:
            encoding = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
            found = [0] * len(text)
            for number, (start, end) in enumerate(encoding["offset_mapping"]):
                found[start:end] = [number] * (end - start)
            if len(self._token_of) < 200_000:
                self._token_of[text] = found
        return found

    def prefix(self, images: int, native: bool = False) -> Prefix:
        """What stands before the questions: so many pictures, or where `native` a video of so many steps."""
        if (images, native) in self._prefixes:
            return self._prefixes[images, native]
        image = self.encode(VIDEO_TOKEN if native else self.image_token)[0]
        start = [] if self.arch == "llava" else self.encode("<|vision_start|>")
        after = self.encode(self.after)
        line = Line(0, self.side, self.arch == "llava")
        line.text(self.opening + self.encode(self.before))
        if native:
            line.text(start)
            for step in range(images):
                line.picture(image, step)
                line.end_of_frame()
            line.after(images)
            line.text(after)
        for _ in range(0 if native else images):
            line.text(start)
            line.picture(image)
            line.after()
            line.text(after)
            line.end_of_frame()
        made = _as_prefix(line)
        self._prefixes[images, native] = made
        return made

    def native(self, picture: Picture) -> bool:
        """Whether the picture is shown as a video: two frames a step, behind one video token each."""
        return self.arch == "qwen" and picture.kind == "story"

    def prefix_of(self, picture: Picture) -> Prefix:
        """The prefix of a batch of pictures like this one."""
        native = self.native(picture)
        return self.prefix(len(picture.frames) // (2 if native else 1), native)

    def _asked(
        self, picture: Picture, rng: random.Random, mix: tuple[int, int, int], native: float, easy: bool, forms: int
    ) -> list[Asking]:
        """The questions about a picture, in the words of prompts that are drawn as `batch` says."""
        if picture.kind == "story":
            return ask_story(picture, self.arch, rng, easy)
        if picture.kind == "album":
            return ask_album(picture, self.arch, rng, forms)
        if forms:
            return ask_forms(picture, self.arch, rng, forms)
        other, asked = "qwen" if self.arch == "llava" else "llava", []
        for question in questions_for(picture, rng, mix):
            prompt = self.arch if rng.random() < native else "short" if easy else "bare"
            foreign = other if rng.random() < 1 / 3 else None
            text, answer = render(question, prompt, foreign)
            name = "foreign" if prompt == "bare" and foreign else prompt
            asked.append(Asking(question, name, text, answer, ends(question, question.kind == "choice")))
        return asked

    def batch(
        self,
        pictures: list[Picture],
        rng: random.Random,
        mix: tuple[int, int, int],
        native: float,
        easy: bool = False,
        forms: int = 0,
    ) -> Batch:
        """Packs questions about each picture.

        native: the share asked with the model's own suffix. The rest gets no suffix: answered by a sentence, of a
        third the other model's suffix, answered so too; or in the easy first half a short answer. forms: if not 0,
        each picture gets so many questions in other forms (forms.py) and no others.
        """
        prefix = self.prefix_of(pictures[0])
        rows: list[tuple[list[int], ...]] = []
        asked: list[tuple[Question, str]] = []
        hints = Hints()
        for picture in pictures:
            row: tuple[list[int], ...] = ([], [], [], [], [])
            for number, asking in enumerate(self._asked(picture, rng, mix, native, easy, forms), 1):
                answer = asking.answer
                said = self.encode(answer if answer.startswith(" ") else self.lead + answer)
                said = said + [self.tokenizer.eos_token_id]
                tokens = self.encode(asking.text + self.tail)
                length = len(tokens) + len(said) - 1
                self._hint(hints, asking, (len(rows), len(row[0])))
                row[0].extend((tokens + said)[:-1])
                row[1].extend([number] * length)
                row[2].extend(range(prefix.next, prefix.next + length))
                row[3].extend([-100] * (len(tokens) - 1) + said)
                row[4].extend([-1] * (len(tokens) - 1) + [len(asked)] + [-1] * (len(said) - 1))
                asked.append((asking.question, asking.prompt))
            hints.moves += self._moves(picture, len(rows), prefix)
            rows.append(row)
        width = max(len(row[0]) for row in rows)
        fill = (self.tokenizer.pad_token_id, -1, 0, -100, -1)
        ids, question_of, position, target, first = (
            torch.tensor([row[k] + [fill[k]] * (width - len(row[k])) for row in rows]) for k in range(len(fill))
        )
        none = torch.zeros_like(ids, dtype=torch.bool)
        return Batch(prefix, pictures, ids, question_of, position, target, first, asked, hints, none)

    def chains(self, chains: list[Chain], rows: int) -> Batch:
        """Packs conversations (zoom.py) behind their system turn, in so many rows."""
        if self._system is None:
            line = Line(0, self.side, False)
            line.text(self.encode(f"<|im_start|>system\n{SYSTEM}<|im_end|>\n"))
            self._system = _as_prefix(line)
        prefix, asked, hints = self._system, list[tuple[Question, str]](), Hints()
        made: list[list[Tensor]] = []
        pictures: list[Picture] = []
        for row in range(rows):
            parts, column = [], 0
            for number, chain in enumerate(chains[row::rows], 1):
                line, target, first = self._chain(chain, prefix.next, asked, hints, (row, column))
                ids = torch.tensor(line.ids)
                of = torch.full_like(ids, number)
                shown = torch.tensor(line.is_image)
                parts.append([ids, of, torch.tensor(target), torch.tensor(first), shown, *line.places])
                pictures += chain.pictures
                column += len(ids)
            made.append([torch.cat(each) for each in zip(*parts, strict=True)])
        fill = (self.tokenizer.pad_token_id, -1, -100, -1, False, 0, 0, 0)
        ids, of, target, first, shown, *places = (
            torch.nn.utils.rnn.pad_sequence([row[k] for row in made], batch_first=True, padding_value=fill[k])
            for k in range(len(fill))
        )
        return Batch(prefix, pictures, ids, of, torch.stack(places), target, first, asked, hints, shown)

    def _chain(
        self, chain: Chain, begin: int, asked: list[tuple[Question, str]], hints: Hints, at: tuple[int, int]
    ) -> tuple[Line, list[int], list[int]]:
        """The tokens of a conversation but for its last, and of each position what it predicts and what that decides."""
        line, target, first = Line(begin, self.side, False), list[int](), list[int]()
        matter, row, column = iter(chain.matter), *at
        for k, (kind, text) in enumerate(chain.parts):
            if kind == "picture":
                line.text(self.encode("<|vision_start|>"))
                line.picture(self.encode(self.image_token)[0])
                line.after()
                line.text(self.encode(self.after))
            elif kind == "told":
                asks = chain.parts[k + 1][0] == "said"
                line.text(self.encode(text + self.tail * asks))
            else:
                said = [*self.encode(text), self.tokenizer.eos_token_id]
                if text.startswith(chain.question.text):
                    where = self.token_of(text)[len(chain.question.text) - 1]
                    hints.truths.append(
                        (row, column + len(line.ids) + where, self.encode(" " + chain.question.truth)[0])
                    )
                decides = {self.token_of(text)[place]: why for place, why in next(matter)}
                target += [-100] * (len(line.ids) - 1 - len(target)) + said
                first += [-1] * (len(line.ids) - 1 - len(first))
                for token in range(len(said)):
                    first.append(len(asked) if token in decides else -1)
                    if token in decides:
                        asked.append((replace(chain.question, kind="zoom", category=decides[token]), "zoom"))
                line.text(said)
        line.drop_last()
        return line, target, first

    def _hint(self, hints: Hints, asking: Asking, at: tuple[int, int]) -> None:
        """Adds the hints of a question whose text begins at (row, column)."""
        row, column = at
        token_of = self.token_of(asking.text + self.tail)
        for kind, end, label in asking.ends:
            number = label if isinstance(label, int) else self.encode(label)[0]
            getattr(hints, kind).append((row, column + token_of[end], number))

    def _moves(self, picture: Picture, row: int, prefix: Prefix) -> list[tuple[int, int, int]]:
        """What goes on at the end of each step of a video; one picture alone does not show it."""
        steps = picture.moves[1::2] if self.native(picture) else picture.moves
        found = [(row, end, MOVES.index(move)) for end, move in zip(prefix.frame_ends, steps, strict=False)]
        return found if self.native(picture) else found[1:]

    def pixels(self, images: list[Image.Image], paired: bool = False) -> Tensor:
        """What the processor makes of pictures of SIZE x SIZE, without its cost. paired: two frames of a video a patch."""
        x = torch.from_numpy(np.stack([np.asarray(image) for image in images])).permute(0, 3, 1, 2).float() / 127.5 - 1
        if self.arch == "llava":
            return x
        patch, side = PATCH[self.arch], self.side
        x = x.reshape(len(images), 3, side, 2, patch, side, 2, patch).permute(0, 2, 5, 3, 6, 1, 4, 7)
        x = torch.stack([x[0::2], x[1::2]], -3) if paired else x[..., None, :, :].expand(*x.shape[:6], 2, patch, patch)
        return x.reshape(len(x) * side * side * 4, -1)

    def features(self, images: list[Image.Image], paired: bool = False) -> Tensor:
        """The image tokens' embeddings, (pictures, side * side, WIDTH); where `paired` each two pictures make one."""
        pixels = self.pixels(images, paired)
        if self.arch == "llava":
            return torch.stack(list(self.model.model.get_image_features(pixels).pooler_output))
        grid = torch.tensor([[1, 2 * self.side, 2 * self.side]] * (len(images) // (2 if paired else 1)))
        return torch.stack(list(self.model.model.get_image_features(pixels, grid).pooler_output))

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """(features, logits of the answers' tokens, mask of where these are in the batch)."""
        rows, before = len(batch.ids), batch.prefix
        frames = [frame for picture in batch.pictures for frame in picture.frames]
        features = self.features(frames, self.native(batch.pictures[0]))
        ids = torch.cat([before.ids.expand(rows, -1), batch.ids], 1)
        shown = torch.cat([before.is_image.expand(rows, -1), batch.is_image], 1)
        x = self.model.get_input_embeddings()(ids)
        x = x.masked_scatter(shown[..., None], features.to(x.dtype))
        position = torch.cat([before.places[:, None].expand(3, rows, -1), batch.position.expand(3, rows, -1)], 2)
        language_model = self.model.model.language_model
        with packed_attention(language_model.config, blocks_of(batch.question, len(before.ids))):
            hidden = language_model(
                inputs_embeds=x,
                # Four dimensions are taken as they are; packed_attention needs no mask.
                attention_mask=torch.zeros(1, 1, 1, 1),
                position_ids=position[0] if self.arch == "llava" else position,
                use_cache=False,
            ).last_hidden_state[:, len(before.ids) :]
        answers = batch.target >= 0
        with torch.autocast("cpu", enabled=False):
            return features, self.model.lm_head(hidden[answers].float()), answers

    def hint_loss(self, batch: Batch) -> tuple[Tensor, dict[str, float]]:
        """The hints' loss of the batch that went forward last, and the share of each kind that the model knows."""
        return self.hint_heads.loss(batch.hints, len(batch.prefix.ids), self.model.lm_head)

    def auxiliary_loss(self, features: Tensor, pictures: list[Picture]) -> tuple[Tensor, list[float]]:
        """The loss of naming what lies under each image token, and the accuracy where something does, by head."""
        labels = {head: np.zeros((len(pictures), self.side**2), int) for head in HEADS}
        labels["cell"][:] = self._cells
        half = SIZE / self.side / 2
        for k, picture in enumerate(pictures):
            for region in picture.regions:
                x0, y0, x1, y1 = region.box
                margin = half / 2 if region.shape else 1
                across = (self._x > x0 - margin) & (self._x < x1 + margin)
                hit = (across & (self._y > y0 - margin) & (self._y < y1 + margin)).ravel()
                for head, name in (("shape", region.shape), ("color", region.color), ("label", region.label)):
                    if name:
                        labels[head][k, hit] = INDEX[head][name]
        logits = self.auxiliary(features).flatten(0, 1).split([len(names) for names in HEADS.values()], -1)
        loss, accuracy = torch.zeros(()), []
        for head, scores in zip(HEADS, logits, strict=True):
            label = torch.from_numpy(labels[head].ravel())
            loss = loss + F.cross_entropy(scores, label)
            there = label > 0
            accuracy.append((scores[there].argmax(-1) == label[there]).float().mean().item())
        return loss, accuracy

    def one_by_one_difference(self, batch: Batch, rng: random.Random) -> float:
        """The largest difference between packed logits and the stock forward's, over some questions of the batch."""
        _, packed, _ = self.forward(batch)
        prefix, native = batch.prefix, self.native(batch.pictures[0])
        ids, is_image = prefix.ids, prefix.is_image
        worst, at = 0.0, 0
        for k, picture in enumerate(batch.pictures):
            for number in range(1, int(batch.question[k].max()) + 1):
                mine = batch.question[k] == number
                tokens = torch.cat([ids, batch.ids[k][mine]])[None]
                wanted = int((batch.target[k][mine] >= 0).sum())
                if rng.random() < 0.3:
                    extra = self._stock_input(picture, native, is_image, int(mine.sum()))
                    stock = self.model(input_ids=tokens, attention_mask=torch.ones_like(tokens), **extra).logits
                    worst = max(worst, (stock[0, -wanted:] - packed[at : at + wanted]).abs().max().item())
                at += wanted
        return worst

    def _stock_input(self, picture: Picture, native: bool, is_image: Tensor, behind: int) -> dict[str, Tensor]:
        """The pixels of one picture or video for the stock forward. behind: the tokens after the prefix."""
        pixels = self.pixels(picture.frames, native)
        if self.arch == "llava":
            return {"pixel_values": pixels}
        side, kinds = 2 * self.side, torch.cat([is_image, torch.zeros(behind, dtype=torch.bool)])[None].long()
        if native:
            grid = torch.tensor([[len(picture.frames) // 2, side, side]])
            return {"pixel_values_videos": pixels, "video_grid_thw": grid, "mm_token_type_ids": 2 * kinds}
        grid = torch.tensor([[1, side, side]] * len(picture.frames))
        return {"pixel_values": pixels, "image_grid_thw": grid, "mm_token_type_ids": kinds}
