"""A checkpoint with damaged or missing files: one sentence that names it, exit code 2, and nothing asked."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mm_eval.engine.model import MODELS, ModelSettings
from tests.conftest import Ran
from tests.sets import few

OPTIONS = ("--tasks", "mme", "--sample", "--limit", 2, "--device", "cpu", "--bootstrap_iters", 0, "--no_report")


def truncated(folder: Path, name: str, keep: float = 0.5) -> None:
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[: int(len(data) * keep)])


def edited(folder: Path, name: str, **values: object) -> None:
    content = json.loads((folder / name).read_text())
    (folder / name).write_text(json.dumps({**content, **values}))


def sharded(folder: Path, *present: str, index: object = None) -> None:
    (folder / "model.safetensors").unlink()
    shards = {"a.weight": "model-00001-of-00002.safetensors", "b.weight": "model-00002-of-00002.safetensors"}
    for name in present:
        (folder / name).write_bytes(b"")
    written = {"metadata": {}, "weight_map": shards} if index is None else index
    (folder / "model.safetensors.index.json").write_text(json.dumps(written))


def as_bin(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"PK\x03\x04 this is no archive")


def a_link(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to(folder / "gone")


def empty(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()


def another_size(folder: Path) -> None:
    text = json.loads((folder / "config.json").read_text())["text_config"]
    edited(folder, "config.json", text_config={**text, "intermediate_size": text["intermediate_size"] * 2})


def lfs_pointer(folder: Path) -> None:
    """What a clone without git-lfs leaves."""
    text = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 7000000\n"
    (folder / "model.safetensors").write_text(text)


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "weights cut in half": (lambda f: truncated(f, "model.safetensors"), "weights"),
    "weights cut in their header": (lambda f: truncated(f, "model.safetensors", 0.0005), "weights"),
    "empty weights": (lambda f: (f / "model.safetensors").write_bytes(b""), "weights"),
    "garbage for weights": (lambda f: (f / "model.safetensors").write_bytes(b"\xff" * 4000), "weights"),
    "a git-lfs pointer for weights": (lfs_pointer, "weights"),
    "no weights": (lambda f: (f / "model.safetensors").unlink(), "weights"),
    "a dangling link for weights": (a_link, "weights"),
    "a folder for weights": (lambda f: ((f / "model.safetensors").unlink(), (f / "model.safetensors").mkdir()), "weights"),
    "a missing shard": (lambda f: sharded(f, "model-00001-of-00002.safetensors"), "model-00002-of-00002.safetensors"),
    "empty shards": (
        lambda f: sharded(f, "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"), "weights"),
    "an index of another form": (lambda f: sharded(f, index={"weight_map": ["a", "b"]}), "model.safetensors.index.json"),
    "an index with numbers": (lambda f: sharded(f, index={"weight_map": {"a": 1}}), "model.safetensors.index.json"),
    "an index out of the folder": (
        lambda f: sharded(f, index={"weight_map": {"a": "../model.safetensors"}}), "model.safetensors.index.json"),
    "an index that is a list": (lambda f: sharded(f, index=[1]), "model.safetensors.index.json"),
    "a broken pickle": (as_bin, "weights"),
    "config that is no JSON": (lambda f: truncated(f, "config.json"), "config.json"),
    "config that is binary": (lambda f: (f / "config.json").write_bytes(b"\xff\xfe\x00"), "config.json"),
    "config that is a list": (lambda f: (f / "config.json").write_text("[1, 2]"), "config.json"),
    "empty config": (lambda f: (f / "config.json").write_text(""), "config.json"),
    "config without a type": (lambda f: (f / "config.json").write_text("{}"), "model_type"),
    "config of an unknown type": (lambda f: edited(f, "config.json", model_type="llavva"), "llavva"),
    "config with a wrong size": (lambda f: edited(f, "config.json", text_config="none"), "config"),
    "config of another size": (another_size, "weights"),
    "no config": (lambda f: (f / "config.json").unlink(), "config.json"),
    "tokenizer that is no JSON": (lambda f: truncated(f, "tokenizer.json"), "processor"),
    "empty tokenizer": (lambda f: (f / "tokenizer.json").write_text("{}"), "processor"),
    "no tokenizer": (lambda f: [p.unlink() for p in f.glob("tokenizer*")], "processor"),
    "tokenizer config that is no JSON": (lambda f: truncated(f, "tokenizer_config.json"), "tokenizer_config.json"),
    "tokenizer config that is a list": (lambda f: (f / "tokenizer_config.json").write_text("[]"), "tokenizer_config.json"),
    "no processor": (lambda f: (f / "processor_config.json").unlink(), "processor"),
    "processor that is no JSON": (lambda f: truncated(f, "processor_config.json"), "processor_config.json"),
    "generation config that is no JSON": (lambda f: truncated(f, "generation_config.json"), "generation_config.json"),
    "template that is binary": (lambda f: (f / "chat_template.jinja").write_bytes(b"\xff\xfe"), "processor"),
    "an empty folder": (empty, "config.json"),
}  # fmt: skip


@pytest.mark.parametrize("what", few(DAMAGE, at=[0, 2, 5, 8, 10, 13, 15, 19, 20, 23, 25, 29, 31, 32, 33]))
def test_it_is_one_sentence_and_exit_code_2(cli: Callable[..., Ran], tmp_path: Path, what: str) -> None:
    source = MODELS.get("tiny-llava")({}, ModelSettings(device="cpu")).checkpoint.folder
    folder = shutil.copytree(source, tmp_path / "damaged")
    damage, named = DAMAGE[what]
    damage(folder)
    ran = cli(*OPTIONS, "--model", "hf", "--model_args", f"pretrained={folder}")
    said = ran.err.strip().splitlines()
    assert ran.code == 2, ran.err
    assert named in said[-1] and "damaged" in said[-1]
    assert "Traceback" not in ran.err and len(said) <= 2 and len(said[-1]) < 600, ran.err
    assert not list(ran.folder.glob("journal/*.jsonl"))
