"""Which document of our data each row of another suite's log is about. What can't be shown to be the same document is left out.

    pairs = Matcher(task, style).match(log.rows(), log.rows())

A row names its document by its place in the data set (lm-eval, lmms-eval), by an id, or not at all. Whatever it names, the texts
must agree: the columns that both have, else the words of our question must all be in their prompt. A row whose place disagrees is
looked up by its text; where several documents have that text, the order of the log decides only if it agrees for every row.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mm_eval.features.exports.logs.values import LogRow
from mm_eval.prompt.question import Question
from mm_eval.prompt.task import PromptStyle, Task
from mm_eval.values.errors import ConfigError, MMEvalError
from mm_eval.values.types import Doc, Instance
from mm_eval.values.words import counted, of_all

MOST_EXAMPLES = 3
LEAST_SHARE = 0.5
"""Of the rows of a log that must be documents of our data, for it to be the same data set."""
MOST_MISPLACED = 0.02
"""Of the rows whose text may be another than that of the document at their place, for the places to be believed."""
MARK = re.compile(r"<image(?: \d+)?>|<video>", re.IGNORECASE)
WORD = re.compile(r"\w+")
ENOUGH_WORDS = 5
"""Words of the columns that a row shares with a document, for these alone to show that it is the same."""
ID_COLUMNS = (
    "id",
    "index",
    "question_id",
    "questionId",
    "qid",
    "pid",
    "sample_id",
    "uid",
    "idx",
    "doc_id",
    "key",
    "problem_id",
)


@dataclass
class OurDoc:
    """A document of our data. words: of its columns that its question shows; what another suite asked must have them, too."""

    doc_id: int
    doc: Doc
    question: Question | None
    words: frozenset[str]

    @property
    def golds(self) -> set[str]:
        """All ways in which a suite may write the right answer."""
        target, choices = (self.question.target, self.question.choices) if self.question else (None, None)
        found = set()
        for each in [target, *(target if isinstance(target, list) else [])]:
            found.add(_plain(each))
            if isinstance(each, int) and not isinstance(each, bool) and 0 <= each < 26:
                found |= {chr(97 + each), _plain(choices[each]) if choices and each < len(choices) else ""}
        return found - {""}


@dataclass
class Matched:
    """The rows of a log by document: how many, and what was left out, in sentences.

    doc_ids: in the order of the log. by_text: documents that were found by their text alone. golds: those whose gold differs.
    """

    rows: int = 0
    doc_ids: dict[int, None] = field(default_factory=dict)
    by_text: int = 0
    unverified: int = 0
    golds: int = 0
    with_gold: int = 0
    left_out: dict[str, list[str]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def leave_out(self, why: str, row: LogRow) -> None:
        """Counts a row that is of no document."""
        self.counts[why] = self.counts.get(why, 0) + 1
        examples = self.left_out.setdefault(why, [])
        if len(examples) < MOST_EXAMPLES:
            examples.append(row.where)

    def said(self, task: str) -> list[str]:
        """What a reader should know of what was left out, and of golds."""
        found = []
        for why, examples in self.left_out.items():
            shown = ", ".join(examples) + (", ..." if self.counts[why] > len(examples) else "")
            found.append(f"{task}: {of_all(self.counts[why], self.rows, 'row')} of the log left out: {why} ({shown})")
        if self.by_text:
            found.append(
                f"{task}: {counted(self.by_text, 'document')} found by the text, since the place in the log disagreed"
            )
        if self.unverified:
            documents = counted(self.unverified, "document")
            found.append(f"{task}: the log has no text to compare for {documents}; its doc_id was taken")
        if 0 < self.golds < self.with_gold:
            found.append(
                f"{task}: the log has another gold for {counted(self.golds, 'document')}; the one of our data counts"
            )
        return found


NOT_OURS = "no document of our data has this text"
SEVERAL = "several documents have this text, and the log does not say which one"
NO_TEXT = "it has no text that shows which document it is about"
TWICE = "the document is in the log twice; the first row counts"
UNREADABLE = "the document can't be read here"
WRONG_KIND = "its answers are not what the task asks for"


class Matcher:
    """Finds the documents of one task's log."""

    def __init__(self, task: Task, style: PromptStyle) -> None:
        self.task, self.style, self.found = task, style, Matched()
        self._cached: dict[int, OurDoc] = {}
        self._by_text: dict[str, list[int]] | None = None
        self._column: dict[str, int] | None = None
        self._trusted = True

    def match(self, rows: Iterator[LogRow], again: Iterator[LogRow]) -> Iterator[tuple[int, LogRow]]:
        """(doc id, row) of each row that is of a document. Of a task with several pipelines, every one of them.

        again: the same rows, read before the others, to see whether the places in the log are those of our data.
        Errors: ConfigError where most rows are of no document of our data.
        """
        ordered = False
        first_filter: str | None = None
        by_id: dict[str, int] = {}
        for row in rows:
            first_filter = row.filter if first_filter is None else first_filter
            if row.filter != first_filter:  # the same documents once more
                known = by_id.get(row.id)
                if known is not None:
                    yield known, row
                continue
            if not self.found.rows and row.doc_id is None:
                ordered = self._agrees_in_order(again, first_filter)
            elif not self.found.rows:
                self._trusted = self._places_hold(again, first_filter)
            place = self.found.rows if ordered else row.doc_id
            self.found.rows += 1
            doc_id = self._document(row, place)
            if doc_id is None:
                continue
            if doc_id in self.found.doc_ids:
                self.found.leave_out(TWICE, row)
                continue
            self.found.doc_ids[doc_id] = None
            by_id[row.id] = doc_id
            if row.target is not None and (golds := self.ours(doc_id).golds):
                self.found.with_gold += 1
                self.found.golds += not _golds_of(row) & golds
            yield doc_id, row
        self._check()

    def _check(self) -> None:
        found = self.found
        if not found.rows:
            raise ConfigError("the log has no rows.", where=self.task.path)
        if len(found.doc_ids) < LEAST_SHARE * (found.rows - found.counts.get(TWICE, 0)):
            said = "; ".join(f"{why} ({count:,})" for why, count in found.counts.items())
            share = of_all(
                len(found.doc_ids), found.rows, "row", "of the log is a document", "of the log are documents"
            )
            hint = "Is it the same split and version? --docs log scores by the log's own documents."
            if NO_TEXT in found.counts:
                hint = "Name the question's column too: --columns ...,question=COLUMN, by its name in our data, or prompt=COLUMN."
            where = next((examples[0] for examples in found.left_out.values()), self.task.path)
            raise ConfigError(f"only {share} of our data of {self.task.path}: {said}.", where=where, hint=hint)

    def _agrees_in_order(self, rows: Iterator[LogRow], first_filter: str) -> bool:
        """Whether the log has as many rows as our data documents, and each of them the text of the document at its place."""
        place = 0
        for row in rows:
            if row.filter != first_filter:
                continue
            if place >= len(self.task.docs) or self._agrees(row, self.ours(place)) is not True:
                return False
            place += 1
        return place == len(self.task.docs)

    def _places_hold(self, rows: Iterator[LogRow], first_filter: str) -> bool:
        """Whether nearly every row has the text of the document at its place.

        Otherwise rows were dropped or sorted, and a question that occurs several times proves nothing at its place.
        """
        disagree = count = 0
        for row in rows:
            if row.filter == first_filter and row.doc_id is not None:
                count += 1
                here = 0 <= row.doc_id < len(self.task.docs)
                disagree += not here or self._agrees(row, self.ours(row.doc_id)) is False
        return disagree <= max(1, MOST_MISPLACED * count)

    def _document(self, row: LogRow, place: int | None) -> int | None:
        """The document of a row; None, counted, where none can be shown to be."""
        unverified = False
        if place is not None and 0 <= place < len(self.task.docs):
            agrees = self._agrees(row, self.ours(place))
            if agrees and self._trusted:
                return place
            unverified = agrees is None and row.doc_id is not None and self._trusted
        if unverified:
            self.found.unverified += 1
            return place
        candidates = self._candidates(row)
        if len(candidates) == 1:
            self.found.by_text += place is not None
            return candidates[0]
        self.found.leave_out(SEVERAL if candidates else NOT_OURS if any(_texts(row)) else NO_TEXT, row)
        return None

    def _candidates(self, row: LogRow) -> list[int]:
        """The documents that a row without a place may be of: by an id column, else by its texts."""
        columns = self._ids()
        if (
            row.id
            and row.doc_id is None
            and (named := columns.get(row.id)) is not None
            and self._agrees(row, self.ours(named))
        ):
            return [named]
        found: dict[int, None] = {}
        for text in _texts(row):
            for doc_id in self._texts().get(text, ()):
                found[doc_id] = None
        agreeing = [doc_id for doc_id in found if self._agrees(row, self.ours(doc_id))]
        if len(agreeing) > 1 and row.target is not None:
            by_gold = [doc_id for doc_id in agreeing if _golds_of(row) & self.ours(doc_id).golds]
            agreeing = by_gold or agreeing
        return agreeing

    def _agrees(self, row: LogRow, ours: OurDoc) -> bool | None:
        """Whether a row has the text of a document; None where it has nothing to compare."""
        if row.doc is not None:
            shared = [
                name for name in row.doc if name in ours.doc and _is_text(ours.doc[name]) and _is_text(row.doc[name])
            ]
            texts = {name: ours.doc[name] for name in shared if isinstance(ours.doc[name], str)}
            if not all(_plain(row.doc[name]) == _plain(text) for name, text in texts.items() if " " in text):
                return False
            if len(WORD.findall(" ".join(texts.values()))) >= ENOUGH_WORDS:
                return True
        if ours.question is None:
            return None
        if row.choices and not _choices_agree(row.choices, ours):
            return False
        asked = _prompt_text(row)
        return None if not asked or not ours.words else ours.words <= _words(asked)

    def ours(self, doc_id: int) -> OurDoc:
        """A document of our data, without its pictures."""
        if doc_id not in self._cached:
            if len(self._cached) > 2048:
                self._cached.clear()
            ids = range(doc_id, min(doc_id + 64, len(self.task.docs)))
            for each, doc in self.task.docs.texts(ids):
                self._cached[each] = self._made(each, doc)
        return self._cached[doc_id]

    def _made(self, doc_id: int, doc: Doc) -> OurDoc:
        try:
            question = self.task.question(doc, self.style.block, f"{self.task.path} doc {doc_id}")
        except MMEvalError:
            return OurDoc(doc_id, doc, None, frozenset())
        return OurDoc(doc_id, doc, question, frozenset(_own_words(doc, question)))

    def _texts(self) -> Mapping[str, list[int]]:
        """{text: documents}, over the columns and the question of each document."""
        if self._by_text is None:
            self._by_text = {}
            for doc_id in range(len(self.task.docs)):
                ours = self.ours(doc_id)
                texts = {_digest(value) for value in ours.doc.values() if isinstance(value, str) and len(value) > 3}
                if ours.question is not None:
                    texts.add(_digest(ours.question.text))
                for text in texts:
                    if len(known := self._by_text.setdefault(text, [])) < 200:
                        known.append(doc_id)
        return self._by_text

    def _ids(self) -> Mapping[str, int]:
        """{id: document} of the first id column whose values are all different."""
        if self._column is None:
            self._column = {}
            for name in [name for name in ID_COLUMNS if name in self.task.docs.columns]:
                values = [str(self.ours(doc_id).doc.get(name)) for doc_id in range(len(self.task.docs))]
                if len(set(values)) == len(values):
                    self._column = {value: doc_id for doc_id, value in enumerate(values)}
                    break
        return self._column


def answers_fit(row: LogRow, instances: Sequence[Instance]) -> str:
    """Why the answers of a row are not those that the task asks for; "" where they are.

    A row may have more repeats than the task asks for; then the first ones count.
    """
    if row.failed:
        return ""
    generates = instances[0].request_type == "generate_until"
    texts = [isinstance(each, str) for each in row.resps]
    if generates and not all(texts):
        return "it has log-likelihoods, and the task generates text"
    if not generates and any(texts):
        return "it has generated text, and the task compares log-likelihoods"
    if len(row.resps) < len(instances):
        return f"it has {counted(len(row.resps), 'answer')}, and the task asks for {len(instances)}"
    if not generates and row.choices and len(row.choices) >= len(instances):
        asked = [_plain(instance.continuation) for instance in instances]
        if [_plain(each) for each in row.choices[: len(asked)]] != asked:
            return "its choices are others, or in another order"
    return ""


def _own_words(doc: Doc, question: Question) -> set[str]:
    """The words of a question that come from its document, not from the prompt block.

    A text of the document counts if most of its words are asked: the answer "A" is a word of many prompts by chance.
    """
    shown = _words(" ".join([question.text, *(question.choices or ())]))
    texts = [words for text in _leaves(doc) if (words := _words(text))]
    asked = [words & shown for words in texts if len(words) >= 3 and len(words & shown) >= 0.6 * len(words)]
    if not asked and texts:
        asked = [max(texts, key=len) & shown]
    return set().union(*asked) or shown


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _leaves(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _leaves(each)


def _prompt_text(row: LogRow) -> str:
    prompt = row.prompt
    if isinstance(prompt, list):
        prompt = "\n".join(map(_message_text, prompt))
    return "\n".join([str(prompt or ""), *row.choices]) if prompt else ""


def _message_text(message: Any) -> str:
    content = message.get("content") if isinstance(message, Mapping) else None
    if isinstance(content, list):
        return "".join(str(part.get("text", " ")) for part in content if isinstance(part, Mapping))
    return str(content or "")


def _words(text: str) -> set[str]:
    return set(WORD.findall(MARK.sub(" ", text).casefold()))


def _texts(row: LogRow) -> Iterator[str]:
    """Digests of the texts of a row that may be a column, or the question, of a document."""
    for value in (row.doc or {}).values():
        if isinstance(value, str) and len(value) > 3:
            yield _digest(value)
    for part in row.prompt if isinstance(row.prompt, list) else [row.prompt]:
        text = part if isinstance(part, str) else _message_text(part)
        if text:
            yield _digest(text)
            yield from (_digest(line) for line in text.splitlines() if len(line) > 3)


def _digest(text: str) -> str:
    return " ".join(MARK.sub(" ", text).split()).casefold()[:500]


def _choices_agree(choices: Sequence[str], ours: OurDoc) -> bool:
    """Whether the options of a row are in the order of ours, where the document has the same options."""
    theirs = [_plain(each) for each in choices]
    for known in _lists(ours.doc):
        mine = [_plain(each) for each in known]
        if sorted(mine) == sorted(theirs) and len(mine) > 1:
            return mine == theirs
    return True


def _lists(value: Any) -> Iterator[list[Any]]:
    if isinstance(value, Mapping):
        letters = [value[letter] for letter in "ABCDEFGHIJ" if value.get(letter) not in (None, "", "nan")]
        if len(letters) > 1:
            yield letters
        for each in value.values():
            yield from _lists(each)
    elif isinstance(value, list):
        yield value


def _is_text(value: Any) -> bool:
    return isinstance(value, (str, int, float, list, dict)) and value not in ("", [], {})


def _plain(value: Any) -> str:
    """A value as text, without case and blanks: suites write one in several ways."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str, sort_keys=True)
    return " ".join(MARK.sub(" ", text).split()).casefold()


def _golds_of(row: LogRow) -> set[str]:
    target = row.target
    found = {_plain(each) for each in ([target, *target] if isinstance(target, list) else [target])}
    if isinstance(target, str) and target[:1] in "[{":
        try:
            value = json.loads(target.replace("'", '"'))
        except ValueError:
            return found
        found |= {_plain(each) for each in (value if isinstance(value, list) else [value])}
    return found
