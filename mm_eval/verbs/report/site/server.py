"""Serves run folders on this machine alone: `mm-eval view RUNS`. The only file that imports uvicorn.

The socket is bound to 127.0.0.1. Nothing is written but pages in a temporary folder.
"""

from __future__ import annotations

import secrets
import signal
import socket
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from mm_eval.values.errors import ConfigError
from mm_eval.verbs.report.site.runs import Shown

HOST = "127.0.0.1"


def serve(
    folders: Sequence[Path],
    port: int,
    said: Callable[[str], None],
    include_path: str | None = None,
    find: Callable[[], Sequence[Path]] | None = None,
) -> None:
    """Serves run folders until it is interrupted (KeyboardInterrupt). port: 0 for a free one. said: gets the address.

    find: the folders now, so that runs that begin later are shown.

    Errors: ConfigError without starlette and uvicorn, and for a port that is taken.
    """
    try:
        import uvicorn

        from mm_eval.verbs.report.site.app import app_of
    except ImportError as error:
        hint = "pip install 'mm-eval[view]'"
        raise ConfigError("mm-eval view needs starlette and uvicorn.", hint=hint) from error
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
        except OSError as error:
            hint = "Choose another with --port, or leave it out."
            raise ConfigError(f"port {port} can't be used: {error.strerror}.", hint=hint) from error
        listening.listen(128)  # before the address is printed: a request may come at once
        with tempfile.TemporaryDirectory(prefix="mm-eval-view-", ignore_cleanup_errors=True) as pages:
            shown, token = Shown(folders, Path(pages), include_path, find), secrets.token_urlsafe(24)
            port = listening.getsockname()[1]
            settings = uvicorn.Config(
                app_of(shown, token, (f"{HOST}:{port}", f"localhost:{port}")),
                log_level="error",
                access_log=False,
                server_header=False,
                date_header=False,
                lifespan="off",
                timeout_graceful_shutdown=1,
            )
            try:
                shown.prepare()
                said(f"http://{HOST}:{port}/{token}/")
                server = uvicorn.Server(settings)  # ends by itself on SIGINT and SIGTERM
                # An exception raised in the handler would be lost where it meets a request that is being answered.
                signal.signal(signal.SIGHUP, lambda *_: setattr(server, "should_exit", True))
                server.run(sockets=[listening])
            finally:
                shown.stop()
