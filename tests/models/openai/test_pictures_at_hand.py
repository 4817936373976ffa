"""Pictures of a request: from memory where their files are held, and never others than the request was made of."""

from __future__ import annotations

import base64
import io

import pytest
from PIL import Image

from mm_eval.data import sent_files
from mm_eval.data.decode import decoding, open_picture
from mm_eval.data.media import picture_digest, picture_identity
from mm_eval.data.sent_files import HeldFiles, identity_of, is_plain
from mm_eval.values.errors import DataError, MMEvalError
from mm_eval.values.types import Instance
from tests.faults.server import Server, reply
from tests.models.questions import instance


def saved(colour: int, kind: str = "JPEG") -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (32, 24), (colour, 9, 7)).save(file, kind)
    return file.getvalue()


def opened(content: bytes) -> Image.Image:
    return open_picture(content, later=decoding("doc 0"))


def asked(digest: str, images) -> Instance:  # type: ignore[no-untyped-def]
    row = instance("What is it?")
    row.context = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What is it?"}]}]
    row.image_digests, row.images, row.pixels = (digest,), images, 32 * 24
    return row


def sent(row: Instance) -> bytes:
    """The file that a server got with a request."""
    server = Server(lambda body, nth: reply("Yes"))
    [(_, found)] = server.model().generate([row])
    if isinstance(found, MMEvalError):
        raise found
    [(_, body)] = server.requests
    return base64.b64decode(body["messages"][0]["content"][0]["image_url"]["url"].partition(",")[2])


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> HeldFiles:
    found = HeldFiles(4000)
    monkeypatch.setattr(sent_files, "HELD", found)
    monkeypatch.setattr("mm_eval.models.openai.messages.HELD", found)
    return found


def test_a_file_that_is_held_is_sent_without_opening_the_doc_again(held: HeldFiles) -> None:
    content = saved(1)

    def read_again() -> list[Image.Image]:
        raise AssertionError("the doc was read again")

    assert sent(asked(picture_identity(opened(content)), read_again)) == content


def test_a_file_that_is_held_no_longer_is_read_from_the_data(held: HeldFiles) -> None:
    content = saved(2)
    digest = picture_identity(opened(content))
    for each in range(20):
        picture_identity(opened(saved(30 + each)))
    assert held.get(digest) is None
    assert sent(asked(digest, lambda: [opened(content)])) == content


@pytest.mark.parametrize("known_by", [picture_identity, picture_digest])
@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_a_picture_file_that_is_replaced_during_the_run_is_not_asked_about(held, known_by, kind) -> None:
    first, second = opened(saved(3, kind)), saved(4, kind)
    digest = known_by(first)
    held._files.clear()
    with pytest.raises(DataError, match="a picture's file has changed during the run"):
        sent(asked(digest, lambda: [opened(second)]))


def test_a_file_is_walked_and_digested_once_however_often_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """But for a JPEG, whose walk reads its segments and its end alone."""
    content, walks = saved(5, "PNG"), list[bytes]()
    monkeypatch.setattr(sent_files, "_FOUND", sent_files._Remembered())
    whole = sent_files._is_plain
    monkeypatch.setattr(sent_files, "_is_plain", lambda file: walks.append(file) or whole(file))
    again = bytes(bytearray(content))
    assert again is not content
    assert is_plain(content) and is_plain(again) and not is_plain(content[:-9])
    assert identity_of(content) == identity_of(again) != identity_of(content + b"1")
    assert len(walks) == 2
