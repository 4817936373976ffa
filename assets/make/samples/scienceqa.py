"""ScienceQA: fourteen school questions with two to five options, eight of them with a picture."""

from datasets import Image, Sequence, Value

from samples import Row, Sample, drawn, png

TEXT = Value("string")
COLUMNS = ("task", "grade", "subject", "topic", "category", "skill", "lecture", "solution")
FEATURES = {"image": Image(), "question": TEXT, "choices": Sequence(TEXT), "answer": Value("int8"), "hint": TEXT}
FEATURES |= dict.fromkeys(COLUMNS, TEXT)
NATURAL, SOCIAL, LANGUAGE = "natural science", "social science", "language science"
SEASONS = "A season is a part of the year with its own weather."
GLASS = "A glass stood on a table. Water was poured into it up to a mark.\nNothing was spilled."
QUESTIONS = (  # picture and what it shows, question, choices, answer, hint, grade, subject, topic
    (
        "state",
        "snow",
        "Which season does the picture most likely show?",
        ("summer", "winter"),
        1,
        SEASONS,
        2,
        NATURAL,
        "earth-science",
    ),
    (
        "state",
        "half full",
        "How much of the glass is filled?",
        ("all", "half", "none"),
        1,
        GLASS,
        3,
        NATURAL,
        "units-and-measurement",
    ),
    ("location", "desert", "Which word describes this place?", ("wet", "dry"), 1, "", 1, NATURAL, "biology"),
    (
        "location",
        "farm",
        "Who works here?",
        ("a sailor", "a farmer", "a pilot", "a diver"),
        1,
        "",
        4,
        SOCIAL,
        "geography",
    ),
    (
        "landmark",
        "Ostra Bridge",
        "What does a bridge connect?",
        ("two banks", "two clouds"),
        0,
        "",
        8,
        SOCIAL,
        "economics",
    ),
    (
        "poster",
        "KING",
        "Which part of speech is the word?",
        ("a noun", "a verb", "an adverb"),
        0,
        "",
        5,
        LANGUAGE,
        "verbs",
    ),
    ("act", "kicking the ball", "Which force moves the ball?", ("a push", "a pull"), 0, "", 7, NATURAL, "physics"),
    (
        "translation",
        "sun",
        "Which letter begins the word?",
        ("L", "M", "P", "S", "V"),
        3,
        "The word is Spanish.",
        2,
        LANGUAGE,
        "phonological-awareness",
    ),
    (None, None, "Which of these is a mammal?", ("a trout", "a cat"), 1, "", 3, NATURAL, "biology"),
    (
        None,
        None,
        "Which sentence is a question?",
        ("Come here.", "Who is it?", "How nice!"),
        1,
        "",
        2,
        LANGUAGE,
        "grammar",
    ),
    (
        None,
        None,
        "What do people vote for in an election?",
        ("the weather", "a mayor"),
        1,
        "Towns choose who leads them.",
        6,
        SOCIAL,
        "civics",
    ),
    (None, None, "Which is a pure substance?", ("air", "sea water", "gold", "soil"), 2, "", 10, NATURAL, "chemistry"),
    (
        None,
        None,
        "What does the passage compare life to?",
        ("a river", "a storm"),
        0,
        "Life runs on, and bends where it must,\nas water to the sea.",
        11,
        LANGUAGE,
        "figurative-language",
    ),
    (
        None,
        None,
        "Which number is the largest?",
        ("3", "30", "13", "23", "31"),
        4,
        "",
        9,
        NATURAL,
        "units-and-measurement",
    ),
)


def samples() -> list[Sample]:
    """The test split, whole and with the questions that have a picture."""
    rows = [_row(number) for number in range(len(QUESTIONS))]
    with_picture = [row for row in rows if row["image"] is not None]
    return [
        Sample("lmms-lab/ScienceQA", "test", FEATURES, rows, "ScienceQA-FULL"),
        Sample("lmms-lab/ScienceQA", "test", FEATURES, with_picture, "ScienceQA-IMG"),
    ]


def _row(number: int) -> Row:
    kind, shown, question, choices, answer, hint, grade, subject, topic = QUESTIONS[number]
    image = None
    if kind is not None:
        pictures = (drawn(kind, "scienceqa", number, attempt) for attempt in range(1000))
        image = png(next(picture for picture in pictures if picture.value == shown).image)
    return {
        "image": image,
        "question": question,
        "choices": list(choices),
        "answer": answer,
        "hint": hint,
        "task": "closed choice",
        "grade": f"grade{grade}",
        "subject": subject,
        "topic": topic,
        "category": topic.capitalize(),
        "skill": f"Questions on {topic}",
        "lecture": "",
        "solution": f"The answer is {choices[answer]}.",
    }
