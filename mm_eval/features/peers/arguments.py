"""The arguments of the other suites' models, by the adapter here that takes their place.

Read from the constructors of lm-eval 0.4.2 to 0.4.13 and lmms-eval 0.1.2 to 0.7.3. An argument that is not listed goes to the
adapter, which knows it or refuses it.
"""

from __future__ import annotations

RENAMED: dict[str, dict[str, str]] = {
    "hf": {
        "model": "pretrained", "model_version": "pretrained", "model_path": "pretrained", "model_id_name": "pretrained",
        "torch_dtype": "dtype", "weight_type": "dtype", "device_map_option": "device_map", "max_model_len": "max_length",
        "chat_template_args": "chat_template_kwargs", "lora_local_path": "peft", "lora": "peft", "load": "pretrained",
        "min_image_pixels": "min_pixels", "video_max_pixels_per_frame": "video_max_pixels", "tokenizer_path": "tokenizer",
    },
    "vllm": {
        "model": "pretrained", "model_version": "pretrained", "max_model_len": "max_length", "lora_local_path": "lora",
        "lora_path": "lora", "peft": "lora", "chat_template_args": "chat_template_kwargs", "min_image_pixels": "min_pixels",
        "torch_dtype": "dtype",
    },
    "openai": {
        "model_version": "model", "pretrained": "model", "engine": "model", "deployment_id": "model", "model_id": "model",
        "api_base": "base_url", "server_url": "base_url", "request_timeout": "timeout", "max_retry": "max_retries",
        "retry": "max_retries", "chat_template_args": "chat_template_kwargs", "concurrency": "num_concurrent",
        "parallel": "num_concurrent",
    },
    "litellm": {
        "model_version": "model", "pretrained": "model", "deployment_id": "model", "model_id": "model",
        "max_retry": "max_retries", "retry": "max_retries",
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
_PLACES = "pictures stand where the task's text puts them"
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
        "a task's text and --video decide what is said and shown of a video",
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
    **dict.fromkeys(("max_images", "limit_mm_per_prompt", "max_audios"), "every picture of a doc is shown"),
    **dict.fromkeys(("truncation", "truncate", "truncate_context", "truncation_side"), "--on_long_prompt cut|fail says it"),
    **dict.fromkeys(("logits_cache", "enable_visual_feature_caching"), "what prompts share is computed once"),
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
            *("distributed_executor_backend", "stage_init_timeout"),
        ),
        "the engine's own default holds",
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
    "init_tts": _OWN_CONFIG,
    "init_vision": _OWN_CONFIG,
    "init_audio": _OWN_CONFIG,
    "use_audio_in_video": "sound is not shown",
    "load_audio_in_video": "sound is not shown",
    "audio_length": "sound is not shown",
    "audio_voice": "sound is not shown",
    "audio_format": "sound is not shown",
    **dict.fromkeys(
        (
            *("read_bytes", "response", "allow_remote", "fail_on_missing", "decode_num_frames", "decode_fps"),
            *("metrics_output_path", "decode_backend"),
        ),
        "the dummy answers at random, by its seed",
    ),
}  # fmt: skip
"""Arguments that do nothing here, and why. One whose value is empty, None or False is left out without a word."""

KEPT: dict[str, tuple[str, ...]] = {"hf": ("max_length",), "vllm": ("max_length",)}
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
    "api_version": "state it in the URL: base_url=https://HOST/openai/v1?api-version=VERSION.",
}
"""Arguments that would change answers and that there is not, and what to write. An empty value or one of False is left out."""
