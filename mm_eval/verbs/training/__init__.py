"""Evaluation while a model is trained.

callback  EvalCallback: a callback of transformers' Trainer that evaluates the model in memory every N steps, or at saves
watch_verb  `mm-eval watch`: each new checkpoint of a folder is evaluated
curve     the numbers over the steps, each with its paired difference to the step before
curve_text, curve_page, curve_figure  shown as tables, as a page and as a figure for papers
curve_chart  the chart of the page; drawing: lines, areas and texts as SVG
study     the folder of a training's evaluations: one run folder a step
"""
