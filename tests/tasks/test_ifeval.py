"""IFEval: each instruction on answers that follow it and answers that don't, and the counts of sentences and words."""

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.conftest import ROOT, Ran
from tests.sets import each_of

FOLDER = ROOT / "tasks" / "ifeval"


def load(name: str) -> Any:
    """A file of the task's folder; its files import one another."""
    package = sys.modules.setdefault("ifeval_under_test", ModuleType("ifeval_under_test"))
    package.__path__ = [str(FOLDER)]
    return importlib.import_module(f"ifeval_under_test.{name}")


CASES: list[tuple[str, dict[str, Any], list[str], list[str]]] = [  # kind, arguments, answers that follow it, that don't
    ("keywords:existence", {"keywords": ["cat", "Rain"]}, ["Cats like rainy days.", "CAT RAIN"], ["Only cats.", ""]),
    (
        "keywords:frequency",
        {"relation": "at least", "keyword": "war", "frequency": 2},
        ["War and warm"],
        ["War and peace"],
    ),
    ("keywords:frequency", {"relation": "less than", "keyword": "a", "frequency": 1}, ["none"], ["an"]),
    ("keywords:forbidden_words", {"forbidden_words": ["rock", "can"]}, ["Rocky canyon"], ["I CAN.", "rock-solid"]),
    ("keywords:letter_frequency", {"let_relation": "at least", "letter": "Q", "let_frequency": 2}, ["Quaq"], ["q"]),
    ("keywords:letter_frequency", {"let_relation": "at least", "letter": "#", "let_frequency": 2}, ["#a #b"], ["#a b"]),
    (
        "language:response_language",
        {"language": "de"},
        ["Das Wetter ist heute sehr schön, und wir gehen an den See.", "12345"],  # no letters: can't be told
        ["The weather is lovely today, so we walk to the lake."],
    ),
    (
        "length_constraints:number_sentences",
        {"relation": "less than", "num_sentences": 3},
        ["Dr. Smith paid $3.50. He left!", "One... two"],
        ["One. Two? Three!", "a. b.\nThe end. So it goes. Really."],
    ),
    (
        "length_constraints:number_paragraphs",
        {"num_paragraphs": 2},
        ["a\n***\nb", "***\na\n***\nb\n***"],
        ["a\n\nb", "a\n***\n\n***\nb", "a ****** b", "a\n***\nb\n***\nc"],
    ),
    ("length_constraints:number_words", {"relation": "at least", "num_words": 3}, ["it's it"], ["well-known"]),
    ("length_constraints:number_words", {"relation": "less than", "num_words": 3}, ["a b"], ["a b c"]),
    (
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Then"},
        ['One.\n\n"Then, two.', "One.\n\n'THEN two."],
        ["One.\n\nSo then.", "One.\nThen.", "One.\n\nThen.\n\nThree.", "**One**\n\n**Then** two."],
    ),
    (
        "detectable_content:number_placeholders",
        {"num_placeholders": 2},
        ["[a] [b]", "[]]["[::-1] + "[x][y]"],
        ["[a b]"],
    ),
    ("detectable_content:postscript", {"postscript_marker": "P.S."}, ["x\nP. S. y", "p.s.!"], ["PS: y", "P.S y"]),
    ("detectable_content:postscript", {"postscript_marker": "P.P.S"}, ["x P.P.S y", "p. p. s"], ["P.S. y"]),
    (
        "detectable_format:number_bullet_lists",
        {"num_bullets": 2},
        ["* a\n* b", "- a\n\n  - b", "* a\n**bold** line\n- b"],
        ["* a", "* a\n* b\n---", "1. a\n2. b", "**a**\n**b**"],
    ),
    ("detectable_format:constrained_response", {}, ["Well. My answer is no. Sure."], ["My answer is No.", "yes"]),
    (
        "detectable_format:number_highlighted_sections",
        {"num_highlights": 2},
        ["*a* and *b*", "**a** b **c**"],
        ["*a*", "* a\n* b", "** ** * *"],
    ),
    (
        "detectable_format:multiple_sections",
        {"section_spliter": "Section", "num_sections": 2},
        ["Section 1 a Section2 b", "**Section 1**\n**Section 2**"],
        ["SECTION 1 SECTION 2", "Section one, Section two"],
    ),
    (
        "detectable_format:json_format",
        {},
        ['{"a": [1]}', '```json\n{"a": 1}\n```', "```\n[]\n```"],
        ["Here: {}", "{'a': 1}", "```json\n{}\n``` Done", "[" * 100_000],
    ),
    ("detectable_format:title", {}, ["<<A title>>\nText", "x <<<b>>>"], ["<<>>", "<<  >>", "<<a\n>>", "<a>"]),
    ("combination:two_responses", {}, ["a\n******\nb", "******a******b"], ["a", "a******a", "a******b******c"]),
    ("combination:repeat_prompt", {"prompt_to_repeat": "Say Hi. "}, ["say hi. Hi!"], ['"Say hi." Hi!', "Hi!"]),
    (
        "startend:end_checker",
        {"end_phrase": "The end."},
        ['"So. THE END."', "the end. \n"],
        ["The end. Bye", "**The end.**"],
    ),
    ("startend:quotation", {}, ['"a"', ' "a "b" c"\n'], ['"', "'a'", "“a”", '"a".']),
    (
        "change_case:capital_word_frequency",
        {"capital_relation": "at least", "capital_frequency": 3},
        ["I AM HERE", "**NASA**, (ESA): U.S.A.", "DON'T GO", "GO? WE CANNOT.", "I'm at NASA's, I'll go"],
        ["I Am HERE", "NASA-ESA WELL", "1 2 3"],
    ),
    ("change_case:capital_word_frequency", {"capital_relation": "less than", "capital_frequency": 1}, ["abc"], ["A b"]),
    (
        "change_case:english_capital",
        {},
        ["THE WEATHER IS LOVELY TODAY, SO WE WALK."],
        ["The weather is lovely.", "DAS WETTER IST HEUTE SEHR SCHÖN UND WIR GEHEN."],
    ),
    (
        "change_case:english_lowercase",
        {},
        ["the weather is lovely today, so we walk."],
        ["The weather is lovely.", "das wetter ist heute sehr schön und wir gehen."],
    ),
    ("punctuation:no_comma", {}, ["a; b、c"], ["a, b", "1,000"]),
]


@each_of(("kind", "arguments", "right", "wrong"), CASES)
def test_instructions(kind: str, arguments: dict[str, Any], right: list[str], wrong: list[str]) -> None:
    check = load("checkers").CHECKERS[kind]
    assert [text for text in right if not check(text, arguments)] == []
    assert [text for text in wrong if check(text, arguments)] == []


def test_every_instruction_is_tested_and_in_the_sample() -> None:
    from datasets import Dataset

    kinds = set(load("checkers").CHECKERS)
    assert len(kinds) == 25
    assert {kind for kind, *_ in CASES} == kinds
    path = ROOT / "assets" / "data" / "google" / "IFEval" / "default" / "train-00000-of-00001.parquet"
    rows = Dataset.from_parquet(str(path), keep_in_memory=True)
    assert {kind for row in rows for kind in row["instruction_id_list"]} == kinds


@each_of(
    ("text", "count"),
    [
        ("", 0),
        (" \n ", 0),
        ("No full stop", 1),
        ("One. Two. Three.", 3),
        ("Mr. and Mrs. Lee live in the U.S. today. They moved in Jan. 2020.", 2),
        ("He asked, \"Why?\" and left. 'Fine.' Then silence.", 4),
        ("Wait!!! What?! Yes...", 3),
        ("Well... I see. Hmm... maybe.", 3),
        ("It costs 3.50. That is e.g. too much, i.e. more than 2.", 4),  # Punkt knows neither e.g. nor i.e.
        ("1. First item\n2. second item\n3. Third item", 3),
        ("J. R. Green wrote it. Vitamin B. It helps.", 3),
        ("(A note.) Next.", 2),
        ("**Bold.** Next.", 2),
        ("**Bold.**", 2),  # as Punkt has it: the asterisks after the full stop begin a sentence
        ("- Line one\n- Line two\nNo full stops", 1),
        ("Visit example.com. It works.", 2),
        ("“Good.” She smiled.", 1),  # Punkt's closing marks are the straight ones
    ],
)
def test_sentences(text: str, count: int) -> None:
    """The counts are those of Punkt's English model."""
    assert load("sentences").count_sentences(text) == count


@pytest.mark.full
def test_sentences_of_a_long_text_take_linear_time() -> None:
    text = "This is no. 5 of the U.S. list, Mr. Lee! " * 20_000 + "\n" * 50_000 + "[" * 50_000 + "." * 50_000
    assert load("sentences").count_sentences(text) > 20_000
    checkers = load("checkers").CHECKERS
    assert not checkers["detectable_format:number_bullet_lists"](text, {"num_bullets": 1})


def test_loose_variants() -> None:
    """Without first line, last line, both, each with and without asterisks: eight in all."""
    assert load("utils").loose_variants("Sure:\n*a*\nb\nBye") == [
        "Sure:\n*a*\nb\nBye",
        "Sure:\na\nb\nBye",
        "*a*\nb\nBye",
        "a\nb\nBye",
        "Sure:\n*a*\nb",
        "Sure:\na\nb",
        "*a*\nb",
        "a\nb",
    ]


ANSWERS = {  # doc of the sample: an answer, and (followed strictly, loosely) of its two instructions
    0: ("", (0, 0)),
    1: ("Sure! Here it is:\n<<THE SEA>>\nTHE SEA IS WIDE AND THE WAVES ARE HIGH TODAY", (1, 2)),
    2: ("I'm sorry, but I can't help with that.", (0, 0)),
    3: ("<think>* water\n* water\n* map", (0, 0)),  # thinking that never ends is no answer
    4: ("<think>a book to read</think>A house with stories for everyone.", (2, 2)),
    5: ("**[day]** and **[hour]**", (2, 2)),
}


def test_numbers(cli: Callable[..., Ran], tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    rows = [{"task": "ifeval", "doc_id": doc, "resps": [text]} for doc, (text, _) in ANSWERS.items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ("--tasks", "ifeval", "--model", "replay", "--model_args", f"path={path}", "--sample", "--limit", 6)
    ran = cli(*words)
    assert ran.code == 0, ran.err
    assert ran.samples("ifeval")[0]["prompt"].startswith("Write two sentences about rain in lower-case English letters")
    for row in ran.samples("ifeval"):
        for mode, wanted in zip(("strict", "loose"), ANSWERS[row["doc_id"]][1], strict=True):
            assert row["scores"][f"inst_level_{mode}_acc,none"] == [wanted, 2], row["doc_id"]
    numbers = ran.results["results"]["ifeval"]
    assert numbers["prompt_level_strict_acc,none"] == pytest.approx(2 / 6)
    assert numbers["prompt_level_loose_acc,none"] == pytest.approx(3 / 6)
    assert numbers["inst_level_strict_acc,none"] == pytest.approx(5 / 12)
    assert numbers["inst_level_loose_acc,none"] == pytest.approx(6 / 12)
    assert numbers["inst_level_loose_acc_stderr,none"] > 0
