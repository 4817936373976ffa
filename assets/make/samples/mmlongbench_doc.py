"""MMLongBench-Doc: two documents of several pages, and questions of each format on one page, on two, and on none."""

from datasets import Sequence, Value

from samples import Sample, page, png

TEXT = Value("string")
COLUMNS = ("doc_id", "doc_type", "question", "answer", "evidence_pages", "evidence_sources", "answer_format")
FEATURES = {**dict.fromkeys(COLUMNS, TEXT), "pages": Sequence(TEXT)}
DOCUMENTS = {
    "harbour_report.pdf": ("Research report / Introduction", [
        "Harbour report\n\nContact: port@harbour.org", "Ferries in 2019: 14\nFerries in 2020: 17",
        "Cargo\ntea    61.5%\ntimber 38.5%", "Piers: North, Old Town\n\nOpens at 6 a.m.",
    ]),
    "kettle_guide.pdf": ("Guidebook", ["Kettle guide", "Steps\n1 Fill\n2 Heat\n3 Pour", "See page 2"]),
}  # fmt: skip
QUESTIONS = [
    ("harbour_report.pdf", "How many ferries were there in 2020?", "17", "[2]", "['Table']", "Int"),
    (
        "harbour_report.pdf",
        "How many more ferries were there in 2020 than piers?",
        "15",
        "[2, 4]",
        "['Table', 'Chart']",
        "Int",
    ),
    ("harbour_report.pdf", "What share of the cargo is tea?", "61.5%", "[3]", "['Chart']", "Float"),
    (
        "harbour_report.pdf",
        "Which piers are there?",
        "['North', 'Old Town']",
        "[4]",
        "['Pure-text (Plain-text)']",
        "List",
    ),
    (
        "harbour_report.pdf",
        "What is the address for mail?",
        "port@harbour.org",
        "[1]",
        "['Generalized-text (Layout)']",
        "Str",
    ),
    ("harbour_report.pdf", "Who leads the harbour?", "Not answerable", "[]", "[]", "None"),
    ("kettle_guide.pdf", "What follows on heating?", "pour the water", "[2]", "['Figure']", "Str"),
    ("kettle_guide.pdf", "How many steps are there?", "3", "[2]", "['Pure-text (Plain-text)', 'Figure']", "Int"),
]


def names(document: str) -> list[str]:
    """The files of a document's pages."""
    return [f"pages/{document[:-4]}/page-{number + 1}.png" for number in range(len(DOCUMENTS[document][1]))]


def samples() -> list[Sample]:
    """The only split, with the pages as files."""
    rows = [
        dict(zip(COLUMNS, (document, DOCUMENTS[document][0], *rest), strict=True)) | {"pages": names(document)}
        for document, *rest in QUESTIONS
    ]
    files = {
        name: png(page(text, (120, 80)))["bytes"]
        for document, (_, texts) in DOCUMENTS.items()
        for name, text in zip(names(document), texts, strict=True)
    }
    return [Sample("yubo2333/MMLongBench-Doc", "train", FEATURES, rows, files=files)]
