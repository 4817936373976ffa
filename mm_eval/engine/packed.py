"""The answers of a journal in memory, in about 60 bytes each: by slot and by request key.

A run of a million documents with four choices has four million answers. As objects, with their slots and keys, they would take
2.4 GB. Here an answer is a row of a few arrays, and is made again whenever it is looked up. What is not plain (failures, turns of
conversations) is kept as it is.
"""

from __future__ import annotations

from array import array
from binascii import unhexlify
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from mm_eval.values.types import Answer, Clip, Ended, Heard, Slot

_DIGEST = 32
"""The bytes of a request key."""
_LENGTH = 4
"""The bytes that state how long a text is."""
_PAGE = 256
"""The docs of a page of an index."""


_Shown: TypeAlias = tuple[tuple[str, ...], tuple[int, ...], tuple[Clip, ...], tuple[Heard, ...], tuple[str, ...]]
_Kind: TypeAlias = tuple[bool, bool, bool, bool | None, int, Ended, str, _Shown]
"""What an answer has in common with others: whether it is a log-likelihood, whether that is greedy, whether a reasoning stands
behind its text; then `cut`, `attempts`, `ended` and `model` of the answer, and what its question showed: `images`,
`turn_pictures`, `clips`, `heard` and `turn_shown`."""


class Rows:
    """Answers as rows of arrays.

    values: of each row the log-likelihood, or where its text begins. kinds: the number of its kind. keys: its request key.
    whole: the answers that are kept as they are. odd_keys: the keys that are no digests; both by row.
    """

    def __init__(self) -> None:
        self.keys, self.texts = bytearray(), bytearray()
        self.values, self.kinds = array("d"), array("I")
        self.whole: dict[int, Answer] = {}
        self.odd_keys: dict[int, str] = {}
        self._known: dict[_Kind, int] = {}
        self._likes: list[tuple[bool, bool, bool, Answer]] = []
        """Of each kind its first three values, and an answer that has the others."""

    def __len__(self) -> int:
        return len(self.values)

    def add(self, answer: Answer, digest: bytes | None = None) -> int:
        """Adds a row and returns its number. digest: the key's bytes, where they are known."""
        row, kind = len(self.values), _kind_of(answer)
        if digest is None and (digest := digest_of_key(answer.key)) is None:
            self.odd_keys[row] = answer.key
        self.keys += digest or bytes(_DIGEST)
        if kind is None:
            self.whole[row] = answer
            self.values.append(0.0)
            self.kinds.append(0)
            return row
        number = self._known.get(kind, -1)
        if number < 0:
            number = self._known[kind] = len(self._likes)
            self._likes.append((*kind[:3], answer.having(output=None, key="", reasoning=None)))
        self.kinds.append(number)
        output: Any = answer.output
        if kind[0]:
            self.values.append(output[0])
            return row
        self.values.append(len(self.texts))
        for text in (output, answer.reasoning or "") if kind[2] else (output,):
            written = text.encode("utf-8", "surrogatepass")
            self.texts += len(written).to_bytes(_LENGTH, "little")
            self.texts += written
        return row

    def key(self, row: int) -> str:
        known = self.odd_keys.get(row)
        return self.keys[row * _DIGEST : (row + 1) * _DIGEST].hex() if known is None else known

    def answer(self, row: int) -> Answer:
        """The answer of a row, as it was added."""
        if (whole := self.whole.get(row)) is not None:
            return whole
        scored, greedy, reasons, like = self._likes[self.kinds[row]]
        key, value = self.key(row), self.values[row]
        if scored:
            return like.having(output=(value, greedy), key=key)
        output, end = self._text(int(value))
        return like.having(output=output, key=key, reasoning=self._text(end)[0] if reasons else None)

    def _text(self, at: int) -> tuple[str, int]:
        """The text that begins at a place, and the place behind it."""
        begin = at + _LENGTH
        end = begin + int.from_bytes(self.texts[at:begin], "little")
        return self.texts[begin:end].decode("utf-8", "surrogatepass"), end


def _kind_of(answer: Answer) -> _Kind | None:
    """The kind of a plain answer; None for one that is kept as it is."""
    if answer.error is not None or answer.messages is not None or answer.usage or answer.at or answer.turns:
        return None
    output: Any = answer.output
    scored, greedy, reasons = type(output) is tuple, False, answer.reasoning is not None
    if scored:
        ll, greedy = output
        if type(ll) is not float or type(greedy) is not bool or reasons:
            return None
    elif type(output) is not str:
        return None
    return (
        scored,
        greedy,
        reasons,
        answer.cut,
        answer.attempts,
        answer.ended,
        answer.model,
        (answer.images, answer.turn_pictures, answer.clips, answer.heard, answer.turn_shown),
    )


def digest_of_key(key: str) -> bytes | None:
    """The bytes of a request key; None for one that is no sha256 in lower case."""
    try:
        digest = unhexlify(key)
    except ValueError:
        return None
    return digest if len(digest) == _DIGEST and digest.hex() == key else None


class AnswersByKey(Mapping[str, Answer]):
    """{request key: the last answer to it}, in the order of the answers."""

    def __init__(self, rows: Rows) -> None:
        self._rows, self._count = rows, 0
        self._table = array("I", bytes(array("I").itemsize * 1024))
        self._odd: dict[str, int] = {}

    def row(self, key: str) -> int:
        """The row of a key's answer; -1 if there is none."""
        digest = digest_of_key(key)
        if digest is None:
            return self._odd.get(key, -1)
        return self._table[self._place(digest)] - 1

    def put(self, answer: Answer) -> int:
        """Adds an answer under its key and returns its row. The same answer again adds no row."""
        digest = digest_of_key(answer.key)
        if digest is None:
            known = self._odd.get(answer.key, -1)
            if known < 0 or self._rows.answer(known) != answer:
                known = self._odd[answer.key] = self._rows.add(answer)
            return known
        place = self._place(digest)
        known = self._table[place] - 1
        if known >= 0 and self._rows.answer(known) == answer:
            return known
        row = self._rows.add(answer, digest)
        self._table[place] = row + 1
        if known < 0:
            self._count += 1
            if self._count * 3 > len(self._table) * 2:
                self._grow()
        return row

    def _place(self, digest: bytes) -> int:
        """Where a key's row is in the table, or would be."""
        table, keys, most = self._table, self._rows.keys, len(self._table) - 1
        place = hash(digest) & most  # Python's own hash: a stranger's journal can't choose keys of one place
        while row := table[place]:
            if keys.startswith(digest, (row - 1) * _DIGEST):
                break
            place = (place + 1) & most
        return place

    def _grow(self) -> None:
        """Makes the table twice as large; four times as long as it is small, since each row is then placed again."""
        old, keys = self._table, self._rows.keys
        most = len(old) * (4 if len(old) < 2**18 else 2) - 1
        table = self._table = array("I", bytes(old.itemsize * (most + 1)))
        for row in old:
            if row:
                place = hash(bytes(keys[(row - 1) * _DIGEST : row * _DIGEST])) & most
                while table[place]:
                    place = (place + 1) & most
                table[place] = row

    def __getitem__(self, key: str) -> Answer:
        if (row := self.row(key)) < 0:
            raise KeyError(key)
        return self._rows.answer(row)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.row(key) >= 0

    def __iter__(self) -> Iterator[str]:
        for row in range(len(self._rows)):
            key = self._rows.key(row)
            if self.row(key) == row:
                yield key

    def __len__(self) -> int:
        return self._count + len(self._odd)


class AnswersBySlot(Mapping[Slot, Answer]):
    """{slot: its answer or failure}, as numbers of rows: a page of an array for 256 docs of one place in a task."""

    def __init__(self, rows: Rows) -> None:
        self._rows, self._count = rows, 0
        self._pages: dict[tuple[Any, ...], dict[int, array[int]]] = {}
        self._odd: dict[Slot, int] = {}

    def put(self, slot: Slot, row: int) -> int:
        """Puts the answer of a row into a slot. Returns the row that it had; -1 if it had none."""
        task, doc_id, repeat, choice, judge, step, turn = slot
        if type(doc_id) is not int:
            before = self._odd.get(slot, -1)
            self._odd[slot] = row
            return before
        place = (task, repeat, choice, judge, step, turn)
        if (pages := self._pages.get(place)) is None:
            pages = self._pages[place] = {}
        if (page := pages.get(doc_id // _PAGE)) is None:
            page = pages[doc_id // _PAGE] = array("I", bytes(array("I").itemsize * _PAGE))
        before = page[doc_id % _PAGE] - 1
        self._count += before < 0
        page[doc_id % _PAGE] = row + 1
        return before

    def row(self, slot: Slot) -> int:
        """The row of a slot's answer; -1 if there is none."""
        task, doc_id, repeat, choice, judge, step, turn = slot
        if type(doc_id) is not int:
            return self._odd.get(slot, -1)
        pages = self._pages.get((task, repeat, choice, judge, step, turn))
        page = None if pages is None else pages.get(doc_id // _PAGE)
        return -1 if page is None else page[doc_id % _PAGE] - 1

    def __getitem__(self, slot: Slot) -> Answer:
        if (row := self.row(slot)) < 0:
            raise KeyError(slot)
        return self._rows.answer(row)

    def get(self, slot: Slot, default: Answer | None = None) -> Answer | None:  # type: ignore[override]
        return default if (row := self.row(slot)) < 0 else self._rows.answer(row)

    def __contains__(self, slot: object) -> bool:
        return isinstance(slot, Slot) and self.row(slot) >= 0

    def __iter__(self) -> Iterator[Slot]:
        """The slots, also while another thread puts answers into further ones, which may be left out."""
        for (task, *rest), pages in list(self._pages.items()):
            for number, page in list(pages.items()):
                for place, row in enumerate(page):
                    if row:
                        yield Slot(task, number * _PAGE + place, *rest)
        yield from list(self._odd)

    def __len__(self) -> int:
        return self._count + len(self._odd)
