"""WikiText: the text that is scored, and numbers held against a computation of their own."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from mm_eval.config.manager import TaskManager
from mm_eval.foreign_code.runner import FOREIGN_CODE
from tests.conftest import ROOT, Ran
from tests.sets import each_of

MODEL = ROOT / "assets" / "models" / "tiny-llava"
FIRST = (
    "\n= Lower Mill Bridge =\n\nThe Lower Mill Bridge is a stone bridge of 1,204 tonnes over the Little Brook. It was built in"
    ' 1871 by a local builder, who called it "the quiet bridge".\n\n== Traffic ==\n\nAbout 3.5 thousand carts (and later cars)'
    " crossed it in a year; most of them carried flour.\n\n"
)


def functions() -> Any:
    """The task's config with its functions."""
    return TaskManager().load(["wikitext"]).tasks["wikitext"].resolved(FOREIGN_CODE)


@each_of(
    ("tokenized", "text"),
    [
        ("a long @-@ legged bird", "a long-legged bird"),
        ("1 @,@ 204 and 3 @.@ 5", "1,204 and 3.5"),
        ("here : one ; two . Three ! Four ? Five , six", "here: one; two. Three! Four? Five, six"),
        ("( and ) [ b ] { c }", "(and) [b] {c}"),
        ('He said " yes " twice', 'He said "yes" twice'),
        ("the players ' own", "the players' own"),
        ("A heron 's meal", "A heron's meal"),
        (" = = = Deep = = = \n text \n", " === Deep ===\ntext\n"),
        ("4 ° C at 40 N of", "4°C at 40 1 of"),  # the replacement of N is the published one, right or not
    ],
)
def test_detokenizer(tokenized: str, text: str) -> None:
    assert functions().doc_to_target({"page": tokenized}) == text


def test_words_and_bytes_are_those_of_the_tokenized_text() -> None:
    page = " \n = É = \n \n one @-@ two \n"
    found = functions().process_results({"page": page}, [-2.5])
    words, size = 8, 27  # an empty part before and one after, as lm-eval counts
    assert found == {"word_perplexity": (-2.5, words), "byte_perplexity": (-2.5, size), "bits_per_byte": (-2.5, size)}


def test_known_value(cli: Callable[..., Ran]) -> None:
    """The bundled model's number, against one forward an article without any code of the suite."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from datasets import Dataset

    folder = ROOT / "assets" / "data" / "EleutherAI" / "wikitext_document_level" / "wikitext-2-raw-v1"
    pages = Dataset.from_parquet(str(folder / "test-00000-of-00001.parquet"), keep_in_memory=True)["page"]
    text_of = functions().doc_to_target
    assert text_of({"page": pages[0]}) == FIRST
    tokenizer = transformers.AutoTokenizer.from_pretrained(MODEL)
    model = transformers.AutoModelForImageTextToText.from_pretrained(MODEL, dtype=torch.float32).eval()
    total = 0.0
    for page in pages:
        ids = [1, *tokenizer(text_of({"page": page}), add_special_tokens=False)["input_ids"]]
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([ids])).logits[0].double()
        total += float(torch.log_softmax(logits[:-1], -1).gather(1, torch.tensor(ids[1:])[:, None]).sum())
    ran = cli("--tasks", "wikitext", "--sample", "--model", "hf", "--model_args", f"pretrained={MODEL},dtype=float32")
    assert ran.code == 0, ran.err
    numbers = ran.results["results"]["wikitext"]
    words = sum(len(page.split()) + 2 for page in pages)
    size = sum(len(page.encode()) for page in pages)
    assert numbers["word_perplexity,none"] == pytest.approx(math.exp(-total / words), rel=1e-4)
    assert numbers["byte_perplexity,none"] == pytest.approx(math.exp(-total / size), rel=1e-5)
    assert numbers["bits_per_byte,none"] == pytest.approx(-total / size / math.log(2), rel=1e-6)
