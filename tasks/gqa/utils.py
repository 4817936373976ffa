"""GQA: compositional questions on photos, with the photos in a configuration of their own.

Source: Hudson and Manning 2019, arXiv:1902.09506.
"""

from collections.abc import Callable, Mapping
from typing import Any

HUB = "lmms-lab/GQA"


def with_pictures(questions: Any, load_dataset: Callable[..., Any]) -> Any:
    """The questions with their pictures, which 398 rows of another configuration hold.

    The column refers to the stored pictures, row by row: 12,578 copies of them would fill a gigabyte.
    """
    import datasets
    import pyarrow as pa

    if "image" in questions.column_names:
        return questions
    pictures = load_dataset(HUB, "testdev_balanced_images", split="testdev")
    stored = pictures.with_format("arrow")[:]
    rows = {name: row for row, name in enumerate(stored["id"].to_pylist())}
    column = stored["image"].combine_chunks()
    cells = [column.slice(rows[name], 1) for name in questions["imageId"]]
    table = questions.with_format("arrow")[:].append_column("image", pa.chunked_array(cells))
    features = datasets.Features({**questions.features, "image": pictures.features["image"]})
    return datasets.Dataset(
        datasets.table.InMemoryTable(table),
        info=datasets.DatasetInfo(features=features),
        fingerprint=f"{questions._fingerprint}-{pictures._fingerprint}",
    )


def structural_type(doc: Mapping[str, Any]) -> str | None:
    """How the answer is found: query, verify, choose, logical or compare."""
    return (doc.get("types") or {}).get("structural")


def semantic_type(doc: Mapping[str, Any]) -> str | None:
    """What the question is about: an object, an attribute, a category, a relation or the whole picture."""
    return (doc.get("types") or {}).get("semantic")
