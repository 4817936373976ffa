"""LLaVA-Bench's schemas: pictures with a description, a question of one of three kinds, and the answer to compare with."""

from datasets import Image, Value

from samples import Row, Sample, drawn, page, png
from samples._math import bars, clock, dots

TEXT = Value("string")
WILD = {
    "question_id": TEXT,
    "question": TEXT,
    "image_id": TEXT,
    "category": TEXT,
    "caption": TEXT,
    "gpt_answer": TEXT,
    "image": Image(),
}
COCO = {
    "question_id": TEXT,
    "question": TEXT,
    "answer": TEXT,
    "image_id": TEXT,
    "category": TEXT,
    "caption": TEXT,
    "image": Image(),
}
DESCRIBE = "Describe this picture in detail."


def _made() -> list[tuple[object, str, list[tuple[str, str, str]]]]:
    """(picture, description, [(category, question, answer)])."""
    return [
        (page("CAFE LUNA\nopen 8 - 18\nTea 2.00"),
         "A white sign with black letters. It says CAFE LUNA, open 8 - 18, Tea 2.00.",
         [("conv", "When does the cafe close?", "The cafe closes at 18 o'clock."),
          ("detail", DESCRIBE, "The picture is a plain white sign with three lines of black text: the name of a cafe, its hours "
           "from 8 to 18, and the price of a tea, 2.00."),
          ("complex", "Could I have a late dinner here?", "Probably not: the sign says that the cafe is open from 8 to 18 only, "
           "and that it sells tea.")]),
        (bars([2, 8, 5], list("ABC")), "A bar chart with three bars: A is 2 and teal, B is 8 and orange, C is 5 and purple.",
         [("conv", "Which bar is the highest?", "B, the orange bar, is the highest with a value of 8."),
          ("detail", DESCRIBE, "A bar chart shows three bars on a white ground. The teal bar A is 2, the orange bar B 8, and "
           "the purple bar C 5."),
          ("complex", "If A doubles each year, when does it pass C?", "A is 2 and C is 5. After one year A is 4, after two years "
           "8, so it passes C in the second year.")]),
        (clock(9, 15), "The face of a clock without numbers. The short hand is just past nine, the long hand points to three.",
         [("conv", "What time is it?", "It is a quarter past nine."),
          ("complex", "Is a shop that opens at half past nine open now?", "No. The clock shows a quarter past nine, so the shop "
           "opens in a quarter of an hour.")]),
        (dots(12), "Twelve dark blue dots on a white ground, in two full rows of five and one row of two.",
         [("conv", "How many dots are there?", "There are twelve dots."),
          ("complex", "How many dots would fill the third row?", "A row has five dots and the third has two, so three more.")]),
        (drawn("scene", "llava").image, "The word CAFE above a black star and a purple square, on a light green ground.",
         [("detail", DESCRIBE, "On a light green ground stands the word CAFE. Below it are a black star on the left and "
           "a purple square on the right.")]),
    ]  # fmt: skip


def _rows(reference: str) -> list[Row]:
    rows: list[Row] = []
    for number, (picture, caption, questions) in enumerate(_made(), 1):
        for category, question, answer in questions:
            row: Row = {"question_id": str(len(rows)), "question": question, "image_id": f"{number:03d}.jpg"}
            row |= {"category": category, "caption": caption, reference: answer, "image": png(picture)}  # type: ignore[arg-type]
            rows.append(row)
    return rows


def samples() -> list[Sample]:
    """The only split of both data sets."""
    return [
        Sample("lmms-lab/llava-bench-in-the-wild", "train", WILD, _rows("gpt_answer")),
        Sample("lmms-lab/llava-bench-coco", "train", COCO, _rows("answer")),
    ]
