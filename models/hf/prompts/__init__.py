"""Prompts of a checkpoint: from an instance to token ids, pictures and videos. Nothing here needs the weights.

In the order of reading:

    prompt         chat template, picture placeholders, the boundary before a continuation
    dates          the day of the run for chat templates that write it
    data_text      special tokens in data kept as text
    preprocessing  a picture is decoded and preprocessed once
    videos         what families do with videos, as data; frames as the tensors of a video
    clips          which frames of a question are shown as videos
    video_prompt   prompts in which each video is one part
    length         prompts that are too long for the model
    ahead          prompts written in threads while the model computes
"""
