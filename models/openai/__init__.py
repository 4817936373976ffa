"""Servers with OpenAI's protocol: `--model openai`."""
