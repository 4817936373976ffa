"""DocVQA and InfographicVQA: prompts, ANLS as the server computes it, categories."""

import pytest

from tests.tasks.made_up import ENDINGS, SHORT, MadeUp, categories, prompt

DOCVQA = MadeUp("docvqa_val", "lmms-lab/DocVQA", "validation", "DocVQA")
INFOVQA = MadeUp("infovqa_val", "lmms-lab/DocVQA", "validation", "InfographicVQA")


@pytest.mark.parametrize(("key", "ending"), [(None, SHORT), *ENDINGS.items()])
@pytest.mark.parametrize(
    ("task", "question"),
    [("docvqa_val", "Who signed the letter?"), ("infovqa_val", "Which country grows the most coffee?")],
)
def test_the_prompt_of_each_model_family(cli, task: str, question: str, key: str | None, ending: str) -> None:
    assert prompt(cli, task, key) == question + ending


HARD = [
    (["320"], "320", 1.0),
    (["R. Lindqvist", "Lindqvist"], "lindqvist", 1.0),
    (["yes"], "Yes.", 0.75),
    (["1000"], "$1,000", 1 - 2 / 6),
    (["320"], "The answer is 320", 0.0),
    (["320"], "The answer is (320).", 0.0),
    (["14 May 1971"], "14  May\n1971", 1.0),
    (["a b"], "a    b", 1.0),
    (["ab"], "ax", 0.5),
    (["ab c"], "ab   x", 1 - 1 / 6),
    (["2.5 mg", "2.5mg"], "2.5 MG", 1.0),
    (["25%"], "25 %", 0.75),
    (["1,234.50"], "1234.50", 0.875),
    (["\\frac{1}{2}"], "\\boxed{\\frac{1}{2}}", 1 - 8 / 19),
    (["no"], "yes, there is no dog", 0.0),
    (["绿茶"], "绿茶", 1.0),
    (["绿茶"], "红茶", 0.5),
    (["green tea"], "I cannot answer this question.", 0.0),
    (["green tea"], "", 0.0),
    (["green tea"], "<think>It says green tea.</think>green tea", 1.0),
    (["green tea"], "<think>It says green tea", 0.0),
]


def test_hard_answers(cli, tmp_path) -> None:
    docs = [{"questionId": str(n), "answers": gold} for n, (gold, _, _) in enumerate(HARD)]
    found = DOCVQA.scores(cli, tmp_path, docs, [answer for _, answer, _ in HARD], "anls,none")
    assert found == [pytest.approx(score) for _, _, score in HARD]


def test_a_question_of_several_types_counts_in_each(cli, tmp_path) -> None:
    docs = [
        {"answers": ["abcd"], "question_types": types} for types in (["form"], ["form", "layout"], ["Yes/No"], ["form"])
    ]
    ran = DOCVQA.run(cli, tmp_path, docs, ["abcd", "abcx", "abcd", "x"])
    assert ran.results["results"]["docvqa_val"]["anls,none"] == pytest.approx((1 + 0.75 + 1 + 0) / 4)
    found = categories(ran, "docvqa_val", "question_types", "anls,none")
    assert found == {"form": pytest.approx(1.75 / 3), "layout": 0.75, "Yes/No": 1}
    assert categories(ran, "docvqa_val", "question_types", "n") == {"form": 3, "layout": 1, "Yes/No": 1}


def test_answer_types_and_operations_of_infographics(cli, tmp_path) -> None:
    docs = [
        {"answers": ["abcd"], "answer_type": [kind], "operation/reasoning": operations}
        for kind, operations in (
            ("single span", []),
            ("non-extractive", ["counting", "arithmetic"]),
            ("single span", ["counting"]),
        )
    ]
    ran = INFOVQA.run(cli, tmp_path, docs, ["abcd", "abcx", "x"])
    assert categories(ran, "infovqa_val", "answer_type", "anls,none") == {"single span": 0.5, "non-extractive": 0.75}
    found = categories(ran, "infovqa_val", "operation", "anls,none")
    assert found == {"counting": pytest.approx(0.375), "arithmetic": 0.75}


@pytest.mark.parametrize("task", ["docvqa_test", "infovqa_test"])
def test_the_test_split_writes_the_servers_file(cli, tmp_path, task: str) -> None:
    import json

    ran = cli("--tasks", task, "--model", "dummy", "--sample")
    assert ran.code == 0, ran.err
    [path] = ran.folder.rglob(f"{task}.json")
    rows = json.loads(path.read_text(encoding="utf-8"))
    assert len(rows) == 4 and all(set(row) == {"questionId", "answer"} for row in rows)
    assert all(isinstance(row["questionId"], int) and isinstance(row["answer"], str) for row in rows)
    assert "anls,none" not in ran.results["results"][task]
