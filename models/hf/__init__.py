"""Checkpoints of transformers, image-text and text: `--model hf`, `llava`, `qwen_vl`.

A prompt passes through these files, in the order of reading:

    adapter        the model: loads the parts, states request keys, hands instances on
    arguments      --model_args, checked
    checkpoint     the files behind `pretrained`, and their digests
    weights        device, dtype, and the model with all its weights, quantised ones and adapters of PEFT too
    families       the differences between model types, as data; the self-check of an unlisted type
    processor      tokenizer and processor; special tokens in data kept as text
    preprocessing  a picture is decoded and preprocessed once
    prompt         instance -> token ids and pictures
    videos         what families do with videos, as data; frames as the tensors of a video
    video_prompt   prompts in which each video is one part
    asking         instances -> batches -> answers
    scoring        log-likelihoods of continuations
    generate       batches -> text: options, stop strings, sampling
    decoding       greedy answers in one batch that is kept full
    cache          keys and values of its rows, written in place
    beginnings     which prompts begin alike, how far, and attention to what they share
    sharing        prompts that begin alike run once; prefixes in a cache
    pictures       prompts written ahead in threads; features of pictures kept
    runtime        the loaded model: padding, batch sizes, running out of memory
"""
