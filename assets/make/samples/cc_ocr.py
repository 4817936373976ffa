"""CC-OCR: small pictures for each of the four tracks, with data sets of words, of characters and of all kinds of documents."""

import base64
import json

from datasets import Value

from samples import Row, Sample, page, png

TEXT = Value("string")
FEATURES = {
    "index": Value("int64"), "image": TEXT, "image_name": TEXT, "question": TEXT, "answer": TEXT, "category": TEXT,
    "l2-category": TEXT, "split": TEXT,
}  # fmt: skip
READ = "Please output only the text content from the image without any additional descriptions or formatting."
FIELDS = "Extract the key information from the image as JSON with these keys: {}"
TABLE = '<table><tr><td>Town</td><td>Boats</td></tr><tr><td colspan="2">Oslo</td></tr></table>'
RECEIPT = {"menu": [{"name": "tea", "count": "2"}, {"name": "bun", "count": "1"}], "total": "9.50"}
CHINESE = {"公司": ["北方 港口"], "日期": "5 月"}
ROWS: dict[str, list[tuple[str, str, str, str]]] = {  # track: kind, data set, question, answer
    "multi_scene_ocr": [
        ("scene_text", "IC15", READ, "OLD TOWN Square 17"),
        ("scene_text", "zh_scene", READ, "出口 Port"),
        ("document_text", "FUNSD", READ, "Name: P. Adeyemi\nDose: 2.5 mg"),
        ("ugc_text", "zh_vertical", READ, "春天来了"),
        ("scene_text", "IC15", READ, "Ferry to the island"),
    ],
    "multi_lan_ocr": [
        ("French", "French", READ, "Le port est fermé."),
        ("Japanese", "Japanese", READ, "本日 休業"),
        ("German", "German", READ, "Straße gesperrt, bitte warten"),
        ("Korean", "Korean", READ, "문을 닫으세요"),
    ],
    "kie": [
        ("constrained_category", "CORD", FIELDS.format("menu, total"), json.dumps(RECEIPT)),
        ("constrained_category", "sroie2019_word", FIELDS.format("company, date"),
         json.dumps({"company": "LENA TEA", "date": "14/05/1971"})),
        ("open_category", "COLD_SIBR", FIELDS.format("公司, 日期"), json.dumps(CHINESE, ensure_ascii=False)),
    ],
    "doc_parsing": [
        ("doc", "doc_scan_eng_75", "Convert the document to LaTeX.", "\\section{Tides}\nThe ferry runs until nine."),
        ("table", "table_scan_eng_75", "Convert the table to HTML.", TABLE),
        ("table", "table_photo_chn_75", "Convert the table to HTML.", TABLE.replace("Town", "城市").replace("Boats", "船")),
        ("formula", "formula_handwriting_100", "Write the formula as LaTeX.", "\\frac { 9 - 1 } { 2 } = 4"),
        ("molecular", "molecular_handwriting_100", "Write the molecule as SMILES.", "CC(=O)OC1=CC=CC=C1"),
    ],
}  # fmt: skip


def samples() -> list[Sample]:
    """The four tracks."""
    made = []
    for track, given in ROWS.items():
        rows: list[Row] = []
        for number, (kind, data_set, question, answer) in enumerate(given):
            shown = answer if answer.isascii() else f"{data_set} {number}"
            picture = png(page(shown[:80], (140, 50)))["bytes"]
            rows.append({
                "index": number, "image": base64.b64encode(picture).decode(), "image_name": f"{data_set}_{number}.png",
                "question": question, "answer": answer, "category": track, "l2-category": kind, "split": data_set,
            })  # fmt: skip
        made.append(Sample("wulipc/CC-OCR", "test", FEATURES, rows, config=track))
    return made
