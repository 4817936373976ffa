"""Which tasks are run on which checkpoint, and how."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.peer_environments import LM_EVAL, LMMS_EVAL, environment
from tests.peers import checkpoints
from tests.peers.suites import Run, peer_tasks

TEXT = (
    "arc_easy arc_challenge piqa openbookqa boolq cb copa multirc sglue_rte wic wsc cola mnli mrpc qnli qqp rte sst2 wnli "
    "winogrande xwinograd_en lambada_openai lambada_openai_cloze_yaml wikitext pile_10k sciq race social_iqa "
    "commonsense_qa logiqa truthfulqa_mc1 truthfulqa_mc2 gsm8k gsm8k_cot_zeroshot triviaqa nq_open drop mathqa "
    "mmlu_anatomy mmlu_astronomy mmlu_high_school_geography mmlu_anatomy_generative wmdp_bio blimp_causative "
    "hendrycks_math_algebra xcopa_et bbh_zeroshot_navigate bbh_zeroshot_boolean_expressions bbh_cot_fewshot_navigate "
    "xnli_en paws_en pubmedqa medqa_4options mgsm_direct_en crows_pairs_english belebele_eng_Latn wsc273 toxigen swag "
    "anli_r1 headqa_en mutual ethics_cm ethics_deontology ethics_justice ethics_utilitarianism ethics_virtue anagrams1 "
    "asdiv asdiv_cot_llama"
).split()
"""Tasks of lm-eval's own tree that run on data made here.

hellaswag and webqs have their own run; record and coqa import what transformers 5 no longer has, in either suite.
"""

PICTURES = (
    "mme seedbench pope ai2d mmstar realworldqa scienceqa_img chartqa textvqa_val ok_vqa_val2014 vizwiz_vqa_val vqav2_val "
    "docvqa_val mmmu_val blink seedbench_2_plus cv_bench muirbench ocrbench countbenchqa pixmo_count mmt_val vstar_bench"
).split()
"""Tasks of lmms-eval's own tree that run on data made here."""

NAMES = ("bos", "no-bos", "tiny-llava", "tiny-qwen2-vl")
BUNDLED = Path(__file__).resolve().parents[2] / "assets" / "models"


def checkpoint(run: Run, scratch: Path) -> Path:
    """The folder of a run's checkpoint, made if need be."""
    if (BUNDLED / run.checkpoint).is_dir():
        return BUNDLED / run.checkpoint
    return checkpoints.save(run.checkpoint, scratch / "checkpoints" / run.checkpoint)


def chosen(scratch: Path, quick: bool, only: Sequence[str]) -> Iterator[Run]:
    """The runs that are asked for."""
    found = [*_of_text(), *_of_pictures()]
    yield from (run for run in found if not only or run.name in only)


def _of_text() -> Iterator[Run]:
    theirs = peer_tasks(environment(LM_EVAL), "lm_eval")
    plain = ("--apply_chat_template", "false")
    yield Run("bos", "lm-eval", "llama-bos", TEXT, theirs, flags=plain)
    short = [name for name in TEXT if name != "bbh_cot_fewshot_navigate"]  # it asks for more tokens than fit, and lm-eval stops
    yield Run("no-bos", "lm-eval", "qwen2-no-bos", short, theirs, flags=plain)


def _of_pictures() -> Iterator[Run]:
    theirs = peer_tasks(environment(LMMS_EVAL), "lmms_eval")
    llava = {"model": "llava_hf", "model_args": "device_map=cpu,dtype=float32"}
    qwen = {"model": "qwen2_vl", "model_args": "device_map=cpu"}
    yield Run("tiny-llava", "lmms-eval", "tiny-llava", PICTURES, theirs, llava, ("--prompt_key", "default"))
    yield Run("tiny-qwen2-vl", "lmms-eval", "tiny-qwen2-vl", PICTURES, theirs, qwen)
