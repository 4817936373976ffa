"""What a thinking model writes before its answer: which marks enclose it, and how an answer is separated from it.

    families   the marks and the frames of known model families, as data
    split      a text -> its reasoning and its answer
    tokens     token ids -> the same; the tokenizer tells a mark from a quoted one
    recorded   recorded answers -> texts that know how they ended, for the filter `strip_thinking`

Marks enclose the reasoning (`<think>` ... `</think>`). A frame encloses the answer (`<answer>` ... `</answer>`).
"""
