"""Checkpoints of transformers, image-text and text: `--model hf`, `llava`, `qwen_vl`.

A prompt passes through these files, in the order of reading:

    adapter        the model: loads the parts, states request keys, hands instances on
    arguments      --model_args, checked
    checkpoint     the files behind `pretrained`, and their digests
    weights        quantised weights, and adapters of PEFT
    families       the differences between model types, as data; the self-check of an unlisted type
    processor      tokenizer and processor; special tokens in data kept as text
    preprocessing  a picture is decoded and preprocessed once
    prompt         instance -> token ids and pictures
    asking         instances -> batches -> answers; log-likelihoods
    generate       batches -> text: greedy decoding, sampling, stop strings
    alike          which prompts begin alike, and how far
    sharing        prompts that begin alike run once; prefixes in a cache
    pictures       prompts written ahead in threads; features of pictures kept
    runtime        the loaded model: padding, batch sizes, running out of memory
"""
