"""Builds the reference model of the figures: a random LLaVA, ViT 6 x 512 at 336 px (577 positions), llama 8 x 512, 32,000 tokens.

python benchmarks/reference_model.py FOLDER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

SEED = 0
TEXTS = [
    "user: assistant: Is there a person in the picture? Please answer yes or no. Answer with the option's letter.",
    "What is the color of the car on the left side of the street? A. red B. blue C. the yellow bus D. a dog",
] * 8
TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }}: {% for c in m['content'] %}"
    "{% if c['type'] == 'image' %}<image>\n{% else %}{{ c['text'] }}{% endif %}{% endfor %}{{ '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)


def tokenizer(*special: str, **named: str) -> Any:
    """A byte-level BPE tokenizer of 600 tokens, and more special ones."""
    import transformers as tf
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=["<pad>", "<s>", "</s>", "<unk>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(TEXTS, trainer)
    made = tf.PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        padding_side="left",
        extra_special_tokens=named,
    )
    if special:
        made.add_special_tokens({"extra_special_tokens": list(special)}, replace_extra_special_tokens=False)
    return made


def llava(vision: dict[str, int], text: dict[str, int]) -> tuple[Any, Any]:
    """A configuration of LLaVA-1.5's form for pictures of 336 px, and its processor."""
    import transformers as tf

    made = tokenizer(image_token="<image>")
    config = tf.LlavaConfig(
        vision_config=tf.CLIPVisionConfig(image_size=336, patch_size=14, **vision),
        text_config=tf.LlamaConfig(max_position_embeddings=4096, pad_token_id=0, **text),
        image_token_id=made.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-2,
    )
    processor = tf.LlavaProcessor(
        image_processor=tf.CLIPImageProcessorPil(size={"shortest_edge": 336}, crop_size={"height": 336, "width": 336}),
        tokenizer=made,
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=TEMPLATE,
    )
    return config, processor


def for_vllm(folder: Path) -> None:
    """LLaVA's vision weights under the hub's names, and a part for videos in Qwen's processor: vLLM reads no others."""
    from safetensors.torch import load_file, save_file

    tower, wanted = "vision_tower.", "vision_tower.vision_model."

    def hub_name(name: str) -> str:
        rename = name.startswith(tower) and not name.startswith(wanted)
        return wanted + name.removeprefix(tower) if rename else name

    for path in folder.glob("*.safetensors"):
        tensors = {hub_name(name): values for name, values in load_file(path).items()}
        save_file(tensors, path, metadata={"format": "pt"})
    index = folder / "model.safetensors.index.json"
    if index.exists():
        listed = json.loads(index.read_text())
        listed["weight_map"] = {hub_name(name): file for name, file in listed["weight_map"].items()}
        index.write_text(json.dumps(listed))
    path = folder / "processor_config.json"
    config = json.loads(path.read_text())
    if "Qwen2_5_VL" in config["processor_class"]:
        names = ("patch_size", "temporal_patch_size", "merge_size", "image_mean", "image_std", "size")
        shared = {name: config["image_processor"][name] for name in names}
        config["video_processor"] = {"video_processor_type": "Qwen2VLVideoProcessor", **shared}
        path.write_text(json.dumps(config))


def build(folder: Path) -> Path:
    """Writes model and processor into a folder, once."""
    if (folder / "processor_config.json").exists():
        return folder
    import torch
    import transformers as tf

    torch.manual_seed(SEED)
    vision = {"hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 6, "num_attention_heads": 8}
    text = {"hidden_size": 512, "intermediate_size": 1344, "num_hidden_layers": 8, "num_attention_heads": 8}
    config, processor = llava({**vision, "projection_dim": 512}, {**text, "vocab_size": 32000})
    model = tf.LlavaForConditionalGeneration(config)
    model.generation_config = tf.GenerationConfig(bos_token_id=1, eos_token_id=2, pad_token_id=0)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    for_vllm(folder)
    return folder


if __name__ == "__main__":
    print(build(Path(sys.argv[1])))
