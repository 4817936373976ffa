"""Arguments, where a checkpoint is looked for, what its identity is made of, and silence."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mm_eval.models.hf.processor import load_processor

from mm_eval.engine.model import MODELS, ModelSettings, is_bundled, measured, request_key, show
from mm_eval.tools.boxes import resized
from mm_eval.values.errors import ConfigError
from tests.models.questions import instance, mixed, outputs, picture
from tests.sets import each_of, few

Adapter = Callable[..., Any]
HF = ("hf", "llava", "qwen_vl")


def create(args: dict[str, Any], name: str = "hf", **settings: Any) -> Any:
    return MODELS.get(name)(args, ModelSettings(**settings))


@pytest.mark.parametrize("name", HF)
def test_a_checkpoint_is_asked_for(name: str) -> None:
    with pytest.raises(ConfigError, match="pretrained="):
        create({}, name)
    stand_in = MODELS.get(name).bundled_stand_in  # type: ignore[attr-defined]
    assert is_bundled(MODELS.get(stand_in))


@each_of(
    ("args", "message"),
    [
        ({"pretraind": "x"}, "'pretraind'.*'pretrained'"),
        ({"dtype": "float31"}, "'float31'; a dtype .*float32.* is needed"),
        ({"max_pixels": "many"}, "`max_pixels` is 'many'; a count from 1 is needed"),
        ({"max_length": 0}, "`max_length` is 0; a count from 1 is needed"),
        ({"trust_remote_code": "maybe"}, "'maybe'; true or false is needed"),
        ({"min_pixels": 100, "max_pixels": 10}, "min_pixels=100 is above max_pixels=10"),
        ({"device": "cpu", "device_map": "auto"}, "can't be combined"),
        ({"chat_template": "/no/such/file"}, "chat_template='/no/such/file' can't be read"),
        ({"pretrained": "/no/such/folder"}, "'/no/such/folder': there is no such folder"),
        ({"pretrained": "./models/none"}, "there is no such folder"),
        ({"pretrained": "nobody/nothing-7b"}, "'nobody/nothing-7b' is neither a folder nor a model.*hf download"),
        ({"pretrained": "nobody/no thing"}, "'nobody/no thing' is neither"),
        ({"pretrained": "nobody/nothing", "revision": "v9"}, "at revision 'v9'"),
    ],
)
def test_a_wrong_argument_is_named_at_once(
    args: dict[str, Any], message: str, checkpoint: Callable[[str], Path]
) -> None:
    with pytest.raises(ConfigError, match=message):
        create({"pretrained": str(checkpoint("llama")), **args}, offline=True)


def test_creating_an_adapter_imports_neither_torch_nor_transformers(checkpoint: Callable[[str], Path]) -> None:
    code = (
        "import sys; from mm_eval.engine.model import MODELS, ModelSettings\n"
        f"model = MODELS.get('qwen_vl')({{'pretrained': {str(checkpoint('qwen2_vl'))!r}}}, ModelSettings())\n"
        "assert model.facts.prompt_keys == ('qwen2_vl', 'qwen_vl') and model.facts.chat\n"
        "assert not {'torch', 'transformers', 'numpy', 'PIL'} & set(sys.modules), set(sys.modules)"
    )
    root = Path(__file__).parents[3]
    subprocess.run([sys.executable, "-c", code], check=True, cwd=root)


def test_a_folder_without_config_or_weights_is_named(tmp_path: Path, checkpoint: Callable[[str], Path]) -> None:
    with pytest.raises(ConfigError, match="no config.json"):
        create({"pretrained": str(tmp_path)})
    empty = shutil.copytree(checkpoint("llama"), tmp_path / "empty", ignore=shutil.ignore_patterns("*.safetensors"))
    with pytest.raises(ConfigError, match="no complete weights"):
        create({"pretrained": str(empty)}).prepare()


def test_a_missing_weight_is_an_error_not_a_random_number(tmp_path: Path, checkpoint: Callable[[str], Path]) -> None:
    from safetensors.torch import load_file, save_file

    folder = shutil.copytree(checkpoint("llama"), tmp_path / "holed")
    weights = load_file(folder / "model.safetensors")
    gone = "model.layers.1.mlp.up_proj.weight"
    save_file({k: v for k, v in weights.items() if k != gone}, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(ConfigError, match="lacks 1 of its weights.*up_proj"):
        create({"pretrained": str(folder)}).prepare()


def test_pixel_limits_reach_the_processor_or_are_refused(adapter: Adapter) -> None:
    row = instance("What?", [picture(224, 224)])
    tokens = {}
    for limit in (None, 28 * 28 * 4):
        tokens[limit] = show(adapter("qwen2_vl", **({"max_pixels": limit} if limit else {})), row).image_tokens
    assert tokens == {None: 16, 28 * 28 * 4: 4}
    assert show(adapter("qwen2_vl", min_pixels=28 * 28 * 9), instance("?", [picture(28, 28)])).image_tokens == 9
    with pytest.raises(ConfigError, match="max_pixels=784 has no meaning for"):
        show(adapter("llava", max_pixels=784), row)


def test_a_processor_whose_video_part_needs_torchvision_still_loads(tmp_path: Path, checkpoint: Any) -> None:
    """Checkpoints of the hub name their video processor; without torchvision that makes transformers refuse them whole."""
    folder = shutil.copytree(checkpoint("qwen2_vl"), tmp_path / "as_on_the_hub")
    kept = json.loads((folder / "processor_config.json").read_text())
    images = kept["image_processor"]
    images["image_processor_type"] = "Qwen2VLImageProcessor"
    (folder / "preprocessor_config.json").write_text(json.dumps({**images, "processor_class": "Qwen2VLProcessor"}))
    (folder / "video_preprocessor_config.json").write_text('{"video_processor_type": "Qwen2VLVideoProcessor"}')
    (folder / "processor_config.json").unlink()
    rows = mixed(generation_kwargs={"max_new_tokens": 4})
    assert outputs(create({"pretrained": str(folder)}).generate(rows)) == outputs(
        create({"pretrained": str(checkpoint("qwen2_vl"))}).generate(rows)
    )


def _snapshot(checkpoint: Path, cache: Path, model_id: str = "someone/tiny") -> Path:
    """The checkpoint as the hub's client keeps it."""
    repository = cache / f"models--{model_id.replace('/', '--')}"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("0" * 40)
    return Path(shutil.copytree(checkpoint, repository / "snapshots" / ("0" * 40)))


@pytest.mark.parametrize("way", few(["settings", "environment"], at=[0]))
def test_a_hub_id_is_read_from_the_cache_without_network(
    way: str, tmp_path: Path, checkpoint: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", way == "environment")
    _snapshot(checkpoint("llava"), tmp_path)
    model = create({"pretrained": "someone/tiny"}, device="cpu", offline=way == "settings")
    local = create({"pretrained": str(checkpoint("llava"))}, device="cpu")
    row = mixed(generation_kwargs={"max_new_tokens": 3})[0]
    assert request_key(model, row) == request_key(local, row)
    assert outputs(model.generate([row])) == outputs(local.generate([row]))


def test_the_identity_holds_what_decides_an_answer(adapter: Adapter, tmp_path: Path, checkpoint: Any) -> None:
    row = mixed(generation_kwargs={"max_new_tokens": 3})[0]
    base = request_key(adapter("qwen2_vl"), row)
    same = [
        adapter("qwen2_vl"),
        adapter("qwen2_vl", batch_size=7),
        adapter("qwen2_vl", "qwen_vl"),
        adapter("qwen2_vl", device=None),
        adapter("qwen2_vl", dtype="float32"),
    ]
    assert {request_key(model, row) for model in same} == {base}
    changed = [
        adapter("qwen2_vl", dtype="bfloat16"),
        adapter("qwen2_vl", max_pixels=784 * 4),
        adapter("qwen2_vl", attn_implementation="eager"),
        adapter("qwen2_vl", max_length=100),
        adapter("qwen2_vl", seed=3),
        adapter("qwen2_5_vl"),
    ]
    for number, name in enumerate(
        ("model.safetensors", "tokenizer.json", "processor_config.json", "chat_template.jinja")
    ):
        folder = shutil.copytree(checkpoint("qwen2_vl"), tmp_path / str(number))
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content + b" ")
        changed.append(create({"pretrained": str(folder)}, device="cpu"))
    keys = [request_key(model, row) for model in changed]
    assert len({base, *keys}) == len(keys) + 1
    other = mixed(generation_kwargs={"max_new_tokens": 3})[3]
    assert request_key(adapter("qwen2_vl"), other) != base
    moved = shutil.copytree(checkpoint("qwen2_vl"), tmp_path / "moved")
    (moved / "README.md").write_text("notes")
    assert request_key(create({"pretrained": str(moved)}, device="cpu"), row) == base


def test_describing_and_identifying_need_no_weights_in_memory(adapter: Adapter) -> None:
    model = adapter("llava")
    described = dict(model.describe())
    assert described["model_type"] == "llava" and described["dtype"] == "float32" and described["fingerprint"]
    json.dumps(described)
    json.dumps(model.identity(mixed()[0]))
    assert model._asking is None


def test_digests_are_remembered_by_path_size_and_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checkpoint: Any
) -> None:
    import os

    from mm_eval.models.hf import checkpoint as files

    monkeypatch.setenv("MM_EVAL_CACHE", str(tmp_path / "cache" / "mm_eval"))
    folder = shutil.copytree(checkpoint("llama"), tmp_path / "copy")
    first = files.Checkpoint(str(folder)).digests()
    assert list((tmp_path / "cache" / "mm_eval").iterdir()) == [tmp_path / "cache" / "mm_eval" / "digests.json"]
    read: list[Any] = []
    monkeypatch.setattr(files.hashlib, "file_digest", lambda *given: read.append(given))
    assert files.Checkpoint(str(folder)).digests() == first and not read
    monkeypatch.undo()
    monkeypatch.setenv("MM_EVAL_CACHE", str(tmp_path / "cache" / "mm_eval"))
    weights = folder / "model.safetensors"
    changed = bytearray(weights.read_bytes())
    changed[-1] ^= 1
    weights.write_bytes(bytes(changed))
    os.utime(weights, ns=(1, 1))
    second = files.Checkpoint(str(folder)).digests()
    assert second["weights"] != first["weights"] and second["config"] == first["config"]


@pytest.mark.parametrize("broken", ["a file in its place", "not json"])
def test_an_unusable_digest_cache_costs_time_only(
    broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checkpoint: Any
) -> None:
    from mm_eval.models.hf.checkpoint import Checkpoint

    expected = Checkpoint(str(checkpoint("llama"))).digests()
    monkeypatch.setenv("MM_EVAL_CACHE", str(tmp_path / "mm-eval"))
    if broken == "not json":
        (tmp_path / "mm-eval").mkdir()
        (tmp_path / "mm-eval" / "digests.json").write_text("{")
    else:
        (tmp_path / "mm-eval").write_text("")
    assert Checkpoint(str(checkpoint("llama"))).digests() == expected


def test_sharded_weights_are_one_fingerprint(tmp_path: Path, checkpoint: Any, adapter: Adapter) -> None:
    adapter("llama").runtime.model.save_pretrained(tmp_path / "shards", max_shard_size="200KB")
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        shutil.copy(checkpoint("llama") / name, tmp_path / "shards")
    model = create({"pretrained": str(tmp_path / "shards")}, device="cpu")
    assert len(model.checkpoint.weights()) > 1
    row = instance("The quick", chat=False, generation_kwargs={"max_new_tokens": 4})
    assert outputs(model.generate([row])) == outputs(adapter("llama").generate([row]))
    next((tmp_path / "shards").glob("*00001-of*")).unlink()
    with pytest.raises(ConfigError, match="no complete weights"):
        create({"pretrained": str(tmp_path / "shards")}).prepare()


@pytest.mark.full
def test_half_precision_checkpoints_run_in_float32_on_a_cpu(tmp_path: Path, adapter: Adapter, checkpoint: Any) -> None:
    import torch

    folder = shutil.copytree(checkpoint("llava"), tmp_path / "half")
    adapter("llava", dtype="bfloat16").runtime.model.save_pretrained(folder)
    assert create({"pretrained": str(folder)}, device="cpu").runtime.dtype == torch.float32
    half = create({"pretrained": str(folder), "dtype": "auto"}, device="cpu")
    assert half.runtime.dtype == torch.bfloat16
    assert all(isinstance(text, str) for text in outputs(half.generate(mixed())).values())
    assert all(total < 0 for total, _ in outputs(half.loglikelihood(mixed(continuation=" the dog"))).values())


@pytest.mark.full
def test_a_normal_run_is_silent_and_changes_no_logger(checkpoint: Callable[[str], Path]) -> None:
    code = f"""
import logging
from tests.models.questions import mixed, outputs
from mm_eval.engine.model import MODELS, ModelSettings
import transformers
level = transformers.utils.logging.get_verbosity()
for folder in {[str(checkpoint(kind)) for kind in ("llava", "qwen2_vl")]}:
    model = MODELS.get("hf")({{"pretrained": folder}}, ModelSettings(batch_size=5, device="cpu"))
    model.prepare()
    options = {{"max_new_tokens": 4, "min_new_tokens": 2, "until": ["x"]}}
    assert len(outputs(model.generate(mixed(generation_kwargs=options)))) == 5
    assert len(outputs(model.generate(mixed(generation_kwargs={{**options, "temperature": 0.5, "top_p": 0.9}})))) == 5
    assert len(outputs(model.loglikelihood(mixed(continuation=" the dog")))) == 5
assert transformers.utils.logging.get_verbosity() == level
assert transformers.utils.logging.is_progress_bar_enabled()
assert not logging.getLogger().handlers
"""
    root = Path(__file__).parents[3]
    run = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


@pytest.mark.full
def test_two_models_in_one_process_do_not_mix(adapter: Adapter) -> None:
    rows = mixed(generation_kwargs={"max_new_tokens": 6})
    expected = {kind: outputs(adapter(kind).generate(rows)) for kind in ("llava", "qwen2_vl")}
    models = {kind: adapter(kind) for kind in expected}
    for row in rows:
        for kind, model in models.items():
            assert outputs(model.generate([row]))[row.doc_id, 0] == expected[kind][row.doc_id, 0]


def test_all_that_is_kept_between_runs_lies_in_one_cache_folder() -> None:
    from mm_eval.models.hf.checkpoint import DigestCache

    from mm_eval.config.index import _cache_file

    index = _cache_file(Path("/tasks"))
    assert index is not None and DigestCache().path.parent == index.parent


def test_parameters_are_counted_from_the_headers_of_the_weights(checkpoint: Callable[[str], Path]) -> None:
    import torch
    from safetensors.torch import load_file

    folder = checkpoint("llama")
    model = create({"pretrained": str(folder), "device": "cpu"})
    tensors = [tensor for path in folder.glob("*.safetensors") for tensor in load_file(path).values()]
    model.describe()
    assert measured(model).machine == {"device": "cpu", "parameters": sum(map(torch.numel, tensors))}
    assert "parameters" not in model.describe() and "device" not in model.identity(instance("Is it?"))


@pytest.mark.parametrize("limits", [{}, {"min_pixels": 28 * 28 * 9}, {"max_pixels": 28 * 28 * 4}])
def test_the_size_at_which_a_picture_is_seen_is_known_without_its_processor(
    limits: dict[str, int], checkpoint: Callable[[str], Path]
) -> None:
    folder = checkpoint("qwen2_vl")
    model = create({"pretrained": str(folder), **limits})
    size = resized(300, 140, *(model.facts.fits[name] for name in ("factor", "min_pixels", "max_pixels")))
    images = load_processor(folder, model.arguments).image_processor
    _, high, wide = images(picture(300, 140), return_tensors="pt")["image_grid_thw"][0].tolist()
    assert size == (images.patch_size * wide, images.patch_size * high)
    assert create({"pretrained": str(checkpoint("llava"))}).facts.fits == {}
