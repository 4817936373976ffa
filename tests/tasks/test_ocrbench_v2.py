"""OCRBench v2: the rule of each type of question, the abilities, and what METEOR needs."""

import json
import time
from typing import Any

import pytest
from mm_eval.tasks.ocrbench_v2 import utils, with_meteor, words
from mm_eval.tasks.ocrbench_v2.abilities import ABILITY
from mm_eval.tasks.ocrbench_v2.structures import fields_of, nested_of, outline_similarity
from mm_eval.tasks.ocrbench_v2.words import text_score

from mm_eval.values.errors import DocError
from tests.sets import each_of
from tests.tasks.made_up import categories, prompt
from tests.tasks.of_sample import replay

KIE = json.dumps({"company": ["LENA TEA", "LENA TEA LTD"], "total": ["9.50"]})
CHART = json.dumps({"Boats": {"Oslo": 7, "Rain": None}})
TABLE = "<table><tr><td>Town</td><td>7</td></tr></table>"
LONG = "the ferry to the island runs until nine"
BOXES = {"bbox_list": [[0, 0, 100, 0, 100, 40, 0, 40], [200, 0, 300, 0, 300, 40, 200, 40]], "content": ["Oslo!", "###"]}
Other = dict[str, Any]
RULES: list[tuple[str, list[str], Other, list[tuple[str, float]]]] = [  # type, references, other columns, answers and scores
    ("text recognition en", ["Harbour", "port"], {}, [("a PORT.", 1), ("harb our", 0), ("", 0)]),
    ("cognition VQA en", [LONG], {}, [(LONG.upper(), 1), (f"{LONG}!", 1 - 1 / 40), ("nine", 0)]),
    ("APP agent en", ["Send"], {"eval": "case sensitive"}, [("tap Send", 1), ("send", 0)]),
    ("math QA en", ["B"], {"eval": "multiple choice"}, [("(B).", 1), ("B. 8", 1), ("b", 0), ("The answer is B", 0)]),
    ("cognition VQA cn", ["奥 斯陆"], {}, [("是奥斯陆。", 1), ("卑尔根", 0)]),
    ("reasoning VQA cn", ["甲,乙,丙,丁"], {}, [("甲, 乙, 丙, 丁", 1), ("甲,乙,丙", 1 - 2 / 7), ("甲", 0)]),
    ("text counting en", ["10"], {"eval": "regression"}, [("12 words", 0.8), ("4", 0), ("20", 0), ("none", 0), ("9" * 5000, 0)]),
    ("text counting en", ["3"], {"eval": "exact match"}, [("3 times", 1), ("13", 1), ("two", 0)]),
    ("formula recognition en", ["\\frac { 1 } { 2 }"], {}, [("$\\frac{1}{2}$", 1), ("\\frac12", 0)]),
    ("formula recognition cn", ["x=\\text{速度}"], {}, [("x = 速度", 1), ("x=\\text{速}", 0)]),
    ("handwritten answer extraction cn", ["BCA"], {"question": "选择题"}, [("B、C、A", 1), ("B. C. A", 1), ("ABC", 0)]),
    ("key information extraction en", [KIE], {}, [
        ("```json\n{\"company\": \"lena tea ltd\", \"total\": 9.50}\n```", 1 / 2), ("{'company': 'LENATEA', 'total': '9.50'}", 1),
        ("company: LENA TEA\ntotal = 9.50", 1), ('{"total": "9.50", "tip": "1"}', 1 / 3), ("[1]", 0), ("", 0)]),
    ("chart parsing en", [CHART], {}, [
        ("```python\ndata = {'Boats': {'Oslo': 7, 'Rain': None}}  # seen\n```", 1), ("{'Boats': {'Oslo': 7}}", 1 - (28 / 49) / 3),
        ("{'Boats': }", 0), ("", 0)]),
    ("table parsing en", [TABLE], {"question": "as HTML"}, [
        (f"```html\n{TABLE}\n```", 1), (TABLE.replace("7", "8"), 1 - 1 / 3), ("<table><tr><td>Town", 2 / 3), ("| Town | 7 |",
         0)]),
    ("table parsing en", ["| a | b |\n|---|---|\n| 1 |  |"], {"question": "as Markdown"}, [
        ("```markdown\n| a | b |\n| - | - |\n| 1 |  |\n```", 1), ("| a | b |", 1 - 3 / 6), ("", 1 / 6)]),
    ("table parsing en", ["x"], {"question": "nan"}, [("x", 0)]),
    ("document parsing en", ["# Tides\nuntil nine\n## Towns\nOslo"], {}, [
        ("# Towns\nOslo\n# Tides\nuntil", 1), ("# Tides\nuntil nine\nand ten", 1 - 3 / 6), ("# Tides\n\nuntil\n## Towns\nOslo",
         1 - 1 / 7)]),
    ("text grounding en", ["0", "0", "100", "50"], {}, [("[0, 0, 100, 50]", 1), ("(0,0,9,9) or (0, 0, 50, 50)", 0.5),
     ("0, 0, 100, 50", 0)]),
    ("VQA with position en", ["Oslo"], {"bbox": [0, 0, 100, 50]}, [
        ("{'answer': 'Oslo', 'bbox': [0, 0, 50, 50]}", 0.75), ('{"answer": "oslo"}', 0.5), ("Oslo", 0)]),
    ("text spotting en", [], BOXES, [
        ("[(0, 0, 100, 40, 'oslo'), (210, 5, 290, 35, 'x')]", 1), ("(0,0,100,40,OSLO!), (400,0,500,40,b)", 2 / 3),
        ("(0,0,100,40,Bergen)", 0), ("(0,0,40,40,Oslo)", 0), ("(100,40,0,0,Oslo)", 0), ("", 0)]),
    ("full-page OCR en", [LONG], {}, [(LONG, 1), ("", 0), (LONG.replace("nine", "ten"), (0.8408964 + 12 / 14 + 1 - 3 / 39) / 3)]),
]  # fmt: skip


@each_of(("kind", "gold", "other", "answers"), RULES, ids=lambda each: each if isinstance(each, str) else "")
def test_each_type_has_its_rule(kind: str, gold: list[str], other: Other, answers: list[tuple[str, float]]) -> None:
    doc = {"type": kind, "question": "?", "answers": gold, "eval": "None", **other}
    for answer, score in answers:
        assert utils.process_results(doc, [answer])["by_question"] == pytest.approx(score, abs=1e-6), answer


def test_there_are_thirty_types_in_eight_and_five_abilities() -> None:
    kinds = list(ABILITY)
    assert len(kinds) == 30 and set(utils.RULES) <= set(kinds)
    abilities = {utils.ability({"type": kind}) for kind in kinds}
    assert sum(each.endswith("en") for each in abilities) == 8 and sum(each.endswith("cn") for each in abilities) == 5


@pytest.mark.full
def test_a_language_is_the_mean_of_its_abilities(cli, tmp_path) -> None:
    golds = [utils.gold_answer(doc) for doc in _docs()]
    ran = replay(
        cli, tmp_path, "ocrbench_v2_no_meteor", [*golds[:1], "", *golds[2:]], "--output_path", tmp_path / "run"
    )
    row = ran.results["results"]["ocrbench_v2_no_meteor"]
    assert row["english,none"] == pytest.approx((7 + 2 / 3) / 8) and row["chinese,none"] == 1
    assert row["by_question,none"] == pytest.approx(32 / 33)
    found = categories(ran, "ocrbench_v2_no_meteor", "ability", "english,none")
    assert found["text recognition en"] == pytest.approx(2 / 3) and found["element parsing en"] == 1


def _docs() -> list[dict[str, Any]]:
    import pyarrow.parquet as pq

    from tests.conftest import ROOT

    folder = ROOT / "assets" / "data" / "ling99" / "OCRBench_v2" / "default"
    return pq.read_table(folder / "test-00000-of-00001.parquet").to_pylist()


@pytest.mark.full
def test_the_prompts(cli) -> None:
    assert prompt(cli, "ocrbench_v2_no_meteor") == "What is written in the image?"
    assert prompt(cli, "ocrbench_v2_no_meteor", "internvl").endswith(
        "\nAnswer the question using a single word or phrase."
    )


def test_a_refusal_is_no_document(cli, tmp_path) -> None:
    assert (
        utils.process_results({"type": "document parsing en", "answers": ["# a\nb"], "eval": "None"}, [""])[
            "by_question"
        ]
        > 0
    )


def test_long_texts_have_meteor_where_its_packages_are(monkeypatch, cli) -> None:
    assert words.by_characters("到 nine 点") == ["到", "nine", "点"]
    found = text_score("a b c d e", "a b c d e", meteor=lambda said, gold: 0.6)
    assert found == pytest.approx((3 + 0.6) / 4)
    assert (
        text_score("渡轮到", "渡轮到", words=lambda text: ["渡轮", "到"], meteor=lambda said, gold: len(said) / 2) < 1
    )
    monkeypatch.setattr(with_meteor, "find_spec", lambda name: None)
    with pytest.raises(DocError, match="METEOR needs nltk and jieba") as told:
        with_meteor.with_packages([])
    assert "pip install 'mm-eval[ocrbench-v2]'" in str(told.value) and "ocrbench_v2_no_meteor" in str(told.value)
    missing = cli("--tasks", "ocrbench_v2", "--sample", "--model", "dummy", "--limit", "1")
    assert missing.code == 2 and "config error: ocrbench_v2: METEOR needs nltk and jieba: pip" in missing.err


@pytest.mark.full
def test_broken_answers_take_no_long_time() -> None:
    start = time.process_time()
    for piece in (
        "```json\n ",
        " ```json\n",
        "{",
        "a:",
        "a ",
        "\n#",
        "# x\n",
        "'\"",
        "(1,2,",
        "<td>",
        "\\",
        "=",
        "[" * 50,
        " \n\t",
    ):
        hard = piece * (20_000 // len(piece))
        fields_of(hard), nested_of(hard), outline_similarity(hard, "# a\nb\nc")
        for kind, gold, other, _ in RULES:
            utils.process_results({"type": kind, "question": "html", "answers": gold, "eval": "None", **other}, [hard])
    assert time.process_time() - start < 30
