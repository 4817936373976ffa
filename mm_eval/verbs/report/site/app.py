"""The pages of `mm-eval view` as an application. The only file that imports starlette.

- Only requests to its own address are answered, so that no other site's name can lead here.
- Every address begins with a random token, compared in constant time. Without it every answer is 404.
- Only GET and HEAD are answered.
- A request names a run, a number or a digest, never a path. Links to outside of a run folder are not followed.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from mm_eval.results.media import DIGEST
from mm_eval.results.page import asset
from mm_eval.values.errors import MMEvalError
from mm_eval.values.run_files import UNREADABLE, odd_content
from mm_eval.values.safe import html
from mm_eval.verbs.report.site.parts import PAGE
from mm_eval.verbs.report.site.runs import Shown, ShownRun

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

INDEX = "runs.html"
HEADERS = {
    "content-security-policy": "default-src 'none'; img-src 'self' data:; media-src 'self' data:; style-src 'unsafe-inline'; "
    "script-src 'self' 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
"""Of every answer. The referrer would give the token away."""


def app_of(shown: Shown, token: str, hosts: Sequence[str]) -> ASGIApp:
    """The application. hosts: the addresses ("127.0.0.1:8000") under which it answers."""
    pages = _Pages(shown)
    routes = {
        "/": pages.first,
        f"/{INDEX}": pages.index,
        "/together/{name}.html": pages.together,
        "/together/{name}.js": pages.changes,
        f"/{{run}}/{PAGE}": pages.run_page,
        "/{run}/rows/{number}.js": pages.rows,
        "/{run}/live.js": pages.live,
        "/{run}/thumbnails/{start}/{digest}.jpg": pages.thumbnail,
        "/{run}/pictures/{start}/{digest}": pages.full_size,
    }
    app = Starlette(
        routes=[Route(path, said(page), methods=["GET"]) for path, page in routes.items()],
        exception_handlers={MMEvalError: _failed},
    )
    return Guard(app, token, hosts)


class _Pages:
    """What is answered to each request."""

    def __init__(self, shown: Shown) -> None:
        self._shown = shown

    def first(self, request: Request) -> Response:
        """The page of a single run, that of all runs together if there is one, else the index."""
        self._shown.look_for_new()
        if len(self._shown.runs) == 1:
            return RedirectResponse(f"{next(iter(self._shown.runs))}/{PAGE}")
        if (name := self._shown.together.first) is not None:
            return RedirectResponse(f"together/{name}.html")
        return self.index(request)

    def index(self, request: Request) -> Response:
        return HTMLResponse(self._shown.index())

    def together(self, request: Request) -> Response:
        page = self._together(request)
        return HTMLResponse("".join(f"{piece}\n" for piece in page.page()))

    def changes(self, request: Request) -> Response:
        self._shown.look_for_new()
        self._together(request)
        state = request.query_params.get("state", "")
        return _script(self._shown.together.script(request.path_params["name"], state))

    def _together(self, request: Request) -> Any:
        page = self._shown.together.pages.get(request.path_params["name"])
        if page is None:
            raise HTTPException(404)
        return page

    def run_page(self, request: Request) -> Response:
        pieces = self._shown.run_page(self._run(request))
        if isinstance(pieces, str):
            return HTMLResponse(notice(pieces), headers={"refresh": "1"} if pieces.startswith("Reading") else {})
        return HTMLResponse("".join(f"{piece}\n" for piece in pieces))

    def rows(self, request: Request) -> Response:
        number = str(request.path_params["number"])
        if not re.fullmatch(r"[0-9]{1,9}", number):
            raise HTTPException(404)
        content = self._shown.part(self._run(request), int(number))
        return _script(content) if content is not None else Response(status_code=404)

    def live(self, request: Request) -> Response:
        since = request.query_params.get("from", "")
        if not re.fullmatch(r"\d{1,12}", since):
            return Response(status_code=404)
        return _script(self._shown.live_part(self._run(request), int(since)))

    def thumbnail(self, request: Request) -> Response:
        return _picture("image/jpeg", self._run(request).thumbnail(_digest(request)))

    def full_size(self, request: Request) -> Response:
        return _picture(*(self._run(request).full_size(_digest(request)) or ("", None)))

    def _run(self, request: Request) -> ShownRun:
        run = self._shown.runs.get(request.path_params["run"])
        if run is None:
            raise HTTPException(404)
        return run


def _digest(request: Request) -> str:
    digest = str(request.path_params["digest"])
    if not DIGEST.fullmatch(digest) or request.path_params["start"] != digest[:2]:
        raise HTTPException(404)
    return digest


def _script(content: str | bytes) -> Response:
    return Response(content, media_type="text/javascript", headers={"cache-control": "no-store"})


def _picture(mime: str, content: bytes | None) -> Response:
    if content is None or not mime.startswith(("image/", "audio/")):
        return Response(status_code=404)
    return Response(content, media_type=mime, headers={"cache-control": "private, max-age=86400, immutable"})


def _failed(request: Request, error: Exception) -> Response:
    return HTMLResponse(notice(str(error)), status_code=500)


def said(page: Callable[[Request], Response]) -> Callable[[Request], Response]:
    """A page that says so where a run folder is not what a run writes."""

    def answer(request: Request) -> Response:
        try:
            return page(request)
        except (OSError, *UNREADABLE) as error:
            return _failed(request, odd_content(error, str(request.path_params.get("run", ""))))

    return answer


class Guard:
    """Lets a request through that has the token and is for this host, and puts `HEADERS` on every answer."""

    def __init__(self, app: ASGIApp, token: str, hosts: Sequence[str]) -> None:
        self._app, self._token, self._hosts = app, token.encode(), hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                kept = [pair for pair in message.get("headers", []) if pair[0].decode() not in HEADERS]
                message = {**message, "headers": [*kept, *own]}
            await send(message)

        if scope["type"] != "http":
            return
        hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        token, _, rest = scope["path"].removeprefix("/").partition("/")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            await _answer(403, with_headers)
        elif not hmac.compare_digest(token.encode(), self._token) or not scope["path"].startswith(f"/{token}/"):
            await _answer(404, with_headers)
        elif scope["method"] not in ("GET", "HEAD"):
            await _answer(405, with_headers)
        else:
            inner = {**scope, "path": f"/{rest}", "root_path": "", "raw_path": f"/{rest}".encode()}
            await self._app(inner, receive, with_headers)


async def _answer(status: int, send: Send) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": f"{status}\n".encode()})


def notice(text: str) -> str:
    """A page of one sentence."""
    style = asset("report.css")
    head = f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>mm-eval view</title><style>{style}</style></head>'
    return f'{head}<body><main><h1>mm-eval view</h1><p role="status">{html(text)}</p></main></body></html>'
