r"""Mathematical equality: pairs that are equal and pairs that are not, bounds of time for hostile answers, threads."""

import threading
import time

from mm_eval.tasks.rules.math_answer import last_boxed
from mm_eval.tasks.rules.math_equality import math_equal, math_equal_fn
from mm_eval.tasks.rules.math_values import value_of

from mm_eval.scoring.metrics.metric import METRICS
from tests.sets import each_of

EQUAL = [
    (r"\{1\pm\sqrt{5},-2\}", r"\{-2, 1+\sqrt5, 1-\sqrt5\}"), (r"x \in [-2,7]", "[-2, 7]"), (r"\pm 2", "-2, 2"),
    ("sqrt(9)", "3"), ("3(4)", "12"), ("2(3)(4)", "24"), ("5(2)^2", "20"), ("x^2(x+1)", "x^3+x^2"),
    (r"\frac{1}{2}", "0.5"), (r"\frac12", "1/2"), (r"\dfrac{1}{2}", r"\tfrac 12"), ("0.50", ".5"), ("5.", "5"),
    ("1,000", "1000"), ("1{,}234.50", "1234.5"), (r"10\,000", "10000"), (r"25\%", "25"), ("25 %", "25"), (r"\$5", "5"),
    (r"60^\circ", "60"), ("90°", "90"), ("60 degrees", "60"), (r"12\text{ cm}", "12"), (r"12 \text{ cm}^2", "12"),
    ("5 inches", "5"), (r"$\frac{3}{4}$", "0.75"), (r"\(7\)", "7"), (r"\text{Evelyn}", "Evelyn"), (r"\text{(C)}", "C"),
    ("Even", "even"), (r"\sqrt{8}", r"2\sqrt{2}"), (r"\sqrt2", r"\sqrt{2}"), (r"\frac{1}{\sqrt{2}}", r"\frac{\sqrt2}{2}"),
    (r"\frac{\pi}{2}", r"0.5\pi"), ("π/2", r"\frac{\pi}2"), ("2^{10}", "1024"), ("2**3", "8"), (r"3\cdot 10^{2}", "300"),
    (r"3 \times 10^{-2}", "0.03"), ("x=5", "5"), ("k = -3", "-3"), ("2x+1", "1+2x"), ("(x+1)^2", "x^2+2x+1"),
    ("x^2-y^2", "(x-y)(x+y)"), (r"\sin^2 x+\cos^2 x", "1"), ("(1, 2)", "(1,2)"),
    (r"\left(3, \frac{\pi}{2}\right)", r"(3,\pi/2)"), (r"[1, \infty)", r"\left[1,\infty\right)"), (r"\{1,2\}", "{2, 1}"),
    ("1, -2", "-2, 1"), ("1 or 2", "2,1"), (r"3 \pm \sqrt2", r"3-\sqrt{2}, 3+\sqrt{2}"),
    (r"(-\infty,2)\cup(3,\infty)", r"(3, \infty) \cup (-\infty, 2)"),
    (r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", r"\begin{bmatrix}1&2\\3&\frac{8}{2}\end{bmatrix}"),
    ("7 3/4", r"\frac{31}{4}"), (r"1\frac{1}{2}", "1.5"), ("-7 3/4", "-7.75"), ("3+2i", "2i+3"), ("(1+i)^2", "2i"),
    (r"\log_2 8", "3"), (r"\sqrt[3]{27}", "3"), ("5!", "120"), ("|-3|", "3"), ("y=2x+1", "y = 1+2x"), ("x<3", "x < 3"),
    ("e^2", r"\exp(2)"), ("+4", "4"), ("−4", "-4"), ("6:3", "6:3"),
    ("100000000000000000000000", "100,000,000,000,000,000,000,000"), (r"\frac{-3}{4}", r"-\frac34"),
    (r"9^{9^{9^9}}", r"9^{9^{9^9}}"), ("$-2 + 7i.$", "-2 + 7i"), ("2516_8", "2516"), ("2516_8", "2516_{8}"), ("1A_{16}", "1a"),
]  # fmt: skip

DIFFERENT = [
    ("2516_8", "2516_7"), ("2516_8", "2517"), ("2516_8", "2517_8"), ("a_1", "a"),
    ("0.333", r"\frac{1}{3}"), ("1", "2"), ("", ""), ("", "0"), ("(1,2)", "(2,1)"), ("(1,2)", "[1,2]"),
    ("(1,2)", "(1,2,3)"), ("dog", "god"), ("ab", "ba"), ("no", "on"), ("1,000", "1"), ("1,2", "1"),
    ("100000000000000000000001", "100000000000000000000000"), ("x", "y"), ("2x", "3x"), ("x<3", "x>3"), ("x<3", "x=3"),
    (r"\sqrt{x^2}", "x"), ("A", "B"), ("I cannot answer", "4"), (r"\frac{1}{0}", r"\frac{2}{0}"), ("9^9^9^9", "9^9^9^8"),
    (r"\{1,2\}", r"\{1,1\}"), ("(9^9)!", "1"), ("1e5", "x"), ("__import__('os')", "1"),
    (r"\sum_{i=1}^{9999999999} i", "3"), (r"\binom{1000000000}{500000000}", "3"), ("1/7", "0.142857"),
    (r"\infty", r"-\infty"), ("3", "3i"), ("10^{-30}", "10^{-31}"), ("5", "-5"), ("24 pounds", "42 pounds"),
]  # fmt: skip


@each_of(("one", "other"), EQUAL)
def test_equal_answers(one: str, other: str) -> None:
    assert math_equal(one, other)
    assert math_equal(other, one)


@each_of(("one", "other"), DIFFERENT)
def test_different_answers(one: str, other: str) -> None:
    assert not math_equal(one, other)
    assert not math_equal(other, one)


@each_of(
    ("one", "other", "equal"),
    [
        ("0.333", r"\frac{1}{3}", True), ("0.34", "1/3", False), ("3.14", r"\pi", True), ("3.1", r"\pi", False),
        ("2.236", r"\sqrt{5}", True),
    ],
)  # fmt: skip
def test_numbers_are_rounded_where_asked(one: str, other: str, equal: bool) -> None:
    assert math_equal(one, other, decimals=2) is equal


HOSTILE = [
    "|2|222|2|22||2|||22|22|||222222|2222||2||||2|||2||2|2222||22|22222",
    "2|||00|202||02|002||0||2|2200|000000|0|202200220||0020||22", r"\begin{pmatrix}\end{pmatrix}",
    r"\begin{pmatrix}&\\&\end{pmatrix}", "9" * 200_000, "9^" * 100_000 + "9", "(" * 100_000 + "1" + ")" * 100_000,
    "{" * 200_000, "\\frac" * 40_000, "\\boxed{" * 30_000, "9^9^9^9", "9^{9^{9^{9^9}}}", "9^{9^{9}}", "(9^{9^9})!",
    "9!!!!!!", "(999!)!", r"\binom{999999999}{499999999}", "10^{10^{10}}", "1" * 1999, r"\int_0^1 x^x dx",
    r"\sum_{i=1}^{1000000000} i", r"\prod_{n=1}^{99999999} n", r"\lim_{x\to0} x", "(" * 90 + "1" + ")" * 90,
    "-" * 190 + "1", "x" * 200, "1_" * 90 + "1", "|" * 190, "(" * 199, "((((((((((1))))))))))",
    r"\frac{1}{" * 20 + "1" + "}" * 20, r"\sqrt{" * 25 + "2" + "}" * 25, "e^{e^{e^{e^{e}}}}",
    r"\exp(\exp(\exp(\exp(9))))", r"\sinh(10^{2000})", r"\tan(10^{2999})", "0^{-1}", "0^0", "(-8)^{1/3}", "2^{-10^{9}}",
    "1," * 999 + "1", "(1,(2,(3,(4,(5,(6,(7,8)))))))", r"\pm" * 60 + "1", r"\begin{pmatrix}" * 50, "a=" * 600 + "a",
    " " * 1990 + "1 2", "1 " * 990, r"\gcd(10^{99},10^{98})", r"\lfloor 9^{9^9} \rfloor", "1" + "!" * 199,
    r"1.0000000000000000000000001^{10^{9}}", "\x00\ud800", "３", "½",
]  # fmt: skip


@each_of("answer", HOSTILE)
def test_hostile_answers_take_bounded_time(answer: str) -> None:
    started = time.process_time()
    assert not math_equal(answer, "17.25")
    assert not math_equal(answer + "+x", "2x")
    assert math_equal_fn(["17.25"], [answer]) == [0]
    assert time.process_time() - started < 8


def test_works_in_threads() -> None:
    found: list[bool] = []
    threads = [
        threading.Thread(target=lambda n=n: found.append(math_equal(rf"\sqrt{{{n}x^2+2x}}", rf"\sqrt{{2x+{n}x^2}}")))  # type: ignore[misc]
        for n in range(1, 9)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 8


@each_of(
    ("text", "content"),
    [
        (r"so \boxed{\frac{1}{2}}.", r"\frac{1}{2}"), (r"\boxed{1} then \boxed{2}", "2"),
        (r"\boxed{\{1,2\}}", r"\{1,2\}"), ("none", None), (r"\boxed{4} and \boxed{5", "4"), (r"\boxed {7}", "7"),
        (r"\fbox{A}", "A"), (r"\boxed{}", ""),
    ],
)  # fmt: skip
def test_last_box(text: str, content: str | None) -> None:
    assert last_boxed(text) == content


def test_is_a_metric_that_reads_boxes() -> None:
    assert "math_equal" in METRICS.names()
    assert math_equal_fn([r"\frac{1}{2}"], [r"Hence \boxed{0.5}.", "0.5", None, "1"]) == [1, 1, 0, 0]
    assert math_equal_fn([["1", "2"]], ["2"]) == [1]
    assert math_equal_fn(["3.14159"], [r"\pi"], decimals=2) == [1]


def test_values_are_bounded() -> None:
    assert value_of(r"\frac{3}{4}") == 0.75
    assert value_of("x") is None
    assert value_of("10^{3001}") is None
    assert value_of("__import__('os').system('true')") is None


@each_of(
    ("text", "content"),
    [
        (r"we get $-\boxed{256}$.", "-256"), (r"x = -\boxed{3}", "-3"), (r"it is -\boxed{3}", "-3"), (r"\boxed{3}", "3"),
        (r"5 - \boxed{3}", "3"), (r"5-\boxed{3}", "3"), (r"(x+2) -\boxed{3}", "3"), (r"- \boxed{3}", "3"), (r"-\boxed{A}", "A"),
    ],
)  # fmt: skip
def test_a_sign_before_a_box_belongs_to_it(text: str, content: str) -> None:
    assert last_boxed(text) == content
