"""The calculator: exact where arithmetic is, bounded everywhere, and no code is run."""

import pytest

from mm_eval.tools.calculator import CALCULATOR, calculate
from mm_eval.tools.tool import Given, ToolError
from tests.sets import each_of


@each_of(
    ("expression", "value"),
    [
        ("1+2*3", "7"),
        ("(1+2)*3", "9"),
        ("-2^2", "-4"),
        ("(-2)^2", "4"),
        ("2^3^2", "512"),
        ("2**-1", "0.5"),
        ("0.1+0.2", "0.3"),
        ("1/3*3", "1"),
        ("1/3", "0.333333333333"),
        ("7//2", "3"),
        ("-7//2", "-4"),
        ("7%3", "1"),
        ("15%*200", "30"),
        ("200*15%", "30"),
        ("10% + 5%", "0.15"),
        ("7 % (2+1)", "1"),
        ("5!", "120"),
        ("3!!", "720"),
        ("sqrt(16)", "4"),
        ("sqrt(2/8)", "0.5"),
        ("sqrt(2)", "1.41421356237"),
        ("round(2.5)", "3"),
        ("round(-2.5)", "-3"),
        ("round(2/3, 2)", "0.67"),
        ("max(1, 2.5, 2)", "2.5"),
        ("mean(1, 2, 6)", "3"),
        ("ln(e)", "1"),
        ("log(1000)", "3"),
        ("log(8, 2)", "3"),
        ("2 × 3 ÷ 4 − 1", "0.5"),
        ("12 =", "12"),
        ("1e3", "1000"),
        (".5 + 1.", "1.5"),
        ("PI", "3.14159265359"),
        ("2^100", str(2**100)),
        ("--3", "3"),
        ("3²", "9"),
        ("cos(0)", "1"),
        ("mod(7, 4)", "3"),
        ("9999999.5 * 2", "19999999"),
        ("floor(-1.5)", "-2"),
        ("1e-7", "1e-07"),
        ("1,234+1", "1235"),
        ("1,000,000.5*2", "2000001"),
        ("max((1,000), 2)", "1000"),
        ("max(100,200)", "200"),
        ("max(1, 200)", "200"),
        ("5 % -3", "-1"),
        ("5% - 3", "-2.95"),
        ("20% - 5%", "0.15"),
        ("log(1024, 2)", "10"),
        ("math.log(e)", "1"),
        ("math.log(8, 2)", "3"),
        ("math.sqrt(16) + math.pi*0", "4"),
        ("min(5) + max (7)", "12"),
        ("007 * 0.123456789012345678901 - 0.864197523086419752307", "0"),
        ("2^3! + 200%!", "66"),
        ("5%%3", "0.05"),
        ("2^-2^2", "0.0625"),
        ("-" * 499 + "1", "-1"),
        ("1+" * 249 + "1", "250"),
        ("1!" + "!" * 480, "1"),
    ],
)
def test_a_value(expression: str, value: str) -> None:
    assert calculate(expression) == value


@each_of(
    ("expression", "why"),
    [
        ("", "empty"),
        ("1+", "too early"),
        ("(1", r"'\)' is missing"),
        ("1)", "not expected"),
        ("1 2", "'1 2' is not expected here. Is an operator missing?"),
        ("(1*2 3)", "operator missing"),
        ("2(3)", "operator missing"),
        ("pi(2)", "operator missing"),
        ("1 * / 2", "'/' is not expected"),
        ("max(1,)", r"'\)' is not expected"),
        ("()", r"'\)' is not expected"),
        ("max(*1)", "not expected"),
        ("max(**1)", "not expected"),
        ("(sqrt)(4)", r"'\(' is missing"),
        ("sqrt!", r"'\(' is missing"),
        ("_x", "Functions are"),
        ("5 .x", "not part"),
        ("lambda: 1", "not part"),
        ("1 if 2 else 3", "Functions are"),
        ("1,23+1", "thousands"),
        ("max(1,000, 2)", "'1,000' can be one number or several values. Write 1000, or a blank"),
        ("max(1,000,2)", "'1,000' can be"),
        ("max(1, sum(2,000))", "'2,000' can be"),
        ("round(1,234.567, 1)", "'1,234' can be"),
        ("5%-3", r"mod\(5, -3\)"),
        ("5 % - 3", "percentage or a remainder"),
        ("1/0", "divides by zero"),
        ("0^-1", "divides by zero"),
        ("7 % 0", "divides by zero"),
        ("sqrt(-1)", "not real"),
        ("(-8)^(1/3)", "not real"),
        ("ln(0)", "undefined"),
        ("asin(2)", "undefined"),
        ("10^10^10", "too large"),
        ("9^9^9^9", "too large"),
        ("2^99999", "too large"),
        ("exp(9999)", "too large"),
        ("401!", "too large"),
        ("1.5!", "whole number"),
        ("1e2000", "too large"),
        ("(" * 60 + "1" + ")" * 60, "brackets"),
        ("2^" * 60 + "1", "too large"),
        ("1+" * 300 + "1", "characters"),
        ("__import__('os')", "not part"),
        ("os.system(1)", "not part"),
        ("x", "Functions are"),
        ("open(1)", "Functions are"),
        ("sqrt()", "takes 1"),
        ("max(1, max(2", "is missing"),
        ("round(1, 1e9)", "digits"),
        ("1; 2", "not part"),
        ("0x10", "not expected"),
        ("1/3^4000", "too large"),
    ],
)
def test_what_the_model_did_wrong(expression: str, why: str) -> None:
    with pytest.raises(ToolError, match=why):
        calculate(expression)


def test_a_call() -> None:
    assert CALCULATOR.call({"expression": "6*7"}, Given(())).text == "42"
    wrong = CALCULATOR.call({"expression": 6}, Given(()))
    assert wrong.failed and wrong.text == "Error: the argument 'expression' must be of type string (got 6)."
    assert CALCULATOR.call({}, Given(())).text == "Error: the argument 'expression' is missing."


def test_the_model_is_told_what_the_signs_mean() -> None:
    told = CALCULATOR.parameters("pixels")["properties"]["expression"]["description"]
    for said in (
        "log(x) is to base 10",
        "ln(x) is natural",
        "radians",
        "15% is 15/100",
        "7 % 3 is the remainder",
        "sqrt",
    ):
        assert said in told
