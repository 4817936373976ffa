"""Generation: the meaning of options, the end of an answer, and sampling that does not depend on the batch.

Greedy questions share batches (`decoding`): a finished row leaves its batch, and a stop string ends its row at once. Sampled
questions run one at a time in transformers' `generate`, each with a generator seeded from
its request key, so that an answer is the same alone, in any batch and in a repeated run. The price is that sampling does not
batch. Beams and penalties run there too, and so do families whose caches can't be shared.

Penalties in the checkpoint's generation_config.json (repetition_penalty) apply as in transformers. Temperature, top_p and top_k
come from the task only: if it does not state them, they are off.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from transformers import LogitsProcessor, StoppingCriteria

from mm_eval.engine.generation import GenerationOptions
from mm_eval.values.errors import ConfigError, ModelError, did_you_mean
from mm_eval.values.types import Answer, Place

from ..processor import quiet
from .decoding import Ending, GenerationRow, StopText, decoded
from .runtime import Runtime, not_finite

if TYPE_CHECKING:
    from transformers import GenerationConfig

NOT_FOR_TRANSFORMERS = frozenset({"image_aspect_ratio"})
"""Options of other adapters in published tasks; ignored here."""
STATED_ELSEWHERE = {"eos_token_id": "until", "stop_strings": "until", "num_return_sequences": "repeats"}
"""Options of transformers that would change answers without the adapter's knowledge, and the task's option to use instead."""
NUMBERS = frozenset({
    "repetition_penalty", "length_penalty", "no_repeat_ngram_size", "min_new_tokens", "min_length", "min_p", "typical_p", "top_h",
    "epsilon_cutoff", "eta_cutoff", "diversity_penalty", "encoder_repetition_penalty", "encoder_no_repeat_ngram_size",
    "guidance_scale", "max_time", "num_beam_groups", "penalty_alpha",
})  # fmt: skip
"""Options of transformers that must be numbers."""
BLIND_TO_PADDING = ("do_sample", "num_beams", "repetition_penalty")
"""Options with which rows of different lengths may share a batch. The others count padding as text of the prompt."""
_NEUTRAL: dict[str, tuple[object, ...]] = {
    "num_beams": (1, None), "do_sample": (False, None), "repetition_penalty": (1.0, None), "no_repeat_ngram_size": (0, None),
    "encoder_repetition_penalty": (1.0, None), "encoder_no_repeat_ngram_size": (0, None), "bad_words_ids": (None,),
    "suppress_tokens": (None, []), "begin_suppress_tokens": (None, []), "forced_bos_token_id": (None,),
    "forced_eos_token_id": (None,), "sequence_bias": (None,), "guidance_scale": (None, 1, 1.0), "min_length": (None, 0),
    "exponential_decay_length_penalty": (None,), "remove_invalid_values": (None, False), "watermarking_config": (None,),
    "penalty_alpha": (None,), "dola_layers": (None,), "prompt_lookup_num_tokens": (None,), "stop_strings": (None,),
    "constraints": (None,), "force_words_ids": (None,), "max_time": (None,), "renormalize_logits": (None, False),
    "num_beam_groups": (None, 1), "token_healing": (None, False),
}  # fmt: skip
"""Options of a generation config, and the values with which each next token is simply the likeliest one."""


def generate(
    runtime: Runtime, questions: Sequence[GenerationRow], options: GenerationOptions
) -> list[Answer | ModelError]:
    """The answers of one batch in order. An answer with logits that are not finite is a ModelError."""
    if ending := ending_of(runtime, options):
        return greedy(runtime, [replace(question, ending=ending) for question in questions])
    stop_tokens, stops = _stop_tokens(runtime, options.until)
    with torch.inference_mode():
        rows = _by_transformers(runtime, questions, options, _generation_config(runtime, options, stop_tokens), stops)
    ended = Ending(tuple(stop_tokens), StopText(runtime.reader, stops))
    return [answer_of(runtime, replace(row, ending=ended), tokens) for row, tokens in zip(questions, rows, strict=True)]


def greedy(runtime: Runtime, questions: Sequence[GenerationRow]) -> list[Answer | ModelError]:
    """The same for the likeliest tokens; each question knows what ends its answer."""
    rows = decoded(runtime, questions)
    return [answer_of(runtime, question, row) for question, row in zip(questions, rows, strict=True)]


def ending_of(runtime: Runtime, options: GenerationOptions) -> Ending | None:
    """What ends an answer of likeliest tokens. None if transformers must generate it: sampling, beams, penalties."""
    stop_tokens, stops = _stop_tokens(runtime, options.until)
    config = _generation_config(runtime, options, stop_tokens)
    if not (runtime.prefix_cache and _is_greedy(config)):
        return None
    return Ending(tuple(stop_tokens), StopText(runtime.reader, stops), config.min_new_tokens or 0)


def check_options(options: GenerationOptions) -> GenerationOptions:
    """The options without those of other adapters. Raises ConfigError for an unknown or invalid one."""
    from transformers import GenerationConfig

    extra = {name: value for name, value in options.extra.items() if name not in NOT_FOR_TRANSFORMERS}
    known = {name for name in GenerationConfig().to_dict() if not name.startswith("_")}
    known -= {"transformers_version", "return_dict_in_generate", *STATED_ELSEWHERE}
    for name in extra:
        if name in STATED_ELSEWHERE:
            raise ConfigError(
                f"The generation option {name!r} is not allowed.",
                where="generation_kwargs",
                hint=f"Write {STATED_ELSEWHERE[name]!r}.",
            )
        if name not in known:
            raise ConfigError(
                f"Unknown generation option {name!r}.", where="generation_kwargs", hint=did_you_mean(name, known)
            )
        value = extra[name]
        if name in NUMBERS and value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise ConfigError(f"{name} is {value!r}; a number is needed.", where="generation_kwargs")
    try:
        with quiet():
            GenerationConfig(do_sample=options.do_sample, num_beams=options.num_beams, **extra).validate()
    except (TypeError, ValueError, AttributeError) as error:
        raise ConfigError(str(error).strip().split("\n")[0], where="generation_kwargs") from error
    return replace(options, extra=extra)


def _is_greedy(config: GenerationConfig, besides: Sequence[str] = ()) -> bool:
    """Whether a generation config means the likeliest token at each step, with at most a minimum of tokens.

    besides: options that are not checked.
    """
    given = config.to_dict()
    return all(given[name] in neutral for name, neutral in _NEUTRAL.items() if name in given and name not in besides)


def _by_transformers(
    runtime: Runtime,
    questions: Sequence[GenerationRow],
    options: GenerationOptions,
    config: GenerationConfig,
    stops: Sequence[str],
) -> list[list[int] | None]:
    """New tokens by transformers' own loop: sampling, beams, penalties, and families whose caches can't be shared.

    Rows run together if they have the same cap, since beams weigh answers by length. If an option counts the tokens of a prompt
    (min_length, no_repeat_ngram_size), their prompts must also have the same length.
    """
    padded = _is_greedy(config, besides=BLIND_TO_PADDING)
    alike: dict[tuple[int, int, tuple[object, ...]], list[int]] = {}
    for place, question in enumerate(questions):
        length = 0 if padded else len(question.prompt.ids)
        alike.setdefault((question.cap, length, runtime.beside(question.prompt)), []).append(place)
    answers: dict[int, list[int] | None] = {}
    for (cap, _, _), places in alike.items():
        config.max_new_tokens = cap
        rows = _run(runtime, [questions[place] for place in places], options, config, stops)
        answers.update(zip(places, rows, strict=True))
    return [answers[place] for place in range(len(questions))]


def _run(
    runtime: Runtime,
    questions: Sequence[GenerationRow],
    options: GenerationOptions,
    config: GenerationConfig,
    stops: Sequence[str],
) -> list[list[int] | None]:
    batch = runtime.collate([question.prompt for question in questions])
    ids = batch["input_ids"]
    # The padding token may be one that ends answers, and not every transformers leaves padding out of repetition_penalty.
    batch["input_ids"] = torch.where(batch["attention_mask"].bool(), ids, ids[:, -1:])
    length = ids.shape[1]
    finite = Finite()
    criteria = [StopStrings(StopText(runtime.reader, stops), questions, length)] if stops else []
    if config.num_beams == 1:
        criteria.append(Broken(finite))
    seed = questions[0].seed if options.do_sample else None
    # under ZeRO-3 transformers would wait for the other processes of a training, which answer other questions
    alone = {"synced_gpus": False} if torch.distributed.is_available() and torch.distributed.is_initialized() else {}
    with _seeded(runtime, seed):
        output = runtime.model.generate(
            **batch, generation_config=config, stopping_criteria=criteria, logits_processor=[finite], **alone
        )
    # Beams of different lengths are padded with -1 if a checkpoint has neither a padding nor an end token.
    rows = [[token for token in row if token >= 0] for row in output[:, length:].tolist()]
    return [None if broken else row for row, broken in zip(rows, finite.of_rows(len(rows)), strict=True)]


class StopStrings(StoppingCriteria):  # type: ignore[misc]
    """Ends a row as soon as its answer contains one of the stop strings. A question has as many rows as it has beams."""

    def __init__(self, ended: StopText, questions: Sequence[GenerationRow], prompt_length: int) -> None:
        self.ended, self.questions, self.prompt_length = ended, questions, prompt_length

    def __call__(self, input_ids: Tensor, scores: Tensor, **kwargs: object) -> Tensor:
        rows = [row[self.prompt_length :] for row in input_ids.tolist()]
        beams = len(rows) // len(self.questions)
        found = self.ended(rows, [question for question in self.questions for _ in range(beams)])
        return torch.tensor(found, dtype=torch.bool, device=input_ids.device)


class Finite(LogitsProcessor):  # type: ignore[misc]
    """Records the rows with logits that are not finite, and replaces these by finite ones.

    Sampling from NaN raises for the whole batch, and on a CUDA device it makes every later request fail as well.
    """

    def __init__(self) -> None:
        self.broken: Tensor | bool = False

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        broken = ~scores.amax(-1).isfinite()
        self.broken = broken | self.broken
        return torch.where(broken[:, None], 0.0, scores)

    def of_rows(self, count: int) -> list[bool]:
        """Whether each of `count` rows is broken, in any of its beams. Not known where a model ignores its processors (janus)."""
        if isinstance(self.broken, bool):
            return [self.broken] * count
        return [bool(found) for found in self.broken.view(count, -1).any(-1).tolist()]


class Broken(StoppingCriteria):  # type: ignore[misc]
    """Ends rows with logits that are not finite."""

    def __init__(self, finite: Finite) -> None:
        self.finite = finite

    def __call__(self, input_ids: Tensor, scores: Tensor, **kwargs: object) -> Tensor:
        return self.finite.broken


@contextlib.contextmanager
def _seeded(runtime: Runtime, seed: int | None) -> Iterator[None]:
    """Random numbers from a seed (None: none are drawn), without a change of the process's random state."""
    devices = [runtime.device] if runtime.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices, enabled=seed is not None):
        if seed is not None:
            torch.manual_seed(seed)
        yield


def _generation_config(runtime: Runtime, options: GenerationOptions, stop_tokens: list[int]) -> GenerationConfig:
    config = copy.deepcopy(runtime.model.generation_config)
    if options.do_sample:
        config.temperature, config.top_p, config.top_k = options.temperature, options.top_p or 1.0, options.top_k or 0
    config.do_sample, config.num_beams = options.do_sample, options.num_beams
    config.pad_token_id, config.eos_token_id = runtime.pad_token, stop_tokens or None
    config.return_dict_in_generate, config.num_return_sequences = False, 1
    for name, value in options.extra.items():
        setattr(config, name, value)
    return config


def _stop_tokens(runtime: Runtime, until: Sequence[str]) -> tuple[list[int], list[str]]:
    """Token ids that end an answer, and the stop strings that are text.

    A stop string that is a special token ("<|im_end|>") is not in decoded text, so it ends the answer as a token.
    """
    own = runtime.model.generation_config.eos_token_id
    ends = set(own if isinstance(own, list) else [own]) | {runtime.tokenizer.eos_token_id}
    special = {token: runtime.tokenizer.convert_tokens_to_ids(token) for token in runtime.tokenizer.all_special_tokens}
    ends |= {special[stop] for stop in until if stop in special}
    return sorted(int(end) for end in ends if end is not None), [stop for stop in until if stop and stop not in special]


def answer_of(runtime: Runtime, question: GenerationRow, tokens: list[int] | None) -> Answer | ModelError:
    """The answer: the text after the reasoning and before the first stop string, else with leading space as it is decoded.

    tokens: None if logits were not finite.
    """
    if tokens is None:
        return not_finite("logits")
    assert question.ending is not None
    ends, stops = question.ending.tokens, question.ending.stops.stops
    row = tokens[: question.cap]
    length = next((i for i, token in enumerate(row) if token in ends), len(row))
    # A row below its cap without an end token was ended by a stop string.
    capped = length == len(row) and not (stops and len(row) < question.cap)
    said = runtime.reader.read(row[:length], question.opened, stops, chat=question.prompt.chat, capped=capped)
    usage = {
        "prompt_tokens": len(question.prompt.ids),
        "completion_tokens": min(length + 1, len(row)),
        "image_tokens": question.prompt.image_tokens,
    }
    return Answer(
        said.answer,
        places=_places_of(runtime, question, row),
        ended="stop" if said.stopped or not capped else "length",
        reasoning=said.reasoning,
        usage=usage,
        cut=question.prompt.is_cut,
    )


def _places_of(runtime: Runtime, question: GenerationRow, tokens: Sequence[int]) -> tuple[Place, ...]:
    """The first places of an answer with their tokens as text; none where they were not kept. Of equal texts the likelier one."""
    if question.places is None:
        return ()
    found = []
    for token, alternatives in zip(tokens, question.places.found, strict=False):
        named: dict[str, float] = {}
        for other, ll in alternatives:
            named.setdefault(runtime.tokenizer.decode([other]), ll)
        found.append(Place(runtime.tokenizer.decode([token]), named))
    return tuple(found)
