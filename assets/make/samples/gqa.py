"""GQA: questions in one configuration, the scenes that they are about in another."""

from datasets import Image, Sequence, Value

from samples import Row, Sample, png
from samples.vqav2 import scene_with

TEXT = Value("string")
QUESTIONS = {
    "id": TEXT, "imageId": TEXT, "question": TEXT, "answer": TEXT, "fullAnswer": TEXT, "isBalanced": Value("bool"),
    "groups": {"global": TEXT, "local": TEXT}, "entailed": TEXT, "equivalent": TEXT,
    "types": {"structural": TEXT, "semantic": TEXT, "detailed": TEXT},
    "annotations": [{"question": {"objectId": TEXT, "value": TEXT}, "answer": {"objectId": TEXT, "value": TEXT},
                     "fullAnswer": {"objectId": TEXT, "value": TEXT}}],
    "semantic": [{"operation": TEXT, "argument": TEXT, "dependencies": Sequence(Value("int32"))}], "semanticStr": TEXT,
}  # fmt: skip
PICTURES = {"id": TEXT, "image": Image()}


def samples() -> list[Sample]:
    """Both configurations of testdev. The pictures stand in another order than the questions that name them."""
    questions: list[Row] = []
    pictures: list[Row] = []
    for scene in range(4):
        (picture, one), name = scene_with("gqa", scene), f"n{161313 + scene}"
        pictures.insert(0, {"id": name, "image": png(picture.image)})
        asked = [
            (f"Is there a {one.shape} in the picture?", "yes", "Yes, there is.", "verify", "obj", "existC", "objects"),
            (f"What color is the {one.shape}?", one.color, f"It is {one.color}.", "query", "attr", "directOf", None),
            (
                f"Is it a {one.shape} or a house?",
                one.shape,
                f"A {one.shape}.",
                "choose",
                "cat",
                "categoryThat",
                "shape",
            ),
        ]
        for question, answer, full, structural, semantic, detailed, group in asked:
            identity = str(201307251 + len(questions))
            row: Row = {"id": identity, "imageId": name, "question": question, "answer": answer, "fullAnswer": full}
            row |= {
                "isBalanced": True,
                "groups": {"global": group, "local": f"13-{one.shape}"},
                "entailed": f"['{identity}']",
            }
            row |= {"equivalent": f"['{identity}']", "annotations": []}
            row |= {"types": {"structural": structural, "semantic": semantic, "detailed": detailed}}
            steps = [{"operation": "select", "argument": f"{one.shape} (1)", "dependencies": []}]
            questions.append({**row, "semantic": steps, "semanticStr": f"select: {one.shape} (1)"})
    hub = "lmms-lab/GQA"
    return [
        Sample(hub, "testdev", QUESTIONS, questions, "testdev_balanced_instructions"),
        Sample(hub, "testdev", PICTURES, pictures, "testdev_balanced_images"),
    ]
