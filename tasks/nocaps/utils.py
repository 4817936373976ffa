"""nocaps: the domain of a picture, where the data has it.

Source: Agrawal et al. 2019, arXiv:1812.08658; `domain` is a field of the authors' annotation files (nocaps.org).
"""

from collections.abc import Mapping
from typing import Any


def domain(doc: Mapping[str, Any]) -> str | None:
    """ "in-domain", "near-domain" or "out-domain"; None in the hub's rows."""
    return doc.get("domain")
