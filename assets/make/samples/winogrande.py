"""WinoGrande: pairs of sentences that differ in one word, which turns the answer round."""

from datasets import Value

from samples import Sample

FEATURES = {column: Value("string") for column in ("sentence", "option1", "option2", "answer")}
PAIRS = (  # sentence, names, words that make the first and the second name right
    ("The trophy did not fit into the suitcase because the _ was too {}.", "trophy", "suitcase", "big", "small"),
    ("Anna lent Maria the book because _ had {} it.", "Anna", "Maria", "finished", "wanted"),
    ("Paul was taller than Tom, so _ {} the lamp.", "Paul", "Tom", "easily reached", "could not reach"),
    ("The van passed the bus because the _ was so {}.", "van", "bus", "fast", "slow"),
    ("Jan sold his boat to Erik, since _ {} a boat.", "Jan", "Erik", "no longer needed", "wanted to own"),
    ("The soup tasted better than the salad because the _ was {}.", "soup", "salad", "well salted", "not dressed"),
    ("Lena asked Olga for help, because _ {} the answer.", "Lena", "Olga", "did not know", "surely knew"),
    ("The ball broke the table, since the _ was made of {}.", "ball", "table", "steel", "thin glass"),
)


def samples() -> list[Sample]:
    """Twelve sentences to score and four for examples."""
    rows = [
        {"sentence": sentence.format(word), "option1": first, "option2": second, "answer": str(answer)}
        for sentence, first, second, *words in PAIRS
        for answer, word in enumerate(words, 1)
    ]
    return [
        Sample("allenai/winogrande", "train", FEATURES, rows[12:], "winogrande_xl"),
        Sample("allenai/winogrande", "validation", FEATURES, rows[:12], "winogrande_xl"),
    ]
