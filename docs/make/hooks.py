"""What the built site has beyond the files in docs/.

Tables are filled from data files and scripts (docs/make/tables.py). Links to source files of the core lead to the reference page
with their source. gallery/samples/ holds pages of real runs of the bundled models, which `mkdocs serve` does not make.
"""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import Any

PUBLIC = {"mm_eval.values.types": "mm_eval.types", "mm_eval.values.errors": "mm_eval.errors"}
"""The public name of a module whose reference stands under it."""
_built = False


def on_startup(command: str, **kwargs: Any) -> None:
    """Remembers whether the site is built or served, and lets hooks import the other scripts of this folder."""
    global _built
    _built = command == "build"
    sys.path.insert(0, str(Path(__file__).parent))


def on_post_build(config: Any, **kwargs: Any) -> None:
    """Writes the pages of the gallery."""
    if _built:
        from gallery import write_gallery

        write_gallery(Path(config.site_dir) / "gallery" / "samples")


def on_page_markdown(markdown: str, page: Any, **kwargs: Any) -> str:
    """Fills the tables, and rewrites `](../mm_eval/engine/ask.py)` to the place of that module in reference/core.md."""
    from tables import filled

    text: str = filled(markdown, Path(page.file.abs_src_path).parent)
    core = posixpath.relpath("reference/core.md", posixpath.dirname(page.file.src_uri) or ".")

    def rewritten(found: re.Match[str]) -> str:
        module = found[1].removesuffix(".py").replace("/", ".")
        return f"]({core}#{PUBLIC.get(module, module)})"

    return re.sub(r"\]\((?:\.\./)+(mm_eval/[\w/]+\.py)\)", rewritten, text)
