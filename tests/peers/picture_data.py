"""Picture data sets in the schema of the real ones, made of the questions and drawings of the bundled sample data.

The bundled models can answer these, so that rules and scores have something to tell apart.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.peers.text_data import Draw

Row = dict[str, Any]
SAMPLE = Path(__file__).resolve().parents[2] / "assets" / "data" / "lmms-lab"
LETTERS = "ABCD"
PERSONS = 10

Make = Callable[[Draw, int, Row, Row], Row]
"""A draw, the doc's number, a row of MME's sample (yes or no) and one of SEED-Bench's (four options) -> a row."""


def _options(four: Row) -> list[str]:
    return [four[f"choice_{letter.lower()}"] for letter in LETTERS]


def _lettered(four: Row) -> str:
    return "\n".join(f"{letter}. {text}" for letter, text in zip(LETTERS, _options(four), strict=True))


def _right(four: Row) -> str:
    return _options(four)[LETTERS.index(four["answer"])]


def _people(draw: Draw, answer: str) -> list[str]:
    """Ten people's answers, some of which are another."""
    return [answer if draw.randrange(3) else draw.answer() for _ in range(PERSONS)]


def _pope(draw: Draw, number: int, yes_no: Row, four: Row) -> Row:
    return {
        "id": str(number), "question_id": str(number), "question": yes_no["question"].split(" Please")[0],
        "answer": yes_no["answer"].lower(), "image_source": f"{number}", "image": yes_no["image"],
        "category": draw.choice(["adversarial", "popular", "random"]),
    }  # fmt: skip


def _vqa(draw: Draw, number: int, yes_no: Row, four: Row) -> Row:
    said = _people(draw, _right(four))
    return {
        "question_id": number, "image": four["image"][0], "question": four["question"], "image_id": number,
        "question_type": "what", "answer_type": "other", "multiple_choice_answer": said[0], "ocr_tokens": ["a", "b"],
        "answers": [{"answer": text, "answer_confidence": "yes", "answer_id": place + 1} for place, text in enumerate(said)],
    }  # fmt: skip


def _textvqa(draw: Draw, number: int, yes_no: Row, four: Row) -> Row:
    return {**_vqa(draw, number, yes_no, four), "answers": _people(draw, _right(four)), "answer": _right(four)}


def _scienceqa(draw: Draw, number: int, yes_no: Row, four: Row) -> Row:
    row = {"image": four["image"][0], "question": four["question"], "choices": _options(four)}
    return {**row, "answer": LETTERS.index(four["answer"]), "hint": draw.choice(["", draw.sentence()])}


def _mmstar(draw: Draw, number: int, yes_no: Row, four: Row) -> Row:
    kinds = (("coarse perception", "image emotion"), ("math", "geometry"), ("math", "statistical reasoning"))
    category, finer = draw.choice(kinds)
    return {
        "index": number, "question": f"{four['question']}\nOptions: {_lettered(four)}", "image": four["image"][0],
        "answer": four["answer"], "category": category, "l2_category": finer, "meta_info": "",
    }  # fmt: skip


def _mmmu(draw: Draw, number: int, yes_no: Row, four: Row) -> Row:
    open_ended = not number % 3
    images = {f"image_{place}": four["image"][0] if place == 1 else None for place in range(1, 8)}
    subject = draw.choice(["Art", "Math", "Physics"])
    return {
        "id": f"validation_{subject}_{number}", "question": f"<image 1> {four['question']}",
        "options": "[]" if open_ended else str(_options(four)), "explanation": "", **images,
        "img_type": "['Photo']", "answer": str([_right(four), "7"]) if open_ended else four["answer"],
        "topic_difficulty": "Easy", "question_type": "open" if open_ended else "multiple-choice", "subfield": subject,
    }  # fmt: skip


def _blink(draw: Draw, number: int, yes_no: Row, four: Row) -> Row:
    """The bundled model answers this prompt with a letter; half of the right ones are put elsewhere, so that subsets differ."""
    images = {f"image_{place}": four["image"][0] if place == 1 else None for place in range(1, 5)}
    asked = f"{four['question']}\n{_lettered(four)}\nAnswer with the option's letter from the given choices directly."
    return {
        "idx": f"val_{number}", "question": four["question"], "sub_task": "Counting", **images, "choices": _options(four),
        "prompt": asked, "explanation": "", "answer": draw.choice([f"({four['answer']})", "(A)"]),
    }  # fmt: skip


def _seed_plus(draw: Draw, number: int, yes_no: Row, four: Row) -> Row:
    options = {f"choice_{letter}": four[f"choice_{letter.lower()}"] for letter in LETTERS}
    return {
        "data_id": str(number), "question_id": number, "question_image_type": ("chart", "map", "web")[number % 3],
        "question": four["question"], **options, "answer": four["answer"], "image": four["image"][0],
    }  # fmt: skip


def _cv_bench(draw: Draw, number: int, yes_no: Row, four: Row) -> Row:
    lettered = " ".join(f"({letter}) {text}" for letter, text in zip(LETTERS, _options(four), strict=True))
    return {
        "idx": number, "type": "2D", "task": draw.choice(["Count", "Relation"]), "image": four["image"][0],
        "question": four["question"], "choices": _options(four), "answer": f"({four['answer']})",
        "prompt": f"{four['question']} Select from the following choices.\n{lettered}", "filename": "f", "source": "COCO",
        "source_dataset": "COCO", "source_filename": "f", "target_class": "t", "target_size": 1,
    }  # fmt: skip


def _muirbench(draw: Draw, number: int, yes_no: Row, four: Row) -> Row:
    return {
        "idx": str(number), "task": draw.choice(["Counting", "Ordering"]), "image_relation": "Temporal",
        "image_type": "Photography", "question": f"<image> {four['question']} <image>", "options": _options(four),
        "answer": four["answer"], "image_list": [four["image"][0], yes_no["image"]], "counterpart_idx": "",
    }  # fmt: skip


def _ocrbench(draw: Draw, number: int, yes_no: Row, four: Row) -> Row:
    kinds = ("Regular Text Recognition", "Scene Text-centric VQA", "Key Information Extraction")
    return {
        "dataset": "IIIT5K", "question": four["question"], "question_type": kinds[number % 3],
        "answer": [_right(four), draw.answer()], "image": four["image"][0],
    }  # fmt: skip


def _mmt(draw: Draw, number: int, yes_no: Row, four: Row) -> Row:
    row = dict(zip(LETTERS, _options(four), strict=True))
    return {**row, "index": number, "question": four["question"], "answer": four["answer"], "image": four["image"][0]}


def _vstar(draw: Draw, number: int, yes_no: Row, four: Row) -> Row:
    lettered = "\n".join(f"({letter}) {text}" for letter, text in zip(LETTERS, _options(four), strict=True))
    return {
        "image": four["image"][0], "text": f"{four['question']}\n{lettered}\nAnswer with the letter.", "label": four["answer"],
        "category": ("direct_attributes", "relative_position")[number % 2], "question_id": str(number),
    }  # fmt: skip


BLINK = (
    "Art_Style", "Counting", "Forensic_Detection", "Functional_Correspondence", "IQ_Test", "Jigsaw",
    "Multi-view_Reasoning", "Object_Localization", "Relative_Depth", "Relative_Reflectance", "Semantic_Correspondence",
    "Spatial_Relation", "Visual_Correspondence", "Visual_Similarity",
)  # fmt: skip

DATA: Mapping[str, Mapping[str, tuple[Sequence[str], Make]]] = {
    "lmms-lab-encoder/POPE": {"default": (("test",), _pope)},
    "lmms-lab-encoder/ai2d": {
        "default": (("test",), lambda d, n, y, f: {
            "question": f["question"], "options": _options(f), "answer": str(LETTERS.index(f["answer"])),
            "image": f["image"][0]})
    },
    "Lin-Chen/MMStar": {"default": (("val",), _mmstar)},
    "lmms-lab-encoder/RealWorldQA": {
        "default": (("test",), lambda d, n, y, f: {
            "image": f["image"][0], "image_path": "p", "question": f"{f['question']}\n{_lettered(f)}\nPlease answer directly "
            "with only the letter of the correct option and nothing else.", "answer": f["answer"]})
    },
    "lmms-lab-encoder/ScienceQA": {"ScienceQA-IMG": (("test",), _scienceqa)},
    "lmms-lab-encoder/ChartQA": {
        "default": (("test",), lambda d, n, y, f: {
            "type": ("human_test", "augmented_test")[n % 2], "question": f["question"], "answer": _right(f),
            "image": f["image"][0]})
    },
    "lmms-lab-encoder/textvqa": {"default": (("validation",), _textvqa)},
    "lmms-lab-encoder/OK-VQA": {"default": (("val2014",), _textvqa)},
    "lmms-lab-encoder/VizWiz-VQA": {"default": (("val",), _textvqa)},
    "lmms-lab-encoder/VQAv2": {"default": (("validation",), _vqa)},
    "lmms-lab-encoder/DocVQA": {
        "DocVQA": (("validation",), lambda d, n, y, f: {
            "questionId": str(n), "question": f["question"], "answers": [_right(f), d.answer()], "image": f["image"][0],
            "docId": n, "data_split": "val"})
    },
    "lmms-lab-encoder/MMMU": {"default": (("validation",), _mmmu)},
    "BLINK-Benchmark/BLINK": dict.fromkeys(BLINK, (("val",), _blink)),
    "doolayer/SEED-Bench-2-Plus": {"default": (("test",), _seed_plus)},
    "nyu-visionx/CV-Bench": {"default": (("test",), _cv_bench)},
    "MUIRBENCH/MUIRBENCH": {"default": (("test",), _muirbench)},
    "echo840/OCRBench": {"default": (("test",), _ocrbench)},
    "vikhyatk/CountBenchQA": {
        "default": (("test",), lambda d, n, y, f: {
            "image": f["image"][0], "text": f["question"], "question": "How many are there?", "number": d.randint(1, 4)})
    },
    "kcz358/pixmo-count": {
        "default": (("test",), lambda d, n, y, f: {
            "image": f["image"][0], "question": "How many are there?", "answer": str(d.randint(1, 4))})
    },
    "lmms-lab-encoder/MMT-Benchmark": {"default": (("val",), _mmt)},
    "lmms-lab-encoder/vstar-bench": {"default": (("test",), _vstar)},
}  # fmt: skip
"""Hub id -> config -> its splits and what makes a row."""


def write_data(root: Path, docs: int) -> None:
    """All data sets below `root`, with so many docs a split; of BLINK's subsets each has another number."""
    import datasets

    datasets.disable_progress_bars()
    yes_no, four = (_sample(name) for name in ("MME", "SEED-Bench"))
    four = [row for row in four if len(row["image"]) == 1]
    for name in ("MME", "SEED-Bench"):
        _copy_sample(SAMPLE / name, root / "lmms-lab-encoder" / name, 8 * docs)
    for path, configs in DATA.items():
        entries = []
        for place, (config, (splits, make)) in enumerate(configs.items()):
            for split in splits:
                draw = Draw(f"{path} {config} {split}")
                rows = [
                    make(
                        draw, number, yes_no[(7 * number + place) % len(yes_no)], four[(5 * number + place) % len(four)]
                    )
                    for number in range(docs + place)
                ]
                file = root / path / config / f"{split}.parquet"
                file.parent.mkdir(parents=True, exist_ok=True)
                made = datasets.Dataset.from_list(rows)
                for column in made.column_names:
                    if column == "image_list":
                        made = made.cast_column(column, datasets.List(datasets.Image()))
                    elif column.removeprefix("image_").isdigit() or column == "image":
                        made = made.cast_column(column, datasets.Image())
                made.to_parquet(str(file))
            files = "".join(f"      - {{split: {split}, path: {config}/{split}.parquet}}\n" for split in splits)
            entries.append(f"  - config_name: {config}\n    data_files:\n{files}")
        (root / path / "README.md").write_text(f"---\nconfigs:\n{''.join(entries)}---\n")


def _copy_sample(source: Path, target: Path, docs: int) -> None:
    """A bundled data set with about so many of its rows, in twos as MME has two questions a picture; without videos."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    shutil.copytree(source, target, dirs_exist_ok=True)
    for file in sorted((target / "data").glob("*.parquet")):
        table = pq.read_table(file)
        step = max(1, len(table) // docs)
        kinds = table["data_type"].to_pylist() if "data_type" in table.column_names else [""] * len(table)
        kept = [row for row in range(len(table)) if not row // 2 % step and kinds[row] != "video"]
        pq.write_table(table.take(pa.array(kept)), file)


def _sample(name: str) -> list[Row]:
    """The rows of a bundled data set, their pictures as bytes."""
    import pyarrow.parquet as pq

    return [
        row for file in sorted((SAMPLE / name / "data").glob("*.parquet")) for row in pq.read_table(file).to_pylist()
    ]
