"""What a model is shown of pictures with transparency or with more than 8 bits: one rule, whatever the file and the adapter."""

import io
import json
import struct

import numpy as np
import pytest
from mm_eval.models.openai.messages import Files, Videos, chat_messages
from PIL import Image

from mm_eval.data.decode import decoding, open_picture
from mm_eval.data.media import encoded, picture_digest, to_pictures
from mm_eval.values.errors import DataError
from mm_eval.values.types import Instance
from tests.sets import each_of


def saved(image: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def half_transparent() -> Image.Image:
    image = Image.new("RGBA", (6, 4), (200, 10, 20, 0))
    image.putpixel((0, 0), (1, 2, 3, 128))
    return image


def transparent_files() -> dict[str, bytes]:
    rgba = half_transparent()
    palette = rgba.convert("RGB").quantize(4)
    grey = Image.merge("LA", (Image.new("L", (6, 4), 90), Image.new("L", (6, 4), 0)))
    return {
        "rgba": saved(rgba, "PNG"),
        "webp": saved(rgba, "WEBP", lossless=True, exact=True),
        "grey": saved(grey, "PNG"),
        "palette": saved(palette, "PNG", transparency=0),
        "palette with bytes": saved(palette, "PNG", transparency=bytes([0, 128, 255, 255])),
        "one colour": saved(rgba.convert("RGB"), "PNG", transparency=(200, 10, 20)),
    }


@each_of("before", [lambda picture: picture, lambda picture: picture.convert("RGB")])
@each_of("name", transparent_files())
def test_a_server_is_sent_what_is_hashed_and_shown_elsewhere(name: str, before) -> None:
    content = transparent_files()[name]
    [shown] = to_pictures([before(open_picture(content))], "doc")
    expected = Image.open(io.BytesIO(content)).convert("RGB")
    assert shown.mode == "RGB" and shown.tobytes() == expected.tobytes()
    assert not shown.has_transparency_data, "a processor of transformers would blend it"
    digest = picture_digest(shown)
    assert digest == picture_digest(Image.frombytes("RGB", expected.size, expected.tobytes())), (
        "the digest of opaque pixels"
    )
    mime, file = encoded(shown, digest)
    sent = Image.open(io.BytesIO(file))
    assert mime == "image/png" and sent.mode == "RGB" and not sent.has_transparency_data
    assert sent.tobytes() == expected.tobytes()


def test_a_request_holds_no_transparent_picture() -> None:
    import base64

    [shown] = to_pictures([open_picture(transparent_files()["rgba"])], "doc")
    messages = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "q"}]}]
    instance = Instance(
        "generate_until", "t", 0, {}, messages, images=lambda: [shown], image_digests=(picture_digest(shown),)
    )
    files = Files()
    written = json.dumps(chat_messages(instance, Videos("pictures"), files)).encode()
    [message] = json.loads(files.filled_in(written))
    data = base64.b64decode(message["content"][0]["image_url"]["url"].partition(",")[2])
    assert Image.open(io.BytesIO(data)).mode == "RGB"


def test_an_opaque_file_is_sent_as_it_is_and_an_animation_is_not() -> None:
    image = Image.radial_gradient("L").resize((20, 20)).convert("RGB")
    for kind in ("JPEG", "PNG", "WEBP"):
        content = saved(image, kind)
        [shown] = to_pictures([open_picture(content)], "doc")
        assert encoded(shown, picture_digest(shown))[1] == content
        if kind == "JPEG":
            continue
        moving = saved(image, kind, save_all=True, append_images=[image.rotate(90)])
        [first] = to_pictures([open_picture(moving)], "doc")
        sent = Image.open(io.BytesIO(encoded(first, picture_digest(first))[1]))
        assert getattr(sent, "n_frames", 1) == 1 and sent.tobytes() == first.tobytes()


def pnm(kind: bytes, most: int, values: list[int]) -> bytes:
    head = b"%s %d 1 %d\n" % (kind, len(values), most)
    return head + (b" ".join(b"%d" % v for v in values) if kind == b"P2" else struct.pack(f">{len(values)}H", *values))


SIXTEEN = np.array([[0, 257, 32896, 65535]], dtype=np.uint16)


@each_of(
    ("content", "shown"),
    [
        (saved(Image.fromarray(SIXTEEN), "PNG"), [0, 1, 128, 255]),
        (saved(Image.fromarray(SIXTEEN), "TIFF"), [0, 1, 128, 255]),
        (saved(Image.fromarray(SIXTEEN), "TIFF", compression="tiff_lzw"), [0, 1, 128, 255]),
        (saved(Image.fromarray(SIXTEEN.astype(np.int32)), "PPM"), [0, 1, 128, 255]),
        (saved(Image.fromarray(SIXTEEN), "JPEG2000", irreversible=False), [0, 1, 128, 255]),
        (pnm(b"P5", 65535, [0, 257, 32896, 65535]), [0, 1, 128, 255]),
        (pnm(b"P5", 1000, [0, 250, 500, 1000]), [0, 64, 128, 255]),
        (pnm(b"P2", 1000, [0, 250, 500, 1000]), [0, 64, 128, 255]),
    ],
)
def test_16_bits_are_scaled_by_their_range(content: bytes, shown: list[int]) -> None:
    [picture] = to_pictures([open_picture(content)], "doc")
    assert np.array(picture)[0, :, 0].tolist() == shown


def twelve_bits(white: int = 1) -> bytes:
    """A little-endian TIFF of 2 x 1 pixels of 12 bits: 4095 and 2048."""
    entries = [(256, 3, 2), (257, 3, 1), (258, 3, 12), (259, 3, 1), (262, 3, white), (273, 4, 200), (277, 3, 1)]
    entries += [(278, 3, 1), (279, 4, 3)]
    ifd = struct.pack("<H", len(entries)) + b"".join(struct.pack("<HHII", tag, kind, 1, v) for tag, kind, v in entries)
    head = b"II*\0" + struct.pack("<I", 8) + ifd + b"\0" * 4
    return head.ljust(200, b"\0") + bytes([0xFF, 0xF8, 0x00])


def test_12_bits_are_scaled_by_theirs() -> None:
    [picture] = to_pictures([open_picture(twelve_bits())], "doc")
    assert np.array(picture)[0, :, 0].tolist() == [255, 128]


def white_is_zero() -> bytes:
    file = saved(Image.fromarray(SIXTEEN), "TIFF")
    tag = struct.pack("<HHIHH", 262, 3, 1, 1, 0)
    assert tag in file
    return file.replace(tag, struct.pack("<HHIHH", 262, 3, 1, 0, 0))


@each_of(
    "content",
    [
        saved(Image.fromarray(np.array([[0.0, 0.5, 1.0]], dtype=np.float32)), "TIFF"),
        saved(Image.fromarray(np.array([[0, 70000, 2**31 - 1]], dtype=np.int32)), "TIFF"),
        b"Pf 2 1 -1.0\n" + struct.pack("<2f", 0.5, 1.0),
        white_is_zero(),
    ],
)
def test_where_no_rule_is_right_the_doc_fails(content: bytes) -> None:
    with pytest.raises(DataError, match="can't be decoded: (its pixels are|it is a 16-bit TIFF)"), decoding("doc"):
        open_picture(content)


@pytest.mark.parametrize(("kind", "fails"), [(np.uint16, False), (np.int32, True), (np.float32, True)])
def test_a_picture_that_a_task_makes_follows_the_same_rule(kind: type, fails: bool) -> None:
    picture = Image.fromarray(SIXTEEN.astype(kind))
    if fails:
        with pytest.raises(DataError, match="whose white is not known"):
            to_pictures([picture], "doc")
        return
    [shown] = to_pictures([picture], "doc")
    assert np.array(shown)[0, :, 0].tolist() == [0, 1, 128, 255]


def test_the_digest_of_a_large_picture_is_that_of_its_pixels(monkeypatch) -> None:
    """Read in strips: request keys are what they were."""
    import hashlib

    from mm_eval.data import media

    image = Image.effect_noise((37, 91), 80).convert("RGB")
    whole = hashlib.sha256(b"37x91" + image.tobytes()).hexdigest()
    assert picture_digest(image) == whole
    monkeypatch.setattr(media, "LARGE", 8 * 37 * 4)
    assert picture_digest(image) == whole
