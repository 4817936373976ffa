"""What our connections to a server cost alone, and aiohttp's in turns with them: CPU milliseconds a request of the client.

    pip install --target FOLDER aiohttp==3.14.5
    PYTHONPATH=FOLDER python benchmarks/connections.py [--requests 2000] [--size 400] [--flight 64] [--delay 0] [--rounds 5]

The server of server.py answers in a process of its own, and each client asks in one of its own, too. All requests have the same
body of `size` bytes, and each reply is read whole. So many connections are open as requests are in flight; what is imported and
the first reply on each connection are not counted. Without aiohttp ours are measured alone.
Prints each client's median (lowest to highest), and the median ratio of ours to aiohttp's within a round.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable

from server import serving

CLIENTS = ("ours", "aiohttp")
Send = Callable[[], Awaitable[bytes]]
HEADERS = {"Content-Type": "application/json", "Authorization": "Bearer none"}


async def in_flight(send: Send, requests: int, flight: int) -> float:
    """CPU milliseconds a request."""

    async def some(count: int) -> None:
        for _ in range(count):
            reply = await send()
            assert json.loads(reply)["choices"], reply

    await asyncio.gather(*(some(1) for _ in range(flight)))
    before = time.process_time()
    await asyncio.gather(*(some(requests // flight) for _ in range(flight)))
    return 1000 * (time.process_time() - before) / (requests // flight * flight)


async def ours(url: str, body: bytes, requests: int, flight: int) -> float:
    """By `Lanes`, as the client of models/openai uses them."""
    import httpx
    from mm_eval.models.openai.client.transport import Lanes

    lanes = Lanes()

    async def send() -> bytes:
        reply = await lanes.handle_async_request(httpx.Request("POST", url, headers=HEADERS, content=body))
        content: bytes = reply.content
        return content

    try:
        return await in_flight(send, requests, flight)
    finally:
        await lanes.aclose()


async def aiohttps(url: str, body: bytes, requests: int, flight: int) -> float:
    """By a session of aiohttp without a limit of its own."""
    import aiohttp  # type: ignore[import-not-found,unused-ignore]

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), headers=HEADERS) as session:

        async def send() -> bytes:
            async with session.post(url, data=body) as reply:
                content: bytes = await reply.read()
                return content

        return await in_flight(send, requests, flight)


def measure(client: str, args: argparse.Namespace) -> float:
    """CPU milliseconds a request of a client in a process of its own."""
    with serving(args.delay) as (base, _):
        words = ["--client", client, "--url", f"{base}/chat/completions", "--size", args.size]
        words += ["--requests", args.requests, "--flight", args.flight]
        done = subprocess.run([sys.executable, __file__, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--size", type=int, default=400)
    parser.add_argument("--flight", type=int, default=64)
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--client", choices=CLIENTS, help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.client:
        ask = ours if args.client == "ours" else aiohttps
        body = json.dumps({"model": "m", "text": ""}).encode()
        body = body[:-2] + b"x" * max(0, args.size - len(body)) + body[-2:]
        print(asyncio.run(ask(args.url, body, args.requests, args.flight)))
        return
    clients = [each for each in CLIENTS if each == "ours" or importlib.util.find_spec(each)]
    found: dict[str, list[float]] = {client: [] for client in clients}
    for _ in range(args.rounds):
        for client in clients:
            found[client].append(measure(client, args))
    for client, times in found.items():
        print(f"{client}: {statistics.median(times):.3f} ms ({min(times):.3f} to {max(times):.3f}, n={len(times)})")
    if len(found) > 1:
        ratios = [own / other for own, other in zip(*found.values(), strict=True)]
        print(f"ours to aiohttp: {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
