"""LLaVA's question file for TextVQA: the prompt `ocr` is the one that LLaVA-1.5 was asked with, 5,000 times.

Its answers are recorded too, but the people's answers are only on the hub, so that the published 61.3 is not reproduced here.
"""

from tests.papers.prompts import prompts
from tests.papers.recordings import Recording, tiny_picture, write_table

HUB, COMMIT = "haotian-liu/LLaVA", "32cebc3809441cc40d8ac7b2855d148308741f2a"
QUESTIONS = Recording(HUB, COMMIT, "playground/data/eval/textvqa/llava_textvqa_val_v051_ocr.jsonl")
MARK = "\nReference OCR token: "


def test_the_prompts_of_llava(tmp_path) -> None:
    from datasets import Image, Sequence, Value

    asked = QUESTIONS.jsonl()
    rows = []
    for number, row in enumerate(asked):
        question, _, rest = row["text"].partition(MARK)
        tokens = rest.partition("\n")[0]
        made = {
            "image_id": row["question_id"],
            "question_id": number,
            "question": question.lower(),
            "image": tiny_picture(),
        }
        rows.append({**made, "answers": ["x"] * 10, "ocr_tokens": tokens.split(", ") if tokens else []})
    features = {
        "image_id": Value("string"),
        "question_id": Value("int32"),
        "question": Value("string"),
        "image": Image(),
    }
    features |= {"answers": Sequence(Value("string")), "ocr_tokens": Sequence(Value("string"))}
    write_table(tmp_path, "lmms-lab/textvqa", "validation", rows, features=features)
    assert prompts(tmp_path, "textvqa_val", "ocr") == [row["text"] for row in asked] and len(asked) == 5000
