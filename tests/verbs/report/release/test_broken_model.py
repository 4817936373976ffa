"""One bad model among several: what a look finds stops the release before anything is asked; what fails later is a hole."""

import importlib
import json
import re
from pathlib import Path

import pytest

from mm_eval.values.errors import ModelError, StoreError
from tests.sets import few

evaluate_module = importlib.import_module("mm_eval.run")  # the package has a function of that name
real_evaluate = evaluate_module.evaluate

GOOD = "{{model: dummy, name: {name}}}"


def release(tmp_path: Path, *models: str, more: str = "") -> Path:
    """A release file of these entries; `one` and `two` stand for models that work."""
    lines = [f"  - {model if '{' in model else GOOD.format(name=model)}" for model in models]
    path = tmp_path / "release.yaml"
    head = f"output_path: {tmp_path / 'out'}\ntasks: [mme]\nsample: true\nlimit: 4\nno_report: true\n{more}models:\n"
    path.write_text(head + "\n".join(lines) + "\n")
    return path


def test_the_look_finds_every_mistake_of_every_model_and_nothing_is_asked(cli, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    path = release(
        tmp_path,
        "one",
        "{model: hf, name: none, model_args: {pretrained: /nowhere/at/all}}",
        "{model: hf, name: misspelt, tasks: [mne], model_args: {pretraned: x}}",
        f"{{model: hf, name: bare, model_args: {{pretrained: {tmp_path / 'empty'}}}}}",
        "{model: replay, name: unrecorded, model_args: {path: /nowhere.jsonl}}",
        "{model: lava, name: unknown}",
        "{model: dummy, name: key, prompt_key: qwen}",
        "{model: dummy, name: generation, gen_kwargs: {temperature: hot}}",
        "two",
    )
    done = cli("run", "--config", path)
    assert done.code == 2 and not (tmp_path / "out").exists()
    head, *mistakes = done.err.splitlines()
    assert head == "mm-eval: config error: 8 mistakes were found; nothing was requested:"
    text = path.read_text().splitlines()
    lines = {found[1]: n for n, line in enumerate(text, 1) if (found := re.search(r"name: (\w+)", line))}
    for name, said in [
        ("none", "/nowhere/at/all"),
        ("misspelt", "Did you mean 'mme'"),
        ("misspelt", "Did you mean 'pretrained'"),
        ("bare", "no config.json"),
        ("unrecorded", "can't be read"),
        ("unknown", "Did you mean 'llava'"),
        ("key", "Did you mean 'qwen_vl'"),
        ("generation", "'hot'"),
    ]:
        assert [line for line in mistakes if line.startswith(f"  {path}:{lines[name]}: {name}: ") and said in line], (
            name,
            said,
            mistakes,
        )


def test_a_mistake_that_models_share_is_said_once(cli, tmp_path: Path) -> None:
    path = release(tmp_path, "one", "two", more="prompt_key: qwen\n")
    done = cli("run", "--config", path)
    assert done.code == 2
    assert done.err.startswith(f"mm-eval: config error: {path}: one, two: --prompt_key: no task of this run")
    assert len(done.err.splitlines()) == 1


def test_the_mistakes_of_the_file_itself_are_listed_together(cli, tmp_path: Path) -> None:
    path = release(
        tmp_path, "{model: dummy, limit: .inf, batch_size: 0, no_report: 3}", "{name: x}", "{}", more="seed: -1\n"
    )
    done = cli("run", "--config", path)
    assert done.code == 2 and len(done.err.splitlines()) == 1 + 6
    for said in (
        "`limit` is inf",
        "`batch_size` is 0",
        "`no_report` is 3",
        "{'name': 'x'}",
        "{} does not say",
        "`seed` is -1",
    ):
        assert said in done.err


def test_a_folder_that_holds_another_run_is_seen_before_the_first_model_is_asked(cli, tmp_path: Path) -> None:
    assert cli("run", "--config", release(tmp_path, "two")).code == 0
    done = cli("run", "--config", release(tmp_path, "one", "{model: dummy, name: two, seed: 5}"))
    assert done.code == 2 and "two: " in done.err and "holds another run" in done.err
    assert not (tmp_path / "out" / "one").exists()


@pytest.mark.full
@pytest.mark.parametrize(
    "failure",
    [
        ModelError("the weights\n\x1b[2J are gone."),
        StoreError("the disk is full."),
        RuntimeError("CUDA error"),
        MemoryError(),
    ],
    ids=lambda failure: type(failure).__name__,
)
def test_a_later_failure_is_a_hole_and_the_other_models_go_on(
    cli, tmp_path: Path, monkeypatch, failure: Exception
) -> None:
    def evaluate(request, **options):
        if request.name == "broken":
            raise failure
        return real_evaluate(request, **options)

    monkeypatch.setattr(evaluate_module, "evaluate", evaluate)
    path = release(tmp_path, "one", "broken", "two")
    done = cli("run", "--config", path)
    assert done.code == 3, done.err
    table = [line for line in done.out.splitlines() if line.startswith("|")]
    assert table[0] == "| benchmark | one | broken | two |"
    assert all(len(line.split("|")) == 6 and line.split("|")[3].strip() == "–" for line in table[2:])
    [reason] = [line for line in done.out.splitlines() if line.startswith("broken has no scores: ")]
    assert str(failure).splitlines()[0] in reason if str(failure) else "MemoryError" in reason
    assert "\x1b" not in done.out and (tmp_path / "out" / "two" / "results.json").exists()
    monkeypatch.undo()
    again = cli("run", "--config", path)
    assert again.code == 0 and "–" not in again.out, "the same command fills the hole"


def test_all_models_failing_is_no_table_of_numbers_but_all_reasons(cli, tmp_path: Path, monkeypatch) -> None:
    def evaluate(request, **options):
        raise ModelError(f"{request.name} is broken.")

    monkeypatch.setattr(evaluate_module, "evaluate", evaluate)
    done = cli("run", "--config", release(tmp_path, "one", "two"))
    assert done.code == 3 and "one is broken" in done.out and "two is broken" in done.out


def header(text: bytes) -> bytes:
    return len(text).to_bytes(8, "little") + text


@pytest.mark.parametrize(
    ("spoil", "said"),
    few(
        [
            (lambda whole: whole[:100_000], "bytes where its header lists"),
            (lambda whole: whole[:-1], "bytes where its header lists"),
            (lambda whole: whole[:20], "it is cut"),
            (lambda whole: b"", "it is cut"),
            (lambda whole: b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git-lfs pointer"),
            (lambda whole: b"<!DOCTYPE html><html>Sign in</html>", "it is cut, or not a safetensors file"),
            (lambda whole: header(b"{" + b"x" * 20 + b"}"), "header is damaged"),
            (lambda whole: header(b"[1]"), "header is damaged"),
            (lambda whole: header(b'{"a": {"data_offsets": [0]}}'), "header is damaged"),
            (lambda whole: header(b"[" * 100_000), "header is damaged"),
        ],
        at=(1, 4),
    ),
)
def test_weights_that_are_cut_stop_the_release_before_it_begins(cli, tmp_path: Path, spoil, said: str) -> None:
    from importlib import resources
    from shutil import copytree

    copytree(str(resources.files("mm_eval.assets") / "models" / "tiny-llava"), tmp_path / "cut")
    weights = tmp_path / "cut" / "model.safetensors"
    weights.write_bytes(spoil(weights.read_bytes()))
    path = release(tmp_path, "one", f"{{model: hf, name: cut, model_args: {{pretrained: {tmp_path / 'cut'}}}}}", "two")
    done = cli("run", "--config", path)
    assert done.code == 2 and not (tmp_path / "out").exists()
    assert f": cut: {weights}: the weights can't be read: " in done.err and said in done.err
    alone = cli(
        "--tasks", "mme", "--sample", "--limit", "2", "--model", "hf", "--model_args", f"pretrained={tmp_path / 'cut'}"
    )
    assert alone.code == 2 and said in alone.err and len(alone.err.splitlines()) == 1


@pytest.mark.parametrize("moment", ["loading", "asking"])
def test_an_interrupt_keeps_what_is_done(cli, tmp_path: Path, monkeypatch, moment: str) -> None:
    from mm_eval.models.dummy import Dummy

    def interrupted(self, *rest):
        if self.settings.seed == 7:
            raise KeyboardInterrupt
        yield from whole(self, *rest)

    if moment == "asking":
        whole = Dummy.generate
        monkeypatch.setattr(Dummy, "generate", interrupted)
    else:
        prepare = Dummy.prepare
        monkeypatch.setattr(
            Dummy, "prepare", lambda self: next(interrupted(self)) if self.settings.seed == 7 else prepare(self)
        )
    done = cli("run", "--config", release(tmp_path, "one", "{model: dummy, name: second, seed: 7}", "third"))
    assert done.code == 130
    assert "| benchmark | one | second | third |" in done.out and "third has no scores: it was not run" in done.out
    assert json.loads((tmp_path / "out" / "one" / "results.json").read_text())["results"]["mme"]["n"] == 4


def test_prompts_of_several_models(cli, tmp_path: Path, monkeypatch) -> None:
    """The other command that asks several models: the same look first, and a later failure is its model's own."""
    common = ("prompts", "--tasks", "mme", "--sample", "--limit", "2", "--output_path", tmp_path / "out")
    broken = ("--model", "replay", "--model_args", "path=/nowhere")
    done = cli(*common, "--model", "dummy", "--model_args", "x=1", *broken)
    assert done.code == 2 and "replay: /nowhere" in done.err and not (tmp_path / "out").exists()

    from mm_eval.models.dummy import Dummy

    prepare, loaded = Dummy.prepare, []

    def fail_first(self) -> None:
        loaded.append(self)
        if len(loaded) == 1:
            raise RuntimeError("CUDA error")
        prepare(self)

    monkeypatch.setattr(Dummy, "prepare", fail_first)
    done = cli(*common, "--model", "dummy", "--model", "dummy")
    assert done.code == 3 and "dummy has no scores: model error: RuntimeError: CUDA error" in done.err
    assert "model: dummy'" in done.out


def test_a_run_without_numbers_is_a_hole_in_the_table_of_several(cli, tmp_path: Path) -> None:
    assert cli("run", "--config", release(tmp_path, "one", "two")).code == 0
    (tmp_path / "out" / "two" / "results.json").unlink()
    done = cli("report", tmp_path / "out" / "one", tmp_path / "out" / "two", "--format", "md")
    assert done.code == 3 and "| benchmark | one | two |" in done.out and "two has no scores" in done.out
    assert cli("report", tmp_path / "out" / "two", "--format", "md").code == 2
    assert cli("report", tmp_path / "out" / "one", tmp_path / "nowhere", "--format", "md").code == 2
