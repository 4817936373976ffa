"""Who failed: every error that mm-eval raises on purpose has an owner, a place and a hint.

An error is data as well as an exception: a failed request is stored in the journal with its owner, and a user's mistake
is printed as one sentence. `str(error)` is that sentence.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial


def said_by(error: BaseException) -> str:
    """The text of an exception; empty where it has none, also where its own code fails to make one."""
    try:
        return str(error)
    except Exception:
        return ""


def kind_and_text(error: BaseException) -> str:
    """An exception in words: "KeyError: 'name'", and "KeyError" for one without a text."""
    text = said_by(error)
    return f"{type(error).__name__}: {text}" if text.strip() else type(error).__name__


def first_line(error: BaseException) -> str:
    """The first line of what an exception says, without a full stop at its end; its kind for one without a text.

    >>> first_line(ValueError("line 1.\\nline 2")), first_line(ValueError())
    ('line 1', 'ValueError')
    """
    lines = said_by(error).strip().splitlines()
    return lines[0].rstrip().rstrip(".") if lines else type(error).__name__


class MMEvalError(Exception):
    """What went wrong, where (file:line, or task and doc id), and what to do about it."""

    owner = "mm-eval"
    attempts = 1
    """How often the request was made before it failed."""

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        what = without_objects(what)
        super().__init__(what)
        self.what, self.where, self.hint = what, where, hint

    def __str__(self) -> str:
        sentence = f"{self.where}: {self.what}" if self.where else self.what
        return f"{sentence} {self.hint}".rstrip() if self.hint else sentence

    def located(self, where: str) -> MMEvalError:
        """This error with a place, unless it has one already."""
        self.where = self.where or where
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return partial(type(self), where=self.where, hint=self.hint), (self.what,), {"attempts": self.attempts}


class ConfigError(MMEvalError):
    """The command, a task file or a model argument is wrong. Nothing has been requested yet."""

    owner = "config"


class InvalidValue(ConfigError, ValueError):
    """A wrong name or argument of a metric, filter, scorer, model or task: a ValueError for code that was written after lm-eval's
    guides. Not every ConfigError is one, since many places read ValueError as "this file is odd"."""


class ConfigErrors(ConfigError):
    """Several faults that one check found. errors: each of them; none is a ConfigErrors itself."""

    def __init__(self, errors: Sequence[MMEvalError]) -> None:
        listed = " ".join(f"({number}) {error}" for number, error in enumerate(errors, 1))
        super().__init__(f"{len(errors)} mistakes were found; nothing was requested. {listed}")
        self.errors = tuple(errors)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.errors,)


def all_faults(error: MMEvalError) -> Sequence[MMEvalError]:
    """Each fault that an error reports: those of a ConfigErrors, else the error itself."""
    return error.errors if isinstance(error, ConfigErrors) else (error,)


def raise_all(faults: Iterable[MMEvalError]) -> None:
    """Raises all faults as one error, a single fault as it is; returns where there are none. Equal sentences count once."""
    found = list({str(fault): fault for each in faults for fault in all_faults(each)}.values())
    if found:
        raise found[0] if len(found) == 1 else ConfigErrors(found)


def check_all(checks: Iterable[Callable[[], object]]) -> None:
    """Runs all checks, and raises the ConfigErrors of those that fail as one error."""
    raise_all(faults_of(checks))


def faults_of(checks: Iterable[Callable[[], object]]) -> list[ConfigError]:
    """The ConfigError of each check that fails. All checks are run."""
    found: list[ConfigError] = []
    for check in checks:
        try:
            check()
        except ConfigError as error:
            found.append(error)
    return found


class Unbounded(ConfigError):
    """Groups or includes that would go on without end; nothing around them can be read either."""


class NotHereError(ConfigError):
    """A dataset or a model is not on this machine and could not be fetched, or must not be. what: it, and where it was sought."""

    @classmethod
    def joined(cls, missing: Sequence[NotHereError]) -> NotHereError:
        """One sentence about everything that is missing, so that it can be copied to this machine in one go."""
        if len(missing) == 1:
            return missing[0]
        things = " ".join(f"({number}) {error.what}" for number, error in enumerate(missing, 1))
        hint = "mm-eval bundle copies data sets, hf download models, on a machine with network."
        return cls(f"{len(missing)} things are not on this machine: {things}", hint=hint)


class DataError(MMEvalError):
    """A dataset, a doc or a picture is unreadable or lacks what the task needs."""

    owner = "data"


class DocError(DataError):
    """The values of one doc are unusable, whatever the task file says: it fails, and other docs are still requested.

    A task's functions raise it, too: `from mm_eval.values.types import DocError`.
    """


class ModelError(MMEvalError):
    """The model, or the server behind it, did not answer."""

    owner = "model"


class LongPrompt(ModelError):
    """A prompt does not fit into the model's length."""


class JudgeError(MMEvalError):
    """The judge gave no verdict on a doc that was answered."""

    owner = "judge"


class ScoringError(MMEvalError):
    """A filter, metric or scorer failed on a doc that was answered."""

    owner = "scoring"


class StoreError(MMEvalError):
    """The run folder can't be read or written."""

    owner = "store"
    SAFE_ANSWERS = "Recorded answers are safe; the same command continues from there."
    """The hint of a run that has answers."""


ERRORS_BY_OWNER: dict[str, type[MMEvalError]] = {
    kind.owner: kind for kind in (ConfigError, DataError, ModelError, JudgeError, ScoringError, StoreError)
}


_STREAM = re.compile(r" ?<_io\.\w+ object at 0x[0-9a-fA-F]+>")
_NAMED = re.compile(
    r"<(?:class|(?:built-in )?function|built-in method|bound method) '?([\w.<>]*?\w)'?(?: (?:at|of) [^<>]*)?>"
)
_OBJECT = re.compile(r"<(?:[\w.]+\.)?(\w+) object at 0x[0-9a-fA-F]+>")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{6,}")


def without_objects(text: str) -> str:
    """The text of a foreign exception without Python's descriptions of objects, whose addresses differ at every run.

    >>> without_objects("cannot identify image file <_io.BytesIO object at 0x7f65d599a350>")
    'cannot identify image file'
    >>> without_objects("<function score at 0x7f65d599a350> gave <class 'numpy.int64'>, <utils.Doc object at 0x7f65d599a350>")
    'score gave numpy.int64, an object of type Doc'
    """
    if "<" not in text and " at 0x" not in text:
        return text
    said = _OBJECT.sub(r"an object of type \1", _STREAM.sub("", text))
    return _ADDRESS.sub("", _NAMED.sub(r"\1", said))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint that names the closest known names, or lists a few when none is close.

    Names that begin with what was written come first, then those that have it in them, then those with other typing errors.

    >>> did_you_mean("seedbnech", ["mme", "seedbench"])
    "Did you mean 'seedbench'?"
    >>> did_you_mean("mmmu", ["mmlu", "mmmu_pro_vision", "mmmu_val"])
    "Did you mean 'mmmu_val' or 'mmmu_pro_vision' or 'mmlu'?"
    """
    names = sorted(set(known))
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    if len(name) > 2:
        holding = [each for each in names if name.lower() in each.lower()]
        holding.sort(key=lambda each: (not each.lower().startswith(name.lower()), len(each)))
        close = list(dict.fromkeys([*holding, *close]))[:3]
    if close:
        return "Did you mean " + " or ".join(repr(match) for match in close) + "?"
    if not names:
        return "There are none."
    shown = ", ".join(repr(known_name) for known_name in names[:12])
    return f"Known: {shown}{' ...' if len(names) > 12 else ''}."
