"""MMStar: twelve questions, two in each of its six categories; the options stand in the question."""

from datasets import Image, Value

from samples import Row, Sample, drawn, png

TEXT = Value("string")
FEATURES = {
    "index": Value("int64"),
    "question": TEXT,
    "image": Image(),
    "answer": TEXT,
    "category": TEXT,
    "l2_category": TEXT,
    "meta_info": {"source": TEXT, "split": TEXT, "image_path": TEXT},
}
QUESTIONS = (  # kind of picture, what it shows, question, options, category, l2 category
    ("location", "beach", "Which place does the picture show?", ("a beach", "a forest", "a city", "a farm"), 0, 0),
    ("artwork", "dots", "What is the pattern of the framed picture?", ("stripes", "dots", "rings", "waves"), 0, 1),
    ("state", "green light", "Which lamp is lit?", ("red", "yellow", "green", "none"), 1, 1),
    ("poster", "SHIP", "Which word is printed?", ("SHIP", "MOON", "KING", "BALL"), 1, 0),
    (
        "act",
        "holding the ball",
        "What is the figure doing?",
        ("kicking", "lifting", "sitting", "holding the ball"),
        2,
        0,
    ),
    ("face", "Elena", "Does the person wear glasses?", ("yes", "no", "nan", "nan"), 2, 1),
    ("code", "6", "What does the code print?", ("4", "5", "6", "8"), 3, 0),
    ("state", "half full", "How full is the glass?", ("half full", "empty", "full", "overflowing"), 3, 2),
    ("landmark", "Lund Arch", "Which form carries the load here?", ("a dome", "an arch", "a cable", "a wheel"), 4, 1),
    ("state", "snow", "What falls from the cloud?", ("rain", "hail", "dust", "snow"), 4, 2),
    ("arithmetic", "7", "What is the result?", ("5", "7", "8", "9"), 5, 1),
    ("arithmetic", "3", "What is the result plus one?", ("4", "5", "6", "7"), 5, 0),
)
CATEGORIES = (
    ("coarse perception", ("image scene and topic", "image style & quality", "image emotion")),
    ("fine-grained perception", ("recognition", "object counting", "localization")),
    ("instance reasoning", ("single-instance reasoning", "cross-instance attribute reasoning")),
    ("logical reasoning", ("code & sequence reasoning", "diagram reasoning", "common reasoning")),
    ("science & technology", ("biology & chemistry & physics", "electronics & energy & mechanical eng.")),
    ("math", ("geometry", "numeric commonsense and calculation", "statistical reasoning")),
)
ANSWERS = "ABCADACABDBA"


def samples() -> list[Sample]:
    """The only split, val."""
    return [Sample("Lin-Chen/MMStar", "val", FEATURES, [_row(number) for number in range(len(QUESTIONS))])]


def _row(number: int) -> Row:
    kind, shown, question, options, category, finer = QUESTIONS[number]
    pictures = (drawn(kind, "mmstar", number, attempt) for attempt in range(1000))
    image = next(picture for picture in pictures if picture.value == shown).image
    listed = ", ".join(f"{letter}: {option}" for letter, option in zip("ABCD", options, strict=True))
    name, below = CATEGORIES[category]
    return {
        "index": number,
        "question": f"{question}\nOptions: {listed}",
        "image": png(image),
        "answer": ANSWERS[number],
        "category": name,
        "l2_category": below[finer % len(below)],
        "meta_info": {"source": "mm-eval", "split": "val", "image_path": f"images/{number}.png"},
    }
