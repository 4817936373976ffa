"""Which tasks are run on which checkpoint, and how."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.peer_environments import LM_EVAL, LMMS_EVAL, environment
from tests.peers import checkpoints
from tests.peers.suites import Run, peer_tasks


def named(names: str) -> list[str]:
    """Names that blanks divide."""
    return names.split()


TEXT = named(
    "arc_easy arc_challenge piqa openbookqa boolq cb copa multirc sglue_rte wic wsc cola mnli mrpc qnli qqp rte sst2 wnli "
    "winogrande xwinograd_en lambada_openai lambada_openai_cloze_yaml wikitext pile_10k sciq race social_iqa "
    "commonsense_qa logiqa truthfulqa_mc1 truthfulqa_mc2 gsm8k gsm8k_cot_zeroshot triviaqa nq_open drop mathqa "
    "mmlu_anatomy mmlu_astronomy mmlu_high_school_geography mmlu_anatomy_generative wmdp_bio blimp_causative "
    "hendrycks_math_algebra xcopa_et bbh_zeroshot_navigate bbh_zeroshot_boolean_expressions bbh_cot_fewshot_navigate "
    "xnli_en paws_en pubmedqa medqa_4options mgsm_direct_en crows_pairs_english belebele_eng_Latn wsc273 toxigen swag "
    "anli_r1 headqa_en mutual ethics_cm ethics_deontology ethics_justice ethics_utilitarianism ethics_virtue anagrams1 webqs "
    "asdiv asdiv_cot_llama boolq-seq2seq super_glue-boolq-t5-prompt super_glue-cb-t5-prompt super_glue-copa-t5-prompt "
    "super_glue-rte-t5-prompt super_glue-wic-t5-prompt"
)
"""Tasks of lm-eval's own tree that run on data made here.

hellaswag is asked as hellaswag_int; record and coqa import what transformers 5 no longer has, in either suite.
"""

MADE = named(
    "made_metrics made_several_right made_prefix made_empty_prompt made_target_with_blank made_rolling made_filters "
    "made_any_answer made_weighted made_unweighted made_nested"
)
"""The task files in tasks/: what lm-eval's own tree lacks or hides."""

FIRST_N = named(
    "arc_easy piqa boolq cb copa winogrande sciq gsm8k triviaqa nq_open drop mathqa swag headqa_en cola hendrycks_math_algebra "
    "anagrams1 race social_iqa"
)
"""Tasks that are asked with examples from the start of the pool: the default sampler draws others on purpose."""

CHAT = named(
    "arc_easy boolq winogrande mmlu_anatomy mmlu_anatomy_generative gsm8k_cot_zeroshot triviaqa asdiv_cot_llama"
)

OWN = ["arc_easy", "gsm8k", "mmlu_anatomy", "mmlu_astronomy", "mmlu_high_school_geography"]
"""Tasks that both suites have a file of their own for."""

PICTURES = named(
    "mme seedbench pope ai2d mmstar realworldqa scienceqa_img chartqa textvqa_val ok_vqa_val2014 vizwiz_vqa_val vqav2_val "
    "docvqa_val mmmu_val blink seedbench_2_plus cv_bench muirbench ocrbench countbenchqa pixmo_count mmt_val vstar_bench"
)
"""Tasks of lmms-eval's own tree that run on data made here."""

PEER_OF = {
    **dict.fromkeys(("bos", "no-bos", "made-bos", "made-no-bos", "first-n", "few-shot", "chat", "own"), LM_EVAL),
    **dict.fromkeys(("tiny-llava", "tiny-qwen2-vl", "own-pictures", "own-qwen2-vl"), LMMS_EVAL),
    "shipped-text": LM_EVAL,
    "shipped-pictures": LMMS_EVAL,
}
"""The runs, and the peer of each."""

SHIPPED = {"shipped-text": "lm-eval", "shipped-pictures": "lmms-eval"}
"""The runs that compare our shipped tasks with the peer's own ones of the same name, over given answers."""

QUICK = ("bos", "made-bos", "made-no-bos", "first-n", "tiny-llava")
HERE = Path(__file__).resolve().parent
BUNDLED = HERE.parents[1] / "assets" / "models"


def checkpoint(run: Run, scratch: Path) -> Path:
    """The folder of a run's checkpoint, made if need be."""
    if (BUNDLED / run.checkpoint).is_dir():
        return BUNDLED / run.checkpoint
    return checkpoints.save(run.checkpoint, scratch.parent / "peer-checkpoints")


def chosen(scratch: Path, names: Sequence[str]) -> Iterator[Run]:
    """The runs of these names. Only the peers that they need are installed."""
    for peer, made in ((LM_EVAL, _of_text), (LMMS_EVAL, _of_pictures)):
        if any(PEER_OF[name] == peer for name in names if name not in SHIPPED):
            yield from (run for run in made(scratch) if run.name in names)


def _of_text(scratch: Path) -> Iterator[Run]:
    theirs = peer_tasks(environment(LM_EVAL), "lm_eval")
    made = _written_tasks(scratch / "tasks", theirs)
    plain = ("--apply_chat_template", "false")
    short = [
        name for name in TEXT if name != "bbh_cot_fewshot_navigate"
    ]  # it asks for more tokens than fit, and lm-eval stops
    first = [f"{name}_first_n" for name in FIRST_N]
    chat = ("--apply_chat_template", "true", "--system_instruction", "Be brief.")
    said = {"apply_chat_template": True, "system_instruction": "Be brief.", "fewshot_as_multiturn": True}
    yield Run("bos", "lm-eval", "llama-bos", TEXT, theirs, flags=plain)
    yield Run("no-bos", "lm-eval", "qwen2-no-bos", short, theirs, flags=plain)
    yield Run("made-bos", "lm-eval", "llama-bos", MADE, made, flags=plain)
    yield Run("made-no-bos", "lm-eval", "qwen2-no-bos", MADE, made, flags=plain)
    yield Run("first-n", "lm-eval", "llama-bos", [*first, "hellaswag_int"], made, flags=plain)
    yield Run(
        "few-shot",
        "lm-eval",
        "llama-bos",
        ["mmlu_anatomy", "mmlu_astronomy"],
        theirs,
        {"num_fewshot": 3},
        (*plain, "--num_fewshot", "3"),
    )
    yield Run("chat", "lm-eval", "llama-bos", CHAT, theirs, said, chat)
    yield Run("own", "lm-eval", "llama-bos", OWN, None, flags=plain)


def _written_tasks(folder: Path, theirs: Path) -> Path:
    """A folder with the task files of tasks/, and files that lay a sampler over lm-eval's own."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(HERE / "tasks", folder)
    for path in sorted(theirs.rglob("*.yaml")):
        found = re.search(r"^task: *[\"']?([\w-]+)", path.read_text(encoding="utf-8"), re.M)
        if found and found[1] in FIRST_N:
            text = f"include: {path}\ntask: {found[1]}_first_n\nnum_fewshot: 3\nfewshot_config: {{sampler: first_n}}\n"
            (folder / f"{found[1]}_first_n.yaml").write_text(text)
    text = f'include: {theirs}/hellaswag/hellaswag.yaml\ntask: hellaswag_int\ndoc_to_target: "{{{{label|int}}}}"\n'
    (folder / "hellaswag_int.yaml").write_text(text)
    return folder


def _of_pictures(scratch: Path) -> Iterator[Run]:
    theirs = peer_tasks(environment(LMMS_EVAL), "lmms_eval")
    default = ("--prompt_key", "default")  # lmms-eval knows a block by the adapter's exact name, and none is called so
    llava = {"model": "llava_hf", "model_args": "device_map=cpu,dtype=float32"}
    qwen = {"model": "qwen2_vl", "model_args": "device_map=cpu"}
    yield Run("tiny-llava", "lmms-eval", "tiny-llava", PICTURES, theirs, llava, default)
    own = ["mme", "seedbench"]
    yield Run("own-pictures", "lmms-eval", "tiny-llava", own, None, llava, default)
    yield Run("own-qwen2-vl", "lmms-eval", "tiny-qwen2-vl", own, None, qwen, default)
    yield Run("tiny-qwen2-vl", "lmms-eval", "tiny-qwen2-vl", PICTURES, theirs, qwen, default)
