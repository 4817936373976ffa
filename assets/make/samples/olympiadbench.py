"""OlympiadBench: one problem in each of the ten configurations with open answers, with drawn figures and all kinds of answers."""

from typing import Any

from datasets import Image, Sequence, Value

from samples import Row, Sample, page, png

TEXT = Value("string")
FEATURES = {
    "id": Value("int64"), "question": TEXT, "solution": Sequence(TEXT), "final_answer": Sequence(TEXT), "context": TEXT,
    **{f"image_{number}": Image() for number in range(1, 6)}, "modality": TEXT, "difficulty": TEXT,
    "is_multiple_answer": Value("bool"), "unit": TEXT, "answer_type": TEXT, "error": TEXT, "question_type": TEXT,
    "subfield": TEXT,
    "subject": TEXT, "language": TEXT,
}  # fmt: skip
Given = tuple[str, str, str, dict[str, Any]]
"""Question, answer, its type, and other columns."""
ROWS: dict[str, Given] = {
    "OE_MM_maths_en_COMP": ("What is the area of the square of side $s$?\n<img_11>", "$s^{2}$", "Expression", {}),
    "OE_MM_maths_zh_CEE": ("如图<img_21>，求 $x$ 的取值范围。", "$(-\\infty, 1] \\cup [2, +\\infty)$", "Interval", {}),
    "OE_MM_maths_zh_COMP": ("如图<img_31>和<img_32>，求两个数。", "$3,4$", "Numerical", {"is_multiple_answer": True}),
    "OE_MM_physics_en_COMP": ("How long does it fall?", "1.43", "Numerical",
                              {"context": "A stone falls 10 metres.\n<img_41>", "unit": "s", "error": "0.02"}),
    "OE_MM_physics_zh_CEE": ("求速度。<img_51>", "$\\sqrt{2 g h}$", "Expression", {}),
    "OE_TO_maths_en_COMP": ("Find all roots of $x^2 = 2$ and the line through them.", "$\\pm \\sqrt{2},y=0$",
    "Numerical,Equation",
                            {"is_multiple_answer": True}),
    "OE_TO_maths_zh_CEE": ("求椭圆的方程。", "$\\frac{x^{2}}{4}+y^{2}=1$", "Equation", {}),
    "OE_TO_maths_zh_COMP": ("求点的坐标。", "$(1, 2)$", "Tuple", {}),
    "OE_TO_physics_en_COMP": ("What is the energy of a mass $m$ at the height $h$?", "$m g h$", "Expression", {}),
    "OE_TO_physics_zh_CEE": ("求加速度和力。", "2.5,5", "Numerical", {"is_multiple_answer": True, "error": "0.1,0.2",
    "unit": "m/s², N"}),
}  # fmt: skip


def samples() -> list[Sample]:
    """The ten configurations."""
    made = []
    for number, (config, (question, answer, kind, more)) in enumerate(ROWS.items()):
        pictures = (more.get("context", "") + question).count("<img_")
        row: Row = {
            "id": number, "question": question, "solution": ["See the figure."], "final_answer": [answer], "context": None,
            **{f"image_{n}": png(page(f"Figure {n}", (64, 20))) if n <= pictures else None for n in range(1, 6)},
            "modality": "Multimodal" if "_MM_" in config else "Text-only",
            "difficulty": "Competition" if config.endswith("COMP") else "College Entrance Exam",
            "is_multiple_answer": False, "unit": None, "answer_type": kind, "error": None, "question_type": "Open-ended",
            "subfield": "Algebra", "subject": "Math" if "maths" in config else "Physics",
            "language": "English" if "_en_" in config else "Chinese", **more,
        }  # fmt: skip
        made.append(Sample("Hothan/OlympiadBench", "train", FEATURES, [row], config=config))
    return made
