"""Formats: the four built-in ones with all their fields, on any task, and what they replace."""

import ast
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from mm_eval.config.formats import FORMATS, Evaluate, Format, FormatField, build_format, register_format
from mm_eval.config.manager import TaskManager
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.prompt.blocks import PromptBlock
from mm_eval.prompt.question import choices_of, evaluate_field
from mm_eval.values.errors import ConfigError, DataError
from tests.sets import each_of

Write = Callable[..., Path]
Manager = Callable[[], TaskManager]

DOC = {"question": "Capital of France?", "choices": ["Berlin", "Paris", "Rome"], "answer": 1}
BLOCK = PromptBlock()


def evaluate(entry: Any, doc: Mapping[str, Any], what: str) -> Any:
    return evaluate_field(entry, dict(doc), BLOCK, what=what, where="t doc 0")


def fields(config: Any, doc: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """What a task's doc_to_text, doc_to_choice and doc_to_target say about a doc."""
    entries = (config.doc_to_text, config.doc_to_choice, config.doc_to_target)
    text, choices, target = (None if entry is None else evaluate(entry, doc, "entry") for entry in entries)
    return text, choices, target


def render_format(
    spec: str | Mapping[str, Any], doc: Mapping[str, Any], evaluate: Evaluate | None = None
) -> dict[str, Any]:
    """A doc with the columns question, choices and answer as a format renders it. evaluate: for texts that are templates."""
    layout = build_format(spec)
    read: Any = evaluate or (lambda entry, values, what: values.get(entry, entry) if isinstance(entry, str) else entry)

    def part(which: Literal["text", "choices", "target"]) -> Any:
        field = FormatField(which, layout, layout.question or "question", layout.choices, layout.answer or "answer")
        return field.evaluate(doc, read, lambda entry: [str(choice) for choice in read(entry, doc, "doc_to_choice")])

    choices = part("choices")
    numbers = choices is not None and layout.choice_labels == "numbers"
    return {
        "text": part("text"),
        "target": str(part("target")),
        "choices": str([int(choice) for choice in choices] if numbers else choices),
        "output_type": layout.output_type,
        "target_delimiter": layout.target_delimiter,
        "fewshot_delimiter": layout.fewshot_delimiter,
        "gen_prefix": layout.gen_prefix,
        "scorer": layout.scorer,
    }


class TestBuiltIn:
    def test_mcqa(self) -> None:
        shown = render_format("mcqa", DOC)
        assert shown["text"] == "Question: Capital of France?\nA. Berlin\nB. Paris\nC. Rome\nAnswer:"
        assert shown["target"] == "1" and shown["choices"] == "['A', 'B', 'C']"
        assert shown["output_type"] == "multiple_choice" and shown["target_delimiter"] == " "
        assert shown["gen_prefix"] is None and shown["scorer"] is None and shown["fewshot_delimiter"] == "\n\n"

    def test_cloze(self) -> None:
        shown = render_format("cloze", DOC)
        assert (
            shown["text"] == "Question: Capital of France?\nAnswer:"
            and ast.literal_eval(shown["choices"]) == DOC["choices"]
        )

    def test_generate(self) -> None:
        shown = render_format("generate", DOC)
        assert shown["text"].startswith("Given the following question and 3 candidate answers (A, B and C), choose")
        assert shown["text"].endswith("where the [answer_letter] is one of A, B or C.")
        assert (shown["target"], shown["gen_prefix"], shown["scorer"]) == ("B", "The best answer is", "first_token")
        assert shown["output_type"] == "generate_until" and shown["target_delimiter"] == "\n"

    def test_cot(self) -> None:
        shown = render_format("cot", DOC)
        assert "\nProblem: Capital of France?\nYour response should end with" in shown["text"]
        assert (shown["target"], shown["gen_prefix"]) == ("Paris", None) and "Berlin" not in shown["text"]

    def test_each_has_a_line_of_meaning(self) -> None:
        assert {"cloze", "cot", "generate", "mcqa"} <= set(FORMATS.names())
        assert all(len(FORMATS.summary(name)) > 20 for name in ("cloze", "cot", "generate", "mcqa"))


class TestFields:
    def test_every_field_has_its_place(self) -> None:
        spec = {
            "type": "mcqa",
            "instruction": "Choose one of {{_choice_list_or}} ({{ _num_choices }}).\n",
            "question_prefix": "Q: ",
            "choice_labels": ["I", "II", "III"],
            "choice_delimiter": "; ",
            "section_separator": "\n--\n",
            "answer_instruction": "Think. ",
            "answer_prompt": "A:",
        }
        assert render_format(spec, DOC)["text"] == (
            "Choose one of I, II or III (3).\nQ: Capital of France?\n--\nI. Berlin; II. Paris; III. Rome\n--\nThink. A:"
        )

    def test_numbers_are_labels(self) -> None:
        shown = render_format({"type": "generate", "choice_labels": "numbers"}, DOC)
        assert shown["choices"] == "[1, 2, 3]" and shown["target"] == "2" and "one of 1, 2 or 3." in shown["text"]

    def test_own_labels_are_what_the_model_is_to_write(self) -> None:
        """lm-eval's target is the choice's text there, which the prompt does not ask for."""
        assert render_format({"type": "generate", "choice_labels": ["I", "II", "III"]}, DOC)["target"] == "II"

    def test_null_labels_show_no_choices(self) -> None:
        assert "Berlin" not in render_format({"type": "mcqa", "choice_labels": None}, DOC)["text"]

    def test_more_than_26_letters(self) -> None:
        assert Format().labels(28)[25:] == ["Z", "AA", "AB"]

    def test_more_choices_than_labels_is_an_error_of_the_doc(self) -> None:
        with pytest.raises(DataError, match="3 choices, but choice_labels names 2"):
            render_format({"type": "mcqa", "choice_labels": ["I", "II"]}, DOC)

    def test_one_choice_is_listed_without_a_word(self) -> None:
        text = render_format(
            {"type": "mcqa", "instruction": "[{{ _choice_list_and }}] "}, {**DOC, "choices": ["x"], "answer": 0}
        )
        assert text["text"].startswith("[A] ")

    def test_a_template_over_the_docs_columns_is_rendered(self) -> None:
        spec = {"type": "mcqa", "instruction": "About {{subject}}, {{ _num_choices }} ways.\n"}
        shown = render_format(spec, {**DOC, "subject": "maps", "question": "{{question}}?"}, evaluate)
        assert shown["text"].startswith("About maps, 3 ways.\nQuestion: {{question}}?\n")

    @pytest.mark.parametrize(
        ("spec", "told"),
        [
            ("mcq", "Unknown format 'mcq'. Did you mean 'mcqa'?"),
            ({"instruction": "x"}, "a format needs a `type`"),
            ({"type": "mcqa", "anwser_prompt": "x"}, "Did you mean 'answer_prompt'"),
            ({"type": "mcqa", "choice_labels": "roman"}, "'choice_labels' of format 'mcqa' can't be 'roman'"),
            ({"type": "mcqa", "choice_labels": ["A", "A"]}, "names a label twice"),
            ({"type": "mcqa", "answer_prompt": None}, "'answer_prompt' of format 'mcqa' can't be None"),
            ({"type": "mcqa", "output_type": "generate_until"}, "has no field 'output_type'"),
        ],
    )
    def test_what_is_wrong_is_told(self, spec: Any, told: str) -> None:
        with pytest.raises(ConfigError) as caught:
            build_format(spec)
        assert told in str(caught.value)


class TestTargets:
    def test_for_choices(self) -> None:
        mcqa = Format()
        choices = DOC["choices"]
        answers = {2: 2, 1.0: 1, "Rome": 2, "b": 1, -100: -100}
        assert [mcqa.target(answer, choices) for answer in answers] == list(answers.values())
        assert mcqa.target([0, "Paris"], choices) == [0, 1]
        assert replace(mcqa, choice_labels=("I", "II", "III")).target("III", choices) == 2

    @pytest.mark.parametrize("answer", ["1", "D", "Madrid", 3, -1, None, True, ""])
    def test_what_names_no_choice_is_an_error_and_digits_are_no_index(self, answer: Any) -> None:
        with pytest.raises(DataError):
            Format().target(answer, DOC["choices"])
        with pytest.raises(DataError):
            replace(Format(), choice_labels="numbers").target(answer, DOC["choices"])

    def test_a_digit_that_is_a_choice_is_that_choice(self) -> None:
        assert Format().target("2", ["1", "2", "3"]) == 1
        with pytest.raises(DataError, match="several"):
            Format().target("2", ["2", "2"])

    def test_for_generation_it_is_what_the_prompt_asks_for_and_keeps_its_type(self) -> None:
        generate, cot = build_format("generate"), build_format("cot")
        assert [generate.target(answer, DOC["choices"]) for answer in (1, "Paris", "B", "other")] == [
            "B",
            "B",
            "B",
            "other",
        ]
        assert cot.target("42", None) == "42" and cot.target(42, None) == "42" and cot.target(0, ["x", "y"]) == "x"
        assert cot.target("B", ["x", "y"]) == "B"


class TestOnTasks:
    def test_the_yamls_format_reads_the_tasks_columns(self, manager: Manager, write: Write) -> None:
        write("t.yaml", "task: t\ndataset_path: d\ntest_split: test\ndoc_to_text: q\ndoc_to_choice: '{{[x, y]}}'\n"
                        "doc_to_target: '{{ label | int }}'\nformats: mcqa\n")  # fmt: skip
        config = manager().load("t").tasks["t"]
        doc = {"q": "Which?", "x": "left", "y": "right", "label": "1"}
        assert fields(config, doc) == ("Question: Which?\nA. left\nB. right\nAnswer:", ["A", "B"], 1)
        assert config.output_type == "multiple_choice" and config.row_name == "t" and config.path == "t"

    def test_a_task_without_entries_has_the_columns_question_choices_answer(
        self, manager: Manager, write: Write
    ) -> None:
        write("t.yaml", "task: t\ndataset_path: d\ntest_split: test\nformats: {type: mcqa, answer_prompt: 'Option:'}\n")
        text, choices, target = fields(manager().load("t").tasks["t"], DOC)
        assert text.endswith("C. Rome\nOption:") and choices == ["A", "B", "C"] and target == 1

    def test_several_formats_the_first_is_the_default(self, manager: Manager, write: Write) -> None:
        text = "formats:\n  mcqa: {instruction: 'Pick. '}\n  generate: {instruction: 'Write. '}\n  cloze: null\n"
        write("t.yaml", text, task="t")
        loaded = manager().load("t,t@generate,t@cloze,t@cot")
        starts = [fields(config, DOC)[0].split(":")[0] for config in loaded.tasks.values()]
        assert starts == ["Pick. Question", "Write. Question", "Question", "Given the following problem, reason step by step "
                          "to find the final answer.\nProblem"]  # fmt: skip
        assert list(loaded.tasks) == ["t", "t@generate", "t@cloze", "t@cot"]

    def test_a_format_of_another_kind_leaves_the_tasks_scoring_behind(self, manager: Manager, write: Write) -> None:
        write("t.yaml", "filter_list: [{name: f, filter: []}]\nscorer: own\n", task="t")
        loaded = manager().load("t@mcqa,t@generate")
        same, other = loaded.tasks["t@mcqa"], loaded.tasks["t@generate"]
        assert [pipeline["name"] for pipeline in same.pipelines()] == ["f"] and same.scorer == "own"
        assert same.pipelines()[0]["metric_list"][0]["metric"] == "acc"
        assert [pipeline["name"] for pipeline in other.pipelines()] == ["none"]
        assert other.pipelines()[0]["metric_list"] == [] and other.scorer == "first_token"
        assert "metric_list" not in other.to_json() and other.to_json()["formats"]["type"] == "generate"

    def test_a_format_that_scores_by_itself_replaces_process_results(self, manager: Manager, write: Write) -> None:
        write("utils.py", "def f(doc, results): ...\n")
        text = "task: t\ndataset_path: d\ntest_split: test\ndoc_to_text: question\nprocess_results: !function utils.f\n"
        write("t.yaml", text)
        assert manager().load("t").tasks["t"].process_results is not None
        assert manager().load("t@generate").tasks["t"].process_results is None
        write("t.yaml", text + "formats: generate\n")
        assert manager().load("t").tasks["t"].process_results is not None

    def test_an_image_task_keeps_its_pictures(self, manager: Manager, write: Write) -> None:
        write("utils.py", "def text(doc): return doc['q'] + '?'\ndef pictures(doc): return []\n")
        text = "task: t\ndataset_path: d\ntest_split: test\ndoc_to_visual: !function utils.pictures\n" \
               "doc_to_text: !function utils.text\ndoc_to_target: answer\n"  # fmt: skip
        write("t.yaml", text)
        config = manager().load("t@mcqa").tasks["t"].resolved(FOREIGN_CODE)
        assert config.doc_to_visual({}) == []
        assert fields(config, {"q": "Where", **DOC})[0].startswith("Question: Where?\nA. Berlin")

    def test_a_task_whose_text_is_a_prompt_already_names_the_columns_to_read(
        self, manager: Manager, write: Write
    ) -> None:
        formats = "formats: {mcqa: {question: stem, choices: '{{[a, b]}}', answer: gold}}\n"
        write("t.yaml", "task: t\ndataset_path: d\ntest_split: test\ndoc_to_text: 'Long {{stem}}'\n" + formats)
        doc = {"stem": "Q", "a": "x", "b": "y", "gold": "B"}
        loaded = manager().load("t,t@cloze")
        assert fields(loaded.tasks["t"], doc) == ("Question: Q\nA. x\nB. y\nAnswer:", ["A", "B"], 1)
        assert fields(loaded.tasks["t@cloze"], doc) == ("Question: Q\nAnswer:", ["x", "y"], 1)

    def test_a_task_keeps_its_own_prompt_and_says_what_formats_read(self, manager: Manager, write: Write) -> None:
        write("utils.py", "def own(doc): return 'own prompt'\ndef options(doc): return [doc['a'], doc['b']]\n")
        text = "task: t\ndataset_path: d\ntest_split: test\ndoc_to_text: !function utils.own\nformats:\n"
        write("t.yaml", text + "  none: {question: stem, choices: !function utils.options, answer: gold}\n")
        doc = {"stem": "Q", "a": "x", "b": "y", "gold": "B"}
        loaded = manager().load("t,t@mcqa")
        assert loaded.tasks["t"].format is None and loaded.tasks["t"].output_type == "generate_until"
        assert evaluate(loaded.tasks["t"].resolved(FOREIGN_CODE).doc_to_text, doc, "text") == "own prompt"
        assert fields(loaded.tasks["t@mcqa"].resolved(FOREIGN_CODE), doc) == (
            "Question: Q\nA. x\nB. y\nAnswer:",
            ["A", "B"],
            1,
        )
        write("t.yaml", text + "  none: {questoin: stem}\n")
        with pytest.raises(ConfigError, match="'none' has no field 'questoin'. Did you mean 'question'"):
            manager().load("t")

    def test_a_format_decides_the_output_type(self, manager: Manager, write: Write) -> None:
        write("t.yaml", "formats: generate\n", task="t")
        with pytest.raises(ConfigError, match="output_type is 'multiple_choice', but the format 'generate'"):
            manager().load("t")

    def test_what_a_format_makes_survives_json_and_changes_the_digest(self, manager: Manager, write: Write) -> None:
        write("t.yaml", task="t")
        loaded = manager().load("t,t@mcqa,t@cloze")
        assert len({config.digest() for config in loaded.tasks.values()}) == 3
        assert all(json.dumps(config.to_json()) for config in loaded.tasks.values())

    def test_a_mapping_as_choices_and_an_unreadable_answer(self) -> None:
        field = FormatField("target", Format(), answer="gold")
        with pytest.raises(DataError, match="none of the choices"):
            field.evaluate({**DOC, "gold": "Oslo"}, evaluate, lambda entry: choices_of(entry, dict(DOC), BLOCK, "t"))


def test_a_format_of_ones_own_is_registered_by_a_decorator(manager: Manager, write: Write) -> None:
    @register_format("riddle")
    def riddle() -> Format:
        """A riddle, answered in one word."""
        return Format(
            output_type="generate_until", question_prefix="Riddle: ", choice_labels=None, answer_prompt="Solution:"
        )

    write("t.yaml", task="t")
    config = manager().load("t@riddle").tasks["t"]
    assert fields(config, DOC)[0] == "Riddle: Capital of France?\nSolution:"
    assert FORMATS.summary("riddle") == "A riddle, answered in one word."


def only(manager: Manager, name: str) -> Any:
    """The config of a task with a format."""
    return next(iter(manager().load(name).tasks.values()))


class TestWholePrompts:
    """A task whose doc_to_text is a prompt already."""

    @each_of(
        "text",
        [
            "Question: {{q}}\nAnswer:",
            "{{q}}\nAnswer:",
            "Q: {{q}}\nA:",
            "question : {{q}} Answer :",
            "Problem: {{q}}",
            "{{q}}",
        ],
    )
    def test_the_words_around_the_question_are_the_formats_own(self, manager: Manager, write: Write, text: str) -> None:
        task = f"task: t\ndataset_path: d\ntest_split: test\ndoc_to_text: {json.dumps(text)}\n"
        write("t.yaml", task + "doc_to_choice: choices\ndoc_to_target: answer\n")
        doc = {**DOC, "q": "Which? A: one"}
        texts = [fields(only(manager, f"t@{name}"), doc)[0] for name in ("mcqa", "cloze", "cot")]
        assert texts[0] == "Question: Which? A: one\nA. Berlin\nB. Paris\nC. Rome\nAnswer:"
        assert texts[1] == "Question: Which? A: one\nAnswer:" and "\nProblem: Which? A: one\nYour" in texts[2]

    def test_words_that_the_format_does_not_write_stay(self, manager: Manager, write: Write) -> None:
        text = "task: t\ndataset_path: d\ntest_split: test\ndoc_to_text: 'Question: {{question}} A:'\n"
        write("t.yaml", text + "formats: {type: mcqa, question_prefix: null, answer_prompt: ''}\n")
        assert fields(manager().load("t").tasks["t"], DOC)[0].startswith("Question: Capital of France? A:\nA. Berlin")

    @each_of(
        ("text", "choices", "told"),
        [
            (
                "{{question}}\nA. {{choices[0]}}\nB. {{choices[1]}}\nC. {{choices[2]}}\nAnswer:",
                "choices",
                "shows the choices",
            ),
            ("{{question}}\n(a) {{choices[0]}} (b) {{choices[1]}} (c) {{choices[2]}}", "choices", "shows the choices"),
            ("{{question}}\n- {{choices[0]}}\n- {{choices[1]}}\n- {{choices[2]}}", "choices", "shows the choices"),
            ("{{question}}\nA. {{choices[0]}}", '\'{{["A", "B", "C"]}}\'', "has only labels, A, B, C"),
            ("{{question}}", "['(A)', '(B)', '(C)']", "has only labels"),
        ],
    )
    def test_choices_that_it_shows_itself_are_an_error(
        self, manager: Manager, write: Write, text: str, choices: str, told: str
    ) -> None:
        task = (
            f"task: t\ndataset_path: d\ntest_split: test\ndoc_to_text: {json.dumps(text)}\ndoc_to_choice: {choices}\n"
        )
        write("t.yaml", task + "doc_to_target: answer\n")
        for name in ("mcqa", "cloze", "generate", "cot"):
            with pytest.raises(DataError, match="formats: {none: {question") as caught:
                fields(only(manager, f"t@{name}"), DOC)
            assert told in str(caught.value)

    def test_a_question_about_its_choices_is_none(self, manager: Manager, write: Write) -> None:
        write("t.yaml", "task: t\ndataset_path: d\ntest_split: test\ndoc_to_text: question\ndoc_to_choice: choices\n")
        doc = {"question": "Left or right? A cat is left.", "choices": ["left", "right"], "answer": 0}
        assert fields(only(manager, "t@mcqa"), doc)[0].endswith("left.\nA. left\nB. right\nAnswer:")

    def test_labels_in_the_choices_are_left_out(self, manager: Manager, write: Write) -> None:
        write("t.yaml", "task: t\ndataset_path: d\ntest_split: test\ndoc_to_text: question\ndoc_to_choice: choices\n")
        doc = {**DOC, "choices": ["(A) Berlin", "(B) Paris"]}
        loaded = manager().load("t@mcqa,t@cloze,t@cot").tasks
        for answer in (1, "(B) Paris", "B", "(B)", "Paris"):
            found = [fields(config, {**doc, "answer": answer}) for config in loaded.values()]
            assert found[0] == ("Question: Capital of France?\nA. Berlin\nB. Paris\nAnswer:", ["A", "B"], 1)
            assert found[1][1:] == (["Berlin", "Paris"], 1) and found[2][2] == "Paris"
        kept = fields(loaded["t@mcqa"], {**doc, "choices": ["A. Smith", "C. Jones"]})[0]
        assert "A. A. Smith\nB. C. Jones" in kept

    def test_without_choices_it_says_what_to_write(self, manager: Manager, write: Write) -> None:
        write("t.yaml", "task: t\ndataset_path: d\ntest_split: test\ndoc_to_text: question\n")
        with pytest.raises(DataError, match="the format 'generate' needs choices.*formats: {none:"):
            fields(only(manager, "t@generate"), {"question": "Which?", "answer": "B"})

    def test_the_blocks_texts_are_those_of_the_own_prompt(self) -> None:
        block = PromptBlock(kwargs={"pre_prompt": "Look. ", "post_prompt": "\nAnswer with a letter.", "unit": "cm"})
        field = FormatField("text", build_format("cot"), "{{pre_prompt}}{{question}} [{{unit}}]{{post_prompt}}")
        text = evaluate_field(field, {"question": "Which?"}, block, what="text", where="t doc 0")
        assert "\nProblem: Which? [cm]\nYour" in text and "letter" not in text and "Look" not in text

    def test_a_task_that_has_none_refuses_them(self, manager: Manager, write: Write) -> None:
        write("t.yaml", "formats: none\n", task="t")
        assert manager().load("t,t@none").tasks["t"].format is None
        with pytest.raises(ConfigError, match=r"t.yaml:\d+: the format 'cot' can't be applied to this task"):
            manager().load("t@cot")


class TestGeneration:
    """How long an answer may be, and what ends it."""

    def kwargs(self, manager: Manager, write: Write, stated: str, name: str) -> dict[str, Any]:
        write("t.yaml", f"generation_kwargs: {stated}\n", task="t")
        return dict(only(manager, name).generation_kwargs)

    def test_stops_and_caps_of_another_prompt_do_not_cut(self, manager: Manager, write: Write) -> None:
        short = "{until: ['.'], max_gen_toks: 16, temperature: 0.5}"
        assert self.kwargs(manager, write, short, "t@generate") == {"temperature": 0.5}
        assert self.kwargs(manager, write, short, "t@cot") == {"temperature": 0.5, "max_new_tokens": 2048}
        assert self.kwargs(manager, write, "{max_tokens: 4096}", "t@cot") == {"max_tokens": 4096}
        assert self.kwargs(manager, write, short, "t")["max_gen_toks"] == 16

    def test_a_chain_of_thought_ends_where_the_next_question_begins(self) -> None:
        assert (
            build_format("cot").stop == "\n\nGiven the following problem, reason step by step to find the final answer."
        )
        assert (
            build_format({"type": "cot", "instruction": None, "fewshot_delimiter": "\n##\n"}).stop == "\n##\nProblem: "
        )
        assert build_format("generate").stop == "\n\n"

    def test_what_a_task_states_for_a_format_holds(self, manager: Manager, write: Write) -> None:
        text = "task: t\ndataset_path: d\ntest_split: test\ndoc_to_text: question\nformats: cot\n"
        write("t.yaml", text + "generation_kwargs: {until: ['###'], max_gen_toks: 100}\n")
        assert manager().load("t").tasks["t"].generation_kwargs == {"until": ["###"], "max_gen_toks": 100}
