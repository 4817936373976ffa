"""MMLU-Pro: which of up to ten words belongs to a category, with five worked examples for each."""

from datasets import List, Value

from samples import Row, Sample, rng

TEXT, NUMBER = Value("string"), Value("int64")
FEATURES = {
    "question_id": NUMBER,
    "question": TEXT,
    "options": List(TEXT),
    "answer": TEXT,
    "answer_index": NUMBER,
    "cot_content": TEXT,
    "category": TEXT,
    "src": TEXT,
}
WORDS = {
    "biology": "mitosis enzyme chloroplast genome predator ribosome larva",
    "business": "invoice dividend franchise retailer payroll brand audit",
    "chemistry": "molarity catalyst isomer oxidation titration alkene halogen",
    "computer science": "compiler recursion bytecode mutex hashtable parser semaphore",
    "economics": "inflation tariff monopoly elasticity oligopoly subsidy scarcity",
    "engineering": "gearbox girder transistor turbine weld rivet flange",
    "health": "vaccine insulin hygiene stethoscope diagnosis fever bandage",
    "history": "crusade dynasty armistice feudalism treaty colony empire",
    "law": "plaintiff tort subpoena felony statute verdict bail",
    "math": "integral polynomial lemma cosine matrix quotient vertex",
    "other": "recipe violin sonnet stadium passport lantern carpet",
    "philosophy": "ontology stoicism syllogism utilitarianism dualism ethics nihilism",
    "physics": "photon inertia entropy wavelength torque neutrino friction",
    "psychology": "conditioning cognition phobia introversion memory empathy attention",
}


def _row(category: str, place: int, number: int, worked: bool) -> Row:
    """A question about one word of a category; the other options are words of other categories."""
    stream, word = rng("mmlu_pro", category, place), WORDS[category].split()[place]
    others = [each for name, words in WORDS.items() if name != category for each in words.split()]
    options = [word, *stream.sample(others, 9 if place % 2 else stream.randrange(3, 9))]
    stream.shuffle(options)
    index = options.index(word)
    letter = "ABCDEFGHIJ"[index]
    reasons = (
        f"A: Let's think step by step. Of these words, only {word} belongs to {category}. The answer is ({letter})."
    )
    return {
        "question_id": number,
        "question": f"Which of these words belongs to the category {category}?",
        "options": options,
        "answer": letter,
        "answer_index": index,
        "cot_content": reasons if worked else "",
        "category": category,
        "src": f"cot_lib-{category}" if worked else "mm-eval",
    }


def samples() -> list[Sample]:
    """Two questions of each category to score and five for examples."""
    places = [(category, place) for category in WORDS for place in range(7)]
    rows = [(place, _row(category, place, number, place > 1)) for number, (category, place) in enumerate(places)]
    return [
        Sample("TIGER-Lab/MMLU-Pro", "test", FEATURES, [row for place, row in rows if place < 2]),
        Sample("TIGER-Lab/MMLU-Pro", "validation", FEATURES, [row for place, row in rows if place > 1]),
    ]
