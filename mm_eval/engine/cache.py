"""Answers shared between runs (`--use_cache DIR`)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from mm_eval.engine.generation import GenerationOptions
from mm_eval.engine.journal import Journal, mend_torn_tails, read_journal
from mm_eval.engine.model import Model, request_key, shares
from mm_eval.engine.records import answer_record
from mm_eval.values.errors import ConfigError, MMEvalError, StoreError
from mm_eval.values.model_names import answers_for
from mm_eval.values.types import FILE_MARK, Answer, Instance

log = logging.getLogger(__name__)


def key_by_other_rule(model: Model, instance: Instance) -> str | None:
    """The request key of the same question with its pictures known by the other rule; None where there is no such key.

    A picture that is sent as it is stored is known by its file; by its pixels in runs of earlier versions, and in those of a task
    with a picture of another form. Nothing is decoded: the digest of its pixels may be remembered.
    """
    from mm_eval.data.media import remembered_digest
    from mm_eval.data.sent_files import file_identity

    digests = instance.image_digests
    if instance.images is None or instance.clips or not (digests and model.facts.sends_files):
        return None
    by_files = any(digest.startswith(FILE_MARK) for digest in digests)
    others = list[str]()
    try:
        for picture, digest in zip(instance.images(), digests, strict=True):
            if not by_files:
                others.append(file_identity(picture) or digest)
            elif not digest.startswith(FILE_MARK):
                others.append(digest)
            elif (known := remembered_digest(picture)) is not None:
                others.append(known)
            else:
                return None
    except (MMEvalError, ValueError):  # the request reports it
        return None
    return None if tuple(others) == digests else request_key(model, replace(instance, image_digests=tuple(others)))


class KnownAnswers:
    """Answers of other runs, which need not be requested: here none."""

    def find(self, key: str, instance: Instance) -> Answer | None:
        """The answer of another run to this question. None if it must be requested."""
        return None

    def put(self, answer: Answer, instance: Instance) -> None:
        """Takes an answer that this run has recorded."""

    def close(self) -> None:
        """Writes what is not written yet."""


class AnswerCache(KnownAnswers):
    """Journal lines, found by request key.

    Any number of runs read and write a folder at the same time, each its own file. Only answers that can't differ are shared:
    those of an adapter that is a function of its key, without sampling. The key covers everything that decides the answer,
    with the pictures' pixels and the seed. Errors are never shared.
    """

    def __init__(self, folder: Path, model: Model) -> None:
        """Raises ConfigError if the folder is unusable."""
        self._model, self._broken = model, False
        hint = "Choose another folder for --use_cache."
        try:
            folder.mkdir(parents=True, exist_ok=True)
            mend_torn_tails(folder)
            self._answers = read_journal(folder).answers
            self._journal = Journal(folder)
        except OSError as error:
            raise ConfigError(f"the cache can't be used: {error.strerror}.", where=str(folder), hint=hint) from error
        except StoreError as error:
            raise ConfigError(error.what, where=error.where, hint=hint) from error

    def find(self, key: str, instance: Instance) -> Answer | None:
        if not self._answers or not self._shareable(instance):
            return None
        answer = self._answers.get(key)
        if answer is None and (other := key_by_other_rule(self._model, instance)) is not None:
            answer = self._answers.get(other)
        if answer is None or answer.output is None:
            return None
        if self._model.settings.on_long_prompt == "fail" and answer.cut is not False:
            return None  # the prompt was cut, or may have been
        plain = replace(answer, images=(), turn_pictures=(), clips=(), heard=(), turn_shown=())
        return replace(plain, attempts=0, cut=bool(answer.cut), usage={}, key="")

    def put(self, answer: Answer, instance: Instance) -> None:
        """Adds a recorded answer. A write failure ends the cache, not the run."""
        asked = self._model.facts.name
        if answer.model and asked and not answers_for(answer.model, asked):
            return  # the key says that the model of that name answers so
        if not self._broken and answer.key not in self._answers and self._shareable(instance):
            self._try(lambda: self._journal.put(answer_record(answer, [])))

    def close(self) -> None:
        self._try(self._journal.close)

    def _try(self, write: Callable[[], None]) -> None:
        try:
            write()
        except StoreError as error:
            if not self._broken:
                log.warning("--use_cache keeps no further answers: %s: %s", error.where, error.what)
            self._broken = True

    def _shareable(self, instance: Instance) -> bool:
        if not shares(self._model, instance):
            return False
        kwargs = instance.generation_kwargs
        return instance.request_type != "generate_until" or not GenerationOptions.from_kwargs(kwargs).do_sample


def open_cache(
    folder: str | None, model: Model, known: Callable[[Model], KnownAnswers] | None = None
) -> closing[KnownAnswers]:
    """What is known in the cache of a folder, if there is one; closed at the end of the with-block.

    known: makes what is known instead. A model that its request keys don't tell from the next one has no cache.
    """
    if known is not None:
        return closing(known(model))
    return closing(AnswerCache(Path(folder), model) if folder and model.facts.identified else KnownAnswers())


def cache_notes(folder: str | None, model: Model, arguments: str = "--model_args", who: str = "") -> list[str]:
    """The note of a run whose model has no cache, though one is asked for. arguments: the option with the model's arguments."""
    if folder is None or model.facts.identified:
        return []
    what = f"--use_cache was not used{who}: the server reports nothing that would show whether another model has taken this name"
    return [f"{what}; identity=NAME in {arguments} identifies the model (a revision, a training step)"]
