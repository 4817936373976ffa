"""Captions against several references: CIDEr and BLEU as coco-caption computes them, without Java."""

from mm_eval.scoring.metrics.captions.scores import CaptionBleu, Cider
from mm_eval.scoring.metrics.captions.tokens import caption_tokens

__all__ = ["CaptionBleu", "Cider", "caption_tokens"]
