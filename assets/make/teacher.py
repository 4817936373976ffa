"""A start for the LLaVA model: the language model of the trained Qwen2-VL one, which has the same layers.

Side by side, Qwen2-VL answered yes/no at .76 after 600,000 questions and LLaVA, from scratch, at .56. What is slow is
to learn to compare an asked word with what is seen; that lies in the language model and can be handed on. As in the
real LLaVA, the vision tower is then aligned with a language model that exists: first by the teacher's own features.
"""

from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from packing import Packer
from PIL import Image
from tiny_models import SIDE, build_model, build_tokenizer
from torch import Tensor

SAME = {"<s>": "<|endoftext|>", "<pad>": "<|endoftext|>", "</s>": "<|im_end|>"}
"""LLaVA's answers begin with a space, Qwen2-VL's do not: these tokens mean the same."""
SAME.update({f"Ġ{answer}": answer for answer in ("Yes", "No", "A", "B", "C", "D")})


class Teacher:
    """A trained tiny Qwen2-VL model, read from a checkpoint of train.py."""

    def __init__(self, checkpoint: Path) -> None:
        state = torch.load(checkpoint, weights_only=False)
        self.tokenizer = build_tokenizer("qwen")
        self.model = build_model("qwen", self.tokenizer).eval()
        self.model.load_state_dict(state["model"])
        self.packer = Packer("qwen", self.model, self.tokenizer)
        self.packer.auxiliary.load_state_dict(state["auxiliary"])

    def hand_on(self, student: Packer) -> None:
        """Copies the language model and the head that names image tokens; token rows go by the token's text."""
        own = self.model.model.language_model.state_dict()
        there = student.model.model.language_model.state_dict()
        kept = {name: weights for name, weights in own.items() if not name.startswith("embed_tokens")}
        # Llama has a bias at the attention's output too, where Qwen2 has none.
        kept.update({name: torch.zeros_like(w) for name, w in there.items() if name.endswith("o_proj.bias")})
        rows = self.tokenizer.get_vocab()
        table = own["embed_tokens.weight"]
        mean = table.mean(0)
        vocabulary = sorted(student.tokenizer.get_vocab().items(), key=lambda item: item[1])
        names = [SAME.get(token, token) for token, _ in vocabulary]
        kept["embed_tokens.weight"] = torch.stack([table[rows[name]] if name in rows else mean for name in names])
        student.model.model.language_model.load_state_dict(kept)
        student.auxiliary.load_state_dict(self.packer.auxiliary.state_dict())

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def features(self, images: list[Image.Image]) -> Tensor:
        """The teacher's image tokens, on the grid of LLaVA's."""
        side = SIDE["qwen"]
        seen = self.packer.features(images).float().transpose(1, 2).reshape(len(images), -1, side, side)
        grown: Any = F.interpolate(seen, size=SIDE["llava"], mode="bilinear", align_corners=False)
        return torch.as_tensor(grown.flatten(2).transpose(1, 2))


def alignment_loss(features: Tensor, wanted: Tensor) -> Tensor:
    """The squared distance of features, as a share of the wanted ones' variance."""
    return F.mse_loss(features.float(), wanted) / wanted.var()
