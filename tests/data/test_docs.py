"""The docs of a split: text without pictures, whole docs, and what few data sets look like."""

from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from mm_eval.data import rows
from mm_eval.data.dataset import load_docs
from mm_eval.data.docs import Docs
from mm_eval.data.media import picture_digest
from mm_eval.data.source import DataSource


def picture(shade: int) -> Image.Image:
    return Image.fromarray(np.full((4, 4, 3), shade, np.uint8))


def test_docs_with_nothing_but_a_picture_have_an_empty_text() -> None:
    rows = datasets.Dataset.from_dict({"image": [picture(1), picture(2)]}).cast_column("image", datasets.Image())
    docs = Docs(rows)
    assert docs.text(0) == {}
    assert list(docs.texts([0, 1])) == [(0, {}), (1, {})]
    assert docs.full(1)["image"].getpixel((0, 0)) == (2, 2, 2)


def test_a_caller_may_draw_on_a_picture_without_changing_it_for_the_next_doc() -> None:
    same = picture(7)
    rows = datasets.Dataset.from_dict({"image": [same, same]}).cast_column("image", datasets.Image())
    docs = Docs(rows)
    docs.full(0)["image"].putpixel((0, 0), (255, 0, 0))
    assert docs.full(1)["image"].getpixel((0, 0)) == (7, 7, 7)


def test_stored_pictures_are_not_copied_where_the_names_of_files_are_looked_for() -> None:
    """At the start of each run, of all docs, whether they are shown or not."""
    stored = {"bytes": b"\xff" * 2**22, "path": None}
    batches = [pa.RecordBatch.from_pylist([{"image": stored, "file": name}]) for name in ("a.png", "b.png")]
    features = {"image": rows.Image(), "file": rows.Value("string")}
    docs = Docs(rows.Rows(batches[0].schema, batches, features))
    before = pa.total_allocated_bytes()
    columns = list(docs.stored_columns([0, 1]))
    assert pa.total_allocated_bytes() - before < 2**20
    assert [text for column in columns for text in column.to_pylist() if isinstance(text, str)] == ["a.png", "b.png"]


def test_equal_pixels_of_another_shape_are_another_picture() -> None:
    wide, high = Image.new("RGB", (8, 2)), Image.new("RGB", (2, 8))
    digests = [picture_digest(shape) for shape in (wide, high, wide)]
    assert digests[0] == digests[2] != digests[1]


@pytest.mark.parametrize("card", [False, True])
def test_a_data_file_that_has_changed_is_read_again(tmp_path: Path, card: bool) -> None:
    folder = tmp_path / "someone" / "data"
    folder.mkdir(parents=True)
    if card:  # with configs of its own `datasets` looks at the card alone
        files = "{split: test, path: test.parquet}"
        (folder / "README.md").write_text(f"---\nconfigs:\n- config_name: default\n  data_files: [{files}]\n---\n")
    for question in ("How many crosss?", "How many crosses?"):
        datasets.Dataset.from_list([{"question": question}]).to_parquet(folder / "test.parquet")
        docs = load_docs("someone/data", None, "test", DataSource(data_root=tmp_path), where="here")
        assert docs.text(0) == {"question": question}


def test_what_lmms_eval_says_about_downloading_decides_no_row(tmp_path: Path) -> None:
    """864 tasks of lm-eval 0.4.13 and 408 of lmms-eval 0.7.3 say trust_remote_code; their data has files by now."""
    folder = tmp_path / "someone" / "data" / "data"
    folder.mkdir(parents=True)
    datasets.Dataset.from_dict({"q": ["a", "b"]}).to_parquet(folder / "test-00000-of-00001.parquet")
    said = {"trust_remote_code": True, "force_download": True, "force_unzip": True, "local_files_only": False,
            "create_link": True, "video": False, "token": True}  # fmt: skip
    source = DataSource(data_root=tmp_path)
    assert len(load_docs("someone/data", None, "test", source, where="here", kwargs=said)) == 2
