"""Which server each attempt goes to, and how long an outage may last.

A new server gets one question first. The others follow when it replies, or after a short time without a failure. A server that
refuses connections or is still loading gets one question at a time (a probe), at growing intervals, and each time another
question, so that an outage uses up no question's retries. Meanwhile the other servers take over. If no server can be reached,
all questions wait; an outage that lasts too long ends the run.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from .errors import Closed, Fatal
from .flight import wake

log = logging.getLogger(__name__)

FIRST_OUTAGE, LATER_OUTAGE = 10.0, 300.0
"""Seconds after which an outage ends the run: if no server has ever replied, and if one has."""
FIRST_PROBE, SLOWEST_PROBE = 0.5, 10.0
"""Seconds between probes: doubled after each failure."""
FIRST_GRACE, LATER_GRACE = 0.2, 2.0
"""Seconds without a failure after which more questions follow the first one of a server, and a probe in an outage."""


@dataclass(eq=False)
class Server:
    """The state of one server.

    open: questions may be sent to it. due: if it is not open, it may be probed. probed: a probe is in flight.
    heard_at: time of its last reply. down_since: time of the first failure after that reply.
    """

    url: str
    open: bool = False
    probed: bool = False
    heard_at: float = float("-inf")
    down_since: float | None = None
    due: bool = True
    failures: int = 0


class Servers:
    """The servers of a run, used in turn.

    longest: seconds of outage after which the run ends; None: the two defaults.
    deadline: seconds for a question; an outage ends the run after this time at the latest.
    asking: questions that were started and are not answered. paused: seconds of outages so far.
    """

    def __init__(self, urls: Sequence[str], longest: float | None = None, deadline: float = float("inf")) -> None:
        self._servers = [Server(url) for url in urls]
        self._longest, self._deadline = longest, deadline
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._turn = 0
        self._dark_since: float | None = None
        self._closed = False
        self.asking = 0
        self.paused = 0.0

    async def choose(self) -> tuple[Server, bool]:
        """The server for the next attempt, and whether the attempt is a probe. Waits during an outage."""
        loop = asyncio.get_running_loop()
        while not self._closed:
            for server in self._servers:
                if server.due and not server.open and not server.probed:
                    server.probed = True
                    grace = FIRST_GRACE if server.down_since is None else LATER_GRACE
                    loop.call_later(grace, self._presume, server, server.failures)
                    return server, True
            opened = [server for server in self._servers if server.open]
            if opened:
                self._turn += 1
                return opened[self._turn % len(opened)], False
            place: asyncio.Future[None] = loop.create_future()
            self._waiting.append(place)
            await place
        raise Closed

    def heard(self, server: Server) -> None:
        """Records that the server replied."""
        if server.down_since is not None:
            log.warning("%s replies again.", server.url)
        server.heard_at = asyncio.get_running_loop().time()
        server.down_since, server.failures, server.due = None, 0, True
        self._open(server)

    def released(self, server: Server) -> None:
        """Records that a probe ended without a result. Another question may probe the server."""
        server.probed = False
        if not server.open:
            wake(self._waiting, 1)

    def failed(self, server: Server, what: str, probe: bool, alive: bool, wait: float | None = None) -> Fatal | None:
        """Records that the server is unreachable or still loading. Returns Fatal once that has lasted too long.

        alive: a gateway replied in its place (HTTP 503). wait: seconds that it requested.
        """
        loop = asyncio.get_running_loop()
        now = loop.time()
        if server.down_since is None:
            server.down_since = now
            log.warning("Can't reach %s (%s). Requests to it are on hold.", server.url, what)
        if server.open or probe:  # once, not for each attempt that was in flight
            server.failures += 1
            limit = self._limit(alive)
            pause = min(SLOWEST_PROBE, FIRST_PROBE * 2.0 ** (server.failures - 1)) if wait is None else wait
            if (left := server.down_since + limit - now) > 0:
                pause = min(pause, left)
            server.due = False
            loop.call_later(pause, self._let_probe, server, server.failures)
        server.open = server.probed = False
        return self._outage(now, what, alive)

    def close(self) -> None:
        """Ends all waits; no further attempt gets a server."""
        self._closed = True
        wake(self._waiting, len(self._waiting))

    def _outage(self, now: float, what: str, alive: bool) -> Fatal | None:
        if any(server.open for server in self._servers):
            return None
        self._dark_since = now if self._dark_since is None else self._dark_since
        began = [server.down_since for server in self._servers if server.down_since is not None]
        lasted = now - max(began)
        if len(began) < len(self._servers) or lasted < self._limit(alive):
            return None
        urls = " | ".join(server.url for server in self._servers)
        return Fatal(
            f"{urls} could not be reached for {lasted:.0f} s: {what}.",
            hint="Start the server or check base_url, then run the same command to continue. max_outage=SECONDS waits longer.",
        )

    def _limit(self, alive: bool) -> float:
        never = all(server.heard_at == float("-inf") for server in self._servers)
        default = FIRST_OUTAGE if never and not alive else LATER_OUTAGE
        return min(default if self._longest is None else self._longest, self._deadline)

    def _let_probe(self, server: Server, failures: int) -> None:
        if server.failures == failures:
            server.due = True
            wake(self._waiting, 1)

    def _presume(self, server: Server, failures: int) -> None:
        """Opens the server if its probe has not failed by now: an answer takes longer than a refusal."""
        if server.probed and server.failures == failures:
            self._open(server)

    def _open(self, server: Server) -> None:
        server.open, server.probed = True, False
        if self._dark_since is not None:
            self.paused += asyncio.get_running_loop().time() - self._dark_since
            self._dark_since = None
        wake(self._waiting, len(self._waiting))
