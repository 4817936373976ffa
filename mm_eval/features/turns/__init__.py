"""Conversations of several rounds: `rounds:` in a task file names the function that says what comes after each answer.

rounds   the key `rounds`, and what makes the turns of a task from it
"""

QUESTION_KEYS = {"rounds": "rounds:RoundsKey", "max_rounds": "rounds:MostRoundsKey"}
TURNS = {"rounds": "rounds:Rounds"}
