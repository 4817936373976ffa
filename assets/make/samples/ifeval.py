"""IFEval: short requests that use each of the 25 instructions; tasks/ifeval/gold.py has answers that follow them."""

from typing import Any

from datasets import List, Value

from samples import Sample

TEXT, COUNT, TEXTS = Value("string"), Value("int64"), List(Value("string"))
ARGUMENTS = {
    "num_highlights": COUNT,
    "relation": TEXT,
    "num_words": COUNT,
    "num_placeholders": COUNT,
    "prompt_to_repeat": TEXT,
    "num_bullets": COUNT,
    "section_spliter": TEXT,
    "num_sections": COUNT,
    "capital_relation": TEXT,
    "capital_frequency": COUNT,
    "keywords": TEXTS,
    "num_paragraphs": COUNT,
    "language": TEXT,
    "let_relation": TEXT,
    "letter": TEXT,
    "let_frequency": COUNT,
    "end_phrase": TEXT,
    "forbidden_words": TEXTS,
    "keyword": TEXT,
    "frequency": COUNT,
    "num_sentences": COUNT,
    "postscript_marker": TEXT,
    "first_word": TEXT,
    "nth_paragraph": COUNT,
}
FEATURES = {"key": COUNT, "prompt": TEXT, "instruction_id_list": TEXTS, "kwargs": List(ARGUMENTS)}
HEDGE = "Write a note to my neighbour about the hedge."
REQUESTS: tuple[tuple[str, dict[str, dict[str, Any]]], ...] = (
    (
        "Write two sentences about rain in lower-case English letters only. Don't use commas.",
        {"change_case:english_lowercase": {}, "punctuation:no_comma": {}},
    ),
    (
        "Write a verse about the sea in English capital letters, with a title in double angular brackets such as <<ode>>.",
        {"change_case:english_capital": {}, "detectable_format:title": {}},
    ),
    (
        "Describe a bicycle as JSON. You may use a code fence. The words wheel and brake must occur.",
        {"detectable_format:json_format": {}, "keywords:existence": {"keywords": ["wheel", "brake"]}},
    ),
    (
        "List exactly 3 things for a hike as points that begin with *. The word water must occur at least 2 times.",
        {
            "detectable_format:number_bullet_lists": {"num_bullets": 3},
            "keywords:frequency": {"relation": "at least", "keyword": "water", "frequency": 2},
        },
    ),
    (
        "Explain in less than 30 words what a library is. Don't use the words book and read.",
        {
            "length_constraints:number_words": {"relation": "less than", "num_words": 30},
            "keywords:forbidden_words": {"forbidden_words": ["book", "read"]},
        },
    ),
    (
        "Write an invitation with at least 2 placeholders such as [date]. The letter e must occur less than 3 times.",
        {
            "detectable_content:number_placeholders": {"num_placeholders": 2},
            "keywords:letter_frequency": {"let_relation": "less than", "letter": "e", "let_frequency": 3},
        },
    ),
    (
        'What do bees do? Answer in German only, and end with the words "Das ist alles."',
        {
            "language:response_language": {"language": "de"},
            "startend:end_checker": {"end_phrase": "Das ist alles."},
        },
    ),
    (
        "Compare wood, stone and glass in 3 paragraphs with the divider *** between them. Highlight at least 2 words *so*.",
        {
            "length_constraints:number_paragraphs": {"num_paragraphs": 3},
            "detectable_format:number_highlighted_sections": {"num_highlights": 2},
        },
    ),
    (
        "Write 3 paragraphs about trains with two line breaks between them. The second must begin with the word however.",
        {
            "length_constraints:nth_paragraph_first_word": {
                "num_paragraphs": 3,
                "first_word": "however",
                "nth_paragraph": 2,
            }
        },
    ),
    (
        "Thank Ms. Green for a parcel in less than 3 sentences. Put double quotation marks around the whole answer.",
        {
            "length_constraints:number_sentences": {"relation": "less than", "num_sentences": 3},
            "startend:quotation": {},
        },
    ),
    (
        "Suggest two different names for a boat, with six asterisks ****** between the two answers.",
        {"combination:two_responses": {}},
    ),
    (
        f"{HEDGE} Repeat the sentence before this one first, then write the note, with a postscript that starts with P.S.",
        {
            "combination:repeat_prompt": {"prompt_to_repeat": HEDGE},
            "detectable_content:postscript": {"postscript_marker": "P.S."},
        },
    ),
    (
        "Write about beans in at least 5 sentences and 2 sections, marked Section 1 and so on. Use at least 3 words in capitals.",
        {
            "detectable_format:multiple_sections": {"section_spliter": "Section", "num_sections": 2},
            "length_constraints:number_sentences": {"relation": "at least", "num_sentences": 5},
            "change_case:capital_word_frequency": {"capital_relation": "at least", "capital_frequency": 3},
        },
    ),
    (
        "Will it snow tomorrow? Choose from: My answer is yes. My answer is no. My answer is maybe.",
        {"detectable_format:constrained_response": {}},
    ),
    (
        "Write a sign for a closed shop without commas, and at the end a postscript that starts with P.P.S",
        {"punctuation:no_comma": {}, "detectable_content:postscript": {"postscript_marker": "P.P.S"}},
    ),
)


def samples() -> list[Sample]:
    """Fifteen requests."""
    rows = [
        {
            "key": key,
            "prompt": prompt,
            "instruction_id_list": list(instructions),
            "kwargs": [dict.fromkeys(ARGUMENTS) | given for given in instructions.values()],
        }
        for key, (prompt, instructions) in enumerate(REQUESTS, 1)
    ]
    return [Sample("google/IFEval", "train", FEATURES, rows)]
