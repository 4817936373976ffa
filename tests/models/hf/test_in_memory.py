"""A module of transformers that is evaluated in memory: the answers of its checkpoint, and nothing of it changes."""

import copy
import threading
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import torch
from mm_eval.models.hf.arguments import Arguments
from mm_eval.models.hf.in_memory import plain_module, weights_digest
from mm_eval.models.hf.processor import load_processor, load_tokenizer

from mm_eval import evaluate
from mm_eval.errors import ConfigError
from tests.sets import few

FOLDER = Path(str(files("mm_eval.assets") / "models"))


def loaded(name: str) -> tuple[Any, Any]:
    """A bundled model and its processor."""
    from transformers import AutoModelForImageTextToText

    folder = FOLDER / name
    return (
        AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32),
        load_processor(folder, Arguments.read({"pretrained": str(folder)})),
    )


@pytest.fixture(scope="module")
def llava() -> tuple[Any, Any]:
    return loaded("tiny-llava")


def run(model: Any, folder: Path, tasks: str = "mme", **options: Any) -> Any:
    return evaluate(
        tasks, model, **{"limit": 6, "sample": True, "report": False, "output_path": str(folder), **options}
    )


def state_of(module: Any) -> list[Any]:
    """Everything of a module that an evaluation could change, weights as digests."""
    whole = not any(hasattr(each, "device_mesh") for each in module.parameters())
    found: list[Any] = [weights_digest(module) if whole else None, copy.deepcopy(module.generation_config.to_dict())]
    for name, each in module.named_modules():
        own = {key: id(value) for key, value in vars(each).items() if not isinstance(value, (dict, torch.Tensor))}
        held = {
            key: {k: id(v) for k, v in value.items()} for key, value in vars(each).items() if isinstance(value, dict)
        }
        config = repr(sorted(vars(each.config).items(), key=str)) if hasattr(each, "config") else ""
        found.append((name, each.training, own, held, config))
    return found


@pytest.mark.full
def test_a_pipeline_is_its_model_and_its_processor(tmp_path, llava):
    """It was called as a function of messages, and each document failed."""
    from transformers import pipeline

    module, processor = llava
    mine = run(pipeline("image-text-to-text", model=module, processor=processor), tmp_path / "pipeline")
    assert mine.raw["results"] == run(module, tmp_path / "module", processor=processor).raw["results"]
    assert mine.exit_code == 0 and mine["mme"].failed == 0


@pytest.mark.parametrize("name", few(["tiny-llava", "tiny-qwen2-vl"], "tiny-llava"))
def test_the_answers_are_those_of_the_checkpoint_and_the_module_is_as_it_was(tmp_path, name):
    module, processor = loaded(name)
    module.train()
    module.generation_config.temperature = 0.3  # a default that would sample
    list(module.children())[0].eval()  # a frozen part
    fires: list[int] = []
    module.register_forward_hook(lambda *args: fires.append(1))
    before, streams, saved = state_of(module), torch.get_rng_state(), processor.to_json_string()
    tokens = len(processor.tokenizer)
    mine = run(module, tmp_path / "mine", "mme,arc_easy", processor=processor, prompt_key="default")
    theirs = run(name, tmp_path / "theirs", "mme,arc_easy", prompt_key="default")
    assert mine.raw["results"] == theirs.raw["results"]
    for task in ("mme", "arc_easy"):
        answers = [[row["resps"] for row in results.samples(task)] for results in (mine, theirs)]
        assert answers[0] == answers[1]
    assert state_of(module) == before and fires, "its own hooks ran"
    assert torch.equal(torch.get_rng_state(), streams)
    assert (processor.to_json_string(), len(processor.tokenizer)) == (saved, tokens)


@pytest.mark.full
def test_training_goes_on_as_if_nothing_had_been_asked(tmp_path, llava):
    def losses(evaluates: bool) -> list[float]:
        torch.manual_seed(0)
        module = copy.deepcopy(llava[0]).train()
        for each in module.modules():
            if isinstance(each, torch.nn.Dropout):
                each.p = 0.1
        optimizer, found = torch.optim.AdamW(module.parameters(), 1e-4), []
        for step in range(3):
            ids = torch.randint(5, 100, (2, 12))
            loss = module(input_ids=ids, labels=ids).loss
            loss.backward()
            if evaluates:
                run(module, tmp_path / f"{step}", limit=2, processor=llava[1])
            optimizer.step()
            optimizer.zero_grad()
            found.append(loss.item())
        return found

    assert losses(True) == losses(False)


def test_weights_that_changed_are_another_model_and_equal_ones_resume(tmp_path, llava):
    module = copy.deepcopy(llava[0])
    first = run(module, tmp_path / "run", processor=llava[1])
    again = run(module, tmp_path / "run", processor=llava[1])
    assert (
        any("nothing was requested" in note for note in again.report.notes)
        and first.raw["results"] == again.raw["results"]
    )
    with torch.no_grad():
        next(module.parameters()).view(-1)[0] += 1e-3
    with pytest.raises(ConfigError, match="holds another run: model: the model's files differ"):
        run(module, tmp_path / "run", processor=llava[1])


def test_the_digest_is_of_content_names_dtype_and_shape(llava):
    module = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4))
    found = {weights_digest(module)}
    module[1].running_mean += 1
    found.add(weights_digest(module))
    module[0].weight.data = module[0].weight.data.T.clone()
    found.add(weights_digest(module))
    found.add(weights_digest(module.bfloat16()))
    module.register_buffer("more", torch.zeros((), dtype=torch.bool), persistent=False)
    found.add(weights_digest(module))
    assert len(found) == 5 and weights_digest(module) == weights_digest(copy.deepcopy(module))
    assert weights_digest(llava[0]) == weights_digest(copy.deepcopy(llava[0]))


@pytest.mark.full
def test_two_threads_that_evaluate_one_module_get_the_same(tmp_path, llava):
    found: dict[int, Any] = {}

    def evaluated(number: int) -> None:
        found[number] = run(llava[0], tmp_path / str(number), processor=llava[1]).raw["results"]

    threads = [threading.Thread(target=evaluated, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] == found[1] and len(found) == 2


def test_hf_takes_the_objects_as_arguments_and_says_what_can_not_be_stated(tmp_path, llava):
    module, processor = llava
    given = {"pretrained": module, "processor": processor}
    assert run("hf", tmp_path / "run", model_args=given).raw["run"]["model"]["in_memory"] is True
    with pytest.raises(ConfigError, match="dtype can't be stated for a model in memory"):
        run("hf", tmp_path / "other", model_args={**given, "dtype": "bfloat16"})


@pytest.mark.full
def test_what_wraps_a_module_is_taken_off_and_other_modules_are_refused(llava):
    class Wrapped(torch.nn.Module):
        def __init__(self, module: Any) -> None:
            super().__init__()
            self.module = module

    module = llava[0]
    assert plain_module(Wrapped(module)) is module and plain_module(torch.compile(module)) is module
    with pytest.raises(ConfigError, match="Linear is not a model of transformers"):
        plain_module(torch.nn.Linear(1, 1))
    with torch.device("meta"):
        empty = type(module)(module.config)
    with pytest.raises(ConfigError, match="device meta"):
        plain_module(empty)


def test_the_processor_is_needed_and_a_tokenizer_alone_reads_no_pictures(tmp_path, llava):
    with pytest.raises(ConfigError, match="comes without its processor.*processor=processor"):
        run(llava[0], tmp_path / "run")
    tokenizer = load_tokenizer(FOLDER / "tiny-llava", Arguments.read({"pretrained": str(FOLDER / "tiny-llava")}))
    with pytest.raises(ConfigError, match="llava reads pictures, and .* is not a processor"):
        run(llava[0], tmp_path / "run", processor=tokenizer)
    assert not (tmp_path / "run").exists()
