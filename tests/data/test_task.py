"""A task turns docs into instances: prompts, pictures, few-shot examples, choices and repeats."""

import json
import re
from pathlib import Path

import pytest

from mm_eval.config.manager import TaskManager
from mm_eval.config.task_config import TaskConfig
from mm_eval.data.docs import Docs
from mm_eval.data.source import DataSource
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.prompt.blocks import PromptBlock
from mm_eval.prompt.task import PromptStyle, Task
from mm_eval.values.errors import ConfigError, MMEvalError
from mm_eval.values.types import Slot
from tests.sets import each_of

CHAT = PromptStyle(chat=True)
PLAIN = PromptStyle()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root with org/shapes: six docs, each with a picture of its own colour; a train split of four."""
    from datasets import Dataset, Image
    from PIL import Image as Pillow

    folder = tmp_path_factory.mktemp("data")
    data = folder / "org" / "shapes" / "data"
    data.mkdir(parents=True)
    for split, count in (("test", 6), ("train", 4)):
        rows = {
            "question": [f"{split} question {n}?" for n in range(count)],
            "options": [["cat", "dog"]] * count,
            "answer": [n % 2 for n in range(count)],
            "word": ["cat" if n % 2 == 0 else "dog" for n in range(count)],
            "image": [
                Pillow.new("RGB", (4 + n // 2, 5), (40 * (n // 2), 0, 200 if split == "train" else 0))
                for n in range(count)
            ],
        }
        Dataset.from_dict(rows).cast_column("image", Image()).to_parquet(data / f"{split}-00000-of-00001.parquet")
    return folder


def load(root: Path, **keys) -> Task:
    config = TaskConfig.from_mapping(
        {
            "task": "shapes",
            "dataset_path": "org/shapes",
            "test_split": "test",
            "training_split": "train",
            "doc_to_visual": "image",
            "doc_to_text": "question",
            "doc_to_target": "word",
            "metric_list": [{"metric": "exact_match"}],
            **keys,
        }
    )
    return Task.load(config.resolved(FOREIGN_CODE), DataSource(root))


def texts(context: list[dict]) -> list[str]:
    """Each turn as role: parts, pictures as #."""
    return [
        f"{turn['role']}: " + "".join("#" if part["type"] == "image" else part["text"] for part in turn["content"])
        for turn in context
    ]


def test_a_picture_and_a_question_as_a_chat_turn(root: Path) -> None:
    [instance] = load(root).instances([2], CHAT)
    assert texts(instance.context) == ["user: #test question 2?"]
    [picture] = instance.images()
    assert picture.size == (5, 5) and picture.getpixel((0, 0)) == (40, 0, 0)
    assert instance.slot == Slot("shapes", 2) and instance.target == "cat"
    assert "image" not in instance.doc, "a document never holds its decoded picture"


def test_pictures_of_several_columns_come_in_the_order_named(root: Path) -> None:
    [instance] = load(root, doc_to_visual=["image", "image"]).instances([2], CHAT)
    assert texts(instance.context) == ["user: ##test question 2?"] and len(instance.images()) == 2
    [broken] = load(root, doc_to_visual=["image", "imgae"]).instances([2], CHAT)
    assert "Did you mean 'image'" in str(broken.error)


@each_of(
    ("text", "columns", "turn"),
    [
        ("See <image> here: {{question}}", 1, "user: See # here: test question 2?"),
        ("<image>\n<image>\n{{question}}", 2, "user: #\n#\ntest question 2?"),
        ("{{question}}<image>", 1, "user: test question 2?#"),
        ("<image>{{question}}", 2, "user: ##<image>test question 2?"),  # not as many as pictures: it is text
    ],
)
def test_pictures_stand_where_the_question_marks_their_places(root: Path, text: str, columns: int, turn: str) -> None:
    """As MuirBench and MMT-Bench of lmms-eval mark them; a second placeholder beside the mark would fail every doc."""
    [instance] = load(root, doc_to_visual=["image"] * columns, doc_to_text=text).instances([2], CHAT)
    assert texts(instance.context) == [turn]
    shots = {"num_fewshot": 1, "fewshot_split": "train", "fewshot_config": {"sampler": "first_n"}}
    if turn.count("#") == text.count("<image>"):
        [plain] = load(root, doc_to_visual=["image"] * columns, doc_to_text=text, **shots).instances([2], PLAIN)
        assert str(plain.context).count("<image>") == 2 * columns


def test_equal_pictures_have_equal_digests_and_make_a_cluster(root: Path) -> None:
    task = load(root)
    instances = list(task.instances(range(6), CHAT))
    digests = {i.doc_id: i.image_digests for i in instances}
    assert digests[0] == digests[1] != digests[2]
    clusters = task.clusters({i.doc_id: i.doc for i in instances}, digests)
    assert clusters[0] == clusters[1] != clusters[2]
    by_word = load(root, cluster_key="word").clusters({i.doc_id: i.doc for i in instances}, digests)
    assert by_word[0] == by_word[2] != by_word[1]


def test_few_shot_examples_bring_their_own_pictures_as_turns(root: Path) -> None:
    task = load(root, num_fewshot=2)
    [instance] = task.instances([1], CHAT)
    turns = texts(instance.context)
    assert len(turns) == 5 and turns[-1] == "user: #test question 1?"
    for question, answer in ((turns[0], turns[1]), (turns[2], turns[3])):
        number = int(question.rstrip("?").rsplit(" ", 1)[1])
        assert question == f"user: #train question {number}?"
        assert answer == f"assistant: {'cat' if number % 2 == 0 else 'dog'}"
    pictures = instance.images()
    assert len(pictures) == len(instance.image_digests) == 3
    assert [picture.getpixel((0, 0))[2] for picture in pictures] == [200, 200, 0], (
        "examples first, then the question's own"
    )
    assert instance.turn_pictures == (1, 1, 1)


@pytest.mark.parametrize("shots", [0, 1])
def test_fault_a_block_was_shown_the_pictures_of_the_block_before_it(root: Path, shots: int) -> None:
    """`mm-eval prompts` asks one task with one block after the other, and a picture may be made as a block says."""

    def shown(doc, lmms_eval_specific_kwargs=None):
        return [doc["image"].resize((lmms_eval_specific_kwargs["side"],) * 2)]

    task = load(root, doc_to_visual=shown, num_fewshot=shots)
    for side in (8, 16, 8):
        style = PromptStyle(PromptBlock("default", {"side": side}), chat=True)
        [instance] = task.instances([3], style)
        assert [picture.size for picture in instance.images()] == [(side, side)] * (shots + 1)


def test_an_examples_picture_is_decoded_once_for_all_docs(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = load(root, num_fewshot=2, fewshot_config={"sampler": "first_n"})
    decoded, full = list[tuple[str, int]](), Docs.full
    monkeypatch.setattr(Docs, "full", lambda docs, doc_id: decoded.append((docs.where, doc_id)) or full(docs, doc_id))
    rows = list(task.instances(range(6), CHAT))
    assert [len(row.images()) for row in rows] == [3] * 6
    assert len({row.image_digests[:2] for row in rows}) == 1
    assert len(decoded) == 2 + 6, "two examples and six docs"


def test_few_shot_in_one_turn_keeps_each_picture_before_its_own_question(root: Path) -> None:
    task = load(root, num_fewshot=2, fewshot_as_multiturn=False)
    [instance] = task.instances([1], CHAT)
    [turn] = texts(instance.context)
    assert turn.count("#") == 3
    parts = turn.removeprefix("user: ").split("#")[1:]
    assert all(part.startswith("train question") and part.endswith("\n\n") for part in parts[:2])
    assert parts[2] == "test question 1?"


def test_few_shot_in_plain_text_marks_where_each_picture_stands(root: Path) -> None:
    [instance] = load(root, num_fewshot=1).instances([1], PLAIN)
    example, question = instance.context.split("\n\n")
    assert example.startswith("<image>\ntrain question") and question == "<image>\ntest question 1?"
    [alone] = load(root).instances([1], PLAIN)
    assert alone.context == "test question 1?"


def test_scoring_builds_the_same_prompt_without_decoding(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = load(root, num_fewshot=1)
    asked = list(task.instances(range(6), CHAT))
    monkeypatch.setattr(type(task.docs), "full", lambda self, doc_id: pytest.fail("a picture was decoded"))
    scored = list(task.instances(range(6), CHAT, lambda doc_id: (1, 1)))
    assert [i.context for i in scored] == [i.context for i in asked]
    assert [i.slot for i in scored] == [i.slot for i in asked]


def test_limit_and_samples_change_no_prompt(root: Path) -> None:
    task = load(root, num_fewshot=2)
    everything = {i.doc_id: i.context for i in task.instances(task.select(), CHAT)}
    some = {i.doc_id: i.context for i in task.instances(task.select(samples=[4, 2]), CHAT)}
    assert some == {doc_id: everything[doc_id] for doc_id in (2, 4)}
    assert task.select(0.5) == [0, 1, 2] and task.select(0.01) == [0] and task.select(100) == list(range(6))
    for wrong in (0, -1, 1.5):
        with pytest.raises(ConfigError):
            task.select(wrong)
    with pytest.raises(ConfigError, match="which has 0 to 5"):
        task.select(samples=[6])


def test_plain_text_prompts_with_description_examples_and_prefix(root: Path) -> None:
    task = load(root, doc_to_visual=None, num_fewshot=1, description="Look.\n\n", gen_prefix="It is a")
    [instance] = task.instances([0], PLAIN)
    start, shown, rest = instance.context.partition("train question")
    assert start == "Look.\n\n" and shown
    example, question = rest.split("\n\n")
    assert example.endswith(("? It is a cat", "? It is a dog")) and question == "test question 0? It is a"
    [chat] = task.instances([0], PromptStyle(chat=True, system="Be brief."))
    assert texts(chat.context)[0] == "system: Be brief.\n\nLook.\n\n", "as it is written"
    assert texts(chat.context)[-1] == "assistant: It is a"


def test_choices_are_scored_as_continuations_with_the_delimiter(root: Path) -> None:
    task = load(
        root,
        output_type="multiple_choice",
        doc_to_choice="options",
        doc_to_target="answer",
        metric_list=[{"metric": "acc"}],
    )
    instances = list(task.instances([3], CHAT))
    assert [i.continuation for i in instances] == [" cat", " dog"]
    assert [i.slot.choice for i in instances] == [0, 1] and instances[0].target == 1
    assert instances[0].context == instances[1].context


def test_mutual_information_also_asks_each_choice_without_a_question(root: Path) -> None:
    task = load(
        root,
        output_type="multiple_choice",
        doc_to_choice="options",
        doc_to_target="answer",
        metric_list=[{"metric": "acc_mutual_info"}],
    )
    instances = list(task.instances([0], PLAIN))
    assert [i.context for i in instances[2:]] == ["", ""] and all(i.images is None for i in instances[2:])
    assert len({i.slot for i in instances}) == 4


def test_repeats_are_instances_with_slots_of_their_own(root: Path) -> None:
    instances = list(load(root, repeats=3).instances([0], CHAT))
    assert [i.slot for i in instances] == [Slot("shapes", 0, repeat) for repeat in range(3)]


def test_rolling_scores_the_whole_text(root: Path) -> None:
    task = load(
        root,
        output_type="loglikelihood_rolling",
        doc_to_visual=None,
        doc_to_target="question",
        doc_to_text="",
        metric_list=[{"metric": "word_perplexity"}],
    )
    [instance] = task.instances([0], PLAIN)
    assert (instance.request_type, instance.context, instance.continuation) == (
        "loglikelihood_rolling",
        "",
        "test question 0?",
    )


def test_the_prompt_block_reaches_the_functions(root: Path) -> None:
    def ask(doc, lmms_eval_specific_kwargs=None):
        return doc["question"] + lmms_eval_specific_kwargs["post_prompt"]

    task = load(root, doc_to_text=ask)
    style = PromptStyle(PromptBlock("qwen_vl", {"post_prompt": " Answer:"}), chat=True)
    [instance] = task.instances([0], style)
    assert texts(instance.context) == ["user: #test question 0? Answer:"]


@pytest.mark.parametrize("named", ["docs.jsonl", "{test: docs.jsonl}", "{test: [docs.jsonl]}", "here/docs.jsonl"])
def test_a_local_file_is_found_beside_the_yaml_that_names_it_or_in_the_working_directory(
    named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, elsewhere = tmp_path / "mine", tmp_path / "elsewhere"
    elsewhere.mkdir()
    for folder, text in ((mine, "beside"), (elsewhere / "here", "of the working directory")):
        folder.mkdir()
        (folder / "docs.jsonl").write_text(json.dumps({"q": text}) + "\n")
    split = "train" if named.endswith("jsonl") else "test"
    (mine / "base.yaml").write_text(
        f"dataset_path: json\ndataset_kwargs: {{data_files: {named}}}\ntest_split: {split}\n"
    )
    (mine / "tasks").mkdir()
    (mine / "tasks" / "t.yaml").write_text("include: ../base.yaml\ntask: t\ndoc_to_text: q\n")
    monkeypatch.chdir(elsewhere)
    config = TaskManager(mine, include_defaults=False).load("t").tasks["t"]
    [instance] = Task.load(config.resolved(FOREIGN_CODE), DataSource()).instances([0], PLAIN)
    assert instance.context == ("of the working directory" if "/" in named else "beside")


def with_features(tmp_path: Path, features: str) -> Task:
    (tmp_path / "docs.jsonl").write_text(json.dumps({"q": "a?", "answer": ["b"]}) + "\n")
    (tmp_path / "t.yaml").write_text(
        f"task: t\ndataset_path: json\ndataset_kwargs: {{data_files: {{test: docs.jsonl}}, features: {features}}}\n"
        "test_split: test\ndoc_to_text: q\n"
    )
    config = TaskManager(tmp_path, include_defaults=False).load("t").tasks["t"]
    return Task.load(config.resolved(FOREIGN_CODE), DataSource())


@pytest.mark.parametrize(
    "features",
    [
        "{q: {dtype: string}, answer: {dtype: string, sequence: true}}",
        "{q: string, answer: [string]}",
        "{q: {_type: Value, dtype: string}, answer: {_type: List, feature: {_type: Value, dtype: string}}}",
    ],
)
def test_the_types_of_columns_are_read_in_each_way_of_writing_them(features: str, tmp_path: Path) -> None:
    task = with_features(tmp_path, features)
    assert task.docs.rows.features["answer"].feature.dtype == "string"
    assert task.docs.rows[0]["answer"] == ["b"]


@pytest.mark.parametrize(
    ("features", "said"),
    [
        ("{q: {dtype: int65}}", "int65"),
        ("{q: 3}", "3 is not a type"),
        ("[q]", "do not map columns"),
        ("{q: int32, answer: [string]}", "as a scalar of type int32"),
    ],
)
def test_types_that_can_not_be_read_are_one_sentence_with_a_place(features: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(MMEvalError, match=re.escape(said)) as raised:
        with_features(tmp_path, features)
    assert "t.yaml:" in str(raised.value)


def test_a_local_file_that_is_missing_is_named_where_it_belongs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.yaml").write_text(
        "task: t\ndataset_path: json\ndataset_kwargs: {data_files: {test: docs.jsonl}}\ntest_split: test\ndoc_to_text: q\n"
    )
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    config = TaskManager(tmp_path, include_defaults=False).load("t").tasks["t"]
    with pytest.raises(MMEvalError, match=re.escape(str(tmp_path / "docs.jsonl"))):
        Task.load(config.resolved(FOREIGN_CODE), DataSource())
