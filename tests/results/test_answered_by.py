"""Who answered: which names are the model that was asked for, and what is said of the others."""

import json

import pytest

from mm_eval.api import evaluate
from mm_eval.results.recorded import RecordedRun
from mm_eval.scoring.answered_by import answers_for, by_name, oddity, sentence
from mm_eval.scoring.run_results import Results
from mm_eval.values.errors import StoreError
from tests.folders import edited
from tests.sets import each_of

SAME = [
    ("gpt-4o", "gpt-4o"),
    ("GPT-4o", "gpt-4o"),
    ("qwen/qwen2.5-vl-7b-instruct", "Qwen2.5-VL-7B-Instruct"),
    ("Qwen2.5-VL-7B-Instruct", "Qwen/Qwen2.5-VL-7B-Instruct"),
    ("/models/Qwen2.5-VL-7B-Instruct/", "Qwen/Qwen2.5-VL-7B-Instruct"),
    ("models/gemini-2.5-pro", "gemini/gemini-2.5-pro"),
    ("/data/llava-v1.6.gguf", "llava-v1.6"),
    ("gpt-4o-2024-08-06", "openai/gpt-4o"),
    ("gpt-4o-2024-08-06 (fp_50cad350e4)", "gpt-4o"),
    ("gpt-4o (fp_1)", "gpt-4o"),
    ("claude-3-5-sonnet-20241022", "anthropic/claude-3-5-sonnet-latest"),
    ("claude-3-5-haiku@20241022", "claude-3-5-haiku"),
    ("gemini-1.5-pro-002", "gemini-1.5-pro"),
    ("mistral-large-2411", "mistral-large-latest"),
    ("mistral-large-latest", "mistral-large-latest"),
    ("/models/tiny-llava@main", "/models/tiny-llava"),  # as transformers serve states it
    ("Qwen/Qwen2-VL-2B@main (fp_1)", "Qwen2-VL-2B"),
    ("claude-sonnet-4@20250514", "claude-sonnet-4"),
]
OTHERS = [
    ("gpt-4o-mini", "gpt-4o"),
    ("gpt-4o", "gpt-4o-mini"),
    ("gpt-4o-mini-2024-07-18", "gpt-4o"),
    ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06"),
    ("gpt-4o", "gpt-4o-2024-08-06"),
    ("Qwen/Qwen2.5-VL-7B-Instruct", "Qwen/Qwen2.5-VL-72B-Instruct"),
    ("Qwen2.5-VL-7B", "Qwen2.5-VL-7B-Instruct"),
    ("llava-v1.5-7b", "llava-v1.5-13b"),
    ("gemini-2.5-flash", "gemini-2.5-pro"),
    ("claude-sonnet-4", "claude-opus-4"),
    ("gpt-4", "gpt-4o"),
    ("tiny-llava@other", "tiny-llava"),
    ("tiny-llava-main", "tiny-llava"),
    ("gpt-4", "gpt-4.1"),
    ("Qwen2.5-VL-7B-Instruct-AWQ", "Qwen2.5-VL-7B-Instruct"),
]


@each_of(("stated", "asked"), SAME)
def test_what_changes_nothing_in_a_name(stated: str, asked: str) -> None:
    assert answers_for(stated, asked) and oddity(asked, {stated: 7}) == ""


@each_of(("stated", "asked"), OTHERS)
def test_another_model_or_another_size_is_said_with_its_replies(stated: str, asked: str) -> None:
    assert not answers_for(stated, asked)
    assert oddity(asked, {stated: 1200}) == f"{stated} (1,200) answered, and {asked} was asked"


def test_several_models_are_odd_and_several_fingerprints_of_one_are_not() -> None:
    assert oddity("gpt-4o", {"gpt-4o-2024-08-06 (fp_1)": 3, "GPT-4o-2024-08-06 (fp_2)": 4}) == ""
    both = {"gpt-4o-2024-08-06": 3, "gpt-4o-2024-11-20": 4}
    assert oddity("gpt-4o", both) == "2 models answered: gpt-4o-2024-08-06 (3), gpt-4o-2024-11-20 (4)"
    assert oddity("", both) and oddity("", {"anything": 3}) == "" and oddity("gpt-4o", {}) == ""
    many = {f"m{n}": n + 1 for n in range(5)}
    assert oddity("m0", many) == "5 models answered: m0 (1), m1 (2), m2 (3) and 2 more"


def test_a_name_is_counted_without_its_fingerprint_and_said_with_their_number() -> None:
    models = {"a (fp_1)": 2, "a (fp_2)": 3, "b": 1}
    assert by_name(models) == {"a": 5, "b": 1}
    assert sentence(models) == "a (5 replies, 2 versions), b (1 reply)" and sentence({}) == ""


def test_a_judge_is_held_to_the_same_rule_but_not_recorded_verdicts() -> None:
    judge = {"name": "j", "model": "gpt-4o", "models": {"gpt-4o-mini": 5}, "adapter": "openai"}
    assert list(Results(judges={"t": [judge], "u": [judge]}).oddities) == [
        "t, u: as the judge j, gpt-4o-mini (5) answered, and gpt-4o was asked."
    ]
    assert not list(Results(judges={"t": [{**judge, "adapter": "replay"}]}).oddities)


def test_a_changed_file_is_one_clear_error(tmp_path) -> None:
    evaluate("mme", "dummy", sample=True, limit=2, output_path=str(tmp_path / "run"))
    for odd in (["a"], "a", {"a": "many"}):
        with edited(tmp_path / "run/results.json") as results:
            results["run"]["answered_by"] = odd
        with pytest.raises(StoreError, match="answered_by"):
            RecordedRun.read(tmp_path / "run")
    assert json.loads((tmp_path / "run/results.json").read_text())["run"]["answered_by"] == odd
