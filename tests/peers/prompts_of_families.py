"""Compares the prompts of the shipped blocks with those that VLMEvalKit's configuration sends.

`python -m tests.peers.prompts_of_families REPOSITORY`, where REPOSITORY is a checkout of open-compass/VLMEvalKit. Each
document of the bundled samples is asked of 12 registered models of 6 families, with the kit's code in a process of its own
(vlmevalkit_prompts.py). Printed are the differences, by task and family, with the reason where one is listed here. Ends with
1 if a difference has no reason, or a reason no difference. Of e8e78f05 (2026-08-18), 153 of 228 pairs of benchmark and family
agree in every prompt.

The kit's TSV files are not read: a line is made from our document, with the kit's columns. What the TSV's texts of MathVerse,
MathVision, POPE, HallusionBench, RealWorldQA and MMStar are is not known; there the document's own text is taken.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mm_eval.models.hf.families import FAMILIES

from mm_eval.config.manager import TaskManager
from mm_eval.data.source import DataSource
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.prompt.blocks import choose_block
from mm_eval.prompt.task import PromptStyle, Task

HERE = Path(__file__).resolve().parent
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
FAMILY = {
    "llava_v1.5_7b": "llava", "llava_v1.5_13b": "llava", "qwen_base": "qwen_vl", "qwen_chat": "qwen_vl",
    "Qwen2-VL-2B-Instruct": "qwen2_vl", "Qwen2-VL-7B-Instruct": "qwen2_vl", "Qwen2.5-VL-3B-Instruct": "qwen2_5_vl",
    "Qwen2.5-VL-7B-Instruct": "qwen2_5_vl", "Qwen3-VL-4B-Instruct": "qwen3_vl", "Qwen3-VL-8B-Instruct": "qwen3_vl",
    "InternVL3-2B": "internvl", "InternVL3-8B": "internvl",
}  # fmt: skip
"""The registered models and the families whose blocks they have here."""
Doc = Mapping[str, Any]
Parts = list[str | None]


def lettered(question: str, options: Sequence[Any], hint: Any = None) -> dict[str, Any]:
    """The columns of a question with options."""
    stated = {"hint": hint} if hint not in (None, "", "nan") else {}
    named = {letter: str(text) for letter, text in zip(LETTERS, options, strict=False) if text not in (None, "nan")}
    return {"question": question, **named, **stated}


def of_columns(doc: Doc) -> dict[str, Any]:
    return lettered(doc["question"], [doc.get(letter) for letter in "ABCDEFGHI"], doc.get("hint"))


def alone(doc: Doc) -> dict[str, Any]:
    return {"question": doc["question"]}


def of_vstar(doc: Doc) -> dict[str, Any]:
    question, *options = doc["text"].split("\n")
    return lettered(question, [option[4:] for option in options[:-1]])


def of_real_world(doc: Doc) -> dict[str, Any] | None:
    """Only questions with lettered options: what the kit's file makes of the others is not known."""
    options = re.findall(r"^[A-F]\. (.*)$", doc["question"], re.MULTILINE)
    return lettered(doc["question"].split("\n")[0], options) if options else None


def of_real_world_lite(doc: Doc) -> dict[str, Any]:
    options = "\n".join(doc["multi-choice options"])
    return {"question": doc["question"], "multi-choice options": f"The choices are listed below:\n{options}"}


@dataclass(frozen=True)
class Compared:
    """A task here, the kit's name of its data set, and the line of a document; None for one that the kit's file lacks."""

    task: str
    dataset: str
    line: Callable[[Doc], dict[str, Any] | None] = alone


BENCHMARKS = (
    Compared("mmbench_en_dev", "MMBench_DEV_EN", of_columns),
    Compared("mmbench_cn_dev", "MMBench_DEV_CN", of_columns),
    Compared("mmstar", "MMStar"),
    Compared("seedbench_image", "SEEDBench_IMG", lambda doc: lettered(doc["question"], [doc[f"choice_{x}"] for x in "abcd"])),
    Compared("seedbench_2_plus", "SEEDBench2_Plus", lambda doc: lettered(doc["question"], [doc[f"choice_{x}"] for x in "ABCD"])),
    Compared("ai2d", "AI2D_TEST", lambda doc: lettered(doc["question"], doc["options"])),
    Compared("scienceqa_img", "ScienceQA_TEST", lambda doc: lettered(doc["question"], doc["choices"], doc["hint"])),
    Compared("realworldqa", "RealWorldQA", of_real_world),
    Compared("blink", "BLINK", lambda doc: lettered(doc["question"], doc["choices"])),
    Compared("muirbench", "MUIRBench", lambda doc: lettered(doc["question"], doc["options"])),
    Compared("mmmu_val", "MMMU_DEV_VAL", lambda doc: lettered(doc["question"], ast.literal_eval(doc["options"]))),
    Compared("mmmu_pro_standard", "MMMU_Pro_10c", lambda doc: lettered(doc["question"], ast.literal_eval(doc["options"]))),
    Compared("mmmu_pro_vision", "MMMU_Pro_V", lambda doc: {"question": ""}),
    Compared("hrbench4k", "HRBench4K", of_columns),
    Compared("mmt_val", "MMT-Bench_VAL", of_columns),
    Compared("vstar", "VStarBench", of_vstar),
    Compared("visulogic", "VisuLogic"),
    Compared("mme_realworld_lite", "MME-RealWorld-Lite", of_real_world_lite),
    Compared("chartqa", "ChartQA_TEST"),
    Compared("docvqa_val", "DocVQA_VAL"),
    Compared("infovqa_val", "InfoVQA_VAL"),
    Compared("textvqa_val", "TextVQA_VAL"),
    Compared("gqa", "GQA_TestDev_Balanced"),
    Compared("ocrbench", "OCRBench"),
    Compared("mathvista_testmini", "MathVista_MINI", lambda doc: {"question": doc["query"]}),
    Compared("mathvision_test", "MathVision"),
    Compared("mathverse_testmini", "MathVerse_MINI", lambda doc: {"question": doc["query_wo"]}),
    Compared("mmvet", "MMVet"),
    Compared("hallusion_bench_image", "HallusionBench"),
    Compared("pope", "POPE"),
    Compared("mme", "MME"),
    Compared("mtvqa", "MTVQA_TEST"),
    Compared("countbenchqa", "CountBenchQA"),
    Compared("logicvista", "LogicVista"),
    Compared("simplevqa", "SimpleVQA"),
    Compared("zerobench", "ZEROBench", lambda doc: {"question": doc["question_text"]}),
    Compared("llava_in_the_wild", "LLaVABench"),
    Compared("mia_bench", "MIA-Bench", lambda doc: {"question": doc["instruction"]}),
)  # fmt: skip
"""The picture benchmarks that both have."""

UNKNOWN = "the text of the kit's own file is not known"
OWN = "the benchmark's own prompt, whose form of the answer its rule reads"
LISTED: dict[tuple[str, str], str] = {
    ("*", "llava"): "the blocks are those of LLaVA's repository and of lmms-eval, by which its authors report",
    (
        "*",
        "qwen_vl",
    ): "the blocks are those of Qwen-VL's eval_mm and of lmms-eval's guide; the kit adds ' Answer:' when it generates",
    (
        "mathvision_test",
        "qwen2_5_vl",
    ): "a judge reads the answer to the bare question there, a rule reads boxed answers here",
    (
        "mathvision_test",
        "internvl",
    ): "a judge reads the answer to the bare question there, a rule reads boxed answers here",
    ("mathvision_test", "qwen2_vl"): UNKNOWN + "; only a line's end after the question differs",
    ("mathvision_test", "qwen3_vl"): UNKNOWN + "; only a line's end after the question differs",
    ("mmmu_val", "qwen3_vl"): "the authors' script (evaluation/mmmu) has all pictures in front",
    (
        "mmmu_pro_standard",
        "internvl",
    ): "by its type's name the kit misses its branch for options and sends none of them",
    ("mmmu_pro_vision", "internvl"): "by its type's name the kit misses its branch for options and sends no text",
    ("mmstar", "*"): UNKNOWN + ": with columns of options it ends in the sentence of our block",
    (
        "muirbench",
        "qwen2_vl",
    ): "the kit's code for Qwen2-VL puts the pictures in front and leaves <image> in the text as words",
    ("pope", "internvl"): "the authors' repository (eval/pope)",
    ("textvqa_val", "*"): UNKNOWN + "; ours begins with a capital, as lmms-eval's and LLaVA's files do",
    ("visulogic", "*"): OWN
    + "; the kit's copy lacks a blank and the full stop, and its classes for InternVL and Qwen2-VL ask directly",
    ("zerobench", "internvl"): OWN,
    ("zerobench", "qwen2_vl"): OWN,
    ("zerobench", "*"): OWN + "; the kit's copy has two more blanks",
    ("mia_bench", "qwen2_vl"): "the instruction itself is graded; the kit's code adds that a few words are enough",
    (
        "llava_in_the_wild",
        "qwen2_vl",
    ): "conversations and descriptions are graded; the kit's code adds that a few words are enough",
}
"""{(task, family): why the two differ}; "*" for all tasks, or for the families that are not named."""


def differences(repository: Path, python: str = sys.executable) -> dict[tuple[str, str], tuple[int, int, str]]:
    """{(task, family): (documents that differ, all documents, the first difference)}."""
    lines, ours = [], []
    for benchmark in BENCHMARKS:
        for place, (line, prompts) in enumerate(documents(benchmark)):
            lines.append({"dataset": benchmark.dataset, "line": {"index": place, **line}})
            ours.append((benchmark.task, prompts))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lines.json"
        path.write_text(json.dumps(lines), "utf-8")
        command = [python, str(HERE / "vlmevalkit_prompts.py"), str(repository), str(path)]
        theirs = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    found: dict[tuple[str, str], tuple[int, int, str]] = {}
    for model, prompts_of_kit in theirs.items():
        for (task, prompts), kit in zip(ours, prompts_of_kit, strict=True):
            key = task, FAMILY[model]
            count, every, first = found.get(key, (0, 0, ""))
            own = prompts[FAMILY[model]]
            other = kit["error"] if isinstance(kit, dict) else joined(kit)
            differs = own != other
            found[key] = count + differs, every + 1, first or (shown_difference(own, other) if differs else "")
    return found


def documents(benchmark: Compared) -> Iterator[tuple[dict[str, Any], dict[str, Parts]]]:
    """(the kit's line, {family: our prompt}) of each document of the sample of a benchmark."""
    for config in TaskManager().load(benchmark.task).tasks.values():
        task = Task.load(config.resolved(FOREIGN_CODE), DataSource(sample=True))
        ids = range(len(task.docs))
        styles = {
            family: PromptStyle(choose_block(task.config, keys_of(family)), chat=True)
            for family in dict.fromkeys(FAMILY.values())
        }  # fmt: skip
        prompts = {
            family: {each.doc_id: each for each in task.instances(list(ids), style)} for family, style in styles.items()
        }
        for doc_id in ids:
            line = benchmark.line(task.docs.text(doc_id))
            if line is None:
                continue
            asked = {family: parts_of(of_docs[doc_id].context) for family, of_docs in prompts.items()}
            shown = max(sum(part is None for part in parts) for parts in asked.values())
            names = [f"{n}.png" for n in range(shown)]
            yield {**line, "image_path": names, "image": names}, asked


def keys_of(family: str) -> tuple[str, ...]:
    """The prompt keys of a family; Qwen-VL has no type in transformers."""
    return FAMILIES[family].prompt_keys if family in FAMILIES else (family,)


def parts_of(context: Any) -> Parts:
    """Our messages in the kit's form."""
    return joined([part.get("text") for message in context for part in message["content"]])


def joined(parts: Sequence[str | None]) -> Parts:
    """Adjacent texts as one; without empty ones, and without the line's end that InternVL's template has after its pictures."""
    found: Parts = []
    for part in parts:
        if part and found and found[-1] is not None:
            found[-1] += part
        elif part is None or part:
            found.append(part)
    if len(found) == 2 and found[0] is None and found[1] is not None and found[1].startswith("\n"):
        found[1] = found[1][1:]
    return found


def shown_difference(ours: Parts, theirs: Parts | str) -> str:
    """Both prompts where they part, in one line."""
    if isinstance(theirs, str):
        return f"the kit fails: {theirs}"
    texts = ["".join("<image>" if part is None else part for part in parts) for parts in (ours, theirs)]
    match = difflib.SequenceMatcher(None, *texts, autojunk=False).get_opcodes()
    return "; ".join(f"{texts[0][a:b]!r} -> {texts[1][c:d]!r}" for kind, a, b, c, d in match if kind != "equal")[:400]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path, help="a checkout of open-compass/VLMEvalKit")
    found = differences(parser.parse_args().repository.resolve())
    unlisted = 0
    for (task, family), (count, every, first) in sorted(found.items()):
        if not count:
            continue
        why = next((LISTED[key] for key in ((task, family), (task, "*"), ("*", family)) if key in LISTED), None)
        unlisted += why is None
        print(
            f"{task} {family}: {count} of {every} prompts differ (ours -> the kit's): {first}\n    {why or 'NOT LISTED'}"
        )
    stale = [key for key in LISTED if "*" not in key and not found.get(key, (0, 0, ""))[0]]
    for task, family in stale:
        print(f"{task} {family}: listed, but there is no difference")
    same = sum(not count for count, _, _ in found.values())
    print(
        f"{same} of {len(found)} pairs of benchmark and family agree in every prompt; {unlisted} differences are not listed."
    )
    return 1 if unlisted or stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
