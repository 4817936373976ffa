"""The loaded model and its batches: padding, batch sizes, and running out of memory."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import torch
from torch import Tensor

from mm_eval.values.errors import MMEvalError, ModelError, kind_and_text

from ...reasoning import TokenReader
from ..families import Family
from ..prompts.length import own_length
from ..prompts.preprocessing import Picture, joined
from ..prompts.prompt import Prompt
from .features import FeatureCache, on_device, side_by_side, supported
from .limits import depth, token_budget
from .positions import text_after

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase
    from transformers.utils import ModelOutput

logger = logging.getLogger(__name__)


class _WithPrompt(Protocol):
    """A row of a batch: a generation or a continuation."""

    @property
    def prompt(self) -> Prompt: ...


Row = TypeVar("Row", bound=_WithPrompt)
Answer = TypeVar("Answer")

ROWS, MOST_ROWS = 64, 256
"""Maximum rows of a batch, on a CPU and on an accelerator."""
FAILURES = (RuntimeError, ValueError, IndexError)
"""What a model raises if it can't run a batch."""
_OWN_SAMPLING = (
    "temperature", "top_p", "top_k", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff", "top_h", "max_length", "min_length",
    "max_new_tokens", "min_new_tokens", "num_beams", "num_return_sequences",
)  # fmt: skip


class Runtime:
    """A model that runs batches of prompts.

    reader: reads the texts of generated tokens.
    batched: whether prompts of different lengths may share a batch.
    prefix_cache: whether continuations may run on the cache of their prompt.
    in_place: whether rows run on `cache.Rows`, which `cache.runtime_of` tries; else on transformers' own cache.
    windows: of the layers. configs: of the modules. Both are empty without a prefix cache.
    holes: whether masked places may stand between real tokens; not with sliding windows or recurrent layers.
    limit: prompts per batch; None: `budget`, in padded tokens, decides. Either is lowered when memory runs out.
    depth: how many times `budget` the rows that are decoded in place may hold.
    kept: the last prompt that ran alone or for several, with its prefix: the next ones often begin alike.
    keeps: whether the memory suffices for that.
    """

    def __init__(
        self, model: PreTrainedModel, family: Family, tokenizer: PreTrainedTokenizerBase, batch_size: int | str
    ) -> None:
        self.model, self.family, self.tokenizer = model, family, tokenizer
        self.reader = TokenReader(tokenizer)
        _without_own_sampling(model.generation_config)
        self.device, self.dtype = model.device, model.dtype
        if (
            family.mrope
            and family.video
            and family.video.typed
            and not hasattr(model.model.get_rope_index, "text_after")
        ):
            model.model.get_rope_index = text_after(model.model.get_rope_index, family.video.check_positions)
        self._takes = takes = inspect.signature(model.forward).parameters
        self.keeps_logits = "logits_to_keep" in takes
        self.batched = family.batched
        cacheable = {"past_key_values", "position_ids"} <= set(takes)
        narrows = self.keeps_logits or (family.sound is not None and model.get_output_embeddings() is not None)
        self.prefix_cache = family.prefix_cache and cacheable and narrows
        self.holes = self.prefix_cache and family.holes and _full_attention(model.config)
        self.features = (
            FeatureCache(model, family.features != "alone") if family.features and supported(model) else None
        )
        self.kept: tuple[Prompt, Any] | None = None
        self.keeps = True
        self.limit = None if batch_size == "auto" else int(batch_size)
        free = torch.cuda.mem_get_info(self.device)[0] if self.device.type == "cuda" else 0
        self.budget = token_budget(model.config, self.dtype.itemsize, free)
        self.depth = 1 if self.device.type == "cuda" else depth(model.config, self.dtype.itemsize, self.budget)
        self.most_rows = ROWS if self.device.type == "cpu" else MOST_ROWS
        if not self.batched or (family.features == "alone" and self.features is None):
            self.limit = 1
        self.windows, self.configs, self.in_place = [], [], False
        if self.prefix_cache:
            self.windows, self.configs = _windows_of(model.config), _configs_of(model)

    @property
    def pad_token(self) -> int:
        for token in (self.tokenizer.pad_token_id, self.tokenizer.eos_token_id):
            if token is not None:
                return int(token)
        return 0

    @property
    def max_length(self) -> int:
        """The checkpoint's own limit on prompt and answer together, in tokens."""
        return own_length(self.model.config, self.tokenizer)

    def is_full(self, prompts: int, longest: int) -> bool:
        """Whether a batch of so many prompts is full. longest: tokens of the longest row."""
        if self.limit is not None:
            return prompts >= self.limit
        return prompts >= self.most_rows or (prompts + 1) * longest > self.budget

    def has_room(self, rows: int, tokens: int) -> bool:
        """Whether rows that are decoded in place may hold so many tokens together when they are admitted."""
        if self.limit is not None:
            return rows <= self.limit
        return rows <= self.most_rows and tokens <= self.depth * self.budget

    def overflows(self, rows: int, tokens: int) -> bool:
        """Whether rows have grown so much since they were admitted that one must be put off."""
        return self.limit is None and rows > 1 and tokens > 2 * self.depth * self.budget

    def forward(self, keep: int | Tensor, **inputs: object) -> ModelOutput:
        """One forward with the logits of the last `keep` tokens, or of those at the places of a tensor.

        qwen2_audio of transformers 5.23 has no `logits_to_keep`, so that its head gets the chosen tokens alone.
        """
        if self.keeps_logits:
            return self.model(**inputs, logits_to_keep=keep)
        places = keep if isinstance(keep, Tensor) else slice(-keep, None)
        narrow = self.model.get_output_embeddings().register_forward_pre_hook(lambda _, given: (given[0][:, places],))
        try:
            return self.model(**inputs)
        finally:
            narrow.remove()

    def collate(self, prompts: Sequence[Prompt]) -> dict[str, Tensor]:
        """One left-padded batch: per-token values of shape (rows, longest), and the pictures of all rows in order."""
        batch = self.tokens(prompts)
        batch.update(self.shown([picture for prompt in prompts for picture in prompt.pictures]))
        if "cross_attention_mask" in batch:
            masks = [_seen(prompt, batch["input_ids"].shape[1]) for prompt in prompts]
            batch["cross_attention_mask"] = torch.cat(masks).to(self.device)
        return batch

    def beside(self, prompt: Prompt) -> tuple[object, ...]:
        """What must be equal in a batch of prompts whose pictures stand beside the tokens: the shapes of the pictures."""
        if not self.family.beside:
            return ()
        return tuple(tuple(picture.tensors["pixel_values"].shape[1:]) for picture in prompt.pictures)

    def tokens(self, prompts: Sequence[Prompt]) -> dict[str, Tensor]:
        """The per-token values of a left-padded batch."""
        longest = max(len(prompt.ids) for prompt in prompts)
        padding = [longest - len(prompt.ids) for prompt in prompts]
        rows = list(zip(prompts, padding, strict=True))
        batch: dict[str, Tensor] = {
            "input_ids": self._tensor([[self.pad_token] * pad + prompt.ids for prompt, pad in rows]),
            "attention_mask": self._tensor([[0] * pad + [1] * len(prompt.ids) for prompt, pad in rows]),
        }
        for name in sorted({name for prompt in prompts for name in prompt.types}):
            values = [[0] * pad + prompt.types.get(name, [0] * len(prompt.ids)) for prompt, pad in rows]
            batch[name] = self._tensor(values)
        return batch

    def shown(self, pictures: Sequence[Picture]) -> dict[str, Any]:
        """The model's inputs for pictures: their features if those can be computed in advance, else pixels."""
        names = sorted({name for picture in pictures for name in picture.tensors})
        if self.features is not None:
            names = [name for name in names if not name.startswith("pixel_") and name in self._takes]
        batch: dict[str, object] = {}
        for name in names:
            batch[name] = on_device(self.model, joined([p.tensors[name] for p in pictures if name in p.tensors]))
        if self.features is not None and pictures:
            seen = [picture for picture in pictures if not picture.is_sound]
            kinds = {"image": [p for p in seen if not p.is_video], "video": [p for p in seen if p.is_video]}
            encoded = {kind: side_by_side(self.features.of(some)) for kind, some in kinds.items() if some}
            if encoded:
                batch["mm_encoder_outputs"] = encoded
        if any(picture.in_video for picture in pictures):
            batch["use_audio_in_video"] = True
        return batch

    def answered(
        self, rows: Sequence[Row], run: Callable[[Sequence[Row]], Sequence[Answer | ModelError]]
    ) -> Iterator[tuple[Row, Answer | MMEvalError]]:
        """The rows with their answers. A failed batch runs again in halves; a row that fails alone gets a ModelError.

        run: returns an answer or a ModelError per row.
        """
        half = (len(rows) + 1) // 2
        if self._is_too_large([row.prompt for row in rows]):
            yield from self.answered(rows[:half], run)
            yield from self.answered(rows[half:], run)
            return
        failure = ""
        try:
            answers = run(rows)
        except FAILURES as error:
            failure = kind_and_text(error).splitlines()[0]
            out_of_memory = is_out_of_memory(error)
        if not failure:
            yield from self._checked(list(zip(rows, answers, strict=True)), run)
            return
        # Outside the handler, so that the traceback no longer holds the tensors of the failed batch.
        if out_of_memory:
            self.forget()
        if len(rows) == 1 and out_of_memory and self.keeps:
            self.keeps = False
            logger.warning("Out of memory with one row: the beginnings of prompts are no longer kept.")
            yield from self.answered(rows, run)
            return
        if len(rows) == 1:
            advice = "Lower max_pixels or max_length, or use a smaller dtype." if out_of_memory else ""
            yield rows[0], ModelError(f"The model failed on this request ({failure}).", hint=advice)
            return
        if out_of_memory:
            self._shrink([row.prompt for row in rows])
        yield from self.answered(rows[:half], run)
        yield from self.answered(rows[half:], run)

    def recover(self, prompts: Sequence[Prompt], out_of_memory: bool) -> None:
        """Prepares for another attempt at a batch that failed. After out-of-memory it will be smaller."""
        if out_of_memory:
            self.forget()
            if len(prompts) > 1:
                self._shrink(prompts)

    def _checked(
        self,
        answered: Sequence[tuple[Row, Answer | ModelError]],
        run: Callable[[Sequence[Row]], Sequence[Answer | ModelError]],
    ) -> Iterator[tuple[Row, Answer | MMEvalError]]:
        """The answers of a batch. A row that failed in it runs again alone, since padding or another row may be the cause."""
        alone = len(answered) == 1
        failed = [row for row, answer in answered if isinstance(answer, ModelError)]
        yield from (pair for pair in answered if alone or not isinstance(pair[1], ModelError))
        if failed and not alone:
            self.forget()
            for row in failed:
                yield from self.answered([row], run)

    def _is_too_large(self, prompts: Sequence[Prompt]) -> bool:
        """Whether a batch exceeds a limit that was lowered after the batch was made."""
        count = len({id(prompt) for prompt in prompts})
        longest = max(len(prompt.ids) for prompt in prompts)
        return count > 1 and (count * longest > self.budget if self.limit is None else count > self.limit)

    def _shrink(self, prompts: Sequence[Prompt]) -> None:
        """Halves the limit of a batch after one with these prompts was too large. Several rows may share a prompt."""
        count = len({id(prompt) for prompt in prompts})
        half = (count + 1) // 2
        if self.limit is None:
            self.budget = min(self.budget, half * max(len(prompt.ids) for prompt in prompts))
            logger.warning("Out of memory with %d prompts: continuing with %d tokens per batch.", count, self.budget)
        else:
            self.limit = min(self.limit, half)
            logger.warning("Out of memory with %d prompts: continuing with %d per batch.", count, self.limit)

    def forget(self) -> None:
        """Frees the memory of everything that is kept for speed only."""
        self.kept = None
        if self.features is not None:
            self.features.clear()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def _tensor(self, values: list[list[int]]) -> Tensor:
        return torch.tensor(values, dtype=torch.long, device=self.device)


def is_out_of_memory(error: Exception) -> bool:
    return isinstance(error, torch.OutOfMemoryError) or "out of memory" in str(error).lower()


def not_finite(what: str) -> ModelError:
    """The error of a request whose numbers are NaN or infinite."""
    return ModelError(
        f"The model gave {what} that are not finite (NaN or infinity).",
        hint="The weights are damaged, or the dtype overflows: try dtype=bfloat16 or dtype=float32.",
    )


def _full_attention(config: PretrainedConfig) -> bool:
    """Whether every layer sees all tokens before it."""
    from transformers import DynamicCache
    from transformers.cache_utils import DynamicLayer

    return all(type(layer) is DynamicLayer for layer in DynamicCache(config=config).layers)


def _windows_of(config: PretrainedConfig) -> list[int | None]:
    """The sliding window of each layer of a model, in tokens."""
    from transformers import DynamicCache

    return [getattr(layer, "sliding_window", None) for layer in DynamicCache(config=config).layers]


def _configs_of(model: PreTrainedModel) -> list[PretrainedConfig]:
    """The configurations from which the modules of a model read their kind of attention."""
    found = {id(module.config): module.config for module in model.modules() if hasattr(module, "config")}
    return [config for config in found.values() if hasattr(config, "_attn_implementation_internal")]


def _without_own_sampling(config: PretrainedConfig) -> None:
    """Removes a checkpoint's sampling defaults and lengths from its generation config.

    transformers uses them for every value that a call does not set: Qwen2-VL's top_k=1 would make every sampled answer
    greedy. Penalties stay.
    """
    for name in _OWN_SAMPLING:
        if hasattr(config, name):
            setattr(config, name, None)
    config.do_sample = False


def _seen(prompt: Prompt, longest: int) -> Tensor:
    """mllama's mask of pictures per token (1, longest, pictures, tiles), left-padded. Tokens after the prompt see what its last
    token sees.
    """
    mask, length = prompt.pictures[0].tensors["cross_attention_mask"], len(prompt.ids)
    missing = max(0, length - mask.shape[1])
    whole = torch.cat([mask[:, :length], mask[:, -1:].expand(-1, missing, -1, -1)], 1)
    return torch.nn.functional.pad(whole, (0, 0, 0, 0, longest - length, 0))
