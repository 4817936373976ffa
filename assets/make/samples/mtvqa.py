"""MTVQA: a drawn sign for each of the nine languages, with one or two questions."""

from datasets import Image, Value

from samples import Sample, page, png

TEXT = Value("string")
FEATURES = {"image": Image(), "id": TEXT, "qa_pairs": TEXT, "lang": TEXT}
SIGNS = [  # language, the text that can be drawn in ASCII, questions and answers
    ("AR", "2030\nSOUQ", [("ما هي السنة المكتوبة؟", "2030"), ("ما هي الكلمة؟", "SOUQ")]),
    ("DE", "BROT 2.50\nMILCH 1.20", [("Was kostet 2.50?", "Brot"), ("Wie viel kostet die Milch?", "1.20")]),
    ("FR", "GARE\nQUAI 4", [("Quel est le numéro du quai ?", "4"), ("Quel lieu est indiqué ?", "Gare")]),
    ("IT", "USCITA", [("Cosa c'è scritto?", "Uscita")]),
    ("JA", "100 YEN", [("いくらですか？", "100 yen")]),
    ("KR", "BUS 702", [("버스 번호는 무엇입니까?", "702")]),
    ("RU", "METRO\n1935", [("Какой год написан?", "1935"), ("Какое слово написано?", "METRO")]),
    ("TH", "TAXI", [("ข้อความเขียนว่าอะไร", "TAXI")]),
    ("VI", "PHO BO\n45.000", [("Món ăn là gì?", "Pho bo"), ("Giá bao nhiêu?", "45.000")]),
]


def samples() -> list[Sample]:
    """A row for each sign; the pairs are Python text, as on the hub."""
    rows = [
        {
            "image": png(page(text, (96, 48))),
            "id": str(number),
            "qa_pairs": str([{"question": question, "answer": answer} for question, answer in pairs]),
            "lang": language,
        }
        for number, (language, text, pairs) in enumerate(SIGNS)
    ]
    return [Sample("ByteDance/MTVQA", "test", FEATURES, rows)]
