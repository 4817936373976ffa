"""The prompt keys of a served model: those that the same checkpoint has in the `hf` adapter."""

from mm_eval.models.hf.families import FAMILIES
from mm_eval.models.openai.arguments import NAMES, prompt_keys

from tests.faults.server import Server, echo
from tests.sets import each_of

SERVED = {
    "Qwen/Qwen2-VL-7B-Instruct": "qwen2_vl",
    "Qwen/Qwen2.5-VL-7B-Instruct": "qwen2_5_vl",
    "qwen2.5-vl-72b-instruct-awq": "qwen2_5_vl",
    "Qwen/Qwen3-VL-8B-Instruct": "qwen3_vl",
    "Qwen/Qwen3-VL-30B-A3B-Instruct": "qwen3_vl_moe",
    "Qwen/Qwen3.5-9B": "qwen3_5",
    "Qwen/Qwen3.5-397B-A17B": "qwen3_5_moe",
    "Qwen/Qwen2-Audio-7B-Instruct": "qwen2_audio",
    "Qwen/Qwen3-ASR-1.7B": "qwen3_asr",
    "nvidia/audio-flamingo-3-hf": "audioflamingo3",
    "nvidia/music-flamingo-hf": "musicflamingo",
    "zai-org/GLM-ASR-Nano-2512": "glmasr",
    "OpenMOSS-Team/MOSS-Transcribe-Diarize": "moss_transcribe_diarize",
    "CohereLabs/command-a-vision-07-2025": "cohere2_vision",
    "LGAI-EXAONE/EXAONE-4.5-33B": "exaone4_5",
    "google/gemma-4-31b-it": "gemma4",
    "google/gemma-4-12B-it": "gemma4_unified",
    "nvidia/Cosmos3-Edge": "cosmos3_edge",
    "nvidia/Cosmos3-Nano": "cosmos3_omni",
    "deepseek-community/DeepSeek-OCR-2": "deepseek_ocr2",
    "dots-studio/dots3-note-prev": "dots3_note",
    "zai-org/GLM-5.3-Flash": "glm5_next",
    "GLMGA": "glmga",
    "ibm-granite/granite-for-docling-500m": "granite_docling",
    "naver-hyperclovax/HyperCLOVAX-SEED-Think-32B": "hyperclovax_vision_v2",
    "thinkingmachines/Inkling-2-Small-MXFP8": "inkling2",
    "thinkingmachines/Inkling": "inkling_mm_model",
    "openbmb/MiniCPM-OCR-1.0": "minicpm_ocr",
    "mistralai/Mistral-Large-4-1T-A52B": "mistral_large4",
    "mistralai/Mistral-Small-4-119B-2603": "mistral3",
    "meta-models/Muse-Glimmer-30B": "muse_glimmer",
    "meta-models/Muse-Spark-Open-816B-A42B": "muse_spark",
    "nvidia/Nemotron-3-Nano-Omni-30B-A3B-Reasoning-BF16": "nemotron_h_omni",
    "PaddlePaddle/PP-Chart2Table_safetensors": "pp_chart2table",
    "baidu/Unlimited-OCR": "unlimited_ocr",
    "google/gemma-3n-E4B-it": "gemma3n",
    "deepseek-community/deepseek-vl-1.3b-chat": "deepseek_vl",
    "deepseek-community/deepseek-vl-7b-chat": "deepseek_vl_hybrid",
    "baidu/ERNIE-4.5-VL-28B-A3B-PT": "ernie4_5_vl_moe",
    "KamilaMila/FastVLM-7B": "fast_vlm",
    "zai-org/GLM-OCR": "glm_ocr",
    "rhymes-ai/Aria": "aria",
    "stepfun-ai/GOT-OCR-2.0-hf": "got_ocr2",
    "microsoft/Phi-4-multimodal-instruct": "phi4_multimodal",
    "Qwen/Qwen2.5-Omni-3B": "qwen2_5_omni",
    "Qwen/Qwen3-Omni-30B-A3B-Instruct": "qwen3_omni_moe",
    "CohereLabs/North-Micro-Vision-Instruct": "cohere_compass",
    "tencent/HunyuanOCR": "hunyuan_vl",
    "PaddlePaddle/PaddleOCR-VL": "paddleocr_vl",
    "baidu/Qianfan-OCR": "qianfan_ocr",
    "Qwen/Qwen4-Exp": "qwen4_exp",
    "ibm-granite/granite-4.0-3b-vision": "granite4_vision",
    "moonshotai/Kimi-K2.6": "kimi_k25",
    "LiquidAI/LFM3-VL-2B": "lfm3_vl",
    "openbmb/MiniCPM-V-4.7-1B": "minicpmv4_7",
    "MiniMaxAI/MiniMax-M3": "minimax_m3_vl",
    "allenai/Molmo2-8B": "molmo2",
    "facebook/Perception-LM-1B": "perception_lm",
    "stepfun-ai/Step-3.7-Flash": "step3p7",
    "zai-org/GLM-4.5V-FP8": "glm4v_moe",
    "zai-org/GLM-4.6V-Flash": "glm46v",
    "LiquidAI/LFM2-VL-1.6B": "lfm2_vl",
    "lightonai/LightOnOCR-1B-1025": "lighton_ocr",
    "meta-llama/Llama-4-Scout-17B-16E-Instruct": "llama4",
    "openbmb/MiniCPM-V-4.6": "minicpmv4_6",
    "llava-hf/llava-1.5-7b-hf": "llava",
    "llava-hf/llava-interleave-qwen-0.5b-hf": "llava",
    "liuhaotian/llava-v1.5-13b": "llava",
    "/models/tiny-llava/": "llava",
    "tiny-qwen2-vl": "qwen2_vl",
    "llava-hf/llava-v1.6-mistral-7b-hf": "llava_next",
    "llava-hf/llama3-llava-next-8b-hf": "llava_next",
    "llava-hf/llava-onevision-qwen2-7b-ov-hf": "llava_onevision",
    "llava-hf/vip-llava-7b-hf": "vipllava",
    "OpenGVLab/InternVL3-8B": "internvl",
    "OpenGVLab/InternVL2_5-8B": "internvl",
    "google/gemma-3-4b-it": "gemma3",
    "google/paligemma2-3b-mix-448": "paligemma",
    "meta-llama/Llama-3.2-11B-Vision-Instruct": "mllama",
    "mistralai/Mistral-Small-3.1-24B-Instruct-2503": "mistral3",
    "HuggingFaceTB/SmolVLM2-2.2B-Instruct": "smolvlm",
    "HuggingFaceM4/Idefics3-8B-Llama3": "idefics3",
    "HuggingFaceM4/idefics2-8b": "idefics2",
    "Salesforce/blip2-opt-2.7b": "blip-2",
    "Salesforce/instructblip-vicuna-7b": "instructblip",
    "microsoft/kosmos-2-patch14-224": "kosmos-2",
    "deepseek-community/Janus-Pro-7B": "janus",
    "AIDC-AI/Ovis2-8B": "ovis2",
    "zai-org/GLM-4.1V-9B-Thinking": "glm4v",
    "CohereForAI/aya-vision-8b": "aya_vision",
    "DAMO-NLP-SG/VideoLLaMA3-7B": "video_llama_3",
    "llava-hf/LLaVA-NeXT-Video-7B-hf": "llava_next_video",
}


@each_of(("name", "kind"), SERVED.items())
def test_a_served_model_has_the_keys_of_its_family(name: str, kind: str) -> None:
    assert prompt_keys(name) == FAMILIES[kind].prompt_keys


def test_every_family_has_a_name_and_every_name_a_family() -> None:
    assert set(NAMES.values()) - {""} == set(FAMILIES) == set(SERVED.values())


@each_of(
    "name",
    [
        "m", "", "gpt-4o", "default", "Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen3-8B", "Qwen/Qwen-VL-Chat", "google/gemma-3-1b-it",
        "google/gemma-2-9b-it", "meta-llama/Llama-3.2-3B-Instruct", "LanguageBind/Video-LLaVA-7B-hf", "microsoft/kosmos-2.5",
        "lmms-lab/LLaVA-OneVision-1.5-8B-Instruct", "lmms-lab/LLaVA-Video-7B-Qwen2", "AIDC-AI/Ovis2.5-9B",
        "deepseek-ai/deepseek-vl2-tiny", "moonshotai/Kimi-K2-Instruct", "ibm-granite/granite-4.0-h-tiny",
        "Qwen2.5-VL/merged", "mistralai/Mistral-7B-Instruct-v0.3",
        "ibm-granite/granite-docling-258M", "naver-hyperclovax/HyperCLOVAX-SEED-Think-14B", "nvidia/Nemotron-3-Nano-30B-A3B-BF16",
    ],
)  # fmt: skip
def test_an_unknown_name_has_no_keys(name: str) -> None:
    assert prompt_keys(name) == ()


def test_the_adapter_has_them() -> None:
    server = Server(lambda body, nth: echo(body))
    assert server.model(model="Qwen/Qwen2.5-VL-7B-Instruct").facts.prompt_keys == ("qwen2_5_vl", "qwen_vl")
    assert server.model().facts.prompt_keys == ()
