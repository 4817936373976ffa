"""What tasks' functions take from `mm_eval.values.types`."""

import base64
import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import mm_eval
from mm_eval.types import shown_picture
from mm_eval.values.types import Instance, Slot
from tests.sets import each_of


def test_a_picture_is_read_from_the_forms_in_which_columns_hold_it() -> None:
    picture, file = Image.new("RGB", (3, 2), (10, 20, 30)), io.BytesIO()
    picture.save(file, "PNG")
    text = base64.b64encode(file.getvalue()).decode()
    for stored in (file.getvalue(), text, f"data:image/png;base64,{text}", picture):
        assert shown_picture(stored).tobytes() == picture.tobytes()


@each_of(
    ("slot", "written"),
    [
        (Slot("g::t@mcqa", 3, 1, 2), ["g::t@mcqa", 3, 1, 2]),
        (Slot("t", 3, judge="gpt-4o"), ["t#judge@gpt-4o", 3, 0, 0]),
        (Slot("t", 3, 1, 7, "gpt-4o", step=1), ["t#judge2@gpt-4o", 3, 1, 7]),
        (Slot("t", 3, turn=2), ["t", 3, 0, 0, 2]),
        (Slot("t#judge", 3), ["t#judge", 3, 0, 0]),  # no judge is named
    ],
)
def test_a_slot_has_one_form_in_files(slot: Slot, written: list[str | int]) -> None:
    assert slot.to_json() == written and Slot.from_json(written) == slot


@each_of("written", [["t", 0], ["t", 0, 0, 0, 0, 0], [0, 0, 0, 0], 3])
def test_what_is_no_slot_is_refused(written: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        Slot.from_json(written)


def test_an_instance_has_the_judge_the_step_and_the_turn_of_its_slot() -> None:
    instance = Instance("generate_until", "t", 3, {}, repeat=1, choice=7, judge="gpt-4o", step=1, turn=2)
    assert instance.slot == Slot("t", 3, 1, 7, "gpt-4o", 1, 2)


def test_no_other_file_of_mm_eval_knows_how_files_write_a_slot() -> None:
    folder = Path(mm_eval.__file__).parent
    knowing = [path for path in folder.rglob("*.py") if "#judge" in path.read_text(encoding="utf-8")]
    assert [path.relative_to(folder).as_posix() for path in knowing] == ["values/types.py"]
