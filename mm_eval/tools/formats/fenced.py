"""Code in a fenced block, for models that were trained to write it: `<code>`, a fence, the code, and `</code>`.

It is a call only where it was announced: any model may show code that is not to be run. Each form has its authors' frame around a
result, and the variables that their interpreter begins with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from mm_eval.config.tools import PYTHON
from mm_eval.tools.formats.call import Call, Unreadable

Part = dict[str, object]
OPENING, CLOSING = "(?i:<code>)", "</code>"
"""The marks around the fence; the first as a regular expression."""
_OPENING = re.compile(OPENING)
_FENCE = re.compile(r"\s*```[ \t]*(?:python3?|py)?[ \t]*\n?", re.IGNORECASE)
_END_OF_FENCE = re.compile(r"```\s*(?:</code>|\Z)", re.IGNORECASE)
_END = re.compile(re.escape(CLOSING), re.IGNORECASE)
_MARKS = re.compile(r"<(?=/?(?:code|sandbox_output|interpreter|answer|image_clue_\d+)>)", re.IGNORECASE)


def read(text: str, place: int, schemas: Mapping[str, Mapping[str, object]]) -> tuple[list[Call], int]:
    """The code after `<code>`. The end of the text stands for `</code>`: it is a stop string, which is cut off.

    Errors: Unreadable where there is no code, or where it is cut off.
    """
    if fence := _FENCE.match(text, place):
        place = fence.end()
    end = (_END_OF_FENCE.search(text, place) if fence else None) or _END.search(text, place)
    if end is None:
        raise Unreadable("the code is cut off.", cut=True, name=PYTHON)
    code = text[place : end.start()].removesuffix("\n")
    if not code.strip():
        raise Unreadable("there is no code in it.", name=PYTHON)
    return [Call(PYTHON, {"code": code})], end.end()


def ends_in_code(text: str) -> int | None:
    """Where the code begins that a text ends with; None where it ends with something else, or in the middle of code."""
    openings = list(_OPENING.finditer(text))
    if not openings:
        return None
    try:
        _, end = read(text, openings[-1].end(), {})
    except Unreadable:
        return None
    return None if text[end:].strip() else openings[-1].start()


def write(code: str) -> str:
    return f"<code>\n```python\n{code}\n```\n{CLOSING}"


def closed(text: str) -> str:
    """A text whose last code has its closing mark, as the authors show it to the model again."""
    openings, ends = list(_OPENING.finditer(text)), list(_END.finditer(text))
    is_open = openings and (not ends or ends[-1].start() < openings[-1].start())
    return f"{text.rstrip()}\n{CLOSING}" if is_open else text


def harmless(text: str) -> str:
    """A result in which no mark of these forms is left: a blank follows the sign that begins one."""
    return _MARKS.sub("< ", text)


@dataclass(frozen=True)
class Fence:
    """How one family's authors run code.

    variables: those that their interpreter begins with, as a sentence for the model. prelude: the code that sets them, by the
    names of the question's picture files. result: (the text, the pictures, whether the call failed, the number of the first
    picture among all that were shown) -> the parts that are shown.
    """

    variables: str
    prelude: Callable[[Sequence[str]], str]
    result: Callable[[Sequence[Part], Sequence[Part], bool, int], list[Part]]

    def announce(self, about: str) -> str:
        """The text about the tool. about: what it does."""
        return (
            f"# Python\n\nYou may run code to answer the question. {about} {self.variables}\n\n"
            "Write the code in a fenced block between <code> and </code>, and end there: its result is shown to you before you "
            f"go on.\n{write('# code')}\n\nWithout such a block your text is the answer."
        )


def _text(text: str) -> Part:
    return {"type": "text", "text": text}


def _opened(names: Sequence[str], called: str, first: int) -> str:
    lines = [f"{called}_{number} = Image.open({name!r})" for number, name in enumerate(names, first)]
    return "\n".join(["from PIL import Image", *lines])


def _deepeyes(text: Sequence[Part], pictures: Sequence[Part], failed: bool, number: int) -> list[Part]:
    if failed:
        return [_text(DEEPEYES_ERROR), *text, _text("\n```\n\nImages:\n"), *pictures]
    return [_text(DEEPEYES), *text, _text("\n```\n\nstderr:\n```\n\n```\n\nImages:\n"), *pictures]


def _thyme(text: Sequence[Part], pictures: Sequence[Part], failed: bool, number: int) -> list[Part]:
    return [_text("<sandbox_output>"), *pictures, *text, _text("</sandbox_output>")]


def _pyvision(text: Sequence[Part], pictures: Sequence[Part], failed: bool, number: int) -> list[Part]:
    if failed and not pictures:
        return [_text("<interpreter>"), *text, _text("</interpreter>\n")]
    shown = list[Part]()
    for place, picture in enumerate(pictures, number):
        shown += [_text(f"<image_clue_{place}>"), picture, _text(f"</image_clue_{place}>")]
    none = [_text("None")] if not shown else []
    return [_text(PYVISION), *text, _text("\nImage Result:\n"), *shown, *none, _text("</interpreter>\n")]


DEEPEYES = "Code execution result:\nstdout:\n```\n"
DEEPEYES_ERROR = f"{DEEPEYES}\n```\n\nstderr:\n```\n"
PYVISION = "<interpreter>\nText Result:\n"
_BEGINNINGS = "|".join(re.escape(each.strip()) for each in (DEEPEYES, DEEPEYES_ERROR, PYVISION))
FRAMES = (
    re.compile(rf"{_BEGINNINGS}|<(?:sandbox_output|interpreter)>"),
    re.compile(
        r"</(?:sandbox_output|interpreter)>|</?image_clue_\d+>|```[`\s]*(?:stderr:[`\s]*)?Images:|Image Result:"
    ),
)
"""(the texts that begin a result, the others around its text and pictures), without the white space around them."""

DEEPEYES_V2 = Fence(
    "The pictures of the question are also open as the PIL pictures image_1, image_2, ...",
    lambda names: _opened(names, "image", 1),
    _deepeyes,
)
"""github.com/Visual-Agent/DeepEyesV2 at 0373e6e0: evaluation/VLMEvalKit/vlmeval/api/agent_utils.py and vllm_api.py."""
THYME = Fence(
    "The variable image_path is the file of the first picture, and temp_output_dir the folder for pictures that you save.",
    lambda names: f"image_path = {names[0]!r}\ntemp_output_dir = '.'" if names else "temp_output_dir = '.'",
    _thyme,
)
"""github.com/yfzhang114/Thyme at b9285b7a: eval/utils.py and eval/VLMEvalKit/vlmeval/vlm/thyme/sandbox.py."""
PYVISION_FORM = Fence(
    "The pictures of the question are also open as the PIL pictures image_clue_0, image_clue_1, ...",
    lambda names: _opened(names, "image_clue", 0),
    _pyvision,
)
"""github.com/agents-x-project/PyVision at d08b4502: inference_engine/vis_inference_demo_gpt.py and prompt_template/."""
