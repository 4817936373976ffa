"""MMLU-Pro: sums in the words of each of the 14 categories, with worked examples."""

from datasets import List, Value

from samples import Row, Sample, rng

TEXT, INT = Value("string"), Value("int64")
FEATURES = {
    "question_id": INT, "question": TEXT, "options": List(TEXT), "answer": TEXT, "answer_index": INT, "cot_content": TEXT,
    "category": TEXT, "src": TEXT,
}  # fmt: skip
THINGS = {
    "biology": "cells", "business": "invoices", "chemistry": "atoms", "computer science": "bits", "economics": "coins",
    "engineering": "screws", "health": "tablets", "history": "letters", "law": "contracts", "math": "points",
    "other": "stamps", "philosophy": "arguments", "physics": "photons", "psychology": "answers",
}  # fmt: skip
LETTERS = "ABCDEFGHIJ"


def _row(number: int, category: str, worked: bool) -> Row:
    """A question on a sum; with the worked answer if it is an example."""
    stream = rng("mmlu_pro", category, number)
    thing = THINGS[category]
    first, second = stream.randint(3, 40), stream.randint(3, 40)
    total = first + second
    options = sorted(
        stream.sample([n for n in range(total - 9, total + 10) if n != total], stream.choice([3, 9])) + [total]
    )
    place = options.index(total)
    thought = f"A: Let's think step by step. {first} and {second} are {total}. The answer is ({LETTERS[place]})."
    return {
        "question_id": number, "question": f"Someone has {first} {thing} and gets {second} more. How many {thing} are there now?",
        "options": [str(n) for n in options], "answer": LETTERS[place], "answer_index": place,
        "cot_content": thought if worked else "", "category": category, "src": "made up",
    }  # fmt: skip


def samples() -> list[Sample]:
    """Five examples and two questions for each category, in the order of the categories' names."""
    examples = [_row(100 * n + k, name, True) for n, name in enumerate(THINGS) for k in range(5)]
    rows = [_row(5000 + 100 * n + k, name, False) for n, name in enumerate(THINGS) for k in range(2)]
    hub = "TIGER-Lab/MMLU-Pro"
    return [Sample(hub, "test", FEATURES, rows), Sample(hub, "validation", FEATURES, examples)]
