"""ChartQA: drawn bar charts with questions of the two kinds."""

from datasets import Image, Value
from PIL import Image as Pillow
from PIL import ImageDraw

from samples import Row, Sample, png

FEATURES = {"type": Value("string"), "question": Value("string"), "answer": Value("string"), "image": Image()}
COLORS = ("steelblue", "darkorange", "seagreen", "firebrick")

CHARTS: dict[str, tuple[dict[str, float], str, list[tuple[str, str]], list[tuple[str, str]]]] = {
    "Trains on time": ({"Oslo": 92, "Lima": 81, "Kyoto": 98, "Accra": 74}, "%", [
        ("Which city has the most trains on time?", "Kyoto"),
        ("What is the difference between Kyoto and Accra?", "24"),
        ("Is the bar of Lima longer than that of Oslo?", "No"),
    ], [
        ("What share of trains was on time in Oslo?", "92%"),
        ("In which city were 81% of the trains on time?", "Lima"),
    ]),
    "Bakery sales (1000 loaves)": ({"2017": 12.5, "2018": 13.1, "2019": 9.4, "2020": 15}, "", [
        ("What is the value of the orange bar?", "13.1"),
        ("How many bars are below 13?", "2"),
        ("What is the ratio of 2020 to 2017?", "1.2"),
        ("Which years are above 13?", "[2018, 2020]"),
    ], [
        ("How many thousand loaves were sold in 2019?", "9.4"),
        ("In which year were the fewest loaves sold?", "2019"),
        ("How many years are shown?", "4"),
    ]),
}  # fmt: skip


def _chart(title: str, bars: dict[str, float], unit: str) -> Pillow.Image:
    """Horizontal bars with their values."""
    made = Pillow.new("RGB", (220, 130), "white")
    pen = ImageDraw.Draw(made)
    pen.text((4, 2), title, fill="black")
    longest = max(bars.values())
    for place, ((label, value), color) in enumerate(zip(bars.items(), COLORS, strict=True)):
        top, right = 24 + 25 * place, 50 + int(120 * value / longest)
        pen.text((4, top + 2), label, fill="black")
        pen.rectangle((46, top, right, top + 15), fill=color)
        pen.text((right + 4, top + 2), f"{value:g}{unit}", fill="black")
    return made


def samples() -> list[Sample]:
    """The test split: questions by people, then generated ones, as on the hub."""
    rows: dict[str, list[Row]] = {"human_test": [], "augmented_test": []}
    for title, (bars, unit, human, augmented) in CHARTS.items():
        picture = png(_chart(title, bars, unit))
        for kind, questions in (("human_test", human), ("augmented_test", augmented)):
            rows[kind] += [{"type": kind, "question": q, "answer": answer, "image": picture} for q, answer in questions]
    return [Sample("lmms-lab/ChartQA", "test", FEATURES, rows["human_test"] + rows["augmented_test"])]
