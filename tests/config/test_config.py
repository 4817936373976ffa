"""Task files: lmms-eval's and lm-eval's forms, and what is said about each mistake (fault 37)."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mm_eval.config.functions import FunctionRef
from mm_eval.config.manager import TaskManager
from mm_eval.config.task_config import TaskConfig
from mm_eval.config.yaml import load_config
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.scoring.metrics.metric import METRIC_KEYS
from mm_eval.scoring.metrics.traits import arguments_of
from mm_eval.values.errors import ConfigError

Write = Callable[..., Path]

MME = """
dataset_path: lmms-lab/MME
dataset_kwargs:
  token: True
task: "mme"
test_split: test
output_type: generate_until
doc_to_visual: !function utils.mme_doc_to_visual
doc_to_text: !function utils.mme_doc_to_text
doc_to_target: "answer"
generation_kwargs:
  max_new_tokens: 16
  temperature: 0
  top_p: 0
  num_beams: 1
  do_sample: false
process_results: !function utils.mme_process_results
metric_list:
  - metric: mme_percetion_score
    aggregation: !function utils.mme_aggregate_results
    higher_is_better: true
  - metric: mme_cognition_score
    aggregation: !function utils.mme_aggregate_results
    higher_is_better: true
model_specific_prompt_kwargs:
  default:
    pre_prompt: ""
    post_prompt: "\\nAnswer the question using a single word or phrase."
  qwen_vl:
    pre_prompt: ""
    post_prompt: " Answer:"
metadata:
  - version: 0.0
"""

SEEDBENCH_PPL = """
dataset_path: lmms-lab/SEED-Bench
dataset_kwargs:
  token: True
task: "seedbench_ppl"
test_split: test
output_type: multiple_choice
doc_to_visual: !function utils.seed_doc_to_visual
doc_to_text: !function utils.seed_doc_to_text_mc
doc_to_choice : !function utils.seed_doc_to_choice
doc_to_target: !function utils.seed_doc_to_mc_target
metric_list:
  - metric: acc
metadata:
  - version: 0.0
"""


def functions(*names: str) -> str:
    return "".join(f"def {name}(*args): return {name!r}\n" for name in names)


def task(path: Path, **options: Any) -> TaskConfig:
    return TaskConfig.from_mapping(load_config(path)[0], file=path, **options)


def error(write: Write, text: str, *, whole: bool = True) -> str:
    path = write("t.yaml", text, task="t" if whole else None)
    with pytest.raises(ConfigError) as caught:
        task(path)
    return str(caught.value).removeprefix(str(path.parent) + "/")


def test_the_mme_file_of_lmms_evals_guide_loads_unchanged(write: Write) -> None:
    names = ("visual", "text")
    write(
        "utils.py", functions(*(f"mme_doc_to_{name}" for name in names), "mme_process_results", "mme_aggregate_results")
    )
    config = task(write("mme.yaml", MME))
    assert (config.name, config.path, config.dataset_path) == ("mme", "mme", "lmms-lab/MME")
    assert config.dataset_kwargs == {"token": True} and config.version == 0.0 and config.doc_to_target == "answer"
    assert isinstance(config.doc_to_text, FunctionRef) and config.where("doc_to_text").endswith("mme.yaml:9")
    assert config.prompt_kwargs["qwen_vl"] == {"pre_prompt": "", "post_prompt": " Answer:"}
    assert config.generation_kwargs["max_new_tokens"] == 16
    [pipeline] = config.pipelines()
    assert pipeline["name"] == "none" and pipeline["filter"] == []
    assert [metric["metric"] for metric in pipeline["metric_list"]] == ["mme_percetion_score", "mme_cognition_score"]
    assert pipeline["metric_list"][1].where().endswith("mme.yaml:22")
    resolved = config.resolved(FOREIGN_CODE)
    assert resolved.process_results({}) == "mme_process_results"
    assert resolved.pipelines()[0]["metric_list"][0]["aggregation"]() == "mme_aggregate_results"
    assert resolved.digest() == config.digest() and resolved.where("process_results").endswith("mme.yaml:17")


def test_the_seedbench_ppl_file_of_lmms_evals_guide_loads_unchanged(write: Write) -> None:
    write("utils.py", functions(*(f"seed_doc_to_{name}" for name in ("visual", "text_mc", "choice", "mc_target"))))
    config = task(write("seedbench_ppl.yaml", SEEDBENCH_PPL)).resolved(FOREIGN_CODE)
    assert config.output_type == "multiple_choice" and config.doc_to_choice({}) == "seed_doc_to_choice"
    assert [metric["metric"] for metric in config.pipelines()[0]["metric_list"]] == ["acc"]


def test_other_spellings_of_keys_are_understood(write: Write) -> None:
    text = "doc_to_visial: image\nlmms_eval_specific_kwargs: {default: {a: b}}\nrevision: abc\ngroup: [vqa, vision]\ntag: text\n"
    config = task(write("t.yaml", text, task="t"))
    assert config.doc_to_visual == "image" and config.prompt_kwargs == {"default": {"a": "b"}}
    assert config.dataset_revision == "abc" and config.tag == ("text", "vqa", "vision")
    assert config.where("doc_to_visual").endswith("t.yaml:10")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("num_fewshto: 5\n", "t.yaml:10: unknown key 'num_fewshto' in task 't'. Did you mean 'num_fewshot'?"),
        ("num_fewshot: five\n", "t.yaml:10: 'num_fewshot' must be a whole number from 0, not 'five'."),
        ("num_fewshot: true\n", "t.yaml:10: 'num_fewshot' must be a whole number from 0, not True."),
        ("repeats: 0\n", "t.yaml:10: 'repeats' must be a whole number from 1 to 10,000, not 0."),
        ("validation_split: 3\n", "t.yaml:10: 'validation_split' must be a text, not 3."),
        ("generation_kwargs: [1]\n", "t.yaml:10: 'generation_kwargs' must be a mapping"),
        ("process_docs: utils.f\n", "t.yaml:10: 'process_docs' must be a function (!function utils.f), not 'utils.f'."),
        ("filter_list: [{filter: []}]\n", "t.yaml:10: each entry of filter_list needs a text as its `name`"),
        (
            "filter_list:\n  - {name: a, filter: []}\n  - {name: a, filter: []}\n",
            "t.yaml:12: two filter pipelines are named",
        ),
        ("filter_list: [{name: a, filters: []}]\n", "Did you mean 'filter'?"),
        ("filter_list: [{name: a, score_key: x, filter: []}]\n", "unknown key 'score_key' in filter pipeline 'a'"),
        ("filter_list: [{name: a, filter: [{regex: x}]}]\n", "a step of filter pipeline 'a' needs a `function`"),
        ("fewshot_config: {sampling: x}\n", "t.yaml:10: unknown key 'sampling' in fewshot_config. Did you mean 'sampl"),
        ("fewshot_config: {fewshot_indices: [a]}\n", "t.yaml:10: 'fewshot_indices' must be a list of whole numbers"),
        ("model_specific_prompt_kwargs: {pre_prompt: a}\n", "t.yaml:10: the prompt block 'pre_prompt' is 'a'."),
        ("model_specific_generation_kwargs: {default: {temperature: 1}}\n", "t.yaml:10: the `default` of model_spec"),
        ("model_specific_target_kwargs: a\n", "t.yaml:10: 'model_specific_target_kwargs' must be a mapping"),
        ("use_prompt: a\n", "t.yaml:10: 'use_prompt' is not supported: promptsource"),
        (
            "scorer: x\nprocess_results: !function mm_eval.metrics.aggregation.mean\n",
            "t.yaml:10: scorer and process_results are",
        ),
        (
            "filter_list: [{name: a, filter: [], metric_list: [{metric: 'a,b'}]}]\n",
            "t.yaml:10: the name of a metric can't contain a comma",
        ),
        (
            "unsafe_code: true\n",
            "t.yaml:10: unsafe_code: code of a model runs only as the tool python, and never to score an answer.",
        ),
        ("process_docs: !function utils.f\n", "t.yaml:10: !function 'utils.f': there is no"),
        ("tag: [a, 1]\n", "t.yaml:10: 'tag' must be a text or a list of texts"),
        ("description: [a]\n", "t.yaml:10: 'description' must be a column"),
        ("doc_to_visual: [a, 1]\n", "t.yaml:10: 'doc_to_visual' must be a column, a list of columns or a function"),
        (
            "fewshot_delimiter: !function utils.f\n",
            "t.yaml:10: 'fewshot_delimiter' must be a text, not !function utils.f.",
        ),
        (
            "fewshot_config: {num_fewshot: 2}\n",
            "t.yaml:10: unknown key 'num_fewshot' in fewshot_config. It is a key of the task",
        ),
        (
            "fewshot_config: {sample: []}\n",
            "unknown key 'sample' in fewshot_config. Did you mean 'sampler' or 'samples'",
        ),
        ("formats: mcqaa\n", "t.yaml:10: Unknown format 'mcqaa'. Did you mean 'mcqa'?"),
        ("formats: {type: mcqa, instructions: a}\n", "has no field 'instructions'. Did you mean 'instruction'"),
        ("doc_to_visual: image\ndoc_to_visial: image\n", "t.yaml:11: 'doc_to_visial' is another spelling"),
    ],
)
def test_a_mistake_is_told_with_file_line_and_a_suggestion(write: Write, text: str, told: str) -> None:
    assert told in error(write, text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("task: t\ntest_split: test\ndoc_to_text: q\n", "t.yaml:1: task 't' has no dataset_path."),
        ("dataset_path: a\ntask: t\ndoc_to_text: q\n", "t.yaml:2: task 't' has neither test_split nor validation_split."),
        ("task: t\ndataset_path: a\ntest_split: test\n", "t.yaml:1: task 't' has no doc_to_text."),
        ("task: t\ndataset_path: a\ntest_split: x\ndoc_to_text: q\noutput_type: multiple_choice\n", "t.yaml:5: task 't' is mul"),
        ("task: t\noutput_type: multiple_chioce\n", "t.yaml:2: 'output_type' must be one of generate_until, multiple_choice"),
        ("task: a,b\n", "t.yaml:1: 'a,b' can't be a name"),
        ("task: [a]\n", "t.yaml:1: a task needs a name under `task`"),
        ("task: t\ndoc_to_choice: [no, yes]\n", "t.yaml:2: 'doc_to_choice' must be a column"),
        ("task: t\nmetric_list:\n  - metric: acc\n  - aggregation: mean\n", "t.yaml:4: each entry of metric_list needs a"),
        ("task: t\nmetric_list:\n  - metric: acc\n  - metric: acc\n", "t.yaml:4: the metric 'acc' is listed twice"),
        (
            "task: t\nmetric_list:\n  - metric: acc\n    range: [10, 0]\n",
            "t.yaml:4: `range` of metric 'acc' is [10, 0]; it needs [least",
        ),
        (
            "task: t\njudge: {prompt: !function u.p, verdict: !function u.v, verdict_examples: [[a, null]],"
            " metric_list: [{metric: m, range: 10}]}\n",
            "t.yaml:2: `range` of metric 'm' is 10; it needs [least",
        ),
        ("task: t\nmetric_list:\n  - {metric: acc, aggregation: 3}\n", "t.yaml:3: 'aggregation' must be a name or a function"),
        ("task: t\nmetric_list: acc\n", "t.yaml:2: 'metric_list' must be a list of mappings, not 'acc'."),
    ],
)  # fmt: skip
def test_what_is_missing_or_wrong_is_told_with_file_and_line(write: Write, text: str, told: str) -> None:
    assert told in error(write, text, whole=False)


def test_yes_and_no_without_quotes_say_what_yaml_made_of_them(write: Write) -> None:
    assert "quote them" in error(write, "task: t\ndoc_to_choice: [no, yes]\n", whole=False)


def test_keys_without_effect_are_accepted(write: Write) -> None:
    config = task(
        write("t.yaml", "should_decontaminate: true\ndoc_to_decontamination_query: q\nfull_docs: true\n"
              "model_specific_generation_kwargs: {llava: {image_aspect_ratio: original}}\nscore_key: acc\n"
              "auto_strip_thinking: true\n", task="t")
    )  # fmt: skip
    without = {"should_decontaminate", "model_specific_generation_kwargs", "score_key", "auto_strip_thinking"}
    assert not without & set(config.to_json())


def test_a_key_that_is_not_supported_is_put_aside_by_a_file_that_includes_it(write: Write) -> None:
    text = "use_prompt: promptsource\n"
    assert "write doc_to_text, doc_to_choice and doc_to_target. To drop it, write a file" in error(write, text)
    assert "`use_prompt: null`" in error(write, text)
    write("below.yaml", text, task="below")
    config = task(write("above.yaml", "task: above\ninclude: below.yaml\nuse_prompt: null\n"))
    assert config.name == "above" and "use_prompt" not in config.to_json()


def test_reasoning_tags_that_name_no_marks_are_reported_with_their_line(write: Write) -> None:
    assert "t.yaml:10: '<a>' names no marks" in error(write, "reasoning_tags: <a>\n")
    write("utils.py", functions("f"))
    assert "State --reasoning_tags" in error(write, 'reasoning_tags: "<a>,</a>"\nrounds: !function utils.f\n')


def test_pipelines_are_as_written_and_inherit_metrics(write: Write) -> None:
    write("utils.py", functions("metric", "step"))
    text = """
        filter_list:
          - name: strict
            filter:
              - {function: regex, regex_pattern: "#### (.*)", group_select: -1}
              - {function: take_first}
          - name: loose
            filter:
              - {function: custom, kwargs: {filter_fn: !function utils.step}}
            metric_list:
              - {metric: !function utils.metric, aggregation: mean, ignore_case: true, kwargs: {a: 1}, reduction: mean}
        """
    config = task(write("t.yaml", text, task="t")).resolved(FOREIGN_CODE)
    strict, loose = config.pipelines()
    assert strict["filter"] == [
        {"function": "regex", "regex_pattern": "#### (.*)", "group_select": -1},
        {"function": "take_first"},
    ]
    assert strict["metric_list"] == [{"metric": "acc"}]
    assert loose["filter"][0]["kwargs"]["filter_fn"]() == "step"
    [metric] = loose["metric_list"]
    assert metric["metric"]() == "metric" and arguments_of(metric, METRIC_KEYS) == {"ignore_case": True, "a": 1}
    assert (metric["aggregation"], metric["reduction"]) == ("mean", "mean")


def test_metadata_gives_version_and_the_shown_number_of_shots(write: Write) -> None:
    config = task(write("t.yaml", "metadata: [{version: 2.1}, {num_fewshot: 8}]\nnum_fewshot: 3\n", task="t"))
    assert (config.version, config.shown_num_fewshot, config.num_fewshot) == (2.1, 8, 3)
    assert task(write("u.yaml", "num_fewshot: 3\n", task="u")).shown_num_fewshot == 3


def test_a_class_based_task_keeps_unknown_keys_as_arguments(write: Write) -> None:
    write("task.py", "class Qasper: ...\n")
    config = task(write("t.yaml", "task: q\nclass: !function task.Qasper\nrecipe: card=a\nnum_fewshot: 1\n"))
    assert config.class_arguments == {"recipe": "card=a"} and config.num_fewshot == 1
    assert config.resolved(FOREIGN_CODE).task_class.__name__ == "Qasper"


def test_the_digest_follows_the_config_and_the_source_of_its_functions_only(write: Write) -> None:
    write("utils.py", functions("f"))
    text = "process_docs: !function utils.f\n"
    first = task(write("t.yaml", text, task="t")).digest()
    assert task(write("other/../t2.yaml", f"# a comment\n{text}task_alias: T\ntag: x\n", task="t")).digest() == first
    assert task(write("t.yaml", text + "num_fewshot: 1\n", task="t")).digest() != first
    known = task(write("t.yaml", text, task="t"))
    assert known.digest() == first
    write("utils.py", functions("f") + "# changed\n")
    assert known.digest() == task(write("t.yaml", text, task="t")).digest() != first


def test_json_has_functions_by_name_and_no_path_of_this_machine(write: Write, tmp_path: Path) -> None:
    write("utils.py", functions("f"))
    path = write("t.yaml", "process_docs: !function utils.f\nmetadata: [{version: 1}]\n", task="t")
    shown = task(path).to_json()
    assert shown["process_docs"] == "utils.f" and shown["metadata"] == {"version": 1} and shown["task"] == "t"
    assert str(tmp_path) not in json.dumps(shown)


def test_a_config_given_in_python_may_hold_functions(manager: Callable[[], TaskManager]) -> None:
    def text(doc: Mapping[str, Any]) -> str:
        return str(doc["q"])

    given = {"task": "mine", "dataset_path": "json", "test_split": "train", "doc_to_text": text}
    config = manager().load([given]).tasks["mine"]
    assert config.resolved(FOREIGN_CODE).doc_to_text is text and json.dumps(config.to_json())
    other = manager().load([{**given, "doc_to_text": lambda doc: "x"}]).tasks["mine"]
    assert other.digest() != config.digest()


def test_functions_of_an_included_file_stand_beside_the_file_that_wrote_them(write: Write) -> None:
    write("base/utils.py", "def f(doc): return 'base'\n")
    write("base/_b.yaml", "process_docs: !function utils.f\n")
    write("own/utils.py", "def g(doc): return 'own'\n")
    path = write("own/t.yaml", "include: ../base/_b.yaml\nprocess_results: !function utils.g\n", task="t")
    config = task(path).resolved(FOREIGN_CODE)
    assert (config.process_docs({}), config.process_results({})) == ("base", "own")


@pytest.mark.parametrize(
    ("name", "keys", "code", "theirs"),
    [
        ("t.yaml", "model_specific_prompt_kwargs: {default: {a: b}}\n", "", False),
        ("t.yaml", "lmms_eval_specific_kwargs: {default: {a: b}}\n", "", True),
        ("t.yaml", "include: _base\n", "", True),
        ("t.yaml", "doc_to_visual: !function utils.f\n", "import os\n", False),
        ("t.yaml", "doc_to_visual: !function utils.f\n", "from lmms_eval.tasks._task_utils import x\n", True),
        ("t.yaml", "doc_to_visual: !function utils.f\n", "from .helpers import x\n", True),
        ("lmms_eval/tasks/t/t.yaml", "", "", True),
        ("lmms_eval/t.yaml", "", "", False),
    ],
)
def test_a_file_that_was_written_for_lmms_eval_is_known(
    write: Callable[..., Path], name: str, keys: str, code: str, theirs: bool
) -> None:
    write("_base", "lmms_eval_specific_kwargs: {default: {a: b}}\n")
    write("helpers.py", "import lmms_eval.api as x\n")
    write("utils.py", f"{code}def f(doc): return []\n")
    path = write(name, keys, task="t")
    assert TaskConfig.from_mapping(load_config(path)[0], file=path).of_lmms_eval is theirs


def test_keys_beside_the_blocks_of_lmms_eval_are_of_every_model() -> None:
    """lemonade and mmsearch: lmms-eval lays `default` over the mapping itself, so that functions get both."""
    from mm_eval.config.schema import canonical_keys

    stated = {"max_num_frames": 8, "pre": "x", "default": {"pre": "y"}, "llava": {"pre": "z"}}
    found = canonical_keys({"lmms_eval_specific_kwargs": stated})
    assert found["model_specific_prompt_kwargs"] == {
        "default": {"max_num_frames": 8, "pre": "y"},
        "llava": {"pre": "z"},
    }
    same = {"default": {"a": "b"}}
    assert canonical_keys({"lmms_eval_specific_kwargs": same})["model_specific_prompt_kwargs"] == same
    assert canonical_keys({"model_specific_prompt_kwargs": stated})["model_specific_prompt_kwargs"] == stated
