"""Serves run folders on this machine alone: `mm-eval view RUNS`. The only file that imports starlette and uvicorn.

- The socket is bound to 127.0.0.1, and a request with another Host is refused, so that no other site's name can lead here.
- Every address begins with a random token, compared in constant time. Without it every answer is 404.
- Nothing is written but pages in a temporary folder, and only GET and HEAD are answered.
- A request names a run, a number or a digest, never a path. Links to outside of a run folder are not followed.
"""

from __future__ import annotations

import hmac
import re
import secrets
import socket
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mm_eval.errors import ConfigError, MMEvalError
from mm_eval.report.page import asset
from mm_eval.report.safe import html
from mm_eval.report.site.parts import PAGE
from mm_eval.report.site.runs import Shown, ShownRun
from mm_eval.report.thumbnails import DIGEST

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOST = "127.0.0.1"
HEADERS = {
    "content-security-policy": "default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'; "
    "script-src 'self' 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
"""Of every answer. The referrer would give the token away."""


def serve(folders: Sequence[Path], port: int, said: Callable[[str], None]) -> None:
    """Serves run folders until it is interrupted (KeyboardInterrupt). port: 0 for a free one. said: gets the address.

    Errors: ConfigError without starlette and uvicorn, and for a port that is taken.
    """
    try:
        import uvicorn
    except ImportError as error:
        raise _lacking() from error
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
        except OSError as error:
            hint = "Choose another with --port, or leave it out."
            raise ConfigError(f"port {port} can't be used: {error.strerror}.", hint=hint) from error
        listening.listen(128)  # before the address is printed: a request may come at once
        with tempfile.TemporaryDirectory(prefix="mm-eval-view-", ignore_cleanup_errors=True) as pages:
            shown, token = Shown(folders, Path(pages)), secrets.token_urlsafe(24)
            app = app_of(shown, token, listening.getsockname()[1])
            settings = uvicorn.Config(
                app,
                log_level="error",
                access_log=False,
                server_header=False,
                date_header=False,
                lifespan="off",
                timeout_graceful_shutdown=1,
            )
            shown.prepare()
            said(f"http://{HOST}:{listening.getsockname()[1]}/{token}/")
            uvicorn.Server(settings).run(sockets=[listening])


def app_of(shown: Shown, token: str, port: int) -> ASGIApp:
    """The application, for a server that listens at a port."""
    try:
        from starlette.applications import Starlette
        from starlette.exceptions import HTTPException
        from starlette.responses import HTMLResponse, RedirectResponse, Response
        from starlette.routing import Route
    except ImportError as error:
        raise _lacking() from error

    def run_of(request: Request) -> ShownRun:
        run = shown.runs.get(request.path_params["run"])
        if run is None:
            raise HTTPException(404)
        return run

    def digest_of(request: Request) -> str:
        digest = str(request.path_params["digest"])
        if not DIGEST.fullmatch(digest) or request.path_params["start"] != digest[:2]:
            raise HTTPException(404)
        return digest

    def index(request: Request) -> Response:
        if len(shown.runs) == 1:
            return RedirectResponse(f"{next(iter(shown.runs))}/{PAGE}")
        return HTMLResponse(shown.index())

    def run_page(request: Request) -> Response:
        pieces = shown.run_page(run_of(request))
        if isinstance(pieces, str):
            return HTMLResponse(notice(pieces), headers={"refresh": "1"} if pieces.startswith("Reading") else {})
        return HTMLResponse("".join(f"{piece}\n" for piece in pieces))

    def rows(request: Request) -> Response:
        content = shown.part(run_of(request), request.path_params["number"])
        return script(content) if content is not None else Response(status_code=404)

    def live(request: Request) -> Response:
        since = request.query_params.get("from", "")
        if not re.fullmatch(r"\d{1,12}", since):
            return Response(status_code=404)
        return script(shown.live_part(run_of(request), int(since)))

    def script(content: str | bytes) -> Response:
        return Response(content, media_type="text/javascript", headers={"cache-control": "no-store"})

    def thumbnail(request: Request) -> Response:
        return picture(("image/jpeg", run_of(request).thumbnail(digest_of(request))))

    def full_size(request: Request) -> Response:
        return picture(run_of(request).full_size(digest_of(request)) or ("", None))

    def picture(found: tuple[str, bytes | None]) -> Response:
        mime, content = found
        if content is None or not mime.startswith("image/"):
            return Response(status_code=404)
        return Response(content, media_type=mime, headers={"cache-control": "private, max-age=86400, immutable"})

    def failed(request: Request, error: Exception) -> Response:
        return HTMLResponse(notice(str(error)), status_code=500)

    at = f"/{{run}}/{PAGE}"
    routes = [
        Route("/", index, methods=["GET"]),
        Route(at, run_page, methods=["GET"]),
        Route("/{run}/rows/{number:int}.js", rows, methods=["GET"]),
        Route("/{run}/live.js", live, methods=["GET"]),
        Route("/{run}/thumbnails/{start}/{digest}.jpg", thumbnail, methods=["GET"]),
        Route("/{run}/pictures/{start}/{digest}", full_size, methods=["GET"]),
    ]
    app = Starlette(routes=routes, exception_handlers={MMEvalError: failed})
    return Guard(app, token, (f"{HOST}:{port}", f"localhost:{port}"))


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


def _lacking() -> ConfigError:
    return ConfigError("mm-eval view needs starlette and uvicorn.", hint="pip install 'mm-eval[view]'")
