"""Error rates of transcriptions: jiwer's counts over the corpus, Whisper's normalisers, and a bootstrap over speakers.

The normalised texts were made by openai/whisper's whisper/normalizers at c0d2f62.
"""

import random

import pytest

from mm_eval.scoring.metrics import bounds, speech
from mm_eval.scoring.metrics.metric import Metric
from mm_eval.scoring.metrics.speech import CharacterErrorRate, WordErrorRate, basic, english
from mm_eval.scoring.metrics.stderr import standard_error
from mm_eval.values.errors import ConfigError
from tests.sets import each_of

pytest.importorskip("jiwer")

NORMALISED = [
    ("The colour of Mr. Smith's grey (laughs) coat won't fade", "the color of mister smith is gray coat will not fade"),
    ("uh, two thousand and twenty", "2020"), ("$20 million", "$20000000"), ("one hundred and one", "101"),
    ("<noise> hi [x] there", "hi there"), ("naïve café", "naive cafe"), ("at ten o'clock", "at 100 clock"),
    ("at 10 o'clock", "at 100 clock"), ("Dr. O'Brien", "doctor 0 brien"), ("1,000", "1000"), ("", ""), ("(laughs)", ""),
]  # fmt: skip
BASIC = [
    ("Straße, l'été!", "straße l été"), ("你好，世界。", "你好 世界"), ("हिन्दी", "ह न द"), ("(laughs) A", "a"), ("ＡＢＣ", "abc"),
]  # fmt: skip


@each_of(("text", "normal"), NORMALISED)
def test_whispers_english_normaliser(text: str, normal: str) -> None:
    assert english(text) == normal


@each_of(("text", "normal"), BASIC)
def test_whispers_basic_normaliser(text: str, normal: str) -> None:
    assert basic(text) == normal


def test_the_rate_is_the_errors_of_all_documents_over_the_words_of_all_references() -> None:
    metric = WordErrorRate()
    items = [metric([truth], [said]) for truth, said in [("a b c d", "a x c d e"), ("a", ""), ("", "so so")]]
    assert metric.aggregation(items) == pytest.approx(
        100 * (2 + 1 + 2) / 5
    )  # not the mean of 50, 100 and an undefined one


@each_of("between", ["\n", "\t", "\n\n", " \n", "\u3000", "\u00a0"])
def test_a_line_break_parts_words(between: str) -> None:
    metric = WordErrorRate()
    assert metric.aggregation([metric(["one two"], [f"one{between}two"])]) == 0


def test_characters_with_and_without_blanks() -> None:
    with_blanks, without = CharacterErrorRate(), CharacterErrorRate("basic", whitespace=False)
    assert with_blanks.aggregation([with_blanks("a b", ["ab"])]) == pytest.approx(100 / 3)
    assert without.aggregation([without("你好，世界。", ["你 好 世 界"])]) == 0
    assert without.aggregation([without("你好世界", ["你好时界啊"])]) == pytest.approx(50)


def test_of_several_references_the_nearest_counts() -> None:
    metric = WordErrorRate()
    assert metric.aggregation([metric([["a b c d", "a b"]], ["a b"])]) == 0
    assert metric(None, [None]) == ([""], "")


def test_no_reference_with_a_word_has_no_rate() -> None:
    found = Metric.from_dict({"metric": "wer"}, "generate_until")
    with pytest.raises(ValueError, match="no reference has a word"):
        found.aggregate([found.fn([""], ["something"])])


def test_the_standard_error_is_a_bootstrap_over_speakers() -> None:
    rng, metric = random.Random(1), WordErrorRate()
    items, speakers = [], []
    for speaker in range(12):
        share = rng.random()  # a speaker's own share of errors
        for _ in range(10):
            truth = ["word"] * rng.randint(3, 12)
            said = [word if rng.random() > share else "other" for word in truth]
            items.append(metric([" ".join(truth)], [" ".join(said)]))
            speakers.append(speaker)
    alone = standard_error(metric.aggregation, items, bootstrap_iters=2000).value
    clustered = standard_error(metric.aggregation, items, speakers, bootstrap_iters=2000).value
    assert alone is not None and clustered is not None and clustered > 2 * alone


def test_an_unknown_normaliser_and_a_missing_package_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"unknown normalizer 'whisper'.*english, basic"):
        Metric.from_dict({"metric": "wer", "normalizer": "whisper"}, "generate_until")
    monkeypatch.setitem(__import__("sys").modules, "jiwer", None)
    with pytest.raises(ConfigError, match=r"jiwer is not installed.*mm-eval\[audio\]"):
        WordErrorRate()


def test_answers_that_are_too_long_to_compare_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speech, "MOST_PAIRS", 10)
    metric = WordErrorRate()
    with bounds.reports() as found:
        assert metric.aggregation([metric("a b c", ["a b c d"])]) == pytest.approx(400 / 3)
    assert found == ["an error rate (at most 10 pairs of words or characters)"]
