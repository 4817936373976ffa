"""Every shipped multiple-choice task under every format: the question once, the options once or not at all, the same answer."""

import re
from typing import Any

import pytest

from mm_eval.config.formats import shows_choices
from mm_eval.config.task_config import TaskConfig
from mm_eval.data.source import DataSource
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.prompt.blocks import PromptBlock
from mm_eval.prompt.question import Question
from mm_eval.prompt.task import PromptStyle, Task
from mm_eval.values.errors import ConfigError
from tests.sets import few
from tests.tasks.test_all import MANAGER, RUN_HERE, loaded_of

FORMATS = ("mcqa", "cloze", "generate", "cot")
DOCS = 3
REFUSED = "can't be applied to this task"
NOT_LETTERS = {"mmvet", "dynamath", "mathvista_testmini", "mathvista_testmini_digits", "mathvista_testmini_judged"}
"""Tasks with open questions, some of whose answers are a single capital letter."""
SAMPLE = DataSource(sample=True)


def asked(task: Task, doc_id: int) -> Question:
    """A doc of a task as the default block shows it."""
    block = PromptBlock.of_task(task.config, "default", task.config.prompt_kwargs.get("default"))
    return task.question(task.docs.text(doc_id), block, f"doc {doc_id}")


def with_sample(config: TaskConfig) -> bool:
    """Whether the bundled sample has docs of a member of a group."""
    return config.dataset_path != "cais/mmlu" or config.dataset_name == "anatomy"


def member(name: str) -> TaskConfig:
    """A task, or the first member of a group whose sample is bundled."""
    return next(config for config in loaded_of(name).tasks.values() if with_sample(config)).resolved(FOREIGN_CODE)


def right_letter(question: Question) -> str | None:
    """The right letter of a question with options; None if it has none."""
    if isinstance(question.target, int) and question.choices:
        return "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[question.target]
    letter = re.fullmatch(r"\(?([A-Z])\)?", str(question.target))
    return letter[1] if letter else None


@pytest.mark.parametrize(
    "name",
    few([name for name in RUN_HERE if name not in NOT_LETTERS], "arc_easy", "ai2d", "mmstar", "winogrande"),
)
def test_a_format_starts_from_the_question_itself(name: str) -> None:
    config = member(name)
    own = Task.load(config, SAMPLE)
    docs = range(min(DOCS, len(own.docs)))
    letters = [right_letter(asked(own, doc_id)) for doc_id in docs]
    if config.output_type != "multiple_choice" and not any(letters):
        return
    texts = [
        text for block in config.prompt_kwargs.values() for text in (block or {}).values() if isinstance(text, str)
    ]
    for layout in FORMATS:
        try:
            found = MANAGER.load([f"{config.path}@{layout}"])
        except ConfigError as error:
            assert REFUSED in str(error) and config.source["formats"] == "none", f"{layout}: {error}"
            continue
        assert config.source["formats"] != "none"
        task = Task(next(iter(found.tasks.values())).resolved(FOREIGN_CODE), own.docs)
        for doc_id, letter in zip(docs, letters, strict=True):
            check(layout, asked(task, doc_id), asked(Task(with_options(config), own.docs), doc_id), letter, texts)


def with_options(config: TaskConfig) -> TaskConfig:
    """The task in the format that compares the texts of the options."""
    return next(iter(MANAGER.load([f"{config.path}@cloze"]).tasks.values())).resolved(FOREIGN_CODE)


def check(layout: str, question: Question, cloze: Question, letter: str | None, own_texts: list[str]) -> None:
    """What a prompt of a format must be. cloze: the same doc as the format cloze gives it, with the texts of its options."""
    options, text = cloze.choices or [], question.text
    assert len(options) > 1 and not any(re.match(r"\(?[A-Z][).:]\s", option) for option in options), options
    index = cloze.target
    if letter is not None and isinstance(index, int):
        assert "ABCDEFGHIJ"[index] == letter
    first = index[0] if isinstance(index, list) else index
    assert isinstance(first, int)
    for leading in ("Question:", "Problem:", "Q:", "Options:", "Choices:"):
        assert text.count(leading) <= (leading == ("Problem:" if layout == "cot" else "Question:")), text
    assert text.count("Answer:") == (layout in ("mcqa", "cloze")) and "lease" not in text and "directly" not in text, (
        text
    )
    assert not [own for own in own_texts if len(own.strip()) > 12 and own.strip() in text]
    if layout in ("mcqa", "generate"):
        lines = "\n".join(f"{'ABCDEFGHIJ'[n]}. {option}" for n, option in enumerate(options))
        assert text.count(lines) == 1 and text.count("\nB. ") == 1, text
        assert question.choices == list("ABCDEFGHIJ"[: len(options)])
        assert not shows_choices(text.replace(lines, ""), options)
    else:
        assert not shows_choices(text, options) and question.choices == options, text
    right: Any = {"mcqa": index, "cloze": index, "generate": "ABCDEFGHIJ"[first], "cot": options[first]}[layout]
    assert (
        question.target == right or isinstance(question.target, list) and right in [question.target, *question.target]
    )


@pytest.mark.parametrize("layout", FORMATS)
def test_a_task_whose_question_does_not_stand_apart_says_so(layout: str) -> None:
    with pytest.raises(ConfigError, match=f"the format '{layout}' {REFUSED}"):
        MANAGER.load([f"mmstar@{layout}"])


@pytest.mark.parametrize("chat", [False, True])
def test_a_chain_of_thought_may_have_blank_lines(chat: bool) -> None:
    config = next(iter(MANAGER.load(["arc_easy@cot"]).tasks.values())).resolved(FOREIGN_CODE)
    instance = next(iter(Task.load(config, SAMPLE).instances([0], PromptStyle(chat=chat))))
    begins = "Given the following problem, reason step by step to find the final answer."
    until = {} if chat else {"until": [f"\n\n{begins}"]}
    assert instance.generation_kwargs == {"max_new_tokens": 2048, **until}
    assert chat or str(instance.context).startswith(begins)
