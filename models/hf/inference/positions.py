"""Rotary positions of the text after a video, where transformers counts them otherwise than the training did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def text_after(get_rope_index: Callable[..., Any], check: Callable[[], None] = lambda: None) -> Callable[..., object]:
    """A model's `get_rope_index` with the text after a video behind all of its positions, as in training.

    transformers 5.23 begins that text after the video's height and width. It then stands at positions of later frames, and
    generated text stands elsewhere than the same text in a prompt. Qwen2-VL and Qwen2.5-VL are affected, where a video has more
    temporal positions than rows and columns; pictures are not, nor is Qwen3-VL, which numbers each two frames on their own.

    check: called before the positions of a video are returned; raises if this version of transformers has others.
    """

    def positions_of(input_ids: Tensor, *args: Any, **options: Any) -> tuple[Tensor, Tensor]:
        positions, shifts = get_rope_index(input_ids, *args, **options)
        kinds, mask = options.get("mm_token_type_ids", *args[:1]), options.get("attention_mask")
        for row in range(len(input_ids)):
            real = torch.ones_like(input_ids[row]).bool() if mask is None else mask[row].bool()
            own, kind = positions[:, row, real], kinds[row][real]
            ends = ((kind[:-1] == 2) & (kind[1:] != 2)).nonzero()[:, 0].tolist()
            if ends:
                check()
            for end in ends:
                behind = own[:, : end + 1].max() + 1 - own[0, end + 1]
                own[:, end + 1 :] += behind.clamp(min=0)
            if ends:
                positions[:, row, real] = own
                shifts[row] = own.max() + 1 - own.shape[1]
        return positions, shifts

    positions_of.text_after = True  # type: ignore[attr-defined]
    return positions_of
