"""One file from the web: resumed where it stopped, checked, and complete if it has its name."""

from __future__ import annotations

import hashlib
import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from mm_eval.values.errors import ConfigError, NotHereError
from mm_eval.values.safe import in_line

PIECE = 1 << 20
TRIES = 3
SECONDS = 60
"""How long a server may stay silent."""


class Unreachable(NotHereError):
    """The server can't be reached at all."""


def download(
    url: str, target: Path, md5: str | None = None, report: Callable[[int, int | None], None] | None = None
) -> None:
    """Downloads a file to `target`, which is complete if it exists. What an earlier call got is not asked for again.

    md5: of the whole file. report: called with (bytes there, bytes in all or None).
    Errors: Unreachable; NotHereError if the server refuses or ends early; ConfigError for other content than `md5` says.
    """
    if urlsplit(url).scheme not in ("http", "https"):
        raise ConfigError(f"{url!r} is not a web address.")
    if target.exists() and md5 is None:
        return
    partial = target.with_name(f"{target.name}.partial")
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        target.replace(partial)  # checked again below
    elif not _complete(partial, url):
        _try_often(url, partial, report)
    if md5 is not None and (found := _md5(partial)) != md5:
        partial.unlink()
        what = f"{url} has changed: its md5 is {found}, and {md5} was expected."
        raise ConfigError(
            what, hint="It was deleted. If the authors changed the file, scores may differ: see their page."
        )
    partial.replace(target)
    _state(partial).unlink(missing_ok=True)


def _complete(partial: Path, url: str) -> bool:
    """Whether an earlier call had got all of it and was stopped before it said so."""
    with suppress(OSError, ValueError):
        known, _, size = _state(partial).read_text("utf-8").partition("\n")
        return size.startswith("whole ") and known == url and int(size[6:]) == partial.stat().st_size
    return False


def _try_often(url: str, partial: Path, report: Callable[[int, int | None], None] | None) -> None:
    for attempt in range(TRIES):
        try:
            return _get(url, partial, report)
        except urllib.error.HTTPError as error:
            if error.code < 500 and error.code != 429 or attempt == TRIES - 1:
                raise NotHereError(
                    f"{url}: the server answered {error.code} ({in_line(str(error.reason))})."
                ) from error
        except urllib.error.URLError as error:
            if attempt == TRIES - 1:
                hint = "Run the same command where it can be reached; finished files are kept."
                raise Unreachable(
                    f"{urlsplit(url).netloc} can't be reached: {in_line(str(error.reason))}.", hint=hint
                ) from error
        except (OSError, http.client.HTTPException, EOFError) as error:
            if attempt == TRIES - 1:
                hint = "The same command continues there."
                raise NotHereError(
                    f"{url} ended early: {in_line(str(error) or type(error).__name__)}.", hint=hint
                ) from error
        time.sleep(attempt)


def _get(url: str, partial: Path, report: Callable[[int, int | None], None] | None) -> None:
    """One request for what is missing. EOFError if the server sent less than it had announced."""
    there = partial.stat().st_size if partial.exists() else 0
    headers = {"User-Agent": "mm-eval"}
    mark = _mark(partial, url)
    if there and mark:
        headers |= {"Range": f"bytes={there}-", "If-Range": mark}
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=SECONDS) as answer:
        resumed = answer.status == 206 and answer.headers.get("Content-Range", "").startswith(f"bytes {there}-")
        if not resumed:
            there = 0
        length = answer.headers.get("Content-Length")
        whole = there + int(length) if length is not None and length.isdecimal() else None
        newest = answer.headers.get("ETag") or answer.headers.get("Last-Modified") or ""
        _state(partial).write_text(f"{url}\n{'' if newest.startswith('W/') else newest}", "utf-8")
        with partial.open("ab" if resumed else "wb") as file:
            while piece := answer.read(PIECE):
                file.write(piece)
                there += len(piece)
                if report is not None:
                    report(there, whole)
            file.flush()
            os.fsync(file.fileno())
    if whole is not None and there < whole:
        raise EOFError(f"{there:,} of {whole:,} bytes")
    _state(partial).write_text(f"{url}\nwhole {there}", "utf-8")


def _state(partial: Path) -> Path:
    """Where the address and the version of a partial file stand, so that two versions are never joined."""
    return partial.with_name(f".{partial.name}-state")


def _mark(partial: Path, url: str) -> str:
    with suppress(OSError):
        known, _, mark = _state(partial).read_text("utf-8").partition("\n")
        return mark if known == url and not mark.startswith("whole ") else ""
    return ""


def _md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
