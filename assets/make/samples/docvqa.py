"""DocVQA and InfographicVQA: pages and infographics with text to read, in both configurations and splits."""

from typing import Any

from datasets import Image, Sequence, Value

from samples import Row, Sample, page, png

TEXT = Value("string")
TEXTS = Sequence(Value("string"))
DOC_FEATURES = {
    "questionId": TEXT, "question": TEXT, "question_types": TEXTS, "image": Image(), "docId": Value("int64"),
    "ucsf_document_id": TEXT, "ucsf_document_page_no": TEXT, "answers": TEXTS, "data_split": TEXT,
}  # fmt: skip
INFO_FEATURES = {
    "questionId": TEXT, "question": TEXT, "answers": TEXTS, "answer_type": TEXTS, "image": Image(), "image_url": TEXT,
    "operation/reasoning": TEXTS, "ocr": TEXT, "data_split": TEXT,
}  # fmt: skip

LETTER = (
    "Harbour Tea Company\n14 May 1971\n\nDear Ms Okafor,\nwe ship 320 crates of\ngreen tea on Monday.\n\nR. Lindqvist"
)
TABLE = "Quarter   Sales   Cost\nQ1        $1,250   800\nQ2        $1,410   790\nQ3          $980   815"
FORM = "STUDY RECORD\nName: P. Adeyemi\nAge: 46\nSmoker: [ ] yes [x] no\nDose: 2.5 mg"
CHART = "Rainfall (mm)\n\nJan ########## 50\nFeb ###### 30\nMar #### 20\n\nFigure 2"

PAGES: dict[str, tuple[str, list[tuple[str, list[str], list[str]]]]] = {
    "fkpl0001": (LETTER, [
        ("Who signed the letter?", ["R. Lindqvist", "Lindqvist"], ["free_text"]),
        ("How many crates are shipped?", ["320", "320 crates"], ["free_text"]),
        ("What is the date of the letter?", ["14 May 1971"], ["layout", "free_text"]),
    ]),
    "fkpl0002": (TABLE, [
        ("What are the sales in Q1?", ["$1,250", "1,250"], ["table/list"]),
        ("Which quarter has the highest cost?", ["Q3"], ["table/list"]),
    ]),
    "fkpl0003": (FORM, [
        ("What is the age on the form?", ["46"], ["form"]),
        ("Is the person a smoker?", ["no", "No"], ["form", "Yes/No"]),
        ("What is the dose?", ["2.5 mg", "2.5mg"], ["form"]),
    ]),
    "fkpl0004": (CHART, [
        ("What is the rainfall in February?", ["30", "30 mm"], ["figure/diagram"]),
        ("What is the number of the figure?", ["2", "Figure 2"], ["figure/diagram", "layout"]),
    ]),
}  # fmt: skip

COFFEE = "COFFEE IN NUMBERS\n\n2.25 billion cups a day\nTop growers:\nBrazil 35%\nVietnam 17%\nColombia 8%"
CITY = "CITY BIKES 2020\n\n412 stations\n5,100 bikes\nOpen 24 hours\nSource: bikes.example"
INFOGRAPHICS: dict[str, tuple[str, list[tuple[str, list[str], list[str], list[str]]]]] = {
    "coffee": (COFFEE, [
        ("Which country grows the most coffee?", ["Brazil"], ["single span"], ["comparison"]),
        ("What share do Brazil and Vietnam have together?", ["52%"], ["non-extractive"], ["arithmetic"]),
        ("How many countries are listed?", ["3", "three"], ["non-extractive"], ["counting"]),
        ("Which countries grow less than 20%?", ["Vietnam, Colombia", "Colombia, Vietnam"], ["multi-span"], ["comparison"]),
        ("How many cups are drunk a day?", ["2.25 billion", "2.25 billion cups"], ["single span"], []),
    ]),
    "bikes": (CITY, [
        ("How many stations are there?", ["412"], ["single span"], []),
        ("What is the source of the data?", ["bikes.example"], ["single span"], []),
        ("Are there more bikes or stations?", ["bikes"], ["question span"], ["comparison"]),
    ]),
}  # fmt: skip


def _ocr(text: str) -> str:
    """Recognised text in the shape that the hub has: JSON in a string."""
    words = ", ".join(f'{{"Text": "{word}"}}' for word in text.split())
    return f'{{"PAGE": [{{"BlockType": "PAGE"}}], "LINE": [], "WORD": [{words}]}}'


def _doc_rows(split: str) -> list[Row]:
    rows: list[Row] = []
    for number, (document, (text, questions)) in enumerate(PAGES.items()):
        picture = png(page(text, (180, 120)))
        for question, answers, types in questions if split == "val" else questions[:1]:
            known: Any = answers if split == "val" else None
            row: Row = {"questionId": str((337 if split == "val" else 57344) + len(rows)), "question": question}
            row |= {"question_types": types if known else None, "image": picture, "docId": 279 + number}
            row |= {"ucsf_document_id": document, "ucsf_document_page_no": str(number + 1)}
            rows.append({**row, "answers": known, "data_split": split})
    return rows


def _info_rows(split: str) -> list[Row]:
    rows: list[Row] = []
    for name, (text, questions) in INFOGRAPHICS.items():
        picture = png(page(text, (180, 130)))
        for question, answers, kinds, operations in questions if split == "val" else questions[:2]:
            known = split == "val"
            row: Row = {"questionId": str((98313 if known else 69308) + len(rows)), "question": question}
            row |= {"answers": answers if known else None, "answer_type": kinds if known else None, "image": picture}
            row |= {"image_url": f"https://infographics.example/{name}.png", "ocr": _ocr(text), "data_split": split}
            rows.append({**row, "operation/reasoning": operations if known else None})
    return rows


def samples() -> list[Sample]:
    """Both configurations, validation with answers and test without."""
    hub = "lmms-lab/DocVQA"
    return [
        Sample(hub, "validation", DOC_FEATURES, _doc_rows("val"), "DocVQA"),
        Sample(hub, "test", DOC_FEATURES, _doc_rows("test"), "DocVQA"),
        Sample(hub, "validation", INFO_FEATURES, _info_rows("val"), "InfographicVQA"),
        Sample(hub, "test", INFO_FEATURES, _info_rows("test"), "InfographicVQA"),
    ]
