r"""Pairs of made mathematical answers whose equality is known: values are drawn, and then written in many ways."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import permutations
from random import Random

Value = tuple[object, ...]
Made = tuple[Value, str]
"""What an answer stands for, and one way to write it: two answers are equal if what they stand for is."""

NAMES = [
    "x",
    "m+n",
    "AB",
    "f(3)",
    "S",
    "a_1",
    r"\theta",
    r"\text{Area}",
    "P(A)",
    r"\angle ABC",
    "ab",
    "n",
    r"\frac{a}{b}",
    "f'(2)",
    r"\overline{AB}",
]
UNITS = {
    "cm": ["cm", r"\text{ cm}", r"\text{ centimeters}", r"\ \mathrm{cm}", " centimeters"],
    "kg": ["kg", r"\text{ kg}", " kilograms"],
    "cm^2": [r"\text{ cm}^2", " square centimeters", r"\text{ sq cm}", r"\ \mathrm{cm}^{2}"],
    "apples": [r"\text{ apples}", " apples"],
    "$": [" dollars", r"\text{ dollars}"],
    "mph": [" mph", r"\text{ miles per hour}"],
}


def number(random: Random) -> Fraction:
    """A number as answers have them."""
    kind = random.randrange(4)
    if kind == 0:
        return Fraction(random.randint(-20, 60))
    if kind == 1:
        return Fraction(random.randint(-30, 30), random.choice([2, 3, 4, 5, 6, 7, 8, 9, 11, 12]))
    if kind == 2:
        return Fraction(random.randint(1000, 9999999))
    return Fraction(random.randint(1, 999), random.choice([10, 100, 1000]))


def near(value: Fraction, random: Random) -> Fraction:
    """A number that a careless reader would take for another."""
    others = [
        -value,
        value + 1,
        value * 10,
        value / 10,
        value + Fraction(1, 1000),
        1 / value if value else Fraction(1),
        value * 100,
        value / 100,
    ]
    return random.choice([other for other in others if other != value])


def write(value: Fraction, random: Random) -> str:
    """A number in one of its notations."""
    sign, size = ("-" if value < 0 else ""), abs(value)
    top, bottom = size.numerator, size.denominator
    ways = [
        f"{sign}\\frac{{{top}}}{{{bottom}}}",
        f"{sign}{top}/{bottom}",
        f"\\dfrac{{{sign}{top}}}{{{bottom}}}",
        f"{sign}\\frac{{{3 * top}}}{{{3 * bottom}}}",
    ]
    if bottom == 1:
        ways += (
            [f"{value}"] * 3
            + [f"{value}.0", f"{value - 7} + 7 = {value}"]
            + ([f"{sign}{top:,}", f"{sign}{top:,}".replace(",", "{,}")] if top >= 1000 else [])
        )
        ways += [f"{sign}{top:,}".replace(",", r"\,")] if top >= 10000 else []
        ways += (
            [f"{sign}{top // 1000}e3", f"{sign}{top // 1000} \\times 10^{{3}}"]
            if top >= 1000 and top % 1000 == 0
            else []
        )
        ways += [f"2^{{{top.bit_length() - 1}}}"] if value > 1 and top & (top - 1) == 0 else []
        ways += [f"\\binom{{{top}}}{{1}}", f"\\sqrt{{{top * top}}}"] if value > 1 and top < 100 else []
    elif top > bottom:
        whole, rest = divmod(top, bottom)
        ways += [f"{sign}{whole}\\frac{{{rest}}}{{{bottom}}}", f"{sign}{whole} {rest}/{bottom}"]
    if top < 10 and 1 < bottom < 10:
        ways += [f"{sign}\\frac{top}{bottom}"] * 2
    if decimal := _decimal(size):
        ways += [sign + decimal] * 2 + ([f"{sign}{decimal}0"] if "." in decimal else [])
        ways += [f"{sign}{_decimal(size * 100)}\\%"] if _decimal(size * 100) and size < 1 else []
    elif repeating := _repeating(size):
        ways += [sign + repeating] * 2
    return random.choice(ways)


def _decimal(value: Fraction) -> str:
    """A number with at most six decimals; "" for another."""
    scaled = value * 10**6
    return f"{float(value):.6f}".rstrip("0").rstrip(".") if scaled.denominator == 1 else ""


def _repeating(value: Fraction) -> str:
    r"""A number as "0.1\overline{6}"."""
    whole, rest = divmod(value.numerator, value.denominator)
    digits, seen = "", dict[int, int]()
    while rest not in seen and len(digits) < 20:
        seen[rest] = len(digits)
        digit, rest = divmod(rest * 10, value.denominator)
        digits += str(digit)
    if rest == 0 or rest not in seen:
        return ""
    start = seen[rest]
    return f"{whole}.{digits[:start]}\\overline{{{digits[start:]}}}"


def around(text: str, random: Random) -> str:
    """An answer with what stands around it."""
    return random.choice(["{}", "{}", "{}", "${}$", "{}.", r"\({}\)", r" {} ", r"\[{}\]"]).format(text)


def numbers(random: Random, value: Fraction) -> Made:
    """A number, with or without a name."""
    text = write(value, random)
    if random.random() < 0.5:
        text = f"{random.choice(NAMES)}{random.choice([' = ', '='])}{text}"
        return ("number", value), text
    return ("number", value), text


def measures(random: Random, value: Fraction, unit: str) -> Made:
    """A number with a unit."""
    whole = Fraction(abs(value.numerator) + 1)
    return ("measure", whole, unit), f"{whole}{random.choice(UNITS[unit])}"


def sets(random: Random, values: list[Fraction]) -> Made:
    """Several numbers without an order."""
    order = random.sample(values, len(values))
    texts = [_plain_number(each, random) for each in order]
    ways = [
        ", ".join(texts),
        r"\{" + ", ".join(texts) + r"\}",
        r"\left\{" + ",".join(texts) + r"\right\}",
        " or ".join(texts),
        r" \text{ or } ".join(texts),
    ]
    ways += [
        ", ".join(f"x = {text}" for text in texts),
        " or ".join(f"x={text}" for text in texts),
        f"x = {', '.join(texts)}",
    ]
    return ("set", frozenset(values)), random.choice(ways)


def tuples(random: Random, values: list[Fraction]) -> Made:
    """Several numbers with an order, or of x, y and z."""
    texts = [_plain_number(each, random) for each in values]
    ways = [f"({', '.join(texts)})", rf"\left({','.join(texts)}\right)"]
    if len(values) <= 3:
        named = [f"{name} = {text}" for name, text in zip("xyz", texts, strict=False)]
        ways += [
            ", ".join(named),
            r" \text{ and } ".join(named),
            ", ".join(named[::-1]),
            f"({','.join('xyz'[: len(texts)])}) = ({', '.join(texts)})",
        ]
    return ("tuple", *values), random.choice(ways)


def _plain_number(value: Fraction, random: Random) -> str:
    text = write(value, random)
    while "=" in text or "\\%" in text or "," in text:
        text = write(value, random)
    return text


def intervals(random: Random, ends: tuple[Fraction | None, Fraction | None, bool, bool]) -> Made:
    """An interval, or the inequality that says it."""
    low, high, with_low, with_high = ends
    left, right = (
        (_plain_number(low, random) if low is not None else r"-\infty"),
        (_plain_number(high, random) if high is not None else r"\infty"),
    )
    opening, closing = "[" if with_low and low is not None else "(", "]" if with_high and high is not None else ")"
    under, upto = (r"\leq" if with_low else "<"), (r"\le" if with_high else "<")
    ways = [
        f"{opening}{left}, {right}{closing}",
        rf"\left{opening}{left},{right}\right{closing}",
        rf"x \in {opening}{left}, {right}{closing}",
    ]
    if low is not None and high is not None:
        ways += [f"{left} {under} x {upto} {right}"] * 2
    elif low is not None:
        ways += [rf"x {'>=' if False else (chr(92) + 'geq' if with_low else '>')} {left}", f"{left} {under} x"]
    elif high is not None:
        ways += [f"x {upto} {right}", rf"{right} {chr(92) + 'ge' if with_high else '>'} x"]
    return ("interval", low, high, with_low and low is not None, with_high and high is not None), random.choice(ways)


def polynomials(random: Random, roots: list[int], factor: int) -> Made:
    """A polynomial of x by its coefficients or by its roots."""
    coefficients = [factor]
    for root in roots:
        coefficients = [a - root * b for a, b in zip([*coefficients, 0], [0, *coefficients], strict=True)]
    terms = [_term(c, len(coefficients) - 1 - place) for place, c in enumerate(coefficients) if c]
    order = random.sample(terms, len(terms))
    ways = ["".join(terms).removeprefix("+"), "".join(order).removeprefix("+"), " ".join(order).removeprefix("+")]
    ways += [("" if factor == 1 else str(factor)) + "".join(f"(x{-root:+d})" if root else "x" for root in roots)] * 2
    text = random.choice(ways)
    return (
        "polynomial",
        *coefficients,
    ), text if random.random() < 0.7 else f"{random.choice(['y', 'f(x)', 'P(x)'])} = {text}"


def _term(coefficient: int, power: int) -> str:
    size = "" if abs(coefficient) == 1 and power else str(abs(coefficient))
    return (
        ("+" if coefficient > 0 else "-")
        + size
        + ("" if power == 0 else "x" if power == 1 else f"x^{power}" if power < 10 else f"x^{{{power}}}")
    )


def surds(random: Random, outer: int, inner: int, times_pi: bool) -> Made:
    r"""A whole number times a root: 2\sqrt{3} or \sqrt{12}."""
    square = outer * outer * inner
    pi = r"\pi" if times_pi else ""
    ways = [
        rf"{outer}\sqrt{{{inner}}}{pi}",
        rf"\sqrt{{{square}}}{pi}",
        rf"{outer}{pi}\sqrt{inner if inner < 10 else f'{{{inner}}}'}",
        rf"\frac{{{outer * inner}{pi}}}{{\sqrt{{{inner}}}}}",
        rf"{outer}{pi} \cdot {inner}^{{1/2}}",
    ]
    return ("surd", square, times_pi), random.choice(ways)


def matrices(random: Random, cells: list[list[Fraction]]) -> Made:
    """A matrix, in round or square brackets."""
    rows = r" \\ ".join(" & ".join(_plain_number(cell, random) for cell in row) for row in cells)
    kind = random.choice(["pmatrix", "bmatrix"])
    return ("matrix", tuple(map(tuple, cells))), rf"\begin{{{kind}}} {rows} \end{{{kind}}}"


def bases(random: Random, value: int, base: int) -> Made:
    """A number with the base of its digits."""
    digits, rest = "", value
    while rest:
        digits, rest = str(rest % base) + digits, rest // base
    ways = [
        f"{digits}_{base}",
        f"{digits}_{{{base}}}",
        rf"{digits}_{{\text{{{_WORDS[base]}}}}}",
        f"{digits} base {base}",
    ]
    return ("base", digits, base), random.choice(ways)


_WORDS = {2: "two", 3: "three", 5: "five", 7: "seven", 8: "eight"}


def pairs(seed: int, count: int) -> Iterator[tuple[str, str, bool]]:
    """Pairs of answers, and whether they are equal. Half of them are of one value, the others of two alike."""
    random = Random(seed)
    for _ in range(count):
        (meaning, one), (other_meaning, other) = random.choice(_DRAWS)(random, random.random() < 0.5)
        yield around(one, random), around(other, random), meaning == other_meaning


def _number_pair(random: Random, same: bool) -> tuple[Made, Made]:
    value = number(random)
    one, other = numbers(random, value), numbers(random, value if same else near(value, random))
    name, other_name = (
        text.partition("=")[0].strip() if any(text.startswith(each) for each in NAMES) else ""
        for _, text in (one, other)
    )
    if "%" in one[1] + other[1] and value and not same:
        return _number_pair(random, same)  # a percent sign may be left out
    if name and other_name and name != other_name:
        other = other[0], f"{name} = {other[1].rpartition('= ')[2].rpartition('=')[2]}"
    return one, other


def _measure_pair(random: Random, same: bool) -> tuple[Made, Made]:
    value, unit = number(random), random.choice(list(UNITS))
    if same:
        return measures(random, value, unit), measures(random, value, unit)
    if random.random() < 0.5:
        return measures(random, value, unit), measures(
            random, value, random.choice([each for each in UNITS if each != unit])
        )
    return measures(random, value, unit), measures(random, value + 3, unit)


def _several(random: Random) -> list[Fraction]:
    return random.sample(
        [Fraction(n, d) for n in range(-9, 10) for d in (1, 2, 3) if Fraction(n, d).denominator == d],
        random.randint(2, 3),
    )


def _changed(values: list[Fraction], random: Random) -> list[Fraction]:
    place = random.randrange(len(values))
    other = next(each for each in map(Fraction, _ten_digits(random)) if each not in values)
    return [*values[:place], other, *values[place + 1 :]]


def _ten_digits(random: Random) -> list[int]:
    """Whole numbers from 0 to 9 in some order."""
    return random.sample(range(10), 10)


def _set_pair(random: Random, same: bool) -> tuple[Made, Made]:
    values = _several(random)
    return sets(random, values), sets(random, values if same else _changed(values, random))


def _tuple_pair(random: Random, same: bool) -> tuple[Made, Made]:
    values = _several(random)
    orders = [list(order) for order in permutations(values) if list(order) != values]
    return tuples(random, values), tuples(
        random, values if same else random.choice([*orders, _changed(values, random)])
    )


def _interval_pair(random: Random, same: bool) -> tuple[Made, Made]:
    low, high = sorted(_several(random)[:2])
    kind = random.randrange(3)
    ends = (None if kind == 1 else low, None if kind == 2 else high, random.random() < 0.5, random.random() < 0.5)
    open_or_closed = (ends[0], ends[1], ends[0] is not None and not ends[2], ends[1] is not None and not ends[3])
    wider = (None if kind == 1 else low - 1, None if kind == 2 else high + 1, ends[2], ends[3])
    others = [open_or_closed, wider]
    return intervals(random, ends), intervals(random, ends if same else random.choice(others))


def _polynomial_pair(random: Random, same: bool) -> tuple[Made, Made]:
    roots, factor = [random.randint(-5, 5) for _ in range(random.randint(1, 3))], random.choice([1, 1, 2, -3])
    one = polynomials(random, roots, factor)
    other = polynomials(random, roots if same else [*roots[1:], roots[0] + 1], factor)
    left, right = one[1], other[1]
    if "=" in left and "=" in right:
        right = f"{left.partition('=')[0]}= {right.rpartition('= ')[2]}"
    return (one[0], left), (other[0], right)


def _surd_pair(random: Random, same: bool) -> tuple[Made, Made]:
    outer, inner, pi = random.randint(2, 9), random.choice([2, 3, 5, 6, 7, 10, 11]), random.random() < 0.3
    return surds(random, outer, inner, pi), surds(random, outer + (not same), inner, pi)


def _matrix_pair(random: Random, same: bool) -> tuple[Made, Made]:
    rows, columns = random.choice([(2, 2), (2, 1), (3, 1), (2, 3)])
    cells = [[Fraction(random.randint(-5, 5), random.choice([1, 1, 2])) for _ in range(columns)] for _ in range(rows)]
    other = [list(row) for row in cells]
    if not same:
        other[random.randrange(rows)][random.randrange(columns)] += 1
    return matrices(random, cells), matrices(random, other)


def _base_pair(random: Random, same: bool) -> tuple[Made, Made]:
    value, base = random.randint(10, 500), random.choice(list(_WORDS))
    other = (
        (value, base)
        if same
        else random.choice([(value + 1, base), (value, random.choice([each for each in _WORDS if each != base]))])
    )
    return bases(random, value, base), bases(random, *other)


_DRAWS: list[Callable[[Random, bool], tuple[Made, Made]]] = [
    _number_pair, _number_pair, _number_pair, _measure_pair, _set_pair, _tuple_pair, _interval_pair, _polynomial_pair,
    _surd_pair, _matrix_pair,
    _base_pair,
]  # fmt: skip
