"""TextVQA: signs with text, ten people's answers and recognised tokens."""

from datasets import Image, Sequence, Value

from samples import Row, Sample, page, png

TEXT, NUMBER, TEXTS = Value("string"), Value("int32"), Sequence(Value("string"))
FEATURES = {
    "image_id": TEXT, "question_id": NUMBER, "question": TEXT, "question_tokens": TEXTS, "image": Image(), "image_width": NUMBER,
    "image_height": NUMBER, "flickr_original_url": TEXT, "flickr_300k_url": TEXT, "answers": TEXTS, "image_classes": TEXTS,
    "set_name": TEXT, "ocr_tokens": TEXTS,
}  # fmt: skip

SIGNS: dict[str, tuple[str, list[str], list[tuple[str, list[str]]]]] = {
    "a1b2c3d4e5f60001": ("NORTH ST\n\nExit 24", ["NORTH", "ST", "Exit", "24"], [
        ("what is the name of the street?", ["north st"] * 6 + ["north street"] * 3 + ["north"]),
        ("which exit is this?", ["24"] * 8 + ["exit 24"] * 2),
    ]),
    "a1b2c3d4e5f60002": ("Lena's Cafe\nOPEN 7-19\nSoup $1,50", ["Lena's", "Cafe", "OPEN", "7-19", "Soup", "$1,50"], [
        ("Whose cafe is this?", ["lena's"] * 7 + ["lena"] * 2 + ["unanswerable"]),
        ("how much is the soup?", ["$1,50"] * 5 + ["1,50"] * 4 + ["$1.50"]),
        ("is the cafe open at 8?", ["yes"] * 10),
    ]),
    "a1b2c3d4e5f60003": ("KLM\nflight 605\nGATE B12", ["KLM", "flight", "605", "GATE", "B12"], [
        ("what airline is it?", ["klm"] * 9 + ["klm airlines"]),
        ("what is the gate?", ["b12"] * 10),
        ("what is the number of the flight?", ["605"] * 6 + ["klm 605"] * 4),
    ]),
    "a1b2c3d4e5f60004": ("", [], [
        ("what does the sign say?", ["unanswerable"] * 3 + ["nothing"] * 3 + ["blank", "none", "empty", ""]),
        ("what color is the sign?", ["white"] * 10),
    ]),
}  # fmt: skip


def samples() -> list[Sample]:
    """The validation split."""
    rows: list[Row] = []
    for name, (text, tokens, questions) in SIGNS.items():
        picture, url = png(page(text, (120, 70))), f"https://pictures.example/{name}_o.jpg"
        for question, answers in questions:
            row: Row = {"image_id": name, "question_id": 34602 + len(rows), "question": question}
            row |= {"question_tokens": question.lower().rstrip("?").split(), "image": picture, "image_width": 120}
            row |= {"image_height": 70, "flickr_original_url": url, "flickr_300k_url": url, "answers": answers}
            rows.append({**row, "image_classes": ["Traffic sign"], "set_name": "val", "ocr_tokens": tokens})
    return [Sample("lmms-lab/textvqa", "validation", FEATURES, rows)]
