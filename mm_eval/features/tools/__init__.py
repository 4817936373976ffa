"""Tools of a task: the model looks at a part of a picture again, or computes, and goes on.

tool, boxes   what a tool is, its limits, and boxes in the unit of a family
pictures      zoom, crop, rotate
calculator    arithmetic without running code
own           a function of a task as a tool
formats       how families announce tools, call them, and get results
"""
