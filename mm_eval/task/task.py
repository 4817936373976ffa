"""A task: a config joined with its docs. It turns docs into instances, and knows the right answers.

Task.load(config, source) -> task;  task.instances(doc_ids, style) -> one Instance a question, choice and repeat
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mm_eval.catalog.config import TaskConfig
from mm_eval.catalog.formats import FormatField
from mm_eval.errors import ConfigError, DataError, MMEvalError, did_you_mean
from mm_eval.task.blocks import PromptBlock
from mm_eval.task.context import Layout, Turn, write_context
from mm_eval.task.dataset import DataSource, docs_of, load_docs
from mm_eval.task.docs import Docs
from mm_eval.task.fewshot import Example, ExamplePool
from mm_eval.task.media import PictureCache, picture_digest, visuals_of
from mm_eval.task.prompt import choice_index, choices_of, evaluate_field, render, text_of
from mm_eval.types import Context, Doc, Instance, RequestType, Target

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


@dataclass(frozen=True)
class Question:
    """What a doc says: the text, the right answer, the choices if there are any, and the answer as an example shows it."""

    text: str
    target: Target
    choices: list[str] | None
    answer: str


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
        task = cls(config, cls._load_split(config, source, split, key), seed)
        if config.num_fewshot:
            task.pool = task._example_pool(source, split)
        return task

    @staticmethod
    def _load_split(
        config: TaskConfig, source: DataSource, split: str, key: str, process: Callable[[Any], Any] | None = None
    ) -> Docs:
        process = process or config.process_docs
        if config.custom_dataset is not None:
            return docs_of(config.custom_dataset, config.metadata, split, config.where("custom_dataset"), process)
        if config.dataset_path is None:
            raise ConfigError("dataset_path is missing.", where=config.where("task"))
        options = dict(config.dataset_kwargs or {})
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
        )
        docs.where = config.path
        return docs

    def _example_pool(self, source: DataSource, split: str) -> ExamplePool:
        """The docs that `fewshot_config`, else the splits in their order of preference, give for examples."""
        config, settings = self.config, self.config.fewshot_config
        common: dict[str, Any] = {
            "sampler": settings.get("sampler", "default"),
            "seed": self.seed,
            "where": config.where("fewshot_config"),
            "indices": tuple(settings["fewshot_indices"]) if settings.get("fewshot_indices") else None,
        }
        if samples := settings.get("samples"):
            return ExamplePool(samples() if callable(samples) else samples, **common)
        splits = {"fewshot_config": settings.get("split"), **{key: getattr(config, key) for key in FEWSHOT_SPLITS}}
        key, chosen = next((key, name) for key, name in splits.items() if name)
        process = settings.get("process_docs")
        if chosen == split and process is None:
            return ExamplePool(self.docs, same_split=True, **common)
        return ExamplePool(self._load_split(config, source, chosen, key, process), **common)

    @property
    def path(self) -> str:
        return self.config.path

    @property
    def has_pictures(self) -> bool:
        return self.config.doc_to_visual is not None

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
        question = self.question(doc, style.block, where)
        examples = self.pool.draw(self.config.num_fewshot, doc_id, doc) if self.pool and self.config.num_fewshot else []
        loaders = self._loaders(doc_id, examples, style, where)
        error: MMEvalError | None = None
        digests: list[list[str]] = []
        if turn_pictures is None:
            try:
                digests = [[picture_digest(picture) for picture in load()] for load in loaders]
            except DataError as broken:
                error = broken.located(where)
            counts = [len(turn) for turn in digests]
        else:
            counts = list(turn_pictures(doc_id) or ())
        counts += [0] * (len(examples) + 1 - len(counts))
        context = self._context(doc, question, examples, style, counts, where)
        template: dict[str, Any] = {
            "task": self.path,
            "doc_id": doc_id,
            "doc": doc,
            "target": question.target,
            "images": (lambda: [picture for load in loaders for picture in load()]) if any(counts) or error else None,
            "image_digests": tuple(digest for turn in digests for digest in turn),
            "error": error,
        }
        for instance in self._requests(question, context, template):
            instance.metadata["turn_pictures"] = counts
            instance.metadata["choices"] = question.choices
            yield instance

    def _requests(self, question: Question, context: Context, template: dict[str, Any]) -> Iterator[Instance]:
        config = self.config
        for repeat in range(config.repeats):
            if config.output_type == "generate_until":
                kwargs = config.generation_kwargs or {}
                yield Instance("generate_until", context=context, generation_kwargs=kwargs, repeat=repeat, **template)
            elif config.output_type == "loglikelihood_rolling":
                text = str(question.target if question.target is not None else question.text)
                yield Instance("loglikelihood_rolling", continuation=text, repeat=repeat, **template)
            else:
                options = question.choices if question.choices is not None else [question.answer]
                for choice, option in enumerate(options):
                    continuation = config.target_delimiter + option
                    yield self._scored(context, continuation, option, choice, repeat, template)
                if self.needs_unconditional:
                    bare = {**template, "images": None, "image_digests": ()}
                    for choice, option in enumerate(options):
                        instance = self._scored("", option, option, len(options) + choice, repeat, bare)
                        instance.metadata["acc_mutual_info"] = True
                        yield instance

    @staticmethod
    def _scored(
        context: Context, continuation: str, option: str, choice: int, repeat: int, rest: dict[str, Any]
    ) -> Instance:
        instance = Instance(
            "loglikelihood", context=context, continuation=continuation, choice=choice, repeat=repeat, **rest
        )
        instance.metadata["choice_text"] = option
        return instance

    @cached_property
    def needs_unconditional(self) -> bool:
        """Whether a metric compares each choice with its own likelihood without a question (acc_mutual_info)."""
        metrics = [metric["metric"] for pipeline in self.config.pipelines() for metric in pipeline["metric_list"]]
        return self.config.output_type == "multiple_choice" and "acc_mutual_info" in metrics

    def question(self, doc: Doc, block: PromptBlock, where: str, fields: Mapping[str, Any] | None = None) -> Question:
        """The text, target and choices of a doc.

        fields: entries that hold instead of the config's own (`fewshot_config` states some for its examples).
        """
        config = self.config

        def entry(name: str) -> Any:
            return (fields or {}).get(name, getattr(config, name))

        text = (
            ""
            if entry("doc_to_text") is None
            else text_of(entry("doc_to_text"), doc, block, what="doc_to_text", where=where)
        )
        target = (
            None
            if entry("doc_to_target") is None
            else evaluate_field(entry("doc_to_target"), doc, block, what="doc_to_target", where=where)
        )
        choices = self._choices(entry("doc_to_choice"), doc, block, where)
        if config.output_type == "multiple_choice":
            if choices is None:
                raise ConfigError("multiple_choice needs doc_to_choice.", where=config.where("output_type"))
            target = choice_index(target, choices, where)
            first = target[0] if isinstance(target, list) else target
            answer = choices[first] if first >= 0 else ""
        else:
            answer = str(target[0] if isinstance(target, list) and target else "" if target is None else target)
        return Question(text, target, choices, answer)

    def _choices(self, entry: Any, doc: Doc, block: PromptBlock, where: str) -> list[str] | None:
        """The choices of a doc, None where the task or its format has none."""
        if isinstance(entry, FormatField):
            entry = evaluate_field(entry, doc, block, what="doc_to_choice", where=where)
        return None if entry is None else choices_of(entry, doc, block, where)

    def _loaders(
        self, doc_id: int, examples: list[Example], style: PromptStyle, where: str
    ) -> list[Callable[[], list[Image]]]:
        """For each turn, examples first, what loads its pictures."""
        if self.config.doc_to_visual is None:
            return []
        own, shown = self.config.doc_to_visual, self.config.fewshot_config.get("doc_to_visual")

        def loader(key: object, load: Callable[[], Doc], visual: Any) -> Callable[[], list[Image]]:
            named = self.docs.picture
            return lambda: self._cache.get(key, lambda: visuals_of(visual, load(), style.block, where, named))

        loaders = [loader((doc_id, n), example.full, shown or own) for n, example in enumerate(examples)]
        return [*loaders, loader(doc_id, lambda: self.docs.full(doc_id), own)]

    def _context(
        self, doc: Doc, question: Question, examples: list[Example], style: PromptStyle, counts: list[int], where: str
    ) -> Context:
        config, settings = self.config, self.config.fewshot_config
        description = (
            str(render(config.description, doc, what="description", where=where)) if config.description else ""
        )
        asked = [self.question(e.doc, style.block, f"{where}, few-shot example", settings) for e in examples]
        shots = [Turn(shot.text, count, shot.answer) for shot, count in zip(asked, counts, strict=False)]
        layout = Layout(
            config.target_delimiter,
            settings.get("target_delimiter", config.target_delimiter),
            settings.get("fewshot_delimiter", config.fewshot_delimiter),
            config.gen_prefix or "",
            settings.get("gen_prefix", config.gen_prefix) or "",
            next((m for m in (style.multiturn, config.fewshot_as_multiturn) if m is not None), True),
        )
        return write_context(Turn(question.text, counts[-1]), shots, layout, description, style.system, style.chat)

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
