"""HellaSwag: the texts of a question without the marks that its sources left in them.

Source: Zellers et al. 2019, arXiv:1905.07830; the cleaning is that of lm-eval's task, which reported numbers use.
"""

import re
from collections.abc import Mapping
from typing import Any

_BRACKETS = re.compile(r"\[.*?\]")


def clean(text: str) -> str:
    """A text without WikiHow's marks: "[title]" begins a sentence, other brackets go, and pairs of blanks become one."""
    text = text.strip().replace(" [title]", ". ")
    return _BRACKETS.sub("", text).replace("  ", " ")


def context(doc: Mapping[str, Any]) -> str:
    """The topic and the context; its second part begins the sentence that is to be completed."""
    return clean(f"{doc['activity_label']}: {doc['ctx_a']} {doc['ctx_b'].capitalize()}")


def endings(doc: Mapping[str, Any]) -> list[str]:
    """The four endings."""
    return [clean(ending) for ending in doc["endings"]]


def source(doc: Mapping[str, Any]) -> str:
    """Where a question is from: "activitynet" or "wikihow"."""
    return str(doc["source_id"]).partition("~")[0]
