"""Conversations of several rounds: `rounds:` in a task file names the function that says what comes after each answer.

rounds      the keys `rounds` and `max_rounds`, and what makes the turns of a task from them
lmms_eval   the same of a task of lmms-eval, whose doc_to_text is called again after each answer
agentic     the same of its tasks that act on a simulated environment
show        a conversation with a scripted model, for `mm-eval show --turns`
"""
