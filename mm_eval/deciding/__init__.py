"""Plan a comparison, and end it when it is decided.

boundaries  group-sequential tests: spent alpha, boundaries, estimates after stopping
sequences   intervals that hold at every moment, for people who look whenever they like
design      how many docs a difference takes
order       the random order in which all models answer, cut into looks
tests       the pairs of models at a look: tested, ended, corrected for their number
looks       what a model is worth after each look, on disk for the others to read
deciding    how a run asks look by look, waits for the others, and stops
plan_verb   `mm-eval plan`
"""
