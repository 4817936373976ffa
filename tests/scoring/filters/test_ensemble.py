"""FilterEnsemble: repeats together, several pipelines on the same answers, one doc's error alone."""

from functools import partial

import pytest

from mm_eval.scoring.filters import (
    Filter,
    FilterEnsemble,
    build_filter_ensemble,
    extraction,
    register_filter,
    transformation,
)
from mm_eval.values.errors import ScoringError
from mm_eval.values.types import Instance


def asked(doc_id, answers, **kwargs):
    kwargs.setdefault("doc", {"id": doc_id})
    return [
        Instance("generate_until", "t", doc_id, repeat=i, resps=[answer], **kwargs) for i, answer in enumerate(answers)
    ]


def test_repeats_are_joined_in_order_and_written_to_the_first():
    instances = asked(7, ["a", "b"]) + asked(3, ["c"])
    FilterEnsemble("all", [transformation.NoopFilter]).apply(instances[::-1])
    assert [instance.filtered_resps for instance in instances] == [{"all": ["a", "b"]}, {}, {"all": ["c"]}]


def test_an_instance_that_holds_several_answers_works_the_same():
    instance = Instance("generate_until", "t", 0, {}, resps=["1", "2", "2"])
    build_filter_ensemble("maj", ["majority_vote"]).apply([instance])
    assert instance.filtered_resps == {"maj": ["2"]}


def test_several_pipelines_read_the_same_answers():
    instances = asked(0, ["is 4", "is 5", "is 5"])
    number = ("regex", {"regex_pattern": r"\d"})
    for name, steps in {"first": [number, "take_first"], "maj": [number, "majority_vote"]}.items():
        build_filter_ensemble(name, steps).apply(instances)
    assert instances[0].filtered_resps == {"first": ["4"], "maj": ["5"]}


def test_factories_filters_and_classes_are_accepted_and_the_filter_may_be_lazy():
    class Lazy:
        def apply(self, resps, docs):
            for answers, doc in zip(resps, docs, strict=True):
                yield (f"{answer}{doc['id']}" for answer in answers)

    steps = [partial(extraction.RegexFilter, regex_pattern=r"(\w)"), transformation.TakeFirstFilter, Lazy()]
    instances = asked(0, ["x"]) + asked(1, ["y"])
    FilterEnsemble("mine", steps).apply(instances)
    assert [instance.filtered_resps["mine"] for instance in instances] == [["x0"], ["y1"]]
    assert isinstance(Lazy(), Filter)


def test_fault_one_docs_error_loses_only_that_doc():
    def strict(resps, docs):
        return [[answer.upper() for answer in answers] for answers in resps]

    instances = asked(0, ["a"]) + asked(1, [None]) + asked(2, ["c"])
    ensemble = build_filter_ensemble("x", [strict])
    ensemble.apply(instances)
    assert [instance.filtered_resps for instance in instances] == [{"x": ["A"]}, {}, {"x": ["C"]}]
    assert list(ensemble.errors) == [1]
    assert isinstance(ensemble.errors[1], ScoringError) and "t, doc 1" in str(ensemble.errors[1])
    ensemble.apply(instances[:1])
    assert ensemble.errors == {}


def test_a_filter_that_changes_the_number_of_docs_fails_them_all_and_says_so():
    ensemble = build_filter_ensemble("x", [lambda resps, docs: list(resps)[:1]])
    instances = asked(0, ["a"]) + asked(1, ["b"])
    ensemble.apply(instances)
    assert set(ensemble.errors) == {0, 1}
    assert "1 document for 2" in str(ensemble.errors[0])


def test_a_registered_filter_is_found_by_name_and_names_its_answers():
    @register_filter("first_digit")
    class FirstDigit(Filter):
        """Finds the first digit."""

        def apply(self, resps, docs):
            return [[next((c for c in answer if c.isdigit()), None) for answer in answers] for answers in resps]

    ensemble = build_filter_ensemble("x", ["first_digit", "take_first"])
    assert ensemble.chain([["a1"], ["b"]], [{}, {}]) == [["1"], [None]]
    assert ensemble.rules(["1", None]) == ("FirstDigit", "unparsed")
    assert ensemble.rules(["[invalid]"]) == ("unparsed",)


@pytest.mark.parametrize("answer", ["[invalid]", "x"])
def test_a_pipeline_without_an_extractor_takes_answers_as_they_are(answer):
    assert build_filter_ensemble("x", ["noop", "lowercase"]).rules([answer]) == ("whole_answer",)
