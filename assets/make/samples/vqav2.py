"""VQAv2: scenes of shapes with ten people's answers."""

from datasets import Image, Value
from drawing import Picture, Region

from samples import Row, Sample, drawn, png

TEXT, NUMBER = Value("string"), Value("int64")
FEATURES = {
    "question_type": TEXT, "multiple_choice_answer": TEXT,
    "answers": [{"answer": TEXT, "answer_confidence": TEXT, "answer_id": NUMBER}],
    "image_id": NUMBER, "answer_type": TEXT, "question_id": NUMBER, "question": TEXT, "image": Image(),
}  # fmt: skip


def scene_with(name: str, number: int) -> tuple[Picture, Region]:
    """A scene, and a thing in it whose shape comes once."""
    for attempt in range(100):
        picture = drawn("scene", name, number, attempt)
        shapes = [region.shape for region in picture.regions if region.shape]
        alone = [region for region in picture.regions if shapes.count(region.shape) == 1]
        if alone and len(shapes) > 2:
            return picture, alone[0]
    raise AssertionError("no scene with such a thing")


def _people(answer: str, other: str, agreeing: int) -> list[dict[str, object]]:
    given = [answer] * agreeing + [other] * (10 - agreeing)
    sure = ("yes", "maybe", "no")
    return [{"answer": text, "answer_confidence": sure[n % 3], "answer_id": n + 1} for n, text in enumerate(given)]


def samples() -> list[Sample]:
    """The validation split: three questions on each of four scenes, one a type of answer."""
    rows: list[Row] = []
    for scene in range(4):
        picture, first = scene_with("vqav2", scene)
        things = [region for region in picture.regions if region.shape]
        cell, image_id = png(picture.image), 262148 + scene
        asked = [
            (f"Is there a {first.shape}?", "is there a", "yes/no", "yes", "no", 10 if scene % 2 else 8),
            ("How many shapes are there?", "how many", "number",
             str(len(things)), "7", 9),
            (f"What color is the {first.shape}?", "what color is the", "other", first.color, f"light {first.color}", 6),
        ]  # fmt: skip
        for place, (question, kind, answer_type, answer, other, agreeing) in enumerate(asked):
            row: Row = {"question_type": kind, "multiple_choice_answer": answer, "image_id": image_id}
            row |= {"answers": _people(answer, other, agreeing), "answer_type": answer_type, "image": cell}
            rows.append({**row, "question_id": image_id * 1000 + place, "question": question})
    return [Sample("lmms-lab/VQAv2", "validation", FEATURES, rows)]
