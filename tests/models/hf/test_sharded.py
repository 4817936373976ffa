"""A module whose weights are in parts is evaluated with whole copies, and is as it was. One process; two are in `full`."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import torch
import torch.distributed as dist
from mm_eval.models.hf import sharded
from mm_eval.models.hf.in_memory import check_module, plain_module, weights_digest
from mm_eval.models.hf.sharded import gathered, whole_bytes

from mm_eval.errors import ConfigError
from tests.models.hf.test_in_memory import loaded, run, state_of


@pytest.fixture(scope="module", autouse=True)
def group() -> Iterator[None]:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Any:
    module, processor = loaded("tiny-llava")
    folder = tmp_path_factory.mktemp("plain") / "run"
    return run(module, folder, limit=3, processor=processor), processor


def is_layer(module: torch.nn.Module) -> bool:
    return type(module).__name__.endswith("DecoderLayer")


def fsdp(module: Any, **options: Any) -> Any:
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import lambda_auto_wrap_policy

    policy = partial(lambda_auto_wrap_policy, lambda_fn=is_layer)
    return FullyShardedDataParallel(module, auto_wrap_policy=policy, device_id=torch.device("cpu"), **options)


def fsdp2(module: Any) -> Any:
    from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method

    for each in [each for each in module.modules() if is_layer(each)]:
        fully_shard(each)
    fully_shard(module)
    register_fsdp_forward_method(module, "generate")  # as the Trainer does
    return module


WAYS = {"fsdp": partial(fsdp, use_orig_params=True), "flat": partial(fsdp, use_orig_params=False), "fsdp2": fsdp2}


@pytest.mark.parametrize("way", ["fsdp2", *(pytest.param(way, marks=pytest.mark.full) for way in ("fsdp", "flat"))])
def test_the_weights_are_those_of_the_module_and_it_is_as_it_was(tmp_path, plain, way) -> None:
    """The request keys are those of the plain module: name, class and content of all weights are the same."""
    results, processor = plain
    wrapped = WAYS[way](loaded("tiny-llava")[0].train())
    module = plain_module(wrapped)
    run(wrapped, tmp_path / "first", limit=1, processor=processor)
    before = state_of(module)
    again = run(wrapped, results.folder, limit=3, processor=processor)
    assert any("nothing was requested" in note for note in again.report.notes)
    mine = run(wrapped, tmp_path / "mine", limit=3, processor=processor)
    assert mine.raw["results"] == results.raw["results"]
    assert [row["resps"] for row in mine.samples("mme")] == [row["resps"] for row in results.samples("mme")]
    assert state_of(module) == before
    ids = torch.randint(5, 100, (1, 8))
    wrapped(input_ids=ids, labels=ids).loss.backward()
    torch.optim.SGD(wrapped.parameters(), 0.1).step()
    with pytest.raises(ConfigError, match="holds another run: model"):
        run(wrapped, results.folder, limit=3, processor=processor)


@pytest.mark.full
def test_sampling_waits_for_no_other_process(tmp_path, plain, monkeypatch) -> None:
    """Transformers generates in lockstep where ZeRO-3 is on, or the module belongs to FSDP2."""
    wrapped = fsdp2(loaded("tiny-llava")[0])
    options, told = {"do_sample": True, "temperature": 1.0, "max_new_tokens": 2}, []
    generate = type(wrapped).generate
    monkeypatch.setattr(
        type(wrapped).__mro__[2],
        "generate",
        lambda *args, **given: told.append(given["synced_gpus"]) or generate(*args, **given),
    )
    run(wrapped, tmp_path / "run", limit=1, processor=plain[1], gen_kwargs=options)
    assert told and not any(told) and wrapped._is_fsdp_managed_module


def test_a_shared_parameter_is_gathered_once_and_stays_shared() -> None:
    from torch.distributed.fsdp import fully_shard

    module = torch.nn.Sequential(torch.nn.Linear(4, 4, bias=False), torch.nn.Linear(4, 4, bias=False))
    module[1].weight = module[0].weight
    fully_shard(module)
    copies = gathered(module).copies
    assert copies[module[0]]["weight"] is copies[module[1]]["weight"]


def test_what_can_not_be_put_together_is_refused_in_one_sentence(plain) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor

    module = loaded("tiny-llava")[0]
    wrapped = fsdp(module, use_orig_params=True)
    with pytest.raises(ConfigError, match="in the hands of an FSDP module around this one.*trainer.model"):
        check_module(module, plain[1])
    check_module(wrapped, plain[1])
    split = loaded("tiny-llava")[0]
    mesh = init_device_mesh("cpu", (1,))
    split.lm_head.weight = torch.nn.Parameter(distribute_tensor(split.lm_head.weight.detach(), mesh, [Shard(0)]))
    with pytest.raises(
        ConfigError, match=r"tensor or expert parallel\)\. Evaluate its saved checkpoints.*mm-eval watch"
    ):
        check_module(split, plain[1])


@pytest.mark.full
def test_weights_that_do_not_fit_whole_are_refused_before_they_are_gathered(monkeypatch) -> None:
    module = fsdp2(loaded("tiny-llava")[0])
    needed = sum(each.numel() * each.element_size() for each in loaded("tiny-llava")[0].parameters())
    assert whole_bytes(module) == needed == whole_bytes(fsdp(loaded("tiny-llava")[0], use_orig_params=True))
    monkeypatch.setattr(sharded, "free_bytes", lambda: needed)
    with pytest.raises(ConfigError, match="do not fit on the GPU of process 0, .* are free here.*mm-eval watch"):
        gathered(module)
    monkeypatch.setattr(sharded, "free_bytes", lambda: 2 * needed)
    assert gathered(module).copies


def test_a_plain_module_is_not_copied() -> None:
    module = loaded("tiny-llava")[0]
    assert not gathered(module).copies and weights_digest(module)
