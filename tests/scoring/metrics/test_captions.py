"""Captions: the tokens of coco-caption's Java program, and its CIDEr and BLEU on the same tokens."""

import pytest
from mm_eval.tasks.rules.captions import caption_tokens
from mm_eval.tasks.rules.captions.scores import cider_scores

from mm_eval.scoring.metrics.metric import Metric
from mm_eval.scoring.metrics.stderr import standard_error
from tests.sets import each_of

TOKENS = {  # as CoreNLP 3.4.1 writes them (`PTBTokenizer -preserveLines -lowerCase`), without those that are dropped
    "A man's dog, isn't it?": "a man 's dog is n't it",
    "\"Quoted\" text and 'single' words.": "quoted text and single words",
    "Two people (one sitting) on a bench...": "two people -lrb- one sitting -rrb- on a bench",
    "a 3-year-old's well-known close-up - wow -- really": "a 3-year-old 's well-known close-up wow really",
    "the players' bench and children's books": "the players bench and children 's books",
    "It\u2019s \u201cblue\u201d \u2013 and green \u2014 ok\u2026": "it 's blue and green ok",
    "I can't, won't or cannot; I'd say they've y'all": "i ca n't wo n't or can not i 'd say they 've y' all",
    "Mr. Smith of St. Mary's on 5th Ave. in the U.S.": "mr. smith of st. mary 's on 5th ave. in the u.s.",
    "a sign that reads K.": "a sign that reads k",
    "J.K. and A. B. on plan b. The end": "j.k. and a. b. on plan b the end",
    "the time is 10:30 p.m. or 5:54pm, not 12:43:2.": "the time is 10:30 p.m. or 5:54 pm not 12:43:2",
    "it costs $5.00, 50% off, 3,000 or 1/2": "it costs $ 5.00 50 % off 3,000 or 1/2",
    "black/white cat & dog at AT&T #41": "black/white cat & dog at at&t # 41",
    "A man.The dog. a red shirt.A woman": "a man.the dog a red shirt.a woman",
    "What!!! no?! yes!": "what !!! no ?! yes",
    "rock 'n' roll in the '90s at 5 o'clock in Hawai'i": "rock 'n' roll in the '90s at 5 o'clock in hawai'i",
    "no. 5 is not no. good": "no. 5 is not no good",
    "caf\u00e9 \u732b here \U0001f600": "caf\u00e9 \u732b here",
    "&quot;a &amp; b&quot; <br>": "a & b <br>",
    "  ": "",
    "at a.b@c.de, or x@y.com! a_b@c.de's": "at a.b@c.de, or x@y.com! a_b@c.de's",
    "fig.  2 and no.  5 but no. 5": "fig 2 and no 5 but no. 5",
    "at 5:00p.m., '10:30 in the '90s: '50% '12/25": "at 5:00 p.m. 10:30 in the '90s 50 % 12/25",
    "-6ft and -1st call (555)555-1234": "-6 ft and -1 st call -lrb-555-rrb-555-1234",
    "www.a.com's http://a.b/c; www.x.de/a,b": "www.a.com 's http://a.b/c; www.x.de/a,b",
}

CORPUS = [
    (["A man rides a wave.", "a surfer on a big wave"], "a man on a wave"),
    (["Two dogs run on the beach.", "dogs playing at the beach", "two brown dogs"], "two dogs run on a beach"),
    (["a red bus on a street"], "a red bus on a street"),
    (["A plate of food.", "some food on a plate"], ""),
    (["a cat", "the cat sleeps on the red couch in the sun"], "the the the cat cat on on the couch couch"),
]
"""References and the caption."""
CIDER = [2.2968262168402562, 2.905555205274924, 10.0, 0.0, 0.9083371175873639]
BLEU = [0.7026175499602391, 0.585190535083292, 0.45347230749618994, 0.38266635566479695]


@each_of("text", TOKENS)
def test_tokens(text: str) -> None:
    assert caption_tokens(text) == TOKENS[text].split()


def items() -> list[tuple[list[str], list[str]]]:
    return [(references, [said]) for references, said in CORPUS]


def test_cider_is_that_of_coco_caption() -> None:
    """The numbers of pycocoevalcap 1.2 (its Python code) on these tokens."""
    assert cider_scores(items()) == pytest.approx(CIDER, rel=1e-9)
    assert Metric.from_dict({"metric": "cider"}).aggregate(items()) == pytest.approx(sum(CIDER) / 5, rel=1e-9)


def test_bleu_is_that_of_coco_caption() -> None:
    found = [Metric.from_dict({"metric": f"caption_bleu_{order}"}).aggregate(items()) for order in (1, 2, 3, 4)]
    assert found == pytest.approx(BLEU, rel=1e-9)


def test_document_frequencies_are_those_of_the_given_docs() -> None:
    """A lone doc has no rare words: every weight is 0, and so is its CIDEr."""
    assert cider_scores(items()[2:3]) == [0.0]
    assert cider_scores(items())[2] == pytest.approx(10.0)


def test_every_number_has_a_standard_error_of_the_right_size() -> None:
    """CIDEr's is that of a mean of its docs' scores; BLEU's is near the spread over redrawn corpora."""
    many = items() * 20
    cider = Metric.from_dict({"metric": "cider"})
    scores = cider_scores(many)
    centre = sum(scores) / len(scores)
    spread = (sum((score - centre) ** 2 for score in scores) / (len(scores) - 1)) ** 0.5 / len(scores) ** 0.5
    assert standard_error(cider.aggregation, many).value == pytest.approx(spread, rel=1e-9)
    bleu = standard_error(Metric.from_dict({"metric": "caption_bleu_4"}).aggregation, many, bootstrap_iters=2000).value
    assert bleu == pytest.approx(0.035, rel=0.3)


def test_an_answer_that_is_not_there_is_an_empty_caption() -> None:
    for name in ("cider", "caption_bleu_1"):
        metric = Metric.from_dict({"metric": name})
        assert metric.compute([["a cat"]], [None]) == (["a cat"], [""])
        assert metric.aggregate([(["a cat"], [""]), (["a dog"], [""])]) == pytest.approx(0.0, abs=1e-12)
