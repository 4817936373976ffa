"""Captions against several references: CIDEr and BLEU as coco-caption computes them, without Java."""

from mm_eval.tasks.rules.captions.scores import CaptionBleu, Cider
from mm_eval.tasks.rules.captions.tokens import caption_tokens

__all__ = ["CaptionBleu", "Cider", "caption_tokens"]
