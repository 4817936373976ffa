"""Checkpoints of transformers, image-text and text: `--model hf`, `llava`, `qwen_vl`."""
