"""Scripted vendors on 127.0.0.1: Anthropic's messages, Gemini's generateContent and Azure OpenAI, in their documented shapes.

A question gets the next scripted reply, or the vendor's ordinary "Yes". What a vendor documents as required is checked: the
address, the header of the key, and the form of pictures.
"""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

KEY = "a-key-of-a-vendor-0123456789"
Reply = tuple[int, dict[str, str], dict[str, Any]]


def anthropic(text: str | None = "Yes", **fields: Any) -> Reply:
    content = [] if text is None else [{"type": "text", "text": text}]
    usage = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 2,
        "cache_read_input_tokens": 5,
        "output_tokens": 3,
    }
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-test-20260101",
        "content": content,
    }
    return 200, {}, message | {"stop_reason": "end_turn", "stop_sequence": None, "usage": usage} | fields


def gemini(text: str | None = "Yes", reason: str | None = "STOP", parts: Any = None, **fields: Any) -> Reply:
    said = {} if text is None else {"content": {"role": "model", "parts": parts or [{"text": text}]}}
    usage = {
        "promptTokenCount": 10,
        "candidatesTokenCount": 3,
        "thoughtsTokenCount": 7,
        "totalTokenCount": 20,
        "cachedContentTokenCount": 4,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 4}, {"modality": "IMAGE", "tokenCount": 6}],
    }
    candidate = {**said, "index": 0} | ({"finishReason": reason} if reason else {})
    body = {
        "candidates": [candidate],
        "usageMetadata": usage,
        "modelVersion": "gemini-test-001",
        "responseId": "r",
    } | fields
    return 200, {}, {name: value for name, value in body.items() if value is not None}


def azure(text: str | None = "Yes", reason: str | None = "stop", **fields: Any) -> Reply:
    message = {"role": "assistant", "content": text, "refusal": None} | fields
    choice = {"index": 0, "message": message, "finish_reason": reason, "content_filter_results": {}}
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 3,
        "total_tokens": 13,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-test-2026",
        "choices": [choice],
    }
    return 200, {}, {**body, "usage": usage}


class Vendor(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else the body waits 40 ms for the receipt of the headers
    server: "Vendors"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        address = urlsplit(self.path)
        if address.path.endswith("/v1/messages"):
            key, usual, shown = self.headers["x-api-key"], anthropic(), pictures_of_anthropic(body)
            right = self.headers["anthropic-version"] == "2023-06-01" and type(body["max_tokens"]) is int
        elif ":generateContent" in address.path:
            key, usual, shown = self.headers["x-goog-api-key"], gemini(), pictures_of_gemini(body)
            right = "contents" in body
        else:
            key, usual, shown = self.headers["api-key"], azure(), pictures_of_azure(body)
            right = address.path == "/openai/deployments/dep/chat/completions" and "api-version" in parse_qs(
                address.query
            )
        with self.server.lock:
            self.server.bodies.append(body)
            self.server.pictures.append(shown)
            reply = self.server.replies.pop(0) if self.server.replies else usual
        if key != KEY or not right:
            reply = (401, {}, {"error": {"type": "authentication_error", "message": f"invalid key {key}"}})
        status, headers, said = reply
        data = json.dumps(said).encode()
        self.send_response(status)
        for name, value in {**headers, "content-type": "application/json", "content-length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None: ...


def digest(encoded: str) -> str:
    return hashlib.sha256(base64.b64decode(encoded, validate=True)).hexdigest()


def pictures_of_anthropic(body: dict[str, Any]) -> list[str]:
    """What is shown, in order: texts as they are, pictures as digests of their files."""
    parts = [part for message in body["messages"] for part in message["content"]]
    for part in parts:
        if part["type"] == "image":
            assert part["source"]["type"] == "base64" and part["source"]["media_type"] in ("image/png", "image/jpeg")
    return [part["text"] if part["type"] == "text" else digest(part["source"]["data"]) for part in parts]


def pictures_of_gemini(body: dict[str, Any]) -> list[str]:
    parts = [part for content in body["contents"] for part in content["parts"]]
    data = [part.get("inlineData") or part.get("inline_data") for part in parts]
    return [part["text"] if "text" in part else digest(shown["data"]) for part, shown in zip(parts, data, strict=True)]


def pictures_of_azure(body: dict[str, Any]) -> list[str]:
    found = []
    for message in body["messages"]:
        content = message["content"]
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if part["type"] == "input_audio":
                found.append(digest(part["input_audio"]["data"]))
                continue
            is_text = part["type"] == "text"
            found.append(part["text"] if is_text else digest(part["image_url"]["url"].partition(",")[2]))
    return found


class Vendors(ThreadingHTTPServer):
    """replies: scripted, first to last. bodies, pictures: of each request."""

    daemon_threads = True

    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Vendor)
        self.lock = threading.Lock()
        self.replies: list[Reply] = []
        self.bodies: list[dict[str, Any]] = []
        self.pictures: list[list[str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def serving() -> Iterator[Vendors]:
    server = Vendors()
    thread = threading.Thread(target=server.serve_forever, args=[0.01], daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
