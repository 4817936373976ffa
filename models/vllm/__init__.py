"""`--model vllm`: the checkpoints of `hf` on vLLM's engine, in this process's own environment.

adapter.py    the model: arguments, identity, start and end of the engine
asking.py     instances in, answers out, each as soon as the engine has it
engine.py     the only file that imports vllm: one engine, driven from a thread

Prompts are written by `models/hf/prompts/prompt.py` as token ids, so vLLM never sees a template and adds no BOS.
"""
