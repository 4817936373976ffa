"""Named protocols as text: the verdicts below a run's table, a protocol in full, the list of all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from mm_eval.config.located import shown_path
from mm_eval.protocols.protocol import Condition, Missing, Protocol, ReportedNumbers, Setting
from mm_eval.results.protocol_verdicts import shown
from mm_eval.results.table import Column, Row, Table, fitted, left_out, terminal_width, to_broken_text, to_text
from mm_eval.values.types import JsonObject


def listed(protocols: Sequence[Protocol]) -> Iterator[str]:
    """A table of protocols: what each is of, and for which models it has numbers."""
    columns = [Column("protocol", "text"), Column("of", "text"), Column("benchmarks")]
    columns += [Column("models", "text")]
    rows = [
        Row(
            {
                "protocol": each.name,
                "of": each.title,
                "benchmarks": str(len(each.benchmarks)),
                "models": ", ".join(each.models),
            }
        )
        for each in protocols
    ]
    yield from to_broken_text(Table(columns, rows), terminal_width()).split("\n")
    yield "`mm-eval protocols NAME` lists its report, settings and scores."


def _fitted(protocol: Protocol) -> Iterator[str]:
    """The table of numbers within the terminal, and what was left out for it; a cell for all models where they have no room."""
    width = terminal_width()
    shown, out = fitted(_numbers(protocol), width, longest=None)
    lines = to_text(shown, longest=None).split("\n")
    if len(protocol.models) > 1 and max(map(len, lines)) > width:
        yield from to_broken_text(_numbers_in_words(protocol), width).split("\n")
    else:
        yield from (*lines, *left_out(out))


def described(protocol: Protocol) -> Iterator[str]:
    """A protocol in full: its settings, conditions and numbers, each with how it is known."""
    report = f" ({protocol.report})" if protocol.report else ""
    yield f"{protocol.name}: {protocol.title}{report}"
    yield from ([protocol.about] if protocol.about else [])
    yield f"file: {shown_path(protocol.file)}"
    for model, checkpoints in protocol.models.items():
        yield f"model {model}: {', '.join(checkpoints)}" if checkpoints else f"model {model}"
    yield from _block("settings of every benchmark", map(_setting, protocol.settings.values()))
    yield from _block("also, beyond the settings", map(_condition, protocol.conditions))
    yield from ["", "numbers"]
    yield from _fitted(protocol)
    alike: dict[tuple[str, ...], list[str]] = {}
    for task, benchmark in protocol.benchmarks.items():
        lines = [*map(_setting, benchmark.settings.values()), *map(_condition, benchmark.conditions)]
        lines += [f"number{_about(each)}: {_known(each.known, each.source)}" for each in benchmark.reported]
        lines += [f"not comparable: {each.not_comparable}" for each in benchmark.reported if each.not_comparable]
        alike.setdefault(tuple(lines), []).append(task)
    for said, tasks in alike.items():
        yield from _block(", ".join(tasks), said)
    yield from _block("reported, but no task here measures it", _missing(protocol.missing))


def provenance(protocol: Protocol, path: str) -> list[str]:
    """How the settings of the task with this path are known, for `mm-eval show`; or that the protocol does not have it."""
    benchmark = protocol.benchmark_of(path)
    if benchmark is None:
        return [f"protocol {protocol.name}: it does not have this benchmark"]
    lines = [f"protocol {protocol.name} ({protocol.title}): its settings for {benchmark.task}, and how each is known"]
    lines += [f"  {_setting(each)}" for each in protocol.settings_of(benchmark).values()]
    return lines + [f"  also: {_condition(each)}" for each in (*benchmark.conditions, *protocol.conditions)]


def _block(title: str, lines: Iterable[str]) -> Iterator[str]:
    found = list(lines)
    if found:
        yield from ("", title, *(f"  {line}" for line in found))


def _setting(setting: Setting) -> str:
    return f"{setting.name}: {plain_text(setting.value)} - {_known(setting.known, setting.source)}"


def _condition(condition: Condition) -> str:
    return f"{condition.what} - {_known(condition.known, condition.source)}"


def _about(reported: ReportedNumbers) -> str:
    return f" ({reported.about})" if reported.about else ""


def _known(known: str, source: str) -> str:
    return f"{known}: {source}" if source else known


def plain_text(value: object) -> str:
    """A setting's value in one line: a mapping as "a=1, b=2", a text as it is written in Python."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={each!r}" for name, each in value.items())
    return repr(value)


def _numbers(protocol: Protocol) -> Table:
    columns = [Column("task", "text"), Column("metric", "text"), *map(Column, protocol.models)]
    columns += [Column("tolerance", spare=1), Column("known", "text", spare=1)]
    rows = []
    for task, benchmark in protocol.benchmarks.items():
        for reported in benchmark.reported:
            cells: JsonObject = {"task": task, "metric": reported.label, "known": reported.known}
            cells |= {model: shown(reported.numbers.get(model), reported.scale) for model in protocol.models}
            rows.append(Row({**cells, "tolerance": shown(reported.tolerance, reported.scale)}))
    return Table(columns, rows)


def _numbers_in_words(protocol: Protocol) -> Table:
    rows = [
        Row({"task": task, "metric": reported.label, "numbers": ", ".join(_of_models(reported))})
        for task, benchmark in protocol.benchmarks.items()
        for reported in benchmark.reported
    ]
    return Table([Column("task", "text"), Column("metric", "text"), Column("numbers", "text")], rows)


def _of_models(reported: ReportedNumbers) -> Iterator[str]:
    for model, value in reported.numbers.items():
        yield f"{model} {shown(value, reported.scale)}"


def _missing(missing: Sequence[Missing]) -> Iterator[str]:
    """A line each; a source that all numbers have stands once, below them."""
    sources = list(dict.fromkeys(_known(each.known, each.source) for each in missing if each.numbers))
    once = len(sources) == 1 and len(missing) > 1
    for each in missing:
        yield f"{each.benchmark}: {each.why}{_values(each, with_source=not once)}"
    if once:
        yield f"numbers: {sources[0]}"


def _values(missing: Missing, with_source: bool) -> str:
    if not missing.numbers:
        return ""
    values = ", ".join(f"{model} {value:g}" for model, value in missing.numbers.items())
    lower = "; lower is better" if missing.direction == "lower" else ""
    source = f"; {_known(missing.known, missing.source)}" if with_source else ""
    return f" ({values}{lower}{source})"
