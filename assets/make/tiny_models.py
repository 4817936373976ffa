"""The two tiny models: tokenizer, processor and an untrained model of a real architecture for each."""

import json
import os
import random
from pathlib import Path
from typing import Any

import torch
from drawing import SIZE
from prompts import render
from questions import draw_training, questions_for
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

PATCH = {"llava": 12, "qwen": 8}
WIDTH, VISION_WIDTH, LAYERS = 128, 96, 6
SIDE = {"llava": SIZE // PATCH["llava"], "qwen": SIZE // (2 * PATCH["qwen"])}
"""Image tokens along one side of a picture: 8 for LLaVA; 6 for Qwen2-VL, which merges 2 x 2 patches."""

LLAVA_TEMPLATE = (
    "{% for message in messages %}{% if message['role'] != 'system' %}{{ message['role'].upper() + ': ' }}{% endif %}"
    "{% if message['content'] is string %}{{ message['content'] + ' ' }}{% else %}"
    "{% for part in message['content'] | selectattr('type', 'equalto', 'image') %}{{ '<image>\n' }}{% endfor %}"
    "{% for part in message['content'] | selectattr('type', 'equalto', 'text') %}{{ part['text'] + ' ' }}{% endfor %}"
    "{% endif %}{% endfor %}{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}"
)
QWEN_TEMPLATE = (
    "{% for message in messages %}{% if loop.first and message['role'] != 'system' %}"
    "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n{% endif %}"
    "<|im_start|>{{ message['role'] }}\n{% if message['content'] is string %}{{ message['content'] }}<|im_end|>\n"
    "{% else %}{% for part in message['content'] %}{% if part['type'] == 'image' or 'image_url' in part %}"
    "<|vision_start|><|image_pad|><|vision_end|>{% elif part['type'] == 'video' %}"
    "<|vision_start|><|video_pad|><|vision_end|>{% elif 'text' in part %}{{ part['text'] }}{% endif %}{% endfor %}"
    "<|im_end|>\n{% endif %}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
PLAIN = """the of and to in is that it was for on are as with his they at be this from have or by one had not but what
all were when we there can an your which their said if do will each about how up out them then she many some so these
would other into has more her two like him see time could no make than first been its who now people my made over did
down only way find use may water long little very after words called just where most know get through back much before
go good new write our me man too any day same right look think also around another came come work three must because
does part even place well such here take why help put different away again off went old number great tell men say small
every found still between name should home big give air line set own under read last never us left end along while might
next sound below saw something thought both few those always looked show large often together asked house world going
want school important until form food keep children feet land side without boy once animal life enough took sometimes
four head above kind began almost live page got earth need far hand high year mother light country father let night
picture being study second soon story since white ever paper hard near sentence better best across during today however
sure knew try told young sun thing whole hear example heard several change answer room sea against top turned learn
point city play toward five himself usually person photo image scene woman dog cat car bus street table chair sky tree
background foreground visible located following option describe caption question choose correct"""
"""Frequent English words, so that the merges of the vocabulary are not those of our questions only."""


def byte_level_bpe(text: list[str], special: list[str], vocabulary: int) -> Tokenizer:
    """A byte-level BPE trained on a text. special: tokens of their own."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[AddedToken(token, special=True, normalized=False) for token in special],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(text, trainer)
    return tokenizer


def save_checkpoint(state: dict[str, Any], path: Path) -> None:
    """Writes a checkpoint of a training beside its place and moves it there, so that a kill leaves the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    torch.save(state, part)
    os.replace(part, path)


def build_tokenizer(arch: str, vocabulary: int = 800) -> PreTrainedTokenizerFast:
    """A byte-level BPE trained on the questions and plain English: every text has tokens, none is unknown."""
    rng = random.Random(5)
    frame = ["USER: ", " ASSISTANT: Yes", "system\nYou are a helpful assistant.", "user\n", "assistant\n"]
    text = [PLAIN] * 2 + frame * 20
    for number in range(2000):
        picture = draw_training(rng, video=number % 12 == 0)
        for question in questions_for(picture, rng, (3, 2, 1)):
            for prompt in ("llava", "qwen", "bare"):
                asked, answer = render(question, prompt)
                text += [asked, " " + answer.strip(), answer]
    options: dict[str, Any] = {}
    if arch == "llava":
        special = ["<unk>", "<s>", "</s>", "<pad>", "<image>"]
        options.update(unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token="<pad>")
        options["extra_special_tokens"] = {"image_token": "<image>"}
    else:
        special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>"]
        special += ["<|image_pad|>", "<|video_pad|>"]
        options.update(eos_token="<|im_end|>", pad_token="<|endoftext|>")
        options["extra_special_tokens"] = {"image_token": "<|image_pad|>", "video_token": "<|video_pad|>"}
    tokenizer = byte_level_bpe(text, special, vocabulary)
    if arch == "llava":
        begin = ("<s>", tokenizer.token_to_id("<s>"))
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A", pair="<s> $A $B", special_tokens=[begin]
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        padding_side="left",
        model_max_length=2048,
        clean_up_tokenization_spaces=False,
        **options,
    )


def image_only_qwen2_vl() -> Any:
    """Qwen2VLProcessor without its video processor, which transformers 5.23 builds with torchvision only.

    The parts of a processor are read from the signature of __init__, so leaving the argument out is enough.
    """
    from transformers import ProcessorMixin, Qwen2VLProcessor

    class ImageOnlyQwen2VLProcessor(Qwen2VLProcessor):  # type: ignore[misc]
        def __init__(
            self, image_processor: Any = None, tokenizer: Any = None, chat_template: Any = None, **kwargs: Any
        ) -> None:
            for kind in ("image", "video"):
                token = f"<|{kind}_pad|>"
                setattr(self, f"{kind}_token", token)
                setattr(self, f"{kind}_token_id", tokenizer.convert_tokens_to_ids(token))
            ProcessorMixin.__init__(self, image_processor, tokenizer, chat_template=chat_template)

    return ImageOnlyQwen2VLProcessor


def build_processor(arch: str, tokenizer: PreTrainedTokenizerFast) -> Any:
    """The processor, with an image processor on Pillow."""
    half: dict[str, Any] = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    if arch == "llava":
        from transformers import CLIPImageProcessorPil, LlavaProcessor

        square = {"height": SIZE, "width": SIZE}
        return LlavaProcessor(
            CLIPImageProcessorPil(size={"shortest_edge": SIZE}, crop_size=square, **half),
            tokenizer,
            patch_size=PATCH[arch],
            vision_feature_select_strategy="default",
            num_additional_image_tokens=1,
            chat_template=LLAVA_TEMPLATE,
        )
    from transformers import Qwen2VLImageProcessorPil

    # Trained on one size only, so every picture is brought to it.
    area = {"shortest_edge": SIZE**2, "longest_edge": SIZE**2}
    images = Qwen2VLImageProcessorPil(size=area, patch_size=PATCH[arch], temporal_patch_size=2, merge_size=2, **half)
    return image_only_qwen2_vl()(images, tokenizer, chat_template=QWEN_TEMPLATE)


def save_processor(processor: Any, folder: Path) -> None:
    """save_pretrained, then the names that AutoProcessor expects where torchvision is installed."""
    processor.save_pretrained(folder)
    path = folder / "processor_config.json"
    config = json.loads(path.read_text())
    if "Qwen2VL" not in config["processor_class"]:
        return
    config["processor_class"] = "Qwen2VLProcessor"
    shared = ("patch_size", "temporal_patch_size", "merge_size", "image_mean", "image_std", "size")
    video = {"video_processor_type": "Qwen2VLVideoProcessor"}
    config["video_processor"] = {**video, **{key: config["image_processor"][key] for key in shared}}
    path.write_text(json.dumps(config, indent=2) + "\n")
    path = folder / "tokenizer_config.json"
    path.write_text(path.read_text().replace("ImageOnlyQwen2VLProcessor", "Qwen2VLProcessor"))


def build_model(arch: str, tokenizer: PreTrainedTokenizerFast) -> Any:
    """An untrained model of about 1.9 M parameters."""
    token = tokenizer.convert_tokens_to_ids
    text: dict[str, Any] = {
        "vocab_size": len(tokenizer),
        "hidden_size": WIDTH,
        "intermediate_size": 352,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "max_position_embeddings": 2048,
        "tie_word_embeddings": True,
        "initializer_range": 0.06,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    model = _llava(tokenizer, text) if arch == "llava" else _qwen2_vl(token, text)
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.do_sample = False
    return model


def load(arch: str, folder: Path) -> tuple[PreTrainedTokenizerFast, Any]:
    """The tokenizer and the model of a trained folder, in float32, to be trained on."""
    from transformers import LlavaForConditionalGeneration, Qwen2VLForConditionalGeneration

    kind = LlavaForConditionalGeneration if arch == "llava" else Qwen2VLForConditionalGeneration
    model = kind.from_pretrained(folder, dtype=torch.float32)
    return PreTrainedTokenizerFast.from_pretrained(folder, padding_side="left"), model


def _llava(tokenizer: PreTrainedTokenizerFast, text: dict[str, Any]) -> Any:
    from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig, LlavaForConditionalGeneration

    vision = CLIPVisionConfig(
        hidden_size=VISION_WIDTH,
        intermediate_size=288,
        num_hidden_layers=4,
        num_attention_heads=4,
        image_size=SIZE,
        patch_size=PATCH["llava"],
        projection_dim=VISION_WIDTH,
        initializer_factor=3.0,
    )
    config = LlavaConfig(
        vision_config=vision,
        # With the biases that Qwen2's attention has, so that the two models differ in what they see, not in how they read.
        text_config=LlamaConfig(bos_token_id=tokenizer.bos_token_id, attention_bias=True, **text),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        image_seq_length=SIDE["llava"] ** 2,
        vision_feature_layer=-1,
        tie_word_embeddings=True,
    )
    model = LlavaForConditionalGeneration(config)
    # CLIP's random position table is tiny beside the patches; from 2-D sinusoids attention sees places at once.
    side = SIDE["llava"]
    waves = torch.pi / side * 2 ** torch.linspace(0, 3, VISION_WIDTH // 4)
    angles = (torch.arange(side)[:, None] + 0.5) * waves
    line = torch.cat([angles.sin(), angles.cos()], 1)
    rows, columns = line[:, None].expand(side, side, -1), line[None].expand(side, side, -1)
    with torch.no_grad():
        table = torch.cat([rows, columns], 2).reshape(side * side, -1)
        model.model.vision_tower.embeddings.position_embedding.weight[1:] = 0.8 * table
    return model


def _qwen2_vl(token: Any, text: dict[str, Any]) -> Any:
    from transformers import Qwen2VLConfig, Qwen2VLForConditionalGeneration

    text.update(
        bos_token_id=token("<|endoftext|>"),
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [4, 6, 6]},
    )
    vision = {"depth": 4, "embed_dim": VISION_WIDTH, "hidden_size": WIDTH, "mlp_ratio": 3, "num_heads": 4}
    vision.update(patch_size=PATCH["qwen"], spatial_merge_size=2, temporal_patch_size=2)
    config = Qwen2VLConfig(
        text_config=text,
        vision_config={**vision, "initializer_range": 0.06},
        tie_word_embeddings=True,
        image_token_id=token("<|image_pad|>"),
        video_token_id=token("<|video_pad|>"),
        vision_start_token_id=token("<|vision_start|>"),
        vision_end_token_id=token("<|vision_end|>"),
    )
    return Qwen2VLForConditionalGeneration(config)
