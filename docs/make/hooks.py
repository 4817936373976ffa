"""On the built site, links to source files of the core lead to the reference page with their source."""

from __future__ import annotations

import posixpath
import re
from typing import Any


def on_page_markdown(markdown: str, page: Any, **kwargs: Any) -> str:
    """Rewrites `](../mm_eval/engine/ask.py)` to the place of that module in reference/core.md."""
    core = posixpath.relpath("reference/core.md", posixpath.dirname(page.file.src_uri) or ".")

    def rewritten(found: re.Match[str]) -> str:
        return f"]({core}#{found[1].removesuffix('.py').replace('/', '.')})"

    return re.sub(r"\]\((?:\.\./)+(mm_eval/[\w/]+\.py)\)", rewritten, markdown)
