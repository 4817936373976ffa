"""RefCOCO and ScreenSpot: the units of each family, what counts as a box or a point, and the pictures that are shown."""

import io
from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.grounding import refcoco
from mm_eval.tasks.rules.grounding import Units, box_iou, other_units, point_in_box
from mm_eval.tasks.rules.places import first_box, first_point
from PIL import Image

from mm_eval.config.manager import TaskManager
from mm_eval.values.errors import ConfigError
from tests.papers.recordings import write_answers
from tests.sets import each_of, few
from tests.tasks.answers import answered
from tests.tasks.made_up import MadeUp


class Grounding(MadeUp):
    """A sample whose pictures are all the first one."""

    def size(self) -> tuple[int, int]:
        """Width and height of the first picture."""
        stored = self.table(self.config)["image"][0].as_py()["bytes"]
        return Image.open(io.BytesIO(stored), formats=["PNG"]).size

    def read(
        self, cli: Any, folder: Path, docs: list[dict[str, Any]], answers: list[str], metric: str
    ) -> list[bool | None]:
        """Whether each answer is right, in units from 0 to 1000; None where nothing was read."""
        ran = self.run(cli, folder, docs, answers, options=("--prompt_key", "internvl"))
        return [
            None if row["rules"]["none"][0] in ("unparsed", "truncated") else bool(row["scores"][f"{metric},none"])
            for row in ran.samples(self.task)
        ]


REFCOCOG = Grounding("refcocog_test", "lmms-lab-encoder/RefCOCOg", "test")
GOLD = "[100, 200, 300, 400] in 1000 x 1000"
JSON = '```json\n[\n\t{"bbox_2d": [100, 200, 300, 400], "label": "the dog"}\n]\n```'
BOXES = [
    ("[100, 200, 300, 400]", True),
    (JSON, True),
    ('{"bbox_2d": [100, 200, 300, 400]}', True),
    ("<ref>the dog</ref><box>[[100, 200, 300, 400]]</box>", True),
    ("<ref>the dog</ref><box>(100,200),(300,400)</box>", True),
    ("<|object_ref_start|>dog<|object_ref_end|><|box_start|>(100,200),(300,400)<|box_end|>", True),
    ("<box>100 200 300 400</box>", True),
    ("The dog is at [100.0, 200.0, 300.0, 400.0].", True),
    ("(100, 200), (300, 400)", True),
    ("[100, 200], [300, 400]", True),
    ("x1=100, y1=200, x2=300, y2=400", True),
    ('{"x1": 100, "y1": 200, "x2": 300, "y2": 400}', True),
    ("[300, 400, 100, 200]", True),  # corners in the other order
    ("[100, 400, 300, 200]", True),
    ("[x1, y1, x2, y2] = [100, 200, 300, 400]", True),
    ('```json\n[{"box_2d": [200, 100, 400, 300], "label": "dog"}]\n```', True),  # Gemini's order is y first
    ('[{"box_2d": [100, 200, 300, 400]}]', False),
    ("top-left (100, 200), bottom-right (300, 400)", True),
    ("From (100, 200) to (300, 400).", True),
    ("100 200 300 400", True),
    ("狗在（100，200），（300，400）", True),
    ("[[100, 200, 300, 400], [500, 600, 700, 800]]", True),  # several: the first counts
    ("[500, 600, 700, 800] or rather [100, 200, 300, 400]", False),
    ("<think>[500, 600, 700, 800]?</think>[100, 200, 300, 400]", True),
    ("[0.1, 0.2, 0.3, 0.4]", False),  # other units are not guessed
    ("[0.1, 0.2, 300, 400]", False),
    ("[100, 200, 1300, 400]", False),
    ("[-900, 200, 300, 400]", False),
    ("[100, 200, 100, 400]", False),  # no area
    ("[101, 199, 299, 401]", True),
    ("[100, 200, 300, 300]", True),  # an overlap of exactly one half
    ("[100, 200, 300, 299]", False),
    ("[100, 200]", None),
    ("[100, 200, 300]", None),
    ("[100, 200, 300, 400, 500]", None),
    ("10%, 20%, 30%, 40%", None),
    ("[x1, y1, x2, y2]", None),
    ("B and C", None),
    ("I cannot see a dog in this picture.", None),
    ("", None),
    ("<think>[100, 200, 300, 400]", None),
]


def test_boxes(cli: Any, tmp_path: Path) -> None:
    """Every answer through the task that ships, in InternVL's units, for the box [100, 200, 300, 400] of 1000."""
    width, height = REFCOCOG.size()
    docs = [{"bbox": [0.1 * width, 0.2 * height, 0.2 * width, 0.2 * height]}] * len(BOXES)
    assert REFCOCOG.read(cli, tmp_path, docs, [answer for answer, _ in BOXES], "box_accuracy") == [
        right for _, right in BOXES
    ]


POINTS = [
    ("[200, 300]", True),
    ("(200, 300)", True),
    ("pyautogui.click(x=200, y=300)", True),
    ('{"x": 200, "y": 300}', True),
    (
        '<tool_call>\n{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [200, 300]}}\n</tool_call>',
        True,
    ),
    ('[{"point_2d": [200, 300], "label": "close"}]', True),
    ("<point>200 300</point>", True),
    ('<point x="200" y="300" alt="cat">cat</point>', True),
    ('<points x1="200" y1="300" x2="900" y2="900" alt="cats">cats</points>', True),
    ('<point x="900" y="900">cat</point>', False),
    ("Click on (200.5, 300.25) to close it.", True),
    ("[100, 200, 300, 400]", True),  # the centre of a box
    ("<box>[[100, 200, 300, 400]]</box>", True),
    ("<|box_start|>(100,200),(300,400)<|box_end|>", True),
    ("[100, 200]", True),  # on the corner
    ("[300, 400]", True),
    ("(200, 300), (900, 900)", True),  # several: the first counts
    ("(900, 900), (200, 300)", False),
    ("[99, 300]", False),
    ("[0.2, 0.3]", False),
    ("[1200, 300]", False),
    ("[-200, 300]", False),
    ("20%, 30%", None),
    ("200", None),
    ("[100, 200, 300]", None),
    ("The button is at the top left.", None),
    ("", None),
]


@each_of(
    "answer",
    [
        "<box><10><20><30><40></box>", "<loc0020><loc0010><loc0040><loc0030>", "[ymin, xmin, ymax, xmax] = [20, 10, 40, 30]",
        "box_2d: 20, 10, 40, 30", '{"y_min": 20, "x_min": 10, "y_max": 40, "x_max": 30}', "ymin=20, xmin=10, ymax=40, xmax=30",
        "left=10, top=20, right=30, bottom=40", '{"top": 20, "left": 10, "bottom": 40, "right": 30}',
        '[{"box_2d": [20, 10, 40, 30]}]',
        "x_min: 10, y_min: 20, x_max: 30, y_max: 40", "<|det|>[[10, 20, 30, 40]]<|/det|>",
    ],
)  # fmt: skip
def test_a_box_is_read_by_the_names_of_its_numbers(answer: str) -> None:
    """Boxes whose rows come first were read as if their columns did."""
    assert first_box(answer) == [10, 20, 30, 40]


@each_of(
    "answer",
    [
        "y=20, x=10", '{"y": 20, "x": 10}', '<point y="20" x="10">', "x: 10\ny: 20", "coordinates are x = 10 and y = 20",
        "x=10 y=20",
        "X=10, Y=20", '{"x": 10, "y": 20}',
        "[y, x] = [20, 10]", "point (y, x): (20, 10)", "(x, y) = (10, 20)", "(row, col) = (20, 10)",
    ],
)  # fmt: skip
def test_a_point_is_read_by_the_names_of_its_numbers(answer: str) -> None:
    assert first_point(answer) == [10, 20]


@each_of(("answer", "right"), POINTS)
def test_points(answer: str, right: bool | None) -> None:
    point = first_point(answer)
    assert (point is None) is (right is None)
    assert point_in_box(GOLD, [str(point) if point else None]) == [int(bool(right))]


@each_of(
    ("stated", "shown", "gold"),
    [
        ("0 to 1", (640, 480), "[0.25, 0.5, 0.5, 0.75] in 1 x 1"),
        ("0 to 1000", (640, 480), "[250, 500, 500, 750] in 1000 x 1000"),
        ("pixels", (640, 480), "[160, 240, 320, 360] in 640 x 480"),
        (
            {"pixels": "resized", "multiple": 28, "min_pixels": 3136, "max_pixels": 12845056},
            (644, 476),
            "[161, 238, 322, 357] in 644 x 476",
        ),
        (
            {"pixels": "resized", "multiple": 28, "min_pixels": 3136, "max_pixels": 100352},
            (364, 252),
            "[91, 126, 182, 189] in 364 x 252",
        ),
        (
            {"pixels": "resized", "multiple": 28, "min_pixels": 1003520, "max_pixels": 12845056},
            (1176, 868),
            "[294, 434, 588, 651] in 1176 x 868",
        ),
    ],
)
def test_the_units_of_a_family(stated: Any, shown: tuple[int, int], gold: str) -> None:
    units = Units.read(stated)
    assert units.shown(640, 480) == shown
    assert units.gold([0.25, 0.5, 0.5, 0.75], 640, 480) == gold


@each_of(
    "stated",
    [
        None,
        "0 to 0",
        "thousand",
        1000,
        {"pixels": "resized", "multiple": 28},
        {"pixels": "resized", "multiple": 0, "min_pixels": 1, "max_pixels": 1},
    ],
)
def test_units_that_are_not_stated_exactly_are_an_error(stated: Any) -> None:
    with pytest.raises(ConfigError, match="coordinates"):
        Units.read(stated)


@pytest.mark.slow
def test_the_processor_leaves_the_picture_that_is_shown_as_it_is() -> None:
    smart_resize = pytest.importorskip("transformers.models.qwen2_vl.image_processing_pil_qwen2_vl").smart_resize
    limits = {"min_pixels": 3136, "max_pixels": 400_000}
    units = Units.read({"pixels": "resized", "multiple": 28, **limits})
    for width, height in [(640, 480), (30, 29), (4000, 3000), (1, 150), (999, 1001), (500, 28), (1400, 14), (641, 479)]:
        shown = units.shown(width, height)
        if min(width, height) >= 28:
            assert smart_resize(height, width, factor=28, **limits) == shown[::-1], (width, height)
        assert smart_resize(shown[1], shown[0], factor=28, **limits) == shown[::-1], (width, height)


def test_overlaps_and_other_units() -> None:
    assert box_iou(GOLD, ["[200, 300, 400, 500]", "[300, 400, 500, 600]", None]) == [pytest.approx(1 / 7), 0, 0]
    answers = ["[100, 200, 300, 400]", "[0.1, 0.2, 0.3, 0.4]", "[100, 200, 1040, 400]", "[100, 200, 1300, 400]", None]
    assert other_units(GOLD, answers) == [0, 1, 0, 1, 0]
    assert other_units("[0.1, 0.2, 0.3, 0.4] in 1 x 1", ["[0.1, 0.2, 0.3, 0.4]", "[100, 200, 300, 400]"]) == [0, 1]


@pytest.mark.parametrize(
    ("key", "text", "target"),
    few(
        [
            ("llava", "Bounding box coordinates are specified", "in 1 x 1"),
            ("qwen2_vl", "Locate left circle, output its bbox coordinates using JSON format.", "in 1000 x 1000"),
            ("qwen2_5_vl", "Locate left circle, output its bbox coordinates using JSON format.", "in 112 x 168"),
            ("qwen3_vl", "Locate left circle, output its bbox coordinates using JSON format.", "in 1000 x 1000"),
            ("internvl", "sentence describes: <ref>left circle</ref>", "in 1000 x 1000"),
        ],
        at=[0, 3],
    ),
)
def test_the_prompt_and_the_target_have_the_same_units(cli: Any, key: str, text: str, target: str) -> None:
    ran = cli("show", "refcoco_val", "--sample", "--model", "dummy", "--prompt_key", key)
    assert text in ran.out
    assert f"{target}'" in ran.out
    assert "coordinates" in ran.out.partition("prompt key: ")[2].partition("\n")[0]
    width, height = (112, 168) if key == "qwen2_5_vl" else (120, 160)
    assert f"picture 0: {width} x {height} " in ran.out


def test_each_expression_is_a_question_and_a_wrong_unit_is_counted(cli: Any, tmp_path: Any) -> None:
    ran = answered(
        cli, tmp_path, "refcocoplus_val", ["<think>[1, 2, 3, 4]</think>(10, 20), (300, 400)", "", *["[0, 0, 1, 1]"] * 6]
    )
    rows = ran.samples("refcocoplus_val")
    assert [row["doc"]["wanted"] for row in rows[:2]] == rows[0]["doc"]["answer"]
    assert rows[0]["filtered_resps"]["none"] == ["[10, 20, 300, 400]"]
    assert [row["scores"]["other_units,none"] for row in rows[:3]] == [1, 0, 0]
    assert ran.results["results"]["refcocoplus_val"]["unparsed"] == 1


@pytest.mark.full
@pytest.mark.parametrize(
    ("limit", "code"),
    [("max_pixels=12845055", 2), ("min_pixels=3137", 2), ("max_pixels=12845056", 0), ("min_pixels=784", 0)],
)
def test_other_pixel_limits_of_the_model_are_an_error(cli: Any, limit: str, code: int) -> None:
    """The model would shrink the picture again, and count other pixels than the target."""
    ran = cli(
        "show",
        "refcoco_val",
        "--sample",
        "--model",
        "tiny-qwen2-vl",
        "--prompt_key",
        "qwen2_5_vl",
        "--model_args",
        limit,
    )
    assert ran.code == code, ran.err
    assert code == 0 or limit.partition("=")[0] in ran.err
    assert cli("show", "refcoco_val", "--sample", "--model", "tiny-qwen2-vl", "--model_args", limit).code == 0


def test_clicks_by_platform_and_type(cli: Any, tmp_path: Path) -> None:
    """Half of the sample's clicks are right; the categories are those of the papers' tables."""
    gold = [row["target"] for row in answered(cli, tmp_path, "screenspot_v2", ["-"] * 8).samples("screenspot_v2")]
    ran = answered(cli, tmp_path, "screenspot_v2", [*gold[:4], "[0.01, 0.01]", "click (5, 5)", "", "20%, 30%"])
    row = ran.results["results"]["screenspot_v2"]
    assert (row["point_in_box,none"], row["other_units,none"], row["unparsed"]) == (0.5, 0.125, 2)
    levels = ran.results["categories"]["screenspot_v2"]
    found = {name: each["point_in_box,none"] for name, each in levels["platform"].items()}
    assert found == {"Mobile": 1, "Desktop": 1, "Web": 0}
    assert set(levels["platform and type"]) == {f"{a}, {b}" for a in found for b in ("text", "icon")}


@pytest.mark.parametrize(
    ("task", "key", "units", "target"),
    few(
        [
            ("screenspot_v2", "llava", "within [0, 1].", "in 1 x 1"),
            ("screenspot_v2", "internvl", "within [0, 1000].", "in 1000 x 1000"),
            ("screenspot_pro", "qwen2_5_vl", "in pixels of the image.", "in 196 x 112"),
            ("screenspot_pro", "qwen3_vl", "within [0, 1000].", "in 1000 x 1000"),
        ],
        at=[0, 2],
    ),
)
def test_a_click_is_asked_for_in_the_units_of_the_target(
    cli: Any, task: str, key: str, units: str, target: str
) -> None:
    ran = cli("show", task, "--sample", "--model", "dummy", "--prompt_key", key)
    assert units in ran.out
    assert f"{target}'" in ran.out


def test_screenspot_pro_by_group(cli: Any, tmp_path: Path) -> None:
    gold = [row["target"] for row in answered(cli, tmp_path, "screenspot_pro", ["-"] * 6).samples("screenspot_pro")]
    levels = answered(cli, tmp_path, "screenspot_pro", [gold[0], *["[0, 0]"] * 5]).results["categories"][
        "screenspot_pro"
    ]
    assert {name: each["point_in_box,none"] for name, each in levels["group"].items()}["Dev"] == 1
    assert {name: each["n"] for name, each in levels["ui_type"].items()} == {"text": 3, "icon": 3}


def test_a_picture_that_cannot_be_read_fails_its_document_alone(cli: Any, tmp_path: Path) -> None:
    root = REFCOCOG.write(tmp_path / "data", [{}, {"image": {"bytes": b"no picture", "path": None}}, {}])
    answers = write_answers(tmp_path / "answers.jsonl", {"refcocog_test": ["[0, 0, 1, 1]"] * 3})
    options = (
        "--model",
        "replay",
        "--model_args",
        f"path={answers}",
        "--data_root",
        root,
        "--output_path",
        tmp_path / "run",
    )
    ran = cli("--tasks", "refcocog_test", *options)
    assert ran.code == 3
    assert [row["status"] for row in ran.samples("refcocog_test")] == ["answered", "failed", "answered"]


@pytest.mark.parametrize(
    ("size", "said"), [(8811, "the papers' val has 3,811"), (7573, "the papers' val has 2,573"), (3811, None)]
)
def test_the_hubs_val_says_that_it_is_not_the_papers(
    caplog: Any, monkeypatch: Any, size: int, said: str | None
) -> None:
    monkeypatch.setattr(refcoco, "with_expressions", list)
    assert len(refcoco.with_expressions_of_val(range(size))) == size
    assert said in caplog.text if said else not caplog.text


@pytest.mark.parametrize(("size", "group"), [(1810, "refcoco"), (5023, "refcocog"), (12, None)])
def test_a_group_says_which_split_it_leaves_out(caplog: Any, monkeypatch: Any, size: int, group: str | None) -> None:
    monkeypatch.setattr(refcoco, "with_expressions", list)
    refcoco.with_expressions_of_test(range(size))
    assert f"the group {group} is without val" in caplog.text if group else not caplog.text


def test_the_groups_leave_the_hubs_val_out() -> None:
    manager = TaskManager()
    assert list(manager.load("refcoco").tasks) == ["refcoco_testA", "refcoco_testB"]
    assert list(manager.load("refcocog").tasks) == ["refcocog_test"]
    assert list(manager.load("refcoco_val,refcocog_val").tasks) == ["refcoco_val", "refcocog_val"]


def stored(kind: str, turned: int | None = None) -> bytes:
    """A picture of 160 x 120 pixels, as it is stored."""
    file, exif = io.BytesIO(), Image.Exif()
    exif[0x0112] = turned
    Image.new("RGB", (160, 120), "white").save(file, kind, **({"exif": exif} if turned else {}))
    return file.getvalue()


def test_the_target_lies_in_the_picture_that_is_shown(cli: Any, tmp_path: Path) -> None:
    """Upright, of every format, below the data's folder; boxes are in pixels of the picture as it is shown."""
    folder = tmp_path / "data" / REFCOCOG.hub_id
    (folder / "photos").mkdir(parents=True)
    (folder / "photos" / "d.jpg").write_bytes(stored("JPEG", 6))
    (folder / "photos" / "e.avif").write_bytes(stored("AVIF"))
    pictures = [
        ({"bytes": stored("JPEG", 6), "path": None}, (120, 160)),
        ({"bytes": stored("JPEG2000"), "path": None}, (160, 120)),
        ({"bytes": stored("AVIF", 8), "path": None}, (120, 160)),
        ({"bytes": None, "path": "photos/d.jpg"}, (120, 160)),
        ({"bytes": None, "path": "photos/e.avif"}, (160, 120)),
    ]
    box = [12.0, 12.0, 24.0, 24.0]
    root = REFCOCOG.write(tmp_path / "data", [{"image": cell, "bbox": box} for cell, _ in pictures])
    for number, (_, (width, height)) in enumerate(pictures):
        options = ("--data_root", root, "--model", "dummy", "--prompt_key", "internvl", "--doc", number)
        ran = cli("show", "refcocog_test", *options)
        assert ran.code == 0, ran.err
        share = [12000 / width, 12000 / height, 36000 / width, 36000 / height]
        assert f"[{', '.join(f'{each:.9g}' for each in share)}] in 1000 x 1000" in ran.out
        assert f"picture 0: {width} x {height} " in ran.out


def test_a_cell_that_cannot_be_read_has_no_target(cli: Any, tmp_path: Path) -> None:
    cells = [None, {"bytes": b"no picture", "path": None}, {"bytes": None, "path": "gone.png"}]
    root = REFCOCOG.write(tmp_path / "data", [{"image": cell} if cell else {} for cell in cells])
    answers = write_answers(tmp_path / "answers.jsonl", {"refcocog_test": ["[0, 0, 1, 1]"] * 3})
    options = ("--model", "replay", "--model_args", f"path={answers}", "--data_root", root)
    ran = cli("--tasks", "refcocog_test", *options, "--output_path", tmp_path / "run")
    assert ran.code == 3
    errors = [str(row.get("error")) for row in ran.samples("refcocog_test")]
    assert "have no target" not in ran.out + ran.err, "their pictures are what is wrong"
    assert "its 10 bytes are not a picture" in errors[1] and "'gone.png' is not a file below" in errors[2]
