"""What the built site has beyond the files in docs/.

Links to source files of the core lead to the reference page with their source, and gallery/samples/ holds pages of real runs of
the bundled models, which `mkdocs serve` does not make.
"""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import Any

_built = False


def on_startup(command: str, **kwargs: Any) -> None:
    """Remembers whether the site is built or served."""
    global _built
    _built = command == "build"


def on_post_build(config: Any, **kwargs: Any) -> None:
    """Writes the pages of the gallery."""
    if _built:
        sys.path.insert(0, str(Path(__file__).parent))
        from gallery import write_gallery

        write_gallery(Path(config.site_dir) / "gallery" / "samples")


def on_page_markdown(markdown: str, page: Any, **kwargs: Any) -> str:
    """Rewrites `](../mm_eval/engine/ask.py)` to the place of that module in reference/core.md."""
    core = posixpath.relpath("reference/core.md", posixpath.dirname(page.file.src_uri) or ".")

    def rewritten(found: re.Match[str]) -> str:
        return f"]({core}#{found[1].removesuffix('.py').replace('/', '.')})"

    return re.sub(r"\]\((?:\.\./)+(mm_eval/[\w/]+\.py)\)", rewritten, markdown)
