"""PMC-VQA: a question with four choices on each of six drawn pictures, as the hub's table of commas and as rows."""

import csv
import io

import scenes
from datasets import Value

from samples import Row, Sample, rng
from samples._movies import zipped

NAMES = ("Figure_path", "Question", "Answer", "Choice A", "Choice B", "Choice C", "Choice D", "Answer_label")
OTHERS = ("teal", "silver", "beige", "maroon", "ivory")


def samples() -> list[Sample]:
    """Six questions."""
    rows, figures = list[Row](), dict[str, bytes]()
    for number in range(6):
        picture, stream = scenes.draw_scene(rng("scene", "pmc_vqa", number)), rng("pmc_vqa", number)
        thing = picture.things[0]
        figure = io.BytesIO()
        picture.image.quantize(32).convert("RGB").save(figure, "JPEG", quality=40)
        name = f"PMC{number:07}_F1.jpg"
        figures[f"images/{name}"] = figure.getvalue()
        choices = [thing.color, *stream.sample(OTHERS, 3)]
        stream.shuffle(choices)
        rows.append({
            "Figure_path": name, "Question": f" What is the color of one {thing.shape}? ", "Answer": thing.color,
            **{f"Choice {letter}": f" {letter}:{text} " for letter, text in zip("ABCD", choices, strict=True)},
            "Answer_label": "ABCD"[choices.index(thing.color)],
        })  # fmt: skip
    table = io.StringIO()
    writer = csv.DictWriter(table, NAMES, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    files = {"test_clean.csv": table.getvalue().encode(), "images.zip": zipped(figures)}
    return [Sample("xmcmic/PMC-VQA", "test", {name: Value("string") for name in NAMES}, rows, files=files)]
