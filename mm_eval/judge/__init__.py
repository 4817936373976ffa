"""Judges: a second model that grades the answers of the first.

judges     the judges of a run: made from --judge, recorded in run.json
prompts    a question to a judge: what a task's function writes, as an Instance
verdicts   what the journal holds of a doc's verdicts, and which question is asked next
asking     the second pass of a run: asks the judges what they still need
"""
