"""Commands as the users of lm-eval, lmms-eval, VLMEvalKit and inspect_ai type them: each gets as far as the checkpoint."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mm_eval.aliases.command import verb_of, words_of
from mm_eval.aliases.flags import FLAGS, SHORT
from mm_eval.cli import _dispatch as dispatch
from mm_eval.cli import main
from mm_eval.cli import run as verb
from mm_eval.cli.options import read_pairs
from mm_eval.config.manager import TaskManager
from mm_eval.values.errors import ConfigError
from tests.sets import each_of, few

COMMANDS = (Path(__file__).parent / "commands.txt").read_text().splitlines()
"""Of the documentation of lm-eval and lmms-eval, without the program's name."""
REACHED = "as far as the checkpoint"
ENDS = (REACHED, "needs a checkpoint", "--judge: the answers to", "the package wandb is not installed")
"""How a command may end here: there, or where it lacks what its user must give."""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[list[str]], str]:
    """What a command says; one that reaches the checkpoint, or the data of a server's model, ends there."""

    def reached(*args: Any, **options: Any) -> None:
        raise ConfigError(REACHED)

    monkeypatch.setattr("mm_eval.models.hf.source.Checkpoint", reached)
    monkeypatch.setattr("mm_eval.prepare.open_tasks", reached)

    def run(words: list[str]) -> str:
        assert main(words) == 2
        return capsys.readouterr().err

    return run


def shipped(line: str) -> list[str]:
    """The words of a command, its tasks replaced by `mme` where they are not shipped."""
    known = TaskManager().entries

    def replaced(match: re.Match[str]) -> str:
        names = re.split(r"[ ,]+", match[2].strip())
        return f"{match[1]}{','.join(dict.fromkeys(name if name in known else 'mme' for name in names))} "

    return shlex.split(re.sub(r"(--tasks[ =])((?:[^-\s]\S*\s*)+)", replaced, line))


@pytest.mark.parametrize("line", few(COMMANDS, at=range(0, len(COMMANDS), 6)))
def test_documented_commands_reach_the_checkpoint(line: str, run: Callable[[list[str]], str]) -> None:
    said = run(shipped(line))
    assert any(end in said for end in ENDS), said


OURS = tuple(
    f"--{name}"
    for name in (
        *("tasks", "model", "model_args", "gen_kwargs", "seed", "limit", "batch_size", "output_path", "num_fewshot"),
        *("verbosity", "predict_only", "judge_args", "fewshot_as_multiturn", "repeats", "video", "metadata"),
    )
)


@each_of(
    ("typed", "ours"),
    [
        ("--tasks mme pope,gqa --limit 8", "--tasks=mme,pope,gqa --limit=8"),
        ("-m hf -t mme -a pretrained=x", "--model hf --tasks=mme --model_args=pretrained=x"),
        ("-b 4 -L 8 -o out", "--batch_size=4 --limit=8 --output_path=out"),
        ("--model GPT4o Qwen2-VL-7B-Instruct --tasks mme", "--model GPT4o --model Qwen2-VL-7B-Instruct --tasks=mme"),
        ("-M hf -L8 -f 5", "--model hf --limit=8 --num_fewshot 5"),
        ("--model_args pretrained=x dtype=float32", "--model_args=pretrained=x,dtype=float32"),
        ("--model_args a=1,b=2, c=3,d=4, e=5", "--model_args=a=1,b=2,c=3,d=4,e=5"),
        ('--model_args {"a":1}', '--model_args={"a":1}'),
        ('--metadata {"max_seq_lengths":[4096]}', '--metadata={"max_seq_lengths":[4096]}'),
        ("--metadata tokenizer=gpt2 max_seq_lengths=[4096,8192]", "--metadata=tokenizer=gpt2,max_seq_lengths=[4096,8192]"),
        ("--seed 0,1234,1234,1234", "--seed=1234"),
        ("--seed None,None,None,7", "--seed=7"),
        ("--seed 3,None,5", "--seed=5"),
        ("--seed None", "--seed=None"),
        ("--batch_size auto:4", "--batch_size=auto"),
        ("--limit -1", ""),
        ("--verbosity warn", "--verbosity=WARNING"),
        ("--output_path runs/a.json", "--output_path=runs/a"),
        ("--fewshot_as_multiturn --predict_only", "--fewshot_as_multiturn=true --predict_only"),
        ("--fewshot_as_multiturn false", "--fewshot_as_multiturn false"),
        ("--trust_remote_code --model_args pretrained=x", "--model_args=pretrained=x,trust_remote_code=True"),
        ("--trust_remote_code", "--model_args=trust_remote_code=True"),
        ("--data MMBench_DEV_EN MME --mode infer", "--tasks=MMBench_DEV_EN,MME --predict_only"),
        ("--temperature 0.5 --gen_kwargs top_p=0.9", "--gen_kwargs=top_p=0.9,temperature=0.5"),
        ('--max_connections 8 --model_args {"model":"x"}', '--model_args={"num_concurrent": "8", "model": "x"}'),
        ('--gen_kwargs temperature=0.8 stop=["x"]', '--gen_kwargs=temperature=0.8,until=["x"]'),
        ("--nproc 16 --api_nproc 8 --tasks mme", "--tasks=mme --model_args=num_concurrent=8"),
        ("--stop_seqs a,b", '--gen_kwargs=until=["a", "b"]'),
        ("-M tensor_parallel_size=2 --model_args pretrained=x", "--model_args=pretrained=x,tensor_parallel_size=2"),
        ("--nframe 16", "--video=frames=16"),
        ("--offset 0", ""),
        ("--log_samples --tasks mme", "--tasks=mme"),
        ("--wandb_args project=a,name=b entity=c --tasks mme", "--tasks=mme"),
    ],
)  # fmt: skip
def test_options_in_our_words(typed: str, ours: str) -> None:
    found, _ = words_of("run", typed.split(), OURS)
    assert " ".join(found) == ours


def test_what_does_nothing_is_one_note_and_no_suggestion(run: Callable[[list[str]], str]) -> None:
    """`--log_samples` suggested `--sample`, which swaps in toy data."""
    said = run(["--model", "hf", "--model_args", "pretrained=x", "--tasks", "mme", "--log_samples", "--log_samples"])
    assert said.count("note:") == 1
    assert "--log_samples: answers and scores of every document are always in samples/" in said
    assert "Did you mean" not in said


@each_of("name", sorted(FLAGS))
def test_every_option_of_others_is_read_or_refused_with_what_to_write(name: str) -> None:
    flag = FLAGS[name]
    assert (
        flag.note
        or flag.refused
        or flag.ours
        or flag.into
        or flag.means
        or name in ("mode", "fps", "nframe", "model_arg")
    )
    words = [f"--{name}", *(["1"] if flag.takes in (1, "+") else []), "--tasks", "mme"]
    try:
        found, _ = words_of("run", words, OURS)
    except ConfigError as error:
        assert flag.refused
        assert flag.refused in str(error)
    else:
        assert not flag.refused
        assert "--tasks=mme" in found or "--tasks" in flag.ours
        assert f"--{name}" not in found


def own_options() -> set[str]:
    parser = argparse.ArgumentParser()
    verb.add_arguments(parser)
    return {option for action in parser._actions for option in action.option_strings}


def test_short_options_are_not_options_here() -> None:
    assert not own_options() & set(SHORT)


@each_of(
    ("words", "said"),
    [
        (["accelerate", "launch", "-m", "lm_eval", "--model", "hf"], "mm-eval --model hf (several processes: torchrun"),
        (["lm_eval", "--model", "hf", "--tasks", "mme"], "mm-eval --model hf --tasks mme"),
        (["python3", "-m", "lmms_eval", "--tasks", "mme"], "mm-eval --tasks mme"),
        (["OPENAI_API_KEY=x", "lm_eval", "--model", "hf"], "mm-eval --model hf"),
        (["uv", "run", "lm_eval", "-m", "hf", "-t", "mme"], "mm-eval -m hf -t mme"),
        (
            ["torchrun", "--nproc_per_node=8", "run.py", "--data", "MME", "--model", "hf"],
            "mm-eval --data MME --model hf (several",
        ),
        (
            ["inspect", "eval", "inspect_evals/gsm8k", "--model", "hf/a/b"],
            "mm-eval --tasks inspect_evals/gsm8k --model hf/a/b",
        ),
        (["inspect_evals/gsm8k", "--limit", "3"], "mm-eval --tasks inspect_evals/gsm8k --limit 3"),
        (["eval", "--model", "qwen2_5_vl", "--tasks", "mme"], "mm-eval --model qwen2_5_vl --tasks mme"),
        (["tasks", "list"], "mm-eval ls tasks"),
        (["ui"], "mm-eval view"),
    ],
)
def test_first_words_of_others(words: list[str], said: str) -> None:
    assert said in verb_of(words[0], words)


@each_of(
    ("typed", "read"),
    [
        ("until=['Q:', 'a,b'],temperature=0", {"until": ["Q:", "a,b"], "temperature": 0}),
        ("until='Q:'", {"until": "Q:"}),
        ('until=["Q:"],do_sample=False', {"until": ["Q:"], "do_sample": False}),
        ("until=it's", {"until": "it's"}),
        ("until=[Q:]", {"until": "[Q:]"}),
    ],
)
def test_generation_options_may_be_written_as_python(typed: str, read: dict[str, Any]) -> None:
    assert read_pairs(typed, "--gen_kwargs", typed=True) == read


def test_quotes_that_the_shell_left_are_no_part_of_a_model_argument() -> None:
    given = 'pretrained=\'a/b\',dtype="float",note="it\'s",extra_body={"a": "b"}'
    expected = {"pretrained": "a/b", "dtype": "float", "note": "it's", "extra_body": '{"a": "b"}'}
    assert read_pairs(given, "--model_args") == expected


@pytest.mark.parametrize("value", ["list", "list_groups", "list_with_num"])
def test_lists_of_tasks_are_a_command_here(value: str) -> None:
    with pytest.raises(ConfigError, match="mm-eval ls"):
        words_of("run", ["--tasks", value], OURS)


def test_a_range_of_docs_is_refused() -> None:
    with pytest.raises(ConfigError, match="--samples"):
        words_of("run", ["--limit", "10-20"], OURS)


def test_help_names_none_of_these(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    shown = capsys.readouterr().out
    assert not [name for name in FLAGS if f"--{name} " in shown and f"--{name}" not in own_options()]


def test_an_option_that_is_cut_short_or_misspelt_is_that_of_the_other_suite() -> None:
    assert words_of("run", ["--output", "x", "--output_p=y"], OURS)[0] == ["--output_path=x", "--output_path=y"]
    with pytest.raises(ConfigError, match="'--log_samples_suffix', an option of other suites"):
        words_of("run", ["--log_samples_sufix", "x"], OURS)
    assert words_of("run", ["--quite_another=x"], OURS)[0] == ["--quite_another=x"]  # the parser of `run` says it


def test_a_file_of_options_is_read_as_the_command_and_options_come_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """lm-eval's and lmms-eval's `--config`: ours is a release file with `models:`."""
    file = tmp_path / "eval.yaml"
    file.write_text(
        "model: hf\nmodel_args: {pretrained: gpt2}\ntasks: [hellaswag, arc_easy]\nlog_samples: true\n"
        "seed: [0, 1234, 1234, null]\nwandb_args: {}\nhf_hub_log_args: {}\nmetadata: {}\npredict_only: false\nlimit: 5\n"
    )
    found, notes = words_of("run", ["-C", str(file), "--limit", "3"], OURS)
    assert found == [
        "--model=hf", '--model_args={"pretrained": "gpt2"}', "--tasks=hellaswag,arc_easy", "--seed=1234", "--limit=5", "--limit=3"
    ]  # fmt: skip
    assert [note.partition(":")[0] for note in notes] == ["--log_samples", "--seed"]
    file.write_text("- {model: a, tasks: mme}\n- {model: b, tasks: mme}\n")
    with pytest.raises(ConfigError, match="2 runs"):
        words_of("run", [f"--config={file}"], OURS)
    file.write_text("{model: a, tasks: mme, env: {OPENAI_API_KEY: secret, HF_HOME: x, HOME: $HOME}}")
    with pytest.raises(ConfigError, match="in the shell") as error:
        words_of("run", ["--config", str(file)], OURS)
    assert "OPENAI_API_KEY, HF_HOME for" in str(error.value) and "secret" not in str(error.value)
    file.write_text("{model: a, tasks: mme, env: {NOT_SET: '${NOT_SET}', HERE: ~/x}}")
    monkeypatch.setenv("HERE", str(Path.home() / "x"))
    assert words_of("run", ["--config", str(file)], OURS)[0] == ["--model=a", "--tasks=mme"]
    file.write_text('{"model": {"GPT4o": {"class": "GPT4V"}}, "data": {"MME": {}, "X": {"dataset": "POPE"}}}')
    with pytest.raises(ConfigError, match="config of VLMEvalKit.* --model GPT4o --tasks MME,POPE"):
        words_of("run", ["--config", str(file)], OURS)
    for ours in ("models: [{model: dummy}]\ntasks: [mme]\n", "[", "a: 1\n"):
        file.write_text(ours)
        assert words_of("run", ["--config", str(file)], [*OURS, "--config"])[0] == ["--config", str(file)]


def test_a_command_in_our_words_is_translated_by_nobody(cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither its words nor its model are looked up among those of other suites."""
    monkeypatch.setattr("mm_eval.aliases.command.words_of", None)  # to call it would fail
    monkeypatch.setattr("mm_eval.aliases.request.in_our_words", None)
    assert cli("--tasks", "mme", "--model", "dummy", "--sample", "--limit", "1", "--predict_only").code == 0


@pytest.mark.parametrize(
    "words", ["--limit -1", "--output_path a.json", "--gen_kwargs stop=x", "--tasks list", "-m dummy"]
)
def test_what_other_suites_mean_otherwise_is_translated(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def translate(*given: Any) -> None:
        raise ConfigError("translated")

    monkeypatch.setattr("mm_eval.aliases.command.words_of", translate)
    with pytest.raises(ConfigError, match="translated"):
        dispatch(["--tasks", "mme", *words.split()])


def test_an_option_whose_value_may_be_left_out_takes_no_other_option_for_it(run: Callable[[list[str]], str]) -> None:
    assert "unrecognized" not in run(["--wandb_args", "--tasks", "mme", "--model", "hf"])
