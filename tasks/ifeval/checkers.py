"""IFEval's 25 instructions, each as a function (response, arguments) -> whether the response follows it.

Source: Zhou et al. 2023, arXiv:2311.07911, table 1 and appendix; details as in the published evaluation, whose verdicts these
functions reproduce (google-research/google-research:instruction_following_eval).
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from .sentences import count_sentences
from .words import count_capital_words, count_words

Arguments = Mapping[str, Any]


def compare(count: int, relation: str, bound: int) -> bool:
    """Whether a count is "less than" or "at least" a bound."""
    return count < bound if relation == "less than" else count >= bound


def count_matches(pattern: str, text: str, flags: int = 0) -> int:
    """How often a pattern occurs."""
    return sum(1 for _ in re.finditer(pattern, text, flags))


def language_of(text: str) -> str | None:
    """The language's code, the same in every run; None where the text has no letters to tell it by."""
    from langdetect import LangDetectException

    detector = detectors().create()
    detector.append(text)
    try:
        return str(detector.detect())
    except LangDetectException:
        return None


@cache
def detectors() -> Any:
    """What makes detectors that draw the same each time: a factory of our own, since the package's is everybody's."""
    from langdetect.detector_factory import PROFILES_DIRECTORY, DetectorFactory

    made = DetectorFactory()
    made.load_profile(PROFILES_DIRECTORY)
    made.set_seed(0)
    return made


def keywords_exist(response: str, wanted: Arguments) -> bool:
    """Every keyword occurs, also within a word."""
    return all(re.search(keyword, response, re.IGNORECASE) for keyword in wanted["keywords"])


def keyword_frequency(response: str, wanted: Arguments) -> bool:
    """A keyword occurs often, or seldom, enough."""
    count = count_matches(wanted["keyword"].strip(), response, re.IGNORECASE)
    return compare(count, wanted["relation"], wanted["frequency"])


def no_forbidden_words(response: str, wanted: Arguments) -> bool:
    """None of the words occurs as a word."""
    return not any(re.search(rf"\b{word}\b", response, re.IGNORECASE) for word in wanted["forbidden_words"])


def letter_frequency(response: str, wanted: Arguments) -> bool:
    """A letter, in either case, occurs often, or seldom, enough."""
    count = response.lower().count(wanted["letter"].strip().lower())
    return compare(count, wanted["let_relation"], wanted["let_frequency"])


def response_language(response: str, wanted: Arguments) -> bool:
    """The whole response is in a language, or in none that can be told."""
    return language_of(response) in (wanted["language"], None)


def number_paragraphs(response: str, wanted: Arguments) -> bool:
    """Dividers *** make exactly so many paragraphs; only the first and the last part may be empty."""
    parts = [part.strip() for part in re.split(r"\s?\*\*\*\s?", response)]
    return all(parts[1:-1]) and sum(map(bool, parts)) == int(wanted["num_paragraphs"])


def number_words(response: str, wanted: Arguments) -> bool:
    """Enough, or few enough, words."""
    return compare(count_words(response), wanted["relation"], wanted["num_words"])


def number_sentences(response: str, wanted: Arguments) -> bool:
    """Enough, or few enough, sentences."""
    return compare(count_sentences(response), wanted["relation"], wanted["num_sentences"])


def nth_paragraph_first_word(response: str, wanted: Arguments) -> bool:
    """Two line breaks divide exactly so many paragraphs, and the n-th begins with a word."""
    parts = [part.strip() for part in response.split("\n\n")]
    full, number = sum(map(bool, parts)), wanted["nth_paragraph"]
    if full != wanted["num_paragraphs"] or number > full or not parts[number - 1]:
        return False
    first = parts[number - 1].split()[0].lstrip("'").lstrip('"')
    return re.split(r"[.,?!'\"]", first.lower())[0] == str(wanted["first_word"]).strip().lower()


def number_placeholders(response: str, wanted: Arguments) -> bool:
    """At least so many placeholders such as [address]."""
    return count_matches(r"\[.*?\]", response) >= int(wanted["num_placeholders"])


def postscript(response: str, wanted: Arguments) -> bool:
    """A postscript, whose marker may have blanks."""
    marker = wanted["postscript_marker"].strip()
    known = {"P.P.S": r"p\.\s?p\.\s?s", "P.S.": r"p\.\s?s\."}
    return re.search(known.get(marker, marker.lower()), response.lower()) is not None


def number_bullets(response: str, wanted: Arguments) -> bool:
    """Exactly so many lines that begin with * or -."""
    stars = count_matches(r"^[^\S\n]*\*[^*].*$", response, re.MULTILINE)
    dashes = count_matches(r"^[^\S\n]*-", response, re.MULTILINE)
    return stars + dashes == int(wanted["num_bullets"])


def constrained_response(response: str, wanted: Arguments) -> bool:
    """One of the three answers occurs."""
    return any(f"My answer is {answer}." in response for answer in ("yes", "no", "maybe"))


def number_highlights(response: str, wanted: Arguments) -> bool:
    """At least so many parts such as *this* or **this**; a double mark counts in both ways."""
    single = [part.strip("*") for part in re.findall(r"\*[^\n*]*\*", response)]
    double = [part[2:-2] for part in re.findall(r"\*\*[^\n*]*\*\*", response)]
    return sum(bool(part.strip()) for part in single + double) >= int(wanted["num_highlights"])


def multiple_sections(response: str, wanted: Arguments) -> bool:
    """At least so many headings such as "Section 1"."""
    return count_matches(rf"{wanted['section_spliter'].strip()}\s?\d+", response) >= int(wanted["num_sections"])


def json_format(response: str, wanted: Arguments) -> bool:
    """The whole response is JSON, within a code fence or not."""
    text = response.strip()
    for fence in ("```json", "```Json", "```JSON", "```"):
        text = text.removeprefix(fence)
    try:
        json.loads(text.removesuffix("```").strip())
    except (ValueError, RecursionError):
        return False
    return True


def title(response: str, wanted: Arguments) -> bool:
    """A title in double angular brackets."""
    return any(found.lstrip("<").rstrip(">").strip() for found in re.findall(r"<<[^\n]+>>", response))


def two_responses(response: str, wanted: Arguments) -> bool:
    """Two different answers with six asterisks between them; nothing else may be empty but the first and the last part."""
    parts = [part.strip() for part in response.split("******")]
    answers = [part for part in parts if part]
    return all(parts[1:-1]) and len(answers) == 2 and answers[0] != answers[1]


def repeat_prompt(response: str, wanted: Arguments) -> bool:
    """The request comes first, word for word."""
    return response.strip().lower().startswith(wanted["prompt_to_repeat"].strip().lower())


def end_phrase(response: str, wanted: Arguments) -> bool:
    """A phrase ends the response; quotation marks around it don't count."""
    return response.strip().strip('"').lower().endswith(wanted["end_phrase"].strip().lower())


def capital_word_frequency(response: str, wanted: Arguments) -> bool:
    """Enough, or few enough, words in capital letters."""
    return compare(count_capital_words(response), wanted["capital_relation"], wanted["capital_frequency"])


def english_capital(response: str, wanted: Arguments) -> bool:
    """English in capital letters only."""
    return response.isupper() and language_of(response) in ("en", None)


def english_lowercase(response: str, wanted: Arguments) -> bool:
    """English in lower-case letters only."""
    return response.islower() and language_of(response) in ("en", None)


def no_comma(response: str, wanted: Arguments) -> bool:
    """No comma."""
    return "," not in response


def quotation(response: str, wanted: Arguments) -> bool:
    """Double quotation marks around the whole response."""
    text = response.strip()
    return len(text) > 1 and text[0] == text[-1] == '"'


CHECKERS: dict[str, Callable[[str, Arguments], bool]] = {
    "keywords:existence": keywords_exist,
    "keywords:frequency": keyword_frequency,
    "keywords:forbidden_words": no_forbidden_words,
    "keywords:letter_frequency": letter_frequency,
    "language:response_language": response_language,
    "length_constraints:number_paragraphs": number_paragraphs,
    "length_constraints:number_words": number_words,
    "length_constraints:number_sentences": number_sentences,
    "length_constraints:nth_paragraph_first_word": nth_paragraph_first_word,
    "detectable_content:number_placeholders": number_placeholders,
    "detectable_content:postscript": postscript,
    "detectable_format:number_bullet_lists": number_bullets,
    "detectable_format:constrained_response": constrained_response,
    "detectable_format:number_highlighted_sections": number_highlights,
    "detectable_format:multiple_sections": multiple_sections,
    "detectable_format:json_format": json_format,
    "detectable_format:title": title,
    "combination:two_responses": two_responses,
    "combination:repeat_prompt": repeat_prompt,
    "startend:end_checker": end_phrase,
    "startend:quotation": quotation,
    "change_case:capital_word_frequency": capital_word_frequency,
    "change_case:english_capital": english_capital,
    "change_case:english_lowercase": english_lowercase,
    "punctuation:no_comma": no_comma,
}
