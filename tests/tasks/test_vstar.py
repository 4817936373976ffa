"""V* Bench: prompts, letters, the two categories."""

from tests.tasks.made_up import MadeUp, categories, prompt

VSTAR = MadeUp("vstar", "lmms-lab/vstar-bench", "test")
LETTER = "\nAnswer with the option's letter from the given choices directly."
GLOVE = "What is the material of the glove?\n(A) rubber\n(B) cotton\n(C) kevlar\n(D) leather" + LETTER
DOG = (
    "Is the dog on the left or right side of the car?\n(A) The dog is on the left side of the car."
    "\n(B) The dog is on the right side of the car."
)


def test_the_prompts(cli) -> None:
    own = prompt(cli, "vstar")
    question, *listed = own.removesuffix(LETTER).split("\n")
    assert own.endswith(LETTER) and len(listed) == 4 and listed[1].startswith("(B) ")
    options = "\n".join(f"{line[1]}. {line[4:]}" for line in listed)
    assert prompt(cli, "vstar", "internvl") == f"{question}\n{options}{LETTER}"
    asked = f"Question: {question}\nOptions:\n{options}\n"
    assert prompt(cli, "vstar", "qwen_custom") == asked + "Please select the correct answer from the options above."
    for key in ("qwen2_5_vl", "qwen3_vl"):
        assert prompt(cli, "vstar", key) == asked + "Please select the correct answer from the options above. \n"
    assert prompt(cli, "vstar", "qwen3_custom") == asked + "Answer with the option letter only."


HARD = [  # text, label, answer, right, read
    (GLOVE, "B", "B", 1, True),
    (GLOVE, "B", "(B)", 1, True),
    (GLOVE, "B", "The answer is (B).", 1, True),
    (GLOVE, "B", "B. cotton", 1, True),
    (GLOVE, "B", "Cotton.", 1, True),
    (GLOVE, "B", "**B**", 1, True),
    (GLOVE, "B", "b", 1, True),
    (GLOVE, "B", "答案是B", 1, True),
    (GLOVE, "B", "<think>A or C?</think>\\boxed{B}", 1, True),
    (GLOVE, "D", "leather", 1, True),
    (GLOVE, "B", "Answer: A because B is wrong", 0, True),
    (GLOVE, "B", "B and C", 0, False),
    (GLOVE, "B", "E", 0, False),
    (GLOVE, "B", "", 0, False),
    (GLOVE, "B", "<think>B", 0, False),
    (GLOVE, "B", "I cannot see a glove in this picture, sorry.", 0, False),
    (DOG, "B", "The dog is on the right side of the car.", 1, True),
    (DOG, "B", "The dog is on the left side of the car.", 0, True),
    (DOG, "B", "C", 0, False),
    (DOG.replace("\n", " "), "A", "A", 1, True),
]


def test_hard_answers(cli, tmp_path) -> None:
    docs = [{"text": text, "label": label} for text, label, *_ in HARD]
    ran = VSTAR.run(cli, tmp_path, docs, [row[2] for row in HARD])
    rows = ran.samples("vstar")
    assert [row["scores"]["acc,none"] for row in rows] == [row[3] for row in HARD]
    read = [row["rules"]["none"][0] not in ("unparsed", "truncated") for row in rows]
    assert read == [row[4] for row in HARD]


def test_categories(cli, tmp_path) -> None:
    kinds = ["relative_position", "direct_attributes", "relative_position"]
    docs = [{"text": GLOVE, "label": "A", "category": kind} for kind in kinds]
    found = categories(VSTAR.run(cli, tmp_path, docs, ["A", "A", "B"]), "vstar", "category", "acc,none")
    assert list(found.items()) == [("direct_attributes", 1), ("relative_position", 0.5)]
