"""MMHal-Bench's schema: a question of each of eight types, the contents of its picture and a person's answer.

On the hub `image_path` is the name of a file; here it is the picture itself.
"""

from datasets import Image, Sequence, Value

from samples import Row, Sample, drawn, page, png
from samples._math import bars, clock, dots

HUB_ID = "Shengcao1006/MMHal-Bench"
TEXT = Value("string")
FEATURES = {
    "id": Value("int32"),
    "question_type": TEXT,
    "question_topic": TEXT,
    "image_id": TEXT,
    "image_src": TEXT,
    "image_content": Sequence(TEXT),
    "question": TEXT,
    "gt_answer": TEXT,
    "model_answer": TEXT,
    "image_path": Image(),
}


def samples() -> list[Sample]:
    """The test split: the eight types in the order of the benchmark, which repeats them."""
    menu, chart = page("KIOSK\nWater 1.00\nIce 2.00"), bars([6, 2, 4], list("KLM"))
    made = [
        ("attribute", "food", menu, ["Text", "Sign"], "What colour are the letters of the sign?", "The letters are black."),
        ("adversarial", "food", menu, ["Text", "Sign"], "How much is the coffee on this sign?", "No coffee is on the sign."),
        ("comparison", "indoor", chart, ["Bar chart"], "Which bar is lower, L or M?", "L is lower than M."),
        ("counting", "indoor", dots(13), ["Dot", "Circle"], "How many dots do you see?", "There are 13 dots."),
        ("relation", "indoor", chart, ["Bar chart"], "What is to the left of the bar L?", "The bar K is to the left of L."),
        ("environment", "outdoor", drawn("location", "mmhal").image, ["Mountain", "Grass"], "Is this indoors or outdoors?",
         "It is outdoors, in front of mountains."),
        ("holistic", "outdoor", drawn("scene", "mmhal").image, ["Star", "Cross"], "Describe this picture.",
         "A green cross, a green star and a red star on a light ground."),
        ("other", "indoor", clock(11, 0), ["Clock"], "How long is it until noon?", "It is one hour until noon."),
    ]  # fmt: skip
    rows: list[Row] = []
    for number, (kind, topic, picture, content, question, answer) in enumerate(made):
        row: Row = {"id": number, "question_type": kind, "question_topic": topic, "image_id": f"{number:016x}"}
        row |= {"image_src": f"https://pictures.example/{number}.jpg", "image_content": content, "question": question}
        rows.append({**row, "gt_answer": answer, "model_answer": "", "image_path": png(picture)})
    return [Sample(HUB_ID, "test", FEATURES, rows)]
