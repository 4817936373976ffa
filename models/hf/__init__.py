"""Checkpoints of transformers, image-text and text: `--model hf`, `llava`, `qwen_vl`.

In the order of reading:

    adapter     the model: loads the parts, states request keys, hands instances on
    checkpoint_model
                what this adapter and `vllm` share: both hold a source
    source      a checkpoint's files and prompts, and what they add to its identity
    arguments   --model_args, checked
    checkpoint  the files behind `pretrained`, and their digests
    families    the differences between model types, as data
    self_check  what a model gives at all, and which short cuts a type that is not listed may take
    processor   tokenizer and processor
    beside      packages that transformers uses where they import
    weights     device, dtype, and the model with all its weights, quantised ones and adapters of PEFT too
    prompts/    instance -> token ids, pictures and videos; needs no weights, and `vllm` writes its prompts with it
    inference/  prompts -> texts and log-likelihoods; the only part that runs a model
    transcriber models that only write down what they hear: `--model whisper`
    asking      instances -> answers: prompts are written ahead, batched and run
"""
