"""Hints: what single tokens of a question should know, told during training and thrown away after it.

The answer alone is a thin signal: "C" is right for a reason that lies several steps back. So layers in the middle are
taught the steps: where a mentioned thing lies, what is true at the question's end, and of each option whether it is
the right one. Without hints a Qwen2-VL of four layers answered 46% of the four-way questions by letter after 926,000
training questions; with hints and six layers 80% after 174,000.
"""

from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from drawing import GRID
from prompts import Question
from tiny_models import WIDTH
from torch import Tensor
from videos import ACTIONS

CELL_LAYER, TRUTH_LAYER, OPTION_LAYER = 2, 3, 4
"""After how many layers of the language model each hint is read; an action of a video after the second of them."""
MOVES = (*ACTIONS, "blinks")


@dataclass
class Hints:
    """The hinted tokens of a batch: (row, column behind the prefix, label) of each kind.

    cells: the cell of a mentioned thing. truths: the first token of what is true. options: 1 where an option is right.
    moves: what goes on in a video at a frame, (row, column of the frame's last token in the prefix, index in MOVES).
    """

    cells: list[tuple[int, int, int]] = field(default_factory=list)
    truths: list[tuple[int, int, int]] = field(default_factory=list)
    options: list[tuple[int, int, int]] = field(default_factory=list)
    moves: list[tuple[int, int, int]] = field(default_factory=list)


def ends(question: Question, listed: bool) -> list[tuple[str, int, int | str]]:
    """(kind, index of the character that ends the hinted words, label) of a question as prompts.render writes it."""
    text = question.text
    found: list[tuple[str, int, int | str]] = []
    for name, cell in question.mentions:
        found.append(("cells", text.index(name) + len(name) - 1, cell))
    if question.truth:
        found.append(("truths", len(text) - 1, " " + question.truth))
    if listed:
        end = len(text) - 1
        for option in question.options:
            end += len("\nA. ") + len(option)
            found.append(("options", end, int(option == question.answer)))
    return found


class HintHeads(torch.nn.Module):  # type: ignore[misc]
    """Reads the hints from the language model's middle layers."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.norm = torch.nn.RMSNorm(WIDTH)
        self.cell = torch.nn.Linear(WIDTH, GRID * GRID)
        self.option = torch.nn.Linear(WIDTH, 1)
        self.move = torch.nn.Linear(WIDTH, len(MOVES))
        self._hidden: dict[int, Tensor] = {}
        layers = model.model.language_model.layers
        for after in (CELL_LAYER, TRUTH_LAYER, OPTION_LAYER):
            layers[after - 1].register_forward_hook(self._keep(after))

    def _keep(self, after: int) -> Any:
        def hook(module: Any, inputs: Any, output: Any) -> None:
            self._hidden[after] = output[0] if isinstance(output, tuple) else output

        return hook

    def _at(self, after: int, prefix: int, hinted: list[tuple[int, int, int]]) -> tuple[Tensor, Tensor]:
        rows, columns, labels = torch.tensor(hinted).T
        return self.norm(self._hidden[after][rows, prefix + columns].float()), labels

    def loss(self, hints: Hints, prefix: int, lm_head: Any) -> tuple[Tensor, dict[str, float]]:
        """The hints' loss of the batch that has just gone forward, and the share of them that the model knows."""
        loss, known = torch.zeros(()), {}
        with torch.autocast("cpu", enabled=False):
            if hints.cells:
                hidden, labels = self._at(CELL_LAYER, prefix, hints.cells)
                scores = self.cell(hidden)
                loss = loss + F.cross_entropy(scores, labels)
                known["cell"] = (scores.argmax(-1) == labels).float().mean().item()
            if hints.truths:
                hidden, labels = self._at(TRUTH_LAYER, prefix, hints.truths)
                scores = lm_head(hidden)
                loss = loss + F.cross_entropy(scores, labels)
                known["truth"] = (scores.argmax(-1) == labels).float().mean().item()
            if hints.options:
                hidden, labels = self._at(OPTION_LAYER, prefix, hints.options)
                scores = self.option(hidden)[:, 0]
                # Options come in fours: which of the four is right, as in the letter itself.
                loss = loss + F.cross_entropy(scores.view(-1, 4), labels.view(-1, 4).argmax(-1))
                known["option"] = (scores.view(-1, 4).argmax(-1) == labels.view(-1, 4).argmax(-1)).float().mean().item()
            if hints.moves:
                hidden, labels = self._at(TRUTH_LAYER, 0, hints.moves)
                scores = self.move(hidden)
                loss = loss + F.cross_entropy(scores, labels)
                known["move"] = (scores.argmax(-1) == labels).float().mean().item()
        return loss, {name: round(share, 2) for name, share in known.items()}
