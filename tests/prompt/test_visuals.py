"""`doc_to_messages`: a task that writes its chat itself is asked what it wrote, its pictures where it put them."""

import base64
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

from mm_eval.config.task_config import TaskConfig
from mm_eval.data.decode import open_picture
from mm_eval.data.media import picture_digest
from mm_eval.data.places import Places
from mm_eval.data.source import DataSource
from mm_eval.first_checks import check_prompt_keys
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.prompt.blocks import PromptBlock
from mm_eval.prompt.task import PromptStyle, Task
from mm_eval.prompt.visuals import to_visuals, visuals_of, with_places
from mm_eval.values.errors import ConfigError, DataError
from tests.sets import each_of

CHAT = PromptStyle(chat=True)
BLOCK = PromptBlock("default", {})
TEXT = {"type": "text", "text": "t"}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root with org/pairs: two docs of two pictures each, grey by their number."""
    from datasets import Dataset, Image

    folder = tmp_path_factory.mktemp("data")
    data = folder / "org" / "pairs" / "data"
    data.mkdir(parents=True)
    rows = {"question": ["first?", "second?"], "answer": ["a", "b"]}
    for shift, name in enumerate(("left", "right")):
        rows[name] = [Pillow.new("RGB", (4, 4), (10 * doc + shift,) * 3) for doc in range(2)]
    made = Dataset.from_dict(rows).cast_column("left", Image()).cast_column("right", Image())
    made.to_parquet(data / "test-00000-of-00001.parquet")
    return folder


def load(root: Path, doc_to_messages: Any, **keys: Any) -> Task:
    config = {"task": "pairs", "dataset_path": "org/pairs", "test_split": "test", "doc_to_visual": ["left", "right"],
              "doc_to_text": "question", "doc_to_target": "answer", "doc_to_messages": doc_to_messages}  # fmt: skip
    return Task.load(TaskConfig.from_mapping({**config, **keys}).resolved(FOREIGN_CODE), DataSource(root))


def interleaved(doc: dict, lmms_eval_specific_kwargs: dict | None = None) -> list[dict]:
    tail = (lmms_eval_specific_kwargs or {}).get("post_prompt", "")
    return [
        {"role": "system", "content": [{"type": "text", "text": "Look twice."}]},
        {"role": "user", "content": [
            {"type": "image", "url": doc["right"]}, {"type": "text", "text": "or"},
            {"type": "image", "url": doc["left"]}, {"type": "text", "text": doc["question"] + tail},
        ]},
    ]  # fmt: skip


def shown(context: Any) -> list[str]:
    return [f"{turn['role']}: " + "|".join(part.get("text", "#") for part in turn["content"]) for turn in context]


def test_a_chat_is_what_the_function_wrote_and_its_pictures_come_in_its_order(root: Path) -> None:
    instances = list(load(root, interleaved).instances([0, 1], CHAT))
    assert [shown(i.context) for i in instances] == [
        ["system: Look twice.", "user: #|or|#|first?"], ["system: Look twice.", "user: #|or|#|second?"]
    ]  # fmt: skip
    assert [[p.getpixel((0, 0))[0] for p in i.images()] for i in instances] == [[1, 0], [11, 10]]
    assert [len(i.image_digests) for i in instances] == [2, 2] and instances[0].turn_pictures == (2,)
    assert instances[0].target == "a"


def test_the_block_of_the_model_reaches_it(root: Path) -> None:
    style = PromptStyle(chat=True, block=PromptBlock("qwen_vl", {"post_prompt": " Say it."}))
    [instance] = load(root, interleaved).instances([0], style)
    assert shown(instance.context)[-1] == "user: #|or|#|first? Say it."


def test_a_key_that_only_it_reads_is_read(root: Path) -> None:
    task = load(root, interleaved)
    check_prompt_keys(task, [0, 1], [PromptBlock("qwen_vl", {"post_prompt": " Say it."})])
    with pytest.raises(ConfigError, match="reads the key 'past_prompt'.*Did you mean 'post_prompt'"):
        check_prompt_keys(task, [0, 1], [PromptBlock("qwen_vl", {"past_prompt": " Say it."})])


def test_a_system_instruction_and_what_begins_the_answer_stand_around_it(root: Path) -> None:
    style = PromptStyle(chat=True, system="Be brief.")
    [instance] = load(root, interleaved, gen_prefix="Answer:").instances([0], style)
    assert shown(instance.context) == ["system: Be brief.\n\n|Look twice.", "user: #|or|#|first?", "assistant: Answer:"]
    [alone] = load(root, lambda doc: [{"role": "user", "content": [TEXT]}]).instances([0], style)
    assert shown(alone.context) == ["system: Be brief.", "user: t"] and alone.images is None


def test_plain_text_and_a_format_are_made_of_the_other_keys(root: Path) -> None:
    [plain] = load(root, interleaved).instances([0], PromptStyle())
    assert plain.context == "first?" and [p.getpixel((0, 0))[0] for p in plain.images()] == [0, 1]
    [asked] = load(root, interleaved, task="pairs@cot").instances([0], CHAT)
    assert "reason step by step" in shown(asked.context)[0]


def test_scoring_makes_the_same_context_again(root: Path) -> None:
    task = load(root, interleaved)
    [asked], [scored] = task.instances([0], CHAT), task.instances([0], CHAT, lambda doc_id: (2,))
    assert scored.context == asked.context and scored.image_digests == ()


@each_of(
    ("given", "told"),
    [
        ("hello", "gave 'hello'; expected a list of turns"),
        ([], "expected a list of turns"),
        ([{"role": "tool", "content": [TEXT]}], "A turn has a `role`"),
        ([{"role": "user", "content": "t"}], "and `content`, a list of parts"),
        (
            [{"role": "user", "content": [{"type": "tool", "url": "a.mp4"}]}],
            "neither text nor picture nor video nor sound: .*a.mp4",
        ),
        (
            [{"role": "user", "content": [{"type": "audio", "url": "a.wav"}]}],
            "there is no file .a.wav. in the data's folders",
        ),
        (
            [{"role": "user", "content": [{"type": "video", "url": "a.mp4"}]}],
            "there is no file .a.mp4. in the data's folders",
        ),
        (
            [{"role": "user", "content": [{"type": "image", "url": "a.png"}]}],
            "the picture 'a.png' is not a file below the data's folder",
        ),
    ],
)
def test_what_is_no_chat_is_a_fault_of_that_doc(root: Path, given: Any, told: str) -> None:
    task = load(root, lambda doc: given if doc["question"] == "first?" else [{"role": "user", "content": [TEXT]}])
    broken, sound = task.instances([0, 1], CHAT)
    assert broken.error is not None and sound.error is None
    with pytest.raises(type(broken.error), match=f"pairs doc 0.*{told}"):
        raise broken.error


def test_a_function_that_fails_is_named(root: Path) -> None:
    [broken] = load(root, lambda doc: doc["middle"]).instances([0], CHAT)
    assert "doc_to_messages failed: KeyError: 'middle'" in str(broken.error)


def test_fault_the_pictures_of_a_chat_were_counted_part_by_part(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each was within the limit for a doc, and all of them together were not."""
    monkeypatch.setattr("mm_eval.prompt.visuals.MOST_PIXELS_OF_A_DOC", 31)
    [broken] = load(root, interleaved).instances([0], CHAT)
    assert "the pictures of this document have 32 pixels; the limit is 31" in str(broken.error)


def test_fault_pictures_in_a_list_had_one_place(root: Path) -> None:
    """In a later turn of a conversation a part with two pictures had one place, so that the next text stood before the second."""
    pictures = [Pillow.new("RGB", (2, 2), (grey,) * 3) for grey in (1, 2, 3)]
    parts = [{"type": "image", "image": pictures[:2]}, TEXT, {"type": "image", "url": pictures[2]}]
    placed, visuals = with_places(
        [{"role": "user", "content": parts}], "it", "t doc 0", lambda given, what: to_visuals(given, BLOCK, "t doc 0")
    )
    assert shown(placed) == ["user: #|#|t|#"] and [p.getpixel((0, 0))[0] for p in visuals] == [1, 2, 3]


def test_few_shot_examples_have_no_place_in_it(root: Path) -> None:
    task = load(root, interleaved, num_fewshot=1)
    with pytest.raises(ConfigError, match="few-shot examples can't be added"):
        list(task.instances([0], CHAT))
    assert list(task.instances([0], PromptStyle()))[0].error is None


def test_it_is_for_generated_answers(root: Path) -> None:
    with pytest.raises(ConfigError, match="doc_to_messages needs output_type generate_until"):
        load(root, interleaved, output_type="multiple_choice", doc_to_choice=["a", "b"])


def test_pictures_without_their_type_are_told() -> None:
    doc = {"image": {"bytes": b"png", "path": None}, "question": "what?"}
    with pytest.raises(DataError, match=r"no attribute 'convert'. The pictures are bytes \('image'\): give"):
        visuals_of(lambda doc: [doc["image"].convert("RGB")], doc, BLOCK, "t doc 0")
    with pytest.raises(DataError, match="KeyError: 'imag'. Did you mean 'image'. The document has: image"):
        visuals_of(lambda doc: [doc["imag"]], {"image": None}, BLOCK, "t doc 0")


FILE = io.BytesIO()
Pillow.new("RGB", (5, 4), (200, 90, 20)).save(FILE, "PNG")
PNG = FILE.getvalue()
TEXT_64 = base64.b64encode(PNG).decode()


@pytest.mark.parametrize(
    ("form", "count"),
    [
        (lambda path: str(path), 1),
        (lambda path: [path], 1),
        (lambda path: path.name, 1),
        (lambda path: [path.name, str(path)], 2),
        (lambda path: PNG, 1),
        (lambda path: [io.BytesIO(PNG)], 1),
        (lambda path: {"bytes": PNG, "path": None}, 1),
        (lambda path: [{"bytes": None, "path": path.name}], 1),
        (lambda path: TEXT_64, 1),
        (lambda path: [f"data:image/png;base64,{TEXT_64}"], 1),
        (lambda path: np.asarray(Pillow.open(path)), 1),
        (lambda path: [[Pillow.open(path)], [Pillow.open(path), None]], 2),
        (lambda path: [None], 0),
        (lambda path: None, 0),
    ],
)
def test_a_picture_may_come_in_any_form_that_tasks_have(
    tmp_path: Path, form: Callable[[Path], Any], count: int
) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    block, given = BLOCK, form(tmp_path / "a.png")
    shown = visuals_of(lambda doc: given, {}, block, "t doc 0", Places((tmp_path,)))
    assert [picture_digest(picture) for picture in shown] == [picture_digest(open_picture(PNG))] * count


def test_a_column_may_hold_pictures_as_text_and_urls_need_the_option() -> None:
    """The tables of VLMEvalKit have base64."""
    block = BLOCK
    for text in (TEXT_64, [TEXT_64], f"data:image/png;base64,{TEXT_64}"):
        [shown] = visuals_of("image", {"image": text}, block, "t doc 0", Places())
        assert picture_digest(shown) == picture_digest(open_picture(PNG))
    for address in ("https://example.invalid/a.png", "https://example.invalid/picture"):
        with pytest.raises(DataError, match="t doc 0: the picture is a URL.*--allow_url_media"):
            visuals_of(lambda doc: [doc["at"]], {"at": address}, block, "t doc 0", Places())
    with pytest.raises(DataError, match="t doc 0: a picture can't be decoded"):
        visuals_of(lambda doc: [b"no picture"], {}, block, "t doc 0", Places())


@pytest.mark.parametrize(
    "named", ["image", lambda doc: doc["image"], lambda doc: [{"bytes": None, "path": doc["image"]}]]
)
def test_a_file_that_cannot_be_decoded_is_named(tmp_path: Path, named: Any) -> None:
    (tmp_path / "cut.png").write_bytes(PNG[:40])
    with pytest.raises(DataError, match="t doc 0: the picture 'cut.png' can't be decoded: "):
        visuals_of(named, {"image": "cut.png"}, BLOCK, "t doc 0", Places((tmp_path,)))
