"""Removing what a model thought before its answer, by lmms-eval's rule."""

from __future__ import annotations

import json
from collections.abc import Sequence

TAGS = (("<think>", "</think>"), ("<thinking>", "</thinking>"))


def strip_reasoning_tags(text: str, tag_pairs: Sequence[Sequence[str]] = TAGS) -> str:
    """The text without its closed blocks; of a text that only closes one, what follows the last closing tag.

    >>> strip_reasoning_tags("<think>2 + 2</think> 4"), strip_reasoning_tags("so</think>4"), strip_reasoning_tags("<think>4")
    ('4', '4', '<think>4')
    """
    for opens, closes in tag_pairs:
        while (start := text.find(opens)) >= 0 and (end := text.find(closes, start)) >= 0:
            text = text[:start] + text[end + len(closes) :]
        if opens not in text and closes in text:
            text = text[text.rindex(closes) + len(closes) :]
    return text.strip()


def parse_reasoning_tags_config(cli_value: str | None = None, task_value: object = None) -> object:
    """The pairs of tags of a task, else those of the command; None for none."""
    stated = cli_value if task_value is None else task_value
    if stated is None or stated is False or stated == "none":
        return None
    return json.loads(stated) if isinstance(stated, str) else stated
