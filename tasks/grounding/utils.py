"""What the grounding tasks share: pictures as the model family wants them, and targets in the family's units.

A doc has `width` and `height` (pixels of the picture as it is shown, upright), `place` (a box whose corners are shares of the
picture's sides) and `wanted` (a text). One whose picture can't be read has none of these but `unreadable`, and fails alone.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mm_eval.tasks.rules.grounding import Units

from mm_eval.types import shown_picture, shown_size
from mm_eval.values.errors import DocError

Doc = Mapping[str, Any]
Block = Mapping[str, Any] | None


def doc_to_visual(doc: Doc, model_specific_prompt_kwargs: Block = None) -> list[Any]:
    """The picture, resized where the model family counts pixels of the resized picture."""
    picture = shown_picture(doc["image"])
    size = _units(model_specific_prompt_kwargs).shown(*picture.size)
    return [picture if size == picture.size else picture.resize(size, 3)]  # 3: bicubic, as the processor does


def doc_to_text(doc: Doc, model_specific_prompt_kwargs: Block = None) -> str:
    """The block's `prompt` with what is looked for at its `{}`."""
    return str((model_specific_prompt_kwargs or {})["prompt"]).replace("{}", str(doc["wanted"]), 1)


def doc_to_target(doc: Doc, model_specific_prompt_kwargs: Block = None) -> str:
    """The box in the units of the block, with the picture's extent."""
    if doc.get("unreadable"):
        raise DocError(doc["unreadable"])
    return _units(model_specific_prompt_kwargs).gold(doc["place"], doc["width"], doc["height"])


def _units(block: Block) -> Units:
    return Units.read((block or {}).get("coordinates"))


def with_places(dataset: Any, place: Callable[[Doc, int, int], Sequence[float]]) -> Any:
    """The docs with the columns `width`, `height` and `place`; also `unreadable`, if the picture of one can't be read.

    place(doc, width, height): the box's corners as shares of the sides. The doc that it gets has no picture.
    """
    sizes = list(picture_sizes(dataset))
    docs = list(zip(dataset.remove_columns(["image"]), sizes, strict=True))
    columns: dict[str, list[Any]] = {
        "width": [None if isinstance(size, str) else size[0] for size in sizes],
        "height": [None if isinstance(size, str) else size[1] for size in sizes],
        "place": [None if isinstance(size, str) else list(map(float, place(doc, *size))) for doc, size in docs],
        "unreadable": [size if isinstance(size, str) else None for size in sizes],
    }
    if not any(columns["unreadable"]):
        del columns["unreadable"]
    for name, values in columns.items():
        dataset = dataset.add_column(name, values)
    return dataset


def picture_sizes(dataset: Any) -> Iterator[tuple[int, int] | str]:
    """(width, height) of each picture of the column `image` as it is shown, from its header; why, for one that can't be read."""
    for table in dataset.with_format("arrow").select_columns(["image"]).iter(batch_size=32):
        for cell in table["image"].to_pylist():
            try:
                yield shown_size(cell)
            except DocError as error:
                yield str(error)
