"""Sounds in questions: where they stand among text and pictures, in what an adapter gets, in the journal and in the rows."""

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pillow

from mm_eval.api import evaluate
from mm_eval.cli import main
from mm_eval.config.task_config import TaskConfig
from mm_eval.data.sound.clip import Sound
from mm_eval.data.source import DataSource
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.prompt.task import PromptStyle, Task
from mm_eval.values.errors import ConfigError
from tests.data.sound.sounds import tone, wav, write_parquet

CHAT = PromptStyle(chat=True)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root with org/tones: four docs with two sounds each; the fourth repeats the sounds of the first."""
    folder = tmp_path_factory.mktemp("data")
    contents = [wav(tone(220 * (n + 1))) for n in (0, 1, 2, 0)]
    columns = {
        "audio": [{"bytes": content, "path": f"{n}.wav"} for n, content in enumerate(contents)],
        "other": [{"bytes": wav(tone(330)), "path": None}] * 4,
        "question": [f"What is {n}?" for n in range(4)],
        "answer": ["a", "b", "c", "d"],
    }
    write_parquet(folder / "org" / "tones" / "data" / "test-00000-of-00001.parquet", columns, sounds=("audio", "other"))
    return folder


def load(root: Path, **keys: Any) -> Task:
    config = {
        "task": "tones",
        "dataset_path": "org/tones",
        "test_split": "test",
        "doc_to_text": "question",
        "doc_to_target": "answer",
    }
    return Task.load(TaskConfig.from_mapping({**config, **keys}).resolved(FOREIGN_CODE), DataSource(root))


def kinds(context: Any) -> list[str]:
    return [
        f"{turn['role']}: " + "|".join(part.get("text", part["type"]) for part in turn["content"]) for turn in context
    ]


def picture(doc: dict[str, Any]) -> list[Any]:
    return [doc["audio"], Pillow.new("RGB", (4, 4)), {"array": doc["other"]["array"], "sampling_rate": 16_000}]


def test_sounds_stand_before_the_text_in_the_order_in_which_they_are_given(root: Path) -> None:
    [first, *_] = load(root, doc_to_audio=["audio", "other"]).instances([0, 1], CHAT)
    assert kinds(first.context) == ["user: audio|audio|What is 0?"]
    assert first.images is None and first.turn_shown == ("aa",) and first.turn_pictures == (0,)
    assert [each.digest for each in first.sounds()] == list(first.sound_digests)  # type: ignore[misc]
    assert [(each.rate, each.channels, each.length, each.name) for each in first.heard] == [
        (16_000, 1, 1600, "0.wav"),
        (16_000, 1, 1600, ""),
    ]

    [mixed] = load(root, doc_to_visual=picture, doc_to_audio="audio").instances([0], CHAT)
    assert kinds(mixed.context) == ["user: audio|image|audio|audio|What is 0?"]
    assert len(mixed.images()) == 1 and mixed.turn_shown == ("aiaa",)  # type: ignore[misc]
    assert mixed.sound_digests == (*first.sound_digests, first.sound_digests[0])


def test_marks_in_the_text_place_sounds_and_a_plain_text_marks_all(root: Path) -> None:
    def asked(doc: dict[str, Any]) -> str:
        return "Compare <audio> with <image>."

    def one_each(doc: dict[str, Any]) -> list[Any]:
        return picture(doc)[:2]

    task = load(root, doc_to_visual=one_each, doc_to_text=asked)
    [chat], [plain] = task.instances([0], CHAT), task.instances([0], PromptStyle())
    assert kinds(chat.context) == ["user: Compare |audio| with |image|."]
    assert plain.context == "Compare <audio> with <image>."
    [plain] = load(root, doc_to_visual=one_each, num_fewshot=1).instances([1], PromptStyle())
    assert isinstance(plain.context, str) and plain.context.count("<audio>\n<image>\nWhat is") == 2
    assert plain.turn_shown == ("ai", "ai")


def test_a_chat_of_the_tasks_own_has_its_sounds_where_it_put_them(root: Path) -> None:
    def chat(doc: dict[str, Any]) -> list[dict[str, Any]]:
        parts = [
            {"type": "text", "text": "Hear"},
            {"type": "audio", "url": doc["audio"]},
            {"type": "text", "text": "?"},
        ]
        return [{"role": "user", "content": parts}]

    [found] = load(root, doc_to_messages=chat).instances([2], CHAT)
    assert kinds(found.context) == ["user: Hear|audio|?"] and len(found.heard) == 1


def test_a_prompt_is_written_again_from_the_record_without_decoding(root: Path) -> None:
    task = load(root, doc_to_visual=picture)
    [asked], [again] = task.instances([0], CHAT), task.instances([0], CHAT, lambda _: ("aia",))
    assert again.context == asked.context and again.sounds is None and again.heard == ()


def test_a_sound_that_cannot_be_read_is_a_failed_doc(root: Path) -> None:
    def cut(doc: dict[str, Any]) -> bytes:
        return wav(tone(440))[:-100] if doc["question"].endswith("1?") else wav(tone(440))

    good, bad = load(root, doc_to_audio=cut).instances([0, 1], CHAT)
    assert good.error is None and bad.error is not None
    assert "a sound can't be read: the sound is cut off: the WAV states 3,200 bytes of samples and has 3,100." in str(
        bad.error
    )


def test_the_fourth_doc_is_the_first_ones_cluster_and_shuffled_sounds_are_of_others(root: Path) -> None:
    task = load(root, doc_to_audio="audio")
    own = [each.sound_digests for each in task.instances(range(4), CHAT)]
    assert own[0] == own[3] and len(set(own)) == 3
    swapped = [each.sound_digests for each in task.instances(range(4), PromptStyle(chat=True, blind="shuffled"))]
    assert all(mine != theirs and len(theirs) == 1 for mine, theirs in zip(own, swapped, strict=True))
    [silent] = task.instances([0], PromptStyle(chat=True, blind="without"))
    assert kinds(silent.context) == ["user: What is 0?"] and silent.sounds is None and silent.heard == ()


TASK = """task: tones
dataset_path: parquet
dataset_kwargs: {data_files: {test: test.parquet}}
test_split: test
doc_to_audio: audio
doc_to_text: question
doc_to_target: answer
metric_list: [{metric: exact_match}]
"""


@pytest.fixture
def folder(tmp_path: Path, root: Path) -> Path:
    (tmp_path / "tones.yaml").write_text(TASK)
    (tmp_path / "test.parquet").write_bytes(next(root.rglob("*.parquet")).read_bytes())
    return tmp_path


def test_a_run_records_what_was_heard_and_a_function_gets_the_sounds(folder: Path) -> None:
    heard = []

    def model(messages: list[dict[str, Any]]) -> str:
        [sound, text] = messages[0]["content"]
        heard.append((sound["audio"].samples(mono=True).shape, text["text"]))
        return "a"

    results = evaluate(
        model=model,
        tasks=["tones"],
        include_path=str(folder),
        output_path=str(folder / "out"),
        apply_chat_template=True,
    )
    assert results["tones"]["exact_match"].value == 0.25
    # the fourth question has another text, so it is another request, though its sound is the first one's
    assert sorted(heard) == [((1600,), f"What is {n}?") for n in range(4)]
    [journal] = (folder / "out" / "journal").glob("*.jsonl")
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    assert all(line["sounds"][0]["rate"] == 16_000 and line["turn_shown"] == ["a"] for line in lines)
    rows = [json.loads(line) for line in (folder / "out" / "samples" / "tones.jsonl").read_text().splitlines()]
    assert rows[0]["prompt"] == [
        {"role": "user", "content": [{"type": "audio"}, {"type": "text", "text": "What is 0?"}]}
    ]
    assert rows[0]["sounds"][0]["length"] == 1600 and rows[0]["cluster"] == rows[3]["cluster"] != rows[1]["cluster"]
    assert "audio" not in rows[0]["doc"]


def test_a_deaf_model_is_refused_before_the_run_in_one_sentence(folder: Path) -> None:
    with pytest.raises(ConfigError) as found:
        evaluate(model="tiny-llava", tasks=["tones"], include_path=str(folder), output_path=str(folder / "out"))
    assert found.value.what == "the questions have sound, which tiny-llava does not take."
    assert not list((folder / "out").rglob("*.jsonl"))


OF_LMMS_EVAL = """import numpy as np


def as_it_is(doc):
    return [doc["audio"]]


def as_voxpopuli(doc):
    audio = doc.get("audio")
    if not isinstance(audio, dict):
        return [{"array": np.zeros(16_000, dtype=np.float32), "sampling_rate": 16_000}]
    array, rate = audio.get("array"), audio.get("sampling_rate", 16_000)
    assert "array" in audio and dict(audio)["sampling_rate"] == rate and {**audio}["path"] == audio["path"]
    return [{"array": array.astype(np.float32), "sampling_rate": rate}]


def text(doc, lmms_eval_specific_kwargs=None):
    return doc["question"]


def seconds(doc, results):
    return {"exact_match": float(len(doc["audio"]["array"]) / doc["audio"]["sampling_rate"])}
"""


@pytest.mark.parametrize("function", ["as_it_is", "as_voxpopuli"])
def test_task_code_of_lmms_eval_gets_what_datasets_decodes_and_its_sounds_come_back(
    folder: Path, function: str
) -> None:
    (folder / "utils.py").write_text(OF_LMMS_EVAL)
    text = TASK.replace("doc_to_audio: audio", f"doc_to_visual: !function utils.{function}")
    text = text.replace("doc_to_text: question", "doc_to_text: !function utils.text")
    more = "process_results: !function utils.seconds\nlmms_eval_specific_kwargs: {default: {post_prompt: ''}}\n"
    (folder / "tones.yaml").write_text(text + more)
    results = evaluate(model="dummy", tasks=["tones"], include_path=str(folder), output_path=str(folder / "out"))
    assert results["tones"]["exact_match"].value == pytest.approx(0.1)
    rows = [json.loads(line) for line in (folder / "out" / "samples" / "tones.jsonl").read_text().splitlines()]
    assert [row["sounds"][0]["digest"] for row in rows] == [Sound(wav(tone(220 * n))).digest for n in (1, 2, 3, 1)]


def test_columns_of_sounds_that_a_file_does_not_declare_are_found(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    content = [wav(tone(220 * (n + 1))) for n in range(2)]
    records = [{"bytes": each, "path": None} for each in content]
    table = pa.table(
        {
            "audio": records,
            "plain": content,
            "list": [[each] for each in records],
            "question": ["a", "b"],
            "answer": ["c", "d"],
        }
    )
    folder = tmp_path / "org" / "tones" / "data"
    folder.mkdir(parents=True)
    pq.write_table(table, folder / "test-00000-of-00001.parquet")
    [found, _] = load(tmp_path, doc_to_audio=["audio", "plain", "list"]).instances([0, 1], CHAT)
    assert (
        len(set(found.sound_digests)) == 1 and found.turn_shown == ("aaa",) and set(found.doc) == {"question", "answer"}
    )


def test_a_missing_column_or_file_is_named_before_the_run(folder: Path) -> None:
    for stated, said in {
        "adio": "doc_to_audio names the column 'adio', which the data lacks.",
        "'{{ question }}.wav'": "there is no file 'What is 0?.wav' in the data's folders and archives.",
    }.items():
        (folder / "tones.yaml").write_text(TASK.replace("doc_to_audio: audio", f"doc_to_audio: {stated}"))
        results: Any = None
        try:
            results = evaluate(
                model="dummy", tasks=["tones"], include_path=str(folder), output_path=str(folder / stated[1:4])
            )
        except ConfigError as error:
            assert said in str(error) and "adio" in stated
        assert ("adio" in stated) == (results is None)
        if results is not None:
            rows = [
                json.loads(line) for line in (folder / stated[1:4] / "samples" / "tones.jsonl").read_text().splitlines()
            ]
            assert {row["status"] for row in rows} == {"failed"} and said in rows[0]["error"]["what"]


def test_blind_is_said_of_sounds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(
            [
                "run",
                "--model",
                "dummy",
                "--tasks",
                "tones",
                "--include_path",
                str(folder),
                "--blind",
                "--output_path",
                str(folder / "o"),
            ]
        )
        == 0
    )
    said = "--blind: their sounds were left out. Standard errors ignore which documents share a sound."
    assert said in capsys.readouterr().out
