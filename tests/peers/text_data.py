"""Made-up text data sets in the schema of the real ones, written as a data root: DIR/org/name with a README and JSON lines.

Both suites read the same folders: mm-eval with `--data_root DIR`, a peer with DIR as its working directory.
The texts have what breaks prompts: apostrophes, double spaces, line breaks, accents, other scripts, white space at the ends.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

WORDS = str.split(
    "the a red blue green bus cat dog river stone apple house quick old new tall small runs eats sees finds likes "
    "under over near behind because therefore when why what where who Paul Anna seven three many few light heavy "
    "water fire metal paper school garden window morning evening city farm bread"
)
ODD = ("naïve café", "it's o'clock", "7 °C", "猫と犬", "Grüße  twice", '"quoted"', "a - b", "50% of $3.50", "e.g. this")
ANSWERS = ("yes", "no", "red bus", "Paul", "seven", "7", "the garden", "Anna and Paul", "42", "bread")
LETTERS = "ABCDE"

Row = dict[str, Any]
Rows = Mapping[str, Callable[["Draw"], Row]]


class Draw(random.Random):
    """A seeded source of words, sentences and answers."""

    def text(self, low: int = 3, high: int = 9) -> str:
        """A phrase; one in eight has something odd in it."""
        words = self.choices(WORDS, k=self.randint(low, high))
        if not self.randrange(8):
            words.insert(self.randrange(len(words)), self.choice(ODD))
        return " ".join(words)

    def sentence(self) -> str:
        """A sentence with a capital letter and a full stop."""
        text = self.text()
        return f"{text[0].upper()}{text[1:]}."

    def question(self) -> str:
        """A sentence that asks; one in ten has white space at its end."""
        return f"{self.text().capitalize()}?" + ("" if self.randrange(10) else "  ")

    def passage(self) -> str:
        """A few sentences; sometimes two paragraphs."""
        joint = " " if self.randrange(4) else "\n"
        return joint.join(self.sentence() for _ in range(self.randint(2, 4)))

    def texts(self, count: int) -> list[str]:
        """Different phrases."""
        found = dict.fromkeys(self.text(1, 4) for _ in range(count))
        while len(found) < count:
            found[self.text(2, 5)] = None
        return list(found)

    def answer(self) -> str:
        """What the model that is trained for this comparison may say."""
        return self.choice(ANSWERS)


def _lettered(draw: Draw, labels: str = "ABCD") -> Row:
    choices = {"text": draw.texts(len(labels)), "label": list(labels)}
    return {"choices": choices, "answerKey": draw.choice(labels)}


def _pair(*names: str, labels: int = 2) -> Callable[[Draw], Row]:
    return lambda draw: {**{name: draw.sentence() for name in names}, "label": draw.randrange(labels)}


def _copa(draw: Draw) -> Row:
    row = {name: draw.sentence() for name in ("premise", "choice1", "choice2")}
    return {**row, "question": draw.choice(["cause", "effect"]), "label": draw.randrange(2)}


def _wic(draw: Draw) -> Row:
    first = draw.sentence()
    start = first.index(" ") + 1
    end = first.find(" ", start)
    end = len(first) - 1 if end < 0 else end
    return {
        "word": first[start:end], "sentence1": first, "sentence2": draw.sentence(), "start1": start, "end1": end,
        "start2": 0, "end2": 3, "label": draw.randrange(2),
    }  # fmt: skip


def _gap(draw: Draw) -> Row:
    """A sentence with a gap that one of two options fills (winogrande)."""
    first, second = draw.texts(2)
    sentence = f"{draw.text(2, 5).capitalize()} _ {draw.text(2, 5)}."
    return {"sentence": sentence, "option1": first, "option2": second, "answer": draw.choice("12")}


def _drop(draw: Draw) -> Row:
    """DROP: an answer as spans, a number or a date, and other annotators' answers."""
    empty = {"day": "", "month": "", "year": ""}
    kinds = (
        {"number": str(draw.randrange(9)), "date": empty, "spans": []},
        {"number": "", "date": empty, "spans": [draw.answer() for _ in range(draw.randint(1, 2))]},
    )
    answer = kinds[draw.randrange(2)]
    others = {
        "number": [answer["number"]], "date": [empty], "spans": [answer["spans"] or []],
    }  # fmt: skip
    row = {"section_id": "s", "query_id": str(draw.randrange(10**6)), "passage": draw.passage()}
    return {**row, "question": draw.question(), "answer": answer, "validated_answers": others}


def _record(draw: Draw) -> Row:
    entities = draw.texts(4)
    passage = draw.passage() + "\n@highlight\n" + draw.sentence() + "\n@highlight\n" + draw.sentence()
    query = f"{draw.text().capitalize()} @placeholder {draw.text()}"
    return {"passage": passage, "query": query, "entities": entities, "answers": draw.sample(entities, 2)}


def _race(draw: Draw) -> Row:
    problems = [
        {"question": draw.question() if number else f"{draw.text()}  _  .", "answer": draw.choice("ABCD"),
         "options": draw.texts(4)}
        for number in range(3)
    ]  # fmt: skip
    return {"article": draw.passage(), "problems": str(problems)}


def _coqa(draw: Draw) -> Row:
    turns = draw.randint(1, 3)
    said = {"input_text": [draw.answer() for _ in range(turns)]}
    other = {str(number): {"input_text": [draw.answer() for _ in range(turns)]} for number in range(2)}
    asked = {"input_text": [draw.question() for _ in range(turns)]}
    return {"story": draw.passage(), "questions": asked, "answers": said, "additional_answers": other}


def _truthful(draw: Draw) -> Row:
    def targets(right: int) -> Row:
        return {"choices": draw.texts(4), "labels": [1] * right + [0] * (4 - right)}

    return {"question": draw.question(), "mc1_targets": targets(1), "mc2_targets": targets(2)}


def _mathqa(draw: Draw) -> Row:
    options = " , ".join(f"{letter} ) {draw.randrange(99)} days" for letter in "abcde")
    return {"Problem": draw.sentence(), "options": options, "correct": draw.choice("abcde")}


def _multiple(draw: Draw) -> Row:
    """MMLU, WMDP."""
    return {"question": draw.question(), "choices": draw.texts(4), "answer": draw.randrange(4)}


def _wiki(draw: Draw) -> Row:
    lines = [f" = {draw.text(1, 3).title()} = ", ""]
    lines += [" ".join(draw.sentence() for _ in range(draw.randint(2, 40))) + " @-@ N 's" for _ in range(3)]
    return {"page": " \n".join(lines)}


def _lambada(draw: Draw) -> Row:
    return {"text": f"{draw.passage()} {draw.text()} {draw.choice(WORDS)}"}


def _gsm8k(draw: Draw) -> Row:
    number = draw.choice(["7", "42", "1,000", "-3"])
    return {"question": draw.question(), "answer": f"{draw.sentence()} <<3+4=7>>\n#### {number}"}


def _mgsm(draw: Draw) -> Row:
    return {
        "question": draw.question(),
        "answer": None,
        "answer_number": draw.choice([7, 42]),
        "equation_solution": None,
    }


def _wsc273(draw: Draw) -> Row:
    before = f"{draw.choice(['Paul', 'Anna'])} {draw.text(2, 5)} and "
    return {
        "text": f"{before}he {draw.text(2, 5)}.", "pronoun": "he", "pronoun_loc": len(before),
        "options": ["The river", draw.choice(WORDS)], "label": draw.randrange(2),
    }  # fmt: skip


def _belebele(draw: Draw) -> Row:
    answers = {f"mc_answer{number + 1}": text for number, text in enumerate(draw.texts(4))}
    row = {"flores_passage": draw.passage(), "question": draw.question(), "correct_answer_num": draw.choice("1234")}
    return {**row, **answers}


def _headqa(draw: Draw) -> Row:
    answers = [{"aid": number + 1, "atext": text} for number, text in enumerate(draw.texts(4))]
    return {"qtext": draw.question(), "ra": draw.randint(1, 4), "answers": answers}


def _ethics(draw: Draw) -> Row:
    return {
        "label": draw.randrange(2), "input": draw.sentence(), "scenario": draw.sentence(), "excuse": draw.sentence() + " ",
        "trait": draw.choice(WORDS), "activity": draw.sentence(), "baseline": draw.sentence(),
    }  # fmt: skip


def _made(draw: Draw) -> Row:
    """For the task files in tasks/."""
    right = draw.randrange(3)
    several = sorted({right, draw.randrange(3)})
    return {"question": draw.question(), "choices": draw.texts(3), "answer": right, "several": several}


_TEST = ("train", "validation", "test")
_DEV = ("dev", "validation", "test")
_VALID = ("train", "validation")

DATA: dict[str, dict[str, tuple[tuple[str, ...], Callable[[Draw], Row]]]] = {
    "allenai/ai2_arc": {
        name: (_TEST, lambda d: {"id": "x", "question": d.question(), **_lettered(d)})
        for name in ("ARC-Easy", "ARC-Challenge")
    },
    "Rowan/hellaswag": {
        "default": (_VALID, lambda d: {
            "activity_label": d.text(1, 3).capitalize(), "ctx_a": d.sentence(), "ctx_b": d.text(1, 3),
            "endings": [f"{text} [title] {d.text()}." for text in d.texts(4)], "label": d.choice("0123"),
        })
    },
    "baber/piqa": {
        "default": (_VALID, lambda d: {"goal": d.question(), "sol1": d.text(), "sol2": d.text(), "label": d.randrange(2)})
    },
    "allenai/openbookqa": {"main": (_TEST, lambda d: {"question_stem": d.question(), **_lettered(d)})},
    "aps/super_glue": {
        "boolq": (_VALID, lambda d: {"passage": d.passage(), "question": d.text(), "label": d.randrange(2)}),
        "cb": (_VALID, _pair("premise", "hypothesis", labels=3)),
        "copa": (_VALID, _copa),
        "multirc": (_VALID, lambda d: {
            "paragraph": d.passage(), "question": d.question(), "answer": d.answer(), "label": d.randrange(2)}),
        "record": (_VALID, _record),
        "rte": (_VALID, _pair("premise", "hypothesis")),
        "wic": (_VALID, _wic),
        "wsc.fixed": (_VALID, lambda d: {
            "text": "Anna saw Paul because she " + d.text(), "span1_text": "Anna", "span1_index": 0,
            "span2_text": "she", "span2_index": 4, "label": d.randrange(2)}),
    },
    "nyu-mll/glue": {
        "cola": (_VALID, _pair("sentence")),
        "mnli": (("train", "validation_matched"), _pair("premise", "hypothesis", labels=3)),
        "mrpc": (_VALID, _pair("sentence1", "sentence2")),
        "qnli": (_VALID, _pair("question", "sentence")),
        "qqp": (_VALID, _pair("question1", "question2")),
        "rte": (_VALID, _pair("sentence1", "sentence2")),
        "sst2": (_VALID, _pair("sentence")),
        "wnli": (_VALID, _pair("sentence1", "sentence2")),
    },
    "allenai/winogrande": {"winogrande_xl": (_VALID, _gap)},
    "Muennighoff/xwinograd": {"en": (("test",), _gap)},
    "EleutherAI/lambada_openai": {"default": (("test",), _lambada)},
    "EleutherAI/wikitext_document_level": {"wikitext-2-raw-v1": (_TEST, _wiki)},
    "NeelNanda/pile-10k": {"default": (("train",), lambda d: {"text": d.passage() + "\n\n" + d.passage()})},
    "allenai/sciq": {
        "default": (_TEST, lambda d: {
            **dict(zip(("distractor1", "distractor2", "distractor3", "correct_answer"), d.texts(4), strict=True)),
            "question": d.question(), "support": " " + d.passage()})
    },
    "EleutherAI/race": {"high": (("test",), _race)},
    "lighteval/siqa": {
        "default": (_VALID, lambda d: {
            "context": d.sentence(), "question": d.question(), "answerA": d.text(), "answerB": d.text(),
            "answerC": d.text(), "label": d.choice("123")})
    },
    "tau/commonsense_qa": {"default": (_VALID, lambda d: {"question": d.question(), **_lettered(d, LETTERS)})},
    "EleutherAI/logiqa": {
        "logiqa": (_TEST, lambda d: {
            "label": d.choice("abcd"), "context": d.passage(), "question": d.question(), "options": d.texts(4)})
    },
    "truthfulqa/truthful_qa": {"multiple_choice": (("validation",), _truthful)},
    "openai/gsm8k": {"main": (("train", "test"), _gsm8k)},
    "mandarjoshi/trivia_qa": {
        "rc.nocontext": (_VALID, lambda d: {
            "question": d.text(), "answer": {"value": d.answer(), "aliases": [d.answer(), d.answer().upper()]}})
    },
    "google-research-datasets/nq_open": {
        "default": (_VALID, lambda d: {"question": d.text(), "answer": [d.answer() for _ in range(d.randint(1, 3))]})
    },
    "EleutherAI/drop": {"default": (_VALID, _drop)},
    "EleutherAI/coqa": {"default": (_VALID, _coqa)},
    "regisss/math_qa": {"default": (_TEST, _mathqa)},
    "cais/mmlu": {
        name: (_DEV, lambda d, subject=name: {**_multiple(d), "subject": subject})
        for name in ("anatomy", "astronomy", "high_school_geography")
    },
    "cais/wmdp": {"wmdp-bio": (("test",), _multiple)},
    "nyu-mll/blimp": {
        "causative": (("train",), lambda d: {"sentence_good": d.sentence(), "sentence_bad": d.sentence()})
    },
    "EleutherAI/hendrycks_math": {
        "algebra": (("train", "test"), lambda d: {
            "problem": d.sentence(), "solution": f"{d.sentence()} $\\boxed{{{d.choice(['7', '42'])}}}$"})
    },
    "cambridgeltl/xcopa": {"et": (("validation", "test"), _copa)},
    "SaylorTwift/bbh": {
        name: (("test",), lambda d: {"input": d.question(), "target": d.choice(["Yes", "No", "True", "False"])})
        for name in ("navigate", "boolean_expressions")
    },
    "facebook/xnli": {"en": (_VALID, _pair("premise", "hypothesis", labels=3))},
    "google-research-datasets/paws-x": {"en": (_TEST, _pair("sentence1", "sentence2"))},
    "bigbio/pubmed_qa": {
        "pubmed_qa_labeled_fold0_source": (_TEST, lambda d: {
            "CONTEXTS": [d.passage(), d.sentence()], "QUESTION": d.question(),
            "final_decision": d.choice(["yes", "no", "maybe"])})
    },
    "GBaker/MedQA-USMLE-4-options-hf": {
        "default": (_TEST, lambda d: {
            "sent1": d.question(), **{f"ending{n}": text for n, text in enumerate(d.texts(4))}, "label": d.randrange(4)})
    },
    "juletxara/mgsm": {"en": (("train", "test"), _mgsm)},
    "jannalu/crows_pairs_multilingual": {
        "english": (("test",), lambda d: {
            "sent_more": d.sentence(), "sent_less": d.sentence(), "bias_type": d.choice(["age", "gender"])})
    },
    "facebook/belebele": {"eng_Latn": (("test",), _belebele)},
    "lighteval/winograd_wsc": {"wsc273": (("test",), _wsc273)},
    "skg/toxigen-data": {
        "annotated": (("train", "test"), lambda d: {
            "text": d.sentence(), "toxicity_ai": d.random() * 5, "toxicity_human": d.random() * 5})
    },
    "allenai/swag": {
        "regular": (_VALID, lambda d: {
            "startphrase": d.text(), **{f"ending{n}": text for n, text in enumerate(d.texts(4))}, "label": d.randrange(4)})
    },
    "facebook/anli": {"default": (("train_r1", "dev_r1", "test_r1"), _pair("premise", "hypothesis", labels=3))},
    "EleutherAI/headqa": {"en": (_TEST, _headqa)},
    "EleutherAI/mutual": {
        "mutual": (_VALID, lambda d: {
            "article": f"m : {d.sentence()} f : {d.sentence()}", "options": [f"m : {d.sentence()}" for _ in range(4)],
            "answers": d.choice("ABCD")})
    },
    "EleutherAI/hendrycks_ethics": dict.fromkeys(
        ("commonsense", "deontology", "justice", "utilitarianism", "virtue"), (("train", "test"), _ethics)
    ),
    "EleutherAI/unscramble": {
        "mid_word_1_anagrams": (("validation",), lambda d: {"context": d.question(), "completion": d.answer()})
    },
    "stanfordnlp/web_questions": {
        "default": (("train", "test"), lambda d: {"url": "u", "question": d.question(), "answers": d.texts(3)})
    },
    "EleutherAI/asdiv": {
        "default": (("validation",), lambda d: {
            "body": d.sentence(), "question": d.question(), "answer": f"{d.randrange(9)} (apples)"})
    },
    "made/choices": {"default": (("train", "test"), _made)},
    "made/more": {"default": (("train", "test"), _made)},
    "made/texts": {"default": (("test",), lambda d: {"text": "".join(d.passage() + "\n" for _ in range(d.randint(1, 25)))})},
    "made/answers": {
        "default": (("train", "test"), lambda d: {
            "question": d.question(), "answer": d.answer(), "accepted": [d.answer() for _ in range(3)]})
    },
}  # fmt: skip
"""Hub id -> config -> its splits and what makes a row."""


def write_data(root: Path, docs: int) -> None:
    """All data sets below `root`, with so many docs a split; the same ones each time."""
    for path, configs in DATA.items():
        folder = root / path
        entries = []
        for config, (splits, make) in configs.items():
            (folder / config).mkdir(parents=True, exist_ok=True)
            for split in splits:
                draw = Draw(f"{path} {config} {split}")
                count = 2 * docs if path == "made/more" else max(docs, 8)
                rows = [make(draw) for _ in range(count)]
                (folder / config / f"{split}.jsonl").write_text("".join(map(_line, rows)), encoding="utf-8")
            files = "".join(f"      - {{split: {split}, path: {config}/{split}.jsonl}}\n" for split in splits)
            entries.append(f"  - config_name: {config}\n    data_files:\n{files}")
        (folder / "README.md").write_text(f"---\nconfigs:\n{''.join(entries)}---\n")


def _line(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


def training_texts(count: int) -> Iterator[str]:
    """Questions with answers that hang on the question's first word, so that a small model learns to say one and to stop."""
    draw = Draw("training")
    forms = ("Question: {}\nAnswer: {}\n\n", "Q: {}\nA: {}\n\n", "Problem: {}\nAnswer: {}\n\n", "{}\n{}\n\n")
    shown = ("{}", "{}", "So the answer is {}.", "#### {}", "$\\boxed{{{}}}$", "The answer is {}.")
    for _ in range(count):
        question = draw.question()
        place = sum(map(ord, question.split()[0].lower()))
        answer = shown[place % len(shown)].format(ANSWERS[place % len(ANSWERS)])
        yield draw.choice(forms).format(question.strip(), answer)
