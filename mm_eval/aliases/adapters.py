"""Every model name of the other suites: the adapter here that answers for it, or which one to use.

Read from the registries of lm-eval 0.4.2 to 0.4.13 and lmms-eval 0.1.2 to 0.7.3. VLMEvalKit's names are in vlmevalkit.tsv.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Other:
    """A model name of another suite.

    ours: the adapter here. args: what it adds to the arguments, where they do not say otherwise. checkpoint: the other suite's
    own default. options: options of a run that follow from the name. note: what a reader should know.
    provider: of litellm, to stand before the model's name.
    refused: why there is no such adapter, and what to use.
    """

    ours: str = ""
    args: Mapping[str, str] = field(default_factory=dict)
    checkpoint: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    provider: str = ""
    refused: str = ""


_OWN_CODE = "has an adapter of its own in lmms-eval; here --model hf loads its checkpoint if transformers does"
_PHI4 = "for sound add peft=FOLDER/speech-lora of the checkpoint"
_NO_SOUND = "pictures, videos and text are shown to it; sound is not"
_MAKES = "it generates pictures or videos; answers here are texts. Models that read them: --model hf."
_SERVE = (
    "serve the model behind OpenAI's API and use --model openai --model_args base_url=http://HOST:PORT/v1,model=NAME"
)
_SOUND = f"its code is its authors' own. Families of transformers that hear: --model hf. Or {_SERVE}."
_ENGINE = f"there is no such engine here: --model hf or --model vllm runs the checkpoint; or {_SERVE}."


def _hf(checkpoint: str = "", note: str = "", **args: str) -> Other:
    return Other("hf", args, checkpoint, note=note)


def _own(checkpoint: str) -> Other:
    """A model whose code is its authors' own."""
    return Other("hf", {}, checkpoint, note=_OWN_CODE)


OPENAI = "https://api.openai.com/v1"
_OPENAI = Other("openai")
_ANTHROPIC = Other("litellm", provider="anthropic")
_COMPLETIONS = Other("openai", options={"chat_template": False})

LM_EVAL: dict[str, Other] = {
    **dict.fromkeys(("hf-auto", "huggingface", "hf-multimodal", "hf-mistral3", "hf-causal", "hf-causal-experimental"), _hf()),
    "gpt2": _hf("gpt2"),
    "hf-audiolm-qwen": _hf("Qwen/Qwen2-Audio-7B-Instruct"),
    "vllm-vlm": Other("vllm"),
    "local-chat-completions": _OPENAI,
    "openai-chat-completions": _OPENAI,
    "local-completions": _COMPLETIONS,
    "openai-completions": _COMPLETIONS,
    "gguf": _COMPLETIONS,
    "ggml": _COMPLETIONS,
    "azure-openai-chat-completions": Other("litellm", provider="azure"),
    **dict.fromkeys(("anthropic", "anthropic-completions", "anthropic-chat", "anthropic-chat-completions"), _ANTHROPIC),
    "litellm-chat": Other("litellm"),
    "litellm-chat-completions": Other("litellm"),
    "watsonx_llm": Other("litellm", provider="watsonx"),
    "mamba_ssm": _hf("state-spaces/mamba-130m-hf", "transformers' own Mamba runs it; its checkpoints end in -hf"),
    "steered": Other(refused="activations are not steered. --model hf runs the checkpoint, with peft=DIR an adapter of PEFT."),
    "textsynth": Other(refused=f"{_SERVE}."),
    **dict.fromkeys(
        (
            *("sglang", "sglang-generate", "trtllm", "deepsparse", "sparseml", "neuronx", "nemo_lm", "megatron_lm", "openvino"),
            *("ipex", "habana", "onnxruntime", "onnxruntime-genai", "winml", "lmdeploy"),
        ),
        Other(refused=_ENGINE),
    ),
}  # fmt: skip

LMMS_EVAL: dict[str, Other] = {
    **dict.fromkeys(("qwen2_5_vl", "qwen2_5_vl_chat"), _hf("Qwen/Qwen2.5-VL-3B-Instruct")),
    "qwen2_5_vl_interleave": _hf("Qwen/Qwen2.5-VL-3B-Instruct"),
    "qwen2_vl": _hf("Qwen/Qwen2-VL-7B-Instruct"),
    **dict.fromkeys(("qwen3_vl", "qwen3_vl_chat"), _hf("Qwen/Qwen3-VL-4B-Instruct")),
    **dict.fromkeys(("qwen3_5", "qwen3_5_chat"), _hf("Qwen/Qwen3.5-4B")),
    **dict.fromkeys(("llava_hf", "llava_hf_chat"), Other("llava", checkpoint="llava-hf/llava-1.5-7b-hf")),
    "llava_onevision": Other("llava", checkpoint="lmms-lab/llava-onevision-qwen2-7b-ov"),
    **dict.fromkeys(("internvl_hf", "internvl_hf_chat"), _hf("OpenGVLab/InternVL3_5-8B-HF")),
    "internvl": _hf("OpenGVLab/InternVL-Chat-V1-5"),
    "internvl2": _hf("OpenGVLab/InternVL2-2B"),
    "internvl3": _hf("OpenGVLab/InternVL3-8B"),
    "internvl3_5": _hf("OpenGVLab/InternVL3_5-8B"),
    "gemma3": _hf("google/gemma-3-27b-it"),
    "gemma4": _hf("google/gemma-4-31B-it"),
    "glm4v": _hf("zai-org/GLM-4.6V-Flash"),
    "idefics2": _hf("HuggingFaceM4/idefics2-8b"),
    "instructblip": _hf("Salesforce/instructblip-vicuna-7b"),
    "llama_vision": _hf("meta-llama/Llama-3.2-11B-Vision-Instruct"),
    "llama4_scout": _hf("meta-llama/Llama-4-Scout-17B-16E-Instruct"),
    "mistral3_vl": _hf("mistralai/Ministral-3-8B-Base-2512"),
    "aria": _hf("rhymes-ai/Aria"),
    "fuyu": _hf("adept/fuyu-8b"),
    "plm": _hf("facebook/Perception-LM-8B"),
    "videollama3": _hf("DAMO-NLP-SG/VideoLLaMA3-7B"),
    "video_llava": _hf("LanguageBind/Video-LLaVA-7B-hf"),
    "lfm2_5_vl": _hf("LiquidAI/LFM2.5-VL-1.6B"),
    **dict.fromkeys(("async_hf_model", "async_hf"), _hf("Qwen/Qwen2.5-VL-3B-Instruct")),
    **dict.fromkeys(("qwen2_5_omni", "qwen2_5_omni_chat"), _hf("Qwen/Qwen2.5-Omni-7B")),
    **dict.fromkeys(("qwen3_omni", "qwen3_omni_chat"), _hf("Qwen/Qwen3-Omni-30B-A3B-Instruct")),
    **dict.fromkeys(("minicpm_o", "minicpm_o_chat"), _hf("openbmb/MiniCPM-o-2_6", _NO_SOUND)),
    **dict.fromkeys(("phi4_multimodal", "phi4"), _hf("microsoft/Phi-4-multimodal-instruct", _PHI4)),
    **dict.fromkeys(("baichuan_omni", "baichuan_omni_chat"), _hf("baichuan-inc/Baichuan-Omni-1d5", _NO_SOUND)),
    **dict.fromkeys(("omnivinci", "omnivinci_chat"), _hf("nvidia/omnivinci", _NO_SOUND)),
    "uni_moe_2_omni": _hf("HIT-TMG/Uni-MoE-2.0-Omni", _NO_SOUND),
    "ola": _hf("THUdyh/Ola-7b", _NO_SOUND),
    "video_salmonn_2": _hf("tsinghua-ee/video-SALMONN-2_plus_7B", _NO_SOUND),
    "auroracap": _own(""),
    **dict.fromkeys(("cambrians", "cambrians_vsc", "cambrians_vsc_streaming", "cambrians_vsr"), _own("")),
    "cambrian": _own("nyu-visionx/cambrian-8b"),
    "cogvlm2": _own("THUDM/cogvlm2-llama3-chinese-chat-19B"),
    "egogpt": _own(""),
    "internvideo2": _own("OpenGVLab/InternVideo2_chat_8B_HD"),
    "InternVideo2": _own("OpenGVLab/InternVideo2_chat_8B_HD"),
    "internvideo2_5": _own("OpenGVLab/InternVideo2_5_Chat_8B"),
    "llama_vid": _own("YanweiLi/llama-vid-7b-full-224-video-fps-1"),
    **dict.fromkeys(
        ("llava_onevision1_5", "llava_onevision1_5_chat"), _own("lmms-lab/LLaVA-OneVision-1.5-8B-Instruct")
    ),
    **dict.fromkeys(
        ("llava_onevision2", "llava_onevision2_chat"), _own("lmms-lab-encoder/LLaVA-OneVision-2-8B-Instruct")
    ),
    "llava_onevision_moviechat": _own("lmms-lab/llava-onevision-qwen2-7b-ov"),
    **dict.fromkeys(("llava_vid", "llavavid"), _own("")),
    "longva": _own("lmms-lab/LongVA-7B"),
    "longvila": _own("Efficient-Large-Model/LongVILA-R1-7B"),
    "mantis": _own("TIGER-Lab/Mantis-8B-siglip-llama3"),
    "minicpm_v": _own("openbmb/MiniCPM-V"),
    "minimonkey": _own("mx262/MiniMonkey"),
    "mmada": _own("Gen-Verse/MMaDA-8B-MixCoT"),
    "moviechat": _own(""),
    "mplug_owl_video": _own("MAGAer13/mplug-owl-llama-7b-video"),
    "nanovlm": _own("LMMs-Lab-Speedrun/NanoVLM_Init"),
    "neo_ov": _own("Paranioar/NEO1_5-2B-SFT"),
    "oryx": _own(""),
    "ovis_u1": _own("AIDC-AI/Ovis-U1-3B"),
    "penguinvl": _own("tencent/Penguin-VL-8B"),
    "phi3v": _own("microsoft/Phi-3-vision-128k-instruct"),
    "ross": _own("HaochenWang/ross-qwen2-7b"),
    **dict.fromkeys(("slime", "SliME"), _own("yifanzhang114/SliME-Llama3-8B")),
    "thyme": _own(""),
    "tinyllava": _own("tinyllava/TinyLLaVA-Phi-2-SigLIP-3.1B"),
    **dict.fromkeys(("video_chatgpt", "videoChatGPT"), _own("mmaaz60/LLaVA-7B-Lightening-v1-1")),
    **dict.fromkeys(("videochat2", "VideoChat2"), _own("OpenGVLab/VideoChat2_HD_stage4_Mistral_7B_hf")),
    "videochat_flash": _own("OpenGVLab/VideoChat-Flash-Qwen2-7B_res448"),
    "vila": _own("Efficient-Large-Model/VILA1.5-40b"),
    "vita": _own(""),
    "vora": _own(""),
    "vqtoken": _own(""),
    **dict.fromkeys(("xcomposer2_4khd", "xcomposer2_4KHD"), _own("internlm/internlm-xcomposer2-4khd-7b")),
    "xcomposer2d5": _own("internlm/internlm-xcomposer2d5-7b"),
    "vllm_chat": Other("vllm", checkpoint="Qwen/Qwen2.5-VL-3B-Instruct"),
    "vllm_generate": Other("vllm", checkpoint="Qwen/Qwen2.5-VL-3B-Instruct"),
    **dict.fromkeys(
        (
            *("openai_compatible", "openai_compatible_chat", "async_openai", "async_openai_compatible"),
            *("async_openai_compatible_chat", "gpt4v", "batch_gpt4", "gpt4o_audio"),
        ),
        _OPENAI,
    ),
    **dict.fromkeys(("litellm_compatible",), Other("litellm")),
    "claude": Other("litellm", checkpoint="claude-3-opus-20240229", provider="anthropic"),
    **dict.fromkeys(
        ("gemini", "gemini_api", "gemini_model", "gemini_audio"), Other("litellm", checkpoint="gemini-1.5-pro", provider="gemini")
    ),
    **dict.fromkeys(
        ("qwen_vl_api", "qwen-vl-api"),
        Other(
            "openai",
            {"base_url": "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "api_key_env": "DASHSCOPE_API_KEY"},
            "qwen-vl-max",
        ),
    ),
    "reka": Other(refused=f"Reka's own API is not spoken here; {_SERVE}."),
    **dict.fromkeys(("sglang_runtime", "srt_api", "llava_sglang"), Other(refused=_ENGINE)),
    "dummy_video_reader": Other("dummy"),
    "from_log": Other(refused="answers from a file: --model replay --model_args path=FILE.jsonl."),
    **dict.fromkeys(
        ("by_pass", "bypass"),
        Other(refused="recorded answers are scored by mm-eval score RUN, or --model replay --model_args path=FILE.jsonl."),
    ),
    "qwen2_audio": _hf("Qwen/Qwen2-Audio-7B-Instruct"),
    "audio_flamingo_3": _hf("nvidia/audio-flamingo-3-hf"),
    **dict.fromkeys(("whisper_tt", "whisper_vllm"), Other("whisper", checkpoint="openai/whisper-large-v3")),
    **dict.fromkeys(("aero", "aero_realtime_vllm", "aero_realtime_vllm_chat", "kimi_audio"), Other(refused=_SOUND)),
    **dict.fromkeys(
        (
            *("bagel", "bagel_umm", "bagel_lmms_engine", "bagel_unig2u"),
            *("cosmos_wm", "fastvideo", "generation_api", "illume_plus", "ltx_video", "magi1_wm"),
            *("qwen_image_edit", "sam3", "wan2_1_t2i", "wan2_1_t2v", "wan2_2", "wan2_2_t2v"),
        ),
        Other(refused=_MAKES),
    ),
}  # fmt: skip

INSPECT: dict[str, Other] = {
    "none": Other(
        refused="a run has a model; answers that are recorded are scored by mm-eval score RUN or --model replay."
    ),
}

NAMED = {**INSPECT, **LMMS_EVAL, **LM_EVAL}

BEGINNINGS = {
    "gpt-": "openai", "chatgpt-": "openai", "o1": "openai", "o3": "openai", "o4": "openai", "claude-": "litellm:anthropic",
    "gemini-": "litellm:gemini",
}  # fmt: skip
"""How the names of vendors' models begin, for a command that gives one as the adapter."""
SHORT_NAMES = {
    "gpt-4-0125": "gpt-4-0125-preview", "gpt-4-0409": "gpt-4-turbo-2024-04-09", "chatgpt-1106": "gpt-3.5-turbo-1106",
    "chatgpt-0125": "gpt-3.5-turbo-0125", "gpt-4o-0806": "gpt-4o-2024-08-06", "gpt-4o-1120": "gpt-4o-2024-11-20",
}  # fmt: skip
"""VLMEvalKit's short names of vendors' models, and the model that it asks."""

PROVIDERS: dict[str, Other] = {
    "hf": Other("hf"),
    "huggingface": Other("hf"),
    "vllm": Other("vllm"),
    "openai": Other("openai"),
    "openai-api": Other(refused=f"{_SERVE}."),
    "sglang": Other(refused=_ENGINE),
    "ollama": Other("openai", {"base_url": "http://localhost:11434/v1"}),
    "llama-cpp-python": Other("openai", {"base_url": "http://localhost:8000/v1"}),
    "google": Other("litellm", provider="gemini"),
    "vertex": Other("litellm", provider="vertex_ai"),
    "azureai": Other("litellm", provider="azure_ai"),
    "together": Other("litellm", provider="together_ai"),
    "moonshot": Other("litellm", provider="moonshot"),
    "sagemaker": Other("litellm", provider="sagemaker"),
    **dict.fromkeys(("cf", "cloudflare"), Other("litellm", provider="cloudflare")),
    "hf-inference-providers": Other("litellm", provider="huggingface"),
    "openai-api-completions": Other(refused=f"{_SERVE}."),
    "vllm-completions": Other("vllm"),
    "nnterp": Other("hf"),
    "grok": Other("litellm", provider="xai"),
    "mockllm": Other("dummy"),
    "transformer_lens": Other("hf"),
    **{
        name: Other("litellm", provider=name)
        for name in ("anthropic", "bedrock", "mistral", "groq", "perplexity", "deepseek", "openrouter", "fireworks", "sambanova")
    },
}  # fmt: skip
"""inspect_ai's model names, `PROVIDER/NAME`."""


SAME_WEIGHTS: dict[str, str] = {
    r"liuhaotian/llava-v1\.5-(7b|13b)": r"llava-hf/llava-1.5-\1-hf",
    r"liuhaotian/llava-v1\.6-(mistral-7b|vicuna-7b|vicuna-13b|34b)": r"llava-hf/llava-v1.6-\1-hf",
    r"lmms-lab/llama3-llava-next-8b": "llava-hf/llama3-llava-next-8b-hf",
    r"lmms-lab/llava-next-(72b|110b)": r"llava-hf/llava-next-\1-hf",
    r"lmms-lab/llava-onevision-qwen2-(0\.5b|7b|72b)-(si|ov)": r"llava-hf/llava-onevision-qwen2-\1-\2-hf",
    r"lmms-lab/llava-onevision-qwen2-(7b|72b)-(?:ov-)?chat": r"llava-hf/llava-onevision-qwen2-\1-ov-chat-hf",
    r"lmms-lab/LLaVA-NeXT-Video-(7B|34B)(-DPO)?": r"llava-hf/LLaVA-NeXT-Video-\1\2-hf",
    r"OpenGVLab/InternVL3-(1B|2B|8B|9B|14B|38B|78B)(-Instruct)?": r"OpenGVLab/InternVL3-\1\2-hf",
    r"OpenGVLab/InternVL3_5-(\w+(?:-A\d+B)?)": r"OpenGVLab/InternVL3_5-\1-HF",
}
"""A pattern of the whole name -> the name for transformers."""


def for_transformers(pretrained: str) -> str:
    """The name of the same weights for transformers; "" where none is known, or the name is that of such a checkpoint.

    >>> for_transformers("liuhaotian/llava-v1.5-7b")
    'llava-hf/llava-1.5-7b-hf'
    """
    for pattern, name in SAME_WEIGHTS.items():
        if (match := re.fullmatch(pattern, pretrained)) is not None:
            return match.expand(name)
    return ""


RENAMED: dict[str, dict[str, str]] = {
    "hf": {
        "model": "pretrained", "model_version": "pretrained", "model_path": "pretrained", "model_id_name": "pretrained",
        "torch_dtype": "dtype", "weight_type": "dtype", "device_map_option": "device_map", "max_model_len": "max_length",
        "chat_template_args": "chat_template_kwargs", "lora_local_path": "peft", "lora": "peft", "load": "pretrained",
        "min_image_pixels": "min_pixels", "video_max_pixels_per_frame": "video_max_pixels", "tokenizer_path": "tokenizer",
        "load_audio_in_video": "use_audio_in_video",
    },
    "vllm": {
        "model": "pretrained", "model_version": "pretrained", "max_model_len": "max_length", "lora_local_path": "lora",
        "lora_path": "lora", "peft": "lora", "chat_template_args": "chat_template_kwargs", "min_image_pixels": "min_pixels",
        "torch_dtype": "dtype", "model_path": "pretrained", "default_chat_template_kwargs": "chat_template_kwargs",
    },
    "openai": {
        "model_version": "model", "pretrained": "model", "engine": "model", "deployment_id": "model", "model_id": "model",
        "api_base": "base_url", "server_url": "base_url", "request_timeout": "timeout", "max_retry": "max_retries",
        "client_timeout": "timeout",
        "retry": "max_retries", "chat_template_args": "chat_template_kwargs", "concurrency": "num_concurrent",
        "parallel": "num_concurrent", "load_audio_in_video": "use_audio_in_video",
    },
    "litellm": {
        "client_timeout": "timeout",
        "model_version": "model", "pretrained": "model", "deployment_id": "model", "model_id": "model",
        "max_retry": "max_retries", "retry": "max_retries", "load_audio_in_video": "use_audio_in_video",
    },
    "dummy": {},
}  # fmt: skip

FRAMES = (
    *("max_frames_num", "max_num_frames", "num_frames", "nframes", "max_frame_num", "max_frames", "video_max_frames"),
    *("num_segments", "num_frame", "num_video_frames", "max_frames_for_video", "fixed_num_frames", "num_frm"),
)
"""How many frames of a video are shown: `--video frames=N`, or the most of `fps=`."""
FRAMES_A_SECOND = ("fps", "video_fps", "target_fps")
THINKING = ("enable_thinking", "enable_thinking_kwarg", "think_mode")
"""Switches of the chat template: chat_template_kwargs={"enable_thinking": ...}."""

OPTIONS: dict[str, str] = {
    "batch_size": "batch_size",
    "system_prompt": "system_instruction",
    "seed": "seed",
}
"""Arguments that are options of a run here; an option that is given counts."""
GENERATION = (
    "temperature",
    "top_p",
    "top_k",
    "do_sample",
    "repetition_penalty",
    "max_tokens",
    "num_beams",
    "reasoning_effort",
)
"""Arguments that are generation options here, of all tasks (`--gen_kwargs`)."""
CAPS = ("max_gen_toks", "max_new_tokens", "max_tokens_to_sample")
"""The most tokens of an answer where a task states none. Every shipped task states its own."""

_OWN_CONFIG = "the checkpoint's own config decides"
_TURNS = "the checkpoint's chat template writes the turns"
_DECODER = "videos are decoded by PyAV, each frame exactly"
_RESUMES = "the run folder keeps every answer"
_PLACES = "pictures are where the task's text puts them"
_SERVER_SIDE = "prompts are sent as texts, and the server's tokenizer reads them"
_MEMORY = "device_map=auto places weights by the free memory of the devices"
_QUICKER = "the adapter adapts the number of requests under way to the server; num_concurrent= is the most"
_LOADED = "transformers loads the checkpoint its own way"

DROPPED: dict[str, str] = {
    **dict.fromkeys(("conv_template", "conv_mode", "prompt_template", "system_template_type", "is_qwen3_vl"), _TURNS),
    "message_format": _TURNS,
    **dict.fromkeys(
        (
            *("model_name", "mm_spatial_pool_stride", "mm_spatial_pool_mode", "mm_resampler_type", "mm_resampler_location"),
            *("mm_newline_position", "mm_spatial_pool_out_channels", "mm_pooling_position", "image_aspect_ratio", "num_layers"),
            *("anyres_max_subimages", "si_token_len", "miv_token_len", "customized_config", "overwrite", "token_strategy"),
            *("specified_eot_token_id", "downsample_ratio", "patch_size", "vision_model", "language_model", "config", "dynamic"),
            *("max_num", "total_max_num", "min_patches", "max_patches", "do_image_splitting", "hd_num", "is_hf", "image_token"),
            *("tie_weights", "max_soft_tokens", "add_faster_video", "faster_token_stride", "use_embedded_vision"),
            *("prefix_token_id", "pad_token_id", "eos_token_id", "image_token_id", "image_string", "modality", "mode"),
        ),
        _OWN_CONFIG,
    ),
    **dict.fromkeys(("video_decode_backend", "use_custom_video_loader", "delay_load", "threads"), _DECODER),
    **dict.fromkeys(("continual_mode", "response_persistent_folder", "use_cache", "logs", "output_dir"), _RESUMES),
    **dict.fromkeys(("interleave", "interleave_visuals", "image_first", "convert_img_format"), _PLACES),
    **dict.fromkeys(
        ("add_time_instruction", "force_sample", "video_force_sample"),
        "the task's text and --video decide what is said about a video and which frames are shown",
    ),
    "messages_format": "the frames are shown as --video and the checkpoint's template say",
    "timestamp_decimals": "the checkpoint's template writes the times",
    **dict.fromkeys(
        (
            *("use_codec", "codec_target_canvas", "codec_group_size", "codec_images_per_group", "codec_patch"),
            *("codec_min_group_frames", "codec_max_group_frames", "codec_cache_dir", "codec_spatial_mask_mode"),
        ),
        "videos are shown as frames, not as parts of their coding",
    ),
    **dict.fromkeys(("max_images", "limit_mm_per_prompt", "max_audios"), "every picture of a document is shown"),
    **dict.fromkeys(("truncation", "truncate", "truncate_context", "truncation_side"), "--on_long_prompt cut|fail says it"),
    **dict.fromkeys(("logits_cache", "enable_visual_feature_caching"), "the common part of prompts is computed once"),
    **dict.fromkeys(
        ("max_memory_per_gpu", "max_cpu_memory", "offload_folder", "low_cpu_mem_usage", "infer_auto_device_map"), _MEMORY
    ),
    **dict.fromkeys(("use_fast_tokenizer", "tokenizer_mode", "tokenizer_revision", "cache_dir", "backend"), _LOADED),
    **dict.fromkeys(
        ("autogptq", "gptqmodel", "gptq_use_triton"), "quantised weights are loaded as their config.json says"
    ),
    **dict.fromkeys(("softmax_dtype", "mixed_precision_dtype"), "dtype= says how the model computes; log-softmax is float32"),
    "tp_plan": "device_map=auto spreads the weights; for tensor parallel --model vllm --model_args tensor_parallel_size=N",
    "max_batch_size": "--batch_size auto measures what fits",
    **dict.fromkeys(
        (
            *("swap_space", "disable_log_stats", "skip_mm_profiling", "load_format", "chunked_prefill_size"),
            *("distributed_executor_backend", "stage_init_timeout", "enable_prefix_caching", "enable_chunked_prefill"),
            *("max_num_batched_tokens", "disable_custom_all_reduce", "cpu_offload_gb", "max_seq_len_to_capture"),
        ),
        "the engine uses its own default",
    ),
    **dict.fromkeys(("data_parallel_size", "dp_size"), "one engine runs; several: --executor ray --workers N"),
    **dict.fromkeys(
        ("tokenizer_backend", "tokenized_requests", "custom_prefix_token_id", "eos_string", "max_length"), _SERVER_SIDE
    ),
    **dict.fromkeys(
        (
            *("adaptive_concurrency", "adaptive_min_concurrency", "adaptive_max_concurrency", "adaptive_target_latency_s"),
            *("adaptive_increase_step", "adaptive_decrease_factor", "adaptive_failure_threshold", "retry_backoff_s"),
            *("prefix_aware_queue", "prefix_hash_chars", "num_cpus", "num_processes", "worker_count", "batch_size"),
        ),
        _QUICKER,
    ),
    "num_gpus": "device_map=auto uses every device; --executor ray --workers N --worker_gpus N runs several models",
    "worker_gpus": "--executor ray --workers N --worker_gpus N",
    "httpx_trust_env": "proxies of the environment are used",
    "max_size_in_mb": "pictures are sent as they are; a server that refuses one is reported",
    **dict.fromkeys(("fail_gracefully", "verbose", "save_intermediate", "intermediate_dir", "write_out"), _RESUMES),
    **dict.fromkeys(("timeout_s", "work_dir", "max_turn", "max_iterations"), "one request is made for an answer"),
    "no_think_prompt": "the checkpoint's template switches reasoning",
    **dict.fromkeys(("num_concurrent", "max_retries", "timeout"), "the model runs in this process, not on a server"),
    **dict.fromkeys(
        (
            *("responses_api", "responses_phase", "responses_store", "conversation_api", "stream", "streaming", "cache_ttl"),
            *("disable_retry", "completion_mode", "prompt_logprobs", "hidden_states", "emulate_tools"),
        ),
        "answers are requested whole, by chat completions",
    ),
    "auto_model_class": _LOADED,
    "reasoning_parser": "reasoning is read by its marks: those of known models, and --reasoning_tags",
    "init_tts": _OWN_CONFIG,
    "init_vision": _OWN_CONFIG,
    "init_audio": _OWN_CONFIG,
    **dict.fromkeys(("use_audio_in_video", "load_audio_in_video"), "this model does not hear"),
    "audio_length": "a sound is heard whole, or as much of it as the processor takes",
    "audio_voice": "answers are texts",
    "audio_format": "answers are texts",
    **dict.fromkeys(
        (
            *("read_bytes", "response", "allow_remote", "fail_on_missing", "decode_num_frames", "decode_fps"),
            *("metrics_output_path", "decode_backend"),
        ),
        "the dummy answers at random, by its seed",
    ),
}  # fmt: skip
"""Arguments that do nothing here, and why. One whose value is empty, None or False is left out without a word."""

_OF_SERVERS = ("num_concurrent", "max_retries", "timeout", "use_audio_in_video")
KEPT: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("hf", "vllm"), ("max_length", "use_audio_in_video")),
    **dict.fromkeys(("openai", "litellm"), _OF_SERVERS),
}  # fmt: skip
"""Arguments that one adapter takes and that do nothing for another."""

_QUANTISE = (
    "save the quantised weights with transformers first, and give their folder; or use --model vllm, quantization=..."
)

REFUSED: dict[str, str] = {
    **dict.fromkeys(("load_in_4bit", "load_in_8bit"), f"weights are not quantised at load time: {_QUANTISE}."),
    **dict.fromkeys(
        ("bnb_4bit_quant_type", "bnb_4bit_compute_dtype", "bnb_4bit_use_double_quant", "quantization_config"),
        f"weights are not quantised at load time: {_QUANTISE}.",
    ),
    "delta": "add the delta to the base weights first, and give the folder of the sum.",
    "gguf_file": "start llama.cpp's server with it: --model openai --model_args base_url=http://localhost:8080/v1,model=NAME.",
    "subfolder": "give the folder itself: pretrained=DIR/SUBFOLDER.",
    "steer_path": "activations are not steered. Leave it out.",
    **dict.fromkeys(
        ("image_width", "image_height", "image_max_side", "max_image_size", "resolution"),
        "the size of pictures is stated in pixels: max_pixels=N, for families that have such a limit.",
    ),
    "reasoning_prompt": "state it as --system_instruction, or as a prompt block (`mm-eval prompts --prompt_file FILE`).",
    **dict.fromkeys(
        ("mcp_server_path", "simulator", "user_simulator"), "models are given no tools of a server. Leave it out."
    ),
    **dict.fromkeys(
        ("ca_cert_path", "verify_certificate"), "certificates are always checked; SSL_CERT_FILE names one of your own."
    ),
    "auth_token": "keys are read from the environment: api_key_env=NAME.",
    "header": "headers are named with the variables that hold them: headers=NAME:VARIABLE.",
    **dict.fromkeys(
        ("location", "project", "region_name", "aws_region", "use_adc", "quota_project_id", "inference_component_name"),
        "litellm reads a vendor's region and project from the environment (AWS_REGION_NAME, VERTEXAI_PROJECT, ...).",
    ),
    **dict.fromkeys(
        ("service_tier", "safety_settings", "betas"),
        'a field of the vendor\'s requests is stated as extra_body={"field": value}.',
    ),
    "api_version": "state it in the URL: base_url=https://HOST/openai/v1?api-version=VERSION.",
}
"""Arguments that would change answers and that there is not, and what to write. An empty value or one of False is left out."""
