"""MathVerse's schema: four problems in five versions, whose words move from the question into the picture, or only in words."""

from collections.abc import Sequence

from datasets import Image, Value
from PIL import Image as Pillow
from PIL import ImageDraw

from samples import Row, Sample, png
from samples._math import parabola, rectangle, triangle

HUB_ID = "CaraJ/MathVerse-lmmseval"
TEXT = Value("string")
FEATURES = {
    **dict.fromkeys(("sample_index", "problem_index", "problem_version", "question"), TEXT),
    "image": Image(),
    **dict.fromkeys(("answer", "question_type"), TEXT),
    "metadata": dict.fromkeys(("split", "source", "subject", "subfield"), TEXT),
    **dict.fromkeys(("query_wo", "query_cot", "question_for_eval"), TEXT),
}
TEXT_FEATURES = {**FEATURES, "image": TEXT}
VERSIONS = ("Text Dominant", "Text Lite", "Vision Intensive", "Vision Dominant", "Vision Only")
FORMS = {
    "multi-choice": "provide the correct option letter, e.g., A, B, C, D",
    "free-form": "provide the final value, e.g., 1, 2.5, 300",
}
IN_SPLITS = 2
"""Problems in the splits of one version; all are in the configuration with all versions."""
Problem = tuple[str, str, str, Pillow.Image, str, str, str, str]
PROBLEMS: Sequence[Problem] = (
    ("The triangle has a right angle between sides of 3 and 4. ", "The triangle has a right angle. ",
     "How long is the side x?\nChoices:\nA:4\nB:5\nC:6\nD:7", triangle(["3", "4", "x"]), "B", "multi-choice", "Plane Geometry",
     "Length"),
    ("The rectangle is 6 wide and 2 high. ", "The sides of the rectangle are given. ", "What is its area?",
     rectangle("6", "2"), "12", "free-form", "Plane Geometry", "Area"),
    ("The curve y = x^2 - 3 is drawn. ", "A curve is drawn. ", "At which value does it cut the vertical axis?",
     parabola(1, -3), "-3", "free-form", "Functions", "Coordinate"),
    ("A box has a base of 5 by 2, as shown, and a height of 3. ", "A box has the base shown and a height of 3. ",
     "Find its volume.\nChoices:\nA:10\nB:15\nC:25\nD:30", rectangle("5", "2"), "D", "multi-choice", "Solid Geometry", "Volume"),
)  # fmt: skip


def with_words(picture: Pillow.Image, words: str) -> Pillow.Image:
    """The picture under the lines of the question."""
    lines = words.replace(". ", ".\n")
    made = Pillow.new("RGB", (230, picture.height + 14 * lines.count("\n") + 18), "white")
    ImageDraw.Draw(made).multiline_text((4, 2), lines, fill="black", spacing=2)
    made.paste(picture, (50, made.height - picture.height))
    return made


def _rows(version: str) -> list[Row]:
    place = VERSIONS.index(version)
    rows = []
    for number, (whole, lite, question, picture, answer, kind, subject, subfield) in enumerate(PROBLEMS):
        asked = (whole + question, lite + question, question, lite + question, "")[place]
        query = f"\nQuestion: {asked}" if asked else ""
        start = "" if asked else "According to the question shown in the image, "
        form = FORMS[kind]
        texts = (f"{start}please directly answer the question and {form}.",
                 f"{start}please first conduct reasoning, and then answer the question and {form}, at the end.")  # fmt: skip
        rows.append({
            "sample_index": str(5 * number + place + 1),
            "problem_index": str(number + 1),
            "problem_version": version,
            "question": asked,
            "image": png(with_words(picture, lite + question) if version == "Vision Only" else picture, None),
            "answer": answer,
            "question_type": kind,
            "metadata": {"split": "testmini", "source": "made", "subject": subject, "subfield": subfield},
            "query_wo": texts[0][0].upper() + texts[0][1:] + query,
            "query_cot": texts[1][0].upper() + texts[1][1:] + query,
            "question_for_eval": asked or lite + question,
        })  # fmt: skip
    return rows


def samples() -> list[Sample]:
    """The configuration with all versions, problem by problem, the one with a split for each, and the one without pictures."""
    of = {version: _rows(version) for version in VERSIONS}
    together = [of[version][number] for number in range(len(PROBLEMS)) for version in VERSIONS]
    order = ("Text Lite", "Text Dominant", "Vision Dominant", "Vision Intensive", "Vision Only")
    names = [(version, version.lower().replace(" ", "_")) for version in order]
    only = [{**row, "problem_version": "Text Only", "image": ""} for row in of["Text Dominant"]]
    return [
        Sample(HUB_ID, "testmini", FEATURES, together, "testmini"),
        *(Sample(HUB_ID, name, FEATURES, of[version][:IN_SPLITS], "testmini_version_split") for version, name in names),
        Sample(HUB_ID, "text_only", TEXT_FEATURES, only[:IN_SPLITS], "testmini_text_only"),
    ]
