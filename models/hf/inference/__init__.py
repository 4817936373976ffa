"""Inference with a loaded model: from prompts to texts and log-likelihoods, in batches and on shared caches.

In the order of reading:

    runtime     the loaded model: batches, and what happens when the memory runs out
    limits      how many tokens may run together
    generate    batches -> text: options, stop strings, sampling
    scoring     log-likelihoods of continuations
    decoding    greedy answers in one batch that is kept full
    beginnings  which prompts begin alike, and how far
    prefixes    what prompts begin with runs once: prefixes in a cache
    cache       keys and values of the rows that are decoded, written in place
    attention   attention to keys that rows share, and to their own
    positions   rotary positions of the text after a video
    features    the vision tower's output, kept for the last pictures
"""
