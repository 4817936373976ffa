"""SEED-Bench-2-Plus: questions on drawn bar charts, maps of named places and pages with prices."""

from datasets import Image, Value
from drawing import COLORS, SIZE, draw_text
from PIL import Image as Pillow
from PIL import ImageDraw

from samples import Row, Sample, page, png, rng

TEXTS = (
    *("data_id", "question_id", "question_image_type", "question_image_subtype", "question"),
    *(
        "choice_A",
        "choice_B",
        "choice_C",
        "choice_D",
        "answer",
        "data_source",
        "data_type",
        "level",
        "subpart",
        "version",
    ),
)
FEATURES = {**dict.fromkeys(TEXTS, Value("string")), "image": Image()}
FRUIT = ["apples", "pears", "plums", "figs"]
TOWNS = ["Arden", "Bolve", "Corin", "Delta"]


def chart(counts: list[int]) -> Pillow.Image:
    """Bars with their counts above and a fruit's first two letters below."""
    image = Pillow.new("RGB", (SIZE, SIZE), "white")
    pen = ImageDraw.Draw(image)
    for place, (count, color) in enumerate(zip(counts, COLORS.values(), strict=False)):
        pen.rectangle((6 + 22 * place, 80 - 8 * count, 22 + 22 * place, 80), fill=color)
        draw_text(pen, str(count), 11 + 22 * place, 67 - 8 * count, 11)
        draw_text(pen, FRUIT[place][:2], 8 + 22 * place, 82, 11)
    return image


def street_map(order: list[str]) -> Pillow.Image:
    """Four towns along one road from north to south."""
    image = Pillow.new("RGB", (SIZE, SIZE), (226, 245, 226))
    pen = ImageDraw.Draw(image)
    pen.line((20, 8, 20, 90), fill=(120, 120, 120), width=4)
    for place, town in enumerate(order):
        pen.ellipse((15, 8 + 22 * place, 25, 18 + 22 * place), fill=COLORS["red"])
        draw_text(pen, town, 32, 7 + 22 * place, 12)
    return image


def samples() -> list[Sample]:
    rows: list[Row] = []

    def add(kind: str, subtype: str, image: Pillow.Image, question: str, options: list[str], right: str) -> None:
        row = {
            "data_id": f"{kind}_{len(rows) // 2}", "question_id": f"{len(rows)}", "question_image_type": kind,
            "question_image_subtype": subtype, "question": question,
            **{f"choice_{letter}": option for letter, option in zip("ABCD", options, strict=True)},
            "answer": "ABCD"[options.index(right)], "data_source": "made", "data_type": "Single Image", "level": "L1",
            "subpart": "Single-Image & Text Comprehension", "version": "made", "image": png(image),
        }  # fmt: skip
        rows.append(row)

    for number in range(2):
        stream = rng("seedbench_2_plus", number)
        counts = stream.sample(range(1, 9), 4)
        bars, most, least = chart(counts), FRUIT[counts.index(max(counts))], FRUIT[counts.index(min(counts))]
        add("chart", "bar chart", bars, "Which fruit has the highest bar in the chart?", FRUIT, most)
        add("chart", "bar chart", bars, "Of which fruit are there the fewest?", FRUIT, least)
        order = stream.sample(TOWNS, 4)
        road = street_map(order)
        add("map", "road map", road, "Which town is the northernmost on the map?", TOWNS, order[0])
        add("map", "road map", road, f"Which town comes directly south of {order[1]}?", TOWNS, order[2])
        prices = stream.sample(["$3", "$5", "$8", "$9"], 4)
        shop = page("FRUIT SHOP\n" + "\n".join(f"{fruit}: {price}" for fruit, price in zip(FRUIT, prices, strict=True)))
        add("web", "shop", shop, "What do the plums cost on this page?", sorted(prices), prices[2])
        add("web", "shop", shop, f"What is sold for {prices[3]}?", FRUIT, FRUIT[3])
    return [Sample("doolayer/SEED-Bench-2-Plus", "test", FEATURES, rows)]
