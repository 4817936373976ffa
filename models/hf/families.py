"""The differences between families of transformers models, as data. The key is `model_type` of config.json.

A new family is one entry in FAMILIES. It is listed once its tests pass: a batch gives the same as single prompts, a prefix the
same as a whole forward, and the pictures affect the answer. A type that is not listed checks itself at start-up (`quickest`).
If that fails, it runs one prompt at a time and one whole forward a continuation, which is right for every causal model.

The table does not list what a cache shows by itself: with sliding windows (gemma3, aya_vision) or recurrent layers (qwen3_5) no
masked place may stand between tokens, so that prompts on one picture are shared only if they are equally long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol

from mm_eval.engine.model import Answers
from mm_eval.errors import MMEvalError
from mm_eval.types import Instance, Message

from .prompts.videos import VideoInput

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True)
class Family:
    """How prompts are written for a model type, and which short cuts give the same numbers.

    prompt_keys: keys of `model_specific_prompt_kwargs` from most to least specific.
    placeholder: the text for one picture in a plain-text prompt; None: the processor's image token; empty: the processor
        writes it.
    mrope: rotary positions have three dimensions; the model keeps the shift that pictures cause as `rope_deltas`.
    batched: prompts with 0, 1 and several pictures of different sizes may share a left-padded batch.
    prefix_cache: a continuation may be run on the cached keys and values of its prompt.
    holes: masked places may stand between tokens. Sliding windows and recurrent layers forbid it and are detected without it.
    pictures: what the processor's tensors for a picture depend on: only the "picture"; the "prompt" with all of its pictures
        (llava_onevision makes no tiles where there are several, idefics and mllama pad to the largest); or "processor":
        unknown, so that every prompt is processed as a whole.
    features: the vision tower's output may be computed in advance and passed in.
    heads: pictures may follow on cached keys and values, so that few-shot examples with pictures run once.
    chats: checkpoints of this type expect chat turns, so that a missing chat template is an error.
    answer_type: `token_type_ids` of an answer's tokens; paligemma reads a prompt in both directions, an answer in one.
    video: its own video input; None: the frames of videos are shown as pictures.
    """

    prompt_keys: tuple[str, ...] = ()
    placeholder: str | None = None
    mrope: bool = False
    batched: bool = True
    prefix_cache: bool = True
    holes: bool = True
    pictures: Literal["picture", "prompt", "processor"] = "picture"
    features: bool = True
    heads: bool = True
    chats: bool = True
    answer_type: int = 0
    video: VideoInput | None = None


_QWEN = Family(("qwen_vl",), placeholder="<|vision_start|><|image_pad|><|vision_end|>", mrope=True)


def _qwen(*keys: str, video: VideoInput | None = None) -> Family:
    return replace(_QWEN, prompt_keys=(*keys, *_QWEN.prompt_keys), video=video)


def _plainest(*keys: str, placeholder: str | None = None, features: bool = False, answer_type: int = 0) -> Family:
    """One prompt at a time and one whole forward a continuation: no short cut gives the same numbers."""
    return Family(keys, placeholder, batched=False, prefix_cache=False, features=features, answer_type=answer_type)


def _without_chat(*keys: str) -> Family:
    """A type older than chat templates: its processor writes the pictures' tokens, and it has no turns."""
    return replace(_plainest(*keys, placeholder=""), chats=False)


_QWEN_VIDEO = VideoInput(
    "frames=32,starts",
    budget="frame",
    settings={"size": {"shortest_edge": 128 * 28 * 28, "longest_edge": 768 * 28 * 28}},
    placeholder="<|vision_start|><|video_pad|><|vision_end|>",
)
_QWEN3_VIDEO = VideoInput(
    "fps=2,min=4,max=768,ends",
    budget="video",
    settings={"size": {"shortest_edge": 128 * 32 * 32, "longest_edge": 768 * 32 * 32}},
    placeholder=_QWEN_VIDEO.placeholder,
    pair=True,
)
_LLAMA3_VIDEO = VideoInput(
    "fps=1,min=4,max=180,starts",
    budget="share",
    settings={
        "size": {"shortest_edge": 128 * 28 * 28, "longest_edge": 768 * 28 * 28}, "merge_size": 2, "temporal_patch_size": 1,
        "use_token_compression": True,
    },
    splits=True,
)  # fmt: skip

FAMILIES: dict[str, Family] = {
    "aya_vision": Family(("aya_vision",)),
    "blip-2": _without_chat("blip2"),
    "gemma3": Family(("gemma3",)),
    "glm4v": Family(("glm4v",), placeholder="<|begin_of_image|><|image|><|end_of_image|>", mrope=True),
    "idefics2": Family(("idefics2",), pictures="prompt"),
    "idefics3": Family(("idefics3", "idefics2"), pictures="prompt"),
    "instructblip": _without_chat("instructblip"),
    "internvl": Family(("internvl",), video=VideoInput("frames=32,middle", given="frames")),
    "janus": Family(("janus",)),
    "kosmos-2": _without_chat("kosmos2"),
    "llava": Family(("llava",)),
    "llava_next": Family(("llava_next", "llava")),
    "llava_next_video": Family(("llava_next_video", "llava_next", "llava"), video=VideoInput("frames=32,ends")),
    "llava_onevision": Family(("llava_onevision", "llava"), pictures="prompt", video=VideoInput("frames=32,ends")),
    "mistral3": Family(("mistral3",)),
    "mllama": replace(_plainest("mllama"), pictures="prompt"),
    "ovis2": Family(("ovis2",)),
    "paligemma": _plainest("paligemma", features=True, answer_type=1),
    "qwen2_vl": _qwen("qwen2_vl", video=_QWEN_VIDEO),
    "qwen2_5_vl": _qwen("qwen2_5_vl", "qwen2_vl", video=replace(_QWEN_VIDEO, rate=True)),
    "qwen3_5": _qwen("qwen3_5", "qwen3_vl", "qwen2_5_vl", "qwen2_vl"),
    "qwen3_vl": _qwen("qwen3_vl", "qwen2_5_vl", "qwen2_vl", video=_QWEN3_VIDEO),
    "qwen3_vl_moe": _qwen("qwen3_vl_moe", "qwen3_vl", "qwen2_5_vl", "qwen2_vl", video=_QWEN3_VIDEO),
    "smolvlm": Family(
        ("smolvlm", "idefics3"), pictures="prompt", video=VideoInput("fps=1,max=64,ends", given="pictures")
    ),
    "video_llama_3": Family(("video_llama_3",), video=_LLAMA3_VIDEO),
    "vipllava": Family(("vipllava", "llava")),
}

TEXT = Family()
"""Causal language models without pictures."""

TEXT_FAMILIES: dict[str, Family] = {
    **dict.fromkeys((
    "afmoe", "apertus", "arcee", "biogpt", "bitnet", "bloom", "codegen", "cohere", "cohere2", "ctrl", "deepseek_v2",
    "deepseek_v3", "diffllama", "ernie4_5", "exaone4", "falcon", "flex_olmo", "gemma", "gemma2", "gemma3_text", "glm", "glm4",
    "gpt2", "gpt_bigcode", "gpt_neox", "gpt_neox_japanese", "gpt_oss", "gptj", "granite", "granitemoe", "helium",
    "hunyuan_v1_dense", "jetmoe", "lfm2", "lfm2_moe", "llama", "mimo_v2_flash", "ministral", "ministral3", "mistral", "mixtral",
    "modernbert-decoder", "mpt", "nemotron", "olmo", "olmo2", "olmo3", "olmoe", "opt", "persimmon", "phi", "phi3", "qwen2",
    "qwen2_moe", "qwen3", "qwen3_moe", "seed_oss", "smollm3", "stablelm", "starcoder2", "vaultgemma", "xglm",
), TEXT),
    "doge": _plainest(),  # its mask drops other tokens with a cache or with padding
    "gpt_neo": Family(holes=False),  # its windows count masked places of the cache too
    "llama4_text": _plainest(),  # it scales its attention by the position in the batch, padding included
}  # fmt: skip
"""Types of text models; each is compared with whole forwards by tests/models/hf/test_text_types.py."""

UNKNOWN = Family(batched=False, prefix_cache=False, pictures="processor", features=False)
"""Types that are not tested."""


def family_of(model_type: str, image_text: bool) -> Family:
    """The family of a model type; UNKNOWN if it is not listed."""
    return (FAMILIES if image_text else {**TEXT_FAMILIES, **FAMILIES}).get(model_type, UNKNOWN)


TOLERANCE = 1e-4
"""Nats by which log-likelihoods of the self-check may differ."""
_SIZES = ((224, 160), (120, 200))
_BEGINNINGS = (
    "The quick brown fox jumps over the lazy dog. " * 8,
    "Question: is one and one two? Answer: yes.\n\n" * 6,
)
_QUESTIONS = ("What is shown in the picture?", "Is there a dog?")
_CONTINUATIONS = (" yes", " a red car on the street")
_OPTIONS = {"max_new_tokens": 4, "min_new_tokens": 4}


class Answering(Protocol):
    """A loaded model that answers instances (`asking.Asking`)."""

    def generate(self, instances: Iterable[Instance]) -> Answers: ...

    def loglikelihood(self, instances: Iterable[Instance]) -> Answers: ...

    @property
    def caches(self) -> bool: ...


def quickest(
    model: Any, answering: Callable[[Family, int], Answering], *, pictured: bool, chat: bool
) -> tuple[Family, str]:
    """The self-check of an unlisted type: the family with the short cuts that pass, or UNKNOWN and the reason.

    answering: the model run as a family with a batch size. pictured: whether it reads pictures. chat: whether it has a template.

    Two pictures of different sizes (for a text model: two beginnings), two questions on each, two continuations a question: once
    one prompt at a time with a whole forward a continuation, and once with everything shared that can be. Log-likelihoods must
    agree within TOLERANCE and generated tokens must be equal. Half precision is too coarse for that.
    """
    if str(model.dtype) != "torch.float32":
        return UNKNOWN, f"{model.dtype} is too coarse to compare; dtype=float32 lets it check itself"
    text = str(model.config.get_text_config().model_type)
    if TEXT_FAMILIES.get(text, TEXT) is not TEXT:
        return UNKNOWN, f"its text part is of the type {text!r}"
    shifts = hasattr(getattr(model, "model", None), "rope_deltas")
    family = replace(UNKNOWN, batched=True, prefix_cache=True, features=True, heads=False, mrope=shifts)
    questions = list(_questions(pictured, chat))
    rows = [replace(each, continuation=text) for each in questions for text in _CONTINUATIONS]
    try:
        plain, quick = answering(UNKNOWN, 1), answering(family, len(rows))
        if not quick.caches:
            return UNKNOWN, "its forward can't go on from a cache"
        expected, found = (_outputs(each.loglikelihood(rows), rows) for each in (plain, quick))
        worst = max(abs(a[0] - b[0]) for a, b in zip(expected, found, strict=True))
        alone, together = (_outputs(each.generate(questions), questions) for each in (plain, quick))
    except Exception as error:  # the model's own code, in a combination that nobody has tested
        return UNKNOWN, f"{type(error).__name__}: {error}".splitlines()[0]
    if not worst <= TOLERANCE:
        return UNKNOWN, f"log-likelihoods differ by {worst:.1e}"
    return (family, "") if alone == together else (UNKNOWN, "generated tokens differ")


def _outputs(answers: Answers, instances: list[Instance]) -> list[Any]:
    """The outputs in the order of the instances. Raises the first failure."""
    outputs = {}
    for instance, answer in answers:
        if isinstance(answer, MMEvalError):
            raise answer
        outputs[id(instance)] = answer.output
    return [outputs[id(instance)] for instance in instances]


def _questions(pictured: bool, chat: bool) -> Iterator[Instance]:
    for number, (size, beginning) in enumerate(zip(_SIZES, _BEGINNINGS, strict=True)):
        shown: dict[str, Any] = {}
        if pictured:
            shown = {"images": partial(_pictures, number, size), "image_digests": (str(number),)}
        for question in _QUESTIONS:
            text = question if pictured else beginning + question
            parts = [*([{"type": "image"}] if pictured else []), {"type": "text", "text": text}]
            messages: list[Message] = [{"role": "user", "content": parts}]
            context = messages if chat else text
            yield Instance("generate_until", "self-check", number, {}, context, generation_kwargs=_OPTIONS, **shown)


def _pictures(number: int, size: tuple[int, int]) -> list[Image]:
    from PIL.Image import linear_gradient

    return [linear_gradient("L").resize(size).convert("RGB").rotate(90 * number)]


def most_shared(config: Any, max_length: int) -> int | None:
    """Tokens above which a sequence must run alone; None if max_length is not above that.

    With two kinds of RoPE (longrope of Phi-3 and Phi-4, and dynamic) the frequencies follow the longest sequence of a forward.
    A long prompt would change the answers beside it, and a continuation would run on keys of other frequencies than its own.
    """
    text = config.get_text_config()
    stated = getattr(text, "rope_parameters", None) or {}
    for rope in [stated, *(each for each in stated.values() if isinstance(each, dict))]:
        kind = str(rope.get("rope_type"))
        if kind == "longrope" or "dynamic" in kind:
            own = rope.get("original_max_position_embeddings") if kind == "longrope" else None
            shared = int(own or text.max_position_embeddings)
            return shared if max_length > shared else None
    return None
