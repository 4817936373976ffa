"""Small text checkpoints for the comparison: a minute of training teaches them to answer in one line and to stop.

Random weights would never say what a filter or an exact match can find, and equal scores of zero prove little.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from tests.peers.text_data import training_texts

KINDS = ("llama-bos", "qwen2-no-bos")
TEMPLATE = (
    "{{ bos_token or '' }}{% for m in messages %}<|{{ m['role'] }}|>\n{{ m['content'] }}</s>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
STEPS, ROWS, LENGTH = 800, 8, 128


def save(kind: str, root: Path) -> Path:
    """The folder of the checkpoint of this kind below `root`, written unless it is there, made by this very code.

    llama-bos: the tokenizer puts <s> first, 2,048 positions, a chat template. qwen2-no-bos: no BOS token at all, a tied
    embedding, and only 384 positions, so that long prompts are cut.
    """
    texts = list(training_texts(3000))
    made_by = hashlib.sha256(Path(__file__).read_bytes() + "".join(texts).encode()).hexdigest()[:8]
    folder = root / f"{kind}-{made_by}"
    if (folder / "complete").exists():
        return folder
    import torch
    import transformers as tf

    torch.manual_seed(0)
    bos = kind == "llama-bos"
    tokenizer = _tokenizer(texts, bos)
    shape: dict[str, Any] = {
        "hidden_size": 96, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "vocab_size": len(tokenizer), "pad_token_id": 0, "eos_token_id": 2,
    }  # fmt: skip
    model: Any
    if bos:
        model = tf.LlamaForCausalLM(tf.LlamaConfig(**shape, bos_token_id=1, max_position_embeddings=2048))
    else:
        config = tf.Qwen2Config(**shape, bos_token_id=None, max_position_embeddings=384, tie_word_embeddings=True)
        model = tf.Qwen2ForCausalLM(config)
    _train(model, tokenizer, texts)
    model.generation_config = tf.GenerationConfig(bos_token_id=1 if bos else None, eos_token_id=2, pad_token_id=0)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (folder / "complete").touch()
    return folder


def _tokenizer(texts: list[str], bos: bool) -> Any:
    """Byte-level BPE of 600 tokens, so that no text is unknown to it."""
    import transformers as tf
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=["<pad>", "<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(texts, trainer)
    if bos:
        bpe.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    made = tf.PreTrainedTokenizerFast(
        tokenizer_object=bpe, bos_token="<s>" if bos else None, eos_token="</s>", pad_token="<pad>"
    )
    made.chat_template = TEMPLATE
    return made


def _train(model: Any, tokenizer: Any, texts: list[str]) -> None:
    """Next-token training on the texts one after the other, cut into rows."""
    import torch

    ids = [token for text in texts for token in tokenizer(text)["input_ids"]]
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    generator = torch.Generator().manual_seed(0)
    model.train()
    for _ in range(STEPS):
        starts = torch.randint(0, len(ids) - LENGTH, (ROWS,), generator=generator).tolist()
        batch = torch.tensor([ids[start : start + LENGTH] for start in starts])
        loss = model(input_ids=batch, labels=batch).loss
        loss.backward()
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    model.eval()
    print(f"loss {loss.item():.2f}")
