"""MM-Vet's schema: open questions with the capabilities that they need, and ground truths with <AND> and <OR>."""

from datasets import Image, Value

from samples import Row, Sample, drawn, page, png
from samples._math import bars, cells, clock, dots, rectangle, triangle

HUB_ID = "lmms-lab/MMVet"
TEXT = Value("string")
FEATURES = {
    "question_id": TEXT,
    "image": Image(),
    "question": TEXT,
    "answer": TEXT,
    "image_source": TEXT,
    "capability": TEXT,
}


def samples() -> list[Sample]:
    """The test split; each of the six capabilities, alone and with others."""
    menu = page("MENU\nSoup      3.50\nPasta     7.00\nCake      2.50")
    sign = page("PARKING\n8 - 18 h\n2 EUR an hour")
    steps = page("1 boil water\n2 add rice\n3 wait 12 min\n4 drain")
    made = [
        ("What do a soup and a cake cost together?", menu, "6<OR>6.00<OR>six", "ocr,math"),
        ("Which dish costs the most?", menu, "pasta", "ocr,spat"),
        ("What should I do after adding the rice?", steps, "wait<AND>12 min", "ocr,spat"),
        ("What does it cost to park here from 9 to 12?", sign, "6 EUR<OR>6", "ocr,math"),
        ("What is written in the grid?", cells(["AB", "CD"]), "A<AND>B<AND>C<AND>D", "ocr"),
        ("How many dots are there?", dots(7), "7<OR>seven", "rec"),
        ("What time does the clock show?", clock(4, 0), "4:00<OR>4 o'clock<OR>16:00", "rec,know"),
        ("Which bar is to the right of the tallest one?", bars([3, 9, 5], list("RST")), "T", "rec,ocr,spat"),
        ("How long is the longest side of this triangle?", triangle(["3", "4", "?"]), "5", "ocr,spat,math"),
        ("What is the area of the shape?", rectangle("6", "2"), "12", "rec,ocr,spat,math"),
        ("Can you describe this picture and what it may be used for?", drawn("scene", "mmvet").image,
         "The picture shows the word BANK, a yellow and a green cross on a light blue ground. It may be used as a simple "
         "sign for a bank, or to test whether a model can tell words, shapes and colours apart.", "rec,know,gen"),
        ("The chart compares three shops, R, S and T.\n\nSummarise the main features.", bars([4, 2, 8], list("RST")),
         "The chart shows one value for each of three shops. T has the highest with 8, twice that of R with 4. S is the lowest "
         "with 2.", "rec,ocr,gen,spat"),
    ]  # fmt: skip
    rows: list[Row] = [
        {
            "question_id": f"v1_{number}",
            "image": png(picture, f"v1_{number}.png"),
            "question": question,
            "answer": answer,
            "image_source": "mm-eval",
            "capability": capability,
        }
        for number, (question, picture, answer, capability) in enumerate(made)
    ]
    return [Sample(HUB_ID, "test", FEATURES, rows)]
