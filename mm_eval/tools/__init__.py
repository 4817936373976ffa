"""Tools of a task: the model looks at a part of a picture again, or computes, and goes on.

tool, boxes   what a tool is, its limits, and boxes in the unit of a family
pictures      zoom, crop, rotate
calculator    arithmetic without running code
own           a function of a task as a tool
formats       how families announce tools, call them, and get results
config        the key `tools` of task files
turns         the conversation: what is said after each answer, by rules that the recorded answers alone decide
calls         what the answers say: which calls, how many, and whether one is the last
counting      the counts as numbers of a run and fields of its samples
findings      what `mm-eval diagnose` says about them
"""
