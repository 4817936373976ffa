"""Names of tasks and groups of the other suites: what they are here, how split or rule differ, or that they are not shipped.

    find("docvqa")           docvqa_val,docvqa_test
    find("seed_bench")       seedbench: names that differ only by case, `_` and `-` are one
    find("MMBench_DEV_EN")   mmbench_en_dev, and a note
    find("mathvista_test")   ConfigError: its answers are not public
    find("air_bench")        ConfigError: not shipped; --include_path with lmms-eval's tree

A name that a task file declares, shipped or the user's, comes first; only others are looked up here. Read from the task trees of
lm-eval 0.4.2 to 0.4.13, lmms-eval 0.1.2 to 0.7.3, VLMEvalKit of August 2026 and inspect_evals 0.26.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mm_eval.values.errors import ConfigError


@dataclass(frozen=True)
class OtherName:
    """What a name is here. ours: names of tasks and groups, with commas. note: how it differs; "" where it does not."""

    ours: str
    note: str = ""


_NO_ANSWERS = "the answers of the test split are not public"
_OWN_RULE = "scored by the benchmark's own rule"
_LMMS = "_lmms has lmms-eval's rule"
_CATEGORIES = "all of it is asked, and its rows show this part"
_CASED = "by sacreBLEU alone; case and punctuation are not taken away before"
_PROMPT = "the prompt is the benchmark's own"
_JUDGE = "scored by rules; the variant _judged asks a judge, as this suite does"

SAME: dict[str, tuple[str, str]] = {
    # groups and tasks of lmms-eval
    "ai2_arc": ("arc_easy,arc_challenge", ""),
    "arc": ("arc_easy,arc_challenge", ""),
    "charxiv_reasoning": ("charxiv_val_reasoning", ""),
    "docvqa": ("docvqa_val,docvqa_test", "docvqa_test has no score: its predictions are written for the official server"),
    "infovqa": ("infovqa_val,infovqa_test", "infovqa_test has no score: its predictions are written for the official server"),
    "textvqa": ("textvqa_val", _NO_ANSWERS),
    "vqav2": ("vqav2_val", f"{_NO_ANSWERS}; vqav2_val{_LMMS}"),
    "vizwiz_vqa": ("vizwiz_vqa_val", _NO_ANSWERS),
    "coco_cap": ("coco2017_cap_val", "the captions of 2014 and Karpathy's splits are not shipped"),
    "coco2017_cap": ("coco2017_cap_val", ""),
    "coco_caption": ("coco2017_cap_val", "the captions of 2014 and Karpathy's splits are not shipped"),
    "charades": ("charades_sta", ""),
    "refspatial": ("refspatial_bench,refspatial_unseen", "prompt and rule are the authors'"),
    "mmsi": ("mmsi_bench", ""),
    "nocaps": ("nocaps_val", _NO_ANSWERS),
    "mathvista": ("mathvista_testmini", f"{_NO_ANSWERS}; {_JUDGE}"),
    "mathvista_testmini_format": ("mathvista_testmini", f"{_PROMPT}; {_JUDGE}"),
    "mathvision": ("mathvision_test", ""),
    "mathverse_testmini_text_only_judged": ("mathverse_testmini_text_only", ""),
    "mmmu": ("mmmu_val", f"{_NO_ANSWERS}; mmmu_val{_LMMS}"),
    "mmmu_a": ("mmmu_val", f"{_OWN_RULE}; mmmu_val{_LMMS}"),
    "mmmu_pro": (
        "mmmu_pro_standard,mmmu_pro_vision",
        "the prompt reasons step by step; --prompt_key direct asks for the letter alone, as lmms-eval does",
    ),
    "mmmu_pro_cot": ("mmmu_pro_standard,mmmu_pro_vision", "the prompt reasons step by step"),
    "mmbench": ("mmbench_en_dev,mmbench_cn_dev", f"{_NO_ANSWERS}; cc, ko and ru are not shipped; circular accuracy by rules"),
    "mmbench_en": ("mmbench_en_dev", f"{_NO_ANSWERS}; circular accuracy by rules, and mmbench_en_dev_judged asks a judge"),
    "mmbench_cn": ("mmbench_cn_dev", f"{_NO_ANSWERS}; cc is not shipped; circular accuracy by rules"),
    "mmbench_en_dev_static": ("mmbench_en_dev", "circular accuracy by rules"),
    "mmt": ("mmt_val", _NO_ANSWERS),
    "nextqa": ("nextqa_mc", "the open-ended parts are not shipped"),
    "hrbench": ("hrbench4k,hrbench8k", f"{_JUDGE}"),
    "scienceqa_full": ("scienceqa,scienceqa_img", ""),
    "hallusion_bench": ("hallusion_bench_image", f"{_JUDGE.replace('_judged', 'hallusion_bench_judged')}"),
    "mlvu": ("mlvu_dev", ""),
    "video_holmes_test": ("video_holmes", "the authors' prompt and rule; --prompt_key direct asks for the letter only"),
    "egoschema": ("egoschema_subset", "the answers of the other questions are not public"),
    "egosch_a": ("egoschema_subset", "the answers of the other questions are not public"),
    "gpqa": ("gpqa_diamond,gpqa_diamond_cot", "gpqa_main and gpqa_extended are not shipped"),
    "seedbench_all": ("seedbench", ""),
    "refcoco_bbox_rec": ("refcoco", "accuracy at an overlap of .5"),
    "refcoco+_bbox_rec": ("refcocoplus", "accuracy at an overlap of .5"),
    "refcocog_bbox_rec": ("refcocog", "accuracy at an overlap of .5"),
    "refcoco_grounding": (
        "refcoco_testA,refcoco_testB,refcocoplus_testA,refcocoplus_testB,refcocog_test",
        "accuracy at an overlap of .5",
    ),
    "fleurs_en": ("fleurs_en_us", ""),
    "covost2_en_zh": ("covost2_en_zh_cn", _CASED),
    "covost2_en_zh_test": ("covost2_en_zh_cn", _CASED),
    "covost2_zh_en": ("covost2_zh_cn_en", _CASED),
    "covost2_zh_en_test": ("covost2_zh_cn_en", _CASED),
    # lm-eval
    "leaderboard": (
        "ifeval,bbh,gpqa_diamond,mmlu_pro",
        "math_hard and musr are not shipped, and bbh, gpqa and mmlu_pro are not asked as there; "
        "--include_path with lm-eval's tree has its own rules",
    ),
    "leaderboard_ifeval": ("ifeval", ""),
    "leaderboard_instruction_following": ("ifeval", ""),
    "leaderboard_bbh": ("bbh", "its 27 tasks with three solutions shown, not 24 with choices by likelihood"),
    "leaderboard_gpqa": ("gpqa_diamond", "acc, not acc_norm; gpqa_main and gpqa_extended are not shipped"),
    "leaderboard_gpqa_diamond": ("gpqa_diamond", "acc, not acc_norm"),
    "leaderboard_mmlu_pro": ("mmlu_pro", "answers with reasoning, not the likeliest letter (mmlu_pro@mcqa)"),
    "openllm": (
        "arc_challenge,hellaswag,truthfulqa_mc2,mmlu,winogrande,gsm8k",
        "each with its task's own number of examples; there 25, 10, 0, 5, 5 and 5",
    ),
    "truthfulqa": ("truthfulqa_mc", "truthfulqa_gen is not shipped"),
    "mmlu_generative": ("mmlu@generate", ""),
    "mmlu_continuation": ("mmlu@cloze", ""),
    "bbh_cot_fewshot": ("bbh_lm_eval", ""),
    "hendrycks_math500": ("math500", "the same 500 problems; answers are compared as mathematics"),
    "minerva_math500": ("math500", "the same 500 problems; answers are compared as mathematics"),
    "openai_math": ("math500", "the same 500 problems; answers are compared as mathematics"),
    # VLMEvalKit
    "AI2D_TEST": ("ai2d", ""),
    "AI2D_TEST_NO_MASK": ("ai2d_no_mask", ""),
    "BLINK": ("blink", _JUDGE),
    "CCOCR": ("cc_ocr", ""),
    "CharXiv_descriptive_val": ("charxiv_val_descriptive", ""),
    "CharXiv_reasoning_val": ("charxiv_val_reasoning", ""),
    "ChartQA_TEST": ("chartqa", ""),
    "ChartQAPro": ("chartqapro", ""),
    "CountBenchQA": ("countbenchqa_vlmevalkit", ""),
    "CV-Bench-2D": ("cv_bench", _CATEGORIES),
    "CV-Bench-3D": ("cv_bench", _CATEGORIES),
    "DocVQA_VAL": ("docvqa_val", ""),
    "DocVQA_TEST": ("docvqa_test", ""),
    "DynaMath": ("dynamath", ""),
    "BabyVision": ("babyvision", "each question is answered three times"),
    "EmbSpatialBench": ("embspatial", "the letter is read by mcq_letter"),
    "ERQA": ("erqa", ""),
    "GQA_TestDev_Balanced": ("gqa", ""),
    "HallusionBench": ("hallusion_bench_image", "scored by rules; hallusion_bench_judged asks a judge"),
    "HRBench4K": ("hrbench4k", _JUDGE),
    "HRBench8K": ("hrbench8k", _JUDGE),
    "InfoVQA_VAL": ("infovqa_val", ""),
    "InfoVQA_TEST": ("infovqa_test", ""),
    "LLaVABench": ("llava_in_the_wild", ""),
    "LogicVista": ("logicvista", "scored by rules"),
    "LongVideoBench": ("longvideobench_val_v", ""),
    "MathVerse_MINI": ("mathverse_testmini", ""),
    "MathVision": ("mathvision_test", "scored by rules"),
    "MathVision_MINI": ("mathvision_testmini", "scored by rules"),
    "MathVista_MINI": ("mathvista_testmini", _JUDGE),
    "MIA-Bench": ("mia_bench", ""),
    "MLVU": ("mlvu_dev", "the multiple-choice part"),
    "MLVU_MCQ": ("mlvu_dev", ""),
    "MMBench_DEV_EN": ("mmbench_en_dev", "circular accuracy by rules; mmbench_en_dev_judged asks a judge"),
    "MMBench_DEV_CN": ("mmbench_cn_dev", "circular accuracy by rules"),
    "MMBench_DEV_EN_V11": ("mmbench_en_dev_v11", "circular accuracy by rules"),
    "MMBench_DEV_CN_V11": ("mmbench_cn_dev_v11", "circular accuracy by rules"),
    "MME": ("mme", ""),
    "MME-RealWorld": ("mmerealworld", ""),
    "MME-RealWorld-CN": ("mmerealworld_cn", ""),
    "MME-RealWorld-Lite": ("mme_realworld_lite", ""),
    "MMLongBench_DOC": ("mmlongbench_doc", "scored by rules; mmlongbench_doc_judged asks a judge"),
    "MMMU_DEV_VAL": ("mmmu_val", "the 900 validation questions; the 150 of dev are not asked"),
    "MMMU_Pro_10c": ("mmmu_pro_standard", "--prompt_key direct asks without reasoning"),
    "MMMU_Pro_10c_COT": ("mmmu_pro_standard", "with reasoning"),
    "MMMU_Pro_V": ("mmmu_pro_vision", "--prompt_key direct asks without reasoning"),
    "MMMU_Pro_V_COT": ("mmmu_pro_vision", "with reasoning"),
    "MMSIBench_wo_circular": ("mmsi_bench", ""),
    "MMStar": ("mmstar", ""),
    "MMT-Bench_VAL": ("mmt_val", "pictures are shown one by one, not tiled into one (as MMT-Bench_VAL_MI has them)"),
    "MMT-Bench_VAL_MI": ("mmt_val", ""),
    "MMVet": ("mmvet", ""),
    "MMVP": ("mmvp", "letters by rule; mmvp_judged asks a judge"),
    "MTVQA_TEST": ("mtvqa", ""),
    "MUIRBench": ("muirbench", ""),
    "MVBench": ("mvbench", ""),
    "MedXpertQA_MM_test": ("medxpertqa_mm", "asked in the authors' two turns"),
    "MVBench_MP4": ("mvbench", ""),
    "OCRBench": ("ocrbench", ""),
    "OCRBench_v2": ("ocrbench_v2", ""),
    "OlympiadBench": ("olympiadbench", ""),
    "OlympiadBench_EN": ("olympiadbench_en", ""),
    "OlympiadBench_CN": ("olympiadbench_cn", ""),
    "OmniDocBench": ("omnidocbench_v1", "version 1.0 with one partner for each piece; omnidocbench is 1.5"),
    "OSWorld_G": ("osworld_g", "the hub's 510 rows, asked in the units of each family"),
    "PerceptionBench": ("perceptionbench", ""),
    "PhyX_MC": ("phyx_mc", "scored by rules"),
    "PhyX_mini_MC": ("phyx_mini_mc", "scored by rules"),
    "POPE": ("pope", ""),
    "RealWorldQA": ("realworldqa", ""),
    "RefCOCO": ("refcoco,refcocoplus,refcocog", ""),
    "RefSpatial": ("refspatial_bench_json,refspatial_unseen", "the question is the authors' for Qwen's models"),
    "RefSpatial_wo_unseen": ("refspatial_bench_json", "the question is the authors' for Qwen's models"),
    "ScienceQA_TEST": ("scienceqa_img", "its questions with a picture"),
    "SEEDBench_IMG": ("seedbench_image", ""),
    "SEEDBench2_Plus": ("seedbench_2_plus", ""),
    "SimpleVQA": ("simplevqa", ""),
    "TempCompass": ("tempcompass", "scored by rules; tempcompass_judged asks a judge"),
    "TempCompass_MCQ": ("tempcompass_multi_choice", "scored by rules; the variant _judged asks a judge"),
    "TempCompass_YorN": ("tempcompass_yes_no", "scored by rules; the variant _judged asks a judge"),
    "TempCompass_Captioning": ("tempcompass_captioning", ""),
    "TextVQA_VAL": ("textvqa_val", ""),
    "TreeBench": ("treebench", "without the overlap of boxes"),
    "Video-MME": ("videomme", ""),
    "Video-MME-v2": ("videomme_v2", ""),
    "VideoMMMU": ("video_mmmu", ""),
    "Video_Holmes": ("video_holmes", "the authors' prompt, and a letter outside the tags is read"),
    "VisFactor": ("visfactor", ""),
    "VisFactor_CoT": ("visfactor_cot", ""),
    "VisuLogic": ("visulogic", ""),
    "VizWiz": ("vizwiz_vqa_val", ""),
    "WorldSense": ("worldsense", "with the video's sound"),
    "VLMBlind": ("vlmsareblind", ""),
    "WorldVQA": ("worldvqa", "three grades, without an F-score; the official judge is gpt-oss-120b"),
    "vlms_are_biased_main": ("vlms_are_biased", ""),
    "VSI-Bench": ("vsi_bench", ""),
    "VStarBench": ("vstar", ""),
    "WeMath": ("we_math", ""),
    "ZEROBench": ("zerobench", ""),
    "ZEROBench_sub": ("zerobench_subquestions", ""),
    # inspect_evals
    "inspect_evals/arc_easy": ("arc_easy@generate", "the letter is written"),
    "inspect_evals/arc_challenge": ("arc_challenge@generate", "the letter is written"),
    "inspect_evals/bbh": ("bbh", ""),
    "inspect_evals/docvqa": ("docvqa_val", ""),
    "inspect_evals/gpqa_diamond": ("gpqa_diamond_cot", "each question is asked once, with reasoning"),
    "inspect_evals/gsm8k": ("gsm8k", "with the task's own examples"),
    "inspect_evals/hellaswag": ("hellaswag@generate", "the letter is written"),
    "inspect_evals/ifeval": ("ifeval", ""),
    "inspect_evals/mathvista": ("mathvista_testmini", _PROMPT),
    "inspect_evals/mmlu_0_shot": ("mmlu@generate", "with the task's own number of examples; --num_fewshot 0"),
    "inspect_evals/mmlu_5_shot": ("mmlu@generate", "--num_fewshot 5"),
    "inspect_evals/mmlu_pro": ("mmlu_pro", ""),
    "inspect_evals/mmmu_multiple_choice": ("mmmu_val", "multiple choice and open questions together, in rows of their own"),
    "inspect_evals/mmmu_open": ("mmmu_val", "multiple choice and open questions together, in rows of their own"),
    "inspect_evals/piqa": ("piqa@generate", "the letter is written"),
    "inspect_evals/truthfulqa": ("truthfulqa_mc1", "the likeliest choice, not a written letter"),
    "inspect_evals/winogrande": ("winogrande", "the likeliest sentence, not a written letter"),
    "inspect_evals/zerobench": ("zerobench", ""),
    "inspect_evals/zerobench_subquestions": ("zerobench_subquestions", ""),
}  # fmt: skip
"""Names of others, ours with commas, and what differs."""

_PARTS = {"DocParsing": "doc_parsing", "Kie": "kie", "MultiLanOcr": "multi_lan_ocr", "MultiSceneOcr": "multi_scene_ocr"}
_VIDEO = "--video frames=64 shows as many frames"
_FRAMES = r"(?:_(?:\d+(?:\.\d+)?(?:frame|fps)))"

PATTERNS: list[tuple[str, str, str]] = [
    (r"pope_(?:adv|pop|random)", "pope", _CATEGORIES),
    (r"cv_bench_[23]d", "cv_bench", f"{_CATEGORIES}; cv_bench{_LMMS}"),
    (r"vstar_bench_(?:direct_attributes|relative_position)", "vstar", _CATEGORIES),
    (r"videomme_long", "videomme", _CATEGORIES),
    (r"videomme_long_w_subtitle", "videomme_w_subtitle", _CATEGORIES),
    (r"refcoco_bbox_rec_(val|testA|testB)", r"refcoco_\1", "accuracy at an overlap of .5"),
    (r"refcoco\+_bbox_rec_(val|testA|testB)", r"refcocoplus_\1", "accuracy at an overlap of .5"),
    (r"refcocog_bbox_rec_(val|test)", r"refcocog_\1", "accuracy at an overlap of .5"),
    (r"refcoco_grounding_(testA|testB)", r"refcoco_\1", "accuracy at an overlap of .5"),
    (r"refcoco_plus_grounding_(testA|testB)", r"refcocoplus_\1", "accuracy at an overlap of .5"),
    (r"refcocog_grounding_test", "refcocog_test", "accuracy at an overlap of .5"),
    (r"mmmu_val_(?!lmms|think|qwen|reason|group|pass)[a-z_]+", "mmmu_val", f"{_CATEGORIES}; mmmu_val{_LMMS}"),
    (r"blink_groups", "blink", ""),
    (r"mmlu_(?!pro|flan|redux)(\w+)_generative", r"mmlu_\1@generate", ""),
    (r"mmlu_(?!pro|flan|redux)(\w+)_continuation", r"mmlu_\1@cloze", ""),
    (r"bbh_cot_fewshot_(\w+)", r"bbh_\1", ""),
    (r"leaderboard_bbh_(\w+)", r"bbh_\1", "with three solutions shown, not choices by likelihood"),
    (r"arc_(easy|challenge)_(?:chat|llama)", r"arc_\1@generate", "the letter is written"),
    (r"CCOCR_(DocParsing|Kie|MultiLanOcr|MultiSceneOcr)_\w+", "", _CATEGORIES),
    (r"MathVerse_MINI_(Text_Dominant|Text_Lite|Vision_Dominant|Vision_Intensive|Vision_Only)", "", ""),
    (r"ScreenSpot_(Pro|v2)_\w+", "", _CATEGORIES),
    (r"ScreenSpot_(?:Desktop|Mobile|Web)", "screenspot", _CATEGORIES),
    (
        r"screenspot_rec(?:_test)?",
        "screenspot",
        "a click inside the element's box; lmms-eval asks for a box and takes its overlap",
    ),
    (rf"MLVU(?:_MCQ)?{_FRAMES}", "mlvu_dev", _VIDEO),
    (rf"MVBench(?:_MP4)?{_FRAMES}", "mvbench", _VIDEO),
    (rf"LongVideoBench{_FRAMES}?_subs", "longvideobench_val_i", "subtitles are between the frames"),
    (rf"LongVideoBench{_FRAMES}", "longvideobench_val_v", _VIDEO),
    (rf"TempCompass{_FRAMES}", "tempcompass", "scored by rules; tempcompass_judged asks a judge"),
    (rf"VideoMMMU{_FRAMES}", "video_mmmu", _VIDEO),
    (rf"Video_Holmes{_FRAMES}", "video_holmes", _VIDEO),
    (rf"Video-MME-v2{_FRAMES}?", "videomme_v2", "64 frames; --video states others"),
    (rf"Video-MME-v2{_FRAMES}?_reasoning", "videomme_v2", "with --prompt_key reasoning"),
    (rf"Video-MME-v2{_FRAMES}?_subs", "videomme_v2_w_subtitle", "64 frames; --video states others"),
    (r"videomme_v2_reasoning", "videomme_v2", "with --prompt_key reasoning"),
    (rf"Video-MME{_FRAMES}?_subs", "videomme_w_subtitle", _VIDEO),
    (rf"Video-MME{_FRAMES}", "videomme", _VIDEO),
    (r"inspect_evals/vstar_bench\w*", "vstar", _CATEGORIES),
]
"""Further names: a pattern of the whole name, ours, and what differs. An empty `ours` is made by `_made`."""

_VARIANT = "is a variant of lmms-eval's own"
REFUSED: list[tuple[str, str, str]] = [
    (r"(.+)_lite", "is a subset that only lmms-eval has", r"\1 is the whole; --limit N asks its first documents."),
    (r"(.+)_no_visual", _VARIANT, r"\1 --blind asks without the pictures."),
    (r"(.+)_(?:random_choice|gt_none_option|number_option)", _VARIANT, r"\1 has the same documents."),
    (r"(.+)_(?:question_only|video_only_abcd)", _VARIANT, r"\1 has the same documents."),
    (r"(videomme)_(?:convert_mcq_oe|revert_oe_mcq)", _VARIANT, r"\1 has the same documents."),
    (r"(mathvista_testmini)_(?:cot|solution)", _VARIANT, r"\1 has the same documents and the benchmark's own prompt."),
    (r"(charxiv_val_\w+)_cot", _VARIANT, r"\1 has the same documents and the benchmark's own prompt."),
    (r"(mmmu_val)_(?:thinking|qwen|pass64|group_img)", _VARIANT, r"\1 has the same documents; --repeats N asks N times."),
    (r"(mmmu)_group_img|(?:mmmu)_test_group_img", "puts the pictures of a question into one", "mmmu_val shows them one by one."),
    (r"(mmstar)_(?:oc|qwen|ko)", _VARIANT, r"\1 has the benchmark's own prompt and rule."),
    (r"(mathvision)_reason_(test|testmini)(?:_reasoning)?", _VARIANT, r"\1_\2 has the same documents."),
    (r"(mmmu_pro)_(?:composite|original)(?:_cot)?", "has other documents", r"\1 is the benchmark as its authors report it."),
    (r"(egoschema(?:_subset)?|perceptiontest_(?:val|test))_mcppl", "is scored by likelihood", "egoschema_subset@mcqa does that."),
    (r"(refcoco\+?|refcocog)_(?:bbox|seg)(?:_\w+)?", "asks for captions of regions", "`refcoco` here asks where a thing is."),
    (r"(mmerealworld(?:_cn)?)_reasoning", _VARIANT, r"\1 has the same documents."),
    (r"screenspot_reg\w*", "asks what an element is for", "`screenspot` here asks where it is."),
    (r"emma|EMMA(?:_COT)?", "is not shipped", "emma_mini is, 400 of its questions."),
    (r"coco2014_cap_\w+|coco_karpathy_\w+|COCO_VAL", "is not shipped", "coco2017_cap_val is."),
    (r"vsibench_(?:debiased|pruned|multiimage|debiased_multiimage)|VSI-Bench-Debiased", "is not shipped", "vsi_bench is."),
    (r"gpqa_(?:main|extended|diamond)_\w+|leaderboard_gpqa_(?:main|extended)", "is not shipped", "gpqa_diamond(_cot) is."),
    (r"gsm8k_(?:cot\w*|platinum\w*|llama)", "asks with another prompt", "gsm8k is shipped, with five solutions shown."),
    (r"openai_math_\w+", "asks several times", "math500 --repeats N asks N times."),
    (r"(?:hendrycks|minerva)_math(?:_\w+)?|leaderboard_math\w*", "is not shipped", "math500 is, 500 of its problems."),
    (r"leaderboard_musr\w*", "is not shipped", "Parts that are: ifeval, bbh, gpqa_diamond, mmlu_pro."),
    (r"truthfulqa_gen", "is not shipped", "truthfulqa_mc1 and truthfulqa_mc2 are."),
    (r"mmlu_(?:pro_)?(?:flan|redux|plus|cot_llama|llama)\w*", "is not shipped", "mmlu and mmlu_pro are."),
    (r"bbh_(?:fewshot|zeroshot|cot_zeroshot)\w*", "is not shipped", "bbh is, with three solutions shown."),
    (r"chartqa_llama\w*", "asks with another prompt", "chartqa is shipped."),
    (r"mmbench_(?:cn_cc|ko_dev|ru_dev)|MMBench_DEV_KO|CCBench", "is not shipped", "mmbench_en_dev and mmbench_cn_dev are."),
    (r"MMBench_TEST_\w+|MMBench(?:_V11|_CN|_CN_V11)?", f"is not shipped: {_NO_ANSWERS}", "mmbench_en_dev_v11 is shipped."),
    (r"ScienceQA_VAL", "is not shipped", "scienceqa_img is, the test split."),
    (r"MMSIBench_circular", "is not shipped", "mmsi_bench asks each question once."),
    (r"MathVerse_MINI_Vision_Only_cot", "asks with another prompt", "mathverse_testmini_vision_only has the benchmark's own."),
    (r"ChartQAPro_\w+", "asks with another prompt", "chartqapro has the benchmark's own."),
    (r"WeMath_COT|DynaMath_noprompt", "asks with another prompt", "we_math and dynamath have the benchmark's own."),
    (r"nextqa_oe_(?:test|val)", "is not shipped", "nextqa_mc is, the multiple-choice part."),
    (r"llava_in_the_wild_\w+|seedbench_ko|ifeval_\w+", "is not shipped in this language", "It is shipped in English."),
    (r"mmt_mi(?:_val|_test)?", "is not shipped", "mmt_val is."),
    (r"(.+?)(?:_cot)?_reasoning", _VARIANT, r"\1 has the same documents; --system_instruction states a prompt to reason."),
    (
        r"(?:arc|hellaswag|mmlu|truthfulqa|gsm8k|piqa|winogrande|ifeval|gpqa|bbh|mmmu|wikitext|mmlu_pro)[_-](?:\w+_)?[a-z]{2}(?:_\w+)?",
        "is a task of lm-eval in another language, which mm-eval does not ship",
        "Run it from lm-eval's tree: --include_path .../lm_eval/tasks",
    ),
    (r"(.+)_test(?:_\w+)?", f"is not shipped: {_NO_ANSWERS}", ""),
]  # fmt: skip
"""Names of shipped benchmarks that have no counterpart: a pattern, why, and what is here. A pattern that begins with (. needs a
shipped benchmark there."""


def find(name: str, known: Collection[str]) -> OtherName | None:
    """What a name that no task file declares is here; None where no suite has it.

    known: the names that task files declare.

    Errors: ConfigError for a name of another suite that has no counterpart, with what to write.
    """
    if name in SAME:
        return OtherName(*SAME[name])
    if "/" not in name and (plain := f"inspect_evals/{name}") in SAME:
        return OtherName(*SAME[plain])
    for pattern, ours, note in PATTERNS:
        if (match := re.fullmatch(pattern, name)) is not None:
            return OtherName(match.expand(ours) if ours else _made(match), note)
    if (alike := _spelled_alike(name, known)) is not None:
        return OtherName(alike)
    same = [SAME[each] for each in SAME if _plain(each) == _plain(name)]
    if len({ours for ours, _ in same}) == 1:
        return OtherName(*same[0])
    for pattern, why, hint in REFUSED:
        if (match := re.fullmatch(pattern, name)) is not None and _is_shipped(match, known):
            raise ConfigError(f"{name!r} {why}.", hint=match.expand(hint))
    if (found := _not_shipped(name)) is not None:
        raise found
    return None


def _plain(name: str) -> str:
    """A name without case, `_` and `-`: seed_bench, SEED-Bench and seedbench are one name."""
    return name.lower().replace("_", "").replace("-", "")


def _spelled_alike(name: str, known: Collection[str]) -> str | None:
    """The one known name that differs only by case, `_` and `-`; None where there is none, or more than one."""
    alike = [each for each in known if _plain(each) == _plain(name)]
    return alike[0] if len(alike) == 1 else None


def _made(match: re.Match[str]) -> str:
    """The name of a part."""
    part = match[1]
    if part in _PARTS:
        return f"cc_ocr_{_PARTS[part]}"
    if part in ("Pro", "v2"):
        return f"screenspot_{part.lower()}"
    return f"mathverse_testmini_{part.lower()}"


def _is_shipped(match: re.Match[str], known: Collection[str]) -> bool:
    """Whether what a general pattern cut off leaves the name of a benchmark that is shipped."""
    if not match.re.groups or match[1] is None or match.re.pattern[:2] != "(.":
        return True
    stem = match[1]
    is_ours = any(name == stem or name.startswith(f"{stem}_") for name in known) or stem in SAME
    return is_ours or any(re.fullmatch(pattern, stem) for pattern, _, _ in PATTERNS)


@cache
def _trees() -> list[tuple[str, str, str]]:
    """(beginning of a name, suite, folder of its tree)."""
    lines = (Path(__file__).parent / "not_shipped.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    return [(beginning, suite, folder) for suite, folder, text in rows for beginning in text.split()]


def _begins(name: str, beginning: str) -> bool:
    if not name.startswith(beginning):
        return False
    rest = name[len(beginning) :]
    return not rest or len(beginning) >= 6 or not (rest[0].isalpha() and beginning[-1].isalpha())


def _not_shipped(name: str) -> ConfigError | None:
    """The error for a benchmark of another suite."""
    if name.startswith("inspect_evals/"):
        hint = "`mm-eval ls tasks WORD` searches for a relative."
        return ConfigError(f"{name!r} is a task of inspect_evals that mm-eval does not ship.", hint=hint)
    found = [
        (len(beginning), folder == beginning, suite, folder)
        for beginning, suite, folder in _trees()
        if _begins(name, beginning)
    ]
    if not found:
        return None
    _, _, suite, folder = max(found)
    tree = {"lmms-eval": "lmms_eval/tasks", "lm-eval": "lm_eval/tasks"}.get(suite, "")
    hint = (
        f"Run it from {suite}'s tree: --include_path .../{tree}/{folder}"
        if tree
        else "`mm-eval ls tasks WORD` searches for a relative; a task file of your own: --include_path DIR."
    )
    return ConfigError(f"{name!r} is a benchmark of {suite} that mm-eval does not ship.", hint=hint)
