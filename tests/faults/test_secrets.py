"""The API key changes no answer, and stands in no file and on no terminal, however a server spells it."""

import base64
import html
import json
import re
from pathlib import Path
from urllib.parse import quote, unquote

import httpx
import pytest
from mm_eval.models.openai.adapter import OpenAI
from mm_eval.models.openai.client.redaction import Redactor

from mm_eval.engine.model import ModelSettings
from mm_eval.values.errors import ConfigError, ModelError
from tests.faults.raw_server import Exchange, http, raw_server
from tests.faults.server import Server, reply
from tests.faults.test_network_17_to_27 import answers, questions
from tests.sets import each_of, few

KEY = "sk-canary/8d1f+0c=&7"
SHORT = ["EMPTY", "test", "1234", "content", "Yes", "e", "choices", "message", "-", "key", "null", "stop"]


def spellings(key: str) -> dict[str, str]:
    """The key as a server may write it."""
    every = {
        "plain": key,
        "JSON": json.dumps(key)[1:-1].replace("/", r"\/"),
        "unicode": "".join(rf"\u{ord(each):04x}" for each in key),
        "some unicode": "".join(rf"\u{ord(each):04X}" if n % 3 else each for n, each in enumerate(key)),
        "twice": "".join(rf"\\u{ord(each):04x}" for each in key),
        "repr": "".join(rf"\x{ord(each):02x}" for each in key),
        "URL": quote(key, safe=""),
        "whole URL": "".join(f"%{ord(each):02X}" for each in key),
        "URL twice": quote(quote(key, safe=""), safe=""),
        "HTML": html.escape(key),
        "HTML numbers": "".join(f"&#{ord(each)};" for each in key),
        "HTML hex": "".join(f"&#x{ord(each):x};" for each in key),
        "hex": key.encode().hex(),
        "userinfo": base64.b64encode(f"user:{key}".encode()).decode(),
        "bearer": base64.b64encode(f"Bearer {key}".encode()).decode(),
        "base64": base64.b64encode(key.encode()).decode(),
        "urlsafe": base64.urlsafe_b64encode(f"x{key}y".encode()).decode(),
        "unpadded": base64.b64encode(key.encode()).decode().rstrip("="),
    }
    return every


def unescaped(text: str) -> str:
    """The text with every escape undone, again and again."""
    for _ in range(4):
        text = re.sub(r"\\+u([0-9a-fA-F]{4})|\\+x([0-9a-fA-F]{2})", lambda m: chr(int(m[1] or m[2], 16)), text)
        text = html.unescape(unquote(re.sub(r"\\+/", "/", text)))
    return text


def leaks(text: str, key: str = KEY) -> bool:
    """Whether somebody who looks for it finds the key, or most of it, in a text."""
    plain = unescaped(text)
    if key[:12] in plain or key[-12:] in plain or key.encode().hex()[:24] in plain.lower():
        return True
    for piece in re.findall(r"[A-Za-z0-9+/_-]{12,}", text):
        for start in range(4):
            digits = piece[start:].replace("-", "+").replace("_", "/")
            data = base64.b64decode(digits[: len(digits) // 4 * 4])
            if key.encode()[2:-3] in data:
                return True
    return False


def test_the_leak_detector_finds_each_spelling() -> None:
    assert all(leaks(f"x {each} y") for each in spellings(KEY).values())
    assert not leaks("nothing of the kind, sk-other and [key]")


@each_of("form", spellings(KEY))
def test_a_long_key_is_found_in_each_spelling_and_nothing_else_is_lost(form: str) -> None:
    spelled = spellings(KEY)[form]
    for text in (f"before {spelled} after", f"{spelled}{spelled}", f'"{spelled}"', f"before\\{spelled}"):
        for clean in (Redactor((KEY,)).answer, Redactor((KEY,)).error):
            assert not leaks(clean(text)), clean(text)
    kept = Redactor((KEY,)).answer(f"before {spelled} after")
    assert kept.startswith("before ") and kept.endswith(" after") and "[key]" in kept


@pytest.mark.parametrize("key", SHORT)
def test_a_short_key_changes_no_answer(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    texts = [key, f"The answer is {key}.", "Yes", "e", "12345", "a test: EMPTY", json.dumps({"content": key})]
    server = Server(lambda body, nth: reply(texts[int(body["messages"][0]["content"].split()[-1])]))
    assert [each.output for _, each in sorted(answers(server, len(texts)).items())] == texts


def test_a_long_key_is_replaced_in_an_answer_and_the_rest_of_it_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server = Server(lambda body, nth: reply(f"It is {KEY}, and 42%.\nEND"))
    [(_, found)] = server.model().generate(questions(1, until=["END", "sk-"]))
    assert found.output == "It is [key], and 42%.\n"


@pytest.mark.parametrize("key", [KEY, "test", "ab-7"])
def test_an_error_names_no_key_of_any_length(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    for text in (f"bad key {key}", "x" * 290 + key, json.dumps({"error": {"message": f"bad key {key} given"}})):
        for status in (400, 500, 401):
            server = Server(lambda body, nth, text=text, status=status: httpx.Response(status, text=text))
            try:
                found = answers(server, 1, max_retries=1)[0]
            except ModelError as error:
                found = error
            assert key not in str(found) and KEY[:8] not in str(found), found


async def echoes(exchange: Exchange) -> None:
    """Puts the key into every part of a reply, spelled in another way each time."""
    forms = list(spellings(KEY).values())
    spelled = forms[(exchange.number // 12) % len(forms)]
    choice = '{"message": {"content": "Yes {}"}, "finish_reason": "{}", "logprobs": {}}'
    usage = f'"model": "{spelled}", "id": "{spelled}", "usage": {{"{spelled}": 1, "prompt_tokens": "{spelled}"}}'

    def body(content: str = spelled, finish: str = "stop", logprobs: str = "null") -> bytes:
        inside = choice.replace("Yes {}", f"Yes {content}").replace(
            '"finish_reason": "{}"', f'"finish_reason": "{finish}"'
        )
        return f'{{"choices": [{inside.replace("{}", logprobs)}], {usage}}}'.encode()

    one_line = spelled.replace("\n", "")
    await exchange.send(
        [
            http(body()),
            http(body(finish=spelled)),
            http(body(content="", finish=spelled)),
            http(f'{{"error": {{"message": "no {spelled}", "code": "{spelled}"}}}}'.encode()),
            http(f'{{"error": {{"message": "no {spelled}"}}}}'.encode(), "400 Bad Request"),
            http(f"<html>{spelled}</html>".encode()),
            http(b"x" * 280 + spelled.encode(), "422 Unprocessable Entity"),
            http(f'{{"choices": "{spelled}"}}'.encode(), headers=f"X-Key: {one_line}\r\nSet-Cookie: {one_line}\r\n"),
            http(b"{}", f"500 {one_line}"),
            http(f'{{"detail": "{spelled}"}}'.encode("utf-16"), "400 Bad"),
            f"HTTP/1.1 200 OK\r\nX-{one_line}\r\n\r\n".encode(),
            http(body(), headers=f"Content-Encoding: {one_line}\r\n"),
        ][exchange.number % 12]
    )


@pytest.mark.parametrize("level", few(["WARNING", "DEBUG"], "DEBUG"))
def test_a_server_that_echoes_the_key_brings_it_nowhere(level: str, tmp_path: Path, cli, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with raw_server(echoes) as server:
        arguments, each = f"base_url={server.url},model=m,max_retries=0,num_concurrent=4", 12 * len(spellings(KEY))
        asked = ("--tasks", "mme", "--sample", "--limit", each, "--verbosity", level)
        ran = cli(*asked, "--model", "openai", "--model_args", arguments)
    assert ran.code == 3 and server.requests >= each, ran.err
    texts = {path: path.read_text(errors="replace") for path in ran.folder.rglob("*") if path.is_file()}
    assert "[key]" in "".join(texts.values())
    assert [path for path, text in texts.items() if leaks(text)] == []
    assert not leaks(ran.out) and not leaks(ran.err)


def test_a_key_in_the_wrong_place_is_refused_and_not_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for args in ({"model": KEY}, {"extra_body": json.dumps({"key": KEY})}, {"server": f"x{KEY}"}, {"api_key_env": KEY}):
        with pytest.raises(ConfigError) as caught:
            OpenAI({"base_url": "http://host/v1", "model": "m", **args}, ModelSettings())
        assert not leaks(str(caught.value))
    for wrong in ("sk-canary\n123456789012", "sk-canäry-123456789012"):
        monkeypatch.setenv("OPENAI_API_KEY", wrong)
        with pytest.raises(ConfigError, match="no HTTP header can carry") as caught:
            OpenAI({"base_url": "http://host/v1", "model": "m"}, ModelSettings()).prepare()
        assert "123456" not in str(caught.value)


def test_a_newline_after_the_key_is_no_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\r\n")
    server = Server(lambda body, nth: reply("Yes"))
    assert answers(server, 1)[0].output == "Yes" and server.headers[0]["authorization"] == f"Bearer {KEY}"


async def refuses_as_proxy(exchange: Exchange) -> None:
    [line] = [line for line in exchange.head.splitlines() if line.lower().startswith(b"proxy-authorization")]
    await exchange.send(http(b"who are you, " + line, "407 Proxy Authentication Required"))


def test_a_proxys_password_is_a_secret_as_well(cli, monkeypatch: pytest.MonkeyPatch) -> None:
    password = "pw-canary-0123456789"
    with raw_server(refuses_as_proxy) as server:
        monkeypatch.setenv("http_proxy", f"http://user:{password}@127.0.0.1:{server.port}")
        arguments = "base_url=http://server.invalid/v1,model=m"
        ran = cli("--tasks", "mme", "--sample", "--limit", "4", "--model", "openai", "--model_args", arguments)
    assert ran.code == 3 and "407" in ran.out and "proxy" in ran.out, ran.err
    texts = [ran.out, ran.err, *(path.read_text(errors="replace") for path in ran.folder.rglob("*") if path.is_file())]
    assert not any(leaks(text, password) for text in texts)


@pytest.mark.parametrize(
    "proxy", ["socks5://u:canary-pw@127.0.0.1:9", "ftp://u:canary-pw@host", "http://u:canary-pw@[::1"]
)
def test_a_proxy_that_cant_be_used_is_told_without_its_password(proxy: str, cli, monkeypatch) -> None:
    monkeypatch.setenv("all_proxy", proxy)
    arguments = "base_url=http://127.0.0.1:9/v1,model=m"
    ran = cli("--tasks", "mme", "--sample", "--limit", "4", "--model", "openai", "--model_args", arguments)
    assert ran.code == 2 and "proxy" in ran.err and "canary" not in ran.err + ran.out and "Traceback" not in ran.err
