"""ZeroBench: drawn scenes with questions of several steps, and the steps."""

from datasets import Image, List, Value

from samples import Row, Sample, drawn, png

TEXT = Value("string")
FEATURES = {
    "question_id": TEXT, "question_text": TEXT, "question_images_decoded": List(Image()), "question_images": List(TEXT),
    "question_answer": TEXT, "image_attribution": TEXT,
}  # fmt: skip


def _shapes(*names: object) -> int:
    """How many shapes a scene has."""
    return sum(bool(region.shape) for region in drawn("scene", *names).regions)


def samples() -> list[Sample]:
    """Six questions, of which half have two pictures, and a step for each picture."""
    main: list[Row] = []
    steps: list[Row] = []
    for number in range(1, 7):
        shown = [drawn("scene", "zerobench", number, place) for place in range(1 + number % 2)]
        counts = [_shapes("zerobench", number, place) for place in range(len(shown))]
        images = {
            "question_images_decoded": [png(scene.image) for scene in shown],
            "question_images": [f"images/{number}_{place}.png" for place in range(len(shown))],
            "image_attribution": "Own",
        }
        price = sum(counts) * 1.25
        asked = f"Each shape costs 1.25 dollars. What do all shapes on {len(shown)} pictures cost? Give your answer in dollars."
        main.append({"question_id": str(number), "question_text": asked, **images, "question_answer": f"{price:.2f}"})
        for place, count in enumerate(counts):
            step = f"How many shapes has picture {place + 1}?"
            steps.append({
                "question_id": f"{number}_{place + 1}", "question_text": step, **images, "question_answer": str(count)
            })  # fmt: skip
    hub = "jonathan-roberts1/zerobench"
    return [Sample(hub, "zerobench", FEATURES, main), Sample(hub, "zerobench_subquestions", FEATURES, steps)]
