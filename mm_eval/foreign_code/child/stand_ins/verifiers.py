"""lmms-eval's verifiers: what of an answer counts, and whether it is right by a rule or by a judge.

A judge is the one of `--judge`, as for `llm_judge`: its failure is never the 0 of a verifier.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mm_eval.foreign_code.child.stand_ins.llm_judge import Request, ServerConfig, binary_of, get_server
from mm_eval.foreign_code.child.stand_ins.reasoning import TAGS, strip_reasoning_tags


@dataclass
class VerifyResult:
    """A verdict. score: in [0, 1]."""

    score: float
    is_correct: bool
    raw_output: str = ""
    metadata: dict[str, object] = field(default_factory=dict)


def _verdict(right: bool, said: str = "", **about: object) -> VerifyResult:
    return VerifyResult(float(right), right, said, about)


class Verifier:
    """Says whether an answer is right."""

    def verify(self, question: str, prediction: str, ground_truth: str, **kwargs: object) -> VerifyResult:
        raise NotImplementedError

    def __call__(self, question: str, prediction: str, ground_truth: str, **kwargs: object) -> VerifyResult:
        return self.verify(question, prediction, ground_truth, **kwargs)


class Extractor:
    """Takes the answer out of a text."""

    def extract(self, text: str, **kwargs: object) -> str:
        raise NotImplementedError

    def __call__(self, text: str, **kwargs: object) -> str:
        return self.extract(text, **kwargs)


def parse_binary_response(text: str) -> bool:
    """Whether a judge says that an answer is correct, by lmms-eval's rule: for code that reads replies itself."""
    said = text.strip().lower()
    if "incorrect" in said or "not_attempted" in said:
        return False
    return any(word in said for word in ("correct", "yes", "true", "1"))


# ------------------------------------------------------------------ extractors
class StripReasoningExtractor(Extractor):
    def __init__(self, tag_pairs: Sequence[Sequence[str]] | None = None) -> None:
        self.tag_pairs = tag_pairs or TAGS

    def extract(self, text: Any, **kwargs: object) -> str:
        if isinstance(text, str):
            return strip_reasoning_tags(text, self.tag_pairs)
        return "" if text is None else str(text)


class RegexExtractor(Extractor):
    """A group of the first match."""

    def __init__(self, pattern: str, group: int = 1, fallback: str = "", flags: int = 0) -> None:
        self.regex, self.group, self.fallback = re.compile(pattern, flags), group, fallback

    def extract(self, text: str, **kwargs: object) -> str:
        found = self.regex.search(text)
        if found is None:
            return self.fallback
        return str(found[self.group if self.group <= self.regex.groups else 0]).strip()


class MCQExtractor(Extractor):
    """The letter of a choice, by the rule in the tree's own `mcq_extract`."""

    def __init__(self, choices: Sequence[str] | None = None) -> None:
        self.choices = choices

    def extract(self, text: str, **kwargs: object) -> str:
        import importlib

        rule = importlib.import_module("lmms_eval.tasks._task_utils.mcq_extract")
        return str(rule.extract_mcq_answer(text, kwargs.get("choices", self.choices)))


class NumberExtractor(Extractor):
    """What is boxed, else the last number."""

    def __init__(self, fallback: str = "") -> None:
        self.fallback = fallback

    def extract(self, text: str, **kwargs: object) -> str:
        if boxed := re.search(r"\\boxed\{([^}]+)\}", text):
            return boxed[1].strip()
        numbers = re.findall(r"-?\d+(?:,\d{3})*(?:\.\d+)?", text)
        return numbers[-1].replace(",", "") if numbers else self.fallback


class StripExtractor(Extractor):
    """Without the special tokens that end a text."""

    TOKENS = ("</s>", "<|endoftext|>", "<|end_of_sentence|>", "<|im_end|>", "[/INST]")

    def extract(self, text: str, **kwargs: object) -> str:
        for token in self.TOKENS:
            text = text.replace(token, "")
        return text.strip()


# ------------------------------------------------------------------ rules. confident: whether a further verifier is not needed
class ExactMatchVerifier(Verifier):
    def __init__(self, ignore_case: bool = True, strip: bool = True) -> None:
        self.ignore_case, self.strip = ignore_case, strip

    def verify(self, question: str, prediction: str, ground_truth: str, **kwargs: object) -> VerifyResult:
        texts = [text.strip() if self.strip else text for text in (prediction, ground_truth)]
        one, other = [text.lower() if self.ignore_case else text for text in texts]
        return _verdict(one == other, f"exact_match: {one!r} vs {other!r}", confident=one == other)


class ContainsVerifier(Verifier):
    def __init__(self, ignore_case: bool = True) -> None:
        self.ignore_case = ignore_case

    def verify(self, question: str, prediction: str, ground_truth: str, **kwargs: object) -> VerifyResult:
        said, truth = [t.lower() if self.ignore_case else t for t in (prediction, ground_truth)]
        return _verdict(truth in said, f"contains: {truth!r}", confident=truth in said)


class MCQMatchVerifier(Verifier):
    def verify(self, question: str, prediction: str, ground_truth: str, **kwargs: object) -> VerifyResult:
        said, truth = (text.strip().upper().strip("(). ") for text in (prediction, ground_truth))
        is_letter = re.fullmatch("[A-Z]", said) is not None
        return _verdict(said == truth, f"mcq_match: {said!r} vs {truth!r}", confident=is_letter)


class NumericToleranceVerifier(Verifier):
    def __init__(self, rel_tol: float = 1e-3, abs_tol: float = 1e-6) -> None:
        self.rel_tol, self.abs_tol = rel_tol, abs_tol

    @staticmethod
    def _parse_number(text: str) -> float | None:
        text = text.strip().replace(",", "").replace("%", "")
        try:
            return float(text)
        except ValueError:
            numbers = re.findall(r"-?\d+(?:\.\d+)?", text)
            return float(numbers[-1]) if numbers else None

    def verify(self, question: str, prediction: str, ground_truth: str, **kwargs: object) -> VerifyResult:
        said, truth = self._parse_number(prediction), self._parse_number(ground_truth)
        if said is None or truth is None:
            return _verdict(False, f"numeric: {prediction!r} vs {ground_truth!r}", confident=False)
        right = math.isclose(said, truth, rel_tol=self.rel_tol, abs_tol=self.abs_tol)
        return _verdict(right, f"numeric: {said} vs {truth}", confident=True)


class CompositeVerifier(Verifier):
    """The first verifier that is confident, else the last."""

    def __init__(self, verifiers: Sequence[Verifier]) -> None:
        if not verifiers:
            raise ValueError("CompositeVerifier needs at least one verifier")
        self.verifiers = verifiers

    def verify(self, question: str, prediction: str, ground_truth: str, **kwargs: object) -> VerifyResult:
        for verifier in self.verifiers:
            found = verifier.verify(question, prediction, ground_truth, **kwargs)
            if found.metadata.get("confident", True):
                break
        return found


# ------------------------------------------------------------------ judges
class OpenAIVerifier(Verifier):
    """A verdict of the judge: by its own prompt, or by that of `llm_judge`'s binary or comparative way."""

    def __init__(
        self,
        model: str = "gpt-4o-2024-11-20",
        api_type: str | None = None,
        judge_type: str = "binary",
        custom_prompt: str | Callable[..., str] | None = None,
        response_format: str = "binary",
        response_parser: Callable[[str], VerifyResult] | None = None,
        score_range: tuple[float, float] = (0.0, 10.0),
        max_retries: int = 5,
        retry_delay: float = 2.0,
        temperature: float = 0.0,
        max_tokens: int = 1024,
        **kwargs: object,
    ) -> None:
        self.judge_type, self.custom_prompt = judge_type, custom_prompt
        self.response_format, self.response_parser, self.score_range = response_format, response_parser, score_range
        config = ServerConfig(model_name=model, temperature=temperature, max_tokens=max_tokens)
        self._server = get_server(api_type, config)

    def verify(self, question: str, prediction: str, ground_truth: str, **kwargs: Any) -> VerifyResult:
        prompt = self.custom_prompt
        if callable(prompt):
            prompt = prompt(question, prediction, ground_truth, **kwargs)
        elif prompt is not None:
            prompt = prompt.format(question=question, prediction=prediction, ground_truth=ground_truth, **kwargs)
        if prompt is not None:
            return self._asked(prompt, kwargs.get("images"))
        if self.judge_type == "comparative":
            return self._compared(question, prediction, kwargs.get("reference_response", ground_truth), kwargs)
        if self.judge_type != "binary":
            raise ValueError(f"judge_type is {self.judge_type!r}; expected 'binary' or 'comparative'")
        way = kwargs.get("output_format", "0/1")
        found = self._server.evaluate_binary(question, ground_truth, prediction, way)
        return _verdict(bool(found["result"]), found["raw_response"], model=found["model"])

    def _compared(self, question: str, one: str, other: str, kwargs: Mapping[str, Any]) -> VerifyResult:
        found = self._server.evaluate_comparative(question, one, other, images=kwargs.get("images"))
        first, second = found["scores"]
        low, high = self.score_range
        score = max(0.0, min(1.0, (first - low) / (high - low))) if high > low else 0.0
        about = {"score_1": first, "score_2": second, "model": found["model"]}
        return VerifyResult(score, first > second, found["raw_response"], about)

    def _asked(self, prompt: str, images: Any) -> VerifyResult:
        """The verdict in a reply to a prompt of the task's. A reply that has none is asked for again."""
        while True:
            text = self._server.evaluate(Request([{"role": "user", "content": prompt}], images)).content
            if self.response_parser is not None:
                return self.response_parser(text)
            if self.response_format == "score":
                if numbers := re.findall(r"-?\d+(?:\.\d+)?", text):
                    low, high = self.score_range
                    score = (
                        float(float(numbers[0]) >= high) if high == low else (float(numbers[0]) - low) / (high - low)
                    )
                    score = max(0.0, min(1.0, score))
                    return VerifyResult(score, score >= 0.5, text)
            elif self.response_format != "binary":
                raise ValueError(f"response_format is {self.response_format!r}; expected 'binary' or 'score'")
            elif (right := said_by(text)) is not None:
                return _verdict(right, text)


class GeminiVerifier(OpenAIVerifier):
    """The same judge: it is the one of `--judge`, whatever provider the code names."""


def said_by(reply: str) -> bool | None:
    """The verdict of a reply that says one; None for any other.

    >>> said_by("Correct"), said_by("INCORRECT."), said_by("1"), said_by("No, it is 7"), said_by("I see 10 options")
    (True, False, True, False, None)
    """
    for word, right in (("incorrect", False), ("not_attempted", False), ("correct", True)):
        if re.search(rf"\b{word}\b", reply, re.I):
            return right
    found = binary_of(reply)
    if found is None:
        found = binary_of(reply, "yes/no")
    if found is None and (boolean := re.fullmatch(r"\W*(true|false)\W*", reply, re.I)):
        return boolean[1].lower() == "true"
    return None if found is None else bool(found)


# ------------------------------------------------------------------ both
class VerificationPipeline:
    """Extractors one after another, then a verifier."""

    def __init__(self, extractors: Sequence[Extractor] | None = None, verifier: Verifier | None = None) -> None:
        if verifier is None:
            raise ValueError("VerificationPipeline needs a verifier")
        self.extractors, self.verifier = list(extractors or ()), verifier

    def __call__(self, question: str, prediction: str, ground_truth: str, **kwargs: object) -> VerifyResult:
        said = prediction
        for extractor in self.extractors:
            said = extractor(said, **kwargs)
        found = self.verifier.verify(question, said, ground_truth, **kwargs)
        found.metadata |= {"raw_prediction": prediction, "extracted_prediction": said}
        return found

    verify = __call__


EXTRACTOR_REGISTRY: dict[str, type[Extractor]] = {
    "strip_reasoning": StripReasoningExtractor,
    "regex": RegexExtractor,
    "mcq": MCQExtractor,
    "number": NumberExtractor,
    "strip": StripExtractor,
}
VERIFIER_REGISTRY: dict[str, type[Verifier]] = {
    "exact_match": ExactMatchVerifier,
    "contains": ContainsVerifier,
    "mcq_match": MCQMatchVerifier,
    "numeric": NumericToleranceVerifier,
    "composite": CompositeVerifier,
    "openai": OpenAIVerifier,
    "gemini": GeminiVerifier,
}


def build_verification_pipeline(config: Mapping[str, Any]) -> VerificationPipeline:
    """A pipeline from a mapping with `extractors` and `verifier`, each with its `type` and its options."""

    def made(known: Mapping[str, Any], stated: Mapping[str, Any]) -> Any:
        options = dict(stated)
        kind = options.pop("type")
        if kind not in known:
            raise KeyError(f"the type {kind!r} is not known; known: {', '.join(sorted(known))}")
        if kind == "composite":
            options["verifiers"] = [made(VERIFIER_REGISTRY, each) for each in options.get("verifiers", ())]
        return known[kind](**options)

    extractors = [made(EXTRACTOR_REGISTRY, each) for each in config.get("extractors", ())]
    return VerificationPipeline(extractors, made(VERIFIER_REGISTRY, config.get("verifier", {})))
