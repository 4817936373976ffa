"""What a config's entries make of a doc: prompts as lm-eval 0.4.13 builds them, and where they differ on purpose."""

from typing import Any

import numpy as np
import pytest

from mm_eval.config.task_config import TaskConfig
from mm_eval.data.source import DataSource
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.prepare import prepare
from mm_eval.prompt import question
from mm_eval.prompt.blocks import PromptBlock, choose_block
from mm_eval.prompt.question import choice_index, choices_of, evaluate_field
from mm_eval.prompt.task import PromptStyle, Task
from mm_eval.prompt.template import render
from mm_eval.request import RunRequest
from mm_eval.scoring.builtin import LLScorer
from mm_eval.scoring.score_task import TaskScoring
from mm_eval.values.errors import ConfigError, DataError
from mm_eval.values.types import Answer
from tests.sets import each_of

DOCS = {
    "train": [{"q": f"shown {n}?", "word": "cat", "label": 0, "n": 10 + n, "lead": f"L{n}:"} for n in range(3)],
    "valid": [{"q": f"valid {n}?", "word": "dog", "label": 1, "n": 20 + n, "lead": f"V{n}:"} for n in range(3)],
    "test": [{"q": f"asked {n}?", "word": "dog", "label": 1, "n": 30 + n, "lead": f"T{n}:"} for n in range(3)],
}
PLAIN, CHAT = PromptStyle(), PromptStyle(chat=True)
FIRST = {"sampler": "first_n"}
BLOCK = PromptBlock()
DOC = {"question": "Why?", "answer": "42", "label": 1, "choices": {"text": ["x", "y"]}, "options": ["p", "q"]}


def task(**keys: Any) -> Task:
    config = {
        "task": "words",
        "custom_dataset": lambda **_: DOCS,
        "training_split": "train",
        "test_split": "test",
        "doc_to_text": "q",
        "doc_to_target": "word",
        **keys,
    }
    return Task.load(TaskConfig.from_mapping(config).resolved(FOREIGN_CODE), DataSource())


def choice_task(**keys: Any) -> Task:
    own = {"output_type": "multiple_choice", "doc_to_choice": ["cat", "dog"], "doc_to_target": "label"}
    return task(**{**own, **keys})


def asked(made: Task, style: PromptStyle = PLAIN) -> Any:
    return next(iter(made.instances([0], style)))


def pairs(made: Task) -> list[tuple[Any, str]]:
    return [(i.context, i.continuation) for i in made.instances([0], PLAIN)]


def test_the_requests_of_a_doc_come_together_and_their_lists_are_the_callers() -> None:
    made = choice_task()
    found = list(made.requests([0, 1], PLAIN))
    places = [[(each.doc_id, each.repeat, each.choice) for each in of_doc] for of_doc in found]
    assert places == [[(doc, 0, choice) for choice in (0, 1)] for doc in (0, 1)]
    found[0][0].metadata["choices"].append("bird")
    again = next(made.requests([0], PLAIN))
    assert again[0].metadata["choices"] == ["cat", "dog"]
    assert [each.metadata["choice_text"] for each in again] == ["cat", "dog"]


@each_of(
    ("template", "prompt"),
    [
        ("{{q}}\n", "asked 0?\n"),
        ("\n{{n}} ", "\n30 "),
        ("{{- n -}}", "30"),
        ("{{q|regex_replace('a','b',1)}}", "bsked 0?"),
        ("{{q|regex_replace(pattern='s', repl='z', count=1)}}", "azked 0?"),
    ],
)
def test_white_space_and_filters_of_a_template(template: str, prompt: str) -> None:
    assert asked(task(doc_to_text=template)).context == prompt


@each_of(
    ("description", "prompt"),
    [
        ("{{lead}}\n\n", "T0:\n\nasked 0?"),
        ("lead", "T0:asked 0?"),
        ("Translate", "Translateasked 0?"),
        (lambda doc: f"{doc['n']} ", "30 asked 0?"),
    ],
)
def test_a_description_is_a_template_a_column_a_function_or_plain_words(description: Any, prompt: str) -> None:
    assert asked(task(description=description)).context == prompt


@each_of(
    ("keys", "prompt"),
    [
        ({"gen_prefix": "It is"}, "shown 0? It is cat\n\nasked 0? It is"),
        ({"gen_prefix": "\nA: "}, "shown 0?\nA: cat\n\nasked 0?\nA: "),
        ({"gen_prefix": "So", "doc_to_text": "{{q}}\n"}, "shown 0?\nSo cat\n\nasked 0?\nSo"),
        ({"gen_prefix": "{{lead}}"}, "shown 0? L0: cat\n\nasked 0? T0:"),
        (
            {"gen_prefix": "lead", "fewshot_config": {**FIRST, "gen_prefix": "{{n}}="}},
            "shown 0? 10= cat\n\nasked 0? T0:",
        ),
        ({"gen_prefix": "lead", "fewshot_config": {**FIRST, "gen_prefix": None}}, "shown 0? cat\n\nasked 0? T0:"),
    ],
)
def test_what_an_answer_begins_with_is_of_the_doc_and_brings_its_own_space(keys: dict[str, Any], prompt: str) -> None:
    assert asked(task(num_fewshot=1, **{"fewshot_config": FIRST, **keys})).context == prompt


def test_a_chat_has_the_prefix_as_the_last_turn() -> None:
    turns = asked(task(gen_prefix="{{lead}}"), CHAT).context
    assert [(turn["role"], turn["content"][0]["text"]) for turn in turns] == [
        ("user", "asked 0?"),
        ("assistant", "T0:"),
    ]


@pytest.mark.parametrize(("prefix", "answers"), [("It is ", ["cat", "dog"]), ("It is", [" cat", " dog"])])
def test_a_choice_in_a_chat_has_one_blank_after_the_prefix(prefix: str, answers: list[str]) -> None:
    """As lm-eval does there; plain text keeps target_delimiter, as it does there, too."""
    made = choice_task(gen_prefix=prefix)
    assert [each.continuation for each in made.instances([0], CHAT)] == answers
    assert [each.continuation for each in made.instances([0], PLAIN)] == [" cat", " dog"]


def test_null_in_fewshot_config_states_nothing() -> None:
    nothing = dict.fromkeys(("doc_to_text", "doc_to_target", "fewshot_delimiter", "target_delimiter"))
    assert asked(task(num_fewshot=1, fewshot_config={**FIRST, **nothing})).context == "shown 0? cat\n\nasked 0?"


SAMPLES = [{"q": "sample?", "word": "s", "label": 0, "n": 1, "lead": ""}]


@each_of(
    ("keys", "shown"),
    [
        ({"fewshot_config": {**FIRST, "samples": SAMPLES}}, "sample? s"),
        ({"fewshot_config": {**FIRST, "samples": SAMPLES}, "fewshot_split": "valid"}, "valid 0? dog"),
        ({"fewshot_config": {**FIRST, "split": "valid"}, "fewshot_split": "train"}, "valid 0? dog"),
        ({"fewshot_config": FIRST}, "shown 0? cat"),
    ],
)
def test_a_split_named_for_examples_goes_before_samples_and_these_before_other_splits(
    keys: dict[str, Any], shown: str
) -> None:
    assert asked(task(num_fewshot=1, **keys)).context == f"{shown}\n\nasked 0?"


def test_process_docs_of_the_examples_is_their_own_the_tasks_or_with_null_none() -> None:
    def last_two(rows: Any) -> Any:
        return rows.select([1, 2])

    def last(rows: Any) -> Any:
        return rows.select([2])

    for settings, number in (({}, 1), ({"process_docs": last}, 2), ({"process_docs": None}, 0)):
        made = task(num_fewshot=1, process_docs=last_two, fewshot_config={**FIRST, **settings})
        assert asked(made).context == f"shown {number}? cat\n\nasked 1?"


def test_a_doc_is_not_its_own_example_under_process_docs_of_the_examples_either() -> None:
    def louder(rows: Any) -> Any:
        return rows.map(lambda doc: {"q": doc["q"].upper()})

    made = task(num_fewshot=2, fewshot_split="test", fewshot_config={**FIRST, "process_docs": louder})
    assert asked(made).context == "ASKED 1? dog\n\nASKED 2? dog\n\nasked 0?"


@each_of(
    ("keys", "until"),
    [
        ({}, ["\n\n"]),
        ({"fewshot_delimiter": "\n"}, ["\n"]),
        ({"fewshot_delimiter": ""}, None),
        ({"generation_kwargs": {"until": ["."]}}, ["."]),
        ({"generation_kwargs": {"until": []}}, []),
    ],
)
def test_a_plain_answer_stops_where_examples_part_unless_the_task_says_otherwise(
    keys: dict[str, Any], until: list[str] | None
) -> None:
    assert asked(task(**keys)).generation_kwargs.get("until") == until


def test_an_answer_in_a_chat_may_have_paragraphs() -> None:
    assert "until" not in asked(task(), CHAT).generation_kwargs


def test_one_text_a_choice_before_one_continuation() -> None:
    index = {"doc_to_text": "label", "doc_to_choice": "{{['The cat', 'The dog']}}", "doc_to_target": lambda d: "sat."}
    contexts = {
        "doc_to_text": lambda doc: ["The cat", "The dog"],
        "doc_to_choice": lambda doc: ["sat."],
        "doc_to_target": "label",
    }
    for keys in (index, contexts):
        made = choice_task(num_fewshot=1, fewshot_config=FIRST, **keys)
        assert pairs(made) == [
            ("The cat sat.\n\nThe cat", " sat."),
            ("The cat sat.\n\nThe dog", " sat."),
        ]
        instances = list(made.instances([0], PLAIN))
        assert [i.target for i in instances] == [1, 1] and [i.choice for i in instances] == [0, 1]


def test_contexts_and_continuations_that_do_not_fit_are_told() -> None:
    wrong = [
        ({"doc_to_text": "n"}, "doc_to_text gave the index 30, but there are 2 choices"),
        ({"doc_to_text": lambda doc: ["a", "b"]}, "2 texts and doc_to_choice 2 continuations"),
        ({"doc_to_text": lambda doc: ["a", "b"], "doc_to_choice": ["c"], "doc_to_target": -100}, "none of the texts"),
    ]
    for keys, message in wrong:
        assert message in str(asked(choice_task(**keys)).error)


@each_of(
    ("target", "gold"),
    [("label", "dog"), ("word", "dog"), ("{{[label, 0]}}", ["dog", "cat"]), ("{{label|string}}", "1")],
)
def test_an_index_among_choices_is_the_answer_that_has_to_be_written(target: str, gold: Any) -> None:
    """lm-eval's boolq-seq2seq: a column of 0 and 1, `doc_to_choice: [' no', ' yes']`, and a generated answer."""
    keys = {"doc_to_choice": ["cat", "dog"], "doc_to_target": target, "num_fewshot": 1, "fewshot_config": FIRST}
    instance = asked(task(**keys))
    assert instance.target == gold
    if target in ("label", "word"):
        assert instance.context == "shown 0? cat\n\nasked 0?"


def test_an_index_beyond_the_choices_is_a_fault_of_the_doc() -> None:
    assert "index 30" in str(asked(task(doc_to_choice=["cat", "dog"], doc_to_target="n")).error)


def test_a_mapping_of_choices_gives_its_values() -> None:
    made = choice_task(doc_to_choice={"a": "cat", "b": "dog"})
    assert [continuation for _, continuation in pairs(made)] == [" cat", " dog"]
    with pytest.raises(ConfigError, match="mapping of texts"):
        choice_task(doc_to_choice={"a": True})


def test_digits_that_a_template_writes_are_no_index_and_the_error_says_what_to_write() -> None:
    error = asked(choice_task(doc_to_target="{% if n %}1{% endif %}")).error
    assert isinstance(error, DataError) and "one {{ expression }}" in str(error)
    assert asked(choice_task(doc_to_target="{{ 1 if n else 0 }}\n")).target == 1


def test_without_a_question_a_choice_is_the_same_continuation() -> None:
    made = choice_task(metric_list=[{"metric": "acc_mutual_info"}])
    assert pairs(made) == [("asked 0?", " cat"), ("asked 0?", " dog"), ("", " cat"), ("", " dog")]


@pytest.mark.parametrize("target", ["word", "{{' ' + word}}", " {{word}}"])
def test_a_loglikelihood_target_with_white_space_of_its_own_gets_no_other(target: str) -> None:
    assert pairs(task(output_type="loglikelihood", doc_to_target=target)) == [("asked 0?", " dog")]


def test_a_function_that_makes_the_data_gets_metadata_and_dataset_kwargs() -> None:
    given: dict[str, Any] = {}

    def make(**arguments: Any) -> Any:
        given.update(arguments)
        return DOCS

    task(custom_dataset=make, metadata={"version": 1}, dataset_kwargs={"size": 2})
    assert given == {"version": 1, "size": 2}


def test_what_is_right_goes_with_the_prompt_block() -> None:
    """ai2d asks most models for a letter, and qwen_vl for the option's text."""

    def target(doc: dict, model_specific_target_kwargs: str) -> str:
        return {"mcq": "B", "qa": doc["word"]}[model_specific_target_kwargs]

    made = task(doc_to_target=target, model_specific_target_kwargs={"default": "mcq", "qwen_vl": "qa"})
    styles = [PromptStyle(PromptBlock.of_task(made.config, key)) for key in ("default", "qwen_vl", "gpt4v")]
    assert [asked(made, style).target for style in styles] == ["B", "dog", "B"]
    own = task(doc_to_target=lambda doc, model_specific_target_kwargs="its own": model_specific_target_kwargs)
    assert asked(own).target == "its own"


@pytest.mark.parametrize(
    ("blocks", "prompt"),
    [(None, "asked 0? (own)"), ({"default": {"post": "!"}}, "asked 0?!"), ({"llava": {"post": "?"}}, "asked 0?")],
)
def test_the_prompt_block_or_its_absence_reaches_doc_to_text(blocks: Any, prompt: str) -> None:
    def text(doc: dict, kwargs: Any = None) -> str:
        return doc["q"] + (" (own)" if kwargs is None else kwargs.get("post", ""))

    made = task(doc_to_text=text, model_specific_prompt_kwargs=blocks)
    assert asked(made, PromptStyle(choose_block(made.config, ("qwen_vl",)))).context == prompt


AROUND = "{{ pre_prompt }}{{ q }}{{ post_prompt }}"


@each_of(
    ("blocks", "template", "prompt"),
    [
        (
            {"default": {"pre_prompt": "Q: ", "post_prompt": " Say."}, "llava": {"post_prompt": "!"}},
            AROUND,
            "Q: asked 0?!",
        ),
        ({"default": {"post_prompt": " Say."}}, AROUND, "asked 0? Say."),
        (None, AROUND, "asked 0?"),
        ({"default": {"pre_prompt": None, "post_prompt": " Say."}, "llava": {"post_prompt": None}}, AROUND, "asked 0?"),
        ({"default": {"style": "B"}}, "{% if style == 'B' %}{{ q }}{% endif %}", "asked 0?"),
        ({"default": {"q": "of the block"}}, "{{ q }}", "asked 0?"),
    ],
)
def test_a_template_reads_the_prompt_block_where_the_doc_has_no_such_column(
    blocks: Any, template: str, prompt: str
) -> None:
    made = task(doc_to_text=template, model_specific_prompt_kwargs=blocks)
    assert asked(made, PromptStyle(choose_block(made.config, ("llava",)))).context == prompt


def test_a_name_that_neither_doc_nor_block_has_is_an_error_that_lists_both() -> None:
    made = task(doc_to_text="{{ q }}{{ post_promt }}", model_specific_prompt_kwargs={"default": {"post_prompt": "!"}})
    error = asked(made, PromptStyle(choose_block(made.config, ()))).error
    assert "'post_promt' is undefined" in str(error) and "The document has: label, lead, n, q, word." in str(error)
    assert "The prompt block has: post_prompt, pre_prompt." in str(error)


def test_a_question_is_written_once_for_all_that_go_over_the_docs(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []
    real = question.question_of

    def counting(config: Any, doc: Any, *rest: Any) -> Any:
        written.append(doc["n"])
        return real(config, doc, *rest)

    monkeypatch.setattr("mm_eval.prompt.task.question_of", counting)
    blocks = {"default": {"post_prompt": "!"}, "llava": {"post_prompt": "?"}}
    made = choice_task(doc_to_text=AROUND, model_specific_prompt_kwargs=blocks)
    styles = [PromptStyle(choose_block(made.config, (key,))) for key in ("default", "llava")]
    for _ in range(3):
        first, *_ = made.instances([0, 1], styles[0])
        first.metadata["choices"].clear()
        assert [each.context for each in made.instances([0, 1], styles[1])][::2] == ["asked 0??", "asked 1??"]
    assert len(written) == 4 and asked(made).metadata["choices"] == ["cat", "dog"]
    few = question.Questions(made.question, True, question.Room(1))
    assert all(few.of(n, doc, BLOCK, "").text == doc["q"] for _ in range(2) for n, doc in enumerate(DOCS["test"]))
    assert len(written) == 4 + 1 + 5, "the first of three docs was kept"
    few.forget(0, BLOCK)
    assert few.of(0, DOCS["test"][0], BLOCK, "").text == "asked 0?" and len(written) == 4 + 1 + 5 + 1


def test_all_tasks_of_a_run_share_the_room_for_kept_questions() -> None:
    """Each had one of its own, so that a run of twenty tasks could hold 20 times as much."""
    one, other = choice_task(), choice_task()
    of_a_question = question.Room()
    one.keep_questions_in(of_a_question)
    asked(one)
    used = question.Room().left - of_a_question.left
    room = question.Room(used + 1)
    for each in (one, other):
        each._questions._known.clear()
        each.keep_questions_in(room)
        list(each.instances([0, 1, 2], PLAIN))
    assert (len(one._questions._known), len(other._questions._known)) == (2, 0) and room.left < 0

    prepared = prepare(RunRequest(tasks=("mme", "seedbench"), model="dummy", sample=True, limit=2))
    assert len({id(each._questions.room) for each in prepared.tasks.values()}) == 1 < len(prepared.tasks)
    assert prepared.tasks["seedbench"]._questions.room.left < question.Room().left


def test_scoring_forgets_each_question_after_its_doc() -> None:
    made = choice_task()
    asked(made)
    kept = made._questions._known
    scoring = TaskScoring(made, PLAIN, [LLScorer.default_scorer()], lambda slot: Answer((-1.0 - slot.choice, False)))
    for _ in made.instances([0, 1], PLAIN):
        pass
    assert len(kept) == 2
    assert [row["choices"] for row in scoring.samples([0, 1])] == [[" cat", " dog"]] * 2 and not kept


def test_what_a_function_of_the_users_does_to_its_doc_is_seen_each_time() -> None:
    def text(doc: dict) -> str:
        doc["shown"] = "changed"
        return str(doc["q"])

    made = task(doc_to_text=text)
    assert [asked(made).doc["shown"] for _ in range(2)] == ["changed"] * 2


@each_of(
    ("keys", "context", "continuation"),
    [
        ({"doc_to_text": ""}, "", "dog"),
        ({"doc_to_text": "", "description": "Say: "}, "Say: ", " dog"),
        ({"doc_to_text": "q"}, "asked 0?", " dog"),
        ({"doc_to_text": "", "target_delimiter": "\n"}, "", "dog"),
    ],
)
def test_nothing_is_put_before_a_target_that_follows_an_empty_prompt(
    keys: dict[str, Any], context: str, continuation: str
) -> None:
    made = task(output_type="loglikelihood", **keys)
    assert pairs(made) == [(context, continuation)]


def test_the_choices_after_an_empty_prompt_keep_their_delimiter() -> None:
    assert pairs(choice_task(doc_to_text="")) == [("", " cat"), ("", " dog")]


def field(value, doc=DOC):
    return evaluate_field(value, doc, BLOCK, what="doc_to_text", where="t doc 3")


def test_a_column_a_template_a_function_and_a_literal() -> None:
    assert field("question") == "Why?"
    assert field("Q: {{question}}\n") == "Q: Why?\n"
    assert field(lambda doc: doc["label"]) == 1
    assert field("Describe it, please.") == "Describe it, please."


def test_one_expression_keeps_its_type() -> None:
    assert field("{{label}}") == 1
    assert field("{{choices.text}}") == ["x", "y"]
    assert field("{{answer}}") == "42", "a digit target stays text"
    assert field("{{question}}{{label}}") == "Why?1"


def test_a_misspelt_column_is_an_error_that_names_doc_and_suggestion() -> None:
    with pytest.raises(DataError, match=r"t doc 3: .*'qestion'.*Did you mean 'question'\?"):
        field("qestion")
    with pytest.raises(DataError, match="qestion"):
        field("{{qestion}} ?")


@each_of(
    ("given", "index"),
    [
        (np.int32(1), 1),
        (np.round(np.float32(0.6)).astype(np.int32), 1),
        (np.array([0, 1]), [0, 1]),
        (np.str_("dog"), 1),
    ],
)
def test_a_function_may_give_numpys_numbers(given, index) -> None:
    """lm-eval's toxigen does; a numpy float or bool names no choice, as Python's own."""
    found = evaluate_field(lambda doc: given, DOC, BLOCK, what="doc_to_target", where="t doc 0")
    assert choice_index(found, ["cat", "dog"], "t doc 0") == index
    for wrong in (np.float64(1.0), np.bool_(True)):
        found = evaluate_field(lambda doc, value=wrong: value, DOC, BLOCK, what="doc_to_target", where="t doc 0")
        with pytest.raises(DataError, match="t doc 0"):
            choice_index(found, ["cat", "dog"], "t doc 0")


def test_a_failing_function_is_a_data_error_of_its_doc() -> None:
    with pytest.raises(DataError, match="t doc 3: doc_to_text failed: KeyError"):
        field(lambda doc: doc["nothing"])


@each_of(
    "payload",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ question.__class__.__base__.__subclasses__() }}",
        "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
        "{{ self.__init__.__globals__ }}",
        "{{ ().__class__.__bases__[0].__subclasses__()[0] }}",
        "{{ lipsum.__globals__['os'].system('id') }}",
        "{% for x in [].__class__.__base__.__subclasses__() %}{{x}}{% endfor %}",
        "{{ options.append(1) }}",
    ],
)
def test_jinja_stays_in_its_sandbox(payload: str) -> None:
    with pytest.raises((ConfigError, DataError)):
        render(payload, DOC)


@each_of(
    ("target", "index"),
    [(0, 0), (1, 1), (-100, -100), ("cat", 0), ("dog", 1), ("B", 1), ("b", 1), (["cat", "dog"], [0, 1])],
)
def test_targets_that_name_a_choice(target, index) -> None:
    assert choice_index(target, ["cat", "dog"], "t doc 0") == index


@each_of("target", ["1", "0", 2, -1, "C", "bird", None, True, 1.0, "", {"a": 1}, b"cat"])
def test_targets_that_name_none(target) -> None:
    with pytest.raises(DataError, match="t doc 0"):
        choice_index(target, ["cat", "dog"], "t doc 0")


def test_a_choice_that_is_a_digit_is_found_by_its_text_not_as_an_index() -> None:
    assert choice_index("2", ["3", "2"], "") == 1
    with pytest.raises(DataError, match="several"):
        choice_index("x", ["x", "x"], "")


def test_choices_from_lists_mappings_templates_and_text() -> None:
    for value in (["x", "y"], {"a": "x", "b": "y"}, "{{choices.text}}", lambda doc: ("x", "y"), "['x', 'y']"):
        assert choices_of(value, DOC, BLOCK, "") == ["x", "y"]
    for value in ("question", [], 3):
        with pytest.raises(DataError):
            choices_of(value, DOC, BLOCK, "t doc 0")


def test_metadata_of_a_run_are_arguments_of_custom_dataset_with_the_checkpoints_name(tmp_path):
    """lm-eval's ruler: `--metadata '{"max_seq_lengths": [4096]}'`, and a tokenizer that its model arguments name."""
    from mm_eval.prepare import load_configs
    from mm_eval.request import RunRequest

    (tmp_path / "utils.py").write_text(
        "def docs(lengths=(1,), pretrained='', version=0):\n"
        "    return {'test': [{'q': f'{pretrained} {version} {n}', 'a': 'x'} for n in lengths]}\n"
    )
    (tmp_path / "made.yaml").write_text(
        "task: made\ncustom_dataset: !function utils.docs\ntest_split: test\noutput_type: generate_until\n"
        "doc_to_text: q\ndoc_to_target: a\nmetadata: {version: 2, lengths: [7]}\n"
    )

    def prompts(**options):
        request = RunRequest.of_options(
            ("made",),
            model="hf",
            model_args={"pretrained": "gpt2", "dtype": "auto"},
            include_path=str(tmp_path),
            **options,
        )
        task = Task.load(load_configs(request).tasks["made"].resolved(FOREIGN_CODE), DataSource(), 0)
        return [task.docs.text(place)["q"] for place in range(len(task.docs))]

    assert prompts() == [" 2 7"]
    assert prompts(metadata={"lengths": [4, 8]}) == ["gpt2 2 4", "gpt2 2 8"]
    with pytest.raises(ConfigError, match="--metadata NAME=VALUE"):
        prompts(metadata={"nothing": 1})


def test_a_truth_value_is_no_index_and_the_error_says_what_to_write() -> None:
    """With the choices yes and no, True as the index 1 would be "no"."""
    with pytest.raises(DataError, match=r"t doc 0: doc_to_target gave True; .*Write \{\{ COLUMN \| int \}\}"):
        choice_index(True, ["yes", "no"], "t doc 0")  # type: ignore[arg-type]
