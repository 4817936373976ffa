"""ConvBench: conversations on a drawn picture in three turns, with a person's answers, in the form that `prepare` writes.

On the hub the rows are a spreadsheet and `image_path` is the name of a file; here it is the picture itself.
"""

from datasets import Image, Value

from samples import Row, Sample, page, png
from samples._math import bars, clock, dots

TEXT = Value("string")
FEATURES = {
    "ID": TEXT,
    "instruction_category": TEXT,
    "image_id": TEXT,
    "instruction-conditioned-caption": TEXT,
    "The_first_turn_instruction": TEXT,
    "First_turn_instruction_category": TEXT,
    "first_turn_answer": TEXT,
    "The_second_turn_instruction": TEXT,
    "Second_turn_instruction_category": TEXT,
    "second_turn_answer": TEXT,
    "The_third_turn_instruction": TEXT,
    "Third_turn_instruction_category": TEXT,
    "third_turn_answer": TEXT,
    "third_turn_demands": TEXT,
    "image_path": Image(),
}
KINDS = ("OCR", "Counting", "Chart", "Time")


def samples() -> list[Sample]:
    """The first four IDs: in two of them the person's answers are A."""
    made = [
        (page("KIOSK\nWater 1.00\nIce 2.00"), "A white sign of a kiosk: water costs 1.00, ice 2.00.",
         ("What is written on the sign?", "KIOSK, Water 1.00, Ice 2.00."),
         ("Why would people stop there in summer?", "It sells water and ice, which cool people down."),
         ("Write a slogan for this kiosk.", "Hot outside? One coin for water, two for ice: stay cool at the KIOSK!"),
         "1. Does it name the kiosk? 2. Does it use what is sold?"),
        (dots(7), "Seven dark blue dots in two rows of five and two.",
         ("How many dots are there?", "There are seven dots."),
         ("How many are missing for two full rows?", "A full row has five dots, so three are missing."),
         ("Invent the rule of a game with these dots.", "Two players take one or two dots in turn; the last one loses."),
         "1. Can it be played with seven dots? 2. Is it clear who wins?"),
        (bars([6, 2, 4], list("KLM")), "A chart of three bars: K is 6, L is 2, M is 4.",
         ("Which bars does the chart have?", "K with 6, L with 2, and M with 4."),
         ("What would M need to be as high as K?", "Two more: M is 4, and K is 6."),
         ("Tell a story of three climbers from this chart.", "Kim reached camp six, Max rested at four, Lou waited at two."),
         "1. Are there three climbers? 2. Do their places follow the bars?"),
        (clock(11, 0), "A round clock that shows eleven o'clock.",
         ("What time is it?", "It is eleven o'clock."),
         ("How long is it until noon?", "One hour."),
         ("Write two lines of verse about this moment.", "Eleven strikes, the soup is near; one more hour and noon is here."),
         "1. Are there two lines? 2. Is the time named?"),
    ]  # fmt: skip
    rows: list[Row] = []
    for number, (picture, caption, *turns, demands) in enumerate(made):
        row: Row = {"ID": str(number + 1), "instruction_category": KINDS[number], "image_id": f"{number}_drawn.png"}
        row["instruction-conditioned-caption"] = caption
        for ordinal, kind, (asked, said) in zip(
            ("first", "second", "third"), ("Perception", "Reasoning", "Creation"), turns, strict=True
        ):
            row |= {f"The_{ordinal}_turn_instruction": asked, f"{ordinal}_turn_answer": said}
            row[f"{ordinal.title()}_turn_instruction_category"] = kind
        rows.append({**row, "third_turn_demands": demands, "image_path": png(picture)})
    return [Sample("liushuo12345/ConvBench", "test", FEATURES, rows)]
