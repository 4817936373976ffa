"""A recorded run in the formats of other tools, which their own readers open.

inspect    one log of inspect_ai for each task, for `inspect view`
harness    the folders that lm-evaluation-harness and lmms-eval write
hub        the model-index of a model card, and the hub's eval-results
"""

EXPORTS = {
    "inspect": "writers:inspect",
    "lm_eval": "writers:lm_eval",
    "lmms_eval": "writers:lmms_eval",
    "eval_results": "writers:eval_results",
}
CARDS = {"model-index": "hub:model_index"}
