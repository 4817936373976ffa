"""Evaluation while a model is trained.

callback  EvalCallback: a callback of transformers' Trainer that evaluates the model in memory every N steps, or at saves
study     the folder of a training's evaluations: one run folder a step
"""

TRAINING = {"EvalCallback": "callback:EvalCallback"}
