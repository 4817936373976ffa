"""TOMATO: the authors' prompt, letters up to G by rule, and the judge for what the authors' pattern can't read."""

from mm_eval.tasks.tomato.utils import judge_prompt, pre_parsed

from tests.sets import each_of
from tests.tasks.judged import judged
from tests.tasks.made_up import MadeUp, categories, prompt

TOMATO = MadeUp("tomato", "lmms-eval/TOMATO", "test")
DOC = {"question": "How often?", "options": ["1", "two", "it's 3"], "answer": 1}


def test_the_prompts(cli) -> None:
    own = prompt(cli, "tomato")
    assert "with 16 separate frames uniformly sampled" in own and "<options> \n{'A': '" in own
    assert prompt(cli, "tomato", "lmms") == own.replace("16 separate frames uniformly", "frames uniformly")


HARD = [  # answer, the letter
    ("B", "B"),
    ("(B) two", "B"),
    ("The answer is B.", "B"),
    ("Answer is: C", "C"),
    ("two", "B"),
    ("it's 3", "C"),
    ("**A**", "A"),
    ("D", None),
    ("A or B", None),
    ("", None),
    ("<think>B", None),
    ("<think>A?</think>B", "B"),
]


def test_hard_answers(cli, tmp_path) -> None:
    ran = TOMATO.run(cli, tmp_path, [DOC] * len(HARD), [answer for answer, _ in HARD])
    found = [row["filtered_resps"]["none"][0] for row in ran.samples("tomato")]
    assert [letter if letter in list("ABC") else None for letter in found] == [letter for _, letter in HARD]


def test_kinds(cli, tmp_path) -> None:
    docs = [{**DOC, "reason_type": kind} for kind in ("count", "count", "rotation")]
    ran = TOMATO.run(cli, tmp_path, docs, ["B", "A", "B"])
    assert categories(ran, "tomato", "reasoning", "acc,none") == {"count": 0.5, "rotation": 1}


@each_of(
    ("answer", "letter"),
    [
        *(
            ("B", "B"),
            ("b", "B"),
            ("Answer is:B", "B"),
            ("Answer is(B)", "B"),
            ("Answer is:(B)", "B"),
            ("C: IT'S 3", None),
        ),
        *(("A: 1", "A"), ("B: two", None), ("Answer is: B", None), ("D", None), ("(B)", None), ("", None)),
    ],
)
def test_what_the_authors_pattern_reads(answer: str, letter: str | None) -> None:
    found = pre_parsed(DOC, [answer])
    assert found == ({"acc": 0.0, "__rule__": "unparsed"} if letter is None else {"acc": float(letter == "B")})


def test_the_judge_reads_the_rest(cli, tmp_path) -> None:
    text = judge_prompt(DOC, "two times")
    assert (
        "\n    response: two times\n\n    all_choices: ['A', 'B', 'C']\n\n    index2answer: {'A': '1', 'B': 'two'"
        in text
    )
    gold = [row["target"] for row in TOMATO.run(cli, tmp_path, [{}] * 2, ["A", "A"]).samples("tomato")]
    right, wrong = gold[0], "A" if gold[0] != "A" else "B"
    said, replies = ["it is the one", right, "that one", "none of them"], [right, None, "Z", wrong]
    ran = judged(cli, tmp_path, "tomato_judged", said, replies, code=3)
    rows = ran.samples("tomato_judged")
    assert rows[0]["scores"]["acc,none"] == 1.0 and ran.results["results"]["tomato_judged"]["judge_failed"] == 1
