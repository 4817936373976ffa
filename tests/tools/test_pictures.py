"""Zoom, crop and rotate: which pixels are returned, in every unit of boxes, and what is said of a wrong call."""

from typing import Any

import pytest
from PIL import Image

from mm_eval.tools.boxes import UNITS, box_of, resized
from mm_eval.tools.own import tool_of
from mm_eval.tools.pictures import CROP, LEAST_AREA, ROTATE, ZOOM
from mm_eval.tools.tool import Given, Limits, Result, Tool, harmless, shortened
from mm_eval.values.errors import ConfigError, DataError
from tests.sets import each_of

LIMITS = Limits()


def picture(width: int = 400, height: int = 200) -> Image.Image:
    """Every pixel differs from the others: its column and its row are in it."""
    found = Image.new("RGB", (width, height))
    found.putdata([(x % 256, y % 256, x // 256 * 16 + y // 256) for y in range(height) for x in range(width)])
    return found


def called(
    tool: Tool, *pictures: Image.Image, unit: str = "pixels", limits: Limits = LIMITS, **arguments: Any
) -> Result:
    return tool.call(arguments, Given(pictures or (picture(),), unit, limits=limits))


def test_a_crop_is_the_pixels_of_the_box() -> None:
    found = called(CROP, bbox_2d=[100, 50, 200, 120])
    assert found.pictures[0].tobytes() == picture().crop((100, 50, 200, 120)).tobytes()
    assert found.text == "Picture 1 is this part of picture 0." and not found.failed


@pytest.mark.parametrize(
    ("unit", "box"),
    [("pixels", [100, 50, 200, 100]), ("per_mille", [250, 250, 500, 500]), ("fraction", [0.25, 0.25, 0.5, 0.5])],
)
def test_a_box_in_each_unit_is_the_same_part(unit: str, box: list[float]) -> None:
    assert called(CROP, unit=unit, bbox_2d=box).pictures[0].tobytes() == picture().crop((100, 50, 200, 100)).tobytes()
    assert UNITS[unit] in CROP.schema(unit)["function"]["parameters"]["properties"]["bbox_2d"]["description"]


def test_a_box_in_pixels_of_the_resized_picture() -> None:
    given = Given((picture(),), "resized", lambda width, height: (width // 2, height // 2))
    assert box_of([50, 25, 100, 50], (400, 200), given) == (100, 50, 200, 100)
    assert resized(400, 200, 28, 56 * 56, 28 * 28 * 16384) == (392, 196)
    assert resized(8000, 6000, 28, 56 * 56, 1_000_000) == (1148, 840)
    assert resized(20, 10, 28, 56 * 56, 1_000_000) == (84, 56)


@each_of(
    ("box", "part"),
    [
        ([350, 150, 450, 250], (350, 150, 400, 200)),  # clipped to the picture
        ([-20, -20, 60, 60], (0, 0, 60, 60)),
        ([100, 100, 110, 110], (89, 89, 121, 121)),  # grown to 32 pixels around its centre
        ([395, 195, 399, 199], (368, 168, 400, 200)),  # and moved into the picture
        ([10.2, 10.7, 99.5, 99.1], (10, 10, 100, 100)),  # whole pixels around it
    ],
)
def test_the_part_of_a_box(box: list[float], part: tuple[int, ...]) -> None:
    assert box_of(box, (400, 200), Given(())) == part


@each_of(
    ("arguments", "why"),
    [
        ({"bbox_2d": [200, 50, 100, 100]}, "is empty"),
        ({"bbox_2d": [100, 50, 100, 50]}, "is empty"),
        ({"bbox_2d": [500, 50, 600, 100]}, "outside of the picture, which reaches from [0, 0] to [400, 200]"),
        ({"bbox_2d": [0.1, 0.1, 0.5, 0.5]}, "not in the unit of this tool: its numbers are in pixels"),
        ({"bbox_2d": [float("inf"), 0, 1, 2]}, "not finite"),
        ({"bbox_2d": [1, 2, 3]}, "must have 4 items (got 3)"),
        ({"bbox_2d": [1, 2, 3, "4"]}, "'bbox_2d[3]' must be of type number (got '4')"),
        ({"bbox_2d": "1, 2, 3, 4"}, "must be of type array"),
        ({"bbox": [1, 2, 3, 4]}, "'bbox_2d' is missing"),
        ({"bbox_2d": [0, 0, 50, 50], "img_idx": 1}, "there is no picture 1; there is only picture 0"),
        ({"bbox_2d": [0, 0, 50, 50], "img_idx": -1}, "there is no picture -1"),
        ({"bbox_2d": [0, 0, 50, 50], "img_idx": True}, "must be of type integer"),
    ],
)
def test_what_the_model_did_wrong(arguments: dict[str, Any], why: str) -> None:
    found = called(ZOOM, **arguments)
    assert found.failed and found.text.startswith("Error: ") and why in found.text and not found.pictures


def test_a_box_that_is_too_long() -> None:
    assert "too long" in called(CROP, picture(4000, 40), bbox_2d=[0, 0, 4000, 2]).text


@pytest.mark.full
def test_zooming_in_enlarges_a_small_part_and_bounds_a_large_one() -> None:
    small = called(ZOOM, bbox_2d=[100, 50, 200, 100]).pictures[0]
    assert LEAST_AREA <= small.width * small.height < 1.02 * LEAST_AREA and abs(small.width / small.height - 2) < 0.01
    large = called(ZOOM, picture(1600, 800), bbox_2d=[0, 0, 1600, 800], limits=Limits(edge=1000)).pictures[0]
    assert large.size == (1000, 500)
    again = called(ZOOM, bbox_2d=[100, 50, 200, 100]).pictures[0]
    assert again.tobytes() == small.tobytes()


def test_a_call_names_a_picture_that_a_tool_returned() -> None:
    found = called(CROP, picture(), picture(60, 40), bbox_2d=[0, 0, 60, 40], img_idx=1.0)
    assert found.pictures[0].size == (60, 40) and found.text == "Picture 2 is this part of picture 1."


def test_rotating() -> None:
    assert called(ROTATE, angle=90).pictures[0].tobytes() == picture().transpose(Image.Transpose.ROTATE_270).tobytes()
    assert called(ROTATE, angle=-90).pictures[0].tobytes() == picture().transpose(Image.Transpose.ROTATE_90).tobytes()
    assert called(ROTATE, angle=360).pictures[0].tobytes() == picture().tobytes()
    turned = called(ROTATE, angle=45).pictures[0]
    assert turned.getpixel((0, 0)) == (255, 255, 255) and max(turned.size) > 400
    assert called(ROTATE, angle=400).failed and called(ROTATE, angle=float("nan")).failed


def test_a_question_without_pictures() -> None:
    assert ZOOM.call({"bbox_2d": [0, 0, 50, 50]}, Given(())).text == "Error: there is no picture."


def test_a_function_of_a_task() -> None:
    def count_sign(sign: str, times: int = 1, pictures: object = None, doc: object = None) -> list[object]:
        """How often a sign is in the text
        of the question.

        sign: a letter or a digit
        """
        if len(sign) != 1:
            raise ValueError("give one sign.")
        assert isinstance(doc, dict) and isinstance(pictures, list)
        return [doc["text"].count(sign) * times, pictures[0].rotate(90)]

    tool = tool_of(count_sign)
    assert tool.schema("pixels")["function"] == {
        "name": "count_sign",
        "description": "How often a sign is in the text of the question.",
        "parameters": {
            "type": "object",
            "properties": {
                "sign": {"type": "string", "description": "a letter or a digit"},
                "times": {"type": "integer"},
            },
            "required": ["sign"],
        },
    }
    given = Given((picture(),), doc={"text": "banana"})
    found = tool.call({"sign": "a", "other": 1}, given)
    assert (found.text, len(found.pictures)) == ("3", 1)
    assert tool.call({"sign": "ab"}, given).text == "Error: give one sign."


def test_a_function_that_can_not_be_told_to_a_model() -> None:
    def silent(text: str) -> str:
        return text

    def untyped(text) -> str:  # type: ignore[no-untyped-def]
        """Echoes."""
        return str(text)

    with pytest.raises(ConfigError, match="utils.py:3: the tool 'silent' has no docstring"):
        tool_of(silent, "utils.py:3")
    with pytest.raises(ConfigError, match="the parameter 'text' of the tool 'untyped' needs a type"):
        tool_of(untyped)


def test_a_function_that_fails_fails_the_document() -> None:
    def broken(text: str) -> str:
        """Fails."""
        raise KeyError(text)

    with pytest.raises(DataError, match="the tool .broken. raised KeyError: .x."):
        tool_of(broken).call({"text": "x"}, Given(()))

    def odd(text: str) -> object:
        """Returns what is neither text nor picture."""
        return {text}

    with pytest.raises(DataError, match="the tool 'odd' returned a set"):
        tool_of(odd).call({"text": "x"}, Given(()))


def test_a_text_of_a_tool_has_no_marks() -> None:
    text = "</tool_response><|im_end|><tool_call>[TOOL_CALLS]<tool_call|><think></arg_value> but 3<4, a<b> and [1]"
    assert (
        harmless(text)
        == "< /tool_response>< |im_end|>< tool_call>[ TOOL_CALLS]< tool_call|>< think>< /arg_value> but 3<4, a<b> and [1]"
    )
    assert shortened("x" * 10, 4) == "xxxx ... (6 more characters)"


@pytest.mark.parametrize("value", [10**400, -(10**400), 1e16, 2 * 10**15], ids=["large", "small", "float", "whole"])
def test_a_number_that_is_too_large_is_an_error_that_the_model_is_told(value: float) -> None:
    for tool, arguments in ((ROTATE, {"angle": value}), (CROP, {"bbox_2d": [0, 0, value, 9]})):
        found = called(tool, **arguments)
        assert found.failed and "must be from -1e15 to 1e15" in found.text
    assert called(ROTATE, angle=90, img_idx=value).failed


def test_a_picture_of_a_tool_is_turned_as_its_exif_says() -> None:
    def photo() -> object:
        """Takes a photo."""
        found = Image.new("RGB", (40, 20))
        found.getexif()[0x0112] = 6
        return found

    (shown,) = tool_of(photo).call({}, Given(())).pictures
    assert shown.size == (20, 40)
