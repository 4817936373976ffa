"""SLAKE: short answers in English and Chinese, equal but for case, punctuation, brackets and words for yes and no.

Source: Liu et al. 2021, arXiv:2102.09542 (the data); lmms_eval/tasks/slake/utils.py of lmms-eval at 75571cf (the rule).
"""

import string
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.scoring.filters import UNPARSED

Doc = Mapping[str, Any]
YES = frozenset(("yes", "yeah", "yep", "true", "是", "是的", "有", "包含", "可以", "能", "会", "正常"))
NO = frozenset(
    ("no", "nope", "false", "否", "不是", "没有", "无", "不包含", "不能", "不会", "不可以", "不正常", "异常")
)
WIDE = "！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～、，。；：《》？【】（）"
PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation + WIDE, " "))


def english(dataset: Any) -> Any:
    """The questions in English."""
    return _of(dataset, "en")


def chinese(dataset: Any) -> Any:
    """The questions in Chinese."""
    return _of(dataset, "zh")


def _of(dataset: Any, language: str) -> Any:
    return dataset.select([row for row, stated in enumerate(dataset["q_lang"]) if stated.strip().lower() == language])


def doc_to_visual(doc: Doc) -> list[Any]:
    """The picture, which the hub has in imgs.zip."""
    return [f"imgs/{doc['img_name']}"]


def plain(text: str) -> str:
    """An answer without what stands in brackets, case and punctuation; all words for yes are one, and all for no."""
    text = _without(_without(text.strip().lower(), "(", ")"), "（", "）")
    text = " ".join(text.translate(PUNCTUATION).split())
    if text == "x ray":
        return "xray"
    return "yes" if text in YES else "no" if text in NO else text


def _without(text: str, opened: str, closed: str) -> str:
    """A text with a blank for each bracket up to the next that closes one, in time that grows with its length."""
    kept, at = list[str](), 0
    while (start := text.find(opened, at)) >= 0 and (end := text.find(closed, start)) >= 0:
        kept += [text[at:start], " "]
        at = end + 1
    return "".join([*kept, text[at:]])


def process_results(doc: Doc, results: Sequence[str | None]) -> dict[str, Any]:
    """1 if the whole reply is the answer; one without a word is unparsed."""
    said = plain(results[0] or "")
    return {"acc": float(bool(said) and said == plain(doc["answer"])), "__rule__": "words" if said else UNPARSED}
