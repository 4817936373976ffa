"""What tasks' functions take from `mm_eval.values.types`."""

import base64
import io

from PIL import Image

from mm_eval.values.types import stored_picture


def test_a_picture_is_read_from_the_forms_in_which_columns_hold_it() -> None:
    picture, file = Image.new("RGB", (3, 2), (10, 20, 30)), io.BytesIO()
    picture.save(file, "PNG")
    text = base64.b64encode(file.getvalue()).decode()
    for stored in (file.getvalue(), text, f"data:image/png;base64,{text}", picture):
        assert stored_picture(stored).tobytes() == picture.tobytes()
