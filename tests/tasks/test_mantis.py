"""Mantis-Eval: prompts with pictures at their places, the authors' rule for letters and for short answers."""

from tests.tasks.made_up import MadeUp, categories, prompt
from tests.tasks.of_sample import replay

MANTIS = MadeUp("mantis", "TIGER-Lab/Mantis-Eval", "test", "mantis_eval")
PICTURE = {"type": "image"}
LETTER = "\nAnswer with the option's letter from the given choices directly."
SHORT = '\nYou can first give your analysis, and then give your final answer as "Final Answer:"'


def test_options_get_a_label_if_they_have_none(cli) -> None:
    assert prompt(cli, "mantis").endswith("\n (A) the first\n (B) the second" + LETTER)
    assert prompt(cli, "mantis", None, 2).endswith("\n (A) the first\n (B) the second\n (C) the third" + LETTER)
    lead = "Given the images, answer the following short answer vqa question:\nQ: What is the color of the "
    short = prompt(cli, "mantis", None, 7)
    assert short.startswith(lead) and short.endswith(" in the second picture?" + SHORT)


def test_pictures_at_their_places_and_the_others_first(cli, tmp_path) -> None:
    ran = replay(cli, tmp_path, "mantis", ["A"] * 8, "--apply_chat_template", "--output_path", tmp_path / "run")
    assert ran.code == 0, ran.err
    marked, plain, *_, part, _ = [row["prompt"][0]["content"] for row in ran.samples("mantis")]
    assert marked[0] == PICTURE and marked[2] == PICTURE and marked[3]["text"].startswith("\nWhich picture")
    assert plain[:2] == [PICTURE] * 2 and plain[2]["text"].startswith("How many shapes")
    assert part[0] == PICTURE and part[1]["text"].endswith("Q: ") and part[2] == PICTURE


def test_a_run_may_have_one_kind_of_question_only(cli, tmp_path) -> None:
    assert replay(cli, tmp_path, "mantis", ["A"], "--limit", 1).code == 0


OPTIONS = ["cat", "dog", "3"]
HARD = [  # answer, options, gold, right, read
    ("B", OPTIONS, "B", 1, True),
    ("(B)", OPTIONS, "(B)", 1, True),
    ("b.", OPTIONS, "B", 1, True),
    ("The answer is (B).", OPTIONS, "B", 1, True),
    ("I see a cat. Final Answer: B", OPTIONS, "B", 1, True),
    ("Answer: B because A is wrong", OPTIONS, "B", 1, True),
    ("**B**", OPTIONS, "B", 1, True),
    ("Both A and C", OPTIONS, "B", 1, True),
    ("B and C", OPTIONS, "C", 0, True),
    ("\\boxed{B}", OPTIONS, "B", 1, True),
    ("Option B", OPTIONS, "B", 0, False),
    ("cat", OPTIONS, "A", 0, True),
    ("dog", OPTIONS, "B", 1, True),
    ("a dog", OPTIONS, "B", 0, True),
    ("3", OPTIONS, "C", 1, True),
    ("4", OPTIONS, "C", 0, False),
    ("red", ["A. blue", "B. red"], "B", 1, True),
    (" red", ["A: blue", "B:red"], "B", 1, True),
    ("red", ["(A) blue", "(B) red"], "(B)", 1, True),
    ("答案是B", OPTIONS, "B", 0, False),
    ("I can't see them.", OPTIONS, "B", 0, False),
    ("", OPTIONS, "B", 0, False),
    ("<think>B", OPTIONS, "B", 0, False),
    ("<think>A?</think>B", OPTIONS, "B", 1, True),
    ("Red", [], "red", 1, True),
    ("red.", [], "red", 0, True),
    ("They match. Final Answer: red", [], "Red", 1, True),
    ("The answer is\nred", [], "red", 1, True),
    (" red", [], "red", 1, True),
    ("blue", [], "red", 0, True),
    ("", [], "red", 0, False),
]


def test_hard_answers(cli, tmp_path) -> None:
    docs = [
        {"options": options, "answer": gold, "question_type": "multi-choice" if options else "short-answer"}
        for _, options, gold, _, _ in HARD
    ]
    rows = MANTIS.run(cli, tmp_path, docs, [row[0] for row in HARD]).samples("mantis")
    found = [
        (row["scores"]["mantis_score,none"], row["rules"]["none"][0] not in ("unparsed", "truncated")) for row in rows
    ]
    assert found == [(right, read) for *_, right, read in HARD]


def test_categories(cli, tmp_path) -> None:
    docs = [
        {"category": "counting", "answer": "A"},
        {"question_type": "short-answer", "answer": "4", "category": "counting"},
    ]
    ran = MANTIS.run(cli, tmp_path, docs, ["A", "5"])
    assert ran.results["results"]["mantis"]["mantis_score,none"] == 0.5
    found = categories(ran, "mantis", "question_type", "mantis_score,none")
    assert list(found.items()) == [("multi-choice", 1), ("short-answer", 0)]
