"""What a user states for a server is sent, or refused in a sentence that says what to write; nothing vanishes."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mm_eval.models.openai.adapter import OpenAI

from mm_eval.config.judge import GENERATION
from mm_eval.config.located import TOKEN_CAPS, laid_over
from mm_eval.engine.generation import (
    SERVER_OPTIONS,
    TRANSFORMERS_OPTIONS,
    check_caps,
    check_for_any_model,
)
from mm_eval.engine.model import ModelSettings, check_generation
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import Instance
from tests.conftest import Ran
from tests.faults.server import Server, echo
from tests.models.openai.listening import Listening, listening
from tests.models.openai.test_openai import question
from tests.sets import each_of

TASK = """task: caps
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: q
doc_to_target: q
metric_list: [{metric: exact_match}]
generation_kwargs: {max_new_tokens: 16}
"""


def asked(server: Listening, cli: Callable[..., Ran], folder: Path, args: str, *more: str, task: str = TASK) -> Ran:
    """A run of a task of one doc at a real server."""
    shutil.rmtree(folder / "run", ignore_errors=True)
    (folder / "caps.yaml").write_text(task)
    (folder / "rows.jsonl").write_text('{"q": "1"}\n')
    words = ("--tasks", "caps", "--include_path", str(folder), "--no_report", "--model", "openai")
    return cli(*words, "--model_args", f"base_url={server.url},model=m{args}", *more)


@each_of(
    ("args", "limits"),
    [
        (",max_pixels=200704", {"max_pixels": 200704}),
        (",max_pixels=256*28*28", {"max_pixels": 200704}),
        (",min_pixels=3136,max_pixels=200704", {"min_pixels": 3136, "max_pixels": 200704}),
        (",total_pixels=1000000", {"total_pixels": 1000000}),
    ],
)
def test_limits_of_pixels_are_refused_with_what_to_write(args: str, limits: Any, cli: Any, tmp_path: Path) -> None:
    with listening() as server:
        ran = asked(server, cli, tmp_path, args)
        assert ran.code == 2 and not server.asked
        assert f'extra_body={{"mm_processor_kwargs": {json.dumps(limits)}}}' in ran.err


@each_of("args", [',mm_processor_kwargs={"max_pixels": 9}', ',extra_body={"mm_processor_kwargs": {"max_pixels": 9}}'])
def test_arguments_of_the_processor_are_sent_and_recorded(args: str, cli: Any, tmp_path: Path) -> None:
    with listening() as server:
        ran = asked(server, cli, tmp_path, args)
        assert ran.code == 0, ran.err
        assert [body["mm_processor_kwargs"] for body in server.questions] == [{"max_pixels": 9}]
    spec = json.loads((ran.folder / "run.json").read_text())["spec"]
    assert spec["model"]["extra_body"] == {"mm_processor_kwargs": {"max_pixels": 9}}


def test_an_argument_that_a_server_was_started_with_is_noted(cli: Any, tmp_path: Path) -> None:
    with listening() as server:
        ran = asked(server, cli, tmp_path, ",use_flash_attention_2=True,device=cuda,tokenizer=some/where")
        assert ran.code == 0, ran.err
        for name in ("use_flash_attention_2=True", "device=cuda", "tokenizer=some/where"):
            assert f"{name}: the server uses the value that it was started with" in ran.out


def test_limits_that_a_server_keeps_to_and_the_task_does_not_are_noted(cli: Any) -> None:
    with listening() as server:
        words = ("--tasks", "refcoco_val", "--sample", "--limit", "1", "--model", "openai", "--no_report")
        args = f'base_url={server.url},model=Qwen/Qwen2.5-VL-7B-Instruct,mm_processor_kwargs={{"max_pixels": 200704}}'
        ran = cli(*words, "--model_args", args)
        assert "refcoco_val reads boxes as pixels of pictures resized with max_pixels=12845056" in ran.out, ran.err


def test_the_rule_of_frames_is_sent_beside_what_the_user_states_of_the_processor() -> None:
    """Else the processor samples a short file again, by its own rule."""
    from mm_eval.models.openai.arguments import with_own

    ours = {"mm_processor_kwargs": {"do_sample_frames": False}}
    assert with_own(ours, {"mm_processor_kwargs": {"max_pixels": 9}}) == {
        "mm_processor_kwargs": {"do_sample_frames": False, "max_pixels": 9}
    }
    assert with_own(ours, {"mm_processor_kwargs": {"do_sample_frames": True}, "top_k": 1}) == {
        "mm_processor_kwargs": {"do_sample_frames": True},
        "top_k": 1,
    }


SEVERAL = ("n=4", "num_return_sequences=4")


@each_of("option", SEVERAL)
def test_several_answers_at_once_are_refused_and_repeats_named(option: str, cli: Any, tmp_path: Path) -> None:
    with listening() as server:
        ran = asked(server, cli, tmp_path, "", "--gen_kwargs", f"{option},temperature=1")
        assert ran.code == 2 and "--repeats 4" in ran.err and "--gen_kwargs" in ran.err and not server.asked
        name, _, count = option.partition("=")
        ran = asked(server, cli, tmp_path, "", task=TASK.replace("16}", f"16, {name}: {count}}}"))
        assert ran.code == 2 and "--repeats 4" in ran.err and "caps.yaml:8" in ran.err and not server.asked
        ran = asked(server, cli, tmp_path, f',extra_body={{"{name}": {count}}}')
        assert ran.code == 2 and "--repeats 4" in ran.err and not server.asked
        assert asked(server, cli, tmp_path, "", "--gen_kwargs", f"{name}=1").code == 0


@each_of("name", TOKEN_CAPS)
def test_one_cap_is_sent(name: str, cli: Any, tmp_path: Path) -> None:
    with listening() as server:
        assert asked(server, cli, tmp_path, "", "--gen_kwargs", f"{name}=512").code == 0
        assert [caps_of(body) for body in server.questions] == [{"max_tokens": 512}]


@each_of("stated", TOKEN_CAPS)
def test_the_commands_cap_replaces_the_tasks_under_any_name(stated: str, cli: Any, tmp_path: Path) -> None:
    with listening() as server:
        task = TASK.replace("max_new_tokens", stated)
        ran = asked(server, cli, tmp_path, "", "--gen_kwargs", "max_tokens=512", task=task)
        assert ran.code == 0, ran.err
        assert [caps_of(body) for body in server.questions] == [{"max_tokens": 512}]


def test_a_files_cap_replaces_that_of_the_file_that_it_includes(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "_base.yaml").write_text("generation_kwargs: {max_new_tokens: 16, until: [x]}\n")
    with listening() as server:
        task = TASK.replace("max_new_tokens: 16", "max_gen_toks: 512").replace(
            "task: caps", "include: _base.yaml\ntask: caps"
        )
        assert asked(server, cli, tmp_path, "", task=task).code == 0
        assert [(caps_of(body), body["stop"]) for body in server.questions] == [({"max_tokens": 512}, ["x"])]


def test_a_judges_cap_replaces_the_default() -> None:
    assert dict(laid_over(GENERATION, {"max_tokens": 9})) == {"temperature": 0, "max_tokens": 9}
    assert dict(laid_over(GENERATION, {"max_tokens": None, "top_p": 1})) == {
        **GENERATION,
        "max_tokens": None,
        "top_p": 1,
    }


def caps_of(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if "tokens" in name or "predict" in name}


@each_of(
    ("args", "sent"),
    [
        ({"max_tokens": 512}, {"max_tokens": 512}),
        ({"max_completion_tokens": 512}, {"max_completion_tokens": 512}),
        ({"max_completion_tokens": 512, "max_tokens": 512}, {"max_tokens": 512}),
        ({"n_predict": 512}, {"n_predict": 512}),
        ({"max_output_tokens": 512}, {"max_output_tokens": 512}),
    ],
)
def test_one_cap_is_sent_where_the_user_states_the_field(args: dict[str, int], sent: dict[str, int]) -> None:
    server = Server(lambda body, nth: echo(body))
    list(server.model(extra_body=args).generate([question([], "q")]))
    assert [caps_of(body) for _, body in server.requests] == [sent]


def test_a_cap_under_its_other_name_is_asked_of_a_model_that_wants_that() -> None:
    server = Server(lambda body, nth: echo(body))
    body = {"max_completion_tokens": 512}
    list(server.model(model="o3", extra_body=body).generate([question([], "q")]))
    list(server.model(max_tokens_name="max_completion_tokens", extra_body=body).generate([question([], "q")]))
    assert [caps_of(body) for _, body in server.requests] == [body] * 2


@each_of(
    "args",
    [
        {"extra_body": {"max_completion_tokens": 512, "max_tokens": 100}},
        {"extra_body": {"n_predict": 512, "max_tokens": 100}},
        {"extra_body": {"max_completion_tokens": 512}, "max_tokens_name": "max_tokens"},
        {"extra_body": {"max_tokens": 512}, "max_tokens_name": "max_output_tokens"},
        {"extra_body": {"mm_processor_kwargs": {}}, "mm_processor_kwargs": {"max_pixels": 1}},
    ],
)
def test_two_statements_of_one_thing_are_refused(args: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"State (one of them|it once)"):
        OpenAI({"base_url": "http://server/v1", "model": "m", **args}, ModelSettings())


def test_two_caps_of_different_values_are_refused(cli: Any, tmp_path: Path) -> None:
    with listening() as server:
        ran = asked(server, cli, tmp_path, "", "--gen_kwargs", "max_tokens=512,max_completion_tokens=100")
        assert ran.code == 2 and "max_tokens is 512 and max_completion_tokens is 100" in ran.err
        assert "--gen_kwargs" in ran.err and not server.asked
        for name in ("max_output_tokens", "n_predict", "num_predict"):
            ran = asked(server, cli, tmp_path, "", "--gen_kwargs", f"{name}=100,max_new_tokens=512")
            assert ran.code == 2 and f"{name} is 100" in ran.err and not server.asked
        ran = asked(server, cli, tmp_path, "", "--gen_kwargs", "best_of=3")
        assert ran.code == 2 and "best_of is 3" in ran.err and "--repeats 3" in ran.err and not server.asked
        ran = asked(server, cli, tmp_path, "", task=TASK.replace("16}", "16, max_gen_toks: 32}"))
        assert ran.code == 2 and "max_new_tokens is 16 and max_gen_toks is 32" in ran.err and "caps.yaml:8" in ran.err
        assert asked(server, cli, tmp_path, "", task=TASK.replace("16}", "16, max_gen_toks: 16}")).code == 0
        assert [caps_of(body) for body in server.questions] == [{"max_tokens": 16}]
        for place, name in enumerate(("max_output_tokens", "n_predict", "num_predict"), start=20):
            assert asked(server, cli, tmp_path, "", "--gen_kwargs", f"{name}={place}").code == 0
            assert caps_of(server.questions[-1]) == {"max_tokens": place}, name


@each_of(
    ("option", "said"),
    [
        ("temprature: 0.5", "Did you mean 'temperature'"),
        ("max_new_token: 5", "Did you mean 'max_new_tokens'"),
        ("repitition_penalty: 1.1", "Did you mean 'repetition_penalty'"),
        ("no_repeat_ngram_siz: 3", "Did you mean 'no_repeat_ngram_size'"),
        ("temperature: hot", "temperature is 'hot'"),
        ("max_gen_toks: 99", "max_new_tokens is 16 and max_gen_toks is 99"),
        ("n: 2", "--repeats 2"),
    ],
)
def test_validate_refuses_what_every_run_refuses(option: str, said: str, cli: Any, tmp_path: Path) -> None:
    with listening() as server:
        task = TASK.replace("16}", f"16, {option}}}")
        ran = asked(server, cli, tmp_path, "", task=task)
        assert ran.code == 2
    ran = cli("validate", "caps", "--include_path", str(tmp_path))
    assert ran.code != 0 and said in ran.out + ran.err and "caps.yaml:8" in ran.out + ran.err


@each_of("option", ["top_h: 0.4", "num_beam_groups: 1", "guided_choice: [A, B]", "image_aspect_ratio: pad", "n: 1"])
def test_validate_takes_an_option_that_some_model_has(option: str, cli: Any, tmp_path: Path) -> None:
    (tmp_path / "caps.yaml").write_text(TASK.replace("16}", f"16, {option}}}"))
    (tmp_path / "rows.jsonl").write_text('{"q": "1"}\n')
    ran = cli("validate", "caps", "--include_path", str(tmp_path))
    assert ran.code == 0, ran.out + ran.err


def test_the_names_of_transformers_options_are_those_of_the_library() -> None:
    from transformers import GenerationConfig

    names = {name for name in GenerationConfig().to_dict() if not name.startswith("_")}
    names -= {"transformers_version", "return_dict_in_generate", "max_new_tokens"}
    assert names - {*SERVER_OPTIONS, *TRANSFORMERS_OPTIONS} == set()


def test_old_answers_to_a_task_with_two_caps_can_be_scored() -> None:
    """The check is one of new requests."""
    Instance("generate_until", "t", 0, {}, "q", generation_kwargs={"max_new_tokens": 1, "max_gen_toks": 2})
    with pytest.raises(ConfigError):
        check_caps({"max_new_tokens": 1, "max_gen_toks": 2})
    with pytest.raises(ConfigError, match="the token cap"):
        check_generation(
            OpenAI({"base_url": "http://s/v1", "model": "m"}, ModelSettings()), {"max_tokens": 1, "max_gen_toks": 2}
        )
    check_for_any_model({"max_tokens": "16", "max_new_tokens": 16})


@each_of(
    "name", ["repeat_penalty", "guided_regex", "bad_words", "dry_base", "my_servers_option", "no_repeat_ngram_size"]
)
def test_options_of_a_server_are_its_own(name: str) -> None:
    check_generation(OpenAI({"base_url": "http://s/v1", "model": "m"}, ModelSettings()), {name: 1})


@each_of("name", ["min_new_tokens", "bad_words_ids", "no_repeat_ngram_siz", "temprature"])
def test_an_option_that_no_server_has_under_this_name_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="Did you mean"):
        check_generation(OpenAI({"base_url": "http://s/v1", "model": "m"}, ModelSettings()), {name: 1})
