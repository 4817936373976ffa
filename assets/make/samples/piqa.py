"""PIQA: goals of everyday life with a way that works and one that does not."""

from datasets import Value

from samples import Row, Sample

FEATURES = {"goal": Value("string"), "sol1": Value("string"), "sol2": Value("string"), "label": Value("int64")}
GOALS = [  # goal, what works, what does not
    ("dry a wet shoe", "Stuff it with newspaper over night.", "Stuff it with wet sponges over night."),
    ("cut bread without crumbs", "Use a sharp knife with teeth.", "Use the back of a spoon."),
    (
        "find a lost ring on the floor",
        "Sweep the floor with a torch held low.",
        "Paint the floor in the colour of the ring.",
    ),
    ("keep a door open", "Push a wedge under it.", "Push a wedge into the lock of the window."),
    (
        "cool a drink quickly",
        "Wrap a wet towel around the bottle and put it into the freezer.",
        "Wrap a wet towel around the oven.",
    ),
    ("carry hot soup", "Pour it into a flask with a lid.", "Pour it into a paper bag."),
    ("remember a birthday", "Write it into a calendar.", "Write it on the water of a lake."),
    ("hang a picture straight", "Use a spirit level.", "Use a thermometer."),
    ("sharpen a pencil", "Turn it in a sharpener.", "Turn it in a glass of milk."),
    ("open a jar that is stuck", "Run hot water over the lid.", "Run cold water over the table."),
]


def samples() -> list[Sample]:
    """Eight goals to score and two for examples."""
    rows: list[Row] = []
    for number, (goal, works, fails) in enumerate(GOALS):
        label = number * 7 % 3 % 2
        first, second = (fails, works) if label else (works, fails)
        rows.append({"goal": f"How do I {goal}?", "sol1": first, "sol2": second, "label": label})
    return [Sample("baber/piqa", "train", FEATURES, rows[8:]), Sample("baber/piqa", "validation", FEATURES, rows[:8])]
