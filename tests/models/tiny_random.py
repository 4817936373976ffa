"""Tiny random checkpoints of seven model types, with trained tokenizers and real processors, saved as the hub has them.

Weights are scaled to 1 / sqrt(fan-in), since logits of transformers' own initialisation hardly react to a picture and
every comparison would pass. Output weights are never tied to the table of tokens: a random model that shares them repeats the
last token whatever it is shown.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers as tf
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

VOCABULARY = 700
TEXT = {
    "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": VOCABULARY, "max_position_embeddings": 512, "pad_token_id": 0,
    "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
VISION = {
    "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 28,
    "patch_size": 14,
}  # fmt: skip
MROPE = {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 10000.0}
GRID = [[28, 56], [56, 28], [56, 56]]
QWEN_TOKENS = ("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
CORPUS = [
    "user: assistant: system: What is shown in the image? Answer with the option's letter from the choices directly.",
    "A. cat B. dog C. a red car D. the yellow bus. Is there a person in the photo? Please answer yes or no.",
    "The quick brown fox jumps over the lazy dog 0123456789. Answer the question using a single word or phrase.",
]
TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }}: {% for c in m['content'] %}"
    "{% if c['type'] == 'image' %}IMAGE{% elif c['type'] == 'video' %}VIDEO{% elif c['type'] == 'audio' %}SOUND"
    "{% else %}{{ c['text'] }}{% endif %}{% endfor %}"
    "{{ '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)
TEXT_TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)


def template(image: str, video: str = "<video>", sound: str = "<sound>") -> str:
    """The chat template with what stands for a picture, for a video and for a sound."""
    return TEMPLATE.replace("IMAGE", image).replace("VIDEO", video).replace("SOUND", sound)


def tokenizer(*extra: str, bos: bool = True, **named: str) -> Any:
    """A byte-level BPE tokenizer that puts <s> in front, with extra special tokens."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    special = ["<pad>", "<s>", "</s>", "<unk>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=450, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    bpe.train_from_iterator(CORPUS * 4, trainer)
    if bos:
        bpe.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    made = tf.PreTrainedTokenizerFast(
        tokenizer_object=bpe, bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>",
        padding_side="left", extra_special_tokens=named,
    )  # fmt: skip
    if extra:
        made.add_special_tokens({"extra_special_tokens": list(extra)}, replace_extra_special_tokens=False)
    return made


def _ids(made: Any, **names: str) -> dict[str, int]:
    return {key: made.convert_tokens_to_ids(token) for key, token in names.items()}


def _without_video(processor_class: Any) -> Any:
    from mm_eval.models.hf.processor import _without_video

    return _without_video(processor_class)


def _clip_like(kind: str) -> tuple[Any, Any, Any]:
    made = tokenizer(image_token="<image>")
    ids = _ids(made, image_token_id="<image>")
    crop = {"size": {"shortest_edge": 28}, "crop_size": {"height": 28, "width": 28}}
    common = {
        "tokenizer": made, "patch_size": 14, "vision_feature_select_strategy": "default",
        "num_additional_image_tokens": 1, "chat_template": template("<image>\n", "<video>\n"),
    }  # fmt: skip
    vision = tf.CLIPVisionConfig(**VISION, projection_dim=32)
    if kind == "llava":
        config = tf.LlavaConfig(
            vision_config=vision, text_config=tf.LlamaConfig(**TEXT), vision_feature_layer=-2, **ids
        )
        processor = tf.LlavaProcessor(image_processor=tf.CLIPImageProcessorPil(**crop), **common)
        return tf.LlavaForConditionalGeneration(config), processor, made
    config = tf.LlavaNextConfig(
        vision_config=vision, text_config=tf.MistralConfig(**TEXT), image_grid_pinpoints=GRID, **ids
    )
    images = tf.LlavaNextImageProcessorPil(**crop, image_grid_pinpoints=GRID)
    return tf.LlavaNextForConditionalGeneration(config), tf.LlavaNextProcessor(image_processor=images, **common), made


def _onevision() -> tuple[Any, Any, Any]:
    made = tokenizer("<video>", bos=False, image_token="<image>")
    config = tf.LlavaOnevisionConfig(
        vision_config=tf.SiglipVisionConfig(**VISION, vision_use_head=False),
        text_config=tf.Qwen2Config(**TEXT),
        image_grid_pinpoints=GRID,
        **_ids(made, image_token_id="<image>", video_token_id="<video>"),
    )
    processor = _without_video(tf.LlavaOnevisionProcessor)(
        image_processor=tf.LlavaOnevisionImageProcessorPil(size={"height": 28, "width": 28}, image_grid_pinpoints=GRID),
        tokenizer=made,
        num_image_tokens=4,
        vision_feature_select_strategy="full",
        chat_template=template("<image>\n", "<video>\n"),
    )
    return tf.LlavaOnevisionForConditionalGeneration(config), processor, made


def _qwen(kind: str) -> tuple[Any, Any, Any]:
    made = tokenizer(*QWEN_TOKENS, bos=False, image_token="<|image_pad|>", video_token="<|video_pad|>")
    ids = _ids(
        made, image_token_id="<|image_pad|>", video_token_id="<|video_pad|>", vision_start_token_id="<|vision_start|>",
        vision_end_token_id="<|vision_end|>",
    )  # fmt: skip
    text: dict[str, Any] = {**TEXT, "rope_parameters": MROPE}
    tower = {"depth": 2, "hidden_size": 32, "out_hidden_size": 64, "num_heads": 4, "intermediate_size": 64}
    patch = 16 if kind == "qwen3_vl" else 14
    if kind == "qwen2_vl":
        tower = {"depth": 2, "embed_dim": 32, "hidden_size": 64, "num_heads": 4, "mlp_ratio": 2, "patch_size": 14}
        config: Any = tf.Qwen2VLConfig(text_config=text, vision_config=tower, **ids)
        model, processor = tf.Qwen2VLForConditionalGeneration, tf.Qwen2VLProcessor
    elif kind == "qwen2_5_vl":
        tower |= {"patch_size": 14, "window_size": 56, "fullatt_block_indexes": [1]}
        config = tf.Qwen2_5_VLConfig(text_config=text, vision_config=tower, **ids)
        model, processor = tf.Qwen2_5_VLForConditionalGeneration, tf.Qwen2_5_VLProcessor
    else:
        text |= {
            "head_dim": TEXT["hidden_size"] // TEXT["num_attention_heads"],
            "rope_parameters": {**MROPE, "mrope_interleaved": True},
        }
        tower |= {"depth": 3, "patch_size": 16, "num_position_embeddings": 64, "deepstack_visual_indexes": [0, 1]}
        config = tf.Qwen3VLConfig(text_config=text, vision_config=tower, **ids)
        model, processor = tf.Qwen3VLForConditionalGeneration, tf.Qwen3VLProcessor
    unit = (2 * patch) ** 2
    images = tf.Qwen2VLImageProcessorPil(patch_size=patch, min_pixels=unit, max_pixels=16 * unit)
    pads = ["<|vision_start|><|image_pad|><|vision_end|>", "<|vision_start|><|video_pad|><|vision_end|>"]
    return (
        model(config),
        _without_video(processor)(image_processor=images, tokenizer=made, chat_template=template(*pads)),
        made,
    )


def _llama() -> tuple[Any, Any, Any]:
    made = tokenizer()
    made.chat_template = TEXT_TEMPLATE
    return tf.LlamaForCausalLM(tf.LlamaConfig(**TEXT)), made, made


def _idefics() -> tuple[Any, Any, Any]:
    """A type that the table of families does not list."""
    tiles = [f"<row_{row}_col_{column}>" for row in range(1, 5) for column in range(1, 5)]
    made = tokenizer("<fake_token_around_image>", "<end_of_utterance>", "<global-img>", *tiles, image_token="<image>")
    config = tf.Idefics3Config(
        vision_config={**VISION, "patch_size": 7},
        text_config=tf.LlamaConfig(**TEXT),
        scale_factor=2,
        **_ids(made, image_token_id="<image>"),
    )
    images = tf.Idefics3ImageProcessorPil(size={"longest_edge": 56}, max_image_size={"longest_edge": 28})
    processor = tf.Idefics3Processor(
        image_processor=images, tokenizer=made, image_seq_len=4, chat_template=TEMPLATE.replace("IMAGE", "<image>")
    )
    return tf.Idefics3ForConditionalGeneration(config), processor, made


def _paligemma(text: Any = None) -> tuple[Any, Any, Any]:
    made = tokenizer(*(f"<loc{number:04}>" for number in range(4)), image_token="<image>")
    config = tf.PaliGemmaConfig(
        text_config=text or tf.GemmaConfig(**TEXT, head_dim=16, tie_word_embeddings=False),
        vision_config=tf.SiglipVisionConfig(**VISION, projection_dim=32, vision_use_head=False),
        projection_dim=64,
        tie_word_embeddings=False,
        **_ids(made, image_token_id="<image>"),
    )
    images = tf.SiglipImageProcessorPil(size={"height": 28, "width": 28})
    images.image_seq_length = 4
    template = TEMPLATE.replace("IMAGE", "<image>")
    return (
        tf.PaliGemmaForConditionalGeneration(config),
        tf.PaliGemmaProcessor(image_processor=images, tokenizer=made, chat_template=template),
        made,
    )


FAMILIES = ("llava", "llava_next", "llava_onevision", "qwen2_vl", "qwen2_5_vl", "qwen3_vl")


def _made(kind: str) -> tuple[Any, Any]:
    """A model and its processor, in memory."""
    from tests.models import tiny_2026, tiny_newest, tiny_recent  # noqa: F401  (they add to MORE)
    from tests.models.tiny_hearing import HEARING, SPEECH
    from tests.models.tiny_more import MORE
    from tests.models.tiny_others import OTHERS

    if kind in HEARING:
        return HEARING[kind]()
    if kind in SPEECH:
        return SPEECH[kind]()
    if kind in MORE:
        return MORE[kind]()
    if kind in OTHERS:
        return OTHERS[kind]()
    makers = {"llava_onevision": _onevision, "llama": _llama, "idefics3": _idefics, "paligemma": _paligemma}
    if kind in makers:
        model, processor, _ = makers[kind]()
    else:
        model, processor, _ = _qwen(kind) if kind.startswith("qwen") else _clip_like(kind)
    return model, processor


def scaled(model: Any) -> Any:
    """The model with weights of 1 / sqrt(fan-in)."""
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if weights.dim() >= 2:
                experts = (
                    "experts" in name and weights.dim() == 3
                )  # (experts, inputs, outputs) or (experts, outputs, inputs)
                table = "embed" in name and weights.dim() == 2 and "proj" not in name and "patch" not in name
                weights.normal_(
                    0, 0.5 if table else (min(weights.shape[1:]) if experts else weights[0].numel()) ** -0.5
                )
            elif "gate" in name and weights.numel() == 1:
                weights.fill_(0.5)  # mllama adds pictures through gates that begin closed
    return model


def untied(model: Any) -> Any:
    """The model with output weights of its own."""
    for module in model.modules():
        if hasattr(module, "config"):
            for config in (module.config, module.config.get_text_config()):
                config.tie_word_embeddings = False
        head = module.get_output_embeddings() if hasattr(module, "get_output_embeddings") else None
        if head is not None and head.weight is module.get_input_embeddings().weight:
            head.weight = torch.nn.Parameter(head.weight.detach().clone())
    return model


def save(kind: str, folder: Path) -> Path:
    """Writes the checkpoint of a model type into a folder, and returns the folder."""
    torch.manual_seed(0)
    model, processor = _made(kind)
    scaled(model if kind == "diffusion_gemma" else untied(model))  # which shares all weights between its two sides
    if kind != "whisper":  # whose own names its languages and timestamps
        model.generation_config = tf.GenerationConfig(bos_token_id=1, eos_token_id=2, pad_token_id=0)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
