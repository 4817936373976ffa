"""Mantis-Eval: questions on two to four drawn pictures, with labelled and plain options, and short answers."""

from datasets import Image, Sequence, Value

from samples import Row, Sample, png, rng
from samples.vqav2 import scene_with

TEXT = Value("string")
FEATURES = {
    "id": TEXT, "question_type": TEXT, "question": TEXT, "images": Sequence(Image()), "options": Sequence(TEXT), "answer": TEXT,
    "data_source": TEXT, "category": TEXT,
}  # fmt: skip
ORDINALS = ("first", "second", "third", "fourth")


def samples() -> list[Sample]:
    """The test split: six questions with options, two with short answers."""
    rows: list[Row] = []
    scenes = [scene_with("mantis", number) for number in range(4)]
    cells = [png(picture.image) for picture, _ in scenes]
    counts = [len([region for region in picture.regions if region.shape]) for picture, _ in scenes]

    def add(question: str, shown: int, options: list[str], answer: str, category: str) -> None:
        rows.append({
            "id": f"mantis_{len(rows)}", "question_type": "multi-choice" if options else "short-answer", "question": question,
            "images": cells[:shown], "options": options, "answer": answer, "data_source": "mm-eval", "category": category,
        })  # fmt: skip

    for shown in (2, 3, 4):
        marks = " ".join(["<image>"] * shown)
        wanted = rng("mantis", shown).randrange(shown)
        _, thing = scenes[wanted]
        listed = [f"the {name}" for name in ORDINALS[:shown]]
        labelled = [f"({letter}) {text}" for letter, text in zip("ABCD", listed, strict=False)]
        add(
            f"{marks}\nWhich picture was described as having a {thing.color} {thing.shape}?",
            shown,
            labelled if shown == 3 else listed,
            f"({'ABCD'[wanted]})" if shown == 3 else "ABCD"[wanted],
            "identify",
        )
        numbers = sorted({sum(counts[:shown]) + n for n in (-1, 0, 2)})
        add(
            "How many shapes do all pictures have together?",
            shown,
            [str(number) for number in numbers],
            "ABC"[numbers.index(sum(counts[:shown]))],
            "counting",
        )
    add("<image> How many shapes does the first picture have?", 2, [], str(counts[0]), "counting")
    add(
        f"What is the color of the {scenes[1][1].shape} in the second picture?",
        2,
        [],
        scenes[1][1].color.title(),
        "color",
    )
    return [Sample("TIGER-Lab/Mantis-Eval", "test", FEATURES, rows, "mantis_eval")]
