"""The base classes of filters that task files derive theirs from, and those that they make by hand."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mm_eval.foreign_code.child.stand_ins.reasoning import TAGS, strip_reasoning_tags
from mm_eval.foreign_code.child.stand_ins.registry import register_filter

NUMBER_AT_THE_END = r"#### (\-?[0-9\.\,]+)"


class Filter:
    """A step between answers and scores: `apply` gives, for each doc, its answers after this step."""

    def __init__(self, *args: object, **kwargs: object) -> None: ...

    def apply(self, resps: object, docs: object) -> Any:
        return resps


class EachAnswer(Filter):
    """A filter that changes one answer at a time, by `change`."""

    def change(self, answer: object) -> object:
        return answer

    def apply(self, resps: Any, docs: object) -> Any:
        return [[self.change(answer) for answer in answers] for answers in resps]


@dataclass
class FilterEnsemble:
    """Filters one after another, whose results the instances get under the name."""

    name: str
    filters: list[Any]

    def apply(self, instances: Sequence[Any], docs: object = None) -> None:
        found: Iterable[Any] = [instance.resps for instance in instances]
        for step in self.filters:
            found = (step() if isinstance(step, type) else step).apply(found, docs)
        for instance, answer in zip(instances, found, strict=False):
            instance.filtered_resps[self.name] = answer


@register_filter("remove_whitespace")
class WhitespaceFilter(EachAnswer):
    """Without one space at the beginning."""

    def change(self, answer: Any) -> object:
        return answer[1:] if answer.startswith(" ") else answer


@register_filter("lowercase")
class LowercaseFilter(EachAnswer):
    def change(self, answer: Any) -> object:
        return answer.lower()


@register_filter("uppercase")
class UppercaseFilter(EachAnswer):
    def change(self, answer: Any) -> object:
        return answer.upper()


@register_filter("map")
class MapFilter(EachAnswer):
    """What a mapping has for an answer, else the default."""

    def __init__(self, mapping_dict: Mapping[object, object] | None = None, default_value: object = None) -> None:
        self.mapping_dict = {} if mapping_dict is None else mapping_dict
        if not isinstance(self.mapping_dict, Mapping):
            raise AssertionError("mapping_dict must be a mapping")
        self.default_value = default_value

    def change(self, answer: object) -> object:
        return self.mapping_dict.get(answer, self.default_value)


@register_filter("strip_thinking")
class StripThinkingFilter(EachAnswer):
    def __init__(self, tag_pairs: Sequence[Sequence[str]] | None = None) -> None:
        self.tag_pairs = tag_pairs or TAGS

    def change(self, answer: object) -> object:
        return strip_reasoning_tags(answer, self.tag_pairs) if isinstance(answer, str) else answer


@register_filter("regex")
class RegexFilter(EachAnswer):
    """The match that `group_select` numbers, of all in an answer; `fallback` if there is none."""

    def __init__(
        self, regex_pattern: str = NUMBER_AT_THE_END, group_select: int = 0, fallback: str = "[invalid]"
    ) -> None:
        self.regex_pattern, self.regex = regex_pattern, re.compile(regex_pattern)
        self.group_select, self.fallback = group_select, fallback

    def change(self, answer: Any) -> object:
        found = selected_match(self.regex, answer, self.group_select)
        return self.fallback if found is None else found


def selected_match(regex: re.Pattern[str], text: str, number: int) -> object:
    """The match of this number, stripped, of several groups the first that is not empty; None if nothing matches."""
    matches = regex.findall(text)
    if not matches:
        return None
    found = matches[number]
    return ([part for part in found if part][0] if isinstance(found, tuple) else found).strip()


class ExtendedRegexFilter(RegexFilter):
    """What task files derive their filters of choices from: a pattern, and what is ignored when options are compared."""

    punct_tbl = dict.fromkeys(i for i in range(sys.maxunicode) if unicodedata.category(chr(i)).startswith("P"))

    def __init__(
        self,
        regex_pattern: str = NUMBER_AT_THE_END,
        group_select: int = 0,
        fallback: str = "[invalid]",
        ignore_case: bool = False,
        ignore_punctuation: bool = False,
        regexes_to_ignore: Sequence[str] | None = None,
    ) -> None:
        super().__init__(regex_pattern, group_select, fallback)
        self.ignore_case, self.ignore_punctuation = ignore_case, ignore_punctuation
        self.regexes_to_ignore = regexes_to_ignore

    def filter_ignores(self, st: str) -> str:
        """A text without what is ignored."""
        for pattern in self.regexes_to_ignore or ():
            st = re.sub(pattern, "", st)
        st = st.lower() if self.ignore_case else st
        return st.translate(self.punct_tbl) if self.ignore_punctuation else st

    def find_match(self, regex: re.Pattern[str], resp: str, convert_dict: Mapping[Any, Any] | None = None) -> object:
        """The selected match, and what the mapping has for it; an empty list if nothing matches."""
        found = selected_match(regex, resp, self.group_select)
        if found is None:
            return []
        return (convert_dict or {}).get(found, found) if found else found


@register_filter("multi_choice_regex")
class MultiChoiceRegexFilter(ExtendedRegexFilter):
    """The letter of an option: by the pattern, else by the option's text, else after a colon. The doc has `choices`."""

    def apply(self, resps: Any, docs: Any) -> Any:
        found = []
        for answers, doc in zip(resps, docs, strict=False):
            letters = {chr(ord("A") + i): f"({chr(ord('A') + i)})" for i in range(len(doc["choices"]))}
            texts = {
                self.filter_ignores(text.strip()): letters[chr(ord("A") + i)] for i, text in enumerate(doc["choices"])
            }
            by_text = re.compile("|".join(re.escape(text) for text in texts))
            by_letter = re.compile(rf":[\s]*({'|'.join(letters)})")
            found.append(
                [
                    self.find_match(self.regex, answer)
                    or self.find_match(by_text, self.filter_ignores(answer), texts)
                    or self.find_match(by_letter, answer, letters)
                    or self.fallback
                    for answer in answers
                ]
            )
        return found


class SimpleMultiChoiceRegexFilter(ExtendedRegexFilter):
    """The letter whose option, as the question lists it ("A. text"), is found in the answer without its punctuation."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)

    def apply(self, resps: Any, docs: Any) -> Any:
        found = []
        for answers, doc in zip(resps, docs, strict=False):
            options = [text.strip() for _, text in re.findall(r"\b([A-Z])\.\s+([^\n]*)", doc["question"])]
            letters = {text: chr(ord("A") + number) for number, text in enumerate(options)}
            pattern = re.compile("|".join(map(re.escape, options)))
            read = []
            for answer in answers:
                plain = re.sub(r"[^\w\s]", "", answer).strip()
                match = pattern.search(plain)
                read.append(letters[match[0]] if match and match[0] in letters else plain)
            found.append(read[0])
        return found


@register_filter("take_first")
class TakeFirstFilter(Filter):
    def apply(self, resps: Any, docs: object) -> Any:
        return [answers[0] if answers else "" for answers in resps]


@register_filter("take_first_k")
class TakeKFilter(Filter):
    def __init__(self, **kwargs: object) -> None:
        self.k = kwargs.pop("k")
        super().__init__(**kwargs)

    def apply(self, resps: Any, docs: object) -> Any:
        return [answers[: self.k] for answers in resps]


@register_filter("majority_vote")
class MajorityVoteFilter(Filter):
    def apply(self, resps: Any, docs: object) -> Any:
        return [[Counter(answers).most_common(1)[0][0]] for answers in resps]


def build_filter_ensemble(filter_name: str, components: Iterable[Any]) -> FilterEnsemble:
    """Steps by their names or classes, each with its options."""
    from mm_eval.foreign_code.child.stand_ins.registry import get_filter

    return FilterEnsemble(filter_name, [get_filter(function)(**(kwargs or {})) for function, kwargs in components])
