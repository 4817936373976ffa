"""Video-MMMU: hard answers by the authors' rule, prompts, and the picture in the last frames."""

from pathlib import Path
from typing import Any

from mm_eval.tasks.video_mmmu import utils

from tests.sets import each_of
from tests.tasks.answers import answered, prompt

TEXTS = ["the cell", "the star", "a river", "3.5 m", "none"]
HARD = [
    # computed with the authors' own code, but for an empty answer, which it leaves out
    ("B", "B"),
    ("B.", "B"),
    ("B. the star", "B"),
    ("(B)", "B"),
    ("(B) the star", "B"),
    ("B: the star", "B"),
    ("The answer is B", "B"),
    ("The answer is (B).", "B"),
    ("Answer: C", "C"),
    ("A is wrong. So B.", "B"),
    ("A. B. C", "B"),
    ("C: no. A: yes", "A"),
    ("B. or C: maybe", "B"),
    ("(A) or (C)", "C"),
    ("A or B", "B"),
    ("A and D ", "D"),
    ("It must be the star, I would think", "B"),
    ("the star", None),
    ("A man, and then the star of all", "A"),
    ("b", None),
    ("**B**", None),
    ("\\boxed{B}", None),
    ("答案是B", "B"),
    ("F", None),
    ("I'm sorry, I can't tell you.", None),
    ("", None),
]
OPEN = {"id": "validation_Chemistry_13", "options": [], "answer": "12.97", "question_type": "open"}


@each_of(("answer", "said"), HARD)
def test_hard_answers(answer: str, said: str | None) -> None:
    assert utils.letter(answer, TEXTS) == said


@each_of(
    ("answer", "right"),
    [("12.97", 1), ("The mass is 12.97 g.", 1), ("It equals 12.970", 1), ("It adds up to 12.97 g, not 3", 1), ("12.9", 0),
     ("1,297", 0), ("B", 0), ("", 0)],
)  # fmt: skip
def test_open_answers(answer: str, right: int) -> None:
    assert utils.process_results(OPEN, [answer])["acc"] == right


def test_an_empty_answer_is_wrong_and_a_letter_of_another_option_too(cli: Any, tmp_path: Path) -> None:
    tracks = {f"video_mmmu_{track}": ["", *["Z"] * 6] for track in ("perception", "comprehension", "adaptation")}
    ran = answered(cli, tmp_path, "video_mmmu", tracks)
    assert ran.results["groups"]["video_mmmu"]["acc,none"] == 0
    assert [ran.results["results"][track]["n"] for track in tracks] == [7, 7, 7]


def test_prompts(cli: Any) -> None:
    assert prompt(cli, "video_mmmu_perception").endswith(
        "\nPlease ignore the Quiz question in last frame of the video."
    )
    learn, end = "You should watch and learn the video content. Then apply what you learned to answer the following ", (
        " question. The image for this question is at the end of the video.\nWhich word does the image show? <image 1>"
    )  # fmt: skip
    chosen, lettered, free = (prompt(cli, "video_mmmu_adaptation", doc=doc) for doc in (0, 3, 6))
    assert chosen.startswith(f"{learn}multi-choice{end}\nA. ") and chosen.count("\n") == 5
    assert lettered.startswith(f"{learn}multi-choice{end}\nA. ") and "A. A." not in lettered
    assert free == f"{learn}open-ended{end}"


def test_the_last_frame_is_shown_for_adaptation(cli: Any) -> None:
    ran = cli("show", "video_mmmu_adaptation", "--sample", "--model", "dummy", "--doc", 0)
    assert "frame 0 at 0.000 s" in ran.out and "frame 23 at 2.875 s" in ran.out and "frames=32,ends" in ran.out


def test_a_rule_that_leaves_the_picture_out_is_an_error(cli: Any) -> None:
    asked = ("--tasks", "video_mmmu_adaptation", "--sample", "--model", "dummy", "--limit", 1, "--video")
    ran = cli(*asked, "frames=1,middle")
    assert ran.code == 2 and "at the end of the video (3.0 s)" in ran.err and "--video frames=32,ends" in ran.err
    assert cli(*asked, "frames=2,middle").code == 0, "the last frame of these is in the last second"
