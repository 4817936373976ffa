"""Documents that fit the code of a task nobody gave data for: a mapping whose values are guessed when they are read.

A guess that the code can't use is replaced by the next one. What was read in the end is a document of the task.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

WORDS = ("red", "blue", "cat", "table", "seven", "house")
LETTERS = "ABCDEF"
PICTURE = 4
"""The level of a guess at which a suite of pictures has a picture."""
Guess = Callable[[str, int, int], Any]


def text_guess(key: str, doc: int, level: int) -> Any:
    """A value for a column by its name; with each level another kind of value."""
    name = key.lower()
    if level == 0:
        if re.search(r"choices|options|candidates|endings|distractors", name):
            return [f"{word} {doc}" for word in WORDS[:4]]
        if re.search(r"answers$|references|aliases|targets$|labels$|solutions", name):
            return [WORDS[doc % 6], "red"]
        if re.search(r"width|height|size|num|count|idx|index|start|end$|year|level|_id$|^id$", name):
            return doc + 1
        if re.search(r"^(label|gold|correct|target|answer_?(idx|index)|cop)$", name):
            return doc % 2
        if re.search(r"answer|gt|ground|target|label|solution|correct", name):
            return "ABABCA"[doc % 6]
        if re.fullmatch(r"(option_?|choice_?|op)?[a-h]", name):
            return f"{WORDS['abcdefgh'.index(name[-1]) % 6]} {name[-1]}"
        return f"{WORDS[doc % 6]} is the {name} of {doc}"
    kinds: tuple[Any, ...] = (
        WORDS[doc % 6], doc % 2, ["red", "blue", "cat", "table"], str(doc % 2 + 1), "ABABCA"[doc % 6], float(doc) / 2,
        {
            "text": ["red", "blue", "cat", "table"], "label": ["A", "B", "C", "D"],
            "choices": ["red", "blue", "cat", "table"], "labels": [1, 0, 0, 0],
        }, bool(doc % 2), [[WORDS[doc % 6]]],
        json.dumps(["red", "blue"]), {"text": ["red"], "answer_start": [0]}, [doc, doc + 1], "1 2 3",
        "['red', 'blue']", {"value": "red", "aliases": ["red", "Red"]}, "yes" if doc % 2 else "no",
        [{"text": "red", "label": "A"}, {"text": "blue", "label": "B"}], f"He did this.\n#### {doc}",
        f"So the value is \\boxed{{{doc}}}.", f"{WORDS[doc % 6]} (A) one (B) two", json.dumps({"a": 1}),
    )  # fmt: skip
    return kinds[(level - 1) % len(kinds)]


class Made(dict[str, Any]):
    """A document. levels: by column, the level of its guess. order: the columns in the order in which they were read."""

    def __init__(
        self, doc: int, levels: Mapping[str, int], order: list[str], guess: Guess, wanted: Mapping[str, Any]
    ) -> None:
        super().__init__()
        self.doc, self.levels, self.order, self.guess, self.wanted = doc, levels, order, guess, wanted

    def __missing__(self, key: str) -> Any:
        if not isinstance(key, str):
            raise KeyError(key)
        self.order.append(key)
        self[key] = self.value(key)
        return self[key]

    def value(self, key: str) -> Any:
        """Of a column that is read, or that another document has."""
        return self.wanted[key] if key in self.wanted else self.guess(key, self.doc, self.levels.get(key, 0))


class Asked(str):
    """A value that is compared; notes with what."""

    seen: list[tuple[str, Any]]
    key: str

    def __eq__(self, other: object) -> bool:
        self.seen.append((self.key, other))
        return True

    __hash__ = str.__hash__


class Compared(dict[str, Any]):
    """A document that notes what a filter compares its columns with."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, Any]] = []

    def __missing__(self, key: str) -> Any:
        value = Asked(key)
        value.seen, value.key = self.seen, key
        return value


class Wanted(Exception):
    """A filter keeps only documents with these values."""

    def __init__(self, values: dict[str, Any]) -> None:
        super().__init__(str(values))
        self.values = values


class Derived(dict[str, Any]):
    """What `process_docs` made of a document; a column that it left as it was is read from there."""

    def __init__(self, values: Mapping[str, Any], of: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.of = of

    def __missing__(self, key: str) -> Any:
        return self.of[key]


class Split:
    """As much of a data set of `datasets` as `process_docs` of tasks use."""

    def __init__(self, docs: Sequence[Any]) -> None:
        self.docs = list(docs)

    def __len__(self) -> int:
        return len(self.docs)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.docs)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, str):
            return [doc[at] for doc in self.docs]
        return self.docs[at] if isinstance(at, int) else Split(self.docs[at])

    @property
    def features(self) -> dict[str, None]:
        return dict.fromkeys(key for doc in self.docs for key in (*getattr(doc, "of", ()), *doc))

    @property
    def column_names(self) -> list[str]:
        return list(self.features)

    def map(self, function: Callable[..., Any], *_: Any, with_indices: bool = False, **__: Any) -> Split:
        made = [function(doc, i) if with_indices else function(doc) for i, doc in enumerate(self.docs)]
        return Split([Derived({**doc, **new}, doc) for doc, new in zip(self.docs, made, strict=True)])

    def filter(self, function: Callable[..., Any], *_: Any, **__: Any) -> Split:
        kept = [doc for doc in self.docs if function(doc)]
        if not kept:
            noting = Compared()
            function(noting)
            raise Wanted(dict(noting.seen))
        return Split(kept)

    def select(self, places: Sequence[int]) -> Split:
        return Split([self.docs[at] for at in places])

    def shuffle(self, *_: Any, **__: Any) -> Split:
        return self

    def sort(self, *_: Any, **__: Any) -> Split:
        return self

    remove_columns = rename_column = rename_columns = add_column = cast_column = flatten = shuffle


class Unfit(Exception):
    """No guess was usable; the text is the last error."""


def fitted(
    use: Callable[[list[Made]], Any], docs: int, guess: Guess, named: Sequence[str], tries: int = 60
) -> list[Made]:
    """Documents that `use` takes. named: columns that the task's file names, which every document has.

    Errors: Unfit.
    """
    levels: dict[str, int] = {}
    chance, last, wanted = random.Random(7), "", dict[str, Any]()
    for _ in range(tries):
        order: list[str] = []
        made = [Made(doc, levels, order, guess, wanted) for doc in range(docs)]
        for doc in made:
            for key in named:
                _ = doc[key]
        try:
            use(made)
            return made
        except Unfit:
            raise
        except Wanted as error:
            if error.values.items() <= wanted.items():
                raise Unfit("a filter keeps no document") from error
            wanted.update(error.values)
            continue
        except Exception as error:  # whatever the task's code raises for a wrong guess
            last = f"{type(error).__name__}: {error}"[:200]
        keys = list(dict.fromkeys(reversed(order)))
        if not keys:
            break
        key = next((each for each in keys if repr(each) in last), None) if chance.random() < 0.3 else None
        key = key or (keys[0] if chance.random() < 0.4 else chance.choice(keys))
        wants_picture = (
            any(name in last for name in ("'convert'", "'width'", "'size'", "'save'")) and levels.get(key, 0) < PICTURE
        )
        levels[key] = PICTURE if wants_picture else levels.get(key, 0) + 1
    raise Unfit(last)


def rows_of(made: Sequence[Made]) -> list[dict[str, Any]]:
    """The documents as rows of a table, each with every column."""
    columns = list(dict.fromkeys(key for doc in made for key in doc))
    return [{key: doc[key] if key in doc else doc.value(key) for key in columns} for doc in made]
