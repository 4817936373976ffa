"""A task: a config joined with its docs. It turns docs into instances, and knows the right answers.

Task.load(config, source) -> task;  task.instances(doc_ids, style) -> one Instance a question, choice and repeat
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from mm_eval.catalog.config import TaskConfig
from mm_eval.catalog.located import located
from mm_eval.errors import ConfigError, DataError, MMEvalError, did_you_mean
from mm_eval.task.blocks import PromptBlock
from mm_eval.task.dataset import LOCAL_FILES, DataSource, beside, docs_of, load_docs
from mm_eval.task.decode import decoding
from mm_eval.task.docs import Docs, FileState, picture_files, sample_files
from mm_eval.task.fewshot import Example, ExamplePool
from mm_eval.task.layout import Layout, Turn, lead_of, messages_of, write_context, written_context
from mm_eval.task.media import PictureCache, picture_digest, visuals_of
from mm_eval.task.question import Question, question_of, words_of
from mm_eval.task.requests import needs_bare_choices, requests_of
from mm_eval.types import Context, Doc, Instance, Message, RequestType

if TYPE_CHECKING:
    from PIL.Image import Image

EVALUATION_SPLITS = ("test_split", "validation_split")
FEWSHOT_SPLITS = ("fewshot_split", "training_split", "validation_split", "test_split")


@dataclass(frozen=True)
class PromptStyle:
    """How a run asks, whatever the task.

    block: the prompt kwargs for this task and model.
    chat: contexts are chat messages, not text.
    system: `--system_instruction`.
    multiturn: few-shot examples are turns of the chat; None leaves it to the task, and else it is so.
    """

    block: PromptBlock = field(default_factory=PromptBlock)
    chat: bool = False
    system: str | None = None
    multiturn: bool | None = None


@dataclass(eq=False)
class Task:
    """A resolved config with its docs.

    path: the identity under which answers are journalled. name: the row in the table.
    """

    config: TaskConfig
    docs: Docs
    seed: int = 0
    pool: ExamplePool | None = None
    _cache: PictureCache = field(default_factory=PictureCache, repr=False)

    @classmethod
    def load(cls, config: TaskConfig, source: DataSource, seed: int = 0) -> Task:
        """Reads the docs (and the pool of examples) of a config whose functions are resolved.

        A config with `class: !function task.Mine` is loaded by that class, a subclass of this one; what else its entry says is
        in `config.class_arguments`.
        """
        if config.task_class is not None and config.task_class is not cls:
            if not (isinstance(config.task_class, type) and issubclass(config.task_class, Task)):
                hint = "Derive it from mm_eval.task.task.Task."
                raise ConfigError(
                    f"{config.task_class!r} is no task class.", where=config.where("task_class"), hint=hint
                )
            return config.task_class.load(config, source, seed)
        key, split = next(((key, split) for key in EVALUATION_SPLITS if (split := getattr(config, key))), (None, None))
        if split is None or key is None:
            raise ConfigError("neither test_split nor validation_split is given.", where=config.where("task"))
        task = cls(config, cls._load_split(config, source, split, key, config.process_docs), seed)
        if config.num_fewshot:
            task.pool = task._example_pool(source, split)
        return task

    @staticmethod
    def _load_split(
        config: TaskConfig, source: DataSource, split: str, key: str, process: Callable[[Any], Any] | None
    ) -> Docs:
        if config.custom_dataset is not None:
            arguments = {**config.metadata, **config.dataset_kwargs}
            where = config.where("custom_dataset")
            return docs_of(config.custom_dataset, arguments, split, where, process, source, config.draws())
        if config.dataset_path is None:
            raise ConfigError("dataset_path is missing.", where=config.where("task"))
        options = dict(config.dataset_kwargs or {})
        written = located(config.dataset_kwargs).places.get("data_files")
        if config.dataset_path in LOCAL_FILES and written and written.file:
            options["data_files"] = beside(options["data_files"], written.file.parent)
        if config.dataset_revision:
            options["revision"] = config.dataset_revision
        docs = load_docs(
            config.dataset_path,
            config.dataset_name,
            split,
            source,
            where=config.where(key),
            kwargs=options,
            process=process,
            draws=config.draws(),
        )
        docs.where = config.path
        return docs

    def _example_pool(self, source: DataSource, split: str) -> ExamplePool:
        """The docs for examples: a split that is named for them, else `samples`, else the splits in their order of preference."""
        config, settings = self.config, self.config.fewshot_config
        common: dict[str, Any] = {
            "sampler": settings.get("sampler", "default"),
            "seed": self.seed,
            "where": config.where("fewshot_config"),
            "indices": tuple(settings["fewshot_indices"]) if settings.get("fewshot_indices") else None,
        }
        splits = {"fewshot_config": settings.get("split"), **{key: getattr(config, key) for key in FEWSHOT_SPLITS}}
        key, chosen = next((key, name) for key, name in splits.items() if name)
        samples = settings.get("samples")
        if samples and key not in ("fewshot_config", "fewshot_split"):
            return ExamplePool(samples() if callable(samples) else samples, **common)
        process = settings.get("process_docs", config.process_docs)
        if chosen == split and process is config.process_docs:
            return ExamplePool(self.docs, same_split=True, **common)
        docs = self._load_split(config, source, chosen, key, process)
        return ExamplePool(docs, same_split=chosen == split and len(docs) == len(self.docs), **common)

    @property
    def path(self) -> str:
        return self.config.path

    @property
    def examples_fingerprint(self) -> str | None:
        """Of the split that few-shot examples come from, where that is not the docs' own."""
        docs = self.pool.docs if self.pool is not None else None
        return docs.fingerprint if isinstance(docs, Docs) and docs.fingerprint != self.docs.fingerprint else None

    @property
    def has_pictures(self) -> bool:
        return self.config.doc_to_visual is not None or self.config.doc_to_messages is not None

    def picture_files(self, doc_ids: Sequence[int], known: Mapping[str, FileState]) -> dict[str, FileState]:
        """{name: its state} of the picture files that these docs and their few-shot examples name.

        known: the same from an earlier launch, so that only what has changed is read.
        """
        if not self.has_pictures:
            return {}
        found = picture_files(self.docs, doc_ids, known)
        if self.pool is None:
            return found
        count = self.config.num_fewshot
        drawn = {e.index for doc_id, doc in self.docs.texts(list(doc_ids)) for e in self.pool.draw(count, doc_id, doc)}
        if isinstance(self.pool.docs, Docs):
            return {**picture_files(self.pool.docs, sorted(drawn), known, places=self.docs.places), **found}
        samples = sample_files((self.pool.docs[index] for index in sorted(drawn)), self.docs.places, known)
        return {**samples, **found}

    def select(self, limit: int | float | None = None, samples: Sequence[int] | None = None) -> list[int]:
        """The doc ids that a run asks: all, the first `limit` (a share of them below 1), or those named.

        Errors: ConfigError for a limit of nothing and for an id that no doc has.
        """
        total = len(self.docs)
        if samples is not None:
            if wrong := [doc_id for doc_id in samples if not 0 <= doc_id < total]:
                raise ConfigError(f"--samples names docs {wrong[:5]} of {self.path}, which has 0 to {total - 1}.")
            return sorted(set(samples))
        if limit is None:
            return list(range(total))
        count = -int(-limit * total // 1) if 0 < limit < 1 else int(limit)
        if count < 1 or count != limit and not 0 < limit < 1:
            raise ConfigError(
                f"--limit {limit} asks for no docs.", hint="Give a count from 1, or a share between 0 and 1."
            )
        return list(range(min(count, total)))

    def instances(
        self,
        doc_ids: Sequence[int],
        style: PromptStyle,
        turn_pictures: Callable[[int], Sequence[int] | None] | None = None,
    ) -> Iterator[Instance]:
        """The instances of some docs, in order: one a choice and repeat.

        turn_pictures: for scoring, when the answers are known already: how many pictures each turn of a doc's prompt had
            (None: unknown), so that nothing is decoded; the instances then carry no pictures.
        A doc whose text or pictures can't be had gives one instance that carries the error.
        """
        style = replace(style, block=style.block.of_task(self.config))
        for doc_id, doc in self.docs.texts(list(doc_ids)):
            try:
                yield from self._instances(doc_id, doc, style, turn_pictures)
            except DataError as error:
                error.located(f"{self.path} doc {doc_id}")
                kind: RequestType = "generate_until" if self.config.output_type == "generate_until" else "loglikelihood"
                for repeat in range(self.config.repeats):
                    yield Instance(kind, self.path, doc_id, doc, repeat=repeat, error=error)

    def _instances(
        self,
        doc_id: int,
        doc: Doc,
        style: PromptStyle,
        turn_pictures: Callable[[int], Sequence[int] | None] | None,
    ) -> Iterator[Instance]:
        where = f"{self.path} doc {doc_id}"
        question = question_of(self.config, doc, style.block, where)
        examples = self.pool.draw(self.config.num_fewshot, doc_id, doc) if self.pool and self.config.num_fewshot else []
        messages = self._messages(doc_id, style, where)
        loaders = self._loaders(doc_id, examples, style, where)
        error: MMEvalError | None = None
        digests: list[list[str]] = []
        pixels = 0
        if turn_pictures is None:
            try:
                for load in loaders:
                    pictures = load()
                    with decoding(where):
                        digests.append([picture_digest(picture) for picture in pictures])
                    pixels += sum(picture.width * picture.height for picture in pictures)
            except DataError as broken:
                error, digests = broken.located(where), []
            counts = [len(turn) for turn in digests]
        else:
            counts = list(turn_pictures(doc_id) or ())
        counts += [0] * (len(examples) + 1 - len(counts))
        if messages is None:
            contexts = self._contexts(doc, question, examples, style, counts, where)
        else:
            lead = lead_of(style.system, self._description(doc, style, where))
            contexts = [written_context(messages, lead, question.prefix)]
        template: dict[str, Any] = {
            "task": self.path,
            "doc_id": doc_id,
            "doc": doc,
            "target": question.target,
            "images": (lambda: [picture for load in loaders for picture in load()]) if any(counts) or error else None,
            "image_digests": tuple(digest for turn in digests for digest in turn),
            "pixels": pixels,
            "error": error,
        }
        for instance in requests_of(self.config, question, contexts, template, self._bare_choices):
            instance.metadata["turn_pictures"] = counts
            instance.metadata["choices"] = question.choices
            yield instance

    @cached_property
    def _bare_choices(self) -> bool:
        return needs_bare_choices(self.config)

    def question(self, doc: Doc, block: PromptBlock, where: str) -> Question:
        """The text, target and choices of a doc."""
        return question_of(self.config, doc, block.of_task(self.config), where)

    def _loaders(
        self, doc_id: int, examples: list[Example], style: PromptStyle, where: str
    ) -> list[Callable[[], list[Image]]]:
        """For each turn, examples first, what loads its pictures; the turns that a task writes itself count as one."""
        if self.writes_messages(style):
            return [lambda: self._cache.get((style.block.name, doc_id), lambda: self._written(doc_id, style, where)[1])]
        if self.config.doc_to_visual is None:
            return []
        own, shown = self.config.doc_to_visual, self.config.fewshot_config.get("doc_to_visual")

        def loader(key: object, load: Callable[[], Doc], visual: Any) -> Callable[[], list[Image]]:
            named = self.docs.picture
            return lambda: self._cache.get(key, lambda: visuals_of(visual, load(), style.block, where, named))

        block = style.block.name
        loaders = [loader((block, "example", each.index), each.full, shown or own) for each in examples]
        return [*loaders, loader((block, doc_id), lambda: self.docs.full(doc_id), own)]

    def writes_messages(self, style: PromptStyle) -> bool:
        """Whether the task writes the chat itself; a plain text is always made of doc_to_text."""
        return style.chat and self.config.doc_to_messages is not None

    def pictures(
        self, doc: Doc, style: PromptStyle, where: str, named: Callable[[str, str], Image] | None = None
    ) -> list[Image]:
        """The pictures that the question of a whole doc shows, in their order. named: opens a file that a column names."""
        block = style.block.of_task(self.config)
        if self.writes_messages(style):
            return messages_of(self.config.doc_to_messages, doc, block, where)[1]
        visual = self.config.doc_to_visual
        return [] if visual is None else visuals_of(visual, doc, block, where, named)

    def _messages(self, doc_id: int, style: PromptStyle, where: str) -> list[Message] | None:
        """The chat that the task writes itself, None where it leaves that to the layout. Its pictures are cached."""
        if not self.writes_messages(style):
            return None
        if self.config.num_fewshot:
            raise ConfigError(
                "doc_to_messages writes the whole chat, so that there is no place for few-shot examples.",
                where=self.config.where("doc_to_messages"),
                hint="Ask with --num_fewshot 0 or --apply_chat_template false.",
            )
        messages, pictures = self._written(doc_id, style, where)
        self._cache.get((style.block.name, doc_id), lambda: pictures)
        return messages

    def _written(self, doc_id: int, style: PromptStyle, where: str) -> tuple[list[Message], list[Image]]:
        return messages_of(self.config.doc_to_messages, self.docs.full(doc_id), style.block, where)

    def _description(self, doc: Doc, style: PromptStyle, where: str) -> str:
        written = partial(self.config.where, "description")
        return words_of(self.config.description, doc, style.block, what="description", where=where, written=written)

    def _contexts(
        self, doc: Doc, question: Question, examples: list[Example], style: PromptStyle, counts: list[int], where: str
    ) -> list[Context]:
        """The prompt of a question; one a choice where each has a text of its own."""
        config, settings = self.config, self.config.fewshot_config
        description = self._description(doc, style, where)
        asked = [question_of(config, e.doc, style.block, f"{where}, few-shot example", settings) for e in examples]
        shots = [Turn(shot.text, count, shot.answer, shot.prefix) for shot, count in zip(asked, counts, strict=False)]
        given = {key: value for key, value in settings.items() if value is not None}
        layout = Layout(
            config.target_delimiter,
            given.get("target_delimiter", config.target_delimiter),
            given.get("fewshot_delimiter", config.fewshot_delimiter),
            next((m for m in (style.multiturn, config.fewshot_as_multiturn) if m is not None), True),
        )
        turns = [Turn(text, counts[-1], prefix=question.prefix) for text in question.contexts or [question.text]]
        return [write_context(turn, shots, layout, description, style.system, style.chat) for turn in turns]

    def groups(self, doc_ids: Sequence[int]) -> dict[int, object]:
        """For each doc what it should be asked together with: its `cluster_key`, else the files of its pictures, else itself."""
        if self.config.cluster_key:
            return self.clusters(dict(self.docs.texts(list(doc_ids))), {})
        keys = self.docs.picture_keys(list(doc_ids))
        return {doc_id: keys.get(doc_id, doc_id) for doc_id in doc_ids}

    def clusters(self, docs: Mapping[int, Doc], digests: Mapping[int, tuple[str, ...]]) -> dict[int, object]:
        """For each doc the cluster it belongs to: the YAML's `cluster_key`, else its pictures, else itself.

        digests: the picture digests of each doc, as far as they are known.
        """
        keys = self.config.cluster_key
        names = [keys] if isinstance(keys, str) else list(keys or ())
        found: dict[int, object] = {}
        for doc_id, doc in docs.items():
            if names:
                if missing := [name for name in names if name not in doc]:
                    raise DataError(
                        f"cluster_key names the column {missing[0]!r}, which doc {doc_id} lacks.",
                        where=self.config.where("cluster_key"),
                        hint=did_you_mean(missing[0], doc),
                    )
                found[doc_id] = tuple(str(doc[name]) for name in names)
            else:
                found[doc_id] = digests.get(doc_id) or doc_id
        return found
