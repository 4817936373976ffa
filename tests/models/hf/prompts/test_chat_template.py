"""A vision-language checkpoint whose chat template is missing, or is for text alone, is told of before anything is asked."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mm_eval.engine.model import MODELS, ModelSettings
from mm_eval.values.errors import ConfigError
from tests.conftest import Ran
from tests.models.questions import instance, picture
from tests.sets import few

TEXT_TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:"
OPTIONS = ("--sample", "--limit", 2, "--device", "cpu", "--bootstrap_iters", 0, "--no_report")


@pytest.fixture
def bare(checkpoint: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    """A copy of a tiny checkpoint without any chat template."""

    def copy(kind: str) -> Path:
        folder = shutil.copytree(checkpoint(kind), tmp_path / "bare")
        (folder / "chat_template.jinja").unlink()
        return folder

    return copy


def create(folder: Path, template: bool | str | None = None, **args: Any) -> Any:
    settings = ModelSettings(batch_size=1, device="cpu", chat_template=template)
    return MODELS.get("hf")({"pretrained": str(folder), **args}, settings)


@pytest.mark.parametrize("kind", few(["llava", "qwen2_vl", "qwen3_vl", "paligemma", "idefics3"], at=[0, 1]))
def test_it_is_an_error_unless_plain_prompts_are_asked_for(
    bare: Callable[[str], Path], kind: str, tmp_path: Path
) -> None:
    folder = bare(kind)
    with pytest.raises(ConfigError, match="without a chat template.*--apply_chat_template false"):
        create(folder)
    plain = create(folder, template=False)
    assert not plain.facts.chat
    assert plain.writer.write(instance("What?", [picture(56, 56)], chat=False)).image_tokens > 0
    (tmp_path / "mine.jinja").write_text("{% for p in messages[0]['content'] %}{{ p['text'] }}{% endfor %}")
    assert create(folder, chat_template=str(tmp_path / "mine.jinja")).facts.chat


def test_a_command_ends_with_exit_code_2_and_says_what_to_do(
    cli: Callable[..., Ran], bare: Callable[[str], Path]
) -> None:
    args = ("--tasks", "mme", "--model", "hf", "--model_args", f"pretrained={bare('llava')}", *OPTIONS)
    ran = cli(*args)
    assert ran.code == 2 and "--apply_chat_template false" in ran.err and "Traceback" not in ran.err
    assert not ran.folder.exists()
    assert cli(*args, "--apply_chat_template", "false").code == 0


@pytest.mark.parametrize("holder", ["chat_template.json", "tokenizer_config.json", "processor_config.json"])
def test_a_template_counts_wherever_it_stands(bare: Callable[[str], Path], holder: str) -> None:
    folder = bare("qwen2_vl")
    path = folder / holder
    content = json.loads(path.read_text()) if path.exists() else {}
    template = "{% for p in messages[0]['content'] %}{{ p['text'] or '<|vision_start|><|image_pad|><|vision_end|>' }}{% endfor %}"
    path.write_text(json.dumps({**content, "chat_template": template}))
    model = create(folder)
    assert model.facts.chat and model.writer.write(instance("What?", [picture(56, 56)])).text.endswith("What?")


LEFT: dict[str, Callable[[Path], Any]] = {
    "empty object": lambda folder: (folder / "chat_template.json").write_text("{}"),
    "empty file": lambda folder: (folder / "chat_template.jinja").touch(),
    "empty folder": lambda folder: (folder / "additional_chat_templates").mkdir(),
}


@pytest.mark.parametrize("what", LEFT)
def test_a_file_without_a_template_is_none(bare: Callable[[str], Path], what: str) -> None:
    folder = bare("llava")
    LEFT[what](folder)
    with pytest.raises(ConfigError, match="without a chat template"):
        create(folder)


def test_a_template_for_text_alone_is_an_error(bare: Callable[[str], Path]) -> None:
    """It would write the parts of a message as Python shows them: [{'type': 'text', 'text': ...}]."""
    folder = bare("llava")
    config = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**config, "chat_template": TEXT_TEMPLATE}))
    with pytest.raises(ConfigError, match="does not write the text of a message with parts"):
        _ = create(folder).writer
    assert create(folder, template=False).writer.write(instance("What?", chat=False)).text == "What?"


def test_a_template_is_chosen_by_its_name_and_a_wrong_name_is_an_error(adapter: Any, checkpoint: Any) -> None:
    for kind in ("llava", "llama"):
        with pytest.raises(ConfigError, match="no chat template 'tool_use'.*default"):
            _ = create(checkpoint(kind), template="tool_use").writer
        row = instance("Hi")
        assert create(checkpoint(kind), template="default").writer.write(row) == adapter(kind).writer.write(row)


def test_named_templates_without_a_default_want_a_name(checkpoint: Any, tmp_path: Path) -> None:
    folder = shutil.copytree(checkpoint("llama"), tmp_path / "named")
    (folder / "additional_chat_templates").mkdir()
    (folder / "chat_template.jinja").rename(folder / "additional_chat_templates" / "short.jinja")
    assert "Hi" in create(folder, template="short").writer.write(instance("Hi")).text
    with pytest.raises(ConfigError, match="Name one of its own: short"):
        _ = create(folder).writer


def test_an_empty_template_file_is_an_error(checkpoint: Any, tmp_path: Path) -> None:
    (tmp_path / "empty.jinja").write_text("\n")
    with pytest.raises(ConfigError, match="is an empty file"):
        create(checkpoint("llava"), chat_template=str(tmp_path / "empty.jinja"))
    (tmp_path / "empty.jinja").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="can't be read"):
        create(checkpoint("llava"), chat_template=str(tmp_path / "empty.jinja"))


def test_values_for_the_template_reach_it_and_change_the_fingerprint(adapter: Any, tmp_path: Path) -> None:
    template = tmp_path / "template.jinja"
    template.write_text("{% for m in messages %}{{ m.content }}{% endfor %}{% if thinks %} THINK{% endif %}")
    plain = adapter("llama", chat_template=str(template))
    thinking = adapter("llama", chat_template=str(template), chat_template_kwargs='{"thinks": true}')
    asked = instance("Say it.")
    assert plain.writer.write(asked).text == "Say it." and thinking.writer.write(asked).text == "Say it. THINK"
    assert plain.fingerprint != thinking.fingerprint
    with pytest.raises(ConfigError, match="a JSON object is needed"):
        adapter("llama", chat_template_kwargs="thinks")
