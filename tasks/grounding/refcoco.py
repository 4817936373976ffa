"""RefCOCO, RefCOCO+ and RefCOCOg: an expression names one object of a photo of COCO, and its box is asked for.

Source: Kazemzadeh et al. 2014 (ReferItGame); Yu et al. 2016, arXiv:1608.00272; Mao et al. 2016, arXiv:1511.02283. The hub's rows
are objects with all their expressions, and `bbox` is [left, top, width, height] in pixels (lmms-eval, refcoco/utils_rec.py).
"""

import logging
from collections.abc import Mapping
from typing import Any

from .utils import with_places

PAPERS_VAL = {8811: 3811, 7573: 2573}
"""Objects of the hub's val of RefCOCO and of RefCOCOg, and of the papers'."""
LAST_OF_GROUP = {1810: "refcoco", 5023: "refcocog"}
"""Objects of the last split of a group that leaves its val out."""

log = logging.getLogger(__name__)


def with_expressions_of_val(dataset: Any) -> Any:
    """The hub's val with each object once for each expression; says that it is not the papers' val."""
    if len(dataset) in PAPERS_VAL:
        said = "the hub's val has %s objects, the papers' val has %s; the others can't be told apart, so the number is not theirs"
        log.warning(said, f"{len(dataset):,}", f"{PAPERS_VAL[len(dataset)]:,}")
    return with_expressions(dataset)


def with_expressions_of_test(dataset: Any) -> Any:
    """A test split with each object once for each expression; says which split the group has not."""
    if group := LAST_OF_GROUP.get(len(dataset)):
        log.warning(
            "the group %s is without val, since the hub's val is not the papers'; %s_val measures it.", group, group
        )
    return with_expressions(dataset)


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
