"""Code in the calls of every format: what a model writes is what is run, sign by sign."""

from __future__ import annotations

import pytest

from mm_eval.tools.formats.call import Call
from mm_eval.tools.formats.reading import read_calls
from mm_eval.tools.formats.table import FORMATS
from mm_eval.tools.python import PYTHON_TOOL

CODES = {
    "lines": "for n in range(3):\n    if n < 2 and n > -1:\n        print(n)",
    "quotes": "print(\"it's\", 'a \"b\"', '''c''')",
    "backslashes": "import re\nprint(re.findall(r'\\d+\\n', 'a\\\\b\\t'))",
    "brackets": "a = {'x': [1, {2: 3}]}\nprint(f'{a!r:>{20}}', a['x'][0] << 2)",
    "tags": "html = '<b>1</b>'\nprint(html, 1 <2>0)",
    "indented": "    \nif True:\n\tprint('tab')\n\nprint('end')",
    "unicode": "print('π ≈ 3.14, 数')",
    "looks like json": '{"code": 1}',
    "a number": "42",
}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("code", CODES)
def test_code_arrives_as_it_was_written(form: str, code: str) -> None:
    schemas = {"python": PYTHON_TOOL.parameters("")}
    written = FORMATS[form].write(Call("python", {"code": CODES[code]}))
    fences = FORMATS[form].fence is not None
    (found,) = read_calls(f"I count.\n{written}", schemas, with_fences=fences).calls
    assert bool(read_calls(f"I count.\n{written}", schemas).calls) is not fences
    assert isinstance(found, Call) and found.name == "python"
    assert found.arguments == {"code": CODES[code]}
