"""MIA-Bench's schema: pictures with an instruction, its components, their points and their types."""

from datasets import Image, Sequence, Value

from samples import Row, Sample, drawn, page, png
from samples._math import bars, clock, dots, triangle

HUB_ID = "lmms-lab/MIA-Bench"
TEXT, NUMBER = Value("string"), Value("int64")
FEATURES = {
    "image": Image(),
    "instruction": TEXT,
    "type": TEXT,
    "num_of_component": NUMBER,
    "components": Sequence(TEXT),
    "component_weight": Sequence(NUMBER),
    "component_type": Sequence(TEXT),
}


def samples() -> list[Sample]:
    """The test split: instructions of one to five components, one with a type twice."""
    made = [
        (dots(9), "Describe the picture.", "basic", [("Describe the picture", 10, "describe")]),
        (bars([3, 7, 5], list("XYZ")), "Describe the chart in exactly two sentences.", "basic",
         [("Describe the chart", 6, "describe"), ("in exactly two sentences", 4, "length_limit")]),
        (clock(7, 30), "Say what time it is without the word 'clock'.", "intermediate",
         [("Say what time it is", 6, "describe"), ("without the word 'clock'", 4, "mention")]),
        (page("WANTED\nred cat Mia\ncall 555 01"), "Write a notice like this one in which every line rhymes, in upper case.",
         "creative", [("Write a notice like this one", 4, "textual"), ("every line rhymes", 3, "linguistics"),
                      ("in upper case", 3, "grammar")]),
        (triangle(["3", "4", "5"]), "Give the perimeter and the area, each in its own sentence, in the past tense.", "advanced",
         [("Give the perimeter", 3, "math"), ("Give the area", 3, "math"), ("each in its own sentence", 2, "length_limit"),
          ("in the past tense", 2, "grammar")]),
        (drawn("scene", "mia").image,
         "Tell a story about the shapes from the view of one of them, in three sentences, with a metaphor, and name both shapes.",
         "complex", [("Tell a story about the shapes", 2, "describe"), ("from the view of one of them", 2, "perspective"),
                     ("in three sentences", 2, "length_limit"), ("with a metaphor", 2, "linguistics"),
                     ("name both shapes", 2, "mention")]),
        (dots(4), "Count the dots and end with a question mark.", "intermediate",
         [("Count the dots", 6, "math"), ("end with a question mark", 4, "grammar")]),
        (bars([1, 2, 4], list("PQR")), "Explain the trend to a child using at most twenty words and no numbers.", "advanced",
         [("Explain the trend to a child", 4, "describe"), ("using at most twenty words", 3, "length_limit"),
          ("no numbers", 3, "mention")]),
    ]  # fmt: skip
    rows: list[Row] = []
    for picture, instruction, kind, components in made:
        names, weights, types = zip(*components, strict=True)
        row: Row = {
            "image": png(picture),
            "instruction": instruction,
            "type": kind,
            "num_of_component": len(components),
        }
        row |= {"components": list(names), "component_weight": list(weights), "component_type": list(types)}
        rows.append(row)
    return [Sample(HUB_ID, "test", FEATURES, rows)]
