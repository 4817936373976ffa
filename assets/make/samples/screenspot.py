"""ScreenSpot, its second version and ScreenSpot-Pro: drawn windows with a labelled button and a coloured icon."""

from datasets import Image, Sequence, Value
from PIL import Image as Pillow
from PIL import ImageDraw

from samples import Row, Sample, png, rng

V2 = {
    "file_name": Value("string"), "bbox": Sequence(Value("float64")), "instruction": Value("string"),
    "data_type": Value("string"), "data_source": Value("string"), "image": Image(),
}  # fmt: skip
PRO = {
    "image": Image(), "img_filename": Value("string"), "bbox": Sequence(Value("int64")), "instruction": Value("string"),
    "instruction_cn": Value("string"), "id": Value("string"), "application": Value("string"), "platform": Value("string"),
    "img_size": Sequence(Value("int64")), "ui_type": Value("string"), "group": Value("string"),
}  # fmt: skip
OSWORLD = {
    "id": Value("string"), "image": Image(), "image_size": Sequence(Value("int64")), "instruction": Value("string"),
    "box_type": Value("string"), "box_coordinates": Sequence(Value("float64")),
}  # fmt: skip
SOURCES = ("ios", "android", "windows", "macos", "shop", "forum", "gitlab", "tool")
APPLICATIONS = (
    ("vscode", "macos", "Dev"), ("blender", "windows", "Creative"), ("autocad", "windows", "CAD"),
    ("matlab", "linux", "Scientific"), ("word", "windows", "Office"), ("linux_common", "linux", "OS"),
)  # fmt: skip
WORDS = ("Save", "Open", "Close", "Print", "Send", "Search")


def _window(name: str, size: tuple[int, int]) -> tuple[Pillow.Image, str, dict[str, tuple[int, int, int, int]]]:
    """A screenshot, the text on its button, and the boxes of the button ("text") and of the round icon ("icon")."""
    stream = rng("screenspot", name)
    made = Pillow.new("RGB", size, "white")
    pen = ImageDraw.Draw(made)
    pen.rectangle((0, 0, size[0], 10), fill="lightgray")
    left, top = stream.randint(4, size[0] // 2 - 44), stream.randint(14, size[1] - 24)
    button = (left, top, left + 40, top + 16)
    word = stream.choice(WORDS)
    pen.rectangle(button, outline="black", fill="lightblue")
    pen.text((left + 4, top + 2), word, fill="black")
    across, down = stream.randint(size[0] // 2 + 4, size[0] - 20), stream.randint(14, size[1] - 20)
    icon = (across, down, across + 14, down + 14)
    pen.ellipse(icon, fill="red")
    return made, word, {"text": button, "icon": icon}


def _v2() -> list[Row]:
    rows = []
    for number, source in enumerate(SOURCES):
        size = (100, 160) if source in ("ios", "android") else (160, 100)
        made, word, boxes = _window(source, size)
        kind = "text" if number % 2 else "icon"
        box = boxes[kind]
        shares = [box[0] / size[0], box[1] / size[1], box[2] / size[0], box[3] / size[1]]
        rows.append({
            "file_name": f"{source}_{number}.png", "bbox": shares, "data_type": kind, "data_source": source,
            "instruction": f"{word.lower()} the document" if kind == "text" else "stop recording", "image": png(made),
        })  # fmt: skip
    return rows


def _pro() -> list[Row]:
    rows = []
    for number, (application, platform, group) in enumerate(APPLICATIONS):
        made, word, boxes = _window(application, (200, 120))
        kind = "icon" if number % 2 else "text"
        rows.append({
            "image": png(made), "img_filename": f"{application}_{platform}/{number}.png", "bbox": list(boxes[kind]),
            "instruction": f"click the button {word}" if kind == "text" else "stop recording",
            "instruction_cn": f"点击{word}按钮" if kind == "text" else "停止录制", "id": f"{application}_{platform}_{number}",
            "application": application, "platform": platform, "img_size": [200, 120], "ui_type": kind, "group": group,
        })  # fmt: skip
    return rows


def _osworld() -> list[Row]:
    rows: list[Row] = []
    for number, kind in enumerate(("bbox", "polygon", "bbox")):
        made, word, boxes = _window(f"osworld{number}", (200, 120))
        left, top, right, bottom = boxes["text"]
        box = [left, top, right - left, bottom - top] if kind == "bbox" else [left, top, right, bottom]
        rows.append({
            "id": str(number), "image": png(made), "image_size": [200, 120], "instruction": f"click the button {word}",
            "box_type": kind, "box_coordinates": box,
        })  # fmt: skip
    return rows


def samples() -> list[Sample]:
    """The test splits."""
    return [
        Sample("rootsautomation/ScreenSpot", "test", V2, _v2()[:4]),
        Sample("HongxinLi/ScreenSpot_v2", "test", V2, _v2()),
        Sample("TIGER-Lab/ScreenSpot-Pro", "test", PRO, _pro()),
        Sample("MMInstruction/OSWorld-G", "test", OSWORLD, _osworld()),
    ]
