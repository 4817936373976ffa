"""RefCOCO, RefCOCO+ and RefCOCOg: an expression names one object of a photo of COCO, and its box is asked for.

Source: Kazemzadeh et al. 2014 (ReferItGame); Yu et al. 2016, arXiv:1608.00272; Mao et al. 2016, arXiv:1511.02283. The hub's rows
are objects with all their expressions, and `bbox` is [left, top, width, height] in pixels (lmms-eval, refcoco/utils_rec.py).
"""

from collections.abc import Mapping
from typing import Any

from .utils import with_places


def with_expressions(dataset: Any) -> Any:
    """Each object once for each of its expressions; `wanted` is the expression. The pictures are not copied."""
    from datasets import concatenate_datasets

    if "segmentation" in dataset.column_names:
        dataset = dataset.remove_columns(["segmentation"])
    expressions = dataset["answer"]
    sized = with_places(dataset, shares)
    most = max(map(len, expressions), default=0)
    copies = [
        sized.add_column("wanted", [each[number] if number < len(each) else "" for each in expressions])
        for number in range(most)
    ]
    rows = [row + number * len(sized) for row, each in enumerate(expressions) for number in range(len(each))]
    return concatenate_datasets(copies).select(rows) if rows else sized.select([])


def shares(doc: Mapping[str, Any], width: int, height: int) -> list[float]:
    """The corners of the box as shares of the picture's sides."""
    left, top, wide, high = doc["bbox"]
    return [left / width, top / height, (left + wide) / width, (top + high) / height]
