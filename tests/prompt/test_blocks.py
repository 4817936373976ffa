"""Prompt blocks: which one a run chooses, how a task's function gets it, and keys that no function reads."""

from types import SimpleNamespace

import pytest

from mm_eval.first_checks import check_prompt_keys
from mm_eval.prompt.blocks import PromptBlock, call, choose_block
from mm_eval.prompt.question import evaluate_field
from mm_eval.values.errors import ConfigError


def chosen(blocks, model_keys, requested=None):
    return choose_block(SimpleNamespace(prompt_kwargs=blocks, target_kwargs={}), model_keys, requested)


def test_a_block_states_only_what_differs() -> None:
    blocks = {"default": {"pre": "p", "post": "d"}, "qwen_vl": {"post": "q"}, "qwen2_vl": {"post": "q2"}}
    assert chosen(blocks, ("qwen2_5_vl", "qwen2_vl", "qwen_vl")) == PromptBlock("qwen2_vl", {"pre": "p", "post": "q2"})
    assert chosen(blocks, ("llava",)) == PromptBlock("default", {"pre": "p", "post": "d"})
    assert chosen(blocks, ("llava",), "qwen_vl").kwargs == {"pre": "p", "post": "q"}
    assert chosen({"qwen_vl": {"post": "q"}}, ("llava",)).kwargs == {}, "a task without default is fine"
    assert chosen({}, ("llava",), "mine") == PromptBlock("default", {}, stated=False)


def test_blocks_of_the_user_leave_a_function_its_own_default_where_none_is_used() -> None:
    config = SimpleNamespace(prompt_kwargs={}, target_kwargs={"default": "letter"})
    mine = {"mine": {"post": "!"}}
    assert not choose_block(config, ("qwen_vl",), blocks=mine).stated
    block = choose_block(config, ("qwen_vl",), "mine", mine)
    assert block == PromptBlock("mine", {"post": "!"}, {"default": "letter"}, stated=True)


def test_a_function_gets_the_block_under_the_name_that_it_declares() -> None:
    block = PromptBlock("default", {"post": "!"})
    assert call(lambda doc, model_specific_prompt_kwargs=None: model_specific_prompt_kwargs, {}, block) == {"post": "!"}
    assert call(lambda doc, lmms_eval_specific_kwargs=None: lmms_eval_specific_kwargs, {}, block) == {"post": "!"}
    assert call(lambda doc: "plain", {}, block) == "plain"


def test_a_second_argument_of_doc_to_text_is_the_block_whatever_its_name():
    """46 tasks of lmms-eval 0.7.3 call it prompt_kwargs, model_specific_kwargs, lmms_kwargs or lmmseval_specific_kwargs."""
    block = PromptBlock("default", {"post": "!"})
    text = evaluate_field(
        lambda doc, prompt_kwargs=None: prompt_kwargs["post"], {}, block, what="doc_to_text", where=""
    )
    assert text == "!"
    target = evaluate_field(lambda doc, strict=False: strict, {}, block, what="doc_to_target", where="")
    assert target is False


def test_where_a_task_states_no_block_a_functions_own_default_holds():
    none = PromptBlock(stated=False)
    assert call(lambda doc, lmms_eval_specific_kwargs="own": lmms_eval_specific_kwargs, {}, none) == "own"
    assert call(lambda doc, kwargs="own": kwargs, {}, none, second=True) == "own"
    assert call(lambda doc, lmms_eval_specific_kwargs: lmms_eval_specific_kwargs, {}, none) == {}
    for_others = PromptBlock(stated=True)
    assert call(lambda doc, lmms_eval_specific_kwargs=None: lmms_eval_specific_kwargs, {}, for_others) == {}


class TaskOf:
    """As much of a task as the check of prompt keys looks at."""

    def __init__(self, doc_to_text, docs=({"kind": "a"}, {"kind": "b"}), prompt_kwargs=None):
        self.docs = self
        self._docs = docs
        self.config = SimpleNamespace(
            path="mine", doc_to_text=doc_to_text, doc_to_target=None, doc_to_choice=None, doc_to_visual=None,
            doc_to_audio=None, doc_to_messages=None, where=lambda key: "mine.yaml:7", prompt_kwargs=prompt_kwargs or {},
            of_lmms_eval=prompt_kwargs is not None, fewshot_config={}, description="", gen_prefix=None, gold_answer=None,
            task_class=None, rounds=None, target_kwargs={},
        )  # fmt: skip

    def text(self, doc_id):
        return self._docs[doc_id]

    full = text

    def question(self, doc, block, where):
        call(self.config.doc_to_text, doc, block)


def checked(doc_to_text, **kwargs):
    check_prompt_keys(TaskOf(doc_to_text), [0, 1], [PromptBlock("default", kwargs)])


def test_a_key_that_no_function_reads_is_an_error_with_place_and_suggestion():
    def doc_to_text(doc, lmms_eval_specific_kwargs=None):
        return lmms_eval_specific_kwargs.get("post_prompt", "") + lmms_eval_specific_kwargs["pre_prompt"]

    checked(doc_to_text, pre_prompt="", post_prompt="!")
    with pytest.raises(ConfigError) as raised:
        checked(doc_to_text, pre_prompt="", post_promtp="!")
    assert "'post_promtp'" in str(raised.value) and "mine.yaml:7" in str(raised.value)
    assert "Did you mean 'post_prompt'" in str(raised.value)


def test_a_template_reads_the_keys_that_it_names():
    template = "{% if kind == 'a' %}{{ pre_prompt }}{% endif %}{{ kind }}"
    TaskOf(template)
    task = TaskOf(template)
    task.question = lambda doc, block, where: evaluate_field(template, doc, block, what="doc_to_text", where=where)
    check_prompt_keys(task, [0, 1], [PromptBlock("default", {"pre_prompt": "!"})])
    with pytest.raises(ConfigError, match="reads the key 'pre_promt'.*'default'"):
        check_prompt_keys(task, [0, 1], [PromptBlock("default", {"pre_promt": "!"})])
    task.config.doc_to_text = "{{ kind }}"
    with pytest.raises(ConfigError, match="mine.yaml:7: nothing in mine reads the key 'pre_prompt'"):
        check_prompt_keys(task, [0, 1], [PromptBlock("default", {"pre_prompt": "!"})])


ENTRIES = ("description", "gen_prefix", "gold_answer", "doc_to_target", "doc_to_choice")


def test_each_entry_of_a_task_may_read_a_key():
    for entry in ENTRIES:
        task = TaskOf("kind")
        setattr(task.config, entry, "{{ hint }}")
        check_prompt_keys(task, [0, 1], [PromptBlock("default", {"hint": "!"})])
    task = TaskOf("kind")
    task.config.fewshot_config = {"doc_to_text": "{{ hint }}"}
    check_prompt_keys(task, [0, 1], [PromptBlock("default", {"hint": "!"})])
    task = TaskOf(lambda doc: "asked")
    task.config.description = lambda doc, model_specific_prompt_kwargs: model_specific_prompt_kwargs["hint"]
    check_prompt_keys(task, [0, 1], [PromptBlock("default", {"hint": "!"})])
    with pytest.raises(ConfigError, match="the key 'hunt'.*Did you mean 'hint'"):
        check_prompt_keys(task, [0, 1], [PromptBlock("default", {"hint": "?", "hunt": "!"})])


def test_a_key_behind_a_column_of_its_name_is_not_read():
    task = TaskOf("{{ kind }}")
    with pytest.raises(ConfigError, match="a column of that name"):
        check_prompt_keys(task, [0, 1], [PromptBlock("default", {"kind": "!"})])


def test_targets_that_no_function_takes_are_an_error():
    task = TaskOf(lambda doc: "asked")
    task.config.target_kwargs = {"default": "letter"}
    with pytest.raises(ConfigError, match="mine.yaml:7: no function of mine takes model_specific_target_kwargs"):
        check_prompt_keys(task, [0, 1], [])
    task.config.doc_to_target = lambda doc, model_specific_target_kwargs=None: model_specific_target_kwargs
    check_prompt_keys(task, [0, 1], [])


def test_keys_read_for_some_docs_or_all_at_once_are_read(caplog):
    def by_kind(doc, model_specific_prompt_kwargs):
        return model_specific_prompt_kwargs[doc["kind"]]

    def formatted(doc, model_specific_prompt_kwargs):
        return "{a}{b}".format(**model_specific_prompt_kwargs)

    def copied(doc, model_specific_prompt_kwargs):
        return str({**model_specific_prompt_kwargs})

    for function in (by_kind, formatted, copied):
        checked(function, a="1", b="2")
    assert not caplog.records
    with pytest.raises(ConfigError, match="nothing in mine reads the key 'a'"):
        checked(lambda doc: "nothing takes the block", a="1")


def test_keys_that_nothing_reads_are_one_warning_in_a_file_of_lmms_eval(caplog):
    """Its mathvision_test.yaml has three keys, of which its functions read one."""

    def doc_to_text(doc, lmms_eval_specific_kwargs=None):
        return lmms_eval_specific_kwargs["mc_prompt"]

    kwargs = {"prompt_format": "solution", "mc_prompt": "Answer.", "short_answer_prompt": "Shortly."}
    task = TaskOf(doc_to_text, prompt_kwargs={"default": kwargs, "other": {"prompt_format": "x"}})
    blocks = [PromptBlock("default", kwargs), PromptBlock("other", {**kwargs, "prompt_format": "x"})]
    check_prompt_keys(task, [0, 1], blocks)
    [warning] = [record.getMessage() for record in caplog.records]
    assert "mine.yaml:7: nothing in mine reads" in warning
    assert "the keys 'prompt_format', 'short_answer_prompt' of 'default'; the keys" in warning and "'other'" in warning
    with pytest.raises(
        ConfigError, match="reads the key 'prompt_formt'"
    ):  # a key of the user's own, from --prompt_file
        check_prompt_keys(task, [0, 1], [PromptBlock("mine", {"mc_prompt": "A", "prompt_formt": "b"})])


def test_all_keys_that_nothing_reads_are_named_at_once():
    with pytest.raises(ConfigError, match="reads the keys 'one', 'two' of the prompt block 'default'"):
        checked(
            lambda doc, model_specific_prompt_kwargs: model_specific_prompt_kwargs["three"], one="a", two="b", three="c"
        )
