"""Prompts of a checkpoint: from an instance to token ids, pictures and videos."""
