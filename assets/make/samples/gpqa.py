"""GPQA Diamond: made-up questions of three sciences, none of the benchmark's."""

from datasets import Value

from samples import Sample

TEXT = Value("string")
COLUMNS = (
    "Question", "Correct Answer", "Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3", "Explanation", "Subdomain",
    "High-level domain", "Record ID",
)  # fmt: skip
QUESTIONS = [
    ("Which particle carries the charge in a copper wire?", "Electrons", "Protons", "Neutrons", "Photons", "Physics"),
    ("How does the period of a pendulum change if its length is four times as long?", "It doubles", "It halves",
     "It stays the same", "It is four times as long", "Physics"),
    ("Which unit has the product of voltage and charge?", "Joule", "Watt", "Ohm", "Tesla", "Physics"),
    ("Which gas forms when zinc meets hydrochloric acid?", "Hydrogen", "Oxygen", "Chlorine", "Nitrogen", "Chemistry"),
    ("How many bonds has carbon in methane?", "Four", "Three", "Two", "Five", "Chemistry"),
    ("What is the pH of pure water at 25 degrees?", " 7", "0", "1", "14 ", "Chemistry"),
    ("In which part of a cell is most of its DNA?", "The nucleus", "The membrane", "The ribosome", "The vacuole", "Biology"),
    ("Which molecule stores energy for a muscle's contraction?", "ATP", "DNA", "Keratin", "Cellulose", "Biology"),
]  # fmt: skip


def samples() -> list[Sample]:
    """Eight questions; the hub has further columns on how they were written."""
    rows = [
        dict(zip(COLUMNS, (*texts, "", domain, domain, f"rec{number}"), strict=True))
        for number, (*texts, domain) in enumerate(QUESTIONS)
    ]
    return [Sample("Idavidrein/gpqa", "train", dict.fromkeys(COLUMNS, TEXT), rows, "gpqa_diamond")]
