"""OCRBench v2: questions of each of its 30 types on three small pictures."""

import json
from typing import Any

from datasets import Image, Sequence, Value

from samples import Row, Sample, page, png

TEXT, WHOLE = Value("string"), Value("int32")
FEATURES = {
    "id": WHOLE, "dataset_name": TEXT, "question": TEXT, "type": TEXT, "answers": Sequence(TEXT), "image": Image(), "eval": TEXT,
    "bbox": Sequence(WHOLE), "bbox_list": Sequence(Sequence(WHOLE)), "content": Sequence(TEXT),
}  # fmt: skip
TABLE = "<table><tr><td>Town</td><td>Boats</td></tr><tr><td>Oslo</td><td>7</td></tr></table>"
PLACE = "Answer as a dictionary with the keys 'answer' and 'bbox', the coordinates normalised to 1000. "
LONG = "The ferry to the island runs every day until nine"
CHINESE = "北方 港口 的 渡轮 每天 开到 九点 钟"
Given = tuple[str, str, Any, dict[str, Any]]
"""Type, question, answers, and other columns."""
ROWS: list[Given] = [
    ("text recognition en", "What is written in the image?", ["HARBOUR"], {}),
    ("fine-grained text recognition en", "Read the text in the region [10, 20, 900, 300].", [LONG], {}),
    ("full-page OCR en", "Read all the text in the image.", [f"{LONG}. Tickets are sold on board."], {}),
    ("full-page OCR cn", "请识别图中的所有文字。", [CHINESE], {}),
    ("text grounding en", "Where is 'Oslo'? Give [x1, y1, x2, y2] normalised to 1000.", ["40", "310", "420", "690"], {}),
    ("VQA with position en", PLACE + "Which town is named?", ["Oslo"], {"bbox": [40, 310, 420, 690]}),
    ("text spotting en", "Spot all text as [(x1, y1, x2, y2, text), ...], normalised to 1000.", [],
     {"bbox_list": [[40, 100, 400, 100, 400, 300, 40, 300], [500, 100, 800, 100, 800, 300, 500, 300]], "content": ["Oslo",
      "seven!"]}),
    ("key information extraction en", "Extract 'company' and 'total' as a dictionary.",
     [json.dumps({"company": ["LENA TEA", "LENA TEA LTD"], "total": ["9.50"]})], {}),
    ("key information mapping en", "Pair the keys with their values: 'Date', 'Dose'.",
     [json.dumps({"Date": ["14/05/1971"], "Dose": ["2.5 mg"]})], {}),
    ("key information extraction cn", "请提取公司和日期。", ["{'公司': '北方港口', '日期': ['5月']}"], {}),
    ("handwritten answer extraction cn", "请提取第1题的简答题答案。", [CHINESE], {}),
    ("handwritten answer extraction cn", "请提取第2题的选择题答案。", ["BCA"], {}),
    ("document parsing en", "Convert the document to Markdown.", ["# Tides\nThe ferry runs until nine.\n## Towns\nOslo"], {}),
    ("document parsing cn", "请将文档转为Markdown。", ["# 港口\n渡轮\n每天"], {}),
    ("chart parsing en", "Convert the chart to a Python dictionary.", [json.dumps({"Boats": {"Oslo": 7, "Bergen": 4}})], {}),
    ("table parsing en", "Convert the table to HTML.", [TABLE], {}),
    ("table parsing en", "Convert the table to Markdown.", ["| Town | Boats |\n| --- | --- |\n| Oslo | 7 |"], {}),
    ("table parsing cn", "请用HTML格式表示表格。", [TABLE.replace("Town", "城市").replace("Boats", "船")], {}),
    ("formula recognition en", "Write the formula as LaTeX.", ["\\frac { 9 - 1 } { 2 }"], {}),
    ("formula recognition cn", "请用LaTeX写出公式。", ["x = \\text{速度}"], {}),
    ("math QA en", "What is 9 - 1? A. 7 B. 8", ["B"], {"eval": "multiple choice"}),
    ("text counting en", "How many words are there?", ["12"], {"eval": "regression"}),
    ("text counting en", "How often does 'a' occur?", ["3"], {"eval": "exact match"}),
    ("document classification en", "Which kind of document is it?", ["letter"], {}),
    ("cognition VQA en", "What does the sign say about the ferry?", [LONG], {}),
    ("diagram QA en", "What follows the egg?\nA. Larva\nB. Moth", ["A"], {"eval": "multiple choice"}),
    ("cognition VQA cn", "图中的城市是哪里？", ["奥斯陆"], {}),
    ("reasoning VQA en", "Is the ferry running at ten?", ["no, it is not"], {}),
    ("science QA en", "Which one is a gas?\nA. Ice\nB. Steam", ["B"], {"eval": "multiple choice"}),
    ("APP agent en", "Which button sends the letter?", ["Send"], {"eval": "case sensitive"}),
    ("ASCII art classification en", "What does the drawing show?\nA. a fish\nB. a boat", ["B"], {"eval": "multiple choice"}),
    ("reasoning VQA cn", "十点还有渡轮吗？", ["没有"], {}),
    ("text translation cn", "请将图中的文字翻译成英文。", [f"{LONG}, also in winter"], {}),
]  # fmt: skip


PICTURES = [page(text, (36, 18)) for text in ("PORT", "Oslo", "9-1")]


def samples() -> list[Sample]:
    """One or two rows of each type, with three pictures."""
    rows: list[Row] = []
    for number, (kind, question, answers, more) in enumerate(ROWS):
        rows.append({
            "id": number, "dataset_name": "drawn", "question": question, "type": kind, "answers": answers,
            "image": png(PICTURES[number % 3]), "eval": "None", "bbox": None, "bbox_list": None, "content": None, **more,
        })  # fmt: skip
    return [Sample("ling99/OCRBench_v2", "test", FEATURES, rows)]
