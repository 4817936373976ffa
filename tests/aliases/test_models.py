"""Model names and arguments of other suites: the adapter here, its arguments, and what is said."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import pytest

from mm_eval.aliases.adapters import DROPPED, KEPT, NAMED, PROVIDERS, REFUSED, for_transformers
from mm_eval.aliases.request import in_our_words, vlmevalkit
from mm_eval.engine.model import MODELS
from mm_eval.request import RunRequest
from mm_eval.values.errors import ConfigError
from tests.sets import each_of


def asked(model: str | None, args: dict[str, Any], **options: Any) -> RunRequest:
    found, _ = in_our_words(RunRequest.of_options(("mme",), model=model, model_args=args, **options))
    again, _ = in_our_words(found)
    assert again == found, "a request in our words stays as it is"
    return found


def notes(model: str | None, args: dict[str, Any]) -> str:
    return "\n".join(in_our_words(RunRequest(("mme",), model, args))[1])


@pytest.mark.parametrize(
    ("model", "args", "ours", "expected"),
    [
        ("qwen2_5_vl", "pretrained=a/b,use_flash_attention_2=True", "hf", "pretrained=a/b,attn_implementation=flash_attention_2"),
        ("qwen2_5_vl", "pretrained=a/b,use_flash_attention_2=False", "hf", "pretrained=a/b"),
        ("qwen2_5_vl_chat", "pretrained=a/b,device_map=cuda:0", "hf", "pretrained=a/b,device=cuda:0"),
        (
            "qwen2_5_vl",
            "pretrained=a/b,max_pixels=1280*28*28,interleave_visuals=False",
            "hf",
            "pretrained=a/b,max_pixels=1003520",
        ),
        ("hf", "pretrained=a/b,parallelize=True,dtype=bfloat16", "hf", "pretrained=a/b,device_map=auto,dtype=bfloat16"),
        ("vllm", "pretrained=a/b,enable_prefix_caching=True", "vllm", "pretrained=a/b"),
        ("vllm_chat", 'pretrained=a/b,mm_processor_kwargs={"max_pixels":100}', "vllm", "pretrained=a/b,max_pixels=100"),
        ("hf-multimodal", "pretrained=a/b,max_images=2,interleave=True", "hf", "pretrained=a/b"),
        ("hf", "pretrained=a/b,enable_thinking=False", "hf", 'pretrained=a/b,chat_template_kwargs={"enable_thinking": false}'),
        ("hf", "pretrained=a/b,tokenizer=a/b,max_length=4096", "hf", "pretrained=a/b,max_length=4096"),
        ("hf", "pretrained=a/b,tokenizer=c/d", "hf", "pretrained=a/b,tokenizer=c/d"),
        ("InternVL2-8B", "num_concurrent=64", "hf", "pretrained=OpenGVLab/InternVL2-8B"),
        ("vllm/local", "model_path=./m,reasoning_parser=qwen3", "vllm", "pretrained=./m"),
        ("moonshot/kimi-k3", "client_timeout=9", "litellm", "model=moonshot/kimi-k3,timeout=9"),
        ("llava_hf", "", "llava", "pretrained=llava-hf/llava-1.5-7b-hf"),
        ("llava", "pretrained=liuhaotian/llava-v1.6-34b,conv_template=x", "llava", "pretrained=llava-hf/llava-v1.6-34b-hf"),
        (
            "vllm_chat",
            "model=a/b,tensor_parallel_size=4,gpu_memory_utilization=0.8",
            "vllm",
            "pretrained=a/b,tensor_parallel_size=4,gpu_memory_utilization=0.8",
        ),
        ("vllm", "pretrained=a/b,max_model_len=4096,data_parallel_size=2,swap_space=4", "vllm", "pretrained=a/b,max_length=4096"),
        ("async_openai", "model_version=gpt-4o", "openai", "model=gpt-4o,base_url=https://api.openai.com/v1"),
        (
            "local-chat-completions",
            "model=x,base_url=http://h:1/v1/chat/completions,num_concurrent=4,tokenized_requests=False",
            "openai",
            "model=x,base_url=http://h:1/v1,num_concurrent=4",
        ),
        (
            "openai_compatible",
            "model_version=x,base_url=http://h/v1,api_key=EMPTY,max_retries=2",
            "openai",
            "model=x,base_url=http://h/v1,max_retries=2",
        ),
        ("claude", "model_version=claude-sonnet-4-5", "litellm", "model=anthropic/claude-sonnet-4-5"),
        ("gemini_api", "model_version=gemini-2.5-pro,modality=video", "litellm", "model=gemini/gemini-2.5-pro"),
        ("openai", "model_version=gpt-4o,azure_openai=True", "litellm", "model=azure/gpt-4o"),
        ("openai/gpt-4o", "", "openai", "model=gpt-4o,base_url=https://api.openai.com/v1"),
        ("hf/org/name", "", "hf", "pretrained=org/name"),
        ("google/gemini-2.5-pro", "", "litellm", "model=gemini/gemini-2.5-pro"),
        ("gpt-4o-mini", "", "openai", "model=gpt-4o-mini,base_url=https://api.openai.com/v1"),
        ("Qwen2.5-VL-7B-Instruct", "", "hf", "pretrained=Qwen/Qwen2.5-VL-7B-Instruct"),
        ("dummy", "response=yes,read_bytes=65536", "dummy", ""),
        (None, "pretrained=gpt2", "hf", "pretrained=gpt2"),
        ("tiny-llava", "dtype=float32", "tiny-llava", "dtype=float32"),
    ],
)  # fmt: skip
def test_the_adapter_and_its_arguments(
    model: str | None, args: str, ours: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)

    def pairs(text: str) -> dict[str, str]:
        return dict(part.split("=", 1) for part in text.split(",") if part)

    found = asked(model, pairs(args))
    assert (found.model, dict(found.model_args)) == (ours, pairs(expected))


@each_of(
    ("args", "options"),
    [
        ({"max_num_frames": "32"}, {"video": "frames=32"}),
        ({"fps": "1", "max_frames_num": "384"}, {"video": "fps=1,max=384"}),
        ({"system_prompt": "You are a helpful assistant."}, {"system_instruction": "You are a helpful assistant."}),
        ({"temperature": "0.7", "max_tokens": "2048"}, {"gen_kwargs": {"temperature": 0.7, "max_new_tokens": 2048}}),
        ({"batch_size": "4"}, {"batch_size": 4}),
        ({"use_chat_template": "false"}, {"chat_template": False}),
    ],
)
def test_arguments_that_are_options_of_a_run(args: dict[str, str], options: dict[str, Any]) -> None:
    found = asked("qwen2_5_vl", {"pretrained": "a/b", **args})
    assert {name: getattr(found, name) for name in options} == options
    assert dict(found.model_args) == {"pretrained": "a/b"}


def test_the_address_of_a_server_for_a_model_that_runs_here_is_refused() -> None:
    with pytest.raises(ConfigError, match="--model openai --model_args base_url=URL"):
        asked("vllm/a/b", {"base_url": "http://localhost:8080/v1"})


def test_an_option_of_the_command_counts_before_an_argument() -> None:
    found = asked("qwen2_5_vl", {"pretrained": "a/b", "max_num_frames": "32"}, video="frames=8")
    assert found.video == "frames=8"


def test_completions_without_a_chat_template() -> None:
    assert asked("local-completions", {"model": "x", "base_url": "http://h/v1/completions"}).chat_template is False
    stated = asked("local-completions", {"model": "x", "base_url": "http://h/v1"}, chat_template=True)
    assert stated.chat_template is True


def test_the_address_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_BASE", "http://host:1/v1/chat/completions")
    assert asked("openai", {"model": "x"}).model_args["base_url"] == "http://host:1/v1"
    assert "http://host:1/v1 is asked" in notes("openai", {"model": "x"})


@pytest.mark.parametrize("model", ["openai", "local-chat-completions", "litellm"])
def test_an_empty_address_sends_no_key_to_the_vendor(model: str) -> None:
    for empty in ("", " "):
        with pytest.raises(ConfigError, match="base_url is empty"):
            asked(model, {"model": "openai/x", "base_url": empty})


def test_what_is_left_out_is_said_and_off_is_not() -> None:
    said = notes(
        "qwen2_5_vl", {"pretrained": "a/b", "use_cache": "False", "conv_template": "qwen_1_5", "continual_mode": "None"}
    )
    assert said == "conv_template=qwen_1_5: the checkpoint's chat template writes the turns"
    assert "the same weights as liuhaotian/llava-v1.5-7b" in notes("llava", {"pretrained": "liuhaotian/llava-v1.5-7b"})


@each_of("name", [name for name, other in NAMED.items() if other.refused])
def test_models_that_are_not_here_say_which_to_use(name: str) -> None:
    with pytest.raises(ConfigError, match="--model"):
        in_our_words(RunRequest(("mme",), name, {}))


@each_of("name", sorted(REFUSED))
def test_arguments_that_are_not_here_say_what_to_write(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}=8 is not an argument here"):
        in_our_words(RunRequest(("mme",), "qwen2_5_vl", {"pretrained": "a/b", name: "8"}))
    assert name not in asked("qwen2_5_vl", {"pretrained": "a/b", name: "False"}).model_args


def test_an_argument_of_vllms_processor_that_is_not_here_is_named() -> None:
    with pytest.raises(ConfigError, match="has fps; min_pixels and max_pixels can be stated"):
        in_our_words(RunRequest(("mme",), "vllm", {"pretrained": "a/b", "mm_processor_kwargs": {"fps": 2}}))


def test_a_key_is_never_quoted() -> None:
    found = asked("openai", {"model": "x", "base_url": "http://h/v1", "api_key": "sk-secret"})
    assert found.model_args["api_key"] == "sk-secret", "the adapter refuses it"
    assert "secret" not in notes("openai", {"model": "x", "base_url": "http://h/v1", "api_key": "sk-secret"})


def test_every_name_is_an_adapter_or_refused() -> None:
    for name, other in {**NAMED, **PROVIDERS, **vlmevalkit()}.items():
        assert bool(other.ours) != bool(other.refused), name
        assert not other.ours or other.ours in MODELS, name
        assert name not in MODELS or name in PROVIDERS, f"{name} is ours"


def test_no_argument_of_ours_is_left_out() -> None:
    hf, vllm = import_module("mm_eval.models.hf.arguments"), import_module("mm_eval.models.vllm.adapter")
    server = import_module("mm_eval.models.openai.arguments")
    hidden = {*DROPPED, *REFUSED}
    assert hidden & set(hf.Arguments.rules()) <= set(KEPT["hf"])
    assert hidden & set(vllm.VllmArguments.rules()) <= set(KEPT["vllm"])
    assert hidden & set(server.RULES) <= set(KEPT["openai"])


def test_the_same_weights_for_transformers() -> None:
    assert for_transformers("lmms-lab/llava-onevision-qwen2-0.5b-ov") == "llava-hf/llava-onevision-qwen2-0.5b-ov-hf"
    assert for_transformers("OpenGVLab/InternVL3_5-30B-A3B") == "OpenGVLab/InternVL3_5-30B-A3B-HF"
    assert not for_transformers("OpenGVLab/InternVL3_5-8B-HF")
    assert not for_transformers("Qwen/Qwen2-VL-7B-Instruct")


def test_template_values_are_joined() -> None:
    found = asked("hf", {"pretrained": "a/b", "enable_thinking": "True", "chat_template_args": '{"budget": 3}'})
    assert json.loads(found.model_args["chat_template_kwargs"]) == {"enable_thinking": True, "budget": 3}
