"""Names and texts from data, YAML, models and folders: none steers a terminal, forges a line, or is markup in a table or page."""

import ast
import csv
import io
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from mm_eval.cli import main
from mm_eval.values.safe import csv_cell, href, html, in_line, in_script, json_safe, latex, markdown, terminal_safe
from tests.sets import each_of, few

ROOT = Path(__file__).parent.parent.parent
STEERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
NASTY = "\x1b]0;owned\x07\x1b[2J\u202egnp\u2066\u2028\x9b31m a|b [x](javascript:a(1))</script></title><img src=x onerror=a(1)>"
FORGED = "\nforged  2000.00 ±    0.00"


def written(text: str) -> str:
    """A YAML string of any text."""
    return json.dumps(text + FORGED)


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a task whose every name and text is hostile, and a run of it."""
    folder = tmp_path_factory.mktemp("attacked")
    tasks = folder / "tasks"
    tasks.mkdir()
    (tasks / "evil.yaml").write_text(f"""
task: evil
task_alias: {written("=1+1" + NASTY)}
tag: {written("tag" + NASTY)}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {folder / "data.jsonl"}}}}}
test_split: test
doc_to_text: "{{{{ question }}}}{{% if post_prompt %}}!{{% endif %}}"
doc_to_target: answer
process_results: !function utils.score
metric_list: [{{metric: "=m|x</script>", aggregation: mean, higher_is_better: true}}]
model_specific_prompt_kwargs:
  default: {{post_prompt: {written(NASTY)}}}
  {written("key" + NASTY)}: {{post_prompt: "?"}}
metadata: {{version: {written(NASTY)}}}
""")
    (tasks / "evils.yaml").write_text(f"""
group: evils
group_alias: {written("@group" + NASTY)}
task: [evil]
aggregate_metric_list: [{{metric: "=m|x</script>"}}]
""")
    (tasks / "utils.py").write_text(
        "def score(doc, results):\n    return {'=m|x</script>': float(results[0] == doc['answer'])}\n"
    )
    rows = [{"question": f"{n}{NASTY}", "answer": NASTY, "category": f"{n % 2}{NASTY}{FORGED}"} for n in range(4)]
    (folder / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    answers = [{"task": "evil", "doc_id": n, "resps": [NASTY + FORGED]} for n in range(4)]
    (folder / f"a{NASTY.replace('/', '')}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    return folder


def command(folder: Path, words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Runs words in which RUN, TASKS, ANSWERS and AT stand for places in the folder."""
    [answers] = folder.glob("a*.jsonl")
    names = {"RUN": str(folder / "run"), "TASKS": str(folder / "tasks"), "AT": str(folder)}
    arguments = json.dumps({"path": str(answers)})
    given = [
        arguments if word == "ANSWERS" else names.get(word, word.replace("AT/", f"{folder}/")) for word in words.split()
    ]
    capsys.readouterr()
    code = main([word.replace("NASTY", NASTY) for word in given])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


RUN = "--tasks evils --include_path TASKS --model replay --model_args ANSWERS --output_path RUN"
COMMANDS = [
    ("ls tasks --include_path TASKS", 0),
    ("ls tags --include_path TASKS", 0),
    ("ls groups --include_path TASKS", 0),
    ("show evil --include_path TASKS --model dummy", 0),
    ("show evil --include_path TASKS --model dummy --keys default,nope", 2),
    ("validate evil --include_path TASKS", 0),
    ("prompts --tasks evil --include_path TASKS --model dummy --output_path AT/prompts", 0),
    ("prompts --tasks evil --include_path TASKS --model dummy --output_path AT/prompts --format json", 0),
    ("compare RUN RUN --html AT/compared.html", 0),
    ("compare RUN RUN --format json", 0),
    ("report RUN", 0),
    ("report RUN RUN --format html", 0),
    ("report RUN --format md", 0),
    ("report RUN --format latex", 0),
    ("report RUN --format csv", 0),
    ("score RUN --include_path TASKS", 0),
    ("--tasks NASTY", 2),
    ("--tasks mme --NASTY", 2),
    ("NASTY", 2),
    ("--tasks mme --config NASTY", 2),
    ("--tasks mme --model NASTY", 2),
    ("--tasks mme --model dummy --sample --prompt_key NASTY", 2),
    ("report NASTY", 2),
]


@pytest.mark.parametrize("words, expected", [(RUN, 0), *COMMANDS], ids=lambda value: str(value)[:40])
def test_no_command_prints_what_a_terminal_obeys(attacked: Path, words: str, expected: int, capsys) -> None:
    code, out, err = command(attacked, words, capsys)
    assert code == expected, err
    assert not STEERS.search(out + err)
    for line in (out + err).splitlines():
        assert not line.startswith("forged"), "a name made a line of its own"


def test_json_for_programs_has_the_very_names(attacked: Path, capsys) -> None:
    command(attacked, RUN, capsys)
    _, out, _ = command(
        attacked, "prompts --tasks evil --include_path TASKS --model dummy --output_path AT/p --format json", capsys
    )
    [model] = json.loads(out)["models"]
    assert list(model["blocks"])[1] == "key" + NASTY + FORGED


@pytest.mark.parametrize("name", few(["run/report.html", "compared.html", "prompts/prompts.html"], at=[0]))
def test_a_page_is_made_of_its_own_elements_only(attacked: Path, name: str, capsys) -> None:
    for words in (RUN, COMMANDS[6][0], COMMANDS[8][0]):
        command(attacked, words, capsys)
    text = (attacked / name).read_text(encoding="utf-8")
    tags: list[str] = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
            tags.append(tag)

    Tags().feed(text)
    assert tags.count("script") == 4 and tags.count("title") == 1 and "img" not in tags
    assert not STEERS.search(re.sub(r"<script>.*</script>", "", text, flags=re.S)), "outside of the page's own script"
    for part in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', text, flags=re.S):
        json.loads(part)
    assert NASTY in json.loads(re.findall(r'id="rows">(.*?)</script>', text, flags=re.S)[0])[0]["p"], "kept as it is"


def test_a_table_in_any_format_has_its_own_cells_only(attacked: Path, capsys) -> None:
    command(attacked, RUN, capsys)
    markdown_table = command(attacked, "report RUN --format md", capsys)[1].splitlines()
    bars = [len(re.findall(r"(?<!\\)\|", line)) for line in markdown_table]
    assert bars[:3] == [3, 3, 3] and not any(bars[3:]), "a table of one model, and what else there is"
    assert not re.search(r"(?<!\\)\[x|(?<!&lt;)<img", "\n".join(markdown_table))
    rows = list(csv.reader(io.StringIO(command(attacked, "report RUN --format csv", capsys)[1])))
    assert [len(row) for row in rows] == [17, 17, 17]
    assert not [cell for row in rows for cell in row if cell.lstrip()[:1] in tuple("=+-@")]
    latex_table = command(attacked, "report RUN --format latex", capsys)[1].splitlines()
    assert len(latex_table) == 9 and all(line.count("&") == 1 for line in latex_table if line.endswith(r"\\"))


@pytest.mark.parametrize(
    "text, escaped",
    [
        ("a\tb\r\n\x1b[0m\x9b\u202e\U000e0041\ud800", r"a\tb\r\n\x1b[0m\x9b\u202e\U000e0041\ud800"),
        ("Ünï 模型\u3000x\xa0y é", "Ünï 模型\u3000x\xa0y é"),
    ],
)
def test_what_is_shown_and_what_is_written_out(text: str, escaped: str) -> None:
    assert in_line(text) == escaped
    assert terminal_safe("a\nb\x1b") == "a\nb\\x1b"
    assert json.loads(json_safe(json.dumps(text, ensure_ascii=False))) == text == json.loads(in_script(text))
    assert len(in_line("x" * 1000, 50)) <= 50


@each_of(
    "text, in_markdown",
    [
        ("a|b", r"a\|b"),
        ("![x](http://e.example)", r"!\[x\](http://e.example)"),
        ("<b>&amp;", "&lt;b>&amp;amp;"),
        ("*x* _y_ `z` ~~u~~ $v$ a_b", r"\*x\* \_y\_ \`z\` \~\~u\~\~ \$v\$ a_b"),
        ("@somebody task@mcqa", "&#64;somebody task@mcqa"),
        ("# a", r"\# a"),
        ("> a", r"\> a"),
        ("1. a", r"1\. a"),
        ("- a\n| --- |", r"\- a \| --- \|"),
        ("2024", "2024"),
    ],
)
def test_markdown_is_text(text: str, in_markdown: str) -> None:
    assert markdown(text) == in_markdown


@each_of(
    "text, in_latex",
    [
        ("\\input{/etc/passwd}", r"\textbackslash{}input\{/etc/passwd\}"),
        ("50% & $x_1^2$ #~", r"50\% \& \$x\_1\textasciicircum{}2\$ \#\textasciitilde{}"),
        ("[2ex] x", "{[}2ex] x"),
        ("* x", "{*} x"),
        ("a--b\n\\\\", r"a-{}-b \textbackslash{}\textbackslash{}"),
    ],
)
def test_latex_is_text(text: str, in_latex: str) -> None:
    assert latex(text) == in_latex


@each_of("text", ["=1", "+1", "-1", "@a", "\t=1", " =1", "\r\n=1", "＝1", "＋1", "－1", "＠a"])
def test_no_cell_of_a_spreadsheet_is_a_formula(text: str) -> None:
    assert csv_cell(text).startswith("'")
    assert csv_cell(f"x;{text.strip()}").startswith("x;'")


def test_a_folder_is_no_address_of_its_own() -> None:
    assert href(Path("javascript:alert(1)/report.html")).startswith("javascript%3Aalert")
    assert href(Path("../a#b?c%d\udcff/report.html")) == "../a%23b%3Fc%25d%FF/report.html"
    assert html("<\"'&\x1b") == "&lt;&quot;&#39;&amp;\\x1b"


@pytest.mark.full
def test_nothing_but_one_file_prints() -> None:
    """A text that is printed elsewhere would pass by `report.safe`; progress prints no text of anybody's."""
    allowed = {ROOT / "mm_eval/cli/say.py", ROOT / "mm_eval/cli/progress.py"}
    allowed.add(ROOT / "mm_eval/verbs/report/release/progress.py")  # by `in_line`
    allowed.add(ROOT / "mm_eval/scoring/filters/pattern_search.py")  # a child's answers to its parent
    allowed.add(ROOT / "tasks/mmlongbench_doc/draw.py")  # a script that people run; it prints counts
    allowed.add(ROOT / "mm_eval/foreign_code/child/stand_ins/logger.py")  # a child, whose output its parent cleans
    allowed.add(ROOT / "mm_eval/sandbox/inside/supervisor.py")  # JSON lines to its parent, from inside the sandbox
    for path in [path for folder in ("mm_eval", "models", "tasks") for path in (ROOT / folder).rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and path not in allowed:
                called = ast.unparse(node.func)
                assert called not in ("print", "sys.stdout.write", "sys.stderr.write"), f"{path}:{node.lineno}"


OWN_FAULT = """
import sys
import mm_eval.cli as cli

def dispatch(words):
    if words:
        cli.say("± \\u6a21")
        return 0
    raise RuntimeError("\\x1b[2J\\u202e")

cli._dispatch = dispatch
sys.exit(cli.main())
"""


def test_a_fault_of_our_own_and_an_ascii_stream() -> None:
    """Python's own traceback quotes data as well, and a terminal may not know every character."""

    def ran(*words: str) -> "subprocess.CompletedProcess[str]":
        environment = {"PYTHONIOENCODING": "ascii", "PYTHONPATH": str(ROOT), "PATH": ""}
        command = [sys.executable, "-c", OWN_FAULT, *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    assert ran("x").stdout == "\\xb1 \\u6a21\n"
    failed = ran()
    assert failed.returncode == 70 and "RuntimeError: \\x1b[2J\\u202e" in failed.stderr and "\x1b" not in failed.stderr
