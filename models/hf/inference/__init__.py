"""Inference with a loaded model: from prompts to texts and log-likelihoods, in batches and on shared caches.

In the order of reading:

    runtime     the loaded model: padding, batch sizes, running out of memory
    generate    batches -> text: options, stop strings, sampling
    scoring     log-likelihoods of continuations
    decoding    greedy answers in one batch that is kept full
    cache       keys and values of its rows, written in place
    beginnings  which prompts begin alike, how far, and attention to what they share
    sharing     prompts that begin alike run once; prefixes in a cache
    features    the vision tower's output, kept for the last pictures
"""
