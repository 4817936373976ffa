"""A scripted judge: an OpenAI-compatible server that grades by a rule on "Reference: x / Answer: y".

Words in a prompt make it fail: FAULT503, FAULTHTML, FAULTEMPTY ...

`python server.py PORT_FILE LOG [LATENCY]` serves in a process of its own; `serving()` in a thread of the test.
"""

import json
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

FAULTS = {
    "FAULT503": (503, "busy"),
    "FAULT429": (429, "slow down"),
    "FAULT401": (401, "who are you"),
    "FAULT400": (400, "no"),
}


def grade(prompt: str) -> str:
    """The rule: C where the answer is the reference."""
    found = re.search(r"Reference: (.*)\nAnswer: (.*)", prompt)
    return "C" if found and found[1].strip() == found[2].strip() else "I"


def replied(text: str, prompt: str) -> str:
    """For a test to replace."""
    return text


class Judge(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else the body waits 40 ms for the receipt of the headers
    asked: Counter[str]
    log: Path | None
    latency: float

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if not self.path.endswith("/chat/completions"):
            return self.say(404, "{}")
        content = body["messages"][-1]["content"]
        prompt = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
        if self.server.refuses in body:  # type: ignore[attr-defined]
            self.server.refused += 1  # type: ignore[attr-defined]
            said = f"Unrecognized request argument supplied: {self.server.refuses}"  # type: ignore[attr-defined]
            return self.say(400, json.dumps({"error": {"message": said}}))
        self.server.asked[prompt] += 1  # type: ignore[attr-defined]
        if self.server.log is not None:  # type: ignore[attr-defined]
            with self.server.log.open("a") as file:  # type: ignore[attr-defined]
                file.write(json.dumps(prompt) + "\n")
        time.sleep(self.server.latency)  # type: ignore[attr-defined]
        for word, (status, text) in FAULTS.items():
            if word in prompt:
                return self.say(status, text)
        if "FAULTHTML" in prompt:
            return self.say(200, "<html>Bad gateway</html>")
        text = replied(f"GRADE: {grade(prompt)}", prompt)
        if "FAULTEMPTY" in prompt:
            text = ""
        if "FAULTCHATTY" in prompt:
            text = "Well, 1 of 10, so GRADE: C or GRADE: I."
        if "FAULTONCE" in prompt and self.server.asked[prompt] < 2:  # type: ignore[attr-defined]
            text = "hm"
        model = body["model"] + ("-2026" if "FAULTMODEL" in prompt else "")
        finish = "stop"
        if "FAULTCUT " in prompt or "FAULTCUTONCE" in prompt and self.server.asked[prompt] < 2:  # type: ignore[attr-defined]
            text, finish = "GRADE: C", "length"
        if "FAULTFILTER" in prompt:
            text, finish = "GRADE: C", "content_filter"
        choices = [{"message": {"role": "assistant", "content": text}, "finish_reason": finish}]
        usage = {"prompt_tokens": 10, "completion_tokens": 3}
        reply = {"choices": choices, "model": model, "system_fingerprint": "fp_1", "usage": usage}
        return self.say(200, json.dumps(reply))

    def do_GET(self) -> None:
        self.say(404, "{}")

    def say(self, status: int, text: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None: ...


class Server(ThreadingHTTPServer):
    """asked: how often each prompt came. refuses: a field of the requests that it does not know. refused: requests with it."""

    request_queue_size = 128  # of five, a client that connects more often at once waits a second

    def __init__(self, log: Path | None = None, latency: float = 0.0) -> None:
        super().__init__(("127.0.0.1", 0), Judge)
        self.asked: Counter[str] = Counter()
        self.log, self.latency = log, latency
        self.refuses, self.refused = "", 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


@contextmanager
def serving() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=[0.01], daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


if __name__ == "__main__":
    made = Server(Path(sys.argv[2]), float(sys.argv[3]) if len(sys.argv) > 3 else 0.0)
    Path(sys.argv[1]).write_text(made.url)
    made.serve_forever()
