"""LLaVA's question file for GQA: the default prompt is the one that LLaVA-1.5 was asked with, 12,578 times.

Its answers are recorded too, but the right answers are only on the hub, so that the published 63.3 is not reproduced here.
"""

from tests.papers.prompts import prompts
from tests.papers.recordings import Recording, tiny_picture, write_answers, write_table

HUB, COMMIT = "haotian-liu/LLaVA", "32cebc3809441cc40d8ac7b2855d148308741f2a"
FOLDER = "playground/data/eval/gqa"
QUESTIONS = Recording(HUB, COMMIT, f"{FOLDER}/llava_gqa_testdev_balanced.jsonl")
ANSWERS = Recording(HUB, COMMIT, f"{FOLDER}/answers/llava_gqa_testdev_balanced/llava-v1.5-13b.jsonl")


def test_the_prompts_of_llava_and_its_answers_on_the_scale_of_the_benchmark(cli, tmp_path) -> None:
    from datasets import Image, Value

    asked, answered = QUESTIONS.jsonl(), [row["text"] for row in ANSWERS.jsonl()]
    rows = []
    for row, answer in zip(asked, answered, strict=True):
        question, picture = row["text"].partition("\n")[0], row["image"].removesuffix(".jpg")
        # Every third doc is made to be answered right, as far as a full stop and capitals go; no gold answers are here.
        gold = answer.lower() if len(rows) % 3 == 0 else "-"
        rows.append({"id": row["question_id"], "imageId": picture, "question": question, "answer": gold})
    write_table(tmp_path, "lmms-lab/GQA", "testdev", rows, "testdev_balanced_instructions")
    names = sorted({row["imageId"] for row in rows})
    pictures = [{"id": name, "image": tiny_picture()} for name in names]
    features = {"id": Value("string"), "image": Image()}
    write_table(tmp_path, "lmms-lab/GQA", "testdev", pictures, "testdev_balanced_images", features)
    assert len(rows) == 12578 and len(names) == 398
    for key in (None, "llava"):
        assert prompts(tmp_path, "gqa", key) == [row["text"] for row in asked]
    replay = write_answers(tmp_path / "answers.jsonl", {"gqa": answered})
    ran = cli("--tasks", "gqa", "--model", "replay", "--model_args", f"path={replay}", "--data_root", tmp_path)
    assert ran.code == 0, ran.err
    assert ran.results["results"]["gqa"]["exact_match,none"] == len(range(0, 12578, 3)) / 12578
