"""`mm-eval diagnose`: each fault is found, counted, shown with examples, and the command that it names can be run."""

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from mm_eval.request import RunRequest
from mm_eval.results.answer_forms import Answered, answers_of, form_of, script
from mm_eval.results.findings import SHOWN, _Case, as_command, diagnose
from mm_eval.results.recorded import RecordedRun
from mm_eval.results.sample_rows import picked
from tests.folders import write_task
from tests.sets import each_of

ASKED = "Is there a red cross in this image? Please answer yes or no."


@each_of(
    ("text", "rules", "ended", "form"),
    [
        ("Yes", ("letter",), "stop", None),
        ("The answer is no, there is no picture of a dog here.", ("negation",), "stop", None),
        (" \n", ("unparsed",), "stop", "empty"),
        ("<think>Let me see", ("truncated",), "length", "thinking"),
        ("", ("truncated",), "length", "truncated"),
        ("", (), "length", "truncated"),
        ("", ("filtered",), "filtered", "filtered"),
        ("I'm sorry, but I can't", (), "filtered", "filtered"),
        ("I can't help with that.", ("refused",), "refused", "refused"),
        ("Yes", ("letter",), "tool", None),
        ("It is " * 40, ("unparsed",), "length", "truncated"),
        ("Yes\nUSER: Is there a dog?\nASSISTANT: No", ("first",), "stop", "dialogue"),
        ("Yes<|im_start|>user", ("first",), "stop", "dialogue"),
        ("I'm sorry, but I can't assist with that.", ("unparsed",), "stop", "refusal"),
        ("I cannot see any image.", ("negation",), "stop", "refusal"),
        ("As an AI language model, I have no eyes.", ("unparsed",), "stop", "refusal"),
        ("No image was provided.", ("negation",), "stop", "refusal"),
        ("抱歉，我无法看到图片。", ("unparsed",), "stop", "refusal"),
        ("图片里面有一个红色的十字形状", ("unparsed",), "stop", "script"),
        ("На картинке красный крест.", ("unparsed",), "stop", "script"),
        ("One sees a field " + "with many things " * 10, ("unparsed",), "stop", "explanation"),
        ("maybe", ("unparsed",), "stop", "unparsed"),
        ("maybe", ("unparsed", "letter"), "stop", None),
        ("any text", (), "stop", None),
    ],
)
def test_the_form_of_an_answer(text: str, rules: tuple[str, ...], ended: str, form: str | None) -> None:
    found = form_of(Answered(text, rules, ended, ASKED))
    assert (found and found.name) == form


LISTED = "What is it?\nA. a dog\nB. a cat\nAnswer with the option's letter."


@each_of(
    ("text", "asked", "gold", "form"),
    [
        (" C", LISTED, "B", "other option"),
        ("(d)", LISTED, "B", "other option"),
        ("C.", "What is it?", "B", "other option"),
        ("3", "What is it?\n1. a dog\n2. a cat", "2", "other option"),
        ("B", LISTED, "A", "unparsed"),  # it is there, and no rule reads it
        ("C", "Which letter?", "a cat", "unparsed"),
        ("7", "How many?", "8", "unparsed"),
        ("C or D", LISTED, "B", "unparsed"),
    ],
)
def test_a_letter_of_no_option_is_a_wrong_answer_in_the_right_form(text, asked, gold, form) -> None:
    found = form_of(Answered(text, ("unparsed",), "stop", asked, gold=(gold,)))
    assert found and found.name == form
    if form == "other option":
        assert found.said == "name an option that is not there" and found.mending == "show"


def test_an_empty_answer_beside_a_reasoning_is_not_put_down_to_the_chat_template() -> None:
    """A server whose reasoning parser takes the whole answer (content: null) was said to have the wrong chat template."""
    found = form_of(Answered("", ("unparsed",), "stop", ASKED, reasoning="The answer is yes."))
    assert found and found.name == "reasoning alone" and "reasoning parser" in found.cause
    cut = form_of(Answered("", ("truncated",), "length", ASKED, reasoning="The answer"))
    assert cut and cut.name == "thinking"


def test_a_chinese_question_may_be_answered_in_chinese() -> None:
    asked = "图片里面有没有一个红色的十字形状？请回答是或否。"
    assert form_of(Answered("图片里面有一个红色的十字形状", ("word",), "stop", asked)) is None
    assert script("B. 42") == "" and script("שלום עולם שלום") == "HEBREW"


@each_of(
    ("text", "gold", "odd"),
    [
        ("It is the red cross.", ("red cross",), False),  # an English gold to a Chinese question
        ("图片里面有一个红色的十字形状", ("red cross",), True),
        ("图片里面有一个红色的十字形状", ("B",), False),  # a letter asks for no language
        ("The answer is option B.", ("B",), False),
        ("На картинке красный крест.", ("B",), True),
        ("На картинке красный крест.", ("42",), True),
        ("The red cross on the left.", ("红十字", "red cross"), False),
        ("あの赤い十字のしるしです", ("赤十字です",), False),
    ],
)
def test_an_answers_script_is_compared_with_that_of_the_gold(text: str, gold: tuple[str, ...], odd: bool) -> None:
    asked = "图片里面有没有一个红色的十字形状？"
    found = form_of(Answered(text, ("word",), "stop", asked, gold=gold))
    assert ((found and found.name) == "script") is odd


def replayed(cli, tmp_path: Path, answers: list[str], task: str = "mme", name: str = "run"):
    file = tmp_path / f"{name}.jsonl"
    rows = [{"task": task, "doc_id": n, "resps": [answer]} for n, answer in enumerate(answers)]
    file.write_text("\n".join(map(json.dumps, rows)))
    common = (
        "--tasks",
        task,
        "--sample",
        "--limit",
        len(answers),
        "--model",
        "replay",
        "--output_path",
        tmp_path / name,
    )
    return cli(*common, "--model_args", f"path={file}")


def right_answers(cli, tmp_path: Path, task: str, docs: int) -> list[str]:
    ran = cli(
        "--tasks", task, "--limit", docs, "--model", "dummy", "--sample", "--output_path", tmp_path / f"of-{task}"
    )
    return [str(row["target"]) for row in ran.samples(task)]


def kinds(folder: Path) -> dict[str, tuple[int, int]]:
    return {each.kind: (each.docs, each.of) for each in diagnose(RecordedRun.read(folder))}


def test_nothing_odd_is_said_in_words(cli, tmp_path: Path) -> None:
    right = right_answers(cli, tmp_path, "mme", 30)
    ran = replayed(cli, tmp_path, right)
    assert kinds(ran.folder) == {}
    said = cli("diagnose", ran.folder)
    assert said.code == 0 and "Nothing odd was found" in said.out and "diagnose" not in ran.out


def test_answers_by_form_with_examples_and_a_command(cli, tmp_path: Path) -> None:
    right = right_answers(cli, tmp_path, "mme", 30)
    odd = ["", "I'm sorry, I can't help.", "maybe", "maybe", "perhaps", "maybe", "who knows", "Yes\nUSER: and a dog?"]
    ran = replayed(cli, tmp_path, odd + right[len(odd) :])
    found = kinds(ran.folder)
    assert found == {"unparsed": (5, 30), "empty": (1, 30), "refusal": (1, 30), "dialogue": (1, 30)}
    assert f"`mm-eval diagnose {ran.folder}` says" in ran.out
    said = cli("diagnose", ran.folder).out
    assert "the answers to 5 of 30 documents are in a form that the task's rules do not read" in said
    assert [f"doc {n}:" in said for n in (0, 1, 2, 4, 6, 7)] == [True] * 6, "unlike answers are shown first"
    assert "doc 3:" not in said and "likely: " in said
    assert said.count("--keys default,qwen_vl") == 1
    stated = json.loads(cli("diagnose", ran.folder, "--format", "json").out)
    assert [each["kind"] for each in stated["findings"]][0] == "unparsed"
    assert all(len(each["examples"]) <= SHOWN for each in stated["findings"])


def test_docs_without_an_answer_are_kinds_of_their_own(cli, tmp_path: Path) -> None:
    """Counted as in the table, repeats with several endings included; they are no empty, refusing or unread answers."""
    right = right_answers(cli, tmp_path, "mme", 12)
    rows = [{"task": "mme", "doc_id": n, "resps": [answer]} for n, answer in enumerate(right)]
    missing = [
        ("", "filtered"),
        ("Yes", "filtered"),
        ("I'm sorry, I can't help.", "refused"),
        ("", "length"),
        ("It is a", "length"),
    ]
    for row, (text, ended) in zip(rows, missing, strict=False):
        row.update(resps=[text], ended=[ended])
    rows[5]["resps"] = [""]
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    common = ("--tasks", "mme", "--sample", "--limit", len(rows), "--output_path", tmp_path / "run")
    ran = cli(*common, "--model", "replay", "--model_args", f"path={file}")
    assert kinds(ran.folder) == {"filtered": (2, 12), "refused": (1, 12), "truncated": (2, 12), "empty": (1, 12)}
    row = ran.results["results"]["mme"]
    assert (row["filtered"], row["refused"], row["truncated"]) == (2, 1, 2)
    said = cli("diagnose", ran.folder).out
    for words in (
        "the answers to 2 of 12 documents were withheld by the vendor's filter\n    doc 0: ",
        "the answers to 1 of 12 documents are refusals, by the endpoint's own statement",
        "were ended by the token cap (1 unparsed, 1 before any text)",
    ):
        assert words in said, said
    assert said.count("likely: ") == said.count("try: ") == 4 and "max_new_tokens" in said


def test_each_repeat_counts_by_its_own_ending() -> None:
    row = {"prompt": ASKED, "status": "filtered", "resps": ["", "", "Yes"], "rules": {}}
    forms = [form_of(answer) for answer in answers_of({**row, "ended": ["filtered", "length", "stop"]})]
    assert [form and form.name for form in forms] == ["filtered", "truncated", None]


def test_a_yes_bias_and_answers_no_better_than_chance(cli, tmp_path: Path) -> None:
    right = right_answers(cli, tmp_path, "mme", 60)
    always = replayed(cli, tmp_path, ["Yes"] * 60, name="always")
    assert set(kinds(always.folder)) == {"bias", "chance"} and kinds(always.folder)["bias"] == (60, 60)
    [bias] = [each for each in diagnose(RecordedRun.read(always.folder)) if each.kind == "bias"]
    assert bias.said == f"60 of 60 answers are yes, which is right for {right.count('Yes')}"
    assert all(right[each.doc_id] == "No" for each in bias.examples)
    some_wrong = ["No" if n % 6 == 0 else answer for n, answer in enumerate(right)]
    assert kinds(replayed(cli, tmp_path, some_wrong, name="some").folder) == {}, "ten wrong answers are no bias"


def test_a_letter_bias(cli, tmp_path: Path) -> None:
    right = right_answers(cli, tmp_path, "seedbench", 80)
    answers = ["C" if n % 2 else answer for n, answer in enumerate(right)]
    found = kinds(replayed(cli, tmp_path, answers, "seedbench").folder)
    assert "bias" in found and "chance" not in found


@pytest.mark.full
def test_a_low_category(cli, tmp_path: Path) -> None:
    ran = cli("--tasks", "seedbench", "--model", "dummy", "--sample", "--output_path", tmp_path / "of")
    rows = ran.samples("seedbench")
    low = rows[0]["categories"]["question type"][0]
    answers = [
        ("B" if row["target"] == "A" else "A") if row["categories"]["question type"] == [low] else row["target"]
        for row in rows
    ]
    findings = diagnose(RecordedRun.read(replayed(cli, tmp_path, answers, "seedbench").folder))
    [found] = [each for each in findings if each.kind == "low category"]
    assert found.said.startswith(f"{low} (question type) has") and found.said.endswith(
        "seed_all 0.0, the other categories together 100.0"
    )
    assert {rows[each.doc_id]["categories"]["question type"][0] for each in found.examples} == {low}


LONG = """task: long
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: "{{question}}"
doc_to_target: answer
generation_kwargs: {max_gen_toks: 4, until: []}
metric_list: [{metric: exact_match}]
"""


@pytest.mark.full
def test_truncated_answers_and_cut_prompts_and_a_missing_template(cli, tmp_path: Path) -> None:
    ran = cli(
        "--tasks", "gsm8k", "--limit", 3, "--model", "tiny-llava", "--gen_kwargs", "max_new_tokens=2,min_new_tokens=2"
    )
    [found] = [each for each in diagnose(RecordedRun.read(ran.folder)) if each.kind == "truncated"]
    assert (found.docs, found.of) == (3, 3) and "max_new_tokens=8" in found.mend
    plain = cli("--tasks", "mme", "--limit", 3, "--apply_chat_template", "false", "--output_path", tmp_path / "plain")
    [bare] = [each for each in diagnose(RecordedRun.read(plain.folder)) if each.kind == "no template"]
    assert "--apply_chat_template true" in bare.mend
    rows = [{"question": "dog " * times, "answer": "cat"} for times in (4, 300)]
    file = write_task(tmp_path / "own", "long", LONG, "", rows)
    model = ("--model", "tiny-llava", "--model_args", "max_length=200")
    long = cli("--tasks", file, *model, "--output_path", tmp_path / "long")
    [cut] = [each for each in diagnose(RecordedRun.read(long.folder)) if each.kind == "cut prompt"]
    assert cut.docs == long.results["results"]["long"]["cut"] == 1


def test_failed_docs_are_grouped_by_their_reason(cli, tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text("\n".join(json.dumps({"task": "mme", "doc_id": n, "resps": ["Yes"]}) for n in range(5)))
    ran = cli("--tasks", "mme", "--sample", "--limit", 9, "--model", "replay", "--model_args", f"path={file}")
    assert ran.code == 3
    [failed] = [each for each in diagnose(RecordedRun.read(ran.folder)) if each.kind == "failed"]
    assert (failed.docs, failed.of) == (4, 9) and str(ran.folder) in failed.mend


@pytest.mark.full
def test_every_command_that_is_named_can_be_run(cli, tmp_path: Path) -> None:
    odd = ["", "maybe", "I'm sorry, I can't help."] * 4
    ran = cli("--tasks", "mme,gsm8k", "--limit", 3, "--gen_kwargs", "max_new_tokens=2", "--seed", 5)
    folders = [ran.folder, replayed(cli, tmp_path, odd, name="odd").folder]
    commands = {each.mend for folder in folders for each in diagnose(RecordedRun.read(folder))}
    assert len(commands) >= 4 and all(command.startswith("mm-eval ") for command in commands)
    for number, command in enumerate(sorted(commands)):
        words = shlex.split(command)[1:]
        more = [] if words[0] == "show" else ["--output_path", tmp_path / f"again-{number}"]
        assert cli(*words, *more).code == 0, command


def test_a_request_as_a_command() -> None:
    request = RunRequest(
        ("mme", "gsm8k"),
        "hf",
        {"pretrained": "org/name", "chat_template_kwargs": '{"enable_thinking": false}'},
        chat_template=False,
        sample=True,
        report=False,
        limit=0.5,
        gen_kwargs={"until": ["\n"]},
    )
    words = shlex.split(as_command(request))
    assert words[:5] == ["mm-eval", "--tasks", "mme,gsm8k", "--model", "hf"]
    assert json.loads(words[words.index("--model_args") + 1])["pretrained"] == "org/name"
    assert words[words.index("--apply_chat_template") + 1] == "false" and "--sample" in words and "--no_report" in words
    assert json.loads(words[words.index("--gen_kwargs") + 1]) == {"until": ["\n"]} and "--seed" not in words


def test_a_task_that_the_run_states_as_a_mapping_is_named_so_in_the_command() -> None:
    """Its name alone loads nothing, or the task without what the mapping overrides."""
    own, group = {"task": "own", "dataset_path": "json"}, {"group": "both", "task": [{"task": "inner"}]}
    stated = RunRequest((own, "mme", group)).to_json()

    def tasks(name: str) -> Sequence[object]:
        return _Case(cast(RecordedRun, SimpleNamespace(request=stated)), name).request.tasks

    assert (tasks("own"), tasks("mme"), tasks("inner")) == ((own,), ("mme",), (own, "mme", group))
    words = shlex.split(as_command(RunRequest((own, "mme")), "show"))
    assert words[:2] == ["mm-eval", "show"] and json.loads(words[2]) == [own, "mme"]


@each_of(
    ("target", "read", "pair"),
    [
        ("Yes", "no", ("yes", "no")),
        ("(B)", "b.", ("B", "B")),
        ("B", "yes", None),
        ("42", "42", None),
        ("A", None, None),
    ],
)
def test_what_was_picked(target: str, read: str | None, pair: tuple[str, str] | None) -> None:
    assert picked({"target": target, "resps": [""], "filtered_resps": {"none": [read]}}) == pair


def test_the_choice_with_the_highest_log_likelihood_was_picked() -> None:
    row = {"target": 2, "choices": [" a", " b", " c"], "resps": [[-3.0, False], [-1.0, True], [-2.0, False]]}
    assert picked(row) == ("C", "B")


def test_of_several_repeats_the_first_one_picked_and_an_option_on_its_own_does_not() -> None:
    choices = [" A", " B", " C"]
    sums = [[-3.0, False], [-1.0, True], [-2.0, False]]
    for more in ([[-0.1, True]] * 3, [[-0.1, True]] * 6):
        row = {"target": 2, "choices": choices * (1 + len(more) // 3), "resps": sums + more, "filtered_resps": {}}
        assert picked(row) == ("C", "B")
    row = {"target": 1, "choices": [" so"] * 2, "resps": sums[:2], "filtered_resps": {}}
    assert picked(row) == ("B", "B"), "each option has a question of its own"


def test_a_folder_without_a_run(cli, tmp_path: Path) -> None:
    assert cli("diagnose", tmp_path).code == 2


OWN = (
    "task: mine\ndataset_path: json\ndataset_kwargs: {{data_files: {{test: rows.jsonl}}}}\ntest_split: test\n"
    "doc_to_text: q\ndoc_to_target: {target}\nfilter_list: [{{name: none, filter: {filters}}}]\n"
    "metric_list: [{{metric: {metric}}}]\n"
)
LETTERS = "[{function: mcq_letter, choices: options}]"


@each_of(
    ("filters", "target", "metric", "kind", "said"),
    [
        (LETTERS, "text", "exact_match", "gold", "to 6 of 6 documents are read as letters, and the right answer is a text"),
        (LETTERS, "index", "exact_match", "gold", "are read as letters, and the right answer is a text or an index"),
        ("[]", "letter", "exact_match", "gold", "are compared as whole texts, and the right answer is a letter"),
        (LETTERS, "letter", "exact_match", "", ""),
        (LETTERS, '"({{letter}})"', "exact_match", "gold", "are letters with other marks around them"),
        (LETTERS, '"{{letter}}."', "exact_match", "gold", "are letters with other marks around them"),
        ("[]", "people", "vqa_accuracy", "remark", "in 6 of 6 documents the answer is that of all people but for its case"),
    ],
)  # fmt: skip
def test_answers_of_another_kind_than_the_right_ones(
    cli, tmp_path_factory, filters: str, target: str, metric: str, kind: str, said: str
) -> None:
    root = tmp_path_factory.mktemp("own")
    rows = [
        {"q": f"{i}?", "options": ["cat", "dog"], "text": ["cat", "dog"][i % 2], "index": i % 2, "letter": "AB"[i % 2],
         "people": ["yes"] * 10} for i in range(6)
    ]  # fmt: skip
    file = write_task(root / "t", "mine", OWN.format(target=target, filters=filters, metric=metric), "", rows)
    answers = ["Yes." if target == "people" else f"The answer is {row['letter']}." for row in rows]
    lines = [json.dumps({"task": "mine", "doc_id": n, "resps": [answer]}) for n, answer in enumerate(answers)]
    (root / "answers.jsonl").write_text("\n".join(lines))
    out = root / "run"
    source = f"path={root / 'answers.jsonl'}"
    ran = cli("--tasks", file, "--model", "replay", "--model_args", source, "--output_path", out)
    assert ran.code == 0, ran.err
    found = {finding.kind: finding.said for finding in diagnose(RecordedRun.read(out))}
    assert list(found) == ([kind] if kind else []) and said in found.get(kind, "")
    assert kind != "remark" or said in ran.out + ran.err, "a line under the table, too"
