"""Rows of tokens that are being decoded: keys and values are written in place, and a beginning that rows share is held once.

    Root       the beginning that several rows share: its keys and values, once
    Rows       rows, each on a root or on nothing, with a buffer for the tokens of its own
    runtime_of a loaded model's runtime, on `Rows` if the model can run on them

transformers' cache copies everything it holds at each step, once a row. Here a step writes one token a row, and attention has
two parts: all rows of a root look at its keys in one product, each row looks at its own, and the two are joined by the
logarithms of their sums (log-sum-exp). The masks are made here from the number of tokens of each row, so that rows of any length
stand beside each other without padding between their tokens, in sliding windows as well.

The model's own attention is replaced during such a forward only. Each layer must ask for attention right after it has written its
keys (`Rows.pending`); a model that does anything else raises instead of giving a wrong number.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from transformers import AttentionInterface, DynamicCache
from transformers.cache_utils import Cache, CacheLayerMixin, DynamicLayer, DynamicSlidingWindowLayer

from mm_eval.values.errors import kind_and_text

from ..families import Family
from ..prompts.prompt import Prompt
from .attention import Forward, at_once, attention, joined, together
from .prefixes import Prefix, grown, prefill
from .runtime import Runtime

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

logger = logging.getLogger(__name__)
NAME = "mm_eval_rows"
"""The attention of `Rows` in transformers' table."""
ROOM = 64
"""Minimum of tokens by which a buffer grows. A quarter of its length, if that is more."""
PROBE = "The quick brown fox jumps over the lazy dog, and then it sleeps under a tree."
"""What a model is tried with before it runs on `Rows`."""
LIKE = {torch.float32: 1e-4}
"""Difference of the probe's logits that is allowed, as a share of the largest one; 0.05 in half precision."""


@dataclass(frozen=True, eq=False)
class Root:
    """A beginning of prompts. layers: keys and values (1, heads, tokens, width) of each layer, fewer in a sliding window."""

    prompt: Prompt
    layers: list[tuple[Tensor, Tensor]]

    @property
    def length(self) -> int:
        return len(self.prompt.ids)

    def begins(self, prompt: Prompt) -> bool:
        """Whether a prompt begins like this root and goes on."""
        own = self.prompt
        same = own.picture_key == prompt.picture_key and len(own.pictures) == len(prompt.pictures)
        known = len(own.picture_key) == len(own.pictures)
        return same and known and self.length < len(prompt.ids) and prompt.ids[: self.length] == own.ids


class Layer(CacheLayerMixin):  # type: ignore[misc]
    """One layer's buffer (rows, heads, room, width). Row i begins at place 0, whatever its root."""

    def __init__(self, rows: Rows, number: int, window: int | None) -> None:
        super().__init__()
        self.rows, self.number, self.window = rows, number, window
        self.is_sliding = window is not None

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: object, **kwargs: object
    ) -> tuple[Tensor, Tensor]:
        """Writes the tokens of the running forward. Attention takes the keys from here, not what is returned."""
        now, device = self.rows.now, key_states.device
        self.reserve(len(self.rows.lengths), max(now.lengths) + now.tokens, key_states, value_states)
        rows, places = now.rows(device), now.places(device)
        self.keys[rows, :, places] = key_states.transpose(1, 2)
        self.values[rows, :, places] = value_states.transpose(1, 2)
        self.rows.hand_over(self)
        return key_states, value_states

    def reserve(self, rows: int, places: int, keys: Tensor, values: Tensor) -> None:
        """Makes the buffer large enough. keys, values: of the right number of heads, width, dtype and device."""
        have = self.keys.shape if self.keys is not None else (0, 0, 0, 0)
        if have[0] >= rows and have[2] >= places:
            return
        room = have[2] if have[2] >= places else max(places + ROOM, have[2] + have[2] // 4)
        for name, like in (("keys", keys), ("values", values)):
            made, old = like.new_zeros(max(rows, have[0]), like.shape[1], room, like.shape[3]), getattr(self, name)
            if old is not None:
                made[: have[0], :, : have[2]] = old
            setattr(self, name, made)
        self.is_initialized = True

    def move(self, source: int, target: int) -> None:
        """Puts a row into another's place and leaves zeros: what nobody sees must still be finite."""
        for buffer in (self.keys, self.values):
            if buffer is not None:
                if source != target:
                    buffer[target] = buffer[source]
                buffer[source] = 0

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None: ...

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.get_seq_length() + query_length, 0

    def get_seq_length(self) -> int:
        return self.rows.longest

    def get_max_length(self) -> int:
        return -1


class Rows(Cache):  # type: ignore[misc]
    """Rows of tokens that have run, in one batch.

    roots: the root of each row, or None. lengths: tokens of each row after its root. shift: of M-RoPE positions, (rows, 1).
    now: the running forward. pending: the layer that has written its keys and waits for attention.
    """

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(layers=[Layer(self, number, window) for number, window in enumerate(runtime.windows)])
        self.runtime = runtime
        self.roots: list[Root | None] = []
        self.lengths: list[int] = []
        self.shift: Tensor = torch.zeros(0, 1, dtype=torch.long, device=runtime.device)
        self.now = Forward([], [], [], 0)
        self.pending: Layer | None = None

    @property
    def longest(self) -> int:
        return max((self.start(row) + own for row, own in enumerate(self.lengths)), default=0)

    @property
    def held(self) -> int:
        """Tokens of which keys and values are held: each root once, and the rows as long as the longest of them."""
        return self.held_by_roots + len(self.lengths) * max(self.lengths, default=0)

    @property
    def held_by_roots(self) -> int:
        return sum({id(root): root.length for root in self.roots if root}.values())

    def start(self, row: int) -> int:
        """Tokens before a row's own."""
        root = self.roots[row]
        return root.length if root else 0

    def root_of(self, prompt: Prompt) -> tuple[Root, Tensor] | None:
        """The root that a prompt begins with, and its shift, if rows hold one."""
        if not self.runtime.family.causal:
            return None
        return next(((root, self.shift[n]) for n, root in enumerate(self.roots) if root and root.begins(prompt)), None)

    def add(self, root: Root | None, shift: Tensor, count: int = 1) -> None:
        """Adds rows without tokens of their own, on a root."""
        self.roots += [root] * count
        self.lengths += [0] * count
        self.shift = torch.cat([self.shift, shift.reshape(1, 1).expand(count, 1)])

    def add_whole(self, prefix: Prefix, line: int) -> None:
        """Adds row `line` of a prefix as a row of its own, without a root."""
        length = int(prefix.mask[line].sum())
        self.add(None, prefix.shift[line])
        self.lengths[-1] = length
        row = len(self.lengths) - 1
        for layer, (keys, values) in zip(self.layers, _layers_of(prefix, line), strict=True):
            layer.reserve(row + 1, max(self.lengths), keys, values)
            layer.keys[row, :, length - keys.shape[2] : length] = keys[0]
            layer.values[row, :, length - values.shape[2] : length] = values[0]

    def run(self, ids: Sequence[list[int]], keep: int = 1) -> Tensor:
        """One forward of more tokens for the last len(ids) rows, left-padded.

        Returns float32 logits after the last `keep` tokens of each (rows, keep, vocabulary).
        """
        first, device = len(self.lengths) - len(ids), self.runtime.device
        self.now = now = Forward(self.lengths[first:], [len(row) for row in ids], self.roots[first:], first)
        tokens = torch.tensor([[self.runtime.pad_token] * (now.tokens - len(row)) + row for row in ids], device=device)
        starts = torch.tensor([[self.start(row)] for row in range(first, len(self.lengths))], device=device)
        positions = now.places(device) + starts + self.shift[first:]
        family = self.runtime.family
        with _attending(self):
            output = self.runtime.forward(
                keep,
                input_ids=tokens,
                attention_mask=None,
                position_ids=positions[None].expand(family.axes, -1, -1) if family.mrope else positions,
                past_key_values=self,
                use_cache=True,
            )
        self.lengths[first:] = [have + len(row) for have, row in zip(now.lengths, ids, strict=True)]
        return output.logits.float().to(device)

    def drop(self, leaving: Sequence[int]) -> list[int]:
        """Removes rows. The last ones take their places: returns the former index of each row that is left."""
        order = list(range(len(self.lengths)))
        for row in sorted(leaving, reverse=True):
            last = len(order) - 1
            for layer in self.layers:
                layer.move(last, row)
            order[row], self.lengths[row], self.roots[row] = order[last], self.lengths[last], self.roots[last]
            del order[last], self.lengths[last], self.roots[last]
        self.shift = self.shift[order]
        if not order:
            for layer in self.layers:
                layer.keys = layer.values = None
        return order

    def forked(self, sources: Sequence[int]) -> Rows:
        """New rows, copies of rows of this one. Roots are not copied."""
        made = Rows(self.runtime)
        made.roots, made.lengths = [self.roots[n] for n in sources], [self.lengths[n] for n in sources]
        made.shift = self.shift[list(sources)]
        if longest := max(made.lengths):
            for own, layer in zip(made.layers, self.layers, strict=True):
                index = torch.tensor(sources, device=layer.keys.device)
                own.keys, own.values = layer.keys[index, :, :longest], layer.values[index, :, :longest]
        return made

    def hand_over(self, layer: Layer) -> None:
        if self.pending is not None:
            raise RuntimeError("a layer wrote its keys and did not ask for attention")
        self.pending = layer

    def taken(self) -> Layer:
        layer, self.pending = self.pending, None
        if layer is None:
            raise RuntimeError("attention without new keys")
        return layer


def _attend(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor,
    scaling: float | None = None,
    **options: Any,
) -> tuple[Tensor, None]:
    """Attention of a layer that has just written its keys; the form of transformers' attention functions."""
    rows = _running[-1]
    layer = rows.taken()
    now = rows.now
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    cap, sink = options.get("softcap"), options.get("s_aux")
    seen, these = max(now.lengths) + now.tokens, slice(now.first, now.first + len(now.lengths))
    mask = now.own_mask(layer.window, query)
    own = (layer.keys[these, :, :seen], layer.values[these, :, :seen])
    found, weight = attention(query, *own, mask, scale, cap, alone=not now.groups and sink is None)
    for root, index, places in now.groups:
        keys, values = root.layers[layer.number]
        mask = now.root_mask(root, places, keys.shape[2], layer.window, query)
        shared = at_once(query[index], keys, values, mask, scale, cap)
        found[index], weight[index] = joined((found[index], weight[index]), shared)
    if sink is not None:
        found = found * torch.sigmoid(weight - sink.reshape(1, -1, 1).to(weight)).to(found)[..., None]
    return found.transpose(1, 2).contiguous(), None


AttentionInterface.register(NAME, _attend)
_running: list[Rows] = []


@contextlib.contextmanager
def _attending(rows: Rows) -> Iterator[None]:
    """The model's layers use `_attend`, and make no masks."""
    configs = rows.runtime.configs
    before = [config._attn_implementation_internal for config in configs]
    _running.append(rows)
    try:
        for config in configs:
            config._attn_implementation_internal = NAME
        yield
        if rows.pending is not None:
            raise RuntimeError("a layer wrote its keys and did not ask for attention")
    finally:
        _running.pop()
        rows.pending = None
        for config, name in zip(configs, before, strict=True):
            config._attn_implementation_internal = name


def root_of(prefix: Prefix, line: int, prompt: Prompt) -> Root:
    """Row `line` of a prefix as a root. prompt: its tokens."""
    return Root(prompt, _layers_of(prefix, line))


def _layers_of(prefix: Prefix, line: int) -> list[tuple[Tensor, Tensor]]:
    """Keys and values (1, heads, tokens, width) of the real tokens of a row, by layer. Sliding windows hold the last ones."""
    real = prefix.mask[line].nonzero()[:, 0].tolist()
    total = prefix.mask.shape[1]
    made = []
    for layer in prefix.cache.layers:
        dropped = total - layer.keys.shape[2]
        index = together([place - dropped for place in real if place >= dropped])
        made.append((layer.keys[line : line + 1, :, index], layer.values[line : line + 1, :, index]))
    return made


def runtime_of(
    model: PreTrainedModel, family: Family, tokenizer: PreTrainedTokenizerBase, batch_size: int | str
) -> Runtime:
    """The runtime of a loaded model, in place on `Rows` if the model can run on them."""
    runtime = Runtime(model, family, tokenizer, batch_size)
    if runtime.prefix_cache:
        reason = _why_not(runtime)
        runtime.in_place = not reason
        if reason:
            logger.info("%s runs on transformers' own cache: %s.", type(model).__name__, reason)
    return runtime


def _why_not(runtime: Runtime) -> str:
    """Why a model can't run on `Rows`; empty if it can. It is tried on a few tokens, with and without a root."""
    if runtime.family.beside:
        return "its pictures are beside the tokens"
    kinds = {type(layer) for layer in DynamicCache(config=runtime.model.config).layers}
    if other := kinds - {DynamicLayer, DynamicSlidingWindowLayer}:
        return f"it keeps a {min(kind.__name__ for kind in other)}"
    ids = list(runtime.tokenizer(PROBE, add_special_tokens=False)["input_ids"]) * 2
    begins, goes_on = Prompt(ids[:-3]), ids[-3:]
    try:
        with torch.inference_mode():
            prefix = prefill(runtime, [begins])
            rows = Rows(runtime)
            rows.add_whole(prefix, 0)
            rows.add(root_of(prefix, 0, begins), prefix.shift[0])
            found = rows.run([goes_on, goes_on])[:, -1]
            expected = grown(runtime, prefix, [0], [goes_on]).logits
    except Exception as error:  # the model's own code
        return kind_and_text(error).splitlines()[0]
    if not expected.isfinite().all():
        return "its logits are not finite"
    allowed = LIKE.get(runtime.dtype, 0.05) * float(expected.abs().max())
    off = float((found - expected).abs().max())
    return "" if off <= allowed else f"its attention is of another kind (logits differ by {off:.1e})"
