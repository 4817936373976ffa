"""MATH-Vision's schema: problems with one picture, five options or none, sometimes only drawn ones."""

from datasets import Image, Sequence, Value

from samples import Row, Sample, png
from samples._math import bars, cells, clock, dots, parabola, rectangle, triangle

HUB_ID = "MathLLMs/MathVision"
FEATURES = {
    "id": Value("string"),
    "question": Value("string"),
    "options": Sequence(Value("string")),
    "image": Value("string"),
    "decoded_image": Image(),
    "answer": Value("string"),
    "solution": Value("string"),
    "level": Value("int64"),
    "subject": Value("string"),
}
LETTERS = list("ABCDE")


def _rows() -> list[Row]:
    made = [
        ("How many dots are in the picture?", [], dots(13), "13", None, 1, "counting"),
        ("In which column is the dark cell?", LETTERS, cells(["ABCDE", "   # "]), "D", None, 1, "descriptive geometry"),
        ("What is the area of the rectangle?", [], rectangle("7", "4"), "28", "$7 \\cdot 4 = 28$.", 1, "metric geometry - area"),
        ("How long is the side $x$?", ["$5$", "$2 \\sqrt{5}$", "$4$", "$\\sqrt{5}$", "$6$"], triangle(["2", "4", "x"]), "B",
         "$x^2 = 4 + 16 = 20$.", 2, "metric geometry - length"),
        ("What is the smaller angle between the hands, in degrees?", [], clock(3, 0), "90", None, 2, "metric geometry - angle"),
        ("What share of the votes went to A?", ["$\\frac{1}{2}$", "$\\frac{1}{3}$", "$\\frac{1}{4}$", "$\\frac{2}{3}$",
         "$\\frac{1}{6}$"],
         bars([3, 6, 3], list("ABC")), "C", None, 2, "statistics"),
        ("The curve is $y = a x^2 - 2$ and passes through $(2, 0)$. What is $a$?", [], parabola(0.5, -2), "\\frac{1}{2}",
         "$4a = 2$, so $a = \\boxed{\\frac{1}{2}}$.", 3, "analytic geometry"),
        ("In how many ways can two of the dots be chosen?\n<image1>", [], dots(6), "15", None, 3, "combinatorics"),
        ("Which number belongs in the empty cell?\n<image1>", ["5", "6", "7", "8", "9"], cells(["24 ", "135"]), "B", None, 2,
         "arithmetic"),
        ("A circle is drawn around the triangle. What is its area?", ["$5 \\pi$", "$10 \\pi$", "$20 \\pi$", "$25 \\pi$",
         "$100 \\pi$"],
         triangle(["6", "8", ""]), "D", None, 4, "metric geometry - area"),
        ("What are the coordinates of the lowest point? Give them as $(x,y)$.", [], parabola(1, -3), "(0,-3)", None, 5,
         "analytic geometry"),
        ("How many seconds are there from the time in the picture to noon?\n<image1>", [], clock(11, 45), "900", None, 1,
         "arithmetic"),
    ]  # fmt: skip
    return [
        {
            "id": str(number),
            "question": question if "<image1>" in question else f"{question}\n<image1>",
            "options": options,
            "image": f"images/{number}.jpg",
            "decoded_image": png(picture, f"{number}.png"),
            "answer": answer,
            "solution": solution,
            "level": level,
            "subject": subject,
        }
        for number, (question, options, picture, answer, solution, level, subject) in enumerate(made, 1)
    ]


def samples() -> list[Sample]:
    rows = _rows()
    return [Sample(HUB_ID, "test", FEATURES, rows), Sample(HUB_ID, "testmini", FEATURES, rows[:8])]
