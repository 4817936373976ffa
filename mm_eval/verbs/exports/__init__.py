"""A recorded run in the formats of other tools, which their own readers open; and the logs of other suites as run folders.

inspect    one log of inspect_ai for each task, for `inspect view`
harness    the folders that lm-evaluation-harness and lmms-eval write
hub        the model-index of a model card, and the hub's eval-results
logs       readers of what lm-eval, lmms-eval, VLMEvalKit and inspect_ai write
importing  a run folder of such logs; matching finds the document of each row; imported keeps its own scores
"""
