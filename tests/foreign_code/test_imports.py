"""What task code of other suites imports is there without these suites: by stand-ins, by its own tree, or with one sentence."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mm_eval.config.functions import FunctionRef
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.values.errors import ConfigError, ScoringError

Load = Callable[..., Any]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def loaded(name: str, **files: str) -> Any:
        for file, text in files.items():
            path = tmp_path.joinpath(*file.split("__")).with_suffix(".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        folder, _, function = name.rpartition("/")
        return FunctionRef(function, tmp_path / folder / "t.yaml", 1).resolve(FOREIGN_CODE)

    return loaded


PRIVATE = """
import os
from loguru import logger as eval_logger
import lmms_eval.tasks._task_utils.file_utils as file_utils
from lmms_eval import utils as lmms_utils
from lmms_eval.api.instance import Instance
from lmms_eval.api.metrics import levenshtein_distance
from lmms_eval.api.registry import register_aggregation, register_metric
from lmms_eval.filters.extraction import ExtendedRegexFilter
from lmms_eval.filters.transformation import MapFilter
from lmms_eval.models.simple.qwen import Qwen
from lmms_eval.tasks._task_utils.file_utils import generate_submission_file
from lmms_eval.tasks.bench.rules import right
from lmms_eval.utils import eval_logger as other_logger, sanitize_model_name

@register_aggregation("middle")
def middle(values):
    return sorted(values)[len(values) // 2]

@register_metric(metric="near", higher_is_better=True, output_type="generate_until", aggregation="mean")
def near(items):
    return items

class Upper(ExtendedRegexFilter):
    def apply(self, resps, docs):
        return [[self.find_match(self.regex, self.filter_ignores(each)) or self.fallback for each in r] for r in resps]

def process_results(doc, results):
    eval_logger.info("{} of {}", 1, doc)
    other_logger.bind(a=1).opt(depth=1).debug(f"{doc}")
    return {"acc": right(doc["answer"], results[0]), "far": levenshtein_distance(doc["answer"], results[0]),
            "name": sanitize_model_name("a/b/c:d"), "folder": lmms_utils.resolve_cache_dir("x", base_dir="/y"),
            "args": Instance("generate_until", doc, ("q",), 0).args}

def aggregate(values, args):
    path = generate_submission_file("out.json", args)
    open(path, "w").write("{}")
    return sum(values) / len(values)

def warns(doc):
    eval_logger.warning("no answer in {}", doc)

def uses_the_model(doc):
    return Qwen().ask(doc)
"""


def test_a_private_task_in_the_style_of_lmms_eval_runs_without_it(load: Load, capfd: Any) -> None:
    files = {"bench__utils": PRIVATE, "bench__rules": "def right(one, other):\n    return float(one == other)\n"}
    found = load("bench/utils.process_results", **files)({"answer": "cat"}, ["cart"])
    assert found == {"acc": 0.0, "far": 1, "name": "b__c__d", "folder": "/y/x", "args": ("q",)}
    assert load("bench/utils.aggregate").as_aggregation()([1.0, 0.0]) == 0.5
    assert load("bench/utils.middle")([3, 1, 2]) == 2
    step = load("bench/utils.Upper")(regex_pattern="([A-D])", group_select=-1)
    assert list(step.apply([["A or B"], ["none"]], [{}, {}])) == [["B"], ["[invalid]"]]
    load("bench/utils.warns")({"id": 3})
    with pytest.raises(ConfigError, match=r"'uses_the_model' needs the package 'lmms_eval'.*pip install lmms_eval"):
        load("bench/utils.uses_the_model")


@pytest.mark.full
def test_a_module_of_the_tree_is_the_nearest_file_and_its_change_is_another_task(load: Load, tmp_path: Path) -> None:
    text = "from lmms_eval.tasks.shared.rules import value\ndef f(doc): return value()\n"
    function = load("a/deep/utils.f", a__deep__utils=text, shared__rules="import os\ndef value(): return 'ours'\n")
    assert function({}) == "ours"
    reference = FunctionRef("utils.f", tmp_path / "a/deep/t.yaml", 1)
    before = reference.digest()
    (tmp_path / "shared/rules.py").write_text("import os\ndef value(): return 'changed'\n")
    assert reference.digest() != before


def test_a_yaml_may_name_a_function_as_the_suite_imports_it(load: Load, tmp_path: Path) -> None:
    load("one/utils.f", one__utils="import os\ndef f(doc): return 'one'\n", two__utils="import os\n")
    named = FunctionRef("lmms_eval.tasks.one.utils.f", tmp_path / "two/t.yaml", 1)
    assert named.resolve(FOREIGN_CODE)({}) == "one"
    with pytest.raises(ConfigError, match="has too many parts"):
        FunctionRef("other.tasks.one.utils.f", tmp_path / "two/t.yaml", 1).resolve(FOREIGN_CODE)


MISSING = """
import cv_of_nowhere as cv
import nowhere.deep.inside
from nowhere import resize, Mat
try:
    from fast_nowhere import distance
except ImportError:
    def distance(one, other): return 7
try:
    from quiet_nowhere import closeness
except ImportError:
    pass

LINEAR = cv.INTER_LINEAR

class Net(nowhere.nn.Module):
    def __call__(self, doc):
        return doc

def plain(doc, mode=LINEAR) -> "Mat":
    return distance("a", "b")

def needs_it(doc):
    return helper(doc)

def helper(doc):
    try:
        return resize(doc)
    except Exception:
        return 0

def needs_quiet(doc):
    try:
        return closeness(doc)
    except Exception:
        return 0

def in_function(doc):
    try:
        import nltk_of_nowhere
        return 1
    except Exception:
        return 0

def says_what_without(doc):
    try:
        import nltk_of_nowhere
    except ImportError:
        return "without"

def by_name(doc):
    return globals()["resize"](doc)
"""


def test_a_missing_package_is_one_sentence_for_what_uses_it_and_nothing_for_the_rest(load: Load) -> None:
    assert load("utils.plain", utils=MISSING)({}) == 7
    for name, package in (("needs_it", "nowhere"), ("needs_quiet", "quiet_nowhere"), ("Net", "nowhere")):
        with pytest.raises(ConfigError, match=rf"'{name}' needs the package '{package}'.*pip install {package}"):
            load(f"utils.{name}")
    assert load("utils.says_what_without")({}) == "without"


@pytest.mark.parametrize(("name", "package"), [("by_name", "nowhere"), ("in_function", "nltk_of_nowhere")])
def test_no_except_of_the_code_makes_a_score_of_a_missing_package(load: Load, name: str, package: str) -> None:
    """Found when it runs, where it is not seen before."""
    with pytest.raises(ScoringError, match=f"needs the package '{package}'.*pip install {package}"):
        load(f"utils.{name}", utils=MISSING)({})


def test_a_module_that_another_version_of_a_package_had_is_no_missing_package(load: Load) -> None:
    text = "import os\nfrom datasets.of_long_ago import Old\ndef f(doc): return Old()\n"
    with pytest.raises(ConfigError, match="written for another version of the package 'datasets'"):
        load("utils.f", utils=text)


CLIENT = """
import os
import requests_cache
from openai import OpenAI, OpenAIError
import google.generativeai as genai

genai.configure(api_key=os.environ.get("NO_KEY"))
client = OpenAI(api_key="x")
if client:
    model = genai.GenerativeModel("g")

def graded(doc, results):
    try:
        return float(client.chat.completions.create(messages=[]).choices[0].message.content)
    except OpenAIError:
        return 0.5
    except Exception:
        return 0.0

def posts(doc, results):
    try:
        return requests_cache.CachedSession().post("http://judge", json={}).json()
    except:
        return 0.0

def reads(doc, results):
    return float(results[0] == doc["answer"])
"""


@pytest.mark.full
def test_a_client_of_a_server_can_be_made_and_its_call_is_refused(load: Load) -> None:
    assert load("utils.reads", utils=CLIENT)({"answer": "a"}, ["a"]) == 1.0
    for name, called in (("graded", "openai.OpenAI"), ("posts", "requests_cache.CachedSession")):
        with pytest.raises(ScoringError, match=rf"calls {called}\(\).* by itself, .*state `judge:`"):
            load(f"utils.{name}")({"answer": "a"}, ["a"])


@pytest.mark.full
def test_files_of_the_hub_are_named_where_they_are_opened(load: Load) -> None:
    text = (
        "from pathlib import Path\nfrom huggingface_hub import snapshot_download\n"
        "FOLDER = Path(snapshot_download(repo_id='org/data', repo_type='dataset'))\n"
        "def f(doc): return (FOLDER / 'images' / 'a.txt').read_text()\n"
    )
    with pytest.raises(
        FileNotFoundError, match=r"images/a.txt is not on this machine.*hf download --repo-type dataset org/data"
    ):
        load("utils.f", utils=text)({})


@pytest.mark.full
def test_each_folder_has_its_own_utils_on_the_path(load: Load) -> None:
    shim = (
        "import os, sys\nsys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))\n"
        "from utils import *\n"
    )
    one = load(
        "one/part/utils.f", one__part__utils=shim, one__utils="from loguru import logger\ndef f(doc): return 1\n"
    )
    two = load(
        "two/part/utils.f", two__part__utils=shim, two__utils="from loguru import logger\ndef f(doc): return 2\n"
    )
    assert (one({}), two({})) == (1, 2)
