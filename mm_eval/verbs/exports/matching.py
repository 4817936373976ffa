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
from dataclasses import dataclass, field, replace

from mm_eval.prompt.question import Question
from mm_eval.prompt.task import PromptStyle, Task
from mm_eval.values.errors import ConfigError, MMEvalError
from mm_eval.values.types import Doc, Instance
from mm_eval.values.words import counted, of_all
from mm_eval.verbs.exports.logs.values import LogRow, options_in

MOST_EXAMPLES = 3
LEAST_SHARE = 0.5
"""Of the rows of a log that must be documents of our data, for it to be the same data set."""
MOST_MISPLACED = 0.02
"""Of the rows whose text may be another than that of the document at their place, for the places to be believed."""
MARK = re.compile(r"<image(?: \d+)?>|<video>", re.IGNORECASE)
WORD = re.compile(r"\w+")
LETTERED = re.compile(r"(?:^|(?<=\s))\(?([A-Z])[).:]\s+")
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
    """A document of our data. words: of its columns that its question shows; what another suite asked must have them, too.

    shown: the columns whose whole text its question shows, without the gold.
    """

    doc_id: int
    doc: Doc
    question: Question | None
    words: frozenset[str]
    shown: Mapping[str, str] = field(default_factory=dict)

    @property
    def main(self) -> str:
        """The column with the longest text that the question shows; "" where it shows none."""
        return max(self.shown, key=lambda name: len(self.shown[name]), default="")

    @property
    def options(self) -> list[list[str]]:
        """The lists of texts that may be its options, without lists of their letters."""
        found = [list(map(_plain, each)) for each in _lists(self.doc)]
        if self.question and self.question.choices:
            found.append(list(map(_plain, self.question.choices)))
        return [each for each in found if len(each) > 1 and each != [chr(97 + place) for place in range(len(each))]]

    @property
    def prompted(self) -> list[str]:
        """The options that its question shows behind the letters A, B, ..."""
        return [_plain(each) for each in _lettered(self.question.text)] if self.question else []

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
    letters: those of them where both golds are letters.
    """

    rows: int = 0
    doc_ids: dict[int, None] = field(default_factory=dict)
    by_text: int = 0
    unverified: int = 0
    golds: int = 0
    with_gold: int = 0
    letters: int = 0
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
        if self.golds:
            form = ", or writes it in another form" if self.golds == self.with_gold else ""
            found.append(
                f"{task}: the log has another gold for {counted(self.golds, 'document')}{form}; the one of our data counts"
            )
        return found


LEAST_LETTERS, MOST_OTHER_LETTERS = 3, 0.4
"""How many documents, and which share of those with a gold, may have another right letter in the log: a corrected benchmark has a
few; of options in another order three quarters do."""

NOT_OURS = "no document of our data has this text"
SEVERAL = "several documents have this text, and the log does not say which one"
NO_TEXT = "it has no text that shows which document it is about"
TWICE = "the document is in the log twice; the first row counts"
UNREADABLE = "the document can't be read here"
OTHER_ORDER = "its options are in another order than ours, so its letters mean other options"
OTHER_OPTIONS = "its options differ from ours"
WRONG_KIND = "its answers are not what the task asks for"


class Matcher:
    """Finds the documents of one task's log."""

    def __init__(self, task: Task, style: PromptStyle) -> None:
        self.task, self.style, self.found = task, style, Matched()
        self._cached: dict[int, OurDoc] = {}
        self._by_text: dict[str, list[int]] | None = None
        self._column: dict[str, int] | None = None
        self._trusted = True
        self._why = ""

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
                if not (theirs := _golds_of(row)) & golds:
                    self.found.golds += 1
                    self.found.letters += any(map(_is_letter, theirs)) and any(map(_is_letter, golds))
            yield doc_id, row
        self._check()

    def _check(self) -> None:
        found = self.found
        if not found.rows:
            raise ConfigError("the log has no rows.", where=self.task.path)
        reordered = found.counts.get(OTHER_ORDER, 0)
        if reordered > max(1, MOST_MISPLACED * found.rows):
            share = of_all(reordered, found.rows, "row")
            hint = "An answer by letter means another option there. --docs log scores by the log's own documents."
            where = found.left_out[OTHER_ORDER][0]
            raise ConfigError(
                f"the options of {share} are in another order than those of {self.task.path}.", where=where, hint=hint
            )
        if found.letters > max(LEAST_LETTERS, MOST_OTHER_LETTERS * found.with_gold):
            share = of_all(found.letters, found.with_gold, "document")
            hint = (
                "Are its options in another order, or of another version? --docs log scores by the log's own documents."
            )
            raise ConfigError(
                f"the right letter of {share} is another one in the log than in our data, so its letters mean other options.",
                where=self.task.path,
                hint=hint,
            )
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
        unverified, self._why = False, ""
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
        why = SEVERAL if candidates else self._why or (NOT_OURS if any(_texts(row)) else NO_TEXT)
        self.found.leave_out(why, row)
        return None

    def _candidates(self, row: LogRow) -> list[int]:
        """The documents that a row without a place may be of: by an id column, else by its texts."""
        columns = self._ids()
        if row.id and row.doc_id is None and (named := columns.get(row.id)) is not None:
            if self._agrees(row, self.ours(named)):
                return [named]
            if self._why:  # it is this document with other options, and not another one with the same question
                return []
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
        texts: dict[str, str] = {}
        if row.doc is not None:
            shared = [
                name for name in row.doc if name in ours.doc and _is_text(ours.doc[name]) and _is_text(row.doc[name])
            ]
            texts = {name: ours.doc[name] for name in shared if isinstance(ours.doc[name], str)}
            for name, text in texts.items():
                if (" " in text or name == ours.main) and _plain(row.doc[name]) != _plain(text):
                    return False
        asked = _prompt_text(row)
        by_words = None if not asked or not ours.words or ours.question is None else ours.words <= _words(asked)
        same = ours.main in texts or len(WORD.findall(" ".join(texts.values()))) >= ENOUGH_WORDS or by_words
        if same and (why := _options_differ(row, ours)):
            self._why = why
            return False
        return same or (False if by_words is False else None)

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
        made = OurDoc(doc_id, doc, question, frozenset(_own_words(doc, question)))
        said, golds = _said(question.text), made.golds
        texts = {name: value for name, value in doc.items() if isinstance(value, str) and _plain(value) not in golds}
        shown = {name: value for name, value in texts.items() if _said(value).strip() and _said(value) in said}
        return replace(made, shown=shown)

    def _texts(self) -> Mapping[str, list[int]]:
        """{text: documents}, over the columns and the question of each document."""
        if self._by_text is None:
            self._by_text = {}
            for doc_id in range(len(self.task.docs)):
                ours = self.ours(doc_id)
                texts = {_digest(value) for value in ours.doc.values() if isinstance(value, str) and len(value) > 3}
                if ours.main:
                    texts.add(_digest(ours.doc[ours.main]))
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


def answers_in_order(row: LogRow, instances: Sequence[Instance]) -> tuple[list[int], str]:
    """(the place in the row of each answer that the task asks for, "") or ([], why the row has not got them).

    Log-likelihoods of options in another order are matched by the options' texts. A row may have more repeats than the task asks
    for; then the first ones count.
    """
    count = len(instances)
    if row.failed and not row.resps:
        return list(range(count)), ""
    generates = instances[0].request_type == "generate_until"
    texts = [isinstance(each, str) for each in row.resps if each is not None]
    if generates and not all(texts):
        return [], "it has log-likelihoods, and the task generates text"
    if not generates and any(texts):
        return [], "it has generated text, and the task compares log-likelihoods"
    if row.prompts > 1 and generates:
        return [], f"it has the answers to {row.prompts} prompts, and the task has one"
    if len(row.resps) < count:
        return [], f"it has {counted(len(row.resps), 'answer')}, and the task asks for {count}"
    asked = [_plain(instance.continuation) for instance in instances]
    stated = [_plain(each) for each in row.choices]
    if generates or len(stated) < count or stated[:count] == asked:
        return list(range(count)), ""
    if len(set(asked)) == len(stated) == len(row.resps) == count and set(stated) == set(asked):
        return [stated.index(each) for each in asked], ""
    return [], "its choices differ from ours"


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


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _leaves(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _leaves(each)


def _prompt_text(row: LogRow, options: bool = True) -> str:
    """What was asked. options: with the options of the row."""
    prompt = row.prompt
    if isinstance(prompt, list):
        prompt = "\n".join(map(_message_text, prompt))
    return "\n".join([str(prompt or ""), *(row.choices if options else ())]) if prompt else ""


def _message_text(message: object) -> str:
    content = message.get("content") if isinstance(message, Mapping) else None
    if isinstance(content, list):
        return "".join(str(part.get("text", " ")) for part in content if isinstance(part, Mapping))
    return str(content or "")


def _said(text: str) -> str:
    """The words of a text one after another, with a blank on each side."""
    return f" {' '.join(WORD.findall(MARK.sub(' ', text).casefold()))} "


def _words(text: str) -> set[str]:
    return set(WORD.findall(MARK.sub(" ", text).casefold()))


def _texts(row: LogRow) -> Iterator[str]:
    """Digests of the texts of a row that may be a column, or the question, of a document."""
    for value in (row.doc or {}).values():
        if isinstance(value, str) and value.strip():
            yield _digest(value)
    for part in row.prompt if isinstance(row.prompt, list) else [row.prompt]:
        text = part if isinstance(part, str) else _message_text(part)
        if text:
            yield _digest(text)
            yield from (_digest(line) for line in text.splitlines() if line.strip())


def _digest(text: str) -> str:
    return " ".join(MARK.sub(" ", text).split()).casefold()[:500]


def _options_differ(row: LogRow, ours: OurDoc) -> str:
    """Why the letters, or the answers, of a row are not of our options; "" where they are, or where the row states no options.

    Log-likelihoods of options are matched by the options' texts (`answers_in_order`), so that their order is free.
    """
    stated = [_plain(each) for each in row.choices]
    scored = any(isinstance(each, list) for each in row.resps)
    known = ours.options
    if scored and any(sorted(stated[: len(each)]) == sorted(each) for each in known):
        return ""
    if not scored and any(_is_like(each, stated) for each in known):
        found, asked = [stated], list[str]()
    else:
        found, asked = (
            [[_plain(each) for each in options_in(row.doc or {})]],
            _lettered(_prompt_text(row, options=False)),
        )
    for theirs in found:
        alike = [each for each in known if _is_like(each, theirs)]
        if alike and not any(each == theirs[: len(each)] for each in alike):
            return OTHER_ORDER if any(sorted(each) == sorted(theirs) for each in alike) else OTHER_OPTIONS
    for shown in (
        [_plain(each) for each in asked],
        *found,
        *([] if scored else [stated]),
    ):  # of a prompt one can tell no more than this
        same = [each for each in (*known, ours.prompted) if each and sorted(each) == sorted(shown)]
        if same and shown not in same:
            return OTHER_ORDER
    return ""


def _is_like(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    """Whether two lists are of the same options, at least in part: others are labels, or of something else."""
    return len(set(ours) & set(theirs)) >= max(2, len(theirs) / 2)


def _lettered(text: str) -> list[str]:
    """The options behind the last letters A, B, ... of a prompt; those of few-shot examples stand before them."""
    parts = LETTERED.split(text)
    found: list[str] = []
    for letter, option in zip(parts[1::2], parts[2::2], strict=True):
        if letter == "A":
            found = []
        if letter == chr(65 + len(found)):
            found.append(option.strip().split("\n")[0])
    return found if len(found) > 1 else []


def _lists(value: object) -> Iterator[list[object]]:
    if isinstance(value, Mapping):
        letters = [value[letter] for letter in "ABCDEFGHIJ" if value.get(letter) not in (None, "", "nan")]
        if len(letters) > 1:
            yield letters
        for each in value.values():
            yield from _lists(each)
    elif isinstance(value, list):
        yield value


def _is_text(value: object) -> bool:
    return isinstance(value, (str, int, float, list, dict)) and value not in ("", [], {})


def _plain(value: object) -> str:
    """A value as text, without case and blanks: suites write one in several ways."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str, sort_keys=True)
    return " ".join(MARK.sub(" ", text).split()).casefold()


def _is_letter(gold: str) -> bool:
    return len(gold) == 1 and "a" <= gold <= "z"


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
