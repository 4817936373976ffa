"""Commands, names and model arguments of lm-eval, lmms-eval, VLMEvalKit and inspect_ai, as their users type them.

Each is taken as it is, put into our words, or refused in one sentence that says what to write. What does nothing here is a note.
The tables are plain data: a further name is one line.

command      the words of a command
flags        every option of the other suites (data)
request      the adapter and its arguments, as a request states them
adapters     every model name of the other suites, the arguments of their models, and checkpoints in a format of their own (data)
names        every name of theirs that means a benchmark here (data), and where to find those that don't
"""

OTHERWISE = {"--config": "", "--tasks": "^list", "--output_path": r"\.json$", "--gen_kwargs": r"\bstop\s*="}
"""A file of options, a list of tasks, lm-eval's file of results, and its name of `until`."""
