"""Writes the rows of MMDU with their pictures: python -m mm_eval.tasks.mmdu.prepare FOLDER

FOLDER has the authors' benchmark.json and mmdu_pics.zip. Written is FOLDER/test.parquet.
"""

import io
import json
import sys
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mm_eval.values.errors import DocError


def rows_of(stated: Any) -> list[dict[str, Any]]:
    """The rows of benchmark.json, a list or a mapping: id, paths of pictures, questions, and reference answers."""
    rows = []
    for item in stated.values() if isinstance(stated, dict) else stated:
        said: dict[str, list[str]] = {"user": [], "assistant": []}
        for message in item["conversations"]:
            said[message["from"]].append(message["value"])
        if len(said["user"]) != len(said["assistant"]) or not said["user"]:
            counts = f"{len(said['user'])} questions and {len(said['assistant'])} answers"
            raise DocError(f"the conversation {item['id']!r} has {counts}.")
        rows.append(
            {"id": str(item["id"]), "image": item["image"], "questions": said["user"], "answers": said["assistant"]}
        )
    return rows


class Pictures:
    """The pictures of an archive, found by the longest end of a path that names one."""

    def __init__(self, path: Path) -> None:
        self.archive = zipfile.ZipFile(path)
        self.by_name: dict[str, list[tuple[str, ...]]] = defaultdict(list)
        for name in self.archive.namelist():
            parts = tuple(name.split("/"))
            self.by_name[parts[-1]].append(parts)

    def read(self, path: str) -> bytes:
        """The file of a picture. DocError if there is none, or if two are as likely."""
        wanted = tuple(path.replace("\\", "/").strip("/").split("/"))

        def shared(parts: tuple[str, ...]) -> int:
            pairs = zip(reversed(parts), reversed(wanted), strict=False)
            return next((number for number, (a, b) in enumerate(pairs) if a != b), min(len(parts), len(wanted)))

        found = sorted(self.by_name[wanted[-1]], key=shared)
        if not found or len(found) > 1 and shared(found[-1]) == shared(found[-2]):
            raise DocError(f"the archive has {len(found) or 'no'} file{'s' if found else ''} for the picture {path!r}.")
        return self.archive.read("/".join(found[-1]))


def main(folder: Path) -> str | None:
    """Writes the rows and removes what they were made of; what is wrong, if something is."""
    from datasets import Dataset, Features, Image, Sequence, Value

    stated, packed, target = folder / "benchmark.json", folder / "mmdu_pics.zip", folder / "test.parquet"
    if not stated.is_file() or not packed.is_file():
        return None if target.is_file() else f"{folder} needs benchmark.json and mmdu_pics.zip."
    text = Sequence(Value("string"))
    features = Features({"id": Value("string"), "image": Sequence(Image()), "questions": text, "answers": text})
    try:
        rows, pictures = rows_of(json.loads(stated.read_text(encoding="utf-8"))), Pictures(packed)

        def complete() -> Iterator[dict[str, Any]]:
            for row in rows:
                yield {
                    **row,
                    "image": [{"bytes": pictures.read(path), "path": path.rpartition("/")[2]} for path in row["image"]],
                }

        written = io.BytesIO()
        Dataset.from_list(list(complete()), features=features).to_parquet(written)
    except (DocError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
        return f"{folder}: {error if isinstance(error, DocError) else repr(error)}"
    target.with_suffix(".part").write_bytes(written.getvalue())
    target.with_suffix(".part").rename(target)
    stated.unlink()  # neither is a split of the data set
    packed.unlink()
    return None


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])) if len(sys.argv) == 2 else __doc__)
