"""A real server with OpenAI's protocol, in a thread of the test: it has every page that the adapter asks for, below any path."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]
BOS = 1


@dataclass(frozen=True)
class Asked:
    """A request: the address that it was sent to, and its body."""

    method: str
    host: str
    path: str
    key: str
    body: Body


def said(body: Body) -> str:
    """The text of the last message."""
    content = body["messages"][-1]["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Listening

    def do_GET(self) -> None:
        self._note({})
        models = self.server.models
        if self.server.loading > 0:
            self.server.loading -= 1
            return self._say(503, {})
        found = self.path.partition("?")[0].endswith("/models") and models is not None
        self._say(200 if found else 404, {"object": "list", "data": models} if found else {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self._note(body)
        page = self.path.partition("?")[0].rpartition("/")[2]
        if page == "tokenize":
            text = body.get("prompt") or "".join(str(each["content"]) for each in body.get("messages", ()))
            self._say(200, {"tokens": [ord(sign) for sign in text], "count": len(text)})
        elif page == "detokenize":
            self._say(200, {"prompt": "".join(chr(token) for token in body["tokens"])})
        elif page == "completions":
            self._say(200, self._completion(body))
        else:
            self._say(404, {"detail": "Not Found"})

    def _completion(self, body: Body) -> Body:
        chat = "messages" in body
        text = self.server.answer(body) if chat else "echo"
        top = [{"token": token, "logprob": ll} for token, ll in ((" A", -0.5), (" B", -1.5))]
        logprobs = {"content": [{"top_logprobs": top}]} if chat else {"top_logprobs": [{" A": -0.5, " B": -1.5}]}
        content = {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
        choice = {**content, "finish_reason": "stop", **({"logprobs": logprobs} if body.get("logprobs") else {})}
        return {
            "choices": [choice],
            "model": self.server.names(body["model"]),
            "usage": {"prompt_tokens": 7, "completion_tokens": 1},
            **self.server.more,
        }

    def _note(self, body: Body) -> None:
        headers = self.headers
        asked = Asked(self.command, headers["host"], self.path, headers.get("authorization", ""), body)
        self.server.asked.append(asked)

    def _say(self, status: int, content: Body) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None: ...


class Listening(ThreadingHTTPServer):
    """answer: makes the text of a chat's answer. models: entries of /v1/models; None: it has no such page.

    names: the model of a reply, by the name in the request. more: further fields of a reply. asked: all requests.
    loading: how many requests for the list of models are answered as by a server that still loads.
    """

    request_queue_size = 128
    daemon_threads = True

    def __init__(self, answer: Callable[[Body], str] = said, models: list[Any] | None = None, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.answer, self.models = answer, models
        self.names: Callable[[str], str] = lambda name: name
        self.more: Body = {}
        self.loading = 0
        self.asked: list[Asked] = []

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def url(self) -> str:
        return f"{self.root}/v1"

    @property
    def questions(self) -> list[Body]:
        """The bodies of the chats."""
        return [each.body for each in self.asked if each.path.partition("?")[0].endswith("/chat/completions")]


@contextmanager
def listening(
    answer: Callable[[Body], str] = said, models: list[Any] | None = None, port: int = 0
) -> Iterator[Listening]:
    server = Listening(answer, models, port)
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
