#!/usr/bin/env bash
# LiteLLM passes a request on to a server of OpenAI's protocol. What becomes of five stop strings?
#
# Guess: all five are sent, since a vLLM server takes any number, or the call fails, since OpenAI takes four.
# Seen: the first four are sent, to `openai/` and to `hosted_vllm/` alike, without a word. So an answer that the fifth should have ended goes on: a
# client that trusts the server to cut (or asks through LiteLLM's proxy) reads more than it asked for. stop=["###", "\n\n", ...] of a few-shot prompt
# is such a list.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check litellm==1.106.2 || exit 2
cd "$folder"
LITELLM_LOCAL_MODEL_COST_MAP=True "$folder/venv/bin/python" - <<'PYTHON'
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import version

import litellm

print("litellm", version("litellm"))
WORDS = "zero one two three four five six"
seen = []


class Server(BaseHTTPRequestHandler):
    """Answers with the words before the first stop string that it gets."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        seen.append(body.get("stop"))
        text = WORDS
        for stop in body.get("stop") or []:
            text = text.partition(stop)[0]
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        reply = json.dumps({"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
stops = ["A", "B", "C", "D", "two"]
said = []
for provider in ("openai", "hosted_vllm"):
    found = litellm.completion(
        model=f"{provider}/m", api_base=f"http://127.0.0.1:{server.server_port}/v1", api_key="none", stop=stops,
        messages=[{"role": "user", "content": "Count."}],
    )  # fmt: skip
    said.append(found.choices[0].message.content)
    print(f"{provider}: guess {stops} sent and 'zero one ' answered; seen {seen[-1]} sent and {said[-1]!r} answered")
sys.exit(not (seen == [stops[:4]] * 2 and said == [WORDS] * 2))
PYTHON
