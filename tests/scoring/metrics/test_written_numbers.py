"""Numbers in English words and in LaTeX."""

from mm_eval.tasks.rules.written_numbers import is_float, number_in_latex, number_in_words

from tests.sets import each_of


@each_of(
    ("text", "number"),
    [
        ("Three", 3),
        ("three dots", 3),
        ("thirty-one", 31),
        ("a hundred", 100),
        ("one hundred and twelve", 112),
        ("two thousand four hundred", 2400),
        ("one million two", 1000002),
        ("three point five", 3.5),
        ("point five", 0.5),
        ("zero", 0),
        ("point twelve", None),
        ("two thousand thousand", None),
        ("point", None),
        ("5 dots", None),
        ("", None),
        ("one " * 1000, None),
    ],
)
def test_a_number_in_words(text: str, number: float | None) -> None:
    assert number_in_words(text) == number


@each_of(
    ("text", "number"),
    [
        ("3.5", 3.5),
        ("1,234.5", 1234.5),
        (r"$\dfrac{1}{2}$", 0.5),
        (r"\left(5\right)", 5),
        ("x = 5", 5),
        (r"25\%", 0.25),
        ("5.", 5),
        (r"10^{2}", 100),
        (r"5 \text{ cm}", None),
        ("5 cm", None),
        ("2x", None),
        ("(a)", None),
        ("", None),
    ],
)
def test_a_number_in_latex(text: str, number: float | None) -> None:
    found = number_in_latex(text)
    assert (found if found is None else float(found)) == number


def test_a_float_is_what_python_reads() -> None:
    assert [text for text in ("1", "-.5", "1e3", "nan", "1,000", "x", "") if is_float(text)] == [
        "1",
        "-.5",
        "1e3",
        "nan",
    ]
