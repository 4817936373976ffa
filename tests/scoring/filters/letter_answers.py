# ruff: noqa: E501
"""Answers to multiple-choice questions made from templates, each with the letter that it means."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

OPTIONS = (
    ("12 m", "12.5 m", "125 m", "1.25 m"),
    ("a red bus", "a blue bus", "a green car", "a yellow bicycle"),
    ("\\frac{1}{3}", "\\frac{2}{3}", "\\frac{1}{2}", "\\sqrt{3}"),
    ("Paris", "New York", "Berlin", "Rome"),
    ("It doubles.", "It stays the same.", "It becomes zero.", "It halves."),
    ("mitochondria", "ribosome", "nucleus", "Golgi apparatus", "cell wall"),
    ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"),
    ("Only I and II", "Only II and III", "I, II and III", "None of them"),
)
FORMS = ("{L}", "({L})", "**{L}**", "**({L})**", "{L}.", "`{L}`", "$\\boxed{{{L}}}$", "\\text{{{L}}}", '"{L}"', "[{L}]")
"""A letter as it is written."""
WITH_TEXT = ("{L}. {T}", "({L}) {T}", "{L}) {T}", "**{L}. {T}**", "**{L}**: {T}", "{L}: {T}", "**({L}) {T}**")
CONCLUSIONS = (
    "The answer is {F}.", "The correct answer is {F}.", "The best answer is {F}", "The final answer is {F}.", "Answer: {F}",
    "ANSWER: {F}", "**Answer: {F}**", "**Answer:** {F}", "Final answer: {F}", "**Final Answer:** {F}", "The correct option is {F}.",
    "The correct choice is {F}.", "Therefore, the answer is {F}.", "Thus, the correct answer is option {F}.", "So the answer is {F}.",
    "Hence, the right option is {F}.", "The best answer from the given options is {F}.", "The best answer among the options is {F}.",
    "The correct answer from the options provided is {F}.", "The most appropriate answer is {F}.", "The most likely answer is {F}.",
    "The closest option is {F}.", "The closest answer is {F}.", "The only correct option is {F}.", "The remaining option is {F}.",
    "The answer to the question is {F}.", "The answer that fits the picture is {F}.", "The answer would be {F}.",
    "The answer should be {F}.", "My answer is {F}.", "I choose {F}.", "I would choose option {F}.", "I will go with {F}.",
    "I'd go for option {F}.", "I select {F}.", "I pick {F}.", "My choice is {F}.", "The correct statement is {F}.",
    "Answer {F}", "The answer is: {F}", "The answer is option {F}.", "The right answer is clearly {F}.", "Correct answer: {F}",
    "Correct option: {F}", "### Answer\n{F}", "## Final Answer\n\n{F}", "The answer is therefore {F}.", "The answer must be {F}.",
    "Therefore, the best choice is {F}.", "The correct letter is {F}.", "In conclusion, the answer is {F}.",
)  # fmt: skip
BARE = (
    "Option {L} is correct.", "{L} is the correct answer.", "({L}) is correct.", "Therefore, {L} is the best answer.",
    "Thus, option {L} is the right one.", "So it corresponds to option {L}.", "This matches option {L}.", "This is option {L}.",
    "The value is found in the table, which is option {L}.", "It must be that one (Option {L}).", "Thus, {L}.", "So, {L}.",
    "Hence {L} is right.", "Only {L} is correct.", "Only option {L} remains.", "{L} is the only correct option.",
    "{L} is the only one that fits.", "This leaves {L}.", "That leaves us with option {L}.", "leaving {L}.",
    "This points to option {L}.", "which agrees with option {L}.", "\\boxed{{{L}}}", "$\\boxed{{\\text{{{L}}}}}$", "{L}", "({L})", "{L}.",
    "**{L}**", "<answer>{L}</answer>", "<|begin_of_box|>{L}<|end_of_box|>", "Option {L}", "option ({L})", "Choice {L}.",
    "答案：{L}", "正确答案是{L}。", "故选{L}。", "答案选{L}", "La respuesta correcta es {L}.", "La réponse est {L}.",
    "Die richtige Antwort ist {L}.", "정답: {L}", "正解は{L}です。", "Ответ: {L}", "It's {L}.", "It has to be that: it is {L}.",
    "Therefore option {L} fits best.", "{L} best describes the picture.",
)  # fmt: skip
BOXED = (
    "\\boxed{{{L}. {T}}}",
    "$\\boxed{{({L})\\ {T}}}$",
    "\\boxed{{\\text{{{L}. }}{T}}}",
    "\\[\\boxed{{{L}: {T}}}\\]",
    "\\boxed{{\\text{{({L})}}~{T}}}",
)
THOUGHTS = (
    "Let me look at the picture first.", "We need to find the value step by step.", "The object in the middle has four sides.",
    "First, the length is measured; then it is compared with the scale.", "A bus can be seen at the stop.", "I see a road and two trees.",
    "The formula is $E = mc^2$, and the mass is known.", "By the theorem, the two triangles are similar.",
    "This can be computed as 3 \\times 4 = 12.", "The area (A) is proportional to the radius squared.",
    "The concentration [A] doubles while [B] halves.", "The capacitance (C) is 5 F and the current (I) is 2 A.",
    "At a temperature of 20 °C the pressure is 3 bar.", "Point D lies on the line between A and B.",
    "In triangle ABC, the side AB is 5 and BC is 7.", "Vitamin C is found in fruit.", "Let $A$ be the area and $B$ the base.",
)  # fmt: skip
REJECTED = (
    "{X} is incorrect.", "Option {X} is wrong because it is too large.", "{X} and {Y} are incorrect.", "Options {X} and {Y} can be ruled out.",
    "It is not {X}.", "{X} does not fit, since the colour is different.", "We can eliminate {X} and {Y}.", "Neither {X} nor {Y} fits.",
    "{X}, {Y} and {Z} are incorrect.", "({X}) is not correct.", "{X} can't be right.", "The answer is not {X}.",
)  # fmt: skip
TAKEN_BACK = (
    "The answer is {X}. Wait, no.", "At first the answer seems to be {X}. However, that is wrong.", "I'd say {X}... Hmm, that's wrong.",
    "Answer: {X}\n\nWait, I made a mistake.", "The answer is {X}. On second thought, it is not.", "I thought it was {X}, but actually it is not.",
    "The answer is {X}. On reflection, I was wrong.",
)  # fmt: skip
ENDS = ("<|im_end|>", "</s>", "<|eot_id|>", "<end_of_turn>", "<|endoftext|>")
NEXT = (
    "\n\nQuestion: What is shown next?\nA. a cat\nB. a dog\nAnswer: {X}", "\n\nQ: And what else?\nA: {X}", "\n\nUser: Thanks! And now?\nAssistant: {X}",
    "\n\nHuman: Another one.\n\nAssistant: The answer is {X}.",
)  # fmt: skip
REASONS = ("", "", "", " This follows from the picture.", "\n\nThe picture shows it clearly.", " I hope this helps.")


@dataclass(frozen=True)
class LetterAnswer:
    """An answer, the options that it was given, and the letter that it means."""

    text: str
    options: tuple[str, ...]
    letter: str


def answers(count: int, seed: int = 0) -> Iterator[LetterAnswer]:
    """Answers whose last word is known."""
    draw = random.Random(seed)
    for _ in range(count):
        options = draw.choice(OPTIONS)
        letters = "ABCDEFGHIJKL"[: len(options)]
        place = draw.randrange(len(options))
        letter, text = letters[place], options[place]
        others = draw.sample([each for each in letters if each != letter], 3)
        names = {"L": letter, "T": text, **dict(zip("XYZ", others, strict=True))}
        yield LetterAnswer(_answer(draw, names, len(options)), options, letter)


def _answer(draw: random.Random, names: dict[str, str], count: int) -> str:
    kind = draw.random()
    if kind < 0.5:
        form = draw.choice(FORMS if draw.random() < 0.6 else WITH_TEXT).format(**names)
        final = draw.choice(CONCLUSIONS).replace("{F}", form)
    elif kind < 0.85:
        final = draw.choice(BARE).format(**names)
    elif kind < 0.95:
        final = draw.choice(BOXED).format(**names)
    else:
        final = draw.choice(WITH_TEXT).format(**names)
    before: list[str] = []
    if draw.random() < 0.7:
        before += draw.sample(THOUGHTS, draw.randint(1, 3))
    if draw.random() < 0.25:
        before += [draw.choice(REJECTED).format(**names)]
    if draw.random() < 0.08 and kind < 0.5:
        before += [draw.choice(TAKEN_BACK).format(**names)]
    joint = draw.choice((" ", "\n", "\n\n", "\n\n"))
    whole = joint.join([*before, final])
    if kind < 0.5 and "\n" not in final:
        whole += draw.choice(REASONS)
    if draw.random() < 0.08:
        whole += draw.choice(ENDS)
        if draw.random() < 0.5:
            whole += draw.choice(NEXT).format(**names)
    elif draw.random() < 0.04:
        whole += draw.choice(NEXT).format(**names)
    return whole
