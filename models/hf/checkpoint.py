"""A checkpoint as files: its folder, its config, and digests of everything that decides an answer.

A hub id is resolved to the folder of its snapshot at once. Local and downloaded checkpoints are then read by the same code, so
that equal files give equal fingerprints wherever they come from.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from mm_eval.values.errors import ConfigError, ModelError, NotHereError
from mm_eval.values.files import cache_folder, write_atomic
from mm_eval.values.types import JsonObject

from .arguments import WHERE, PromptArguments, looks_like_a_path

_ROLES = {
    "config": ("config.json", "generation_config.json"),
    "processor": ("preprocessor_config.json", "processor_config.json"),
    "tokenizer": (
        "tokenizer*.json", "tokenizer*.model", "vocab.*", "merges.txt", "*.tiktoken", "special_tokens_map.json",
        "added_tokens.json", "*.spm", "sentencepiece*.model", "spiece.model",
    ),
    "template": ("chat_template.json", "chat_template.jinja", "additional_chat_templates/*.jinja"),
    "code": ("*.py",),
}  # fmt: skip
_SMALL_JSON = (
    "config.json", "generation_config.json", "preprocessor_config.json", "processor_config.json", "tokenizer_config.json",
    "special_tokens_map.json", "added_tokens.json", "chat_template.json",
)  # fmt: skip
_NOT_WEIGHTS = ("*.bin", "*.pt", "*.pth", "*.safetensors", "*.gguf", "*.onnx", "*.msgpack", "*.h5", "*.md", "*.zip")


class Checkpoint:
    """The files behind `pretrained`: a folder, or the snapshot of a hub id, fetched on first use.

    tokenizer: a folder or hub id whose tokenizer and chat template take the place of its own.
    """

    argument, needed = "pretrained", "config.json"

    def __init__(
        self, pretrained: str, revision: str | None = None, *, offline: bool = False, tokenizer: str | None = None
    ) -> None:
        self.pretrained, self.revision, self.offline = pretrained, revision, offline
        self.tokens = TokenizerFiles(tokenizer, offline=offline) if tokenizer else self
        self._identified: dict[Path, tuple[int, ...]] = {}
        folder = Path(pretrained).expanduser()
        self._local = folder if os.path.isdir(folder) else None
        if self._local is None and looks_like_a_path(pretrained):
            raise ConfigError(
                f"{self.argument}={pretrained!r}: there is no such folder.",
                where=WHERE,
                hint=f"Give a folder with {self.needed}, or a hub id such as 'owner/name'.",
            )
        if self._local is not None and not (self._local / self.needed).is_file():
            raise ConfigError(
                f"{self.argument}={pretrained!r}: the folder has no {self.needed}.",
                where=WHERE,
                hint="Give the folder that save_pretrained wrote.",
            )

    @cached_property
    def folder(self) -> Path:
        """The folder with config, tokenizer and processor; of a hub id these small files are fetched now."""
        return self._local or self._fetch(None, [*_NOT_WEIGHTS, "original/*", "onnx/*", "openvino/*"])

    @cached_property
    def config(self) -> JsonObject:
        """The content of config.json."""
        return self.read("config.json")

    def read(self, name: str) -> JsonObject:
        """A JSON file of the checkpoint, {} if it is missing. Raises ConfigError if it is not a JSON object."""
        path = self.folder / name
        if not path.is_file():
            return {}
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise ConfigError(f"can't be read as JSON: {error}.", where=str(path), hint="Fetch it again.") from error
        if not isinstance(found, dict):
            raise ConfigError("is not a JSON object.", where=str(path), hint="Fetch it again.")
        return found

    def check_json(self) -> None:
        """Raises ConfigError for an unreadable small JSON file. transformers ignores it or does not name it."""
        for name in _SMALL_JSON:
            self.read(name)
        if self.tokens is not self:
            self.tokens.check_json()

    @property
    def model_type(self) -> str:
        return str(self.config.get("model_type", ""))

    @property
    def has_chat_template(self) -> bool:
        """Whether any file of the checkpoint contains a chat template. Imports nothing."""
        return bool(self.chat_templates)

    @cached_property
    def chat_templates(self) -> str:
        """The sources of all chat templates in the files, one after the other."""
        if self.tokens is not self:
            return self.tokens.chat_templates
        files = [self.folder / "chat_template.jinja", *sorted(self.folder.glob("additional_chat_templates/*.jinja"))]
        configs = ("tokenizer_config.json", "processor_config.json", "chat_template.json")
        found = [path.read_text(encoding="utf-8", errors="replace") for path in files if path.is_file()]
        return "".join([*found, *(str(self.read(name).get("chat_template") or "") for name in configs)])

    def template_of(self, pictures: bool) -> str:
        """The source of the template that prompts are written by; empty where there are several by name.

        pictures: it is the processor's, whose own file counts before the tokenizer's.
        """
        if self.tokens is not self:
            return self.tokens.template_of(pictures)
        file = self.folder / "chat_template.jinja"
        if file.is_file():
            return file.read_text(encoding="utf-8", errors="replace")
        of_processor = ("processor_config.json", "chat_template.json") if pictures else ()
        stated = (self.read(name).get("chat_template") for name in (*of_processor, "tokenizer_config.json"))
        found = next((each for each in stated if each), "")
        return found if isinstance(found, str) else ""

    def weights(self) -> list[Path]:
        """The weight files that will be loaded, fetched if need be."""
        if self._local is None:
            self._fetch(["*.safetensors", "*.safetensors.index.json"], ["*/*"])
            if not list(self.folder.glob("*.safetensors")):
                self._fetch(["*.bin", "*.bin.index.json"], ["*/*", "training_args.bin"])
        missing: list[str] = []
        for single in ("model.safetensors", "pytorch_model.bin"):
            found = [self.folder / single] if (self.folder / single).is_file() else []
            if not found:
                shards = self._shards(f"{single}.index.json")
                lost = [name for name in shards if not (self.folder / name).is_file()]
                found = [] if lost else [self.folder / name for name in shards]
                missing += lost
            if found:
                check_whole(found)
                return found
        lacking = f": {', '.join(missing[:3])} {'is' if len(missing) == 1 else 'are'} missing" if missing else ""
        raise ConfigError(
            f"pretrained={self.pretrained!r} has no complete weights (model.safetensors, its shards,"
            f" or pytorch_model.bin) in {self.folder}{lacking}.",
            where=WHERE,
            hint="Fetch the checkpoint again.",
        )

    def _shards(self, index: str) -> list[str]:
        """The names of the weight files in an index. Raises ConfigError if it lists anything else."""
        listed = self.read(index).get("weight_map", {})
        names = set(listed.values() if isinstance(listed, dict) else [None])
        if not all(isinstance(name, str) and Path(name).name == name for name in names):
            raise ConfigError(
                "its `weight_map` does not name files of this folder.",
                where=str(self.folder / index),
                hint="Fetch the checkpoint again.",
            )
        return sorted(names)

    def digests(self) -> dict[str, str]:
        """One sha256 per role (weights, config, processor, tokenizer, template, code) over names and contents."""
        of_tokens = ("tokenizer", "template")
        folders = {role: (self.tokens if role in of_tokens else self).folder for role in _ROLES}
        files = {role: [p for pattern in globs for p in folders[role].glob(pattern)] for role, globs in _ROLES.items()}
        files["weights"] = self.weights()
        with _each_file_is_readable():
            self._identified = {path: _stamp_of(path.stat())[:2] for path in files["weights"]}
            with DigestCache() as cache:
                return {
                    role: _joint({p.name: cache.digest(p) for p in paths}) for role, paths in files.items() if paths
                }

    def check_unchanged(self) -> None:
        """ModelError if the weights were rewritten since their digests were taken: what was loaded is not what is recorded."""
        for path, stamp in self._identified.items():
            if not path.is_file():
                hint = "Give the same command again once they are there."
                raise ModelError("the weights were removed while they were loaded.", where=str(path), hint=hint)
            if _stamp_of(path.stat())[:2] != stamp:
                hint = "Give the same command again once they are complete."
                raise ModelError("the weights were written again while they were loaded.", where=str(path), hint=hint)

    def _fetch(self, allow: list[str] | None, ignore: list[str]) -> Path:
        import huggingface_hub
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError

        try:
            return Path(
                huggingface_hub.snapshot_download(
                    self.pretrained,
                    revision=self.revision,
                    allow_patterns=allow,
                    ignore_patterns=ignore,
                    local_files_only=self.offline,
                )
            )
        except (HfHubHTTPError, HFValidationError, OSError, ValueError) as error:
            revision = f" at revision {self.revision!r}" if self.revision else ""
            unreachable = self.offline or huggingface_hub.constants.HF_HUB_OFFLINE
            hint = (
                "No network is used (--offline or HF_HUB_OFFLINE): fetch it first with `hf download`, or give a folder."
                if unreachable
                else "Check the spelling, the network and, for a gated model, `hf auth login`; or give a folder."
            )
            first = str(error).strip().split("\n")[0].rstrip(".")
            raise NotHereError(
                f"{self.argument}={self.pretrained!r}{revision} is neither a folder nor a model that can be fetched"
                f" ({type(error).__name__}: {first}).",
                where=WHERE,
                hint=hint,
            ) from error


class TokenizerFiles(Checkpoint):
    """The files behind `tokenizer`, of which no weights are read."""

    argument, needed = "tokenizer", "tokenizer_config.json"


def fits_of(checkpoint: Checkpoint, arguments: PromptArguments) -> dict[str, int]:
    """How a processor of Qwen's resizes a picture (`ModelFacts.fits`), by the files and the user's limits; {} for another one.

    The files are read in the order in which transformers reads them. What they do not state is the processor's default.
    """
    stated = checkpoint.read("processor_config.json").get("image_processor") or checkpoint.read(
        "preprocessor_config.json"
    )
    if not re.match(r"qwen2(_5)?_?vl", str(stated.get("image_processor_type") or checkpoint.model_type).lower()):
        return {}
    size = found if isinstance(found := stated.get("size"), dict) else {}
    try:
        least = arguments.min_pixels or stated.get("min_pixels") or size.get("shortest_edge") or 56 * 56
        most = arguments.max_pixels or stated.get("max_pixels") or size.get("longest_edge") or 28 * 28 * 1280
        factor = int(stated.get("patch_size") or 14) * int(stated.get("merge_size") or 2)
        return {"factor": factor, "min_pixels": int(least), "max_pixels": int(most)}
    except (TypeError, ValueError):  # what is no number is refused where the processor is loaded
        return {}


def _stamp_of(stat: os.stat_result) -> tuple[int, int, int]:
    """Size and times of a file. A copy may have the time of change of the original (`cp -p`, `rsync -a`), but not its ctime."""
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


class DigestCache:
    """sha256 of files, cached by path, size and times of change in a small file of the user's cache folder.

    A digest of 15 GB takes ten seconds or more and is needed at each start. If the cache is unreadable or can't be written,
    digests are computed again.
    """

    def __init__(self) -> None:
        self.path = cache_folder() / "digests.json"
        self.known: dict[str, list[Any]] = self._read()
        self.new: dict[str, list[object]] = {}

    def __enter__(self) -> DigestCache:
        return self

    def __exit__(self, *exception: object) -> None:
        if self.new:
            with suppress(OSError):
                write_atomic(self.path, json.dumps({**self._read(), **self.new}), durable=False)

    def digest(self, path: Path) -> str:
        """sha256 of the file's content."""
        real = path.resolve()
        stat = real.stat()
        stamp = list(_stamp_of(stat))
        entry = self.new.get(str(real)) or self.known.get(str(real))
        if isinstance(entry, list) and len(entry) == 4 and entry[:3] == stamp:
            return str(entry[3])
        with real.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        self.new[str(real)] = [*stamp, found]
        return found

    def _read(self) -> dict[str, list[Any]]:
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}


def joint_digest(paths: Sequence[Path]) -> str:
    """One sha256 over the names and contents of files."""
    with _each_file_is_readable(), DigestCache() as cache:
        return _joint({path.name: cache.digest(path) for path in paths})


@contextmanager
def _each_file_is_readable() -> Iterator[None]:
    """ConfigError for a file that can't be read: a training removes its oldest checkpoint meanwhile (`save_total_limit`)."""
    try:
        yield
    except OSError as error:
        what = f"a file of the checkpoint can't be read: {error.strerror}."
        raise ConfigError(what, where=str(error.filename), hint="Fetch the checkpoint again.") from error


def _joint(digests: dict[str, str]) -> str:
    text = "\n".join(f"{name} {digest}" for name, digest in sorted(digests.items()))
    return hashlib.sha256(text.encode()).hexdigest()


LARGEST_HEADER = 100_000_000
"""Bytes; the format's limit for the header."""


def check_whole(files: Sequence[Path]) -> None:
    """Raises ConfigError for a .safetensors file that is cut, or is something else (a git-lfs pointer, a web page)."""
    for path in files:
        if path.suffix == ".safetensors" and (flaw := _flaw(path)):
            raise ConfigError(f"the weights can't be read: {flaw}.", where=str(path), hint="Fetch the file again.")


def parameter_count(files: Sequence[Path]) -> int | None:
    """The numbers in some .safetensors files, from their headers; None for other files. The files must be whole."""
    count = 0
    for path in files:
        if path.suffix != ".safetensors":
            return None
        with path.open("rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        count += sum(math.prod(tensor["shape"]) for name, tensor in header.items() if name != "__metadata__")
    return count


def _flaw(path: Path) -> str:
    """The fault of a file, or "". It must hold 8 bytes (the header's length), a JSON header, and the tensors listed there."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or length > min(LARGEST_HEADER, size - 8):
                pointer = size < 1000 and b"git-lfs" in path.read_bytes()
                return (
                    "it is a git-lfs pointer, not the file itself"
                    if pointer
                    else "it is cut, or not a safetensors file"
                )
            header = json.loads(file.read(length))
        ends = [tensor["data_offsets"][1] for name, tensor in header.items() if name != "__metadata__"]
        needed = 8 + length + max(ends, default=0)
    except OSError as error:
        return str(error.strerror or error)
    except (ValueError, RecursionError, AttributeError, KeyError, IndexError, TypeError):
        return "its header is damaged"
    return "" if size >= needed else f"it has {size:,} bytes where its header lists {needed:,}"
