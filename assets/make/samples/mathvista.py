"""MathVista's schema: questions with ready prompts, choices or none, a unit, a precision, and a struct of metadata."""

from datasets import Image, Sequence, Value

from samples import Row, Sample, png
from samples._math import bars, cells, clock, dots, parabola, rectangle, triangle

HUB_ID = "AI4Math/MathVista"
TEXT = Value("string")
FEATURES = {
    "pid": TEXT,
    "question": TEXT,
    "image": TEXT,
    "decoded_image": Image(),
    "choices": Sequence(TEXT),
    "unit": TEXT,
    "precision": Value("float64"),
    "answer": TEXT,
    "question_type": TEXT,
    "answer_type": TEXT,
    "metadata": {
        "category": TEXT,
        "context": TEXT,
        "grade": TEXT,
        "img_height": Value("int64"),
        "img_width": Value("int64"),
        "language": TEXT,
        "skills": Sequence(TEXT),
        "source": TEXT,
        "split": TEXT,
        "task": TEXT,
    },
    "query": TEXT,
}
HINTS = {
    "text": "Please answer the question and provide the correct option letter, e.g., A, B, C, D, at the end.",
    "integer": "Please answer the question requiring an integer answer and provide the final value, e.g., 1, 2, 3, at the end.",
    "float 1": "Please answer the question requiring a floating-point number with one decimal place and provide the final value, "
    "e.g., 1.2, 1.3, 1.4, at the end.",
    "float 2": "Please answer the question requiring a floating-point number with two decimal places and provide the final "
    "value, e.g., 1.23, 1.34, 1.45, at the end.",
    "list": "Please answer the question requiring a Python list as an answer and provide the final list, e.g., [1, 2, 3], "
    "[1.2, 1.3, 1.4], at the end.",
}
CHINESE = "请回答问题,并在最后提供正确的选项字母,例如A、B、C、D。"
FIGURE = ("figure question answering", "bar chart", "general-vqa", ["statistical reasoning"])
GEOMETRY = (
    "geometry problem solving",
    "geometry diagram",
    "math-targeted-vqa",
    ["geometry reasoning", "algebraic reasoning"],
)
WORDS = ("math word problem", "synthetic scene", "math-targeted-vqa", ["arithmetic reasoning"])
BOOK = (
    "textbook question answering",
    "function plot",
    "math-targeted-vqa",
    ["scientific reasoning", "algebraic reasoning"],
)
SCENE = ("visual question answering", "natural image", "general-vqa", ["numeric commonsense"])


def _rows() -> list[Row]:
    made = [
        ("How many objects are in the picture?", dots(8), None, None, None, "8", "integer", SCENE, "not applicable"),
        ("Which bar is the tallest?", bars([3, 9, 5], list("RST")), ["R", "S", "T"], None, None, "S", "text", FIGURE,
         "daily life"),
        ("Is R lower than T?", bars([3, 9, 5], list("RST")), ["yes", "no"], None, None, "yes", "text", FIGURE, "daily life"),
        ("How long is the side x?", triangle(["6", "8", "x"]), ["7cm", "10cm", "12cm", "14cm"], None, None, "10cm", "text",
         GEOMETRY, "high school"),
        ("求角的度数。", clock(2, 0), ["30°", "45°", "60°", "90°"], None, None, "60°", "text", GEOMETRY, "high school"),
        ("What is the mean of the three bars?", bars([2, 5, 8], list("ABC")), None, None, 1.0, "5.0", "float", FIGURE, "college"),
        ("What is the area of the rectangle?", rectangle("1.5", "0.5"), None, "m^2", 2.0, "0.75", "float", GEOMETRY,
         "high school"),
        ("Where does the curve cut the vertical axis?", parabola(1, -3), ["(0, -3)", "(0, 3)", "(3, 0)"], None, None,
         "(0, -3)", "text", BOOK, "college"),
        ("Read the numbers of the picture, row by row.", cells(["12", "34"]), None, None, None, "[1, 2, 3, 4]", "list", BOOK,
         "college"),
        ("Three dots are taken away. How many are left?", dots(11), None, None, None, "8", "integer", WORDS, "elementary school"),
        ("What time does the clock show?", clock(4, 15), ["half", "quarter past", "o'clock"], None, None, "quarter past", "text",
         SCENE, "elementary school"),
    ]  # fmt: skip
    rows = []
    for number, (question, picture, choices, unit, precision, answer, kind, where, grade) in enumerate(made, 1):
        chinese = question.startswith("求")
        hint = CHINESE if chinese else HINTS[f"{kind} {precision:.0f}" if precision else kind]
        words = ("提示", "问题", "选项") if chinese else ("Hint", "Question", "Choices")
        query = f"{words[0]}: {hint}\n{words[1]}: {question}{f' (Unit: {unit})' if unit else ''}"
        if choices:
            query += "\n".join([f"\n{words[2]}:", *(f"({chr(65 + n)}) {choice}" for n, choice in enumerate(choices))])
        task, context, category, skills = where
        metadata = {
            "category": category,
            "context": context,
            "grade": grade,
            "img_height": picture.height,
            "img_width": picture.width,
        }
        metadata |= {
            "language": "chinese" if chinese else "english",
            "skills": skills,
            "source": "mm-eval",
            "split": "testmini",
            "task": task,
        }
        rows.append(
            {
                "pid": str(number),
                "question": question,
                "image": f"images/{number}.jpg",
                "decoded_image": png(picture, f"{number}.png"),
                "choices": choices,
                "unit": unit,
                "precision": precision,
                "answer": answer,
                "question_type": "multi_choice" if choices else "free_form",
                "answer_type": kind,
                "metadata": metadata,
                "query": query,
            }
        )
    return rows


def samples() -> list[Sample]:
    return [Sample(HUB_ID, "testmini", FEATURES, _rows())]
