"""OmniDocBench 1.5: pages of ours with the numbers that the authors' code gives for them, and bounds on the work for a page.

omnidocbench_pages.json was scored by the code of the fork pichiu/OmniDocBench at 7bd6c2e (v1.5, quick_match) with pylatexenc
3.0a30, lxml 4.9.2, beautifulsoup4 4.11.1 and scipy 1.10.1. The authors' own pages can't be shipped: the numbers of their demo
stand in tests/peers/omnidocbench_demo.py.
"""

import json
import os
import random
import time
from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.omnidocbench import cdm
from mm_eval.tasks.omnidocbench import pages as pages_module
from mm_eval.tasks.omnidocbench import quick_match as quick
from mm_eval.tasks.omnidocbench.latex_text import as_text
from mm_eval.tasks.omnidocbench.markdown import written
from mm_eval.tasks.omnidocbench.pages import compared
from mm_eval.tasks.omnidocbench.utils import process_results

from mm_eval.scoring.metrics import bounds
from mm_eval.scoring.metrics.generation import edit_distance
from tests.papers.recordings import write_answers
from tests.peers.omnidocbench_demo import VARIABLE, different, numbers_of
from tests.sets import each_of

PAGES = json.loads(Path(__file__).with_name("omnidocbench_pages.json").read_text(encoding="utf-8"))


def page_of(stated: dict[str, Any], number: int = 0) -> dict[str, Any]:
    """A page in the form of OmniDocBench.json."""
    keys = {"table": "html", "equation_isolated": "latex"}
    parts = [
        {"category_type": kind, "anno_id": place, "order": order, keys.get(kind, "text"): content}
        for place, (kind, order, content) in enumerate(stated["parts"])
    ]
    for part in parts:  # both forms of a table are annotated
        part |= {"latex": r"\begin{tabular}{l} a \end{tabular}"} if part["category_type"] == "table" else {}
    joined = [
        {"source_anno_id": one, "target_anno_id": other, "relation_type": "truncated"}
        for one, other in stated["joined"]
    ]
    about = {
        "image_path": f"page_{number % 6}.png",
        "page_attribute": {"language": "english", "special_issue": ["table_span"]},
    }
    return {"layout_dets": parts, "page_info": about, "extra": {"relation": joined}}


@each_of("stated", PAGES, ids=lambda stated: stated["about"])
def test_a_page_has_the_numbers_of_the_authors_code(stated: dict[str, Any]) -> None:
    expected = [stated[name] for name in ("text", "formula", "order", "teds", "structure")]
    assert numbers_of(page_of(stated), stated["answer"]) == expected


def test_a_run_has_their_means(cli, tmp_path, capsys) -> None:
    folder = tmp_path / "data" / "opendatalab" / "OmniDocBench"
    (folder / "images").mkdir(parents=True)
    sample = Path(__file__).parents[2] / "assets" / "data" / "opendatalab" / "OmniDocBench" / "images"
    for file in sample.iterdir():
        (folder / "images" / file.name).write_bytes(file.read_bytes())
    pages = [page_of(stated, number) for number, stated in enumerate(PAGES)]
    (folder / "OmniDocBench.json").write_text(json.dumps(pages, ensure_ascii=False), encoding="utf-8")
    replay = write_answers(tmp_path / "answers.jsonl", {"omnidocbench": [stated["answer"] for stated in PAGES]})
    ran = cli(
        *("--tasks", "omnidocbench", "--model", "replay", "--model_args", f"path={replay}"),
        *("--data_root", tmp_path / "data", "--output_path", tmp_path / "run"),
    )
    assert ran.code == 0, ran.err
    row = ran.results["results"]["omnidocbench"]
    found = {name.removesuffix(",none"): value for name, value in row.items() if name.endswith(",none")}
    expected = {  # page averages, and means over all tables
        "text_edit_distance": 0.146970, "formula_edit_distance": 0.295238, "reading_order_edit_distance": 0.134409,
        "table_teds": 0.752910, "table_teds_structure": 0.759259,
    }  # fmt: skip
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-6)
    assert "overall" not in found  # it needs CDM, which the authors' script gives
    has_cdm(ran.folder, tmp_path, capsys)


def has_cdm(run: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The pairs for the authors' script, and the overall number by what it gives."""
    assert cdm.main([str(run)]) == 0
    pairs = json.loads((run / "omnidocbench_cdm.json").read_text())
    assert [pair["img_id"] for pair in pairs] == [f"formula_{n}" for n in range(len(pairs))] and len(pairs) > 4
    assert all(pair.keys() == {"img_id", "gt", "pred"} and pair["gt"] for pair in pairs)
    assert not any("$" in pair["gt"] for pair in pairs)
    scores = folder / "metrics_res.json"
    details = {pair["img_id"]: {"recall": 1, "precision": 1, "F1_score": 0.5} for pair in pairs[1:]}
    scores.write_text(json.dumps({"mean_score": 0.5, "details": details}))
    assert cdm.main([str(run), "--scores", str(scores)]) == 0
    said, value = capsys.readouterr().out, 0.5 * (len(pairs) - 1) / len(pairs)
    assert (
        f"CDM {100 * value:.2f}, the mean of {len(pairs)} formulas\n1 of the pages' own formulas could not be drawn"
        in said
    )
    assert f"overall {100 * ((1 - 0.146970) + 0.752910 + value) / 3:.2f}" in said
    none = scores.with_name("none.json")
    none.write_text(json.dumps({"details": {name: {"F1_score": 0.0} for name in details}}))
    scores.write_text(json.dumps({"details": {**details, "formula_999": {"F1_score": 1}}}))
    for words, wrong in (
        ([str(run), "--scores", str(scores)], "it has scores of 'formula_999'"),
        ([str(run), "--scores", str(run / "run.json")], "it is not the metrics_res.json of the script"),
        ([str(run), "--scores", str(none)], "is the same on both sides, and has 0"),
        ([str(run), "--task", "mme"], "the run has no task 'mme'"),
        ([str(folder)], "there is no run.json"),
    ):
        assert cdm.main(words) == 2 and wrong in capsys.readouterr().err, words


def test_formulas_are_given_as_the_authors_script_gives_them() -> None:
    assert cdm.bare("$$ a + b $$") == cdm.bare("$ $a + b$ $") == "a + b"
    assert cdm.outside_of_fence("so:\n```latex\na\n```\n") == "\na\n" and cdm.outside_of_fence("a_1") == "a_1"
    stated = {"joined": [], "parts": [["equation_isolated", 1, r"\[\begin{array}{l} x = 1 \\\\ y = 2 \end{array}\]"]]}
    page = compared(page_of(stated), "$$x = 1$$\n\n$$y = 3$$")
    assert page.latex == [(r"\[x = 1\]", r"\[x = 1\]"), (r"\[y = 2\]", r"\[y = 3\]")]


@pytest.mark.skipif(VARIABLE not in os.environ, reason=f"{VARIABLE} names no checkout of the authors' repository")
def test_the_demo_has_the_numbers_of_the_authors_code() -> None:
    assert list(different(Path(os.environ[VARIABLE]))) == []


LATEX = [  # what pylatexenc 3.0a30 gives; None where it ends with an error
    (r"x_1^2", "x_1^2"),
    (r"\alpha_{i}+\beta", "α_i+β"),
    (r"\frac{a}{b}", "a/b"),
    (r"\frac ab", "a/b"),
    (r"\frac12", "1/2"),
    (r"\sqrt[3]{x}", "√(x)"),
    (r"\mathbf{x}\in\mathbb{R}^n", "\U0001d431∈ℝ^n"),
    (r"\mathcal LaB", "ℒaB"),
    (r"\hat{y}_i", "ŷ_i"),
    (r"\text{if } x", "if  x"),
    (r"\left( x \right)", "( x )"),
    (r"\unknown{a}b", "ab"),
    (r"a%b", "a"),
    (r"a}b_c", ""),  # a brace too many
    (r"{a_b", ""),
    (r"\frac{a}{b", "a/"),
    (r"a \] b", ""),
    (r"\[\alpha b\]", "\n    α b\n"),
    (r"\alpha b", "αb"),
    (r"\begin{array}{ll} a & b \\ c & d \end{array}", "[ a b; c d ]"),
    (r"\begin{aligned} a &= b\\ &= c \end{aligned}", " a    = b\n    = c "),
    (r"\begin{array}{l}\end{array}", None),
    (r"\mathbf \frac{a}{b}", "/ab"),
    (r"\operatorname*{arg}", "*arg"),
    (r"\textcolor{red}{x}", "x"),
    (r"\hspace{1cm}x", "x"),
    (r"a\\[2mm]b", "a\nb"),
    (r"``a''--b~c", "“a”–b\xa0c"),
    (r"\not=", "≠"),
    (r"\%", "%"),
    (r"\ket{x}", "|x⟩"),
    (r"\begin{align*} \alpha b \end{align*}", "\n    α b\n"),
    (r"\phi\varphi\epsilon", "ϕφϵ"),
    (r"\mathit{h}", "ℎ"),
    (r"\mathfrak{C}", "ℭ"),
    (r"\begin x", r"\begin x"),
    (r"\frac\end{", "/"),
    (r"\text{$x$}", "x"),
    (r"\text $", None),
]  # fmt: skip


@each_of(("latex", "text"), LATEX)
def test_latex_is_shown_as_pylatexenc_shows_it(latex: str, text: str | None) -> None:
    assert as_text(latex) == text


def test_nested_braces_of_any_depth_end() -> None:
    assert as_text("{" * 100_000) in ("", None) and as_text("\\") is None


def test_a_text_within_another_is_found_by_its_distance() -> None:
    stream = random.Random(5)
    for _ in range(300):
        text = "".join(stream.choices("abc", k=stream.randint(1, 40)))
        part = "".join(stream.choices("abc", k=stream.randint(1, 12)))
        windows = [text[at : at + len(part)] for at in range(len(text) - len(part) + 1)]
        least = min((edit_distance(window, part) for window in windows), default=None)
        for most in range(-1, len(part)):
            assert quick.Within()(text, part, most) == (least is not None and least <= most)


def test_a_page_with_too_many_pieces_is_matched_one_to_one(monkeypatch: pytest.MonkeyPatch) -> None:
    stated = next(each for each in PAGES if each["about"] == "two texts in one piece")
    page, answer = page_of(stated), stated["answer"].replace("l", "1")
    assert numbers_of(page, answer)[0] < 0.1
    monkeypatch.setattr(pages_module, "MOST_PAIRS", 5)
    one_to_one = numbers_of(page, answer)
    assert one_to_one[0] > 0.4
    monkeypatch.undo()
    monkeypatch.setattr(quick, "MOST_STEPS", 10)
    assert numbers_of(page, answer) == one_to_one


def test_a_page_that_is_too_long_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages_module, "MOST_PAIRS", 1)
    monkeypatch.setattr(pages_module, "MOST_CHARACTERS", 10)
    stated = PAGES[0]
    with bounds.reports() as found:
        assert process_results(page_of(stated), [stated["answer"]])["text_edit_distance"] == 1
    assert len(found) == 1 and "the matching of a page" in found[0]
    monkeypatch.setattr(pages_module, "MOST_OF_TABLES", 10)
    stated = next(each for each in PAGES if each["about"] == "tables are matched by their content")
    with bounds.reports() as found:
        assert process_results(page_of(stated), [stated["answer"]])["table_teds"]["tables"] == [0, 0]
    assert len(found) == 1 and "the tables of an answer" in found[0]


@pytest.mark.full
def test_a_long_newspaper_takes_seconds() -> None:
    stream = random.Random(3)
    words = ["".join(stream.choices("abcdefghijklmnopqrstuvwxyz", k=stream.randint(2, 9))) for _ in range(500)]
    texts = [" ".join(stream.choices(words, k=60)) for _ in range(60)]
    parts = [
        {"category_type": "text_block", "anno_id": at, "order": at + 1, "text": text} for at, text in enumerate(texts)
    ]
    said = [text[:150] for text in texts] + [text[150:] for text in texts]
    stream.shuffle(said)
    page = {"layout_dets": parts, "page_info": {"image_path": "p.jpg"}, "extra": {"relation": []}}
    start = time.process_time()
    assert 0 < process_results(page, ["\n\n".join(said)])["text_edit_distance"] < 1
    assert time.process_time() - start < 20


def test_the_pieces_of_an_answer_have_their_kinds_and_places() -> None:
    answer = "# Tides\n\n$$a=b$$\n\nIt is $x_1$ there.\n\n<table><tr><td>a</td></tr></table>\n\n| a |\n| - |\n| b |\n"
    found = written(answer)
    assert {kind: [piece.content for piece in pieces] for kind, pieces in found.items()} == {
        "text": ["# Tides", "It is $x_1$ there."],
        "formula": [r"\[a=b\]", r"\[x_1\]"],
        "html_table": [
            "<table><tr><td>a</td></tr></table>",
            '<table border="1" >\n    <tr>\n      <td colspan="1" rowspan="1">a</td>\n    </tr>\n    <tr>\n'
            '      <td colspan="1" rowspan="1">-</td>\n    </tr>\n    <tr>\n      <td colspan="1" rowspan="1">b</td>\n'
            "    </tr>\n</table>",
        ],
    }
    assert [piece.inline for piece in found["formula"]] == [False, True]


BROKEN = {
    "pictures": "![" * 10_000, "formulas": r"\[" * 10_000, "tables": "<table " * 10_000, "rows": "|\n" * 10_000,
    "tables in LaTeX": r"\begin{tabular}" * 3_000, "dollars": "$" * 10_001,
}  # fmt: skip


@each_of(("kind", "answer"), BROKEN.items(), ids=lambda kind, answer: kind)
def test_broken_answers_end_soon(kind: str, answer: str) -> None:
    start = time.process_time()
    compared(page_of(PAGES[0]), answer)
    assert time.process_time() - start < 10, kind


def test_a_run_of_version_1_names_its_task(cli, tmp_path) -> None:
    ran = cli(
        "--tasks", "omnidocbench", "--model", "dummy", "--sample", "--limit", 1, "--output_path", tmp_path / "run"
    )
    assert ran.code == 0, ran.err
    file = tmp_path / "run" / "run.json"
    text = file.read_text(encoding="utf-8")
    assert '"version": 1.5' in text
    file.write_text(text.replace('"version": 1.5', '"version": 1.0'), encoding="utf-8")
    scored = cli("score", tmp_path / "run")
    assert scored.code == 2
    assert "version 1.0 of 'omnidocbench', which is the task 'omnidocbench_v1' now" in scored.err
