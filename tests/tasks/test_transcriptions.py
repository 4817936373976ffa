"""Transcription and translation: rates by words or characters, over speakers, and BLEU by language."""

from pathlib import Path
from typing import Any

import pytest

from mm_eval.config.manager import TaskManager
from tests.sets import each_of
from tests.tasks.answers import answered, prompt

pytest.importorskip("jiwer")
MANAGER = TaskManager()
ASK = "Please recognize the speech and only output the recognized content:"


def test_librispeech_normalises_spelling_numbers_and_titles(cli: Any, tmp_path: Path) -> None:
    answers = ["Mr. Brown came at 9.", "The color of the sea changed, ", "We walked home again"]
    ran = answered(cli, tmp_path, "librispeech_test_other", answers)
    row = ran.results["results"]["librispeech_test_other"]
    assert row["wer,none"] == pytest.approx(100 / 14)  # one word more than the 14 of the references


def test_the_error_is_over_speakers(cli: Any, tmp_path: Path) -> None:
    ran = answered(cli, tmp_path, "librispeech_test_clean", ["the red lamp is on the table", "he saw", "no"])
    assert ran.results["results"]["librispeech_test_clean"]["wer_stderr,none"] > 0
    [config] = MANAGER.load("librispeech_test_clean").tasks.values()
    assert config.cluster_key == "speaker_id"


def test_chinese_counts_characters_and_neither_blanks_nor_punctuation(cli: Any, tmp_path: Path) -> None:
    ran = answered(cli, tmp_path, "aishell", ["今天天气很好。", "火车 站在哪里", "他买了三本书", "北京是一座城"])
    assert ran.results["results"]["aishell"]["cer,none"] == pytest.approx(100 / 25)


METRICS = {
    "fleurs_en_us": ("wer", "english"), "fleurs_fr_fr": ("wer", "basic"), "fleurs_ja_jp": ("cer", "basic"),
    "common_voice_en": ("wer", "english"), "common_voice_zh_cn": ("cer", "basic"),
}  # fmt: skip


@each_of(("task", "stated"), [*METRICS.items()])
def test_what_counts_by_language(task: str, stated: tuple[str, str]) -> None:
    [config] = MANAGER.load(task).tasks.values()
    [entry] = config.metric_list
    assert (entry["metric"], entry["normalizer"]) == stated
    assert entry.get("whitespace", True) is (stated[0] == "wer")


def test_translations_into_chinese_have_their_own_tokens(cli: Any, tmp_path: Path) -> None:
    ran = answered(cli, tmp_path, "covost2_en_zh_cn", ["今天天气很好。", "车站在哪？"])
    import sacrebleu

    refs = ["今天天气很好。", "车站在哪里？"]
    expected = sacrebleu.corpus_bleu(["今天天气很好。", "车站在哪？"], [refs], tokenize="zh").score
    assert ran.results["results"]["covost2_en_zh_cn"]["bleu,none"] == pytest.approx(expected)
    assert 0 < expected < 100


def test_the_prompts(cli: Any) -> None:
    assert prompt(cli, "librispeech_test_clean").endswith(ASK) and prompt(cli, "fleurs_ja_jp").endswith(ASK)
    assert prompt(cli, "covost2_en_de").endswith("Translate the speech into German and only output the translation:")
    assert prompt(cli, "covost2_zh_cn_en").endswith(
        "Translate the speech into English and only output the translation:"
    )


def test_fleurs_is_translated_into_the_sentence_with_the_same_id(cli: Any, tmp_path: Path) -> None:
    ran = answered(cli, tmp_path, "fleurs_en_de", ["Die Stadt hat viele Brücken."] * 2 + ["es war kalt"])
    rows = ran.samples("fleurs_en_de")
    assert [row["target"] for row in rows] == ["Die Stadt hat viele Brücken."] * 2 + ["Es war kalt."]
    assert [row["doc"]["transcription"] for row in rows][2] == "it was cold"
    import sacrebleu

    expected = sacrebleu.corpus_bleu(
        ["Die Stadt hat viele Brücken."] * 2 + ["es war kalt"], [[row["target"] for row in rows]], tokenize="13a"
    ).score
    assert ran.results["results"]["fleurs_en_de"]["bleu,none"] == pytest.approx(expected)
    assert prompt(cli, "fleurs_en_de").endswith("Translate the speech into German and only output the translation:")


def test_translations_of_fleurs_into_chinese_count_characters(cli: Any, tmp_path: Path) -> None:
    import sacrebleu

    said, refs = ["城里有许多桥。", "城里有很多桥。", "天很冷"], ["城里有很多桥。", "城里有很多桥。", "天很冷。"]
    ran = answered(cli, tmp_path, "fleurs_en_zh", said)
    expected = sacrebleu.corpus_bleu(said, [refs], tokenize="char").score
    assert ran.results["results"]["fleurs_en_zh"]["bleu,none"] == pytest.approx(expected)


def test_recordings_without_a_partner_are_left_out() -> None:
    datasets = pytest.importorskip("datasets")
    from mm_eval.tasks.fleurs_translation.utils import with_translations

    recordings = datasets.Dataset.from_dict({"id": [3, 1, 2, 3], "path": ["a", "b", "c", "d"]})
    others = datasets.Dataset.from_dict(
        {"id": [3, 3, 1], "raw_transcription": ["Drei. ", "Drei. ", "Eins."], "x": [0, 0, 0]}
    )
    found = with_translations(recordings, lambda *args, **kwargs: others, "de_de")
    assert found.to_list() == [
        {"id": 3, "path": "a", "translation": "Drei."},
        {"id": 1, "path": "b", "translation": "Eins."},
        {"id": 3, "path": "d", "translation": "Drei."},
    ]


def test_wenetspeech_counts_characters(cli: Any, tmp_path: Path) -> None:
    ran = answered(cli, tmp_path, "wenetspeech_test_net", ["今天天气很好。", "我们去吃吧"])
    assert ran.results["results"]["wenetspeech_test_net"]["cer,none"] == pytest.approx(100 / 12)
