"""Who failed: every error that mm-eval raises on purpose has an owner, a place and an advice.

An error is data as well as an exception: a failed request is stored in the journal with its owner, and a user's mistake
is printed as one sentence. `str(error)` is that sentence.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence


class MMEvalError(Exception):
    """What went wrong, where (file:line, or task and doc id), and what to do about it."""

    owner = "mm-eval"
    attempts = 1
    """How often it was tried before this was said."""

    others: tuple[MMEvalError, ...] = ()
    """Further faults that were found with this one, for `validate`, which lists all."""

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
        return _rebuild, (type(self), self.what, self.where, self.hint)


def _rebuild(kind: type[MMEvalError], what: str, where: str, hint: str) -> MMEvalError:
    return kind(what, where=where, hint=hint)


class ConfigError(MMEvalError):
    """The command, a task file or a model argument is wrong. Nothing has been asked yet."""

    owner = "config"


def collected(checks: Iterable[Callable[[], object]]) -> list[ConfigError]:
    """What each check raises as a ConfigError. All of them are run."""
    found: list[ConfigError] = []
    for check in checks:
        try:
            check()
        except ConfigError as error:
            found.append(error)
    return found


def raise_all(faults: Sequence[ConfigError]) -> None:
    """Raises the first fault with the others attached to it; nothing where there is none."""
    if faults:
        first, *others = faults
        first.others = (*first.others, *others)
        raise first


def all_faults(error: MMEvalError) -> list[MMEvalError]:
    """An error and those that are attached to it."""
    return [error, *(fault for other in error.others for fault in all_faults(other))]


class Unbounded(ConfigError):
    """Groups or includes that would go on without end; nothing around them can be read either."""


class NotHereError(ConfigError):
    """A dataset or a model is not on this machine, and could not or must not be fetched. what: it and where it was looked for."""

    @classmethod
    def joined(cls, missing: list[NotHereError]) -> NotHereError:
        """One sentence about all that is missing, so that it can be brought in one go."""
        if len(missing) == 1:
            return missing[0]
        things = " ".join(f"({number}) {error.what}" for number, error in enumerate(missing, 1))
        hint = "mm-eval bundle copies data sets, hf download models, on a machine with network."
        return cls(f"{len(missing)} things are not on this machine: {things}", hint=hint)


class ConfigErrors(ConfigError):
    """Several mistakes that one look found. errors: each of them."""

    errors: tuple[ConfigError, ...] = ()

    @classmethod
    def of(cls, errors: Sequence[ConfigError]) -> ConfigError:
        """All errors as one; a single one as it is."""
        if len(errors) == 1:
            return errors[0]
        told = " ".join(f"({number}) {error}" for number, error in enumerate(errors, 1))
        found = cls(f"{len(errors)} mistakes were found; nothing was asked. {told}")
        found.errors = tuple(errors)
        return found


class DataError(MMEvalError):
    """A dataset, a doc or a picture can't be read or lacks what the task needs."""

    owner = "data"


class RowError(DataError):
    """The values of one doc are unusable, whatever the task file says: other docs are still asked."""


class ModelError(MMEvalError):
    """The model, or the server behind it, did not answer."""

    owner = "model"


class ScoringError(MMEvalError):
    """A filter, metric or scorer failed on a doc that was answered."""

    owner = "scoring"


class StoreError(MMEvalError):
    """The run folder can't be read or written."""

    owner = "store"


ERRORS_BY_OWNER: dict[str, type[MMEvalError]] = {
    kind.owner: kind for kind in (ConfigError, DataError, ModelError, ScoringError, StoreError)
}


_STREAM = re.compile(r" ?<_io\.\w+ object at 0x[0-9a-fA-F]+>")
_NAMED = re.compile(
    r"<(?:class|(?:built-in )?function|built-in method|bound method) '?([\w.<>]*?\w)'?(?: (?:at|of) [^<>]*)?>"
)
_OBJECT = re.compile(r"<(?:[\w.]+\.)?(\w+) object at 0x[0-9a-fA-F]+>")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{6,}")


def without_objects(text: str) -> str:
    """Text of other people's exceptions without Python's own descriptions of objects, whose addresses differ at every run.

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

    >>> did_you_mean("seedbnech", ["mme", "seedbench"])
    "Did you mean 'seedbench'?"
    """
    names = sorted(set(known))
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    if close:
        return "Did you mean " + " or ".join(repr(match) for match in close) + "?"
    if not names:
        return "There are none."
    shown = ", ".join(repr(known_name) for known_name in names[:12])
    return f"Known: {shown}{' ...' if len(names) > 12 else ''}."
