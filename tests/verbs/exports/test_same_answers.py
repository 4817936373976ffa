"""An import neither loses an answer nor gives it another meaning: repeats, order of options, short questions, nulls, endings."""

import errno
import json
from pathlib import Path

import pytest

from mm_eval.values.errors import ConfigError
from mm_eval.verbs.exports import importing

REAL = Path(__file__).parent / "real"
QUESTIONS = ["Is it red?", "Why?", "2+2?", "Who?", "天空是什么颜色？", "Is it red?", "Sky colour?", "Name one."]
GOLDS = ["yes", "no", "4", "me", "蓝色", "no", "blue", "cat"]
HEAD = "dataset_path: json\ndataset_kwargs: {data_files: {test: %s.jsonl}}\ntest_split: test\n"
SHORT = """output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "{{gold}}"
generation_kwargs: {until: ["\\n"]}
metric_list: [{metric: exact_match}]
"""
CHOICES = 'output_type: multiple_choice\ndoc_to_text: "{{question}}"\ndoc_to_choice: choices\ndoc_to_target: answer\n'
COLOURS = ["red", "green", "blue", "grey"]


def rows(folder: Path, task: str) -> list[dict]:
    return [json.loads(line) for line in (folder / "samples" / f"{task}.jsonl").read_text().splitlines()]


def number(folder: Path, task: str, key: str) -> float:
    return json.loads((folder / "results.json").read_text())["results"][task][key]


def lines(path: Path, entries: list[dict]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return path


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tasks of one's own: short questions, of which one is there twice, and options in a list."""
    folder = tmp_path / "tasks"
    monkeypatch.chdir(tmp_path)
    docs = [
        {"id": f"q{n}", "question": question, "gold": gold}
        for n, (question, gold) in enumerate(zip(QUESTIONS, GOLDS, strict=True))
    ]
    lines(folder / "short.jsonl", docs)
    (folder / "short.yaml").write_text("task: short\n" + HEAD % "tasks/short" + SHORT)
    docs = [{"question": f"Which colour has thing {n}, please?", "choices": COLOURS, "answer": n} for n in range(4)]
    lines(folder / "mc.jsonl", docs)
    (folder / "mc.yaml").write_text("task: mc\n" + HEAD % "tasks/mc" + CHOICES)
    return folder


@pytest.fixture
def imported(cli, tasks: Path, tmp_path: Path):
    """Imports a log for one of these tasks: (what came, its folder)."""

    def run(log: Path, task: str, columns: str = "", *more: object):
        words = ["--task", f"{log.stem}={task}"] if columns else []
        columns_of = ["--columns", columns] if columns else []
        folder = tmp_path / f"run-{log.stem}"
        done = cli(
            "import", log, "--output_path", folder, "--include_path", tasks, "--offline", *words, *columns_of, *more
        )
        return done, folder

    return run


def test_epochs_of_inspect_are_repeats(cli, tmp_path: Path) -> None:
    """Written by inspect_ai: of each question two of three answers are right. Epoch 1 alone gave 100."""
    done = cli("import", REAL / "inspect_ai-0.3.285-epochs", "--output_path", tmp_path / "run", "--sample")
    assert done.code == 0, done.err
    assert "gsm8k: the 3 answers to each question are repeats" in done.out
    found = rows(tmp_path / "run", "gsm8k")
    assert [len(row["resps"]) for row in found] == [3] * 4 and found[0]["resps"][1] == "ANSWER: -777"
    assert found[0]["theirs"]["scores"] == {"match": pytest.approx(2 / 3)}
    key = "pass@1(exact_match),flexible-extract"
    assert number(tmp_path / "run", "gsm8k", key) == pytest.approx(2 / 3)
    (tmp_path / "run").rename(tmp_path / "moved")
    assert cli("score", tmp_path / "moved").code == 0
    assert number(tmp_path / "moved", "gsm8k", key) == pytest.approx(2 / 3), "the folder knows its repeats"


def test_epochs_of_a_log_in_json_stand_apart(cli, tmp_path: Path) -> None:
    """The list of samples has epoch 1 of all questions first; one has no second epoch, and fails."""
    questions = [
        "How many legs has a spider in all, would you say?",
        "How many legs has a common house fly, at last count?",
    ]
    samples = [
        {"id": n, "epoch": epoch, "input": question, "target": "8",
         "output": {"completion": f"{n}{epoch}", "choices": [{"message": {}, "stop_reason": "stop"}]},
         "scores": {"match": {"value": "C" if epoch == 1 else "I"}}}
        for epoch in (1, 2) for n, question in enumerate(questions) if (n, epoch) != (1, 2)
    ]  # fmt: skip
    header = {"version": 2, "status": "success", "eval": {"task": "t", "config": {"epochs": 2}}}
    (tmp_path / "a.json").write_text(json.dumps({**header, "samples": samples}))
    from mm_eval.verbs.exports.logs.find import find_logs

    [log], _ = find_logs(tmp_path)
    first, second = log.rows()
    assert (first.resps, first.scores, first.failed) == (["01", "02"], {"match": 0.5}, "")
    assert (second.resps, second.failed) == (["11", None], "the log has no answer of epoch 2")
    for sample in samples:
        if sample["epoch"] == 2:
            sample["choices"] = ["x", "y"]
    (tmp_path / "a.json").write_text(json.dumps({**header, "samples": samples}))
    with pytest.raises(ConfigError, match="the options of epoch 2 differ from those of the first"):
        list(log.rows())


def test_several_answers_in_a_log_of_lm_eval_are_repeats(imported, tmp_path: Path) -> None:
    entries = [
        {"doc_id": n, "doc": {"question": question, "gold": gold}, "target": gold, "filter": "none",
         "arguments": {"gen_args_0": {"arg_0": question, "arg_1": {"until": ["\n"]}}}, "resps": [[gold, "?", gold]]}
        for n, (question, gold) in enumerate(zip(QUESTIONS, GOLDS, strict=True))
    ]  # fmt: skip
    log = lines(tmp_path / "m" / "samples_short_2026-01-02T03-04-05.jsonl", entries)
    done, folder = imported(log.parent, "short")
    assert done.code == 0, done.err
    assert number(folder, "short", "pass@1(exact_match),none") == pytest.approx(2 / 3)
    assert "the mean of their scores counts" in done.out
    assert all(row["ended"] == ["unknown"] * 3 for row in rows(folder, "short")), "the log does not say how they ended"


@pytest.mark.parametrize(
    ("counts", "metric", "said"),
    [
        (
            [1, 2, 1, 1, 1, 1, 1, 1],
            "exact_match,none",
            "1 row has more than the 1 answer of most rows: the first counts",
        ),
        ([2, 2, 2, 1, 2, 2, 2, 2], "pass@1(exact_match),none", "1 of 8 rows of the log left out"),
    ],
)
def test_a_row_with_another_number_of_answers_takes_no_other_row_along(
    imported, tmp_path: Path, counts: list[int], metric: str, said: str
) -> None:
    entries = [
        {"qid": f"q{n}", "q": question, "out": [GOLDS[n]] * count if count > 1 else GOLDS[n]}
        for n, (question, count) in enumerate(zip(QUESTIONS, counts, strict=True))
    ]
    done, folder = imported(lines(tmp_path / "mine.jsonl", entries), "short", "resps=out,id=qid,question=q")
    assert done.code == 0 and said in done.out, done.err + done.out
    assert number(folder, "short", metric) == 1.0


@pytest.mark.parametrize("columns", ["resps=out,id=qid,question=q", "resps=out,id=qid,question=q,target=gold"])
def test_short_questions_are_kept_where_id_and_text_are_equal(imported, tmp_path: Path, columns: str) -> None:
    answers = ["yes", "no", "4", "you", "蓝色", "yes", "red", "cat"]
    entries = [
        {"qid": f"q{n}", "q": question, "gold": GOLDS[n], "out": answer}
        for n, (question, answer) in enumerate(zip(QUESTIONS, answers, strict=True))
    ]
    done, folder = imported(lines(tmp_path / "mine.jsonl", entries[::-1]), "short", columns)
    assert done.code == 0, done.err
    assert number(folder, "short", "exact_match,none") == 5 / 8 and len(rows(folder, "short")) == 8
    assert "left out" not in done.out


def test_an_equal_id_with_another_text_is_still_no_match(imported, tmp_path: Path) -> None:
    entries = [
        {"qid": f"q{n}", "q": "Is it blue?" if n == 1 else each, "out": "yes"} for n, each in enumerate(QUESTIONS)
    ]
    done, folder = imported(lines(tmp_path / "mine.jsonl", entries), "short", "resps=out,id=qid,question=q")
    assert done.code == 0 and [row["doc_id"] for row in rows(folder, "short")] == [0, 2, 3, 4, 5, 6, 7]
    assert "no document of our data has this text (mine.jsonl:2)" in done.out


def test_null_is_no_answer_and_an_empty_text_is_one(imported, tmp_path: Path) -> None:
    entries = [{"qid": f"q{n}", "q": each, "out": None if n == 0 else ""} for n, each in enumerate(QUESTIONS)]
    done, folder = imported(lines(tmp_path / "mine.jsonl", entries), "short", "resps=out,id=qid,question=q")
    found = rows(folder, "short")
    assert done.code == 3 and found[0]["status"] == "failed" and "there is no answer" in found[0]["error"]["what"]
    assert [row["status"] for row in found[1:]] == ["answered"] * 7 and found[1]["resps"] == [""]
    table = "".join(f'"{entry["qid"]}","{entry["q"]}",{"" if n < 2 else "no"}\n' for n, entry in enumerate(entries))
    (tmp_path / "cells.csv").write_text("qid,q,out\n" + table)
    done, folder = imported(tmp_path / "cells.csv", "short", "resps=out,id=qid,question=q")
    assert done.code == 3 and [row["status"] for row in rows(folder, "short")] == ["failed"] * 2 + ["answered"] * 6


@pytest.mark.parametrize("answer", [{"text": "yes"}, True, [["yes", "no"]], ["yes", 5]])
def test_an_answer_of_a_wrong_type_is_refused(imported, tmp_path: Path, answer: object) -> None:
    entries = [{"q": each, "out": answer if n == 2 else "yes"} for n, each in enumerate(QUESTIONS)]
    if answer == ["yes", 5]:
        entries = [
            {"q": each, "out": [{"a": 1}]} if n == 2 else {"q": each, "out": ["yes"]}
            for n, each in enumerate(QUESTIONS)
        ]
    done, folder = imported(lines(tmp_path / "mine.jsonl", entries), "short", "resps=out,question=q")
    assert done.code == 2 and "mine.jsonl:3" in done.err and "is neither a text nor" in done.err
    assert not folder.exists()


def test_options_in_another_order_are_refused_for_answers_by_letter(cli, imported, tmp_path: Path) -> None:
    done = cli(
        "import", REAL / "inspect_ai-0.3.285-shuffled", "--output_path", tmp_path / "run", "--sample",
        "--task", "arc_easy=arc_easy@generate",
    )  # fmt: skip
    assert (
        done.code == 2
        and "the options of 8 of 8 rows are in another order" in done.err
        and not (tmp_path / "run").exists()
    )
    for name, options in (("same", COLOURS), ("turned", COLOURS[::-1])):
        cells = [[f'"Which colour has thing {n}, please?"', *options, "ABCD"[n]] for n in range(4)]
        (tmp_path / f"{name}.csv").write_text(
            "\n".join(map(",".join, [["q", "A", "B", "C", "D", "out"], *cells])) + "\n"
        )
    done, folder = imported(tmp_path / "same.csv", "mc@generate", "resps=out,question=q")
    assert done.code == 0 and number(folder, "mc", "exact_match,none") == 1
    done, folder = imported(tmp_path / "turned.csv", "mc@generate", "resps=out,question=q")
    assert done.code == 2 and "in another order" in done.err and "turned.csv:2" in done.err and not folder.exists()


def test_options_of_a_prompt_are_looked_at_too(imported, tmp_path: Path) -> None:
    def prompt(n: int, options: list[str]) -> str:
        listed = "\n".join(f"{letter}. {option}" for letter, option in zip("ABCD", options, strict=True))
        return f"Which is big?\nA. a mouse\nB. a whale\nAnswer: B\n\nWhich colour has thing {n}, please?\n{listed}\nAnswer:"

    for name, options, code in (("same", COLOURS, 0), ("turned", COLOURS[::-1], 2)):
        entries = [{"p": prompt(n, options), "out": "ABCD"[n]} for n in range(4)]
        done, _ = imported(lines(tmp_path / f"{name}.jsonl", entries), "mc@generate", "resps=out,prompt=p")
        assert done.code == code, done.err


def test_log_likelihoods_of_options_in_another_order_are_matched_by_text(imported, tmp_path: Path) -> None:
    order = [2, 0, 3, 1]
    entries = [
        {"doc_id": n, "doc": {"question": f"Which colour has thing {n}, please?", "choices": [COLOURS[i] for i in order]},
         "target": "0", "filter": "none", "resps": [[[-1.0 - (i != n), i == n]] for i in order],
         "arguments": {f"gen_args_{k}": {"arg_0": f"Which colour has thing {n}, please?", "arg_1": f" {COLOURS[i]}"}
                       for k, i in enumerate(order)}}
        for n in range(4)
    ]  # fmt: skip
    log = lines(tmp_path / "m" / "samples_mc_2026-01-02T03-04-05.jsonl", entries)
    done, folder = imported(log.parent, "mc")
    assert done.code == 0, done.err
    assert [[pair[1] for pair in row["resps"]].index(True) for row in rows(folder, "mc")] == [0, 1, 2, 3]
    assert number(folder, "mc", "acc,none") == 1


def test_numbers_of_a_log_that_are_none_cost_a_note(imported, tmp_path: Path) -> None:
    entries = [
        {"doc_id": n, "doc": {"question": each}, "target": float("nan"), "filter": "none", "resps": [["yes"]],
         "filtered_resps": [float("inf")], "metrics": ["m"], "m": float("nan")}
        for n, each in enumerate(QUESTIONS)
    ]  # fmt: skip
    log = lines(tmp_path / "m" / "samples_short_2026-01-02T03-04-05.jsonl", entries)
    results = {"results": {"short": {"m,none": float("nan"), "k,none": float("inf"), "ok,none": 0.5}}, "configs": {}}
    (log.parent / "results_2026-01-02T03-04-05.json").write_text(json.dumps(results))
    done, folder = imported(log.parent, "short")
    assert done.code == 0 and "its own m,none is nan, which is not a number" in done.out
    about = json.loads((folder / "imported" / "about.json").read_text(), parse_constant=pytest.fail)
    assert about["tasks"]["short"]["numbers"] == {"ok,none": 0.5}
    assert "NaN" not in (folder / "samples" / "short.jsonl").read_text()


def test_a_log_likelihood_that_is_none_fails_its_document(imported, tmp_path: Path) -> None:
    entries = [
        {"doc_id": n, "doc": {"question": f"Which colour has thing {n}, please?"}, "filter": "none",
         "resps": [[[float("nan") if n == 1 and i == 1 else -1.0 - (i != n), False]] for i in range(4)],
         "arguments": {f"gen_args_{i}": {"arg_0": "", "arg_1": f" {COLOURS[i]}"} for i in range(4)}}
        for n in range(4)
    ]  # fmt: skip
    log = lines(tmp_path / "m" / "samples_mc_2026-01-02T03-04-05.jsonl", entries)
    done, folder = imported(log.parent, "mc")
    assert done.code == 3 and [row["status"] for row in rows(folder, "mc")] == [
        "answered",
        "failed",
        "answered",
        "answered",
    ]
    assert "the log-likelihood is NaN" in rows(folder, "mc")[1]["error"]["what"]


def test_a_full_and_a_read_only_disk(cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ("import", REAL / "inspect_ai-0.3.285", "--sample", "--output_path")
    done = cli(*command, "/proc/none/run")
    assert done.code == 2 and "the run folder can't be written" in done.err

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "run"))

    monkeypatch.setattr(importing, "_write_task", full)
    done = cli(*command, tmp_path / "run")
    assert done.code == 3 and "No space left on device" in done.err and not (tmp_path / "run").exists()


def test_another_format_keeps_the_other_suites_scores_and_prompt(imported, tmp_path: Path) -> None:
    """The rows were looked for under another name, and showed the prompt that our task would have sent."""
    entries = [{"p": f"Hey! Which colour has thing {n}, please?", "out": "ABCD"[n], "right": 1} for n in range(4)]
    columns = "resps=out,prompt=p,scores.acc=right"
    done, folder = imported(lines(tmp_path / "mine.jsonl", entries), "mc@generate", columns)
    assert done.code == 0, done.err
    found = rows(folder, "mc")
    assert [row["theirs"]["scores"] for row in found] == [{"acc": 1.0}] * 4
    assert [row["prompt"] for row in found] == [entry["p"] for entry in entries]
    [pair] = json.loads((folder / "results.json").read_text())["imported"]["mc"]["pairs"]
    assert (pair["theirs"], pair["docs"], pair["differ"]) == ("acc", 4, 0)


WRONG = (5, True, [1], {"a": 1}, [[]])


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
@pytest.mark.parametrize(
    "place",
    [
        *(("results", each) for each in ("results", "results.t", "configs", "config", "n-shot", "model_name", "lm_eval_version")),
        *(("sample", each) for each in ("doc", "arguments", "resps", "filter", "metrics", "ended", "doc_id")),
    ],
    ids=str,
)  # fmt: skip
def test_wrong_types_in_a_log_of_lm_eval_have_file_and_line(
    tmp_path: Path, wrong: object, place: tuple[str, str]
) -> None:
    sample = {"doc_id": 0, "doc": {"q": "a"}, "resps": [["Yes"]], "filter": "none", "metrics": [], "target": "Yes"}
    results = {"results": {"t": {"acc,none": 1.0}}, "configs": {}, "config": {}, "n-shot": {}}
    kind, name = place
    if name == "results.t":
        results["results"] = {"t": wrong}
    else:
        (results if kind == "results" else sample)[name] = wrong
    _read(tmp_path, results, sample)


def _read(tmp_path: Path, results: object, sample: object) -> None:
    """Reads a log with an odd value: it is read, or refused with the file and, in a row, the line."""
    from mm_eval.verbs.exports.logs.find import find_logs

    (tmp_path / "results_2026-01-02T03-04-05.json").write_text(json.dumps(results))
    path = lines(tmp_path / "samples_t_2026-01-02T03-04-05.jsonl", [sample])
    try:
        [log], _ = find_logs(tmp_path)
        for row in log.rows():
            odd = [each for each in row.resps if importing._odd(each)]
            assert not odd or sample["resps"] != [["Yes"]]
    except ConfigError as error:
        assert error.where in (f"{path}:1", str(tmp_path / "results_2026-01-02T03-04-05.json"))


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
@pytest.mark.parametrize(
    "place",
    [
        "status", "eval", "eval.task", "eval.model", "eval.created", "eval.packages", "eval.config", "eval.config.epochs",
        "results", "results.scores", "samples.id", "samples.epoch", "samples.input", "samples.choices", "samples.messages",
        "samples.output", "samples.output.choices", "samples.output.completion", "samples.scores", "samples.metadata",
        "samples.attachments", "samples.error", "samples",
    ],
)  # fmt: skip
def test_wrong_types_in_a_log_of_inspect_have_the_file_and_the_sample(
    tmp_path: Path, wrong: object, place: str
) -> None:
    from mm_eval.verbs.exports.logs.find import find_logs

    output = {"completion": "8", "choices": [{"message": {}, "stop_reason": "stop"}]}
    sample = {"id": 1, "epoch": 1, "input": "q", "target": "8", "output": output, "scores": {"match": {"value": "C"}}}
    header = {
        "version": 2,
        "status": "success",
        "eval": {"task": "t", "config": {"epochs": 1}},
        "results": {"scores": []},
    }
    found: dict = {**header, "samples": [sample]}
    at, *keys = place.split(".")
    inside = found
    for key in [at, *keys][:-1]:
        inside = sample if key == "samples" else inside[key]
    inside[[at, *keys][-1]] = wrong if place != "samples" else [wrong]
    (tmp_path / "a.json").write_text(json.dumps(found))
    try:
        [log], _ = find_logs(tmp_path)
        assert all(each is None or isinstance(each, str) for row in log.rows() for each in row.resps)
    except ConfigError as error:
        assert error.where in (str(tmp_path / "a.json"), "a.json sample 1", f"a.json sample {wrong}")
