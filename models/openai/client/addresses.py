"""Addresses of requests. The key is in the headers of each, so none may lead anywhere else than the user's own address does."""

from __future__ import annotations

import httpx

from .errors import Fatal


def joined(base_url: str, path: str, *, at_root: bool = False) -> httpx.URL:
    """The address of a path below a base address, whose query is kept.

    at_root: the path is beside the base address's last `/v1`, as /tokenize is. Raises Fatal as `check_same_host` does.

    >>> str(joined("https://host/deployments/gpt?api-version=2024-10-21", "/chat/completions"))
    'https://host/deployments/gpt/chat/completions?api-version=2024-10-21'
    >>> str(joined("http://host:8000/v1/", "tokenize", at_root=True))
    'http://host:8000/tokenize'
    """
    base, mark, query = base_url.partition("?")
    base = base.rstrip("/")
    base = base.removesuffix("/v1").rstrip("/") if at_root else base
    try:
        found = httpx.URL(f"{base}/{path.lstrip('/')}{mark}{query}")
    except httpx.InvalidURL:
        raise _elsewhere("an address that is not valid", base_url) from None
    check_same_host(base_url, found)
    return found


def check_same_host(base_url: str, url: httpx.URL) -> None:
    """Raises Fatal if a request goes to another scheme, host or port than the base address."""
    own = httpx.URL(base_url)
    if (url.scheme, url.host, url.port) != (own.scheme, own.host, own.port):
        raise _elsewhere(f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}", base_url)


def _elsewhere(where: str, base_url: str) -> Fatal:
    stated = base_url.partition("?")[0]
    return Fatal(
        f"a request would go to {where}, and the address of the model is {stated}.", hint="Nothing was sent there."
    )
