"""How families of models call tools: one table of formats.

Each says how tools are announced, how a call is read, and how its result is given back.

call     a call as it was read, and one that can't be read
reading  the calls in an answer, whichever format it uses
table    the formats, and which family uses which
"""
