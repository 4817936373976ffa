"""Odd values of every option: exit 2 and one line that names the option and quotes what was given. Never a traceback."""

import argparse
import importlib
import json
from functools import partial
from pathlib import Path

import pytest
import yaml

from mm_eval.cli import VERBS, main
from mm_eval.cli.run import add_arguments
from mm_eval.config.arguments import parse_json, shortly
from mm_eval.request import MOST_DRAWS, RULES, VERBOSITY, RunRequest, by_field, check_options, read_option
from mm_eval.values.errors import ConfigError
from tests.sets import each_of, few

NO_NUMBERS = ["", "  ", "²", "٣", "５", "१", "½", "Ⅳ", "nan", "inf", "-inf", "Infinity", "1e400", "-1e400", "0.5.5", "1__0",
              "_1", "1_", "0x10", "1,0", "5,6", "a", "true", "None", "null", "[1]", "{}", "()", "3\n4", "\x1b[31m", "\udcff",
              "1" + "0" * 400, "9" * 5000, "-1", "-" + "9" * 30, "1/2", "--1", "1e", "e1", ".", "+", "0b1", "1j"]  # fmt: skip
NO_WHOLE_NUMBERS = [*NO_NUMBERS, "1.5", "1e3", ".5", "1.0", "9223372036854775808"]
NO_TEXTS = ["", " ", "\n", "\udcff", "a\ud800"]
NO_SWITCHES = ["", " ", "0", "1", "yes", "no", "²", "truee", "[true]", "\udcff", "on"]
NO_JSON = ["{", "{'mme': [0]}", '{"mme": [0]}x', '{"mme": [0], "mme": [1]}', '{"mme": [NaN]}', '{"mme": [Infinity]}',
           '{"mme": [1e400]}', '{"mme": [%s]}' % ("9" * 400), '{"mme": [%s]}' % ("9" * 5000), '{"mme": ' + "[" * 100_000,
           '{"mme":' * 5000, '{"mme": [0,]}', "[0]", "[]", "{}"]  # fmt: skip
NO_SAMPLES = [*NO_JSON, *(json.dumps({"mme": value}) for value in (
    [True], [False, 0], [[0]], [{}], [None], [-1], [0, -1], [0, 0], [3, 1, 3], [1.5], [1.0], ["0"], [], {}, "0", 0, None, True,
    10**30)), '{"": [0]}', "", "/nowhere.json", "/", "/dev/null", "²", "null", "1", '"mme"']  # fmt: skip
NO_PAIRS = ["a", "=", "=a", "a=1,a=2", "[]", "null", "5", "²", "{", '{"a": 1,}', '{"a": 1, "a": 2}', '{"a": NaN}',
            '{"a": -Infinity}',             '{"a": 1e400}', '{"a": %s}' % ("9" * 400), '{"a":' * 5000,
            '{"a": ' + "[" * 100_000, '{"": 1}', '{" ": 1}',
            '{"a": {"b": [1, {"": 2}]}}', '{"a": ' + "[" * 40 + "]" * 40 + "}", "a=\udcff", '{"a": "\\ud800"}']  # fmt: skip
CASES = {
    "--limit": [
        *(v for v in NO_NUMBERS if v != "-1"),
        "-2",
        "0",
        "0.0",
        "1.5",
        "1e-400",
        "-0.5",
        "9223372036854775808",
    ],
    "--fail_on_error": [*(v for v in NO_NUMBERS if v != "true"), "0", "0.0", "1.5", "-0.5", "yes"],
    "--batch_size": [*NO_WHOLE_NUMBERS, "0", "AUTO", "auto:", "auto:x"],
    "--num_fewshot": NO_WHOLE_NUMBERS,
    "--seed": [*NO_WHOLE_NUMBERS, "0,1", "0,1,2,x", "x,1,2,3"],
    "--bootstrap_iters": [*NO_WHOLE_NUMBERS, str(MOST_DRAWS + 1), "9" * 25],
    "--samples": NO_SAMPLES,
    "--model_args": NO_PAIRS,
    "--gen_kwargs": [*NO_PAIRS, "a=nan", "a=NaN", "a=inf", "a=-Infinity", "a=1e400", "a=[1e400]", "a=" + "9" * 5000],
    "--fewshot_as_multiturn": NO_SWITCHES,
    "--apply_chat_template": NO_TEXTS,
    "--system_instruction": ["\udcff", "a\ud800"],
    "--verbosity": [*NO_SWITCHES, "loud", "10", "debug "],
    **dict.fromkeys(("--model", "--device", "--prompt_key"), NO_TEXTS),
    **dict.fromkeys(("--include_path", "--data_root", "--output_path", "--use_cache", "--config"), NO_TEXTS),
}
ODD = [(option, value) for option, values in CASES.items() for value in values]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("option", few(CASES, at=[0, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]))
def test_an_odd_value_is_one_line_and_exit_code_2(option: str, elsewhere: Path, capsys) -> None:
    for value in CASES[option]:
        code = main(["--tasks", "mme", "--model=dummy", "--sample", f"{option}={value}"])
        err = capsys.readouterr().err
        assert code == 2 and len(err.splitlines()) == 1, (option, value[:50], err[:500])
        assert err.startswith("mm-eval: config error: ") and option in err, (value[:50], err[:500])
        assert len(err) < 600, "a long value is cut"
        assert list(elsewhere.iterdir()) == [], "nothing was requested and nothing written"


@pytest.mark.parametrize(
    "words", [["show", "mme", "--doc"], ["compare", "a", "b", "--flips"], ["score", "a", "--bootstrap_iters"]]
)
def test_an_odd_value_of_another_verb(words: list[str], capsys) -> None:
    for value in NO_WHOLE_NUMBERS:
        assert main([*words[:-1], f"{words[-1]}={value}"]) == 2
        err = capsys.readouterr().err
        assert len(err.splitlines()) == 1 and words[-1] in err, value[:50]


@each_of(
    "option, text, value",
    [("limit", "5", 5), ("limit", " 5 ", 5), ("limit", "+5", 5), ("limit", "1_000", 1000), ("limit", "0.25", 0.25),
     ("limit", ".5", 0.5),     ("limit", "1e3", 1000), ("limit", "10.0", 10), ("fail_on_error", "TRUE",
     True), ("fail_on_error", "false", False),
     ("fail_on_error", "0.1", 0.1), ("fail_on_error", "7", 7), ("batch_size", "auto", "auto"), ("batch_size", "8", 8),
     ("seed", "0", 0), ("seed", "9223372036854775807", 2**63 - 1), ("num_fewshot", "0", 0), ("chat_template", "false", False),
     ("chat_template", "rag", "rag"), ("fewshot_as_multiturn", "True", True), ("system_instruction", "", ""),
     ("output_path", "  a\nb ", "  a\nb "), ("bootstrap_iters", "0", 0)],
)  # fmt: skip
def test_what_is_allowed(option: str, text: str, value: object) -> None:
    found = read_option(option, text)
    assert found == value and type(found) is type(value)


def test_a_level_is_read_in_small_letters_too() -> None:
    assert read_option("verbosity", "debug", VERBOSITY) == "DEBUG"


NO_VALUES = {
    "limit": [0, -1, 1.0, 1.5, 0.0, float("inf"), float("nan"), "5", True, [5], {}, 10**400, 10**5000],
    "fail_on_error": [0, -1, 1.5, float("nan"), "true", [True], 10**400],
    "batch_size": [0, -1, 1.5, True, "Auto", "8", [8], 10**5000],
    "num_fewshot": [-1, 1.5, True, "1", [], 10**400],
    "seed": [-1, 1.5, False, "1", [0, 1], 10**400],
    "bootstrap_iters": [-1, 1e3, True, MOST_DRAWS + 1],
    "samples": [{"mme": [True]}, {"mme": [[0]]}, {"mme": [-1]}, {"mme": [0, 0]}, {"mme": 3}, {3: [0]}, [0], {}, "mme"],
    "chat_template": [1, [], "", "\ud800"],
    "fewshot_as_multiturn": ["true", 1, 0],
    "sample": ["no", 1, []],
    "report": ["no", 0],
    "no_report": ["no", 0, [True]],
    "gen_kwargs": ["a=1", [1], {"a": float("nan")}, {"a": 10**400}, {3: 1}, {"a": object()}, {"a": [[float("inf")]]}],
    "model_args": [5, [1], {"": 1}, {"a": {2}}],
    "output_path": ["", 5, "a\0b", "\ud800", []],
    "use_cache": [True, "", {}],
    "name": ["", True, [], "\ud800"],
    "device": [0, ""],
    "prompt_key": [5, ""],
    "system_instruction": [5, ["a"], "\ud800"],
}


@each_of("option", NO_VALUES)
def test_an_odd_value_in_python(option: str) -> None:
    for value in NO_VALUES[option]:
        with pytest.raises(ConfigError, match=rf"evaluate: `{option}` is .* needed\.$") as caught:
            check_options({option: value}, "evaluate")
        assert len(str(caught.value)) < 400


NO_YAML = [".inf", "-.inf", ".nan", "0", "-1", "1.5", "'5'", "[5]", "{a: 5}", "true", "1e400",
           "5" * 400, "5" * 5000, "٣", "²", "''", "0o8", "2024-01-01",
           "!!python/name:os.system x", "!function utils.f"]  # fmt: skip


@pytest.mark.parametrize("value", NO_YAML, ids=lambda value: value[:20])
@pytest.mark.parametrize("at", ["file", "model"])
def test_an_odd_value_in_a_release_file(value: str, at: str, elsewhere: Path, capsys) -> None:
    shared, own = (f"limit: {value}\n", "") if at == "file" else ("", f", limit: {value}")
    (elsewhere / "release.yaml").write_text(f"tasks: [mme]\n{shared}models:\n  - {{model: dummy{own}}}\n")
    assert main(["run", "--config", "release.yaml"]) == 2
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1 and "release.yaml" in err and len(err) < 700
    assert not (elsewhere / "runs").exists()


@pytest.mark.parametrize(
    "text", ["tasks: 5", "tasks: {a: b}", "tasks: []", "tasks: {}",
             "tasks: [5]", "tasks: ['']", "tasks: ''", "tasks: ','", "tasks: [[mme]]", "tasks: null"]
)  # fmt: skip
def test_odd_tasks_in_a_release_file(text: str, elsewhere: Path, capsys) -> None:
    (elsewhere / "release.yaml").write_text(f"{text}\nmodels: [{{model: dummy}}]\n")
    assert main(["run", "--config", "release.yaml"]) == 2
    err = capsys.readouterr().err
    assert "`tasks`" in err and len(err.splitlines()) == 1


@pytest.mark.parametrize(
    "models", ["5", "[]", "{a: b}", "[5]", "[[]]", "[{}]", "[{model: 5}]", "[{model: ''}]", "[null]", "null"]
)
def test_odd_models_in_a_release_file(models: str, elsewhere: Path, capsys) -> None:
    (elsewhere / "release.yaml").write_text(f"tasks: [mme]\nmodels: {models}\n")
    assert main(["run", "--config", "release.yaml"]) == 2
    assert "model" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"models: [", b"- a", b"\0", b"models: &a [*a]", b"a: " * 400, b"x" * 100]
)
def test_a_release_file_that_is_none(content: bytes, elsewhere: Path, capsys) -> None:
    (elsewhere / "release.yaml").write_bytes(content)
    assert main(["run", "--config", "release.yaml"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_release_file_takes_every_option_of_the_command_by_its_own_name(elsewhere: Path) -> None:
    """Of the command's options only `--config` itself, `--only` and `--format` can't stand in the file."""
    import argparse

    from mm_eval.verbs.report.release.plan import read_release

    parser = argparse.ArgumentParser()
    add_arguments(parser)
    values = {
        "tasks": "mme,seedbench", "model": "dummy", "model_args": {"a": 1}, "batch_size": 2, "device": "cpu",
        "gen_kwargs": {"max_gen_toks": 1}, "metadata": {"a": 1}, "limit": 3, "samples": {"mme": [0]}, "seed": 4,
        "num_fewshot": 0, "repeats": 2, "parallel": 2, "fail_on_error": 0.5, "bootstrap_iters": 5,
        "apply_chat_template": "false",
        "on_long_prompt": "cut", "video": "frames=8", "blind": "shuffled", "protocol_settings": ["prompt"],
        "verbosity": "warning",
        "budget": 1.5, "reasoning_tags": "<a>,</a>",
        "judge_args": {"a": 1}, "judge_retries": 1, "judge_budget": 2.5, "judge_preflight": True,
        "executor": "ray", "workers": 2, "worker_gpus": 0.5, "worker_cpus": 1, "worker_timeout": 60,
        "stop_when": "decided", "looks": 5, "alpha": 0.05, "margin": 1.0, "until_interval": 1.0,
        "sandbox": "none", "sandbox_args": {"memory": 600}, "tools": "python",
        "wandb_args": {"project": "a"}, "mlflow_args": {"experiment_name": "a"}, "trackio_args": {"project": "a"},
    }  # fmt: skip
    for action in parser._actions:
        name = action.dest
        if name in ("help", "config", "only", "format"):
            continue
        value = values.get(name, True if action.nargs == 0 or name == "fewshot_as_multiturn" else "text")
        entry = {"model": "dummy", **({name: value} if name in ("model", "model_args", "name", "output_path") else {})}
        entry.pop("output_path", None)
        for spelt in (name, name.replace("_", "-")):
            given = {} if name in ("model", "model_args", "name") else {spelt: value}
            (elsewhere / "r.yaml").write_text(yaml.safe_dump({"tasks": ["mme"], **given, "models": [entry]}))
            assert len(read_release("r.yaml", RunRequest(("mme",))).runs) == 1, name


def test_both_names_of_an_option_and_what_they_mean() -> None:
    assert by_field({"no_report": True, "apply_chat_template": "False"}, "x") == {
        "report": False,
        "chat_template": False,
    }
    assert by_field({"no-report": False, "chat_template": "rag"}, "x") == {"report": True, "chat_template": "rag"}
    with pytest.raises(ConfigError, match="`no_report` and `report` are one option"):
        by_field({"no_report": True, "report": True}, "x")


def test_python_takes_the_names_of_the_command(elsewhere: Path) -> None:
    from mm_eval import evaluate

    options = {"model": "dummy", "sample": True, "limit": 2, "output_path": "out"}
    found = evaluate("mme", no_report=True, apply_chat_template=False, **options)
    assert found.exit_code == 0 and not (elsewhere / "out" / "report.html").exists()
    with pytest.raises(ConfigError, match="`no_report` is 'yes'; true or false is needed"):
        evaluate("mme", no_report="yes", **options)


def test_every_option_of_a_run_has_a_rule() -> None:
    """A new field of `RunRequest` without a rule would reach the run unchecked."""
    assert RunRequest(()).options().keys() - {"tasks", "linked"} <= RULES.keys()  # `linked` is no option


def test_every_option_of_a_verb_has_a_rule() -> None:
    """One without would be found out by whoever gives it first."""
    for verb, (module, _) in VERBS.items():
        parser = argparse.ArgumentParser()
        importlib.import_module(module).add_arguments(parser)
        for action in parser._actions:
            if isinstance(read := action.type, partial) and read.func is read_option:
                assert read.keywords["rule"] or read.args[0] in RULES, (verb, action.dest)


def test_a_value_is_quoted_shortly() -> None:
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    assert shortly(10**5000) == shortly(deep) == "too large to show"
    assert len(shortly("x" * 10**6)) < 150
    with pytest.raises(ConfigError, match="the key 'a' is given twice"):
        parse_json('{"b": {"a": 1, "a": 1}}', "--x")
