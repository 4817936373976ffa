"""We-Math, testmini: three problems of two steps and two of three, about drawn shapes."""

from datasets import Image, Value

from samples import Row, Sample, page, png

TEXT = Value("string")
FEATURES = {
    "ID": TEXT, "split": TEXT, "knowledge concept": TEXT, "question": TEXT, "option": TEXT, "answer": TEXT,
    "image_path": Image(), "key": TEXT, "question number": Value("int64"), "knowledge concept description": TEXT,
}  # fmt: skip
PROBLEMS = [  # concept, question, options, answer of each step; then the whole problem
    [
        ("Area of Squares", "The side is 3 cm. The area is ( ) cm2.", "A. 9; B. 12; C. 6; D. No correct answer", "A"),
        (
            "Area of Rectangles",
            "The sides are 3 cm and 2 cm. The area is ( ) cm2.",
            "A. 5; B. 6; C. 10; D. No correct answer",
            "B",
        ),
        (
            "",
            "Square and rectangle touch as drawn. Together they have ( ) cm2.",
            "A. 12; B. 14; C. 15; D. No correct answer",
            "C",
        ),
    ],
    [
        ("Angles", "The two other angles are 60 and 70 degrees. The third is ( ).", "A. 40; B. 50; C. 60; D. 70", "B"),
        (
            "Supplementary Angles",
            "Beside an angle of 50 degrees on a line is one of ( ).",
            "A. 130; B. 140; C. 40; D. 50",
            "A",
        ),
        ("", "The outer angle at the top is ( ) degrees.", "A. 50; B. 110; C. 120; D. 130; E. No correct answer", "D"),
    ],
    [
        (
            "Left-Right Position",
            "The block to the right of P is ( ).",
            "A. Q;    B. R;    C. S; D. No correct answer",
            "A",
        ),
        ("Up-Down Position", "The block above Q is ( ).", "A. P; B. R; C. S; D. No correct answer", "C"),
        ("", "From P go right, then up. You reach ( ).", "A. Q; B. S; C. R; D. No correct answer", "B"),
    ],
    [
        ("Length Units", "2 m are ( ) cm.", "A. 20; B. 200; C. 2000; D. No correct answer", "B"),
        (
            "Circumference of Circles",
            "The diameter is 1 m. The circumference is ( ) m.",
            "A. 3.14; B. 6.28; C. 1.57; D. 2",
            "A",
        ),
        ("Division", "6.28 m are how many times 3.14 m?", "A. 1; B. 3; C. 2; D. 4", "C"),
        ("", "The wheel turns how often on 6.28 m?", "A. 1 time; B. 2 times; C. 3 times; D. 4 times", "B"),
    ],
    [
        ("Volume of Cubes", "The edge is 2 cm. The volume is ( ) cm3.", "A. 4; B. 6; C. 8; D. 12", "C"),
        ("Counting", "How many cubes are drawn?", "A. 3; B. 4; C. 5; D. 6", "A"),
        ("Multiplication", "3 times 8 is ( ).", "A. 11; B. 24; C. 38; D. 83", "B"),
        ("", "All cubes together have ( ) cm3.", "A. 8; B. 16; C. 20; D. 24", "D"),
    ],
]


def samples() -> list[Sample]:
    """All first steps of the problems with two steps, then their second steps and so on, as on the hub."""
    rows: list[Row] = []
    for count in (2, 3):
        problems = [problem for problem in PROBLEMS if len(problem) == count + 1]
        for place in range(count + 1):
            for number, problem in enumerate(problems, 1):
                concept, question, options, answer = problem[place]
                step = "multi" if place == count else str(place + 1)
                rows.append({
                    "ID": f"{count}steps_{number}", "split": "testmini",
                    "knowledge concept": concept or ";".join(each[0] for each in problem[:-1]),
                    "question": question, "option": options, "answer": answer,
                    "image_path": png(page(f"{count}-{number}-{step}", (80, 60))), "key": f"{count}steps_{step}",
                    "question number": number, "knowledge concept description": concept,
                })  # fmt: skip
    return [Sample("We-Math/We-Math", "testmini", FEATURES, rows)]
