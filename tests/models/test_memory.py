"""Models that `evaluate` is given as objects: functions, objects and classes of Model; and classes in files."""

import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mm_eval.models.memory import NOTE

from mm_eval import Answer, Model, Results, evaluate
from mm_eval.cli import main
from mm_eval.engine.model import ModelSettings
from mm_eval.errors import ConfigError
from mm_eval.run import score


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Results]:
    def evaluated(model: Any, tasks: str = "mme", **options: Any) -> Results:
        stated = {"limit": 4, "sample": True, "report": False, "output_path": str(tmp_path / "run"), **options}
        return evaluate(tasks, model, **stated)

    return evaluated


class Counted:
    """A function that counts its calls."""

    def __init__(self, answer: str = "Yes") -> None:
        self.answer, self.seen = answer, []

    def __call__(self, messages: Any) -> str:
        self.seen.append(messages)
        return self.answer


class Own(Model):
    """An adapter with an __init__ of its own."""

    def __init__(self, word: str) -> None:
        self.word, self.closed, self.prepared = word, 0, 0

    def prepare(self) -> None:
        self.prepared += 1

    def close(self) -> None:
        self.closed += 1

    def generate(self, instances):
        for instance in instances:
            yield instance, Answer(self.word)


class Named(Own):
    """One that says what decides its answers."""

    def identity(self, instance):
        return {"word": self.word, "asked": instance.doc_id}

    def describe(self):
        return {"adapter": "named", "word": self.word}


def test_a_function_gets_messages_with_their_pictures_and_returns_the_text(run):
    model = Counted()
    results = run(model)
    (turn,) = model.seen[0]
    image, text = turn["content"]
    assert turn["role"] == "user" and image["type"] == "image" and image["image"].mode == "RGB"
    assert text["type"] == "text" and "?" in text["text"] and len(model.seen) == 4
    rows = list(results.samples("mme"))
    assert [row["resps"] for row in rows] == [["Yes"]] * 4 and results.exit_code == 0
    assert results.raw["run"]["model_name"] == "Counted" and results.raw["run"]["model"]["function"] == "Counted"
    assert str(results) == results.table() and str(results).count("mme_perception_score") == 1


def test_a_text_task_has_its_question_in_a_list_of_parts_and_stop_strings_are_cut(run):
    model = Counted("The answer is 4.\n\nQuestion: and more")
    results = run(model, "gsm8k")
    assert {part["type"] for turn in model.seen[0] for part in turn["content"]} == {"text"}
    assert all("Question" not in row["resps"][0] for row in results.samples("gsm8k"))


def test_a_function_may_take_the_options_and_return_an_answer(run):
    asked = []

    def model(messages, generation_kwargs):
        asked.append(generation_kwargs)
        return Answer("Yes", truncated=True)

    results = run(model)
    assert asked[0]["max_new_tokens"] > 0 and results["mme"].truncated == 4


def test_what_a_function_raises_or_returns_costs_its_document(run):
    def model(messages):
        text = messages[0]["content"][-1]["text"]
        answers = iter((ValueError("no"), None, 3, "Yes"))
        order.setdefault(text, len(order))
        found = list(answers)[order[text] % 4]
        if isinstance(found, Exception):
            raise found
        return found

    order: dict[str, int] = {}
    results = run(model)
    assert results.exit_code == 3 and results["mme"].failed == 3
    said = [row["error"] for row in results.samples("mme") if row.get("error")]
    assert any("ValueError: no" in str(each) for each in said) and any("returned int" in str(each) for each in said)


def test_a_batch_size_calls_a_function_from_as_many_threads(run):
    both = threading.Barrier(2, timeout=30)

    def model(messages):
        both.wait()
        return "Yes"

    assert run(model, batch_size=2).exit_code == 0


def test_without_an_identity_nothing_is_reused_and_one_note_says_so(run, tmp_path):
    model, cache = Counted(), str(tmp_path / "cache")
    assert run(model, use_cache=cache).report.notes.count(NOTE) == 1
    with pytest.raises(ConfigError, match="holds another run.*without_identity"):
        run(model)
    run(model, use_cache=cache, output_path=str(tmp_path / "second"))
    assert len(model.seen) == 8, "no answer came from the cache"


def test_an_identity_resumes_and_another_one_is_another_run(run):
    first, second = Counted(), Counted()
    assert NOTE not in run(first, identity="v1").report.notes
    again = run(second, identity="v1")
    assert (len(first.seen), second.seen) == (4, []) and again["mme"].n == 4
    with pytest.raises(ConfigError, match="another run.*identity"):
        run(second, identity="v2")


def test_a_recorded_run_is_scored_without_its_model(run):
    results = run(Counted())
    assert Results(score(results.folder)).raw["results"] == results.raw["results"]


def test_an_object_of_model_is_asked_and_stays_open(run, tmp_path):
    model = Own("Yes")
    assert run(model).report.notes.count(NOTE) == 1
    run(model, output_path=str(tmp_path / "second"))
    assert (model.prepared, model.closed) == (1, 0), "its owner closes it"
    assert run(Named("Yes"), output_path=str(tmp_path / "named")).report.notes.count(NOTE) == 0
    assert run(Named("Yes"), output_path=str(tmp_path / "named")).raw["results"]["mme"]["n"] == 4
    with pytest.raises(ConfigError, match='was "Yes" and is "No"'):
        run(Named("No"), output_path=str(tmp_path / "named"))


class Keyed(Model):
    """One whose answer shows the settings that it was asked under. It reads one of them where it loads."""

    def prepare(self):
        self.tags = self.settings.reasoning_tags

    def generate(self, instances):
        for instance in instances:
            yield instance, Answer(f"{self.settings.seed} {self.tags}")


def test_each_run_of_one_object_has_its_own_settings_and_identity(run, tmp_path):
    model = Keyed()

    def answered(folder: str, **options: Any) -> tuple[Any, ...]:
        results = run(model, output_path=str(tmp_path / folder), **options)
        stated = results.raw["run"]["model"]
        said = {row["resps"][0] for row in results.samples("mme")}
        return said, stated.get("identity"), "without_identity" in stated, NOTE in results.report.notes

    assert answered("first", seed=3, identity="v1") == ({"3 None"}, "v1", False, False)
    assert answered("second", reasoning_tags="<a>,</a>") == ({"0 <a>,</a>"}, None, True, True)
    assert answered("third", identity="v2") == ({"0 None"}, "v2", False, False)
    with pytest.raises(ConfigError, match="another run.*seed"):
        run(model, output_path=str(tmp_path / "third"), identity="v2", seed=3)
    assert not hasattr(model, "settings") and model.facts == Keyed.facts


def test_what_a_run_states_is_laid_over_the_settings_of_an_object(run, tmp_path):
    model = Keyed({}, ModelSettings(seed=3, batch_size=2))
    assert {row["resps"][0] for row in run(model).samples("mme")} == {"3 None"}
    results = run(model, seed=4, output_path=str(tmp_path / "second"))
    assert {row["resps"][0] for row in results.samples("mme")} == {"4 None"}
    assert model.settings == ModelSettings(seed=3, batch_size=2)


def test_a_shipped_adapter_that_was_made_with_settings_takes_no_others(run):
    from mm_eval.models.dummy import Dummy

    with pytest.raises(ConfigError, match="Dummy was made with seed=3, and this run states 4"):
        run(Dummy({}, ModelSettings(seed=3)), seed=4)


def test_two_threads_with_one_object_each_get_answers_of_their_own_settings(run, tmp_path):
    model, both, found = Keyed(), threading.Barrier(2, timeout=30), {}

    def evaluated(seed: int) -> None:
        both.wait()
        results = run(model, seed=seed, identity="v", output_path=str(tmp_path / f"{seed}"))
        found[seed] = {row["resps"][0] for row in results.samples("mme")}

    threads = [threading.Thread(target=evaluated, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {1: {"1 None"}, 2: {"2 None"}}


def test_a_class_of_model_is_made_with_its_arguments(run):
    class Echo(Model):
        def generate(self, instances):
            for instance in instances:
                yield instance, Answer(self.args["word"])

    assert run(Echo, model_args={"word": "No"}).raw["run"]["model"]["args"] == {"word": "No"}


def test_random_streams_are_where_they_were(run):
    def model(messages):
        random.seed(7), np.random.seed(7)
        return "Yes"

    before = random.getstate(), np.random.get_state()[1].tolist()
    run(model)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before


async def asynchronous(messages):
    return "Yes"


@pytest.mark.parametrize(
    ("model", "options", "said"),
    [
        (3, {}, "int is not a model"),
        (asynchronous, {}, "asynchronous is a coroutine function"),
        (Counted(), {"processor": object()}, "processor= belongs to a module of torch, not to Counted"),
        (Counted(), {"model_args": {"x": 1}}, "'x': Counted takes no model_args"),
        (Counted(), {"executor": "ray", "workers": 1}, "can't be sent to workers"),
        ("dummy", {"identity": "x"}, "identity= belongs to a model in memory"),
        ("memory", {}, "a model in memory has no name"),
        (Counted(), {"tasks": "arc_easy"}, "can't give log-likelihoods"),
    ],
)
def test_what_does_not_fit_is_one_sentence_before_anything_is_asked(run, tmp_path, model, options, said):
    with pytest.raises(ConfigError, match=said):
        run(model, **options)
    assert not (tmp_path / "run").exists()


FILE = """
from mm_eval import Answer, Model

class Shout(Model):
    def generate(self, instances):
        for instance in instances:
            yield instance, Answer({answer!r})
"""


def test_a_class_in_a_file_is_a_model_whose_code_is_part_of_its_identity(tmp_path, capsys):
    file = tmp_path / "mine.py"
    file.write_text(FILE.format(answer="YES"))
    words = ["run", "--tasks", "mme", "--sample", "--limit", "2", "--no_report", "--output_path", str(tmp_path / "run")]
    assert main([*words, "--model", f"{file}:Shout"]) == 0
    assert main([*words, "--model", f"{file}:Shout"]) == 0
    assert "all 2 answers were in the run folder already" in capsys.readouterr().out
    file.write_text(FILE.format(answer="NO"))
    assert main([*words, "--model", f"{file}:Shout"]) == 2
    assert "code" in capsys.readouterr().err
    file.write_text("raise RuntimeError('this must not run')")
    assert score(tmp_path / "run").exit_code == 0, "scoring runs no code that a folder names"


def test_a_file_without_the_class_says_what_it_has(tmp_path, capsys):
    file = tmp_path / "other.py"
    file.write_text(FILE.format(answer="YES") + "\nnumber = 3\n")
    words = ["run", "--tasks", "mme", "--sample", "--limit", "2", "--model"]
    for name, said in (("Shuot", "has no 'Shuot'. Did you mean 'Shout'"), ("number", "'number' is not a subclass")):
        assert main([*words, f"{file}:{name}"]) == 2
        assert said in capsys.readouterr().err
    assert main([*words, f"{tmp_path}/none.py:Shout"]) == 2
    assert "there is no file" in capsys.readouterr().err


OWN = """
from mm_eval import Answer, Model

class Echo(Model):
    def __init__(self, word="yes", times: int = 1):
        super().__init__()
        self.word, self.times = word, times
    def generate(self, instances):
        for instance in instances:
            yield instance, Answer(f"{self.word} {self.times * 2}")

class Documented(Model):
    def __init__(self, args, settings):
        super().__init__()
    def generate(self, instances):
        for instance in instances:
            yield instance, Answer(f"{self.args['word']} {self.settings.seed}")

class Word(Echo):
    def __init__(self, *, word):
        super().__init__(word)
    def generate(self, instances):
        for instance in instances:
            yield instance, "red"

class Wrong(Echo):
    def __init__(self, word=None):
        self.word = word.nope
class Silent(Model): pass
class Attribute(Model):
    def generate(self, instances):
        for instance in instances:
            yield instance, Answer(instance.nope)
class Returns(Model):
    def generate(self, instances):
        return None
class Prepares(Attribute):
    def prepare(self):
        raise KeyError("weights")
class Describes(Attribute):
    def describe(self):
        return {"self": self}
class Number(Model):
    def generate(self, instances):
        for instance in instances:
            yield instance, Answer(3)
def answer(messages, word="yes", loud: bool = False):
    return word.upper() if loud else word
def steps(messages):
    yield "yes"
def broken(messages):
    return messages["x"]
def alone():
    return "yes"
def quits(messages):
    raise SystemExit(0)
class Quits(Model):
    def generate(self, instances):
        raise SystemExit(0)
class Again(Model):
    def generate(self, instances):
        for instance in instances:
            yield instance, Answer("a")
            yield instance, Answer("b")
class Leaves(Attribute):
    def __init__(self):
        raise SystemExit(1)
def joined(messages, words: list[str] | None = None, by: dict | str = ""):
    return "+".join(words or ()) + (by if isinstance(by, str) else "-".join(by))
def one_of(messages, words: set[str]):
    return min(words)
class OneOf(Attribute):
    def __init__(self, words: set[str]):
        self.words = words
    def generate(self, instances):
        for instance in instances:
            yield instance, Answer(min(self.words))
"""


@pytest.fixture
def own(tmp_path, cli, monkeypatch):
    """Runs a model of the file above by its name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(OWN)

    def asked(name: str, args: str = "", folder: str = "run"):
        words = ["--tasks", "mme", "--sample", "--limit", "2", "--no_report", "--output_path", tmp_path / folder]
        return cli(*words, "--model", f"own.py:{name}" if name else "own.py", *(["--model_args", args] if args else []))

    return asked


def answers(folder: Path) -> set[str]:
    from mm_eval.results.recorded import RecordedRun

    return {row["resps"][0] for row in RecordedRun.read(folder).rows("mme")}


def test_model_args_are_the_keywords_of_a_class_and_of_a_function(own, run, tmp_path):
    assert own("Echo", "word=no,times=3").code == 0 and answers(tmp_path / "run") == {"no 6"}
    other = own("Echo", "word=yes,times=3")
    assert other.code == 2 and "no" in other.err and "yes" in other.err, "they are part of its identity"
    assert own("Echo", folder="plain").code == 0 and answers(tmp_path / "plain") == {"yes 2"}
    assert own("Documented", "word=a", "documented").code == 0 and answers(tmp_path / "documented") == {"a 0"}
    assert own("answer", "word=no,loud=true", "function").code == 0 and answers(tmp_path / "function") == {"NO"}
    again = own("answer", "word=no,loud=true", "function")
    assert "all 2 answers were in the run folder already" in again.out, "the file says what the function is"
    lists = 'words=["a", "b"],by={"x": 1}'
    assert own("joined", lists, "lists").code == 0 and answers(tmp_path / "lists") == {"a+bx"}
    assert own("joined", "by=z,words=None", "text").code == 0 and answers(tmp_path / "text") == {"z"}

    for name in ("one_of", "OneOf"):
        assert own(name, 'words=["b", "a"]', name).code == 0 and answers(tmp_path / name) == {"a"}
        assert "all 2 answers were in the run folder already" in own(name, 'words=["a", "b"]', name).out
        assert own(name, 'words=["c"]', name).code == 2, "the items of a set are part of its identity"

    def answer(messages, word, generation_kwargs):
        return word * (generation_kwargs["max_new_tokens"] > 0)

    class Echo(Model):
        def __init__(self, words):
            self.words = words

        def generate(self, instances):
            for instance in instances:
                yield instance, Answer(self.words[0])

    given = run(answer, model_args={"word": "No"}, output_path=str(tmp_path / "a"), identity="v1")
    assert answers(given.folder) == {"No"} and given.raw["run"]["model"]["args"] == {"word": "No"}
    with pytest.raises(ConfigError, match="another run"):
        run(answer, model_args={"word": "Yes"}, output_path=str(tmp_path / "a"), identity="v1")
    assert answers(run(Echo, model_args={"words": ["A", "B"]}, output_path=str(tmp_path / "b")).folder) == {"A"}
    for model, name in ((answer, "wrod"), (Echo, "wrods")):
        with pytest.raises(ConfigError, match=f"takes no argument '{name}'.*Did you mean"):
            run(model, model_args={name: "x"}, output_path=str(tmp_path / "c"))


@pytest.mark.parametrize(
    ("name", "args", "said"),
    [
        ("Echo", "wrod=no", "own.py:5: Echo takes no argument 'wrod' (model_args). Did you mean 'word'?"),
        ("Echo", "times=x", "own.py:5: Echo has times='x'; a whole number is needed."),
        ("Word", "", "own.py:20: Word needs the argument 'word'. Write --model_args word=..."),
        ("Wrong", "word=a", "own.py:28: Wrong raised AttributeError: 'str' object has no attribute 'nope'."),
        ("Silent", "", "own.py:29: Silent can't generate text. Define `generate(self, instances)`"),
        ("Prepares", "", "own.py:39: Prepares.prepare raised KeyError: 'weights'."),
        ("Describes", "", "own.py:41: Describes.describe gave {'self':"),
        ("answer", "wodr=a", "own.py:47: answer takes no argument 'wodr' (model_args). Did you mean 'word'?"),
        ("answer", "loud=a", "own.py:47: answer has loud='a'; true or false is needed."),
        ("joined", "words=a", 'own.py:68: joined has words=\'a\'; a list is needed. Such as words=["a", "b"].'),
        ("alone", "", "own.py:53: alone takes no messages. Give it one parameter for them"),
        ("Leaves", "", "own.py:67: Leaves raised SystemExit: 1."),
        ("steps", "", "own.py:49: steps is a generator. Give a function that returns the text"),
        ("", "", "'own.py' is a Python file. Write --model own.py:NAME"),
    ],
)
def test_what_is_wrong_with_a_model_of_ones_own_is_one_sentence_with_its_line(own, name, args, said):
    done = own(name, args)
    assert done.code == 2 and said in done.err and "Traceback" not in done.err


def test_a_file_beside_a_models_own_is_imported_with_a_point(own, tmp_path):
    """Without one it is not found; the sentence says how it is."""
    (tmp_path / "helper.py").write_text("def word(): return 'yes'\n")
    (tmp_path / "own.py").write_text("from helper import word\ndef answer(messages): return word()\n")
    done = own("answer")
    assert done.code == 2 and "own.py:1: it can't be imported: ModuleNotFoundError" in done.err
    assert "write `from .helper import NAME`" in done.err
    (tmp_path / "own.py").write_text("from .helper import word\ndef answer(messages): return word()\n")
    assert own("answer").code == 0 and answers(tmp_path / "run") == {"yes"}


@pytest.mark.parametrize(
    ("name", "args", "said"),
    [
        ("Word", "word=x", "own.py:24: Word.generate gave 'red' as the answer to mme doc 1; Answer(text) is needed."),
        ("Attribute", "", "own.py:33: AttributeError: 'Instance' object has no attribute 'nope'"),
        ("Returns", "", "own.py:35: Returns.generate returned NoneType; it yields (instance, answer)"),
        ("Number", "", "mme doc 0: a generated answer must be text, not 3. See own.py:46."),
        ("broken", "", "str. See own.py:52."),
        ("quits", "", "mme doc 0: quits raised SystemExit: 0. See own.py:56."),
        ("Quits", "", "own.py:59: SystemExit: 0"),
        ("Again", "", "Again answered mme doc 1, which was not requested or has its answer already."),
    ],
)
def test_what_fails_while_it_answers_has_its_line(own, name, args, said):
    done = own(name, args)
    assert done.code == 3 and said in done.out and "Traceback" not in done.err
