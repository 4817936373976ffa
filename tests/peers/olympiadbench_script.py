"""Compares OlympiadBench's rule with the authors' script, answer by answer.

`python -m tests.peers.olympiadbench_script CHECKOUT`, where CHECKOUT is one of github.com/OpenBMB/OlympiadBench, in an
environment with sympy and antlr4-python3-runtime 4.11. Pairs are the authors' own examples, and references beside equal and
changed answers. Printed is each difference; ends with 1 if one is not listed.
"""

from __future__ import annotations

import copy
import json
import multiprocessing
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mm_eval.tasks.olympiadbench.rules import final_answer, is_right

GOLDS = (
    "$\\frac{1}{2}$", "3", "1.43", "$2\\sqrt{3}$", "$-7$", "$\\pi$", "$\\frac{3 \\pi}{4}$", "$10^{5}$",
    "$1.6 \\times 10^{-19}$", "0.75",
    "$x^{2}+2 x+1$", "$\\frac{m v^{2}}{q B R}$", "$a_{n}=2 n-1$", "$y=3 x-4$", "$\\frac{x^{2}}{4}+y^{2}=1$", "$(1,2)$",
    "$[0,+\\infty)$",
    "$(-\\infty,-1) \\cup(3,+\\infty)$", "$\\pm \\sqrt{2}$", "$1,2,3$", "$(2,1),(3,1)$", "$2^{n-1}$", "$n!$",
    "$\\binom{10}{3}$", "$\\log 2$",
    "$\\ln 2$", "$e^{2}$", "$\\sin \\theta$", "$\\frac{1}{2} \\hbar \\omega$", "$\\sqrt[3]{5}$", "$|x|$", "$45^{\\circ}$",
    "60%", "能", "$i$",
    "$\\frac{R_{1} R_{2}}{R_{1}+R_{2}}$", "$k \\ln \\frac{V_{2}}{V_{1}}$", "1,000", "$\\frac{2}{3},\\frac{4}{5}$",
    "$T=2 \\pi \\sqrt{\\frac{L}{g}}$",
)  # fmt: skip
EQUAL = (
    ("\\frac{1}{2}", ("0.5", "1/2", "\\dfrac{1}{2}", "\\frac12", "50%", "x=\\frac{1}{2}", "\\frac{2}{4}", "2^{-1}", "0.50")),
    ("2\\sqrt{3}", ("\\sqrt{12}", "3.4641016151", "3.464", "\\frac{6}{\\sqrt{3}}", "2 \\cdot \\sqrt{3}", "2*\\sqrt3")),
    ("x^{2}+2x+1", ("(x+1)^{2}", "x^2+2x+1", "1+2x+x^2", "(1+x)(1+x)", "f(x)=x^{2}+2x+1", "(t+1)^{2}")),
    ("\\frac{m v^{2}}{q B R}", ("\\frac{mv^2}{qBR}", "m v^{2}/(q B R)", "\\frac{v^{2} m}{B R q}", "\\frac{m v^{2}}{q B r}")),
    ("y=3x-4", ("3x-y=4", "3x-y-4=0", "6x-2y-8=0", "y=-4+3x", "\\frac{y}{3}=x-\\frac{4}{3}", "y=3x+4", "3x-4", "-3x+y+4=0")),
    ("(1,2)", ("(1, 2)", "(1,2]", "(\\frac{2}{2},2)", "(1,2,3)", "1,2", "\\left(1,2\\right)", "(2,1)")),
    ("(-\\infty,-1)\\cup(3,+\\infty)", ("(-\\infty,-1)\\cup(3,\\infty)", "x \\in (-\\infty,-1)\\cup(3,+\\infty)",
     "(3,+\\infty)\\cup(-\\infty,-1)")),
    ("\\pm\\sqrt{2}", ("\\sqrt{2},-\\sqrt{2}", "-\\sqrt{2},\\sqrt{2}", "\\sqrt{2}", "x=\\pm\\sqrt{2}", "\\pm 1.41421356237")),
    ("1,2,3", ("3,2,1", "1,2", "1,2,3,4", "1, 2 ,3", "1,2,2", "x=1,x=2,x=3", "1;2;3")),
    ("\\binom{10}{3}", ("120", "\\frac{10!}{3!7!}", "C_{10}^{3}", "121")),
    ("\\frac{3\\pi}{4}", ("2.356194490192345", "0.75\\pi", "135^{\\circ}", "2.356")),
    ("1.6\\times 10^{-19}", ("1.6e-19", "1.60 \\times 10^{-19}", "0", "16\\times 10^{-20}")),
    ("e^{2}", ("7.389", "\\exp(2)", "e^2", "e \\cdot e")),
    ("\\ln 2", ("0.69314718056", "\\log_{e} 2", "\\log 2", "\\ln(2)", "-\\ln\\frac{1}{2}")),
    ("\\sin\\theta", ("\\sin(\\theta)", "\\cos(\\frac{\\pi}{2}-\\theta)", "\\sin \\theta_{1}")),
    ("T=2\\pi\\sqrt{\\frac{L}{g}}", ("2\\pi\\sqrt{L/g}", "T=2\\pi\\sqrt{\\frac{g}{L}}",
     "T = 2 \\pi \\frac{\\sqrt{L}}{\\sqrt{g}}")),
    ("3", ("3 \\mathrm{m}", "3 \\text{ m}", "3\\,\\mathrm{m/s}", "three", "3.0", "x=3", "0.03", "300", "3.000000001",
     "\\text{3}")),
)  # fmt: skip
FORMS = (
    "{}", "\\boxed{{{}}}", "So the final answer is \\boxed{{{}}}.", "We get 7.\nSo the final answer is ${}$", "$$ {} $$",
    "The answer: {}.",
    "So the final answer is \\boxed{{9}}.\nWait.\nSo the final answer is \\boxed{{{}}} (m).", "\\boxed{{{}",
    "所以最终答案是\\boxed{{{}}}。",
)  # fmt: skip
SECONDS = 20
LISTED = {
    (
        "\\cos(\\frac{\\pi}{2}-\\theta)",
        "\\sin\\theta",
    ): "equal; the script's pi is a float, with which `simplify` does not see it"
}
"""{(what the answer holds, reference): why they differ}."""


def pairs() -> Iterator[tuple[str, str, list[float]]]:
    """Answers, references and errors."""
    golds = [each.strip("$") for each in GOLDS]
    for gold, given in [*((each, (each, f" {each} ")) for each in GOLDS), *EQUAL]:
        for number, answer in enumerate((gold, *given)):
            for form in FORMS:
                yield (
                    form.replace("{}", answer.strip("$")).replace("{{", "{").replace("}}}", "}}"),
                    gold,
                    [[1e-8], [0.01], [1e-3, 1e-8]][number % 3],
                )
    stream = random.Random(7)
    for _ in range(400):
        yield f"\\boxed{{{stream.choice(golds)}}}", stream.choice(golds), [1e-8]


def examples(checkout: Path) -> Iterator[tuple[str, str, list[float], bool]]:
    """The authors' own, with what they expect; there the reference comes first."""
    for each in json.loads((checkout / "eval" / "scoring_examples.json").read_text(encoding="utf-8")):
        for answer in each["Ans"]:
            stated = answer.get("precision", 1e-8)
            errors = [float(e) for e in stated] if isinstance(stated, list) else [float(stated)]
            yield each["GT"], answer["answer"], errors, answer["equal"]


def _judge(checkout: str, connection: Any) -> None:
    """Answers what the script says, in a process that can be ended."""
    sys.path.insert(0, f"{checkout}/inference/code")
    from math_judger import MathJudger  # type: ignore[import-not-found]

    judger = MathJudger()
    while True:
        answer, gold, errors = connection.recv()
        try:
            connection.send(bool(judger.judge(answer, gold, copy.copy(errors))))
        except Exception as error:  # whatever the script stops with
            connection.send(type(error).__name__)


class Script:
    """The authors' script in a process of its own, which is started again when it takes too long."""

    def __init__(self, checkout: Path) -> None:
        self.checkout = checkout
        self._start()

    def _start(self) -> None:
        self.connection, other = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=_judge, args=(str(self.checkout), other), daemon=True)
        self.process.start()

    def judge(self, answer: str, gold: str, errors: list[float]) -> bool | str:
        self.connection.send((answer, gold, errors))
        if self.connection.poll(SECONDS):
            return self.connection.recv()  # type: ignore[no-any-return]
        self.process.kill()
        self._start()
        return "too long"


def main(argv: Sequence[str]) -> int:
    """Prints what differs."""
    checkout = Path(argv[0]).resolve()
    script, same, stopped, differ = Script(checkout), 0, 0, 0
    for answer, gold, errors, expected in examples(checkout):
        if is_right(answer, gold, errors) != expected:
            print(f"not as the authors' example says ({expected}): {answer!r} for {gold!r}")
            differ += 1
    for text, gold, errors in dict.fromkeys((a, b, tuple(c)) for a, b, c in pairs()):
        answer = final_answer(text, "所以" in text)
        theirs, own = script.judge(answer, gold, list(errors)), is_right(answer, gold, errors)
        if isinstance(theirs, str):
            stopped += 1
        elif theirs == own:
            same += 1
        elif not any(held in answer and gold == reference for held, reference in LISTED):
            differ += 1
            print(f"ours {own}, theirs {theirs}: {answer!r} for {gold!r} {errors}")
    print(f"{same} equal, {differ} differ; the script stopped at {stopped}")
    return int(bool(differ))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
