"""Trainings with weights in parts, in each process of a launch: `torchrun in_parts.py FOLDER KIND...`.

Each is made twice, without evaluations and with them. FOLDER/KIND-RANK.json gets the losses of both and what was evaluated;
FOLDER/KIND/saved is the trained model, whole.
"""

import importlib
import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from mm_eval import evaluate
from mm_eval.training import EvalCallback
from tests.verbs.training.trainings import Texts, losses, model, processor, trainer

TASKS, OPTIONS = "mme,arc_easy", {"limit": 6, "sample": True, "report": False}
STEPS = 3


def is_layer(module: torch.nn.Module) -> bool:
    return type(module).__name__.endswith("DecoderLayer")


def fsdp(plain: Any, use_orig_params: bool) -> Any:
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import lambda_auto_wrap_policy

    policy = partial(lambda_auto_wrap_policy, lambda_fn=is_layer)
    cpu = torch.device("cpu")
    return FullyShardedDataParallel(plain, auto_wrap_policy=policy, device_id=cpu, use_orig_params=use_orig_params)


def fsdp2(plain: Any) -> Any:
    from torch.distributed.fsdp import fully_shard

    for each in [each for each in plain.modules() if is_layer(each)]:
        fully_shard(each)
    return fully_shard(plain)


def save_whole(module: Any, folder: Path) -> None:
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

    state = get_model_state_dict(module, options=StateDictOptions(full_state_dict=True))
    plain = model()
    plain.load_state_dict(state)
    if dist.get_rank() == 0:
        plain.save_pretrained(folder)
        processor().save_pretrained(folder)


def in_a_loop(wrap: Any, folder: Path, evaluates: bool) -> tuple[list[float], list[Any]]:
    """Evaluates before the first step, between backward and step, and after the last step."""
    torch.manual_seed(dist.get_rank())
    module, found, results = wrap(model().train()), [], []
    optimizer = torch.optim.AdamW(module.parameters(), 1e-3)

    def evaluated(name: str) -> None:
        if evaluates:
            made = evaluate(TASKS, module, processor=processor(), output_path=str(folder / name), **OPTIONS)
            results.append([name, made.exit_code])

    evaluated("first")
    for step in range(STEPS):
        batch = {name: values[None] for name, values in Texts()[2 * step + dist.get_rank()].items()}
        loss = module(**batch).loss
        loss.backward()
        evaluated(f"step-{step}")
        optimizer.step()
        optimizer.zero_grad()
        found.append(loss.item())
    evaluated("last")
    if evaluates:
        save_whole(module, folder / "saved")
    return found, results


def in_a_trainer(folder: Path, evaluates: bool, **options: Any) -> tuple[list[float], list[Any]]:
    callback = EvalCallback(TASKS, processor(), every=2, output_path=folder / "study", **OPTIONS)
    name = "with" if evaluates else "without"
    made = trainer(folder / name, *([callback] if evaluates else []), steps=STEPS, save_strategy="no", **options)
    made.train()
    if evaluates:
        made.save_model(str(folder / "saved"))
        if made.args.process_index == 0:
            processor().save_pretrained(folder / "saved")
    return losses(made), [[step, found.exit_code] for step, found in callback.results.items()]


def with_deepspeed(stage: int, folder: Path, evaluates: bool) -> tuple[list[float], list[Any]]:
    import deepspeed

    config = {
        "train_batch_size": 2, "train_micro_batch_size_per_gpu": 1, "zero_allow_untested_optimizer": True,
        "zero_optimization": {"stage": stage, "stage3_param_persistence_threshold": 0},
    }  # fmt: skip
    plain = model().train()
    torch.manual_seed(dist.get_rank())
    engine = deepspeed.initialize(model=plain, optimizer=torch.optim.AdamW(plain.parameters(), 1e-3), config=config)[0]
    results, found = [], []

    def evaluated(thing: Any, name: str) -> None:
        if evaluates:
            made = evaluate(TASKS, thing, processor=processor(), output_path=str(folder / name), **OPTIONS)
            results.append([name, made.exit_code])

    evaluated(engine, "first")
    for step in range(STEPS):
        batch = {name: values[None] for name, values in Texts()[2 * step + dist.get_rank()].items()}
        loss = engine(**batch).loss
        engine.backward(loss)
        evaluated(engine.module, f"step-{step}")  # as the Trainer gives it
        engine.step()
        found.append(loss.item())
    evaluated(engine, "last")
    if evaluates:
        whole = plain_weights(engine, stage)
        if dist.get_rank() == 0:
            saved = model()
            saved.load_state_dict(whole)
            saved.save_pretrained(folder / "saved")
            processor().save_pretrained(folder / "saved")
    engine.destroy()
    return found, results


def plain_weights(engine: Any, stage: int) -> dict[str, Any]:
    """The whole weights by the engine's own way, on the first process."""
    if stage < 3:
        return dict(engine.module.state_dict())
    return dict(engine._zero3_consolidated_16bit_state_dict() or {})


KINDS = {
    "fsdp": partial(in_a_loop, partial(fsdp, use_orig_params=True)),
    "flat": partial(in_a_loop, partial(fsdp, use_orig_params=False)),
    "fsdp2": partial(in_a_loop, fsdp2),
    "trainer-fsdp2": partial(
        in_a_trainer, fsdp=True, fsdp_config={"fsdp_version": 2, "auto_wrap_policy": "TRANSFORMER_BASED_WRAP"}
    ),
    "zero2": partial(with_deepspeed, 2),
    "zero3": partial(with_deepspeed, 3),
}


def main() -> None:
    folder = Path(sys.argv[1])
    for kind in sys.argv[2:]:
        if kind.startswith("zero"):
            importlib.import_module("deepspeed").init_distributed("gloo")
        elif KINDS[kind].func is in_a_loop and not dist.is_initialized():
            dist.init_process_group("gloo")
        without, _ = KINDS[kind](folder / kind, evaluates=False)
        with_it, results = KINDS[kind](folder / kind, evaluates=True)
        content = json.dumps({"without": without, "with": with_it, "results": results})
        (folder / f"{kind}-{os.environ['RANK']}.json").write_text(content)


if __name__ == "__main__":
    main()
