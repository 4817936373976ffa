"""Which files are sent as they are stored: only those of which every program shows the pixels that we would decode."""

import hashlib
import io
import struct
import zlib

import pytest
from PIL import Image, PngImagePlugin

from mm_eval.data.decode import decoding, open_picture
from mm_eval.data.media import encoded, picture_digest, picture_identity
from mm_eval.data.sent_files import file_identity, is_plain, is_sent_as_stored
from mm_eval.data.shared import undecoded


def saved(kind="JPEG", mode="RGB", size=(61, 47), **options):
    picture = Image.merge("RGB", [Image.effect_noise(size, 80) for _ in "RGB"]).convert(mode)
    if mode in ("RGBA", "LA"):
        picture.putalpha(Image.effect_noise(size, 80))
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def exif(orientation, xmp=b""):
    found = Image.Exif()
    found[0x0112 if orientation else 0x010F] = orientation or "maker"
    return found


def xmp(text=b'<x tiff:Orientation="6"/>'):
    return b"http://ns.adobe.com/xap/1.0/\0" + text


def with_segment(marker, content):
    """A JPEG with one more segment at its beginning."""
    jpeg = saved()
    return jpeg[:2] + bytes([0xFF, marker]) + struct.pack(">H", len(content) + 2) + content + jpeg[2:]


def with_chunk(kind, content, before=b"IEND", png=None):
    """A PNG with one more chunk."""
    png = png or saved("PNG")
    at = png.index(before) - 4
    chunk = struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    return png[:at] + chunk + png[at:]


def moving(kind):
    frames = [Image.new("RGB", (20, 20), colour) for colour in ("red", "blue")]
    file = io.BytesIO()
    frames[0].save(file, kind, save_all=True, append_images=frames[1:])
    return file.getvalue()


def sixteen_bits():
    file = io.BytesIO()
    Image.new("I;16", (9, 9), 40000).save(file, "PNG")
    return file.getvalue()


def with_text(key, value):
    info = PngImagePlugin.PngInfo()
    info.add_text(key, value, zip=key.startswith("Raw"))
    return saved("PNG", pnginfo=info)


PLAIN = {
    "jpeg": lambda: saved(),
    "progressive": lambda: saved(progressive=True),
    "restarts": lambda: saved(restart_marker_rows=1),
    "grey jpeg": lambda: saved(mode="L"),
    "no subsampling": lambda: saved(subsampling=0),
    "exif without orientation": lambda: saved(exif=exif(None)),
    "colour profile": lambda: saved(icc_profile=b"profile" * 20_000),
    "comment": lambda: saved(comment=b"\xff\xd9 is no end here"),
    "bytes behind the end": lambda: saved() + b"\xff\xd8 and more",
    "png": lambda: saved("PNG"),
    "grey png": lambda: saved("PNG", mode="L"),
    "black and white png": lambda: saved("PNG", mode="1"),
    "png with bytes behind": lambda: saved("PNG") + b"more",
    "png with a text": lambda: with_text("Comment", "a text"),
    "webp": lambda: saved("WEBP"),
    "lossless webp": lambda: saved("WEBP", lossless=True),
}
OTHERS = {
    **{f"turned by {n}": (lambda n=n: saved(exif=exif(n))) for n in range(1, 9)},
    "turned by XMP": lambda: with_segment(0xE1, xmp()),
    "turned by XMP in another form": lambda: with_segment(0xE1, xmp(b"<tiff:Orientation>6</tiff:Orientation>")),
    "odd exif": lambda: with_segment(0xE1, b"Exif\0\0II*\0\xff\xff\xff\xff"),
    "two exifs": lambda: with_segment(0xE1, exif(None).tobytes()).replace(
        b"\xff\xd8", b"\xff\xd8\xff\xe1" + struct.pack(">H", len(exif(None).tobytes()) + 2) + exif(None).tobytes(), 1
    ),
    "cmyk": lambda: saved(mode="CMYK"),
    "several pictures": lambda: with_segment(0xE2, b"MPF\0" + bytes(60)),
    "webp turned": lambda: saved("WEBP", exif=exif(6)),
    "webp with transparency": lambda: saved("WEBP", mode="RGBA", lossless=True),
    "webp in motion": lambda: moving("WEBP"),
    "png in motion": lambda: moving("PNG"),
    "png turned": lambda: saved("PNG", exif=exif(6)),
    "png turned behind its pixels": lambda: with_chunk(b"eXIf", exif(6).tobytes()[6:]),
    "png turned in a text": lambda: with_text("Raw profile type exif", "\nexif\n 10\n4578"),
    "png with XMP": lambda: with_chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0<x tiff:Orientation='6'/>"),
    "16 bits": sixteen_bits,
    "png with transparency": lambda: saved("PNG", mode="RGBA"),
    "grey png with transparency": lambda: saved("PNG", mode="LA"),
    "png with a palette": lambda: saved("PNG", mode="P"),
    "png with a transparent colour": lambda: with_chunk(b"tRNS", bytes(6), b"IDAT"),
    "gif": lambda: saved("GIF"),
    "bmp": lambda: saved("BMP"),
    "tiff": lambda: saved("TIFF"),
    "nothing": lambda: b"",
    "text": lambda: b"no picture",
}


def opened(content):
    return open_picture(content, later=decoding("a doc"))


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_file_is_identified_without_decoding_it(name):
    content = PLAIN[name]()
    picture = opened(content).convert("RGB")
    assert is_sent_as_stored(picture)
    assert picture_identity(picture) == f"file:{hashlib.sha256(content).hexdigest()}"
    assert undecoded(picture) is not None
    assert encoded(picture, picture_identity(picture))[1] == content  # what is sent has this very identity
    assert undecoded(picture) is not None
    plain = Image.open(io.BytesIO(content)).convert("RGB")
    assert picture.tobytes() == plain.tobytes() and picture_digest(picture) == picture_digest(plain)


@pytest.mark.parametrize("name", OTHERS)
def test_any_other_file_is_decoded_as_before(name):
    content = OTHERS[name]()
    assert not is_plain(content)
    try:
        picture = opened(content)
    except Exception:  # no picture at all
        return
    assert not is_sent_as_stored(picture.convert("RGB"))
    assert undecoded(picture) is None and file_identity(picture.convert("RGB")) is None
    assert picture_identity(picture.convert("RGB")) == picture_digest(open_picture(content).convert("RGB"))


@pytest.mark.parametrize("name", ["jpeg", "progressive", "restarts", "png", "webp", "lossless webp", "grey jpeg"])
def test_no_file_that_was_cut_off_passes(name):
    content = PLAIN[name]()
    assert is_plain(content)
    assert not [size for size in range(len(content)) if is_plain(content[:size])]


def test_a_png_with_one_changed_byte_does_not_pass():
    content = saved("PNG", size=(20, 20))
    changed = [content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :] for at in range(len(content))]
    assert not any(map(is_plain, changed))


def test_a_changed_byte_makes_another_identity_and_a_changed_picture_has_none():
    jpeg = saved()
    one, other = opened(jpeg), opened(jpeg + b"\0")
    assert picture_identity(one) != picture_identity(other) and picture_digest(one) == picture_digest(other)
    for change in (
        lambda picture: picture.resize((20, 20)),
        lambda picture: picture.crop((0, 0, 20, 20)),
        lambda picture: picture.rotate(90),
        lambda picture: picture.putpixel((0, 0), (1, 2, 3)) or picture,
        lambda picture: picture.convert("L").convert("RGB"),
        lambda picture: picture.transpose(Image.Transpose.ROTATE_90),
    ):
        changed = change(opened(jpeg).convert("RGB"))
        assert file_identity(changed) is None
        assert picture_identity(changed) == picture_digest(changed) != picture_digest(one)


def test_a_broken_body_is_an_error_of_the_doc_when_its_pixels_are_needed():
    jpeg = bytearray(saved(size=(200, 200)))
    at = jpeg.index(b"\xff\xda") + 20
    jpeg[at : at + 400] = b"\xff\xd3" * 200
    picture = open_picture(bytes(jpeg), later=decoding("doc 7", "a.jpg"))
    assert picture_identity(picture).startswith("file:")
    try:
        Image.open(io.BytesIO(jpeg)).load()
    except OSError:
        with pytest.raises(Exception, match=r"doc 7: the picture 'a.jpg' can't be decoded"):
            picture_digest(picture)
