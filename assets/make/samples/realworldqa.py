"""RealWorldQA: questions that carry their options and their instruction."""

from datasets import Image, Value
from PIL import Image as Pillow
from PIL import ImageDraw

from samples import Sample, drawn, page, png

FEATURES = {"image": Image(), "image_path": Value("string"), "question": Value("string"), "answer": Value("string")}
LETTER = "\nPlease answer directly with only the letter of the correct option and nothing else."
WORD = "\nPlease answer directly with a single word or number."


def _road() -> Pillow.Image:
    """A road with a red light on the left and a blue car on the right."""
    made = Pillow.new("RGB", (128, 96), "skyblue")
    pen = ImageDraw.Draw(made)
    pen.polygon([(50, 40), (78, 40), (128, 96), (0, 96)], fill="dimgray")
    pen.rectangle((14, 10, 26, 40), fill="black")
    pen.ellipse((16, 12, 24, 20), fill="red")
    pen.rectangle((84, 60, 112, 74), fill="blue")
    return made


def samples() -> list[Sample]:
    """The test split."""
    road, sign = png(_road()), png(page("SPEED\nLIMIT\n  45", (80, 60)))
    scene = drawn("scene", "realworldqa")
    things = [region for region in scene.regions if region.shape]
    asked = [
        (road, "What color is the traffic light?\n\nA. Green\nB. Yellow\nC. Red" + LETTER, "C"),
        (road, "Where is the car?\nA. On the left\nB. On the right" + LETTER, "B"),
        (road, "How many cars are on the road?" + WORD, "1"),
        (road, "Is there a pedestrian?\nA. Yes\nB. No" + LETTER, "B"),
        (road, "What color is the car?" + WORD, "Blue"),
        (road, "What should the driver do?\n\nA. Stop.\nB. Turn left.\nC. Go on.\nD. Turn right." + LETTER, "A"),
        (sign, "What is the speed limit?" + WORD, "45"),
        (sign, "What does the sign limit?\nA. Height\nB. Speed\nC. Weight" + LETTER, "B"),
        (png(scene.image), "How many shapes are drawn?" + WORD, str(len(things))),
        (png(scene.image), "Are there dogs in the picture?" + WORD, "No"),
    ]
    rows = [
        {"image": picture, "image_path": f"{n}.webp", "question": question, "answer": answer}
        for n, (picture, question, answer) in enumerate(asked)
    ]
    return [Sample("lmms-lab/RealWorldQA", "test", FEATURES, rows)]
