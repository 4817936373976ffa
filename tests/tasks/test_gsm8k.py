"""GSM8K's two rules on hard answers to the sample's first question, whose answer is 20."""

import json
import re
from collections.abc import Callable
from pathlib import Path

from tests.conftest import Ran

ANSWERS = [  # answer, strict, flexible: what each rule reads
    ("He has 12 + 8 = <<12+8=20>>20 left.\n#### 20", "20", "20"),
    ("#### 20", "20", "20"),
    ("#### 20.", "20.", "20."),
    ("#### 2,0", "2,0", "2,0"),
    ("####20", "20", "20"),
    ("#### $20", "$20", "$20"),
    ("#### 20.00", "20.00", "20.00"),
    ("#### 9 500", "9 500", "9 500"),
    ("He pays 9 500.50", None, "9 500.50"),
    ("12, 500 and 20", None, "20"),
    ("not 12, 500", None, "500"),  # two numbers
    ("1234 500", None, "500"),
    ("#### -20", "-20", "-20"),
    ("#### 20 stickers, not 27", "20", "27"),
    ("#### 7\n#### 20", "7", "20"),
    ("The answer is 20.", None, "20."),
    ("The answer is $20.00.", None, "$20.00."),
    ("**20**", None, "20"),
    ("\\boxed{20}", None, "20"),
    ("20 stickers after giving 7 away", None, "7"),
    ("答案是20", None, "20"),
    ("The train leaves at 5:00 PM.", None, None),  # the minutes are no answer
    ("The train needs 20, from 5:00 to 5:20", None, "20"),
    ("Sum: 83 and then $.", None, None),  # no earlier number replaces a match without a digit
    ("twenty", None, None),
    ("I'm sorry, I can't help with that.", None, None),  # single marks are no number
    ("", None, None),
    ("<think>12 + 15 = 27, and #### 20", None, None),  # thinking that never ends is no answer
    ("<think>#### 27</think>#### 20", "20", "20"),
]
RIGHT = {"20", "20.", "2,0", "$20", "20.00", "$20.00."}
"""What equals 20 once commas, dollars, a last full stop and zeros behind the point are gone."""


def test_a_number_with_spaces_between_thousands() -> None:
    """The texts after the pattern are compared without the spaces."""
    from mm_eval.config.manager import TaskManager

    metric = TaskManager().load(["gsm8k"]).tasks["gsm8k"].metric_list[0]
    ignored = [re.compile(pattern) for pattern in metric["regexes_to_ignore"]]
    for text, number in [
        ("9 500", "9500"),
        ("1 234 567.00", "1234567"),
        ("9\u202f500", "9500"),
        ("5.00", "5"),
        ("500", "500"),
    ]:
        for pattern in ignored:
            text = pattern.sub("", text)
        assert text == number


def test_hard_answers(cli: Callable[..., Ran], tmp_path: Path) -> None:
    for text, *wanted in ANSWERS:
        path = tmp_path / "answers.jsonl"
        path.write_text(json.dumps({"task": "gsm8k", "doc_id": 0, "resps": [text]}) + "\n")
        words = ("--tasks", "gsm8k", "--model", "replay", "--model_args", f"path={path}", "--sample", "--limit", 1)
        ran = cli(*words, "--output_path", tmp_path / f"run{len(list(tmp_path.iterdir()))}")
        assert ran.code == 0, ran.err
        [row] = ran.samples("gsm8k")
        read = [row["filtered_resps"][name][0] for name in ("strict-match", "flexible-extract")]
        assert [each or "[invalid]" for each in read] == [each or "[invalid]" for each in wanted], text
        unread = ran.results["results"]["gsm8k"]
        assert unread["unparsed"] + unread["truncated"] == (wanted == [None, None]), text
        scores = [row["scores"][f"exact_match,{name}"] for name in ("strict-match", "flexible-extract")]
        assert scores == [each in RIGHT for each in wanted], text


def test_prompt(cli: Callable[..., Ran]) -> None:
    """Five worked examples, then the question."""
    ran = cli("--tasks", "gsm8k", "--model", "dummy", "--sample", "--limit", 1)
    prompt = ran.samples("gsm8k")[0]["prompt"]
    assert prompt.count("Question: ") == 6 and prompt.count("\n#### ") == 5
    assert prompt.endswith(
        "\n\nQuestion: Mia has 12 stickers. She buys 3 packs of 5 stickers each and gives 7 stickers to her brother. How many"
        " stickers does she have now?\nAnswer:"
    )


def test_a_box_behind_which_a_dollar_stands(cli: Callable[..., Ran], tmp_path: Path) -> None:
    """The last-number rule matched "$." and counted it as read."""
    boxes = {
        "The total is $\\boxed{20}$.": "20",
        "\\boxed{\\$1,020.50}": "1020.5",
        "\\boxed{\\$9{,}500}, \\boxed{12 + 8 = 20}": "20",
        "\\boxed{2\\,020}": "2020",
        "\\boxed{\\text{20}}": "20",
        "\\boxed{12 \\text{ or } 20}": None,
        "\\boxed{7} or \\boxed{20 apples}": "20",
        "\\boxed{x}": None,
    }
    for number, (text, boxed) in enumerate(boxes.items()):
        path = tmp_path / "answers.jsonl"
        path.write_text(json.dumps({"task": "gsm8k", "doc_id": 0, "resps": [text]}) + "\n")
        words = ("--tasks", "gsm8k", "--model", "replay", "--model_args", f"path={path}", "--sample", "--limit", 1)
        ran = cli(*words, "--output_path", tmp_path / f"box{number}")
        [row] = ran.samples("gsm8k")
        assert row["filtered_resps"]["boxed"][0] == (boxed or "[invalid]")
        assert row["scores"]["exact_match,boxed"] == (boxed == "20")
    assert cli(*words, "--output_path", tmp_path / "last").samples("gsm8k")[0]["rules"]["flexible-extract"] == [
        "unparsed"
    ]


def test_repeats_say_that_the_first_answer_is_scored(cli: Callable[..., Ran]) -> None:
    """Its filters end with take_first, as lm-eval's do: the other answers are paid for and dropped."""
    words = ("--tasks", "gsm8k", "--model", "dummy", "--sample", "--limit", 1)
    said = "gsm8k: the filter take_first keeps the first of the 3 answers to a document"
    assert said in cli(*words, "--repeats", 3).out
    assert "take_first" not in cli(*words).out
