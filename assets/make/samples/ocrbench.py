"""OCRBench: one or two pictures with text for each of the ten types."""

from datasets import Image, Sequence, Value

from samples import Sample, page, png

FEATURES = {
    "dataset": Value("string"), "question": Value("string"), "question_type": Value("string"),
    "answer": Sequence(Value("string")), "image": Image(),
}  # fmt: skip
READ = "what is written in the image?"
DIRECT = " Answer this question using the text in the image directly."

QUESTIONS = [
    ("IIIT5K", READ, "Regular Text Recognition", ["HARBOUR"], "HARBOUR"),
    ("svtp", READ, "Irregular Text Recognition", ["Lemon"], "L e m o n\n  Lemon"),
    ("WordArt", READ, "Artistic Text Recognition", ["NIGHT FAIR", "NIGHTFAIR"], "~ NIGHT FAIR ~"),
    ("IAM", READ, "Handwriting Recognition", ["letters"], "letters"),
    ("ORAND", "what is the number in the image?", "Digit String Recognition", ["30725"], "30725"),
    ("NonSemanticText", READ, "Non-Semantic Text Recognition", ["tqohe"], "tqohe"),
    ("STVQA", "What is the bus going to?", "Scene Text-centric VQA", ["Old Town", "Old Town Square"], "17 OLD TOWN SQUARE"),
    ("ESTVQA_cn", "这家店叫什么名字?", "Scene Text-centric VQA", ["Lena"], "LENA\nTEA HOUSE"),
    ("docVQA", "What is the date of the letter?", "Doc-oriented VQA", ["14 May 1971"], "Dear Sir,\n14 May 1971"),
    ("ChartQA_Human", "What is the value of Oslo?", "Doc-oriented VQA", ["92"], "Oslo  92\nLima  81"),
    ("SROIE", f"what is the total amount of this receipt?{DIRECT}", "Key Information Extraction", ["12.50"], "TOTAL 12.50"),
    ("FUNSD", f"What is the 'NAME:'?{DIRECT}", "Key Information Extraction", ["P. Adeyemi"], "NAME: P. Adeyemi"),
    ("HME100k", "Please write out the expression of the formula in the image using LaTeX format.",
     "Handwritten Mathematical Expression Recognition", ["\\frac { 9 - 1 } { 2 } = 4\n"], "9 - 1\n----- = 4\n  2"),
    ("HME100k", "Please write out the expression of the formula in the image using LaTeX format.",
     "Handwritten Mathematical Expression Recognition", ["A B = 2 x"], "A B = 2 x"),
]  # fmt: skip


def samples() -> list[Sample]:
    """The test split."""
    rows = [
        {
            "dataset": dataset,
            "question": question,
            "question_type": kind,
            "answer": answer,
            "image": png(page(text, (140, 60))),
        }
        for dataset, question, kind, answer, text in QUESTIONS
    ]
    return [Sample("echo840/OCRBench", "test", FEATURES, rows)]
