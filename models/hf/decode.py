"""Greedy decoding on prefixes that prompts share: finished rows leave the batch, a stop string ends its row at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from mm_eval.types import Instance

from .prompt import Prompt
from .sharing import Prefix, grown, prefixes

if TYPE_CHECKING:
    from .runtime import Runtime


_NEUTRAL: dict[str, tuple[Any, ...]] = {
    "num_beams": (1, None), "do_sample": (False, None), "repetition_penalty": (1.0, None), "no_repeat_ngram_size": (0, None),
    "encoder_repetition_penalty": (1.0, None), "encoder_no_repeat_ngram_size": (0, None), "bad_words_ids": (None,),
    "suppress_tokens": (None, []), "begin_suppress_tokens": (None, []), "forced_bos_token_id": (None,),
    "forced_eos_token_id": (None,), "sequence_bias": (None,), "guidance_scale": (None, 1, 1.0), "min_length": (None, 0),
    "exponential_decay_length_penalty": (None,), "remove_invalid_values": (None, False), "watermarking_config": (None,),
    "penalty_alpha": (None,), "dola_layers": (None,), "prompt_lookup_num_tokens": (None,), "stop_strings": (None,),
    "constraints": (None,), "force_words_ids": (None,), "max_time": (None,), "renormalize_logits": (None, False),
    "num_beam_groups": (None, 1), "token_healing": (None, False),
}  # fmt: skip
"""Options of a generation config with the values under which the next token is the likeliest one, and nothing else."""
BROKEN = -1
"""Stands for a token where there is none, since the logits are not finite."""


@dataclass(frozen=True)
class Question:
    """A prompt to be answered with at most `cap` tokens."""

    instance: Instance
    prompt: Prompt
    cap: int
    seed: int

    @property
    def length(self) -> int:
        """Tokens of the prompt and the longest answer."""
        return len(self.prompt.ids) + self.cap


class StopText:
    """Which rows of new tokens hold one of the stop strings in their text.

    Only a tail of tokens is decoded: a stop string of n bytes can't span more than n tokens.
    """

    def __init__(self, tokenizer: Any, stops: Sequence[str]) -> None:
        self.tokenizer, self.stops = tokenizer, tuple(stops)
        self.window = max((len(stop.encode()) for stop in stops), default=0) + 4

    def __call__(self, rows: Sequence[Sequence[int]]) -> list[bool]:
        if not self.stops or not rows:
            return [False] * len(rows)
        texts = self.tokenizer.batch_decode([list(row[-self.window :]) for row in rows], skip_special_tokens=True)
        return [any(stop in text for stop in self.stops) for text in texts]


def is_plain(config: Any, besides: Sequence[str] = ()) -> bool:
    """Whether a generation config asks for the likeliest token at each step, at most a minimum of tokens besides.

    besides: options that are left out of account.
    """
    asked = config.to_dict()
    return all(asked[name] in neutral for name, neutral in _NEUTRAL.items() if name in asked and name not in besides)


def likeliest(logits: Any) -> Any:
    """The likeliest token of each row of logits (rows, vocabulary); BROKEN where a logit is NaN or +inf, or all are -inf.

    argmax takes NaN for the greatest value, so that the logit it picks tells. A vocabulary may be masked with -inf in part.
    """
    tokens = logits.argmax(-1)
    return torch.where(logits.gather(-1, tokens[:, None])[:, 0].isfinite(), tokens, BROKEN)


@dataclass
class _Row:
    question: Question
    index: int
    tokens: list[int] = field(default_factory=list)
    broken: bool = False


def decode(
    runtime: Runtime, questions: Sequence[Question], ends: Sequence[int], stops: Sequence[str], least: int = 0
) -> list[list[int] | None]:
    """The likeliest tokens after each question, with the one that ended it; None where logits are not finite.

    least: tokens before an end counts.
    """
    answers: dict[int, list[int] | None] = {}
    ended = StopText(runtime.tokenizer, stops)
    for places, prefix in prefixes(runtime, [question.prompt for question in questions]):
        rows = [_Row(questions[place], place) for place in places]
        _finish(runtime, rows, prefix, list(ends), ended, least)
        answers.update((row.index, None if row.broken else row.tokens) for row in rows)
    return [answers[place] for place in range(len(questions))]


def _finish(runtime: Runtime, rows: list[_Row], prefix: Prefix, ends: list[int], ended: StopText, least: int) -> None:
    """Decodes until every row has ended; row i of the prefix belongs to rows[i]."""
    active, last = list(rows), set(ends)
    while True:
        logits = prefix.logits
        if ends and len(active[0].tokens) < least:
            logits = logits.clone()
            logits[:, ends] = -float("inf")
        for row, token in zip(active, likeliest(logits).tolist(), strict=True):
            row.broken = token == BROKEN
            row.tokens.append(token)
        whole = [(place, row) for place, row in enumerate(active) if not row.broken]
        stopped = ended([row.tokens for _, row in whole])
        going = [
            place
            for (place, row), stop in zip(whole, stopped, strict=True)
            if not (stop or row.tokens[-1] in last or len(row.tokens) >= row.question.cap)
        ]
        if not going:
            return
        active = [active[place] for place in going]
        prefix = grown(runtime, prefix, going, [row.tokens[-1:] for row in active], last_use=True)
