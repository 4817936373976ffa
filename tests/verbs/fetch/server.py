"""A server of files in this process, with ranges, versions and connections that end early."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class FileServer:
    """files: {path: content}. versions: {path: ETag}. breaks: {path: after how many bytes its next answers end}.

    asked: (path, the Range header) of each request.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    breaks: dict[str, list[int]] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    url: str = ""


@contextmanager
def serving_files() -> Iterator[FileServer]:
    """A server on a free port of 127.0.0.1."""
    server = FileServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else the body waits 40 ms for the receipt of the headers

        def do_GET(self) -> None:
            path, wanted = self.path, self.headers.get("Range", "")
            server.asked.append((path, wanted))
            if path not in server.files:
                return self.send_error(404)
            content, version = server.files[path], server.versions.get(path, '"1"')
            start = 0
            if wanted and self.headers.get("If-Range") == version:
                start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            self.send_header("ETag", version)
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            left = server.breaks.get(path) or [len(content)]
            self.wfile.write(content[start : start + left.pop(0)])
            if server.breaks.get(path) is not None:
                self.close_connection = True

        def log_message(self, *args: object) -> None:
            return None

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.url = f"http://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
