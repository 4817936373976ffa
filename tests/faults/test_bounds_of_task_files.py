"""A task file asks for more than any run needs: templates, groups and includes end at a bound, with file and line."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mm_eval.config.inline import stated_task
from mm_eval.config.manager import TaskManager
from mm_eval.prompt import template as bounds
from mm_eval.prompt.template import render
from mm_eval.values.errors import ConfigError, DataError
from tests.conftest import Ran
from tests.sets import each_of, few

BIG = "x y " * 100_000
DOC = {"q": "text", "items": list(range(50)), "tree": [{"below": []}], "n": 3, "big": BIG}

DOUBLED = "{% set ns = namespace(x=START) %}{% for i in range(60) %}{% set ns.x = AGAIN %}{% endfor %}{{ ns.x }}"


def doubled(start: str, again: str) -> str:
    return DOUBLED.replace("START", start).replace("AGAIN", again)


ENDLESS = {
    "nested loops": "{% for a in range(100000) %}{% for b in range(100000) %}x{% endfor %}{% endfor %}",
    "a loop whose condition never holds": "{% for a in range(100000) %}{% for b in range(100000) if 0 %}{% endfor %}{% endfor %}",
    "six loops over a column": "{% for a in items %}" * 6 + "x" + "{% endfor %}" * 6,
    "loops that write nothing": "{% for a in items %}" * 4 + "{% endfor %}" * 4,
    "a long loop body": "{% for i in range(100000) %}" + "x" * 10_000 + "{% endfor %}",
    "a column in a loop": "{% for i in range(100000) %}{{ big }}{% endfor %}",
    "slices in a loop": "{% for i in range(100000) %}{% set y = big[1:] %}{% endfor %}",
    "text times a number": "{{ 'a' * 20000000000 }}",
    "text times a float": "{{ 'a' * 2e10 }}",
    "a number times text": "{{ 20000000000 * 'a' }}!",
    "a list times a number": "{{ [0] * 20000000000 }}",
    "a power": "{{ 10 ** (10 ** 10) }}",
    "squares of squares": doubled("3", "ns.x * ns.x"),
    "a long range": "{{ range(10**9) | list }}",
    "a width after %": "{{ '%1000000000d' % 1 }}",
    "a width among the values": "{{ '%*d' % (1000000000, 1) }}",
    "a precision": "{{ '%.1000000000f' % 1.0 }}",
    "a width in format": "{{ '{:1000000000}'.format(1) }}",
    "a width made of two": "{{ '{:>{a}{b}}'.format(1, a=99999, b=99999) }}",
    "a width in format_map": "{{ '{a:1000000000}'.format_map({'a': 1}) }}",
    "a width in the filter": "{{ '%1000000000d' | format(1) }}",
    "one column shown often": "{{ ('{0}' * 3000).format(big) }}",
    "one column shown often after %": "{{ ('%(a)s' * 3000) % {'a': big} }}",
    "center": "{{ q | center(1000000000) }}",
    "center of a constant": "{{ 'a' | center(1000000000) }}!",
    "center of each": "{{ items | map('center', 1000000000) | list }}",
    "center of a block": "{% filter center(1000000000) %}x{% endfilter %}",
    "the method center": "{{ q.center(1000000000) }}",
    "zfill": "{{ q.zfill(1000000000) }}",
    "expandtabs": "{{ ('\t' * 1000).expandtabs(10000000) }}",
    "indent": "{{ q | indent(1000000000, true) }}",
    "indent of many lines": "{{ big.replace(' ', '\n') | indent(1000000) }}",
    "tojson": "{{ [[1]] | tojson(indent=1000000000) }}",
    "batch": "{{ items | batch(1000000000, 'x') | list }}",
    "slice": "{{ items | slice(1000000000) | list }}",
    "replace": "{{ big | replace(' ', big) }}",
    "the method replace": "{{ big.replace('', big) }}",
    "join": "{{ big.join(big) }}",
    "join of one text": "{{ ([big] * 1000) | join }}",
    "a list as text": "{{ ([big] * 1000) | string }}",
    "translate": "{{ big.translate({120: big}) }}",
    "to_bytes": "{{ n.to_bytes(10000000000, 'big') }}",
    "sum of lists": "{{ ([[1]] * 100000) | sum(start=[]) | length }}",
    "round": "{{ 1.5 | round(1000000000, 'ceil') }}",
    "a macro without end": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "a macro that calls itself twice": "{% macro f(n) %}{% if n %}{{ f(n-1) }}{{ f(n-1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    "a recursive loop": "{% for x in tree recursive %}{{ loop(tree) }}{% endfor %}",
    "a block in itself": "{% block a %}{{ self.a() }}{% endblock %}",
    "doubled with ~": doubled("'a'", "ns.x ~ ns.x"),
    "doubled with +": doubled("'a'", "ns.x + ns.x"),
    "doubled lists": doubled("[1]", "[ns.x, ns.x]"),
    "doubled mappings": doubled("[1]", "{'a': ns.x, 'b': ns.x}"),
    "doubled by a call": doubled("[1]", "dict(a=ns.x, b=ns.x)"),
    "doubled blocks": doubled("'a'", "1").replace("{% set ns.x = 1 %}", "{% set ns.x %}{{ns.x}}{{ns.x}}{% endset %}"),
    "an expression that backtracks": "{{ ('a' * 40) | regex_replace('(a+)+b', '') }}",
    "brackets": "{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}",
    "lists in lists": "{{ " + "[" * 3000 + "]" * 3000 + " }}!",
    "a long sum": "{{ " + "+".join(["1"] * 20_000) + " }}",
    "more loops than Python nests": "".join(f"{{% for a{n} in items %}}" for n in range(30)) + "{% endfor %}" * 30,
}


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bounds are reached many times sooner."""
    monkeypatch.setattr(bounds, "UNITS", 1_000_000)
    monkeypatch.setattr(bounds, "UNITS_A_CHARACTER", 2)
    monkeypatch.setattr(bounds, "SECONDS", 0.15)


@pytest.mark.usefixtures("soon")
@each_of("template", ENDLESS.values(), ids=ENDLESS.keys())
def test_a_template_ends_at_a_bound(template: str) -> None:
    started = time.thread_time()
    with pytest.raises((DataError, ConfigError), match="^doc 3: doc_to_text "):
        render(template, DOC, what="doc_to_text", where="doc 3")
    assert time.thread_time() - started < 5


@pytest.mark.slow
@pytest.mark.parametrize("template", ENDLESS.values(), ids=ENDLESS.keys())
def test_a_template_ends_at_the_bound_that_holds_in_a_run(template: str) -> None:
    started = time.thread_time()
    with pytest.raises((DataError, ConfigError), match="^doc 3: doc_to_text "):
        render(template, DOC, what="doc_to_text", where="doc 3")
    assert time.thread_time() - started < 12


@each_of(
    ("template", "shown"),
    [
        ("{% for c in items %}{{ loop.index }}/{{ loop.length }} {% endfor %}", "50/50 "),
        ("{{ big }}{{ big | trim | replace('x', 'z') }}", "z y"),
        ("{{ q[1:] ~ n ~ q }}{{ [n, n] | join(', ') }}", "ext3text3, 3"),
        ("{% macro f(x) %}{{ x.upper() }}{{ caller() }}{% endmacro %}{% call f(q) %}!{% endcall %}", "TEXT!"),
        ("{{ '%5.1f|%s' % (2.25, q) }} {{ '{:>6}'.format(q) }} {{ q | center(8) }}", "  2.2|text   text   text  "),
        ("{% for i in range(3000) %}{% for c in items if c < 3 %}{{ c }}{% endfor %}{% endfor %}", "012012"),
        ("{{ '%s' % [q, {'a': n}] }} {{ (q * 2)[::-1] }} {{ {'a': (1, 2)} | tojson }}", "['text', {'a': 3}] txettxet"),
        ("{{ 'a1b22' | regex_replace('[0-9]+', '<\\\\g<0>>') }}.", "a<1>b<22>."),
        (
            "{% set ns = namespace(l=[]) %}{% for i in range(900) %}{% set ns.l = ns.l + [i] %}{% endfor %}{{ ns.l[-1] }}.",
            "899.",
        ),
    ],
)
def test_a_template_that_a_benchmark_may_have_is_within_the_bounds(template: str, shown: str) -> None:
    assert shown in render(template, DOC)


def test_a_doc_of_five_million_characters_is_no_work() -> None:
    long = {"context": "word " * 1_000_000, "q": "Why?"}
    shown = render("{{ context }}\n\n{{ context | replace('word', 'name') | trim }} {{ q }}", long)
    assert len(shown) > 9_000_000 and shown.endswith("Why?")


ENDS = "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}"
BASE = {"doc_to_text": "question", "doc_to_target": "answer", "output_type": "generate_until"}


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize(
    ("entries", "line"),
    few(
        [
            ({"doc_to_text": f"{ENDS}Q"}, 6),
            ({"doc_to_target": f"{ENDS}Q"}, 7),
            ({"output_type": "multiple_choice", "doc_to_choice": f"{ENDS}Q"}, 9),
            ({"gen_prefix": f"{ENDS}Q"}, 9),
            ({"description": f"{ENDS}Q"}, 9),
            ({"formats": f"{{mcqa: {{question: '{ENDS}', choices: options}}}}"}, 9),
            ({"num_fewshot": 1, "fewshot_config": f"{{doc_to_text: '{ENDS}'}}"}, 10),
        ],
        at=[0, 5],
    ),
    ids=lambda value: next(reversed(value)) if isinstance(value, dict) else "",
)
def test_whichever_entry_renders_it_the_error_has_file_and_line_before_anything_is_asked(
    cli: Callable[..., Ran], tmp_path: Path, entries: dict[str, object], line: int
) -> None:
    rows = [{"question": f"q{n}", "answer": "a", "options": ["a", "b"]} for n in range(3)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    stated = {**BASE, **entries}
    if "formats" in entries:
        del stated["output_type"]
        stated = {"fewshot_delimiter": "x", **stated}
    head = "task: endless\ndataset_path: json\ndataset_kwargs: {data_files: {test: rows.jsonl}}\ntest_split: test\n# a task\n"
    body = "".join(
        f"{key}: {value if str(value)[:1] != '{' or key in ('formats', 'fewshot_config') else json.dumps(value)}\n"
        for key, value in stated.items()
    )
    (tmp_path / "endless.yaml").write_text(head + body)
    ran = cli("--tasks", "endless", "--include_path", tmp_path, "--model", "dummy", "--output_path", tmp_path / "out")
    assert ran.code == 2 and "is too much to render" in ran.err, ran.err
    assert f"endless.yaml:{line}: " in ran.err
    assert not list(tmp_path.glob("out/journal/*"))


LEAF = "dataset_path: d\ntest_split: t\ndoc_to_text: q\ndoc_to_target: a\n"


def refused(folder: Path, name: str) -> str:
    started = time.process_time()
    with pytest.raises(ConfigError) as caught:
        TaskManager(folder, include_defaults=False).load(name)
    assert time.process_time() - started < 10
    return str(caught.value)


def chain(folder: Path, count: int, text: Callable[[str, str, int], str]) -> None:
    (folder / "leaf.yaml").write_text(f"task: leaf\n{LEAF}")
    for step in range(count):
        below = f"e{step + 1}" if step + 1 < count else "leaf"
        (folder / f"e{step}.yaml").write_text(text(f"e{step}", below, step))


@pytest.mark.full
def test_forty_groups_that_each_name_the_next_one_twice(tmp_path: Path) -> None:
    chain(tmp_path, 40, lambda name, below, _: f"group: {name}\ntask:\n  - {below}\n  - {below}\n")
    message = refused(tmp_path, "e0")
    assert "e39.yaml:3: " in message and "more than 1,000 times" in message


@pytest.mark.full
def test_groups_that_double_by_two_ways_of_naming_the_next_one(tmp_path: Path) -> None:
    members = "  - {{task: {0}, num_fewshot: 1}}\n  - {{task: {0}, num_fewshot: 2}}\n"
    chain(tmp_path, 30, lambda name, below, _: f"group: {name}\ntask:\n{members.format(below)}")
    assert "more than 1,000 times" in refused(tmp_path, "e0")
    assert "more than 1,000 times" in refused(tmp_path, "e0::e1::e2")
    assert "more than 1,000 times" in refused(tmp_path, "e?")


def test_groups_nested_three_hundred_deep(tmp_path: Path) -> None:
    chain(tmp_path, 300, lambda name, below, _: f"group: {name}\ntask: [{below}]\n")
    message = refused(tmp_path, "e0")
    assert "e49.yaml:2: more than 50 groups are nested in each other." in message
    assert list(TaskManager(tmp_path, include_defaults=False).load("e260").tasks) == ["leaf"]


def test_members_that_are_written_out_three_hundred_deep(tmp_path: Path) -> None:
    inner: dict[str, object] = {"task": "t", "dataset_path": "d", "test_split": "t", "doc_to_text": "q"}
    for depth in range(300):
        inner = {"group": f"g{depth}", "task": [inner]}
        if depth == 59:
            with pytest.raises(ConfigError, match="more than 50 groups"):
                TaskManager(tmp_path, include_defaults=False).load([inner])
    inner["task"] = [inner]
    for load in (lambda: TaskManager(tmp_path, include_defaults=False).load([inner]), lambda: stated_task(inner)):
        with pytest.raises(ConfigError, match="a mapping among the tasks has more than 200 levels"):
            load()


def test_files_that_include_each_other_three_hundred_deep_or_twice_each(tmp_path: Path) -> None:
    for step in range(300):
        (tmp_path / f"_{step}").write_text(f"include: [_{step + 1}, _{step + 1}]\nnum_fewshot: {step}\n")
    (tmp_path / "_300").write_text(LEAF)
    for step in (0, 260):
        (tmp_path / f"t{step}.yaml").write_text(f"task: t{step}\ninclude: _{step}\n")
    assert "more than 50 files include each other in a row." in refused(tmp_path, "t0")
    assert TaskManager(tmp_path, include_defaults=False).load("t260").tasks["t260"].num_fewshot == 260
