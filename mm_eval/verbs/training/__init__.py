"""Evaluation while a model is trained.

callback  EvalCallback: a callback of transformers' Trainer that evaluates the model in memory every N steps, or at saves
watch_verb  `mm-eval watch`: each new checkpoint of a folder is evaluated
curve     the numbers over the steps, each with its paired difference to the step before; curve_text, curve_page, figure: shown
drawing   lines, areas and texts as SVG and PNG
study     the folder of a training's evaluations: one run folder a step
"""
