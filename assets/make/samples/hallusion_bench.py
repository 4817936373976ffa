"""HallusionBench: questions with yes and no on pairs of pictures, of which the second has another colour or another number."""

from datasets import Image, Value
from drawing import COLORS, Color, draw_shape, paper
from PIL import Image as Pillow

from samples import Row, Sample, page, png, rng

TEXTS = (
    *("category", "subcategory", "visual_input", "set_id", "figure_id", "sample_note", "question_id", "question"),
    *("gt_answer_details", "gt_answer", "filename"),
)
FEATURES = {**dict.fromkeys(TEXTS, Value("string")), "image": Image()}
NUMBERS = ((30, 50), (50, 30))


def balls(left: Color, right: Color) -> Pillow.Image:
    """Two circles side by side."""
    image, pen = paper(rng("hallusion"))
    for place, color in ((26, left), (70, right)):
        draw_shape(pen, "circle", place, 48, 18, color)
    return image


def row(kind: tuple[str, str], place: tuple[int, int, int], visual: int, question: str, right: bool) -> Row:
    """A row without its picture. place: set, figure and question."""
    category, subcategory = kind
    of_set, figure, number = map(str, place)
    return {
        "category": category, "subcategory": subcategory, "visual_input": str(visual), "set_id": of_set,
        "figure_id": figure, "sample_note": "made", "question_id": number, "question": question,
        "gt_answer_details": f"{question} {'Yes' if right else 'No'}.", "gt_answer": str(int(right)),
        "filename": f"./{category}/{subcategory}/{of_set}_{figure}.png" if visual else None,
    }  # fmt: skip


def samples() -> list[Sample]:
    shown, unseen = [], []
    for of_set, (one, other) in enumerate((("red", "blue"), ("green", "yellow"))):
        for figure, colors in enumerate(((one, one), (one, other))):
            picture = png(balls(*(COLORS[color] for color in colors)))
            same = colors[0] == colors[1]
            for number, (question, right) in enumerate(
                (("Do both balls have the same color?", same), (f"Is the right ball {other}?", not same))
            ):
                made = row(("VD", "illusion"), (of_set, figure, number), 1 + figure, question, right)
                shown.append({**made, "image": picture})
    questions = ("Did the shop sell more tea than milk?", "Did the shop sell 50 cups of tea?")
    for figure, (tea, milk) in enumerate(NUMBERS, 1):
        for number, (question, right) in enumerate(zip(questions, (tea > milk, tea == 50), strict=True)):
            made = row(("VS", "table"), (0, figure, number), figure, question, right)
            shown.append({**made, "image": png(page(f"Cups sold in May\nTea   {tea}\nMilk  {milk}"))})
    for number, question in enumerate(questions):
        unseen.append({**row(("VS", "table"), (0, 0, number), 0, question, False), "image": None})
    return [
        Sample("lmms-lab/HallusionBench", "image", FEATURES, shown),
        Sample("lmms-lab/HallusionBench", "non_image", FEATURES, unseen),
    ]
