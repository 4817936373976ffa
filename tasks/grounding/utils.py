"""What the grounding tasks share: pictures as the model family wants them, and targets in the family's units.

A doc has `width` and `height` (pixels), `place` (a box whose corners are shares of the picture's sides) and `wanted` (a text).
"""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mm_eval.tasks.rules.grounding import Units

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")
Doc = Mapping[str, Any]
Block = Mapping[str, Any] | None


def doc_to_visual(doc: Doc, model_specific_prompt_kwargs: Block = None) -> list[Any]:
    """The picture, resized where the model family counts pixels of the resized picture."""
    picture = doc["image"].convert("RGB")
    size = _units(model_specific_prompt_kwargs).shown(*picture.size)
    return [picture if size == picture.size else picture.resize(size, 3)]  # 3: bicubic, as the processor does


def doc_to_text(doc: Doc, model_specific_prompt_kwargs: Block = None) -> str:
    """The block's `prompt` with what is looked for at its `{}`."""
    return str((model_specific_prompt_kwargs or {})["prompt"]).replace("{}", str(doc["wanted"]), 1)


def doc_to_target(doc: Doc, model_specific_prompt_kwargs: Block = None) -> str:
    """The box in the units of the block, with the picture's extent."""
    return _units(model_specific_prompt_kwargs).gold(doc["place"], doc["width"], doc["height"])


def _units(block: Block) -> Units:
    return Units.read((block or {}).get("coordinates"))


def with_places(dataset: Any, place: Callable[[Doc, int, int], Sequence[float]]) -> Any:
    """The docs with the columns `width`, `height` and `place`.

    place(doc, width, height): the box's corners as shares of the sides. The doc that it gets has no picture.
    """
    sizes = list(picture_sizes(dataset))
    docs = zip(dataset.remove_columns(["image"]), sizes, strict=True)
    columns = {
        "width": [width for width, _ in sizes],
        "height": [height for _, height in sizes],
        "place": [list(map(float, place(doc, *size))) for doc, size in docs],
    }
    for name, values in columns.items():
        dataset = dataset.add_column(name, values)
    return dataset


def picture_sizes(dataset: Any) -> Iterator[tuple[int, int]]:
    """(width, height) of each picture of the column `image`, from its header; (1, 1) for one that can't be read."""
    from PIL import Image

    for table in dataset.with_format("arrow").select_columns(["image"]).iter(batch_size=32):
        for cell in table["image"].to_pylist():
            try:
                file = io.BytesIO(cell["bytes"]) if cell["bytes"] else cell["path"]
                with Image.open(file, formats=FORMATS) as picture:
                    yield picture.size
            except Exception:
                yield 1, 1
