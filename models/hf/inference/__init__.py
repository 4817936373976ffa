"""Inference with a loaded model: from prompts to texts and log-likelihoods."""
