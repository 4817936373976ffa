"""`python http_server.py PORT_FILE LATENCY FAULTS [ECHO_HEADERS]`: a real OpenAI-compatible server in a process of its own.

Answers "Yes" after LATENCY seconds; a share FAULTS of the requests fails in one of the ways that pass.
"""

import asyncio
import json
import random
import sys
from pathlib import Path

port_file, latency, faults = Path(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
tells = len(sys.argv) > 4
draw = random.Random(0)


def answer(headers: bytes) -> bytes:
    text = f"Yes {headers.decode(errors='replace')}" if tells else "Yes"
    usage = {"prompt_tokens": 10, "completion_tokens": 1}
    choices = [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]
    return json.dumps({"choices": choices, "usage": usage}).encode()


def response(status: str, body: bytes, length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    return f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {size}\r\n\r\n".encode() + body


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            headers = await reader.readuntil(b"\r\n\r\n")
            sizes = [int(line.split(b":")[1]) for line in headers.lower().splitlines() if b"content-length" in line]
            await reader.readexactly(sum(sizes))
            if any(path in headers.split(b"\r\n")[0] for path in (b"/tokenize", b"/models")):  # it has neither
                writer.write(response("404 Not Found", b"{}"))
                await writer.drain()
                continue
            await asyncio.sleep(latency)
            if draw.random() < faults:
                kind = draw.randrange(4)
                if kind == 0:
                    writer.write(response("500 Internal Server Error", b"oops"))
                elif kind == 1:
                    writer.write(response("200 OK", b"<html>Bad gateway</html>"))
                elif kind == 2:
                    writer.write(response("200 OK", b'{"choices": [', 500))
                    break
                else:
                    break
            elif tells and draw.random() < 0.3:
                writer.write(response("400 Bad Request", b"your headers were: " + headers))
            else:
                writer.write(response("200 OK", answer(headers)))
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=512)
    port_file.write_text(str(server.sockets[0].getsockname()[1]))
    await server.serve_forever()


asyncio.run(main())
