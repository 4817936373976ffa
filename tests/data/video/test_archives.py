"""Videos in archives: found by name, read one at a time, kept within a limit; and every archive that can't be read is named."""

import io
import os
import signal
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from mm_eval.data import archives
from mm_eval.data import kept_files as store
from mm_eval.data.archives import members_of, open_member
from mm_eval.data.places import DataFiles, Places
from mm_eval.data.video import frames as frames_module
from mm_eval.data.video import kept
from mm_eval.data.video.frames import Frames, frames_of
from mm_eval.data.video.rule import read_rule
from mm_eval.values.errors import ConfigError, DataError
from tests.data.video.movies import read, write


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MM_EVAL_CACHE", str(tmp_path / "cache"))
    frames_module._chosen.cache_clear()
    frames_module._about.cache_clear()
    return tmp_path / "cache" / "videos"


@pytest.fixture(scope="module")
def movies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("movies")
    return {name: write(folder / "a.mp4", count=count).read_bytes() for name, count in (("a", 60), ("b", 40))}


def zipped(path: Path, files: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def tarred(path: Path, files: dict[str, bytes], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def cut(path: Path, size: int, endings: list[str]) -> None:
    """Replaces a file by parts of it."""
    content = path.read_bytes()
    path.unlink()
    for number, ending in enumerate(endings):
        end = None if number == len(endings) - 1 else (number + 1) * size
        Path(f"{path}{ending}").write_bytes(content[number * size : end])


def shown(folder: Path, name: str, rule: str = "frames=3") -> Frames:
    return frames_of(name, read_rule(rule), Places((folder,), files=DataFiles([folder])))


@pytest.mark.parametrize("kind", ["stored", "deflated", "tar", "joined tar", "numbered parts", "joined zip"])
def test_the_frames_of_a_member_are_those_of_the_file(
    kind: str, tmp_path: Path, movies: dict[str, bytes], cache: Path
) -> None:
    files, data = {"data/a.mp4": movies["a"], "data/b.mp4": movies["b"]}, tmp_path / "data"
    data.mkdir()
    if "tar" in kind or "numbered" in kind:
        path = tarred(data / "videos.tar", files)
    else:
        path = zipped(data / "videos.zip", files, zipfile.ZIP_DEFLATED if kind == "deflated" else zipfile.ZIP_STORED)
    size = path.stat().st_size // 3 + 1
    if kind == "joined tar":
        cut(path, size, [".part.aa", ".part.ab", ".part.ac"])
    elif kind == "numbered parts":
        cut(path, path.stat().st_size // 12 + 1, [f".part{number}" for number in range(12)])
    elif kind == "joined zip":
        cut(path, size, [".001", ".002", ".003"])
    found = shown(data, "data/a.mp4")
    assert [read(picture) for picture in found.pictures()] == [0, 29, 59]
    (tmp_path / "a.mp4").write_bytes(movies["a"])
    assert found.digests == shown(tmp_path / "a.mp4", str(tmp_path / "a.mp4")).digests, "the key is of the bytes"
    assert [file.stat().st_size for file in (cache / "files").iterdir()] == [len(movies["a"])], "one file at a time"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.mp4", "cache", "data"]


def test_a_second_look_opens_neither_archive_nor_video(
    tmp_path: Path, movies: dict[str, bytes], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = zipped(tmp_path / "v.zip", {"a.mp4": movies["a"]})
    for each in (path, tmp_path):
        os.utime(each, (1, 1))
    monkeypatch.setattr(store.time, "time_ns", lambda: time.clock_gettime_ns(time.CLOCK_REALTIME) + 10**10)
    before = shown(tmp_path, "a.mp4", "frames=12")
    for file in (cache / "files").iterdir():
        file.unlink()
    frames_module._chosen.cache_clear()
    frames_module._about.cache_clear()
    monkeypatch.setattr(kept, "index_of", None)
    monkeypatch.setattr(archives, "open_member", None)
    assert shown(tmp_path, "a.mp4", "frames=12") == before
    monkeypatch.undo()


def test_names_are_ends_of_paths_and_a_folder_comes_first(tmp_path: Path, movies: dict[str, bytes]) -> None:
    zipped(tmp_path / "video" / "clevrer.zip", {"val/1.mp4": movies["a"]})
    zipped(tmp_path / "video" / "star.zip", {"val/1.mp4": movies["b"], "2.MP4": movies["b"]})
    files = DataFiles([tmp_path])
    assert files.find("clevrer/val/1.mp4").endswith("clevrer.zip::val/1.mp4")
    assert files.find("video/star/val/1.mp4").endswith("star.zip::val/1.mp4")
    assert files.find("2.mp4").endswith("2.MP4"), "the same video in another container"
    with pytest.raises(DataError, match=r"2 files 'val/1.mp4': .*'clevrer.zip' and .*'star.zip'. Name its folder"):
        files.find("val/1.mp4")
    with pytest.raises(DataError, match="no file '3.mp4'"):
        files.find("3.mp4")
    (tmp_path / "val").mkdir()
    (tmp_path / "val" / "1.mp4").write_bytes(movies["a"])
    assert DataFiles([tmp_path]).find("val/1.mp4") == str(tmp_path / "val" / "1.mp4")


def test_equal_members_of_two_archives_are_one_video(tmp_path: Path, movies: dict[str, bytes]) -> None:
    zipped(tmp_path / "one.zip", {"1.mp4": movies["a"]})
    zipped(tmp_path / "two.zip", {"1.mp4": movies["a"]}, zipfile.ZIP_DEFLATED)
    assert DataFiles([tmp_path]).find("1.mp4").endswith("one.zip::1.mp4")


def test_members_that_lead_outside_and_links_are_left_out(tmp_path: Path, movies: dict[str, bytes]) -> None:
    names = ["../up.mp4", "/abs.mp4", "in/../../up2.mp4", "..\\win.mp4", "fine.mp4"]
    path = zipped(tmp_path / "data" / "v.zip", dict.fromkeys(names, movies["b"]))
    assert list(members_of(str(path))) == ["fine.mp4"]
    with tarfile.open(tmp_path / "data" / "t.tar", "w") as archive:
        for name, kind in (
            ("link.mp4", tarfile.SYMTYPE),
            ("hard.mp4", tarfile.LNKTYPE),
            ("pipe.mp4", tarfile.FIFOTYPE),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    assert members_of(str(tmp_path / "data" / "t.tar")) == {}
    for name in ("up.mp4", "../up.mp4", "abs.mp4", "/abs.mp4", "link.mp4", "win.mp4"):
        with pytest.raises(DataError):
            DataFiles([tmp_path / "data"]).find(name)
    (tmp_path / "secret.mp4").write_bytes(movies["a"])
    (tmp_path / "data" / "out.mp4").symlink_to(tmp_path / "secret.mp4")
    with pytest.raises(DataError, match="no file"):
        DataFiles([tmp_path / "data"]).find("out.mp4")


@pytest.mark.parametrize("kind", ["zip", "tar", "parts", "gz", "html"])
def test_a_damaged_archive_is_named_and_the_others_are_read(
    kind: str, tmp_path: Path, movies: dict[str, bytes], cache: Path
) -> None:
    zipped(tmp_path / "sound.zip", {"b.mp4": movies["b"]})
    files = {"a.mp4": movies["a"], "c.mp4": movies["a"]}
    if kind in ("zip", "html"):
        path = zipped(tmp_path / "v.zip", files)
        path.write_bytes(b"<html>" if kind == "html" else path.read_bytes()[: -len(movies["a"])])
        told = "the archive 'v.zip' can't be read: File is not a zip file"
    elif kind == "gz":
        path = tarred(tmp_path / "v.tar.gz", files, "w:gz")
        told = "'v.tar.gz' can be read only as a whole: unpack it there"
    else:
        path = tarred(tmp_path / "v.tar", files)
        if kind == "parts":
            cut(path, 4096, [".part.aa", ".part.ab", ".part.ac"])
            Path(f"{path}.part.ab").unlink()
            told = "parts of the archive 'v.tar' are missing"
        else:
            path.write_bytes(path.read_bytes()[: len(movies["a"]) + 4096])
            told = "the archive 'v.tar' can't be read: unexpected end of data"
    with pytest.raises(DataError, match=told):
        shown(tmp_path, "a.mp4")
    assert [read(picture) for picture in shown(tmp_path, "b.mp4", "frames=2").pictures()] == [0, 39]


def test_a_damaged_member_is_an_error_of_its_doc(tmp_path: Path, movies: dict[str, bytes], cache: Path) -> None:
    path = zipped(tmp_path / "v.zip", {"a.mp4": movies["a"], "b.mp4": movies["b"]})
    content = bytearray(path.read_bytes())
    content[200] ^= 255
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"'a.mp4' in the archive 'v.zip' can't be read: Bad CRC-32"):
        shown(tmp_path, "a.mp4")
    assert len(shown(tmp_path, "b.mp4").digests) == 3
    assert not [file for file in (cache / "files").iterdir() if file.name.endswith(".tmp")]


def test_the_cache_keeps_to_its_limit_and_drops_what_was_not_used(
    tmp_path: Path, movies: dict[str, bytes], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = zipped(tmp_path / "v.zip", {f"{n}.mp4": movies["b"] for n in range(4)})
    monkeypatch.setenv(store.LIMIT, str(2.5 * len(movies["b"]) / 1e9))
    clips = [shown(tmp_path, f"{n}.mp4") for n in range(4)]
    assert len(list((cache / "files").iterdir())) == 2
    assert [read(picture) for picture in clips[0].pictures()] == [0, 19, 39], "a dropped copy is made again"
    assert len(list((cache / "files").iterdir())) == 2
    with store.local(f"{path}::1.mp4") as one, store.local(f"{path}::2.mp4") as two, store.local(f"{path}::3.mp4"):
        assert Path(one).exists() and Path(two).exists(), "what is in use is not dropped"
    monkeypatch.setenv(store.LIMIT, str(0.5 * len(movies["b"]) / 1e9))
    with pytest.raises(DataError, match="Set MM_EVAL_VIDEO_CACHE_GB to more"):
        shown(tmp_path, "0.mp4").pictures()
    monkeypatch.setenv(store.LIMIT, "many")
    with pytest.raises(ConfigError, match="MM_EVAL_VIDEO_CACHE_GB='many' is not a number"):
        shown(tmp_path, "0.mp4").pictures()


READING = """import sys
from pathlib import Path
from tests.data.video.test_archives import read, shown
for turn in range(3):
    for number in range(4):
        pictures = shown(Path(sys.argv[1]), f"{number}.mp4").pictures()
        assert [read(picture) for picture in pictures] == [0, 19, 39]
print("right")
"""


@pytest.mark.full
def test_several_processes_share_a_cache_that_is_too_small(
    tmp_path: Path, movies: dict[str, bytes], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zipped(tmp_path / "v.zip", {f"{n}.mp4": movies["b"] for n in range(4)})
    monkeypatch.setenv(store.LIMIT, str(1.5 * len(movies["b"]) / 1e9))
    asked = [sys.executable, "-c", READING, str(tmp_path)]
    running = [subprocess.Popen(asked, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate()[0] for process in running] == ["right\n"] * 2


def test_a_killed_copy_leaves_no_half_file(tmp_path: Path, movies: dict[str, bytes], cache: Path) -> None:
    path = zipped(tmp_path / "v.zip", {"a.mp4": movies["a"]})
    code = f"""import os, signal
from mm_eval.data import archives
from mm_eval.data import kept_files as store
own = archives._copy
def half(source, target, size):
    target.write(source.read(size // 2)); target.flush(); os.kill(os.getpid(), signal.SIGKILL)
archives._copy = half
with store.local({f"{path}::a.mp4"!r}): pass
"""
    assert subprocess.run([sys.executable, "-c", code]).returncode == -signal.SIGKILL
    [left] = (cache / "files").iterdir()
    assert left.name.endswith(".tmp")
    os.utime(left, (1, 1))
    assert [read(picture) for picture in shown(tmp_path, "a.mp4").pictures()] == [0, 29, 59]
    assert not left.exists(), "what a killed process left is deleted"


def test_joined_parts_are_one_file(tmp_path: Path) -> None:
    path = tarred(tmp_path / "v.tar", {"a.mp4": bytes(range(256)) * 40, "b.mp4": b"end"})
    cut(path, 1000, [f".part_{n:02}" for n in range(20)])
    for name, content in (("a.mp4", bytes(range(256)) * 40), ("b.mp4", b"end")):
        with open_member(f"{path}::{name}") as (file, size):
            assert file.read(size) == content


def test_a_column_of_videos_has_bytes_or_paths(tmp_path: Path, movies: dict[str, bytes], cache: Path, cli: Any) -> None:
    from datasets import Dataset, Features, Value
    from datasets import Video as Column

    data = tmp_path / "org" / "clips"
    zipped(data / "v.zip", {"in/b.mp4": movies["b"]})
    (data / "a.mp4").write_bytes(movies["a"])
    cells = [{"bytes": movies["a"], "path": "x.mp4"}, {"bytes": None, "path": "a.mp4"}, {"bytes": None, "path": "in/b.mp4"},
             {"bytes": None, "path": f"zip://in/b.mp4::{data}/v.zip"}, {"bytes": None, "path": "/etc/passwd"}]  # fmt: skip
    rows = {"clip": cells, "q": ["what?"] * 5, "answer": ["x"] * 5}
    features = Features({"clip": Column(), "q": Value("string"), "answer": Value("string")})
    (data / "data").mkdir()
    pq.write_table(Dataset.from_dict(rows, features=features).data.table, data / "data" / "test-00000-of-00001.parquet")
    (data / "README.md").write_text(
        "---\nconfigs:\n- config_name: default\n  data_files: [{split: test, path: 'data/*'}]\n---\n"
    )
    (tmp_path / "clips.yaml").write_text(
        "task: clips\ndataset_path: org/clips\ntest_split: test\ndoc_to_visual: clip\ndoc_to_text: q\ndoc_to_target: answer\n"
        "metric_list: [{metric: exact_match}]\ngeneration_kwargs: {until: []}\n"
    )
    asked = (
        "--tasks",
        "clips",
        "--include_path",
        tmp_path,
        "--data_root",
        tmp_path,
        "--model",
        "dummy",
        "--video",
        "frames=2",
    )
    ran = cli(*asked)
    assert ran.code == 3, ran.err
    images = [row.get("images") for row in ran.samples("clips")]
    assert images[0] == images[1] != images[2] == images[3] and images[4] is None
    assert "below the data's folder" in ran.samples("clips")[4]["error"]["what"]
