"""A task: a config with its docs. `Task.instances` turns docs into the requests of a run.

Task.load(config, source) -> task
task.select(limit) -> doc ids
task.instances(doc_ids, style) -> one Instance for each doc, choice and repeat
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from mm_eval.config.located import located
from mm_eval.config.task_config import TaskConfig
from mm_eval.data.dataset import beside, docs_of, load_docs
from mm_eval.data.decode import decode_ahead
from mm_eval.data.docs import Docs, FileState, picture_files
from mm_eval.data.frames import Frames, files_of
from mm_eval.data.media import picture_digest, picture_identity
from mm_eval.data.places import Places
from mm_eval.data.sent_files import is_sent_as_stored
from mm_eval.data.sound.clip import Sound
from mm_eval.data.source import LOCAL_FILES, DataSource
from mm_eval.prompt.blind import PICTURES, SOUNDS, WITHOUT, joined_media, without_marks, without_pictures
from mm_eval.prompt.blocks import PromptBlock, takes_clips
from mm_eval.prompt.conversation import Shown, begin
from mm_eval.prompt.fewshot import Example, ExamplePool
from mm_eval.prompt.layout import Layout, Turn, chat_context, plain_context, written_context
from mm_eval.prompt.question import Question, Questions, Room, changes_no_doc, is_unused, question_of, text_of
from mm_eval.prompt.visuals import (
    PictureCache,
    PictureLoader,
    Seen,
    Visual,
    as_files,
    heard_beside,
    identities_of,
    messages_of,
    pictures_of_another,
    sounds_of,
    to_visuals,
    visuals_of,
    with_frames,
)
from mm_eval.values.conversation import Turns
from mm_eval.values.errors import ConfigError, DataError, DocError, MMEvalError, did_you_mean
from mm_eval.values.reasoning.families import NO_MARKS, Marks
from mm_eval.values.task_values import WithoutPictures
from mm_eval.values.types import Clip, Context, Doc, Heard, Instance, JsonObject, Message, RequestType, Target

if TYPE_CHECKING:
    from PIL.Image import Image

EVALUATION_SPLITS = ("test_split", "validation_split")
KEPT_EXAMPLES = 1000
"""Docs that a pool of examples keeps, once they are read."""


@dataclass(frozen=True)
class PromptStyle:
    """How a run asks one task.

    block: the prompt kwargs of the task for the model. chat: contexts are chat messages, otherwise text.
    system: `--system_instruction`. multiturn: `--fewshot_as_multiturn`; None leaves it to the task.
    blind: `--blind`, one of `BLIND`: without pictures, or with those of other docs. None for the docs' own.
    turns: what makes the turns after the first; None for a task of one turn.
    marks: those around the reasoning in its answers, as the user states them.
    sends_files: the model gets files of pictures, so that nothing holds pixels for it.
    by_files: it gets all pictures of the task as they are stored, and they are identified by their files (`sent_files`).
    """

    block: PromptBlock = PromptBlock(stated=False)
    chat: bool = False
    system: str | None = None
    multiturn: bool | None = None
    blind: str | None = None
    turns: Turns | None = None
    marks: Marks = NO_MARKS
    sends_files: bool = False
    by_files: bool = False

    @property
    def identify(self) -> Callable[[Image], str]:
        """Gives the digest of a picture of its prompts."""
        return picture_identity if self.by_files else picture_digest


@dataclass(frozen=True)
class NewGold:
    """The right answer of a doc in place of its own. columns: those of the doc in which it stands, too."""

    target: Target
    columns: Mapping[str, object] = field(default_factory=dict)


@dataclass(eq=False)
class Task:
    """A resolved config with its docs.

    path: the identity of its answers in the journal. pool: the docs that few-shot examples come from.
    golds: by doc id, right answers that are scored by in place of the docs' own; examples keep theirs.
    """

    config: TaskConfig
    docs: Docs
    seed: int = 0
    pool: ExamplePool | None = None
    golds: Mapping[int, NewGold] = field(default_factory=dict)
    _cache: PictureCache = field(default_factory=PictureCache, repr=False)
    _questions: Questions = field(init=False, repr=False)
    _examples: Questions = field(init=False, repr=False)
    _layouts: dict[bool | None, Layout] = field(default_factory=dict, init=False, repr=False)
    seen: Seen | None = field(default=None, init=False, repr=False)
    """Called with the digest and the pixels of each picture of a request; raises nothing."""

    @classmethod
    def load(cls, config: TaskConfig, source: DataSource, seed: int = 0) -> Task:
        """Reads the docs, and the docs for examples, of a config whose functions are resolved.

        A config with `class: !function task.Mine` is loaded by that class, a subclass of this one, which finds the other keys of
        its entry in `config.class_arguments`.
        """
        if config.task_class is not None and config.task_class is not cls:
            if not (isinstance(config.task_class, type) and issubclass(config.task_class, Task)):
                hint = "Derive it from mm_eval.prompt.task.Task."
                raise ConfigError(
                    f"{config.task_class!r} is not a task class.", where=config.where("task_class"), hint=hint
                )
            return config.task_class.load(config, source, seed)
        key, split = next(((key, split) for key in EVALUATION_SPLITS if (split := getattr(config, key))), (None, None))
        if split is None or key is None:
            raise ConfigError("neither test_split nor validation_split is given.", where=config.where("task"))
        task = cls(config, docs_of_split(config, source, split, key, config.process_docs), seed)
        if config.num_fewshot:
            task.pool = example_pool(config, source, split, task.docs, seed)
        return task

    def __post_init__(self) -> None:
        self._questions = Questions(self.question, changes_no_doc(self.config))
        self._examples = Questions(self._question_of_example, changes_no_doc(self.config, examples=True))

    @property
    def path(self) -> str:
        return self.config.path

    def select(
        self, limit: int | float | None = None, samples: Sequence[int] | None = None, whole_clusters: bool = False
    ) -> list[int]:
        """The doc ids of a run: the `samples`, or the first `limit` docs (below 1: a fraction of them), or all.

        whole_clusters: the limit counts clusters (`cluster_key`), of which all docs are taken.
        Errors: ConfigError for an invalid limit and for an id that no doc has.
        """
        if not whole_clusters or not self.cluster_columns or limit is None or samples is not None:
            return _selection(self.path, len(self.docs), limit, samples)
        clusters = self.clusters(dict(self.docs.texts(list(range(len(self.docs))))), {})
        order = {cluster: number for number, cluster in enumerate(dict.fromkeys(clusters.values()))}
        taken = len(_selection(self.path, len(order), limit, None))
        return [doc_id for doc_id, cluster in clusters.items() if order[cluster] < taken]

    def instances(
        self,
        doc_ids: Sequence[int],
        style: PromptStyle,
        turns_shown: Callable[[int], Sequence[str | int] | None] | None = None,
    ) -> Iterator[Instance]:
        """The instances of some docs, in order: `requests`, one after another."""
        return chain.from_iterable(self.requests(doc_ids, style, turns_shown))

    def requests(
        self,
        doc_ids: Sequence[int],
        style: PromptStyle,
        turns_shown: Callable[[int], Sequence[str | int] | None] | None = None,
    ) -> Iterator[list[Instance]]:
        """The instances of each doc, in order: one for each choice and repeat.

        turns_shown: for scoring: what each turn of a doc's prompt showed (`Answer.shown`), or how many pictures; None if unknown.
            Nothing is decoded then, and the instances have no pictures and no sounds.
        A doc whose text or pictures can't be read gives instances with that error.
        """
        decodes = self.has_pictures and turns_shown is None and self.docs.decodes and style.blind != WITHOUT
        with decode_ahead(partial(self._load_ahead, style), doc_ids if decodes else ()) as ahead:
            for doc_id, doc in self.docs.texts(doc_ids):
                try:
                    if found := list(self._instances(doc_id, doc, style, turns_shown, ahead(doc_id))):
                        yield found
                except DataError as error:
                    error.located(f"{self.path} doc {doc_id}")
                    generates = self.config.output_type == "generate_until"
                    kind: RequestType = "generate_until" if generates else "loglikelihood"
                    repeats = range(self.config.times_asked)
                    yield [Instance(kind, self.path, doc_id, doc, repeat=repeat, error=error) for repeat in repeats]

    def _load_ahead(self, style: PromptStyle, doc_id: int, most: int | None = None) -> Doc:
        """A whole doc, in a thread with the identities of its pictures."""
        return self.docs.full(doc_id) if most is None else self.docs.full(doc_id, most, style.identify)

    def _instances(
        self,
        doc_id: int,
        doc: Doc,
        style: PromptStyle,
        turns_shown: Callable[[int], Sequence[str | int] | None] | None,
        whole: Callable[[], Doc],
    ) -> Iterable[Instance]:
        """The instances of one doc. whole: gives it with its pictures."""
        config, where = self.config, f"{self.path} doc {doc_id}"
        if (gold := self.golds.get(doc_id)) is not None:
            doc = {**doc, **gold.columns}
            question = self.question(doc, style.block, where)._replace(target=gold.target)
        else:
            question = self._questions.of(doc_id, doc, style.block, where)
        if question.target is None and config.needs_target and not is_unused(config, config.doc_to_target, doc):
            raise DocError("doc_to_target gave None: there is no right answer to compare with.", where=where)
        examples = self.pool.draw(config.num_fewshot, doc_id, doc) if self.pool else []
        written = self._written_messages(doc_id, style, where, whole)
        turns = self._picture_loaders(doc_id, examples, style, where, whole) if self.has_pictures else []

        shown = identities_of(turns if turns_shown is None else [], where, self.seen, style.identify)
        recorded = () if turns_shown is None else turns_shown(doc_id) or ()
        kinds = list(shown.kinds) if turns_shown is None else ["i" * n if isinstance(n, int) else n for n in recorded]
        kinds += [""] * (len(examples) + 1 - len(kinds))  # nothing where unknown
        blocks = self._blocks_with_clips(turns, style.block, len(examples) + 1, where)
        if blocks[-1].clips:
            question = self.question(doc, blocks[-1], where)._replace(target=question.target)

        description = config.description
        if description:
            line = partial(config.where, "description")
            description = text_of(description, doc, style.block, what="description", where=where, place=line)
        contexts: list[Context]
        if written is not None:
            contexts = [written_context(written, description, style.system, question.prefix)]
        else:
            shots = self._shots(examples, blocks, kinds, style, where)
            texts = question.contexts or (question.text,)
            asked = (Turn(_text(text, style), kinds[-1], "", question.prefix) for text in texts)
            write, layout = chat_context if style.chat else plain_context, self._layout(style.multiturn)
            contexts = [write(turn, shots, layout, description, style.system) for turn in asked]

        columns = self.docs.media_columns if config.process_results is not None else ()
        shared = Shared(
            self.path,
            doc_id,
            WithoutPictures(doc, partial(self.docs.full, doc_id), columns) if columns else doc,
            question.target,
            partial(self._load, turns) if any("i" in each for each in kinds) or shown.error else None,
            tuple(chain.from_iterable(shown.digests)),
            shown.clips,
            shown.pixels,
            shown.error,
            tuple([each.count("i") for each in kinds]),
        )
        if any("a" in each for each in kinds):
            sounds = partial(self._load_sounds, turns) if turns_shown is None else None
            shared = shared._replace(sounds=sounds, heard=shown.heard, turn_shown=tuple(kinds))
        noted: dict[str, object] = {"choices": question.choices}
        if question.option_texts is not None:
            noted["option_texts"] = question.option_texts
        instances = requests_of(config, question, contexts, shared, noted, self._needs_bare_choices)
        if style.turns is None:
            return instances
        whole_doc = WithoutPictures(doc, partial(self.docs.full, doc_id), self.docs.media_columns)
        return [begin(instance, style.turns, whole_doc, self._shown(style)) for instance in instances]

    def _shots(
        self,
        examples: Sequence[Example],
        blocks: Sequence[PromptBlock],
        kinds: Sequence[str],
        style: PromptStyle,
        where: str,
    ) -> list[Turn]:
        """The few-shot examples of a prompt. blocks, kinds: of each example and of the question, and what it shows."""
        place, shots = f"{where}, few-shot example", list[Turn]()
        for example, block, shown in zip(examples, blocks, kinds, strict=False):
            if block.clips:
                question = self._question_of_example(example.doc, block, place)
            else:
                question = self._examples.of(example.index, example.doc, block, place)
            shots.append(Turn(_text(question.text, style), shown, question.answer, question.prefix))
        return shots

    def _question_of_example(self, doc: Doc, block: PromptBlock, where: str) -> Question:
        return question_of(self.config, doc, block, where, self.config.fewshot_config)

    def _load(self, turns: Sequence[PictureLoader]) -> list[Image]:
        """The pictures of a prompt."""
        return [picture for load in turns for picture in with_frames(load(), self._cache, self.seen)]

    def _load_sounds(self, turns: Sequence[PictureLoader]) -> list[Sound]:
        """The sounds of a prompt, not decoded."""
        return [each for load in turns for each in load() if isinstance(each, Sound)]

    def _layout(self, multiturn: bool | None) -> Layout:
        if (found := self._layouts.get(multiturn)) is None:
            found = self._layouts[multiturn] = Layout.of_task(self.config, multiturn)
        return found

    def _shown(self, style: PromptStyle) -> Shown:
        """How the turns of a conversation show what the task's code gives."""

        def visuals(where: str, given: list[object], what: str) -> list[Visual]:
            return to_visuals(given, style.block, where, self.docs.places, what)

        return Shown(style.block.for_function, visuals, self._cache, self.seen, style.blind, style.marks)

    def _blocks_with_clips(
        self, turns: Sequence[PictureLoader], block: PromptBlock, count: int, where: str
    ) -> list[PromptBlock]:
        """The block of each turn, with its clips if doc_to_text depends on the shown frames. Nothing is decoded.

        Recorded answers can be scored without the files; their prompts then lack what depends on the frames.
        """
        if not turns or not takes_clips(self.config.doc_to_text):
            return [block] * count
        try:
            return [replace(block, clips=identities_of([turn], where).clips) for turn in turns]
        except MMEvalError:  # it was raised, or is the doc's error, where a request is made
            return [block] * count

    @cached_property
    def _needs_bare_choices(self) -> bool:
        """Whether a metric compares each choice with its log-likelihood without a question (acc_mutual_info)."""
        metrics = (metric["metric"] for pipeline in self.config.pipelines() for metric in pipeline["metric_list"])
        return self.config.output_type == "multiple_choice" and "acc_mutual_info" in metrics

    def question(self, doc: Doc, block: PromptBlock, where: str) -> Question:
        """The text, target and choices of a doc."""
        return question_of(self.config, doc, block, where)

    def kept_question(self, doc_id: int, doc: Doc, block: PromptBlock, where: str) -> Question:
        """The same; it is kept for its next reader, where there is room and no function of others may change it."""
        return self._questions.of(doc_id, doc, block, where)

    def keep_questions_in(self, room: Room) -> None:
        """Shares the room for what is kept of the docs' questions with other tasks."""
        self._questions.room = self._examples.room = room

    def forget(self, doc_id: int, style: PromptStyle) -> None:
        """Frees what is kept of a doc's question. It is written again when it is needed."""
        self._questions.forget(doc_id, style.block)

    def writes_messages(self, style: PromptStyle) -> bool:
        """Whether the task writes its chat itself. A plain-text prompt always comes from doc_to_text."""
        return style.chat and self.config.doc_to_messages is not None

    def _written_messages(
        self, doc_id: int, style: PromptStyle, where: str, whole: Callable[[], Doc]
    ) -> list[Message] | None:
        """The chat that the task writes itself, None if it doesn't. Its pictures are cached."""
        if not self.writes_messages(style):
            return None
        if self.config.num_fewshot:
            raise ConfigError(
                "doc_to_messages writes the whole chat, so few-shot examples can't be added.",
                where=self.config.where("doc_to_messages"),
                hint="Use --num_fewshot 0 or --apply_chat_template false.",
            )
        messages, pictures = messages_of(self.config.doc_to_messages, whole(), style.block, where, self.docs.places)
        shown = as_files(pictures, self.seen, where) if style.sends_files else pictures
        self._cache.get((style.block.cache_key, doc_id), lambda: shown)
        return without_pictures(messages) if style.blind == WITHOUT else messages

    def _picture_loaders(
        self, doc_id: int, examples: Sequence[Example], style: PromptStyle, where: str, whole: Callable[[], Doc]
    ) -> list[PictureLoader]:
        """For each turn, examples first, a function that loads its pictures and sounds. A chat of the task's own is one turn."""
        block, config = style.block, self.config
        if style.blind == WITHOUT or not (config.shows_media or self.writes_messages(style)):
            return []

        def of_example(example: Example) -> list[Visual]:
            return self._shown_of(example.full(), style, where, self.docs.places, config.fewshot_config)

        def of_another(other: int) -> list[Visual]:
            return self.pictures(self.docs.full(other), style, f"{self.path} doc {other}", self.docs.places)

        def of_question() -> list[Visual]:
            own = self.pictures(whole(), style, where, self.docs.places)
            if style.blind:
                return pictures_of_another(doc_id, own, of_another, len(self.docs), self.seed, where)
            return own

        def cached(load: PictureLoader, *key: object) -> PictureLoader:
            made = (lambda: as_files(load(), self.seen, where)) if style.sends_files else load
            return lambda: self._cache.get((block.cache_key, *key), made)

        shots = [cached(partial(of_example, example), "example", example.index) for example in examples]
        return [*shots, cached(of_question, style.blind, doc_id) if style.blind else cached(of_question, doc_id)]

    def pictures(self, doc: Doc, style: PromptStyle, where: str, places: Places | None = None) -> list[Visual]:
        """The pictures, frames and sounds of the question of a whole doc, in order. places: where the files are that it names."""
        if self.writes_messages(style):
            return messages_of(self.config.doc_to_messages, doc, style.block, where, places)[1]
        return self._shown_of(doc, style, where, places, {})

    def _shown_of(
        self, doc: Doc, style: PromptStyle, where: str, places: Places | None, own: Mapping[str, Any]
    ) -> list[Visual]:
        """What `doc_to_visual` shows of a whole doc, then what `doc_to_audio` lets hear. own: entries in place of the task's."""
        visual = own.get("doc_to_visual") or self.config.doc_to_visual
        audio = own.get("doc_to_audio") or self.config.doc_to_audio
        shown = [] if visual is None else visuals_of(visual, doc, style.block, where, places)
        if audio is None:
            return shown
        return heard_beside(sounds_of(audio, doc, style.block, where, places), shown, where)

    def all_stored(self, doc_ids: Sequence[int], style: PromptStyle) -> bool:
        """Whether a server gets all pictures of these docs and of their few-shot examples as their files are stored.

        Nothing is decoded, unless the task's code does so. A doc that can't be read counts for nothing: it fails when it is
        asked. The turns of a conversation are not known before, and other docs' pictures are chosen by their pixels.
        """
        shows = self.config.doc_to_visual is not None or self.writes_messages(style)
        if not shows or style.turns is not None or style.blind:
            return False
        for doc_id, doc in self.docs.texts(doc_ids):
            where = f"{self.path} doc {doc_id}"
            try:
                examples = self.pool.draw(self.config.num_fewshot, doc_id, doc) if self.pool else []
                whole = partial(self.docs.full, doc_id)
                self._written_messages(doc_id, style, where, whole)
                turns = self._picture_loaders(doc_id, examples, style, where, whole)
                if not all(_is_stored(visual) for load in turns for visual in load()):
                    return False
            except DataError:
                continue
        return True

    def groups(self, doc_ids: Sequence[int]) -> dict[int, object]:
        """{doc id: key of the docs to request together}: its `cluster_key`, else its picture files, else the doc itself."""
        if self.cluster_columns:
            return self.clusters(dict(self.docs.texts(list(doc_ids))), {})
        shown = self.docs.stored_media(doc_ids)
        return {doc_id: shown.get(doc_id, doc_id) for doc_id in doc_ids}

    @property
    def cluster_columns(self) -> list[str]:
        """The columns of `cluster_key`; none for a shipped task whose data lacks one of them (`lacking` names it)."""
        return [] if self.lacking else _as_list(self.config.cluster_key)

    @cached_property
    def lacking(self) -> list[str]:
        """The columns of a shipped task's `cluster_key` that the data lacks: a copy of it needs no column that scores nothing."""
        known = self.docs.columns if self.config.is_shipped else _as_list(self.config.cluster_key)
        return [name for name in _as_list(self.config.cluster_key) if name not in known]

    def clusters(self, docs: Mapping[int, Doc], digests: Mapping[int, tuple[str, ...]]) -> dict[int, object]:
        """{doc id: its cluster} for standard errors: its `cluster_key`, else what it shows, else the doc itself.

        A doc that shows frames belongs to their files, whatever pictures it shows beside them; another one to its pictures.
        digests: the picture digests of the docs, as far as known.
        """
        names = self.cluster_columns
        if not names:
            seen = ((doc_id, digests.get(doc_id)) for doc_id in docs)
            return {doc_id: files_of(shown) or shown if shown else doc_id for doc_id, shown in seen}
        found: dict[int, object] = {}
        for doc_id, doc in docs.items():
            if missing := [name for name in names if name not in doc]:
                raise DataError(
                    f"cluster_key names the column {missing[0]!r}, which doc {doc_id} lacks.",
                    where=self.config.where("cluster_key"),
                    hint=did_you_mean(missing[0], doc),
                )
            found[doc_id] = tuple(str(doc[name]) for name in names)
        return found

    def categories(self, doc: Doc) -> dict[str, list[str]]:
        """{level: categories of a doc}. Errors: DataError at the line of an entry that does not fit the doc."""
        return {level.name: level.of(doc) for level in self.config.category_levels}

    @property
    def has_pictures(self) -> bool:
        """Whether its questions may show pictures, or let the model hear sounds."""
        return self.config.shows_media or self.config.doc_to_messages is not None

    def media(self, style: PromptStyle) -> str:
        """What its questions may have beside text, for people (`joined_media`); "" for a task of texts.

        As far as the config and the columns of the data say it: `doc_to_visual` may give sounds, too.
        """
        config = self.config
        sounds = config.doc_to_audio is not None
        pictures = config.doc_to_visual is not None or config.doc_to_messages is not None
        pictures = pictures and (sounds or not self.docs.has_sounds_only)
        sounds = sounds or self.has_pictures and (style.block.video_sound or self.docs.has_sounds)
        found = [word for word, has in ((PICTURES, pictures), (SOUNDS, sounds)) if has]
        return joined_media(found) if found else ""

    def may_have_sound(self, style: PromptStyle) -> bool:
        """Whether the model may hear something, as far as the config and the columns of the data say it."""
        return SOUNDS in self.media(style) and style.blind != WITHOUT

    def picture_files(self, doc_ids: Sequence[int], known: Mapping[str, FileState]) -> dict[str, FileState]:
        """{name: state} of the picture files that these docs and their few-shot examples name.

        known: the states at an earlier launch; unchanged files are not read again.
        """
        if not self.has_pictures:
            return {}
        found = picture_files(self.docs, doc_ids, known)
        if self.pool is None:
            return found
        asked = self.docs.texts(list(doc_ids))
        return {**self.pool.picture_files(self.config.num_fewshot, asked, known, self.docs.places), **found}

    @property
    def examples_fingerprint(self) -> str | None:
        """The fingerprint of the split that few-shot examples come from; None if it is the docs' own."""
        docs = self.pool.docs if self.pool is not None else None
        return docs.fingerprint if isinstance(docs, Docs) and docs.fingerprint != self.docs.fingerprint else None


def _is_stored(visual: Visual) -> bool:
    return isinstance(visual, (Frames, Sound)) or is_sent_as_stored(visual)


def _text(text: str, style: PromptStyle) -> str:
    """A text of a prompt, without the places of pictures that are not shown."""
    return without_marks(text) if style.blind == WITHOUT else text


def _as_list(names: str | Sequence[str] | None) -> list[str]:
    return [names] if isinstance(names, str) else list(names or ())


FEWSHOT_SPLITS = ("fewshot_split", "training_split", "validation_split", "test_split")


def docs_of_split(
    config: TaskConfig, source: DataSource, split: str, key: str, process: Callable[[object], object] | None
) -> Docs:
    """The docs of a split, from the task's own function or from its dataset. key: the config key that names the split."""
    if config.custom_dataset is not None:
        arguments = {**config.metadata, **config.dataset_kwargs}
        where = config.where("custom_dataset")
        return docs_of(config.custom_dataset, arguments, split, where, process, source, config.draws())
    if config.dataset_path is None:
        raise ConfigError("dataset_path is missing.", where=config.where("task"))
    options = dict(config.dataset_kwargs)
    place = located(config.dataset_kwargs).places.get("data_files")
    if config.dataset_path in LOCAL_FILES and place and place.file:
        options["data_files"] = beside(options["data_files"], place.file.parent)
    if config.dataset_revision:
        options["revision"] = config.dataset_revision
    return load_docs(
        config.dataset_path,
        config.dataset_name,
        split,
        source,
        where=config.where(key),
        task=config.path,
        mirrors=config.dataset_mirrors,
        kwargs=options,
        process=process,
        draws=config.draws(),
    )


def example_pool(config: TaskConfig, source: DataSource, split: str, own: Docs, seed: int) -> ExamplePool:
    """The docs for examples: of a split named for them, else `samples`, else of the first of FEWSHOT_SPLITS.

    own: the docs that are asked, of the split `split`.
    """
    settings = config.fewshot_config
    common: JsonObject = {
        "sampler": settings.get("sampler", "default"),
        "seed": seed,
        "where": config.where("fewshot_config"),
        "asked": own,
        "indices": tuple(settings["fewshot_indices"]) if settings.get("fewshot_indices") else None,
        "keeps": KEPT_EXAMPLES if changes_no_doc(config, examples=True) else 0,
    }
    splits = {"fewshot_config": settings.get("split"), **{key: getattr(config, key) for key in FEWSHOT_SPLITS}}
    key, chosen = next((key, name) for key, name in splits.items() if name)
    samples = settings.get("samples")
    if samples and key not in ("fewshot_config", "fewshot_split"):
        return ExamplePool(samples() if callable(samples) else samples, **common)
    process = settings.get("process_docs", config.process_docs)
    if chosen == split and process is config.process_docs:
        return ExamplePool(own, same_split=True, **common)
    docs = docs_of_split(config, source, chosen, key, process)
    return ExamplePool(docs, same_split=chosen == split and len(docs) == len(own), **common)


class Shared(NamedTuple):
    """What the requests of a doc have in common: fields of `Instance`."""

    task: str
    doc_id: int
    doc: Doc
    target: Target
    images: Callable[[], list[Image]] | None = None
    image_digests: tuple[str, ...] = ()
    clips: tuple[Clip, ...] = ()
    pixels: int = 0
    error: MMEvalError | None = None
    turn_pictures: tuple[int, ...] = ()
    sounds: Callable[[], list[Sound]] | None = None
    heard: tuple[Heard, ...] = ()
    turn_shown: tuple[str, ...] = ()

    def request(
        self,
        kind: RequestType,
        context: Context,
        continuation: str | None,
        choice: int,
        repeat: int,
        metadata: dict[str, object],
        kwargs: Mapping[str, object] | None = None,
    ) -> Instance:
        """One of them. By place: with names it takes four times as long, and a run makes millions."""
        made = Instance(
            kind,
            self.task,
            self.doc_id,
            self.doc,
            context,
            continuation,
            {} if kwargs is None else kwargs,
            self.images,
            self.image_digests,
            self.clips,
            self.pixels,
            choice,
            repeat,
            self.target,
            metadata,
            [],
            {},
            self.error,
            self.turn_pictures,
        )
        if self.turn_shown:
            made.sounds, made.heard, made.turn_shown = self.sounds, self.heard, self.turn_shown
        return made


def requests_of(
    config: TaskConfig,
    question: Question,
    contexts: Sequence[Context],
    shared: Shared,
    noted: Mapping[str, object],
    bare: bool,
) -> list[Instance]:
    """The requests of a doc, all choices of a repeat before the next repeat.

    contexts: the prompt, or one for each choice if each has its own text. noted: what the metadata of each has.
    bare: each choice is also scored without a question (acc_mutual_info).
    """
    found: list[Instance] = []
    context, kind = contexts[0], config.output_type
    if kind in ("loglikelihood", "multiple_choice"):
        _check_continuations(question)
    for repeat in range(config.times_asked):
        if kind == "generate_until":
            kwargs = _generation_kwargs(config, chat=not isinstance(context, str))
            found.append(shared.request(kind, context, None, 0, repeat, {**noted}, kwargs))
        elif kind == "loglikelihood_rolling":
            text = str(question.target if question.target is not None else question.text)
            found.append(shared.request(kind, "", text, 0, repeat, {**noted}))
        elif question.choices is None:
            own_space = question.answer[:1].isspace()  # as lambada's targets have
            bare_answer = own_space or context == ""  # no delimiter is needed
            continuation = question.answer if bare_answer else _delimiter(config, question, context) + question.answer
            metadata = {**noted, "choice_text": question.answer}
            found.append(shared.request("loglikelihood", context, continuation, 0, repeat, metadata))
        else:
            found += _choices(config, question, contexts, repeat, shared, noted, bare)
    return found


def _delimiter(config: TaskConfig, question: Question, context: Context) -> str:
    """What stands before a continuation; nothing in a chat whose answer begins with a `gen_prefix` that ends in white space."""
    in_chat = not isinstance(context, str)
    return "" if in_chat and question.prefix[-1:].isspace() else config.target_delimiter


def _check_continuations(question: Question) -> None:
    """Raises DocError for an empty continuation: it has log-likelihood 0, more than any other text."""
    if question.choices is None or question.contexts is not None:
        if question.answer == "":
            raise DocError("doc_to_target gave no text, so there is nothing to score.")
    elif "" in question.choices:
        number, count = question.choices.index(""), len(question.choices)
        hint = "Leave empty options out in doc_to_choice, or the document in process_docs."
        raise DocError(f"doc_to_choice gave an empty text as choice {number} of {count}.", hint=hint)


def _choices(
    config: TaskConfig,
    question: Question,
    contexts: Sequence[Context],
    repeat: int,
    shared: Shared,
    noted: Mapping[str, object],
    bare: bool,
) -> Iterator[Instance]:
    """A request for each choice, then, with `bare`, one for each choice without a question."""
    options, delimiter = question.choices or [], _delimiter(config, question, contexts[0])
    per_repeat = len(options) * (2 if bare else 1)
    noted = {**noted, "per_repeat": per_repeat, "requests": per_repeat * config.repeats}
    for choice, option in enumerate(options):
        scored = question.answer if question.contexts else option
        context = contexts[choice if question.contexts else 0]
        metadata = {**noted, "choice_text": option}
        yield shared.request("loglikelihood", context, delimiter + scored, choice, repeat, metadata)
    if bare:
        without = Shared(shared.task, shared.doc_id, shared.doc, shared.target, error=shared.error)
        noted = {**noted, "acc_mutual_info": True}
        for choice, option in enumerate(options, len(options)):
            metadata = {**noted, "choice_text": option}
            yield without.request("loglikelihood", "", delimiter + option, choice, repeat, metadata)


def _generation_kwargs(config: TaskConfig, chat: bool) -> dict[str, object]:
    """The config's generation kwargs. The default stop string of a plain-text prompt is the gap between examples.

    A plain text continues after the answer with another question; a chat turn ends by itself, and its answer may have paragraphs.
    """
    kwargs = dict(config.generation_kwargs or {})
    if not chat and config.fewshot_delimiter:
        stop = config.format.stop if config.format and config.format.paragraphs else config.fewshot_delimiter
        kwargs.setdefault("until", [stop])
    return kwargs


def _selection(path: str, total: int, limit: int | float | None, samples: Sequence[int] | None) -> list[int]:
    """The doc ids of a run of `total` docs: see `Task.select`."""
    if samples is not None:
        if wrong := [doc_id for doc_id in samples if not 0 <= doc_id < total]:
            raise ConfigError(f"--samples names docs {wrong[:5]} of {path}, which has 0 to {total - 1}.")
        return sorted(set(samples))
    if limit is None:
        return list(range(total))
    if 0 < limit < 1:
        return list(range(math.ceil(limit * total)))
    if limit < 1 or limit != int(limit):
        raise ConfigError(f"--limit must be a count of at least 1 or a fraction between 0 and 1 (got {limit!r}).")
    return list(range(min(int(limit), total)))
