"""GPQA Diamond's columns that are read: a question of science, its right answer and three wrong ones, with its field."""

from datasets import Value

from samples import Sample

COLUMNS = (
    "Question", "Correct Answer", "Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3", "Explanation",
    "Subdomain", "High-level domain", "Record ID",
)  # fmt: skip
PHYSICS, CHEMISTRY, BIOLOGY = "Physics", "Chemistry", "Biology"
QUESTIONS = (  # question, right answer, three wrong ones, explanation, subdomain, domain
    ("A photon has a wavelength of 620 nm. What is its energy?", "2.0 eV", "0.5 eV", "3.1 eV", "6.2 eV",
     "1240 eV nm / 620 nm", "Quantum Mechanics", PHYSICS),
    ("A spring of constant k is cut into two equal parts. What is the constant of each part?", "2k", "k", "k/2", "4k",
     "Half the length stretches half as far.", "Physics (general)", PHYSICS),
    ("Two spins of 1/2 form a singlet. What is the expectation value of S1 . S2, in units of hbar squared?", "-3/4", "1/4",
     "-1/4", "0", "(0 - 3/4 - 3/4) / 2", "Quantum Mechanics", PHYSICS),
    ("By which factor does the power that a black body radiates rise if its temperature doubles?\n", "16 ", "2", "4", "8",
     "Stefan and Boltzmann: the fourth power.", "Astrophysics", PHYSICS),
    ("How many signals has the proton NMR spectrum of tert-butyl methyl ether?", "two", "one", "three", "four",
     "The nine protons of the tert-butyl group are alike.", "Organic Chemistry", CHEMISTRY),
    ("What is the pH of a buffer of equal parts of an acid with pKa 4.76 and its salt?", "4.76", "2.38", "7.00", "9.24",
     "log 1 = 0", "Chemistry (general)", CHEMISTRY),
    ("Which product is expected from the hydroboration of 1-hexene, followed by oxidation with peroxide?", "hexan-1-ol",
     "hexan-2-ol", "hexanal", "hexane-1,2-diol", "Against Markovnikov's rule.", "Organic Chemistry", CHEMISTRY),
    ("Which of these complexes is expected to be diamagnetic?", "[Co(NH3)6]3+", "[CoF6]3-", "[Fe(H2O)6]3+",
     "[Mn(H2O)6]2+", "Low spin d6.", "Inorganic Chemistry", CHEMISTRY),
    ("In a cross of AaBb with AaBb, unlinked, which share of the young shows both recessive traits?", "1/16", "1/4", "3/16",
     "9/16", "1/4 of 1/4", "Genetics", BIOLOGY),
    ("Which enzyme joins the fragments of the lagging strand?", "DNA ligase", "DNA primase",
     "DNA  helicase", "topoisomerase", "It closes the gap in the backbone.", "Molecular Biology", BIOLOGY),
)  # fmt: skip


def samples() -> list[Sample]:
    """Ten questions; the hub's file has more columns, about how the questions were written and reviewed."""
    rows = [
        dict(zip(COLUMNS, (*question, f"rec-mm-eval-{number:02d}"), strict=True))
        for number, question in enumerate(QUESTIONS)
    ]
    return [Sample("Idavidrein/gpqa", "train", {column: Value("string") for column in COLUMNS}, rows, "gpqa_diamond")]
