"""What a row of samples/<task>.jsonl says: what was answered and what is right, and whether the doc is right.

Only the journal has the number of an answer's tokens (`spent_on_docs`).
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from mm_eval.engine.prices import token_counts
from mm_eval.engine.records import single_records
from mm_eval.results import judged
from mm_eval.scoring.filters.base import FILTERED, REFUSED, TRUNCATED
from mm_eval.scoring.metrics.paired import right_or_wrong
from mm_eval.scoring.run_results import Results
from mm_eval.scoring.sample_row import SampleRow
from mm_eval.values.errors import MMEvalError
from mm_eval.values.run_files import UNREADABLE, journal_files, json_value, lines_of
from mm_eval.values.types import Slot


def picked(row: SampleRow) -> tuple[str, str] | None:
    """(right, picked) of a row whose right answer is an option or yes or no; None for another one, or an unread answer.

    Options are capital letters, yes and no are words.
    """
    target = row["target"]
    if "choices" in row and isinstance(target, int) and not isinstance(target, bool) and 0 <= target < 26:
        sums = [resp[0] for resp in row["resps"][: count_options(row["choices"])]]
        return chr(65 + target), chr(65 + max(range(len(sums)), key=sums.__getitem__)) if sums else ""
    right = _option(target)
    read = next(iter(row["filtered_resps"].values()), None)
    pick = _option(read[0]) if read and right is not None else None
    return (
        None
        if right is None or pick is None or len(right) != len(pick) and 1 in (len(right), len(pick))
        else (right, pick)
    )


def count_options(choices: Sequence[object]) -> int:
    """How many options a doc has; the row has them once a repeat, and once more where each is scored on its own.

    All are one text where each option has a question of its own.
    """
    if len(set(choices)) in (1, len(choices)):
        return len(choices)
    sizes = (size for size in range(2, len(choices)) if len(choices) % size == 0)
    whole = (size for size in sizes if list(choices) == list(choices[:size]) * (len(choices) // size))
    return next(whole, len(choices))


_OPTION_LINE = re.compile(r"^[ \t]*\(?([A-Z])[.):][ \t]", re.MULTILINE)


def options_asked(row: SampleRow) -> int:
    """How many options a question has: its choices, those that its prompt lists by letters, or yes and no; 0 where unknown."""
    if choices := row.get("choices"):
        return count_options(choices)
    right = _option(row["target"])
    if right is None or right in ("yes", "no"):
        return 2 if right else 0
    prompt = row["prompt"]
    if not isinstance(prompt, str):
        content = prompt[-1]["content"] if prompt else ""
        prompt = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
    letters = _OPTION_LINE.findall(prompt)
    last = len(letters) - letters[::-1].index("A") - 1 if "A" in letters else 0
    return len(letters) - last if right in letters[last:] else 0


def _option(text: object) -> str | None:
    bare = text.strip().strip("().").lower() if isinstance(text, str) else ""
    return bare.upper() if re.fullmatch("[a-z]", bare) else bare if bare in ("yes", "no") else None


def right_answer(row: SampleRow) -> str:
    """The right answer as text: of choices the right one's."""
    target, choices = row["target"], row.get("choices")
    if choices and isinstance(target, int) and 0 <= target < len(choices):
        return str(choices[target]).strip()
    return target if isinstance(target, str) else repr(target)


@dataclass(frozen=True)
class Marking:
    """How a task's values are read as right or wrong.

    better: {metric: higher is better; None for no direction}. ends: the lowest and the highest grade that a doc can get.
    """

    better: Mapping[str, bool | None] = field(default_factory=dict)
    ends: tuple[float, float] = (0.0, 1.0)

    @classmethod
    def of(cls, results: Results, task: str) -> Marking:
        """The marking of a task. Verdicts count from 0 to 1 where the judge states no ends."""
        row = results.rows.get(task)
        return cls(row.better if row else {}, judged.ends(results, task) or (0.0, 1.0))

    def mark(self, scores: Mapping[str, object]) -> bool | None:
        """Whether a doc is right (the best value) or wrong (the worst), by the first of its scores that is a number.

        scores: by "metric,filter". None for a number between, such as a grade of 0.7, and where no score is a number.
        """
        for key, value in scores.items():
            number = value.get("score") if isinstance(value, dict) else value
            better = self.better.get(key.partition(",")[0], True)
            if better is None or not isinstance(number, (bool, int, float)):
                continue
            low, high = self.ends
            mark = right_or_wrong((number - low) / (high - low) if high > low else number)
            return mark if better or mark is None else not mark
        return None


class DocDigests(NamedTuple):
    """A doc and its raw answers (without the white space around them), each as a digest, so that two runs can be compared.

    kinds: how its answers ended (`kinds_of`). pictures: what was shown; empty if that is not known. requested: false for a doc
    that a run has not come to. failed: it has no answer for another reason. by_files: the pictures are known by their files.
    """

    doc: bytes
    answers: bytes
    kinds: tuple[str, ...] = ()
    pictures: bytes = b""
    requested: bool = True
    failed: bool = False
    by_files: bool = False

    @property
    def answered(self) -> bool:
        return self.requested and not self.failed


KINDS = (FILTERED, REFUSED, TRUNCATED)
"""How an answer may end other than by the model's own stop, in the order of the table's columns."""


def kinds_of(row: SampleRow) -> tuple[str, ...]:
    """The `KINDS` that hold for a doc, each as the table counts it; none for a doc that failed.

    >>> kinds_of({"status": "filtered", "ended": ["filtered", "length"], "rules": {}})
    ('filtered', 'truncated')
    """
    if row["status"] in ("failed", "not requested"):
        return ()
    rules = (rule for found in row.get("rules", {}).values() for rule in found)
    found = {row["status"], *rules, *(TRUNCATED if each == "length" else each for each in row.get("ended") or ())}
    return tuple(kind for kind in KINDS if kind in found)


def sample_name(name: str) -> str:
    """A task's name as a file name: visible, unique and inside its folder.

    A plain name is kept. Any other one, and one that ends like a digest, gets its digest as an ending.

    >>> sample_name("mme"), sample_name("a::b@mcqa"), sample_name("../.b")
    ('mme', 'a__b@mcqa-cf1d76bc', '__.b-4cf595a8')
    """
    safe = re.sub(r"[^\w.@+-]+", "__", name)[:48].lstrip(".")
    if name and safe == name and not re.search(r"-[0-9a-f]{8}$", name):
        return name
    return f"{safe}-{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:8]}"


def value_digest(value: object) -> bytes:
    return hashlib.sha256(json.dumps(value).encode()).digest()[:16]


def lean(value: object) -> object:
    """A doc's value with its texts and right/wrong marks shared between docs, to save memory."""
    if type(value) is str:
        return sys.intern(value)
    if type(value) is float:
        return _MARKS.get(value, value)
    return {sys.intern(key): lean(item) for key, item in value.items()} if type(value) is dict else value


_MARKS = {0.0: 0.0, 1.0: 1.0}


COUNTS = ("prompt_tokens", "completion_tokens", "cached_tokens", "cache_write_tokens")
"""The tokens that an answer is priced by."""
Attempts = dict[tuple[int, int], tuple[int, ...]]
"""{(doc id, repeat): its `COUNTS`}"""


class Spent(NamedTuple):
    """The tokens of a doc's prompts and answers, of all turns of a conversation, when its last answer came, and what they took.

    prompt: 0 where a server counts answers only. at: seconds since 1970; 0 where unknown. seconds: from request to answer, of all
    turns; 0 where unknown.
    """

    prompt: int
    completion: int
    at: float
    seconds: float = 0.0


def spent_on_docs(folder: Path) -> dict[str, dict[int, Spent]]:
    """{path of a task: {doc id: what its first answer took}}. Docs without a count are left out.

    A line that can't be read counts as none, since `mm-eval score` reports damage, and a copied folder may lack its journal.
    Of a doc with several choices it is that of one.
    """
    by_key, keys, times = _counted(folder, COUNTS[1:2])
    found: dict[str, dict[int, dict[int, Spent]]] = {}
    for slot, key in keys.items():
        if slot.repeat == 0:
            spent = Spent(by_key[key][0], by_key[key][1], *times[key])
            found.setdefault(slot.task, {}).setdefault(slot.doc_id, {})[slot.turn] = spent
    return {task: {doc_id: _together(turns.values()) for doc_id, turns in docs.items()} for task, docs in found.items()}


def _together(turns: Iterable[Spent]) -> Spent:
    prompts, completions, times, seconds = zip(*turns, strict=True)
    return Spent(sum(prompts), sum(completions), max(times), round(sum(seconds), 3))


def tokens_of_attempts(folder: Path, needed: Sequence[str] = COUNTS[:2]) -> dict[str, Attempts]:
    """{path of a task: the tokens of each attempt}, of all its turns and choices. Those without a needed count are left out."""
    by_key, keys, _ = _counted(folder, needed)
    found: dict[str, dict[tuple[int, int], dict[str, None]]] = {}
    for slot, key in keys.items():  # an answer may fill several choices of a doc, and was asked once
        found.setdefault(slot.task, {}).setdefault((slot.doc_id, slot.repeat), {})[key] = None
    return {
        task: {
            attempt: tuple(map(sum, zip(*(by_key[key] for key in own), strict=True)))
            for attempt, own in attempts.items()
        }
        for task, attempts in found.items()
    }


def _counted(
    folder: Path, needed: Sequence[str]
) -> tuple[dict[str, tuple[int, ...]], dict[Slot, str], dict[str, tuple[float, float]]]:
    """The `COUNTS` of each request that counted the needed ones, its key for each slot that it fills, but for judges', and when
    its answer came, after how many seconds."""
    times: dict[str, tuple[float, float]] = {}
    by_key: dict[str, tuple[int, ...]] = {}
    keys: dict[Slot, str] = {}
    files: list[Path] = []
    counted = needed[0].encode()
    with suppress(MMEvalError):
        files = journal_files(folder)
    for path in files:
        with suppress(OSError):
            for _, line in lines_of(folder, path):
                if line is None or not (counted in line or b'"slots"' in line[:40]):
                    continue  # parsing lines that count nothing would take most of the time
                with suppress(*UNREADABLE):
                    for record in single_records(json_value(line)):
                        if record["kind"] == "answer":
                            counts = token_counts(record["usage"])
                            if all(name in counts for name in needed):
                                times[record["key"]] = float(record.get("t") or 0), float(record.get("seconds") or 0)
                                by_key[record["key"]] = tuple(counts.get(name, 0) for name in COUNTS)
                        if record["kind"] in ("answer", "slots"):
                            slots = [
                                slot._replace(doc_id=int(slot.doc_id)) for slot in map(Slot.from_json, record["slots"])
                            ]
                            keys.update((slot, str(record["key"])) for slot in slots if not slot.judge)
    return (
        by_key,
        {slot: key for slot, key in keys.items() if key in by_key},
        times,
    )  # slots may stand before their answer
