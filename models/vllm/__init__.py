"""`--model vllm`: the checkpoints of `hf` on vLLM's engine, in this process's own environment.

    adapter  the model: arguments, identity, start and end of the engine
    prompt   what the engine gets for a question: token ids, pictures and frames of videos
    asking   instances in, answers out, each as soon as the engine has it
    engine   the only file that imports vllm: one engine, driven from a thread

Prompts are written by `models/hf/prompts` as token ids, so vLLM never sees a template and adds no BOS.
"""
