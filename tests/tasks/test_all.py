"""What holds for every shipped task: its header, its size, its sample, and that its gold answers get full marks."""

import ast
import importlib
import io
import re
import shutil
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mm_eval.config.manager import Loaded, TaskManager
from mm_eval.request import RunRequest
from mm_eval.verbs.validate.check import validate
from tests.sets import each_of, few

ROOT = Path(__file__).parents[2]
TASKS, DATA, SAMPLES = ROOT / "tasks", ROOT / "assets" / "data", ROOT / "assets" / "make" / "samples"

WAVE = {
    "knowledge and reasoning": ["mmmu_val", "mmmu_pro_standard", "mmmu_pro_vision", "mmstar", "muirbench", "blink", "blink_lmms",
                                "scienceqa_img", "scienceqa", "realworldqa", "cv_bench", "countbenchqa", "seedbench_2_plus"],
    "mathematics": ["mathvista_testmini", "mathvision_testmini", "mathvision_test", "emma_mini", "logicvista", "dynamath"],
    "documents": ["ai2d", "ai2d_no_mask", "docvqa_val", "docvqa_test", "infovqa_val", "infovqa_test", "chartqa", "textvqa_val",
                  "ocrbench", "vqav2_val", "gqa"],
    "letters and yes or no": ["mmbench_en_dev", "mmbench_cn_dev", "mmbench_en_dev_v11", "mmbench_cn_dev_v11",
                              "hallusion_bench_image", "pope"],
    "text": ["mmlu", "arc_challenge", "hellaswag", "winogrande", "gsm8k", "math500", "ifeval", "truthfulqa_mc", "wikitext"],
    "videos": ["videomme", "videomme_w_subtitle", "mvbench", "egoschema_subset", "longvideobench_val_i", "longvideobench_val_v",
               "mlvu_dev", "tempcompass", "tempcompass_judged", "nextqa_mc", "perceptiontest_val_mc", "video_mmmu", "vsi_bench",
               "charades_sta"],
    "groups": ["release_core", "release_2026", "hallucination", "ocr", "math", "multi_image", "text_core"],
}  # fmt: skip
"""The names of the first wave of release benchmarks, with their groups."""

MODALITIES, LANGUAGES = {"image", "multi_image", "video", "audio", "text"}, {"english", "chinese", "multilingual"}
SKILLS = {"knowledge", "reasoning", "math", "ocr", "document", "chart", "diagram", "hallucination", "counting", "spatial",
          "general", "instruction_following", "science", "commonsense", "language_modelling", "grounding", "transcription",
          "translation"}  # fmt: skip
HEADER = {
    "version": (int, float),
    "paper": str,
    "languages": list,
    "licence": str,
    "size": int,
    "hub": list,
    "metric": (str, list),
    "published": str,
}
OPTIONAL = {"prompt_tokens": int, "num_fewshot": int, "variant_of": str, "earlier": dict}
MOST_LINES, MOST_CODE, MOST_BYTES, MOST_IN_ALL = 45, 80, 60_000, 4_500_000
TABLES = ("metadata", "categories", "dataset_mirrors", "fewshot_config")
"""Keys that hold facts, a line each, or the text of worked examples: their lines don't count."""
LONGER = {"bbh.yaml", "mme.yaml", "mmlu.yaml", "mmmu_val.yaml"}
"""Files with more lines: a metric or a member a line."""
SEVERAL = {"docvqa": 2, "egoschema": 2, "mathverse": 2, "mvbench": 4, "ovo_bench": 2, "refcoco": 3}
"""Modules that write the samples of several benchmarks, or of one with many versions, videos or sources of videos."""
SEVERAL |= {"covost2": 2, "fleurs": 4, "librispeech": 3, "mmar": 4, "mmau": 6, "videomme": 2, "voicebench": 5}
"""Those with many clips of sound."""
SPOKEN = {"air_bench", "aishell", "common_voice", "covost2", "daily_omni", "fleurs", "librispeech", "mmar", "mmau", "mmsu",
          "omnibench", "videomme", "voicebench", "wenetspeech", "worldsense"}  # fmt: skip
"""Modules whose samples espeak-ng speaks."""
OLDER = {"lmms-lab/MME", "lmms-lab/SEED-Bench", "cais/mmlu", "allenai/ai2_arc", "openai/gsm8k"}
"""Samples that another script writes (assets/make/sample_data.py and text_data.py)."""
PARTLY_RIGHT: dict[str, str] = {
    "ifeval": "a text without meaning follows instructions such as those that forbid a word",
    "voicebench_ifeval": "a text without meaning follows instructions such as those that forbid a comma",
    "mathvista_testmini": "its rule takes the most similar option for any text",
    "mathvista_testmini_digits": "its rule takes the most similar option for any text",
    "ocrbench_v2_no_meteor": "any line of a document stands for any other, and long texts are compared by their characters, too",
    "vqav2_val": "some of the ten people gave the opposite answer",
    "vqav2_val_lmms": "some of the ten people gave the opposite answer",
}
"""Tasks whose rule gives marks to some answer without meaning, with the reason."""

SHORT = {"mme"}
"""Folders whose first documents lack some of a task's numbers."""

NO_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)

MANAGER = TaskManager()
ENTRIES = {e.name: e for e in MANAGER.entries.values() if e.file and e.file.is_relative_to(TASKS)}
BENCHMARKS = [name for name, e in sorted(ENTRIES.items()) if e.kind == "task" or e.kind == "group" and e.inline]
NEEDS_PACKAGES = ("ocrbench_v2",)
"""Tasks whose packages are in no set of tests: `python -m tests.peers.ocrbench_v2_script` runs it where they are."""
RUN_HERE = [name for name in BENCHMARKS if name not in NEEDS_PACKAGES]
FOLDERS = sorted({ENTRIES[name].file.parent.name for name in BENCHMARKS})  # type: ignore[union-attr]
MODULES = sorted(path.stem for path in SAMPLES.glob("*.py") if not path.stem.startswith("_"))


@cache
def loaded_of(name: str) -> Loaded:
    """A shipped name with its members; three tests ask for each."""
    return MANAGER.load(name)


def test_the_first_wave_is_there() -> None:
    names = [name for part in WAVE.values() for name in part]
    assert [name for name in names if name not in ENTRIES] == []


def test_no_shipped_name_is_declared_twice() -> None:
    assert [entry.name for entry in MANAGER.entries.values() if entry.rivals or entry.kind == "broken"] == []


@each_of("name", BENCHMARKS)
def test_the_header_is_complete(name: str) -> None:
    loaded = loaded_of(name)
    config = next(iter(loaded.tasks.values()))
    group = loaded.groups.get(name)
    about: dict[str, Any] = {**config.metadata, **(group.metadata if group else {})}
    assert {key for key in HEADER if key not in about} == set()
    for key, value in about.items():
        assert key in HEADER or key in OPTIONAL, key
        assert isinstance(value, HEADER.get(key) or OPTIONAL[key]) and not isinstance(value, bool), (key, value)
    assert about["size"] > 0 and about["licence"].strip() and about["published"].strip()
    assert re.match(r"arXiv:\d{4}\.\d{4,5}|https?://", about["paper"]), about["paper"]
    assert about["languages"] and all(re.fullmatch("[a-z]{2}", language) for language in about["languages"])
    paths = {config.dataset_path, *(mirror["path"] for mirror in config.dataset_mirrors)} - {None}
    assert paths <= set(about["hub"]), "each id that is tried is named under `hub`"
    tags = set(group.tag if group and group.tag else config.tag)
    assert tags <= MODALITIES | LANGUAGES | SKILLS, tags - MODALITIES - LANGUAGES - SKILLS
    assert tags & MODALITIES and tags & LANGUAGES and tags & SKILLS


@each_of("name", BENCHMARKS)
def test_the_published_row_has_a_test_or_none_is_known(name: str) -> None:
    entry = ENTRIES[name]
    loaded = loaded_of(name)
    group = loaded.groups.get(name)
    metadata = next(iter(loaded.tasks.values())).metadata
    published = str({**metadata, **(group.metadata if group else {})}.get("published", ""))
    assert re.match("(raw|extracted): |none known", published), "from raw answers, or from what somebody extracted?"
    if published.startswith("none known"):
        return
    assert entry.file is not None
    words = (name, entry.file.parent.name)
    assert any(re.search(rf"\b{word}\b", text) for text in texts_of_replays() for word in words), published


@cache
def texts_of_replays() -> list[str]:
    """The files of tests that score recorded answers."""
    tests = [*(ROOT / "tests" / "papers").glob("test_*.py"), *(ROOT / "tests" / "tasks").glob("test_*.py")]
    texts = [path.read_text(encoding="utf-8") for path in tests if path.name != "test_all.py"]
    return [text for text in texts if "replay" in text]


TASK_FILES = sorted(path for path in TASKS.rglob("*.yaml") if path.parent.name != "protocols")


@each_of("path", TASK_FILES, ids=lambda path: path.name)
def test_a_task_file_is_short(path: Path) -> None:
    counts = Counter(key for key, line in lines_of(path) if key not in TABLES)
    assert counts.total() <= MOST_LINES or path.name in LONGER, counts


def lines_of(path: Path) -> Iterator[tuple[str, str]]:
    """(top key, line) of each line of a task file without comments and blank lines."""
    key = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            key = key if line[0] in " -" else line.partition(":")[0]
            yield key, line


@each_of("path", sorted(TASKS.glob("*/utils.py")), ids=lambda path: path.parent.name)
def test_the_code_of_a_task_is_short(path: Path) -> None:
    assert len(code_lines(path.read_text(encoding="utf-8"))) <= MOST_CODE


def code_lines(text: str) -> set[int]:
    """The lines with code, without docstrings, comments and blank lines."""
    own: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE and token.string.strip():
            own.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            own -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return own


@pytest.fixture(scope="module")
def make() -> Iterator[Any]:
    """assets/make/benchmark_samples.py as a module."""
    sys.path.insert(0, str(SAMPLES.parent))
    try:
        yield importlib.import_module("benchmark_samples")
    finally:
        sys.path.pop(0)


@pytest.mark.parametrize("module", few(MODULES, "chartqa", "mmlu_pro", "vsi_bench"))
def test_a_sample_is_what_its_script_writes_and_small(module: str, make: Any, tmp_path: Path) -> None:
    if module in SPOKEN and shutil.which("espeak-ng") is None:
        pytest.skip("espeak-ng is not installed: apt-get install espeak-ng")
    written = [path.relative_to(tmp_path) for path in make.write(module, tmp_path)]
    for path in written:
        assert (DATA / path).read_bytes() == (tmp_path / path).read_bytes(), (
            f"run benchmark_samples.py {module}: {path}"
        )
    size = sum((DATA / path).stat().st_size for path in written)
    assert size <= MOST_BYTES * SEVERAL.get(module, 1), f"{size} bytes"


def test_all_samples_together_are_small() -> None:
    ids = [path for path in DATA.glob("*/*") if f"{path.parent.name}/{path.name}" not in OLDER]
    files = [file for folder in ids for file in folder.rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) <= MOST_IN_ALL


def names_of(folder: str) -> list[str]:
    return [name for name in RUN_HERE if ENTRIES[name].file.parent.name == folder]  # type: ignore[union-attr]


def check_gold(names: list[str], limit: int | None) -> None:
    for finding in validate(RunRequest(tasks=tuple(names), sample=True, limit=limit)):
        assert finding.ok, f"{finding.task}: {finding.text}"
        found = re.search(r"; wrong answers score 0 in (\d+) of (\d+)", finding.text)
        if found and finding.task not in PARTLY_RIGHT:
            assert found[1] == found[2], f"{finding.task}: {finding.text}"


@pytest.mark.parametrize("folder", FOLDERS)
def test_gold_answers_get_full_marks_and_wrong_ones_none(folder: str) -> None:
    """Of each folder's first task: what is dear is to open a task, and the others are in the set `full`."""
    check_gold(names_of(folder)[:1], None if folder in SHORT else 16)


@pytest.mark.full
@pytest.mark.parametrize("folder", FOLDERS)
def test_gold_answers_of_the_whole_sample(folder: str) -> None:
    check_gold(names_of(folder), None)


@each_of("name", BENCHMARKS)
def test_no_answer_is_cut_at_a_blank_line(name: str) -> None:
    """A task without `until` stops at a blank line outside chats, which cuts a chain of thought."""
    for config in loaded_of(name).tasks.values():
        if config.output_type == "generate_until" and name not in ("mme", "seedbench_first_character"):
            assert "until" in config.generation_kwargs
