"""Faults 28 to 32: broken, huge and odd pictures, broken videos, names that leave the data's folder, URLs into a network.

28's documented decodes: EXIF orientation is applied; of a GIF the first frame; CMYK as Pillow converts it; 16 bits a channel are
scaled to 8; alpha is dropped, a palette's colours are kept.
"""

import http.server
import io
import resource
import socket
import struct
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from mm_eval.data import url_media
from mm_eval.data.media import open_picture
from mm_eval.data.places import Places
from mm_eval.data.video.frames import frames_of
from mm_eval.data.video.rule import read_rule
from mm_eval.values.errors import DataError
from tests.cli.test_bad_input import data_root, picture
from tests.data.video.movies import write
from tests.processes import HANGS
from tests.sets import each_of


def saved(image: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def sixteen_bits(**options: object) -> bytes:
    image = Image.new("I;16", (2, 1))
    image.putpixel((0, 0), 65535)
    image.putpixel((1, 0), 128 * 257)
    return saved(image, "PNG", **options)


def turned() -> bytes:
    exif = Image.Exif()
    exif[0x0112] = 6
    return saved(Image.new("RGB", (4, 2), (9, 8, 7)), "JPEG", exif=exif)


def animated() -> bytes:
    frames = [Image.new("RGB", (2, 2), colour) for colour in ((255, 0, 0), (0, 0, 255))]
    return saved(frames[0], "GIF", save_all=True, append_images=frames[1:])


def palette_with_alpha() -> bytes:
    image = Image.new("P", (2, 2))
    image.putpalette([10, 20, 30, 40, 50, 60])
    return saved(image, "PNG", transparency=0)


@each_of(
    ("content", "size", "pixel"),
    [
        (sixteen_bits(), (2, 1), (255, 255, 255)),
        (turned(), (2, 4), None),
        (animated(), (2, 2), (255, 0, 0)),
        (saved(Image.new("CMYK", (2, 2), (0, 255, 255, 0)), "JPEG"), (2, 2), None),
        (palette_with_alpha(), (2, 2), (10, 20, 30)),
        (saved(Image.new("RGBA", (2, 2), (1, 2, 3, 0)), "PNG"), (2, 2), (1, 2, 3)),
        (saved(Image.new("1", (2, 2), 1), "PNG"), (2, 2), (255, 255, 255)),
    ],
)
def test_28_odd_pictures_decode_as_documented(content: bytes, size: tuple[int, int], pixel: object) -> None:
    shown = open_picture(content).convert("RGB")
    assert shown.size == size and (pixel is None or shown.getpixel((0, 0)) == pixel)


def test_28_sixteen_bits_are_scaled_not_clipped() -> None:
    assert open_picture(sixteen_bits()).convert("RGB").getpixel((1, 0)) == (128, 128, 128)
    exif = Image.Exif()
    exif[0x0112] = 6
    upright = open_picture(sixteen_bits(exif=exif)).convert("RGB")
    assert upright.size == (1, 2) and upright.getpixel((0, 1)) == (128, 128, 128)


def test_28_broken_files_fail_their_own_doc_only_and_are_named(cli, tmp_path: Path) -> None:
    whole = picture((64, 64), "JPEG")
    cuts = [whole[: len(whole) * n // 21] for n in range(1, 21)]
    broken = [*cuts, b"", b"text named .png"]
    files = [each for n, bad in enumerate(broken) for each in (picture((8 + n, 8)), bad)]
    ran = cli("--tasks", "mme", "--model", "dummy", "--data_root", data_root(tmp_path, files), "--verbosity", "ERROR")
    assert ran.code == 3, ran.err
    rows = ran.samples("mme")
    assert [row["status"] for row in rows] == ["answered", "failed"] * len(broken)
    assert all(f"mme doc {row['doc_id']}" in row["error"]["what"] for row in rows if row["status"] == "failed")
    assert all(row["error"]["owner"] == "data" for row in rows if row["status"] == "failed")


def bomb(side: int = 50_000) -> bytes:
    """A PNG of side x side pixels in a few kB."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    packer = zlib.compressobj(9)
    data = packer.compress(b"\0" * 2_000_000) + packer.flush()
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def test_29_a_bomb_is_refused_from_its_header_in_no_time_and_no_memory(tmp_path: Path) -> None:
    file = tmp_path / "bomb.png"
    file.write_bytes(bomb())
    assert file.stat().st_size < 10_000
    script = (
        "import resource, sys, time\n"
        "from PIL import Image\n"
        "from mm_eval.data.media import open_picture\n"
        "open_picture(open(sys.argv[2], 'rb').read())\n"
        "content = open(sys.argv[1], 'rb').read()\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "started = time.process_time()\n"
        "try:\n"
        "    open_picture(content)\n"
        "except Image.DecompressionBombError:\n"
        "    print(time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    small = tmp_path / "small.png"
    small.write_bytes(picture())
    done = subprocess.run(
        [sys.executable, "-c", script, str(file), str(small)], capture_output=True, text=True, timeout=HANGS
    )
    seconds, kilobytes = map(float, done.stdout.split())
    assert seconds < 0.1 and kilobytes < 50_000, done.stderr
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0


def test_29_a_bomb_in_a_dataset_fails_its_doc(cli, tmp_path: Path) -> None:
    ran = cli("--tasks", "mme", "--model", "dummy", "--data_root", data_root(tmp_path, [picture(), bomb()]))
    assert ran.code == 3 and "decompression bomb" in ran.out and ran.results["results"]["mme"]["failed"] == 1


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """(the data's folder, with a picture), (a secret picture outside)."""
    inside, secret = tmp_path / "data", tmp_path / "secret.png"
    (inside / "pictures").mkdir(parents=True)
    (inside / "pictures" / "one.png").write_bytes(picture())
    secret.write_bytes(picture((3, 3)))
    (inside / "link.png").symlink_to(secret)
    (inside / "folder").symlink_to(tmp_path)
    return inside, secret


@pytest.mark.parametrize(
    "name",
    ["../secret.png", "pictures/../../secret.png", "{secret}", "link.png", "folder/secret.png", "%2e%2e/secret.png"]
    + ["..\\secret.png", "/etc/passwd", "\0", "", ".", "~/secret.png", "file://{secret}", "pictures"],
)
def test_31_a_name_that_leaves_the_datas_folder_is_refused_and_nothing_is_opened(
    folders, monkeypatch, name: str
) -> None:
    inside, secret = folders
    opened = []
    monkeypatch.setattr(Path, "read_bytes", lambda self: opened.append(self))
    with pytest.raises(DataError):
        Places((inside,)).read(name.format(secret=secret))
    assert opened == []


def test_31_a_name_below_the_datas_folder_is_read(folders) -> None:
    inside, _ = folders
    assert Places((inside,)).read("pictures/one.png") == picture()
    assert Places((inside,)).read(str(inside / "pictures" / "one.png")) == picture()


TASK = """task: pictures
dataset_path: json
dataset_kwargs: {{data_files: {{test: {rows}}}}}
test_split: test
doc_to_visual: image
doc_to_text: question
doc_to_target: answer
generation_kwargs: {{max_gen_toks: 4}}
metric_list: [{{metric: exact_match}}]
"""


def test_31_rows_of_a_json_file_name_pictures_beside_it_and_none_elsewhere(cli, folders, tmp_path: Path) -> None:
    inside, _ = folders
    names = ["pictures/one.png", "../secret.png", "/etc/passwd", "link.png", "https://example.com/a.png"]
    rows = [f'{{"image": "{name}", "question": "q", "answer": "a"}}\n' for name in names]
    (inside / "rows.jsonl").write_text("".join(rows))
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "pictures.yaml").write_text(TASK.format(rows=inside / "rows.jsonl"))
    ran = cli("--tasks", "pictures", "--include_path", tmp_path / "task", "--model", "dummy")
    assert ran.code == 3, ran.err
    assert [row["status"] for row in ran.samples("pictures")] == ["answered"] + ["failed"] * 4
    assert "--allow_url_media" in ran.samples("pictures")[4]["error"]["what"]


@pytest.fixture
def web(monkeypatch) -> Iterator:
    """A local web server that counts as public, by pages: bytes, a redirect, or an endless body."""
    hits: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hits.append(self.path)
            if self.path.startswith("/redirect/"):
                left = int(self.path.rsplit("/", 1)[1])
                self.send_response(302)
                self.send_header("Location", f"/redirect/{left - 1}" if left > 1 else "/picture")
                self.end_headers()
            elif self.path == "/inside":
                self.send_response(302)
                self.send_header("Location", "http://169.254.169.254/latest/meta-data")
                self.end_headers()
            else:
                self.send_response(200)
                self.end_headers()
                try:
                    while self.path == "/endless":
                        self.wfile.write(b"x" * 65536)
                    self.wfile.write(picture())
                except OSError:
                    pass

        def log_message(self, *_: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    real = url_media.public_address
    monkeypatch.setattr(
        url_media, "public_address", lambda host, port: "127.0.0.1" if host == "pictures.example" else real(host, port)
    )
    yield f"http://pictures.example:{server.server_port}", hits
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://example.com/a",
        "http://127.0.0.1/a",
        "http://localhost/a",
        "http://169.254.169.254/a",
    ]
    + [
        "http://[::1]/a",
        "http://[::ffff:127.0.0.1]/a",
        "http://[::ffff:10.0.0.1]/a",
        "http://10.1.2.3/a",
        "http://0.0.0.0/",
    ]
    + [
        "http://2130706433/a",
        "http://0x7f.1/a",
        "http://[fe80::1]/a",
        "http://[2002:7f00:1::]/a",
        "http://224.0.0.1/a",
    ],
)
def test_32_private_addresses_and_other_schemes_are_refused_before_a_connection(monkeypatch, url: str) -> None:
    monkeypatch.setattr(socket, "create_connection", lambda *_, **__: pytest.fail("a connection was opened"))
    with pytest.raises(DataError):
        url_media.fetch(url)


def test_32_a_name_that_answers_differently_a_moment_later_changes_nothing(monkeypatch) -> None:
    """DNS rebinding: the address that was judged is the address that is connected to."""
    answers = iter(["93.184.216.34", "127.0.0.1"])
    connected = []

    def look_up(host: str, port: int, **_: object) -> list:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))]

    def connect(address: tuple[str, int], timeout: float) -> None:
        connected.append(address)
        raise OSError("no network here")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(DataError, match="no network here"):
        url_media.fetch("http://rebinds.example/a.png")
    assert connected == [("93.184.216.34", 80)]


def test_32_one_private_address_among_several_is_enough_to_refuse(monkeypatch) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, 80)) for each in ("93.184.216.34", "192.168.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    with pytest.raises(DataError, match="not a public address"):
        url_media.fetch("http://both.example/a.png")


def test_32_redirects_bytes_and_seconds_are_limited(web) -> None:
    url, hits = web
    assert url_media.fetch(f"{url}/picture") == picture() and url_media.fetch(f"{url}/redirect/5") == picture()
    hits.clear()
    with pytest.raises(DataError, match="5 redirects"):
        url_media.fetch(f"{url}/redirect/6")
    assert len(hits) == 6
    with pytest.raises(DataError, match="larger than 1000000 bytes"):
        url_media.fetch(f"{url}/endless", most_bytes=1_000_000)
    started = time.monotonic()
    with pytest.raises(DataError, match="time limit exceeded|timed out"):
        url_media.fetch(f"{url}/endless", most_bytes=10**15, seconds=0.3)
    assert time.monotonic() - started < 60, "the server would write for ever"
    with pytest.raises(DataError, match="not a public address"):
        url_media.fetch(f"{url}/inside")


@pytest.mark.parametrize(
    ("kind", "told"),
    [("no moov", "can't be read: Invalid data"), ("broken moov", "has no video"), ("no frames", "has no frames|has no video"),
     ("ten hours stated", "is cut off"), ("empty", "can't be read: Invalid data"), ("text", "can't be read: Invalid data")],
)  # fmt: skip
def test_30_a_broken_empty_or_endless_video_is_an_error_in_time(tmp_path: Path, kind: str, told: str) -> None:
    whole = write(tmp_path / "whole.mp4", count=50).read_bytes()
    matroska = bytearray(write(tmp_path / "whole.mkv", count=50).read_bytes())
    moov, length = whole.index(b"moov"), matroska.index(bytes.fromhex("448988"))
    matroska[length + 3 : length + 11] = struct.pack(">d", 36_000_000.0)  # milliseconds
    path = tmp_path / ("a.mkv" if kind == "ten hours stated" else "a.mp4")
    path.write_bytes({
        "no moov": whole[: moov - 4],
        "broken moov": whole[: moov + 12] + bytes(len(whole) - moov - 12),
        "no frames": whole.replace(b"stbl", b"free"),
        "ten hours stated": bytes(matroska),
        "empty": b"",
        "text": b"<html>not found</html>",
    }[kind])  # fmt: skip
    begun = time.process_time()
    with pytest.raises(DataError, match=told):
        frames_of(str(path), read_rule("frames=8"), Places())
    assert time.process_time() - begun < 1
