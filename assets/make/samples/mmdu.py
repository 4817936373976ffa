"""MMDU: conversations of two to four turns on two or three drawn pictures, in the form that `prepare` writes.

On the hub the pictures are in an archive and the turns in benchmark.json.
"""

from datasets import Image, Sequence, Value

from samples import Row, Sample, page, png
from samples._math import bars, clock, dots

TEXT = Value("string")
FEATURES = {"id": TEXT, "image": Sequence(Image()), "questions": Sequence(TEXT), "answers": Sequence(TEXT)}


def samples() -> list[Sample]:
    """Four conversations; in the third one a picture comes with the second question."""
    menu, tea = page("KIOSK\nWater 1.00\nIce 2.00"), page("TEA ROOM\nGreen tea 3.00\nCake 4.00")
    made = [
        ([dots(6), dots(9)], [
            ("Image1: <ImageHere>. Image2: <ImageHere>. Count the dots in both pictures.",
             "Image1 has six dots in two rows. Image2 has nine dots in two rows, of which the second has four."),
            ("In which of the two are more dots, and how many more?", "Image2 has more: three dots more than Image1."),
        ]),
        ([menu, tea], [
            ("Image1: <ImageHere>. Image2: <ImageHere>. What kind of places do these signs belong to?",
             "Image1 is the sign of a kiosk that sells water and ice. Image2 is the sign of a tea room."),
            ("What is the cheapest thing in each of them?", "In Image1 it is water for 1.00, in Image2 green tea for 3.00."),
            ("Which of the two would you visit on a hot day, and why?",
             "The kiosk of Image1, since it sells cold things: water and ice. The tea room of Image2 offers tea and cake."),
        ]),
        ([clock(3, 0), clock(9, 30), clock(11, 45)], [
            ("Image1: <ImageHere>. Image2: <ImageHere>. What time do these clocks show?",
             "The clock of Image1 shows three o'clock, and that of Image2 half past nine."),
            ("And this one? Image3: <ImageHere>.", "The clock of Image3 shows a quarter to twelve."),
            ("Put the three times in order, beginning at midnight.", "Image1 at 3:00, Image2 at 9:30, Image3 at 11:45."),
            ("How long is it from the second to the third?", "From 9:30 to 11:45 it is two hours and fifteen minutes."),
        ]),
        ([bars([6, 2, 4], list("KLM")), bars([1, 5, 3], list("KLM"))], [
            ("Image1: <ImageHere>. Image2: <ImageHere>. Compare the two charts.",
             "Both show the bars K, L and M. In Image1 K is highest with 6, in Image2 it is lowest with 1."),
            ("Which bar differs least between them?", "M: it is 4 in Image1 and 3 in Image2, a difference of 1."),
        ]),
    ]  # fmt: skip
    rows: list[Row] = []
    for number, (pictures, turns) in enumerate(made):
        row: Row = {"id": f"drawn_{number}", "image": [png(picture) for picture in pictures]}
        rows.append({**row, "questions": [asked for asked, _ in turns], "answers": [said for _, said in turns]})
    return [Sample("laolao77/MMDU", "test", FEATURES, rows)]
