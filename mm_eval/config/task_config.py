"""TaskConfig: the checked config of one task.

Nothing is imported to make one: a `!function` stays a FunctionRef until `resolved()`. Every error names file and line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar, cast

from mm_eval.config import schema
from mm_eval.config.arguments import WHOLE_FROM_0, Rule
from mm_eval.config.categories import CategoryLevel, levels_of
from mm_eval.config.checks import check_name, task_checks
from mm_eval.config.foreign_code import ForeignCode, NoStream, Stream
from mm_eval.config.formats import Format, select_format, with_format
from mm_eval.config.functions import FunctionRef, task_stream
from mm_eval.config.judge import JudgeConfig, judge_of
from mm_eval.config.located import LocatedDict, located, shown_path, without
from mm_eval.config.rounds import RoundsConfig, rounds_of
from mm_eval.config.submission import SubmissionConfig, submission_of
from mm_eval.config.suites.askers import asks
from mm_eval.config.suites.origin import is_from_lmms_eval
from mm_eval.config.tools import ToolsConfig, tools_of
from mm_eval.config.values import WithSource, resolve, to_json
from mm_eval.values.errors import ConfigError, check_all, raise_all
from mm_eval.values.files import digest_of
from mm_eval.values.reasoning.families import NO_MARKS, Marks, marks_of
from mm_eval.values.types import Fields, JsonObject, Options, OutputType

_T = TypeVar("_T")
DISPLAY_KEYS = ("task_alias", "group_alias", "tag", "group")
ASKS_NOTHING = ("aliases", "categories", "gold_answer", "dataset_mirrors", *schema.NUMBERS_ELSEWHERE)
"""Keys that a run folder's spec leaves out: a task that gets them continues its older runs. Data has its own digest there."""
HEADER_KEYS = (
    "paper",
    "languages",
    "licence",
    "size",
    "hub",
    "metric",
    "published",
    "prompt_tokens",
    "variant_of",
    "earlier",
)
"""Keys of `metadata` that describe a benchmark; the spec leaves them out too."""


def _from_file(rule: Rule, default: object = None, key: str = "") -> Any:
    """A field of TaskConfig that task files state. default: the value, or what makes it. key: where it isn't the field's name."""
    about = {"rule": rule, "key": key}
    if callable(default):
        return field(default_factory=default, metadata=about)
    return field(default=default, metadata=about)


def _parsed(parse: Callable[[object, str], _T]) -> _T | None:
    """A field of TaskConfig whose key has a type of its own. parse: makes it of the value that is stated, and of its place."""
    made: _T | None = field(default=None, metadata={"rule": schema.ANYTHING, "key": "", "parse": parse})
    return made


@dataclass(frozen=True, eq=False, kw_only=True)
class TaskConfig:
    """One task: its data, its prompt and its scoring, with a format applied.

    name: the short name. path: the identity under which answers are stored, with groups and format ("g::t@mcqa").
    key: its key in the results of a run: the short name where that is unambiguous, else the path.
    source: the merged keys as written, before the format, with their lines.
    format: the layout that made the doc_to_* fields; format_asked: the name after the @, if there was one.
    task_class, class_arguments: `class: !function task.Qasper`, and the keys beside it that mm-eval doesn't know.
    prompt_kwargs: the blocks of model_specific_prompt_kwargs; target_kwargs: those of model_specific_target_kwargs.
    doc_to_messages: makes the whole chat of a doc, for chat models.
    reasoning_tags: marks around the reasoning in answers to it, beside the user's; `marks` reads them.
    judge: as stated; `judge_of_task` knows also of code that asks one.
    code: what runs its functions that can't run in this process, once they are imported.
    """

    name: str
    path: str
    source: LocatedDict = field(repr=False)
    file: Path | None = None
    key: str = ""
    task_alias: str | None = _from_file(schema.TEXT)
    tag: tuple[str, ...] = _from_file(schema.TEXTS, ())
    format: Format | None = None
    format_asked: str | None = None
    task_class: object = _from_file(schema.FUNCTION, key="class")
    class_arguments: Mapping[str, object] = field(default_factory=dict)
    dataset_path: str | None = _from_file(schema.TEXT)
    dataset_name: str | list[str] | None = _from_file(schema.TEXTS)
    dataset_kwargs: Options = _from_file(schema.MAPPING, dict)
    dataset_revision: str | None = _from_file(schema.TEXT)
    custom_dataset: Any = _from_file(schema.FUNCTION)
    training_split: str | None = _from_file(schema.TEXT)
    validation_split: str | None = _from_file(schema.TEXT)
    test_split: str | None = _from_file(schema.TEXT)
    fewshot_split: str | None = _from_file(schema.TEXT)
    process_docs: Any = _from_file(schema.FUNCTION)
    output_type: OutputType = _from_file(schema.OUTPUT_TYPE, "generate_until")
    doc_to_visual: Any = _from_file(schema.VISUAL)
    doc_to_audio: Any = _from_file(schema.AUDIO)
    doc_to_text: Any = _from_file(schema.PROMPT)
    doc_to_target: Any = _from_file(schema.TARGET)
    doc_to_choice: object = _from_file(schema.CHOICES)
    doc_to_messages: Any = _from_file(schema.FUNCTION)
    description: Any = _from_file(schema.PROMPT, "")
    target_delimiter: str = _from_file(schema.TEXT, " ")
    fewshot_delimiter: str = _from_file(schema.TEXT, "\n\n")
    gen_prefix: object = _from_file(schema.PROMPT)
    num_fewshot: int = _from_file(WHOLE_FROM_0, 0)
    fewshot_config: Fields = _from_file(schema.MAPPING, dict)
    fewshot_as_multiturn: bool | None = _from_file(schema.BOOLEAN)
    process_results: Any = _from_file(schema.FUNCTION)
    process_results_use_image: bool = _from_file(schema.BOOLEAN, False)
    generation_kwargs: Mapping[str, Any] = _from_file(schema.MAPPING, dict)
    metric_list: list[Any] = _from_file(schema.MAPPINGS, list)
    filter_list: list[Any] = _from_file(schema.MAPPINGS, list)
    scorer: str | Fields | None = _from_file(schema.NAMED)
    reasoning_tags: Any = _from_file(schema.MARKS)
    repeats: int = _from_file(schema.REPEATS, 1)
    batch_size: int | str | None = _from_file(schema.BATCH)
    prompt_kwargs: Mapping[str, Any] = _from_file(schema.MAPPING, dict, key="model_specific_prompt_kwargs")
    target_kwargs: Options = _from_file(schema.MAPPING, dict, key="model_specific_target_kwargs")
    multiple_targets: bool = _from_file(schema.BOOLEAN, False)
    cluster_key: str | list[str] | None = _from_file(schema.TEXTS)
    categories: list[object] = _from_file(schema.MAPPINGS, list)
    aliases: str | list[str] = _from_file(schema.TEXTS, list)
    judge: JudgeConfig | None = _parsed(judge_of)
    submission: SubmissionConfig | None = _parsed(submission_of)
    tools: ToolsConfig | None = _parsed(tools_of)
    rounds: RoundsConfig | None = _parsed(rounds_of)
    max_rounds: int | None = _from_file(schema.POSITIVE)
    gold_answer: object = _from_file(schema.PROMPT)
    dataset_mirrors: list[Any] = _from_file(schema.MAPPINGS, list)
    metadata: Mapping[str, Any] = _from_file(schema.METADATA, dict)
    code: ForeignCode | None = field(default=None, repr=False)

    @classmethod
    def from_mapping(
        cls,
        config: Options,
        *,
        file: Path | None = None,
        path: str | None = None,
        format_asked: str | None = None,
    ) -> TaskConfig:
        """A checked config from the merged keys of a task.

        path: the identity; by default the task's name. format_asked: the format to apply; by default that of `task@format`.
        Errors: ConfigError with file:line on an unknown key, a wrong type, a missing function, or a missing key.
        """
        source = schema.canonical_keys(located(config))
        name, named_format = schema.split_format(str(source.get("task") or ""))
        check_name(source.get("task"), name, source.where("task"))
        requested = format_asked or named_format
        has_class = source.get("class") is not None
        check_keys = partial(schema.check_keys, source, TASK_KEYS, f"task {name!r}", extra=has_class)
        parsed = dict[str, Any]()

        def parse(key: str, made_of: Callable[[object, str], object]) -> None:
            parsed[key] = made_of(source[key], source.where(key))

        parses = [partial(parse, key, made_of) for key, made_of in _PARSED.items() if source.get(key) is not None]
        functions = [reference.check for reference in schema.functions_in(source)]
        check_all([check_keys, *task_checks(source, TASK_KEYS), *parses, *functions])
        values = {name: source[key] for name, key in _KEYS.items() if source.get(key) is not None}
        values.update(
            **parsed,
            tag=tuple(dict.fromkeys(schema.texts(source.get("tag")) + schema.texts(source.get("group")))),
            metadata=schema.one_mapping(source.get("metadata")),
            class_arguments=without(source, [*TASK_KEYS, *schema.HARMLESS, *schema.UNSUPPORTED]) if has_class else {},
        )
        where = source.where("formats") if "formats" in source else ""
        layout = select_format(source.get("formats"), requested, where=where)
        if layout is not None:
            values = with_format(values, source, layout, requested)
        path = path or name + (f"@{requested}" if requested else "")
        made = cls(name=name, path=path, source=source, file=file, format=layout, format_asked=requested, **values)
        if not has_class:
            raise_all([ConfigError(what, where=made.where(key), hint=hint) for what, key, hint in _incomplete(made)])
        return made

    @property
    def metrics_of_judge(self) -> list[str]:
        """The names of the metrics that its judge adds to its own."""
        return self.judge.metrics if self.judge is not None else []

    @cached_property
    def code_asks_judge(self) -> bool:
        """Whether its own process_results asks a judge, through lmms-eval's module."""
        reference = self.source.get("process_results")
        if self.process_results is None or not isinstance(reference, FunctionRef) or reference.of_mm_eval:
            return False
        return asks(reference.source(), reference.function)

    @property
    def is_judged(self) -> bool:
        """Whether it has a judge; task code of others may ask one without the key."""
        return self.judge is not None or not self.is_shipped and self.code_asks_judge

    @property
    def is_scored_elsewhere(self) -> bool:
        """Whether a judge or a server gives its numbers, so that it may have no metrics and targets of its own."""
        return self.judge is not None or self.submission is not None

    @property
    def needs_target(self) -> bool:
        """Whether a document without a target fails. The code of a shipped task, and its judge, would compare with None,
        and an answer that no rule reads is None, too. Tasks of others may do without: a judge may need no right answer.
        """
        compares = self.process_results is not None or self.judge is not None
        return compares and self.doc_to_target is not None and self.submission is None and self.is_shipped

    @property
    def shows_media(self) -> bool:
        """Whether its documents show something beside text: pictures, videos or sounds."""
        return self.doc_to_visual is not None or self.doc_to_audio is not None

    @property
    def has_turns(self) -> bool:
        """Whether a document may take several answers: with tools, or in rounds."""
        return self.tools is not None or self.rounds is not None

    @property
    def task(self) -> str:
        """The short name, as lm-eval calls it."""
        return self.name

    @property
    def row_name(self) -> str:
        """Its name in all outputs. The table of a run shows its `task_alias` in place of it."""
        return schema.shown_name(self.key or self.path, self.path)

    @property
    def times_asked(self) -> int:
        """How often each question is requested: `repeats`, and once for a log-likelihood, which does not vary."""
        return self.repeats if self.output_type == "generate_until" else 1

    @property
    def is_shipped(self) -> bool:
        """Whether its file came with mm-eval."""
        from mm_eval.config.index import default_folders

        return self.file is not None and any(self.file.is_relative_to(folder) for folder in default_folders())

    @property
    def version(self) -> object:
        """`metadata.version`, None where there is none."""
        return self.metadata.get("version")

    @property
    def shown_num_fewshot(self) -> int:
        """The n-shot of a table: `metadata.num_fewshot` (examples that are part of the prompt's text), else num_fewshot."""
        return cast(int, self.metadata.get("num_fewshot", self.num_fewshot))

    @property
    def file_name(self) -> str:
        """The YAML file, relative to the working directory where possible."""
        return shown_path(self.file) if self.file else "a config without a file"

    def where(self, key: str) -> str:
        """`file:line` of a key, or of the task where the key isn't written."""
        written = "task" if key == "name" else _KEYS.get(key, key)
        if written in self.source:
            return self.source.where(written)
        return self.source.where("task") if "task" in self.source.places else self.file_name

    def pipelines(self) -> list[LocatedDict]:
        """The filter pipelines, each with its `name`, its steps as `filter` and its metrics as `metric_list`, entries as written.

        Without a filter_list there is one pipeline, "none". A pipeline without metrics of its own has the task's. The pipelines
        and their metrics are copies.
        """
        pipelines: list[LocatedDict] = []
        for entry in self.filter_list or [LocatedDict({"name": "none"}, self.source.place)]:
            metrics = self.metric_list if entry.get("metric_list") is None else entry["metric_list"]
            pipeline = LocatedDict(entry)
            pipeline["filter"] = entry.get("filter") or []
            pipeline["metric_list"] = [LocatedDict(metric) for metric in metrics]
            pipelines.append(pipeline)
        return pipelines

    def resolved(self, code: ForeignCode) -> TaskConfig:
        """The same config with every function imported; ConfigError with file:line if an import fails.

        code: what runs the functions that can't run in this process.
        """
        found: JsonObject = {}
        faults: dict[str, ConfigError] = {}  # by cause: a file whose import fails is one fault for all its functions
        for name in (f.name for f in fields(self) if f.name not in ("source", "file", "path", "name", "code")):
            try:
                found[name] = resolve(getattr(self, name), code)
            except ConfigError as error:
                faults.setdefault(repr(error.__cause__ or error), error)
        raise_all(list(faults.values()))
        made = replace(self, code=code, **found)
        as_config = getattr(
            made.task_class, "as_config", None
        )  # of a class of another suite, which says all by its methods
        return as_config(made) if as_config is not None else made

    @cached_property
    def of_lmms_eval(self) -> bool:
        """Whether its files were written for lmms-eval."""
        return is_from_lmms_eval(self.source, self.file, self.functions)

    @cached_property
    def category_levels(self) -> list[CategoryLevel]:
        """The levels of its `categories`, in the order written."""
        return levels_of(self.categories, self.where("categories"))

    def marks(self, of_run: Marks) -> Marks:
        """The marks around the reasoning in its answers. of_run: those that the user states, which `none` of a task leaves."""
        if self.reasoning_tags is None or of_run.off:
            return of_run
        own = marks_of(self.reasoning_tags or "none", self.where("reasoning_tags"))
        return own if own.off and not of_run.pairs else of_run.plus(own.pairs)

    def draws(self) -> Stream:
        """A new random stream for the functions of this task, which must be resolved."""
        return task_stream(self.functions, self.code) if self.code is not None else NoStream()

    def digest(self) -> str:
        """sha256 over the config without its display keys (alias, tags), and the source of every function file it names."""
        with_source = WithSource()
        sources = tuple(with_source(reference)[1] for reference in self.functions)
        if sources not in self._digests:
            stated = self._canonical(with_source, hide=(*DISPLAY_KEYS, *ASKS_NOTHING))
            self._digests[sources] = digest_of({"name": self.name, **stated})
        return self._digests[sources]

    @cached_property
    def functions(self) -> tuple[FunctionRef, ...]:
        """The functions that its file names."""
        return tuple(schema.functions_in(self.source))

    @cached_property
    def _digests(self) -> dict[tuple[str, ...], str]:
        """{digests of the sources of its functions: its own}: a run asks seven times, and files may change meanwhile."""
        return {}

    def identity(self) -> str:
        """sha256 over the digest and the display keys: two equal tasks at different places share it."""
        shown = (self.task_alias or self.name) + (f"@{self.format_asked}" if self.format_asked else "")
        return digest_of([self.digest(), shown, list(self.tag)])

    def to_json(self, hide: tuple[str, ...] = ()) -> dict[str, object]:
        """The config for results.json: the keys as written, functions by name. hide: keys to leave out."""
        return {"task": self.name, **self._canonical(str, hide)}

    def _canonical(self, function: Callable[[FunctionRef], object], hide: tuple[str, ...] = ()) -> dict[str, object]:
        stated = without(self.source, (*hide, *schema.HARMLESS, *schema.UNSUPPORTED, "task", "formats"))
        stated["output_type"] = self.output_type
        hidden = HEADER_KEYS if hide and self.custom_dataset is None else ()  # metadata are arguments of custom_dataset
        stated["metadata"] = {key: value for key, value in self.metadata.items() if key not in hidden} or None
        if self.format is not None:
            stated["formats"] = self.format.to_json()
            scoring = {
                "metric_list": self.metric_list,
                "filter_list": self.filter_list,
                "process_results": self.process_results,
                "scorer": self.scorer,
                "judge": self.judge,
                "submission": self.submission,
            }
            dropped = [key for key, value in scoring.items() if not value]
            stated = without(stated, [key for key in dropped if key in stated])
        return cast(dict[str, Any], to_json({k: v for k, v in stated.items() if v is not None}, function))


_KEYS: dict[str, str] = {each.name: each.metadata["key"] or each.name for each in fields(TaskConfig) if each.metadata}
"""{a field of TaskConfig: the key of task files that states it}"""
_PARSED: dict[str, Callable[[object, str], object]] = {
    each.name: each.metadata["parse"] for each in fields(TaskConfig) if "parse" in each.metadata
}
"""{a field of TaskConfig that has a type of its own: what makes it of the value of its key}"""
TASK_KEYS: dict[str, Rule] = {
    **{_KEYS[each.name]: each.metadata["rule"] for each in fields(TaskConfig) if each.metadata},
    "task": schema.TEXT,
    "group": schema.TEXTS,
    "formats": schema.NAMED,
    "multiple_inputs": schema.BOOLEAN,
    "unsafe_code": schema.BOOLEAN,
}
"""The keys of task files."""


def _incomplete(config: TaskConfig) -> Iterator[tuple[str, str, str]]:
    """(error, its key, hint) for each required key that is missing, and each conflict between keys."""
    if config.dataset_path is None and config.custom_dataset is None:
        yield f"task {config.name!r} has no dataset_path.", "task", ""
    if config.test_split is None and config.validation_split is None:
        yield f"task {config.name!r} has neither test_split nor validation_split.", "task", ""
    if config.doc_to_text is None and config.output_type != "loglikelihood_rolling":
        yield f"task {config.name!r} has no doc_to_text.", "task", ""
    if config.output_type == "multiple_choice" and config.doc_to_choice is None:
        yield f"task {config.name!r} is multiple_choice and has no doc_to_choice.", "output_type", ""
    if config.output_type != "generate_until" and config.doc_to_messages is not None:
        what = f"doc_to_messages needs output_type generate_until, not {config.output_type!r}."
        yield what, "doc_to_messages", ""
    if config.marks(NO_MARKS) != NO_MARKS and config.has_turns:
        what = "reasoning_tags of a task with several turns would change what is asked next."
        yield what, "reasoning_tags", "State --reasoning_tags."
    if config.judge is not None and config.submission is not None:
        yield "judge and submission are given together.", "submission", "Write one of them, or null for the other."
    yield from _conflicts_of_parts(config)
    if config.source.get("scorer") is not None and config.source.get("process_results") is not None:
        yield "scorer and process_results are both given.", "scorer", "Write one of them, or null for the other."
    if config.source.get("unsafe_code"):
        yield (
            "unsafe_code: code of a model runs only as the tool python, and never to score an answer.",
            "unsafe_code",
            "",
        )


def _conflicts_of_parts(config: TaskConfig) -> Iterator[tuple[str, str, str]]:
    """The same between the keys of a judge, a submission, tools and rounds, and the others."""
    of_generation = {
        "judge": config.judge,
        "submission": config.submission,
        "tools": config.tools,
        "rounds": config.rounds,
    }
    for key, value in of_generation.items():
        if value is not None and config.output_type != "generate_until":
            yield f"{key} needs output_type generate_until, not {config.output_type!r}.", key, ""
    if config.judge is not None:
        if config.judge.replaces_rules and not (config.metric_list or config.process_results):
            yield "extracts and only_unparsed need the task's own metric_list.", "judge", ""
        if config.judge.replaces_rules and len(config.filter_list) > 1:
            yield "extracts and only_unparsed need one filter pipeline.", "filter_list", ""
    if config.rounds is not None and config.rounds.made_by != "next" and not schema.is_function(config.doc_to_text):
        yield f"rounds: {config.rounds.made_by} needs a function as doc_to_text.", "rounds", ""
    if config.rounds is None and config.max_rounds is not None:
        yield "max_rounds needs `rounds`.", "max_rounds", ""
