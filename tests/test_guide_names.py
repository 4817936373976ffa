"""Names and habits of lm-eval's guides that code written after them has."""

import importlib
import subprocess
import sys

import pytest

import mm_eval


def choices(*pairs, stated=False):
    from mm_eval.types import LLInstance

    return [
        LLInstance("loglikelihood", "t", 0, {}, "Q", text, choice=n if stated else 0, target=0, resps=[(ll, False)])
        for n, (text, ll) in enumerate(pairs)
    ]


def test_each_kind_has_a_function_that_registers_and_one_that_gets():
    from mm_eval import filters, registry, scorers

    assert registry.get_filter("regex") is filters.get_filter("regex")
    assert registry.get_scorer("first_token") is scorers.get_scorer("first_token") is scorers.FirstTokenScorer
    assert registry.get_metric("exact_match").name == "exact_match" and registry.get_model("dummy").__name__ == "Dummy"
    assert registry.get_aggregation("mean")([1, 2]) == 1.5
    assert registry.get_reduction("take_first")("x", [1, 2]) == 1


def test_task_manager_stands_beside_the_tasks_and_gives_a_mapping():
    from mm_eval.tasks import TaskManager

    loaded = TaskManager().load(["mme"])
    assert set(dict(loaded)) == {"tasks", "groups", "group_map", "roots"} and list(loaded["tasks"]) == ["mme"]
    with pytest.raises(AttributeError, match="no attribute 'get_task_dict'"):
        getattr(mm_eval.tasks, "get_" + "task_dict")


def test_a_filter_may_say_what_its_answers_are():
    from mm_eval.filters import Filter

    class Lower(Filter[str]):
        def apply(self, resps, docs):
            return [[text.lower() for text in texts] for texts in resps]

    assert isinstance(Lower(), Filter) and list(Lower().apply([["A"]], [{}])) == [["a"]]


def test_filters_are_a_package_with_a_module_for_each_kind():
    from mm_eval import filters
    from mm_eval.filters.custom import CustomFilter
    from mm_eval.filters.extraction import RegexFilter
    from mm_eval.filters.selection import MajorityVoteFilter, TakeFirstFilter, TakeFirstKFilter

    modules = {"custom", "extraction", "selection", "transformation"}
    assert modules < set(filters.__all__) and all(getattr(filters, name) is not None for name in filters.__all__)
    for name, kind in (
        ("custom", CustomFilter),
        ("regex", RegexFilter),
        ("take_first", TakeFirstFilter),
        ("take_first_k", TakeFirstKFilter),
        ("majority_vote", MajorityVoteFilter),
    ):
        assert filters.get_filter(name) is kind
    assert filters.extraction is importlib.import_module("mm_eval.filters.extraction")


def test_the_parts_of_metrics_and_scorers_are_what_the_guides_say():
    from mm_eval.metrics import Metric
    from mm_eval.scorers import RegexExtractionScorer, build_scorer

    assert Metric("x", len).output_type == {"multiple_choice"} and isinstance(Metric("x", len).output_type, set)
    assert Metric("x", len, output_type="generate_until").output_type == {"generate_until"}
    assert RegexExtractionScorer.default_filter_cfg == [{"function": "regex"}]
    scorer = build_scorer(None, "generate_until", {"type": "regex", "regex_pattern": "(b)"})
    assert scorer.filter.chain([["abc"]], [{}]) == [["b"]]


def test_a_wrong_value_is_a_value_error_with_the_same_sentence():
    from mm_eval.tasks import TaskManager

    from mm_eval.errors import ConfigError
    from mm_eval.metrics import Metric

    for wrong in (
        lambda: Metric("", len),
        lambda: Metric("x", len).aggregate([1]),
        lambda: TaskManager().load(["no_such_task"]),
        lambda: mm_eval.registry.get_filter("regexx"),
    ):
        with pytest.raises(ValueError) as raised:
            wrong()
        assert isinstance(raised.value, ConfigError)


def test_a_mistake_in_a_metrics_argument_keeps_its_own_sentence():
    """Where ValueError of a library is put into other words, an error of ours is not."""
    from mm_eval.metrics import Metric

    with pytest.raises(ValueError, match="^f1: unknown average"):
        Metric.from_dict({"metric": "f1", "average": "odd"}, "multiple_choice")


@pytest.mark.parametrize("stated", [False, True])
def test_instances_without_a_choice_are_choices_and_not_repeats(stated):
    from mm_eval.scorers import build_scorer

    scorer = build_scorer({"metric_list": [{"metric": "acc"}]}, "multiple_choice")
    given = choices((" a", -1.0), (" b", -2.0), stated=stated)
    scorer.run(given[::-1] if stated else given)  # a run's instances are sorted by the choice that they state
    assert scorer.aggregate() == ({"acc,none": 1.0, "acc_stderr,none": "N/A"}, 1)


def test_a_scorer_with_an_aggregate_of_its_own_may_pass_on_the_mark_of_a_missing_error():
    from mm_eval.scorers import GenScorer
    from mm_eval.types import GenInstance

    class Own(GenScorer):
        def aggregate(self, *args, **kwargs):
            return super().aggregate(*args, **kwargs)

    scorer = Own.from_dict({"metric_list": [{"metric": "exact_match"}]}, output_type="generate_until")
    scorer.run([GenInstance("generate_until", "t", 0, {}, target="a", resps=["a"])])
    assert [number.stderr for number in scorer.results(scorer.reduced_docs, 10)] == [None]


ASKED = """
task: asked
dataset_path: json
dataset_kwargs: {data_files: {test: docs.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: q
doc_to_target: a
metric_list: [{metric: exact_match}]
"""


def test_evaluate_takes_what_the_guide_gives_it(tmp_path):
    """Arguments as text, a task manager, an option that does nothing here, an object whose class has an __init__ of its own."""
    from mm_eval import Answer, Model, TaskManager, evaluate

    class Own(Model):
        def __init__(self, word, batch_size=1):
            super().__init__()
            self.word, self.asked = word, []

        def generate(self, instances):
            for instance in instances:
                self.asked.append((instance.args[1], self.settings.seed))
                yield instance, Answer(self.word)

    tasks = tmp_path / "tasks"
    tasks.mkdir()
    (tasks / "asked.yaml").write_text(ASKED)
    (tasks / "docs.jsonl").write_text('{"q": "Q", "a": "yes"}\n')
    given = {"task_manager": TaskManager(tasks), "output_path": str(tmp_path / "run"), "report": False, "seed": 5}
    model = Own("yes", batch_size=16)
    stops = 'until=["\\n\\n"],max_gen_toks=8'
    results = evaluate(["asked"], model, gen_kwargs=stops, log_samples=True, write_out=False, **given)
    assert results["asked"]["exact_match"].value == 1
    assert model.asked == [({"until": ["\n\n"], "max_new_tokens": 8}, 5)]
    assert [note.split(":")[0] for note in results.report.notes if note.startswith(("log_s", "write_"))] == [
        "log_samples"
    ]
    assert evaluate("asked", "dummy", "", **{**given, "output_path": str(tmp_path / "other")})["asked"].n == 1


def test_arguments_of_simple_evaluate_are_read_or_are_one_note(tmp_path):
    given = {"random_seed": 0, "numpy_random_seed": 1234, "torch_random_seed": 1234, "fewshot_random_seed": 1234}
    none = {"evaluation_tracker": object(), "verbosity": "INFO", "cli_args": None, "rewrite_requests_cache": True}
    options = {"sample": True, "limit": 1, "report": False, "output_path": str(tmp_path / "run")}
    results = mm_eval.evaluate(
        "mme", "dummy", cache_requests=True, delete_requests_cache=False, **given, **none, **options
    )
    assert results.raw["run"]["seed"] == 1234
    notes = "\n".join(results.report.notes)
    assert "a run has one seed, 1234; random_seed=0 is not used" in notes and "cli_args" not in notes
    for name in ("evaluation_tracker", "verbosity", "cache_requests", "rewrite_requests_cache"):
        assert notes.count(f"{name}: ") == 1 or name == "cache_requests"


def test_lm_evals_name_of_a_method_is_told_with_ours(tmp_path):
    class Theirs(mm_eval.Model):
        def generate_until(self, requests):
            return ["yes"] * len(requests)

    with pytest.raises(mm_eval.errors.ConfigError, match="The method is `generate` here"):
        mm_eval.evaluate("mme", Theirs(), sample=True, limit=1, output_path=str(tmp_path / "run"))


def test_a_list_of_answers_is_told_that_pairs_are_needed(tmp_path):
    class Theirs(mm_eval.Model):
        def generate(self, requests):
            return ["yes" for _ in requests]

    results = mm_eval.evaluate("mme", Theirs(), sample=True, limit=1, report=False, output_path=str(tmp_path / "run"))
    assert "Theirs.generate gave 'yes'; each thing that it yields is a pair" in str(results.table())


def test_what_evaluate_can_not_take_from_the_guide_is_one_sentence(tmp_path):
    from mm_eval import TaskManager, evaluate
    from mm_eval.errors import ConfigError

    (tmp_path / "more").mkdir()
    for given, said in (
        ({"task_manager": TaskManager([tmp_path, tmp_path / "more"])}, "one folder of tasks"),
        ({"task_manager": TaskManager(tmp_path, metadata={"x": 1}), "metadata": {"x": 2}}, "metadata={...}"),
        ({"decontamination_ngrams_path": "x"}, "there is no decontamination"),
        ({"model_args": "pretrained"}, "name=value is needed"),
    ):
        with pytest.raises(ConfigError, match=said):
            evaluate("mme", "dummy", **given)


def test_a_task_manager_has_the_methods_of_the_guides(tmp_path):
    from mm_eval import TaskManager

    (tmp_path / "own.yaml").write_text("task: own\ndataset_path: json\ntest_split: test\ndoc_to_text: q\ntag: few\n")
    (tmp_path / "both.yaml").write_text("group: both\ntask: [own, {task: own, num_fewshot: 2, task_alias: two}]\n")
    manager = TaskManager("INFO", include_defaults=False, metadata={"max_seq_lengths": [4096]}, model_name="x")
    assert manager.all_tasks == [] and TaskManager(verbosity="DEBUG", include_path=tmp_path).include_path == [tmp_path]
    manager = TaskManager(include_path=tmp_path, include_defaults=False, metadata={"max_seq_lengths": [4096]})
    assert manager.all_subtasks == manager.all_tasks == ["own"]
    assert manager.match_tasks(["o*", "both", "nothing"]) == ["both", "own"] and manager.match_tasks("few") == ["few"]
    assert [line for line in manager.list_all_tasks(list_groups=False).splitlines() if line.startswith("| own |")]
    assert "both" not in manager.list_all_tasks(list_groups=False) and "| both |" in manager.list_all_tasks()
    assert manager.load_task_or_group("own")["own"].metadata == {"max_seq_lengths": [4096]}
    loaded = manager.load_task_or_group(["both"])
    assert sorted(config.num_fewshot for config in loaded["both"].values()) == [0, 2]


def test_dir_shows_what_is_public():
    assert set(mm_eval.__all__) < set(dir(mm_eval)) and "importlib" not in dir(mm_eval)
    assert all(getattr(mm_eval, name) is not None for name in dir(mm_eval))
    importlib.import_module("mm_eval.metrics.metric")
    assert callable(mm_eval.metrics.metric), "the file took the name of the function"
    metrics = set(dir(mm_eval.metrics))
    assert {"METRICS", "Metric", "metric", "mean", "Bleu", "acc_norm", "anls", "standard_error"} < metrics
    assert {"LLResults", "smooth", "StandardError", "math_equal", "register_metric"} < metrics
    assert not {"Any", "Callable", "cast"} & metrics


@pytest.mark.full
def test_public_modules_are_attributes_after_one_import() -> None:
    said = """
import mm_eval, sys
print('torch' in sys.modules, mm_eval.training.EvalCallback.__name__, mm_eval.tasks.TaskManager.__name__)
"""
    ran = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "EvalCallback", "TaskManager"]
    assert dir(mm_eval.training) == ["EvalCallback"]
