"""A question about a picture, and the text that a model is asked with: the same suffixes as in the tasks."""

import random
from dataclasses import dataclass, field, replace

LETTERS = "ABCD"
SINGLE_WORD = "\nAnswer the question using a single word or phrase."
OPTION_LETTER = "\nAnswer with the option's letter from the given choices directly."
RANKED = " Answer :"
SUFFIX = {
    "llava": {"yesno": SINGLE_WORD, "choice": OPTION_LETTER, "open": SINGLE_WORD},
    "qwen": {"yesno": " Answer:", "choice": "\nAnswer:", "open": " Answer:"},
    "bare": {"yesno": "", "choice": "", "open": ""},
}
"""What each prompt adds, by kind. Where option texts are ranked, every model is asked with " Answer :" instead."""


@dataclass(frozen=True)
class Question:
    """One question; kind is yesno, choice or open. sentence: the answer where no suffix asks for a short one.

    A sentence never begins with a letter of LETTERS, with yes or with no: under a prompt that the model was not
    trained on it must count as unparsed and not as a lucky hit. For training only: what a yes/no question is about in
    truth ("red"), and the cells of the things that the text mentions ("red circle", 4); hints.py says what for.
    """

    kind: str
    category: str
    text: str
    answer: str
    options: tuple[str, ...]
    sentence: str
    truth: str = ""
    mentions: tuple[tuple[str, int], ...] = ()

    @property
    def letter(self) -> str:
        """The letter of the right option."""
        return LETTERS[self.options.index(self.answer)]

    def opened(self) -> "Question":
        """The same question without its list of options."""
        return replace(self, kind="open")


@dataclass
class Asking:
    """A question as a model is asked it. prompt: the name of its form. ends: what hints.py tells of the text's tokens."""

    question: Question
    prompt: str
    text: str
    answer: str
    ends: list[tuple[str, int, int | str]] = field(default_factory=list)


def with_options(
    rng: random.Random,
    category: str,
    text: str,
    answer: str,
    pool: tuple[str, ...],
    sentence: str,
    mentions: tuple[tuple[str, int], ...] = (),
) -> Question:
    """A four-way question whose wrong options come from the pool, in random order."""
    options = rng.sample([other for other in pool if other != answer], 3) + [answer]
    rng.shuffle(options)
    return Question("choice", category, text, answer, tuple(options), sentence, answer, mentions)


def listing(options: tuple[str, ...]) -> str:
    """The options, a line each: "A. red"."""
    return "".join(f"\n{letter}. {option}" for letter, option in zip(LETTERS, options, strict=True))


def render(question: Question, prompt: str, suffix_of: str | None = None) -> tuple[str, str]:
    """The user's text and the answer to it, lead space included where the answer is an option's text.

    prompt: llava or qwen (short answers), short (no suffix, yet a short answer: the curriculum's first half) or bare
    (a sentence). suffix_of: for bare only, the prompt whose suffix is shown to a model that does not know it.
    """
    text = question.text + (listing(question.options) if question.kind == "choice" else "")
    if prompt == "bare":
        return text + SUFFIX[suffix_of or "bare"][question.kind], question.sentence
    if question.kind == "open":
        return text + RANKED * (prompt != "short"), " " + question.answer
    answer = question.letter if question.kind == "choice" else question.answer
    return text + (SUFFIX[prompt][question.kind] if prompt != "short" else ""), answer
