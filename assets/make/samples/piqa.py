"""PIQA: everyday goals, each with a solution that works and one that does not."""

from datasets import ClassLabel, Value

from samples import Row, Sample, rng

FEATURES = {
    "goal": Value("string"),
    "sol1": Value("string"),
    "sol2": Value("string"),
    "label": ClassLabel(names=["0", "1"]),
}
GOALS = (  # goal, what works, what does not
    ("How do I keep cut apples from turning brown?", "Sprinkle them with lemon juice.", "Sprinkle them with soil."),
    ("To dry wet shoes overnight,", "stuff them with newspaper.", "stuff them with wet sponges."),
    ("How do you open a jar's tight lid?", "Hold the lid under hot water, then turn it.", "Cool the lid on ice, then push it."),
    ("To find a small screw on a dark floor,", "shine a torch along the floor.", "close your eyes and listen."),
    ("How do I stop a door from squeaking?", "Put a drop of oil on the hinges.", "Put a drop of oil on the window."),
    ("To separate an egg,", "pass the yolk between the halves of the shell.", "pass the whole egg through a strainer."),
    ("remove a ring from a swollen finger", "Rub soap on the finger and turn the ring.", "Rub flour on it and pull the elbow."),
    ("To light a candle in a deep jar,", "use a dry stick of spaghetti as a match.", "use a cooked spaghetti as a match."),
    ("How do you ripen an avocado faster?", "Put it in a paper bag with a banana.", "Put it in the freezer with a banana."),
    ("To carry several bottles at once,", "use a crate.", "use a colander full of water."),
    ("How do I clean a muddy carpet?", "Let the mud dry, then vacuum it up.", "Add water until the mud reaches every corner."),
    ("To measure a curved line on a map,", "lay a thread on it and measure the thread.", "lay a ruler on it and bend the table."),
    ("How do I chill a drink quickly?", "Put it in water with ice and salt.", "Wrap it in a wool blanket near the stove."),
    ("To remember a shopping list,", "write it down.", "write it on the water in the sink."),
)  # fmt: skip


def _row(number: int) -> Row:
    """A goal with its solutions in a drawn order."""
    goal, works, fails = GOALS[number]
    label = rng("piqa", number).randrange(2)
    first, second = (fails, works) if label else (works, fails)
    return {"goal": goal, "sol1": first, "sol2": second, "label": label}


def samples() -> list[Sample]:
    """Twelve questions to score and two for examples."""
    rows = [_row(number) for number in range(len(GOALS))]
    return [
        Sample("baber/piqa", "train", FEATURES, rows[12:]),
        Sample("baber/piqa", "validation", FEATURES, rows[:12]),
    ]
