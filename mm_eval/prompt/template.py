"""Jinja templates of task files, rendered in a sandbox and within bounds.

A template can take more time or memory than any prompt needs: nested loops, `'a' * 20000000000`, a macro that calls itself.
So each rendering has a budget of units. Every loop iteration, call, filter and operator costs units, and so does every character
and list item that is made; an operation that could make a large value is checked before it runs. A rendering that exceeds its
budget or `SECONDS` of CPU time fails. Units do not depend on the machine, so the same template fails everywhere.
"""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.meta import find_undeclared_variables
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedFormatter
from jinja2.visitor import NodeTransformer

from mm_eval.values.errors import ConfigError, DataError, kind_and_text
from mm_eval.values.types import Doc

UNITS = 10_000_000
"""The budget of a rendering, beside `UNITS_A_CHARACTER` for each character of the doc."""

UNITS_A_CHARACTER = 20
STEP, CALL, ITEM = 10, 50, 5
"""The cost of an iteration (also of a filter or operator), of a call, and of a list's item; a character costs 1."""

SECONDS = 5.0
MAX_BITS = 100_000
"""The largest whole number that an operator may make; Python itself prints at most 4,300 digits."""

CONTAINERS = (list, tuple, dict, set, frozenset)

_LEAF = 24
"""The characters assumed for a value that is neither text, container nor whole number: a float, a date."""

_CONVERSION = re.compile(r"%(?:\([^)]*\))?[-+ #0]*(\*|\d+)?(?:\.(\*|\d+))?")


class TooMuch(Exception):
    """A rendering exceeds a bound. The message says which one."""


class Meter:
    """The budget of one rendering."""

    def __init__(self, doc: Doc) -> None:
        self.left, self._doc, self._steps = UNITS, doc, 0
        self._extended = False
        self._ends: float | None = None  # from the first check: the clock takes as long as many renderings

    def step(self, units: int = STEP) -> None:
        """One loop iteration, call, filter or operator."""
        self.spend(units)
        self._steps += 1
        if not self._steps & 0xFF:
            self.check_time()

    def check_time(self) -> None:
        now = time.thread_time()
        self._ends = self._ends or now + SECONDS
        if now > self._ends:
            raise TooMuch(f"it runs for more than {SECONDS:.0f} s")

    def spend(self, units: float) -> None:
        self.require(units)
        self.left -= int(units)

    def require(self, units: float) -> None:
        """Raises TooMuch if fewer units are left."""
        if units > self.left and units > self.room():
            raise TooMuch(f"it takes more than {UNITS:,} units of work (a character costs 1, an iteration {STEP})")

    def room(self) -> int:
        """The units that are left. Those for the size of the doc are added when they are first needed."""
        if not self._extended:
            self._extended = True
            self.left += UNITS_A_CHARACTER * length(self._doc)
        return self.left

    def size(self, value: object) -> int:
        """The characters of a value as text, counted up to the units that are left."""
        found = length(value, self.left + 1)
        return found if found <= self.left else length(value, self.room() + 1)

    def made(self, value: object) -> Any:
        """The value, after spending its size."""
        if isinstance(value, (str, bytes)):
            self.spend(len(value))
        elif isinstance(value, CONTAINERS):
            self.spend(ITEM * count(value, self.room() + 1))
        elif isinstance(value, int) and value.bit_length() > MAX_BITS:
            raise TooMuch(f"it makes a number of more than {MAX_BITS:,} bits")
        return value


METER: ContextVar[Meter | None] = ContextVar("meter", default=None)


def meter() -> Meter:
    """The meter of the current rendering, or a new one."""
    return METER.get() or Meter({})


def count(value: object, limit: float = float("inf")) -> int:
    """The number of values in a value, at all depths. Counting stops soon after `limit`."""
    total, pending = 1, [value]
    while pending and total <= limit:
        item = pending.pop()
        if isinstance(item, CONTAINERS):
            total += len(item)
            inside = item.values() if isinstance(item, dict) else item
            pending += [below for below in inside if isinstance(below, CONTAINERS)]
    return total


def length(value: object, limit: float = float("inf")) -> int:
    """The approximate number of characters of a value as text. Counting stops soon after `limit`."""
    total, pending = 0, [value]
    while pending and total <= limit:
        item = pending.pop()
        if isinstance(item, (str, bytes)):
            total += len(item)
        elif isinstance(item, CONTAINERS):
            total += 2 + 2 * len(item)
            pending += [*item.keys(), *item.values()] if isinstance(item, dict) else item
        else:
            total += item.bit_length() // 3 + 2 if isinstance(item, int) else _LEAF
    return total


def percent(template: object, values: object, limit: float = float("inf")) -> float:
    """`'%10d' % 3`: the widths in the text, the widths among the values, and each value as often as it is shown."""
    text = template.decode("latin-1") if isinstance(template, bytes) else str(template)
    found = _CONVERSION.findall(text)
    given = list(values.values()) if isinstance(values, Mapping) else values if isinstance(values, tuple) else [values]
    stars: float = sum(part == "*" for parts in found for part in parts)
    largest: float = max((_number(value) for value in given), default=0)
    widths: float = sum(float(part) for parts in found for part in parts if part.isdigit()) + stars * largest
    shown = length(values, limit) + 400  # a float may have 309 digits before its point
    return len(text) + widths + shown * (len(found) if isinstance(values, Mapping) else 1) + 400 * len(found)


def _number(value: object) -> int | float:
    """A width or a count; 0 for other values, for which the operation itself fails."""
    return abs(value) if isinstance(value, (int, float)) else 0


def _length_of_replace(text: Any, old: Any, new: Any, times: object = None, **_: object) -> float:
    return (text.count(old) + 1) * len(new) if isinstance(old, (str, bytes)) and isinstance(new, (str, bytes)) else 0


def _length_of_join(items: Iterable[Any], between: Any) -> float:
    return length(items) + len(items) * len(between) if isinstance(items, (list, tuple, str, dict)) else 0


def _depth(value: object) -> int:
    depth, level = 0, [value]
    while level := [
        below
        for item in level
        if isinstance(item, (Mapping, list, tuple))
        for below in (item.values() if isinstance(item, Mapping) else item)
    ]:
        depth += 1
    return depth


def _as_json(value: Any, indent: Any = None) -> float:
    return 6 * length(value) + count(value) * (_number(indent) or len(indent or "")) * _depth(value)


_TEXT_FILTERS = """string upper lower title capitalize trim escape e forceescape urlencode striptags center indent truncate
wordwrap wordcount replace format urlize pprint tojson xmlattr regex_replace filesizeformat"""
READ_AS_TEXT = frozenset(_TEXT_FILTERS.split())
"""Filters that convert their value to text first, also a list."""

FILTERS: dict[str, Callable[..., float]] = {
    "center": lambda value, width=80: _number(width),
    "indent": lambda s, width=4, *_, **__: (
        (str(s).count("\n") + 1) * (len(width) if isinstance(width, str) else _number(width))
    ),
    "batch": lambda value, linecount, fill_with=None: _number(linecount),
    "slice": lambda value, slices, fill_with=None: _number(slices),
    "wordwrap": lambda s, *args, **kwargs: len(str(s)) * (1 + length([args, kwargs])),
    "urlize": lambda value, *args, **kwargs: len(str(value)) * (1 + length([args, kwargs])),
    "replace": lambda s, old, new, count=None: _length_of_replace(str(s), str(old), str(new)),
    "join": lambda value, d="", attribute=None: _length_of_join(value, str(d)),
    "format": lambda value, *args, **kwargs: percent(value, kwargs or args),
    "tojson": _as_json,
    "pprint": lambda value: length(value) + count(value) * _depth(value),
    "round": lambda value, precision=0, method="common": 1000 * _number(precision) ** 2,
    "sum": lambda items, attribute=None, start=0: 0 if isinstance(start, (int, float)) else count(items) ** 2,
}
"""The cost of a filter, from the filter's own arguments. The result of any other filter is at most as large as its value."""

METHODS: dict[str, Callable[..., float]] = {
    **dict.fromkeys(("center", "ljust", "rjust"), lambda text, width, *_: _number(width)),
    "zfill": lambda text, width: _number(width),
    "expandtabs": lambda text, tabsize=8: text.count("\t" if isinstance(text, str) else b"\t") * _number(tabsize),
    "replace": _length_of_replace,
    "join": lambda text, items: _length_of_join(items, text),
    "translate": lambda text, table, **_: (
        len(text) * max((length(value) for value in table.values()), default=1) if isinstance(table, Mapping) else 0
    ),
    "to_bytes": lambda number, length=1, *_, **__: _number(length),
}
"""The cost of a method of a text, bytes or number. The result of any other method is at most a few times its arguments."""


NONE: Mapping[str, object] = {}
_ONE_EXPRESSION = re.compile(r"(\s*)\{\{[-+]?(.+?)-?\}\}(\s*)\Z", re.DOTALL)


def render(
    template: str,
    doc: Doc,
    *,
    what: str = "template",
    where: str = "",
    spaced: bool = False,
    keywords: Mapping[str, object] = NONE,
) -> object:
    """The value of a Jinja template for a doc's columns. An undefined name is an error.

    keywords: further names, where the doc has no columns of these names.
    A template that is one expression gives the expression's value, any other gives text.
    spaced: with white space around it, that expression gives text too. A text always keeps its white space.
    Errors: ConfigError for a template that is invalid for every doc, DataError for one that fails on this doc.
    """
    try:
        joined = _joined(template, doc, keywords)
        return _render(template, {**keywords, **doc} if keywords else doc, spaced) if joined is None else joined
    except TooMuch as error:
        hint = f"Make the template {template!r:.200} smaller."
        raise DataError(f"{what} is too much to render: {error}.", where=where, hint=hint) from None
    except jinja2.TemplateSyntaxError as error:
        raise ConfigError(
            f"{what} is not a valid Jinja template: {error.message}: {template!r}", where=where
        ) from error
    except jinja2.exceptions.SecurityError as error:
        raise ConfigError(f"{what} reaches outside the sandbox: {error}: {template!r}", where=where) from error
    except jinja2.UndefinedError as error:
        beside = f" The prompt block has: {', '.join(sorted(keywords))}." if keywords else ""
        hint = f"The document has: {', '.join(sorted(doc))}.{beside}"
        raise DataError(f"{what}: {error}", where=where, hint=hint) from error
    except (RecursionError, MemoryError, SyntaxError) as error:
        why = f"it is nested too deeply or calls itself without end ({type(error).__name__})"
        raise DataError(f"{what} is too much to render: {why}: {template!r:.200}", where=where) from None
    except Exception as error:  # the task's own template
        raise DataError(f"{what} failed: {kind_and_text(error)}", where=where) from error


def _joined(template: str, doc: Doc, keywords: Mapping[str, object]) -> str | None:
    """The text of a template that only puts texts of columns between its own, as most do; None for any other one."""
    if (parts := _texts_and_names(template)) is None:
        return None
    found: list[Any] = [doc.get(part, keywords.get(part)) if is_name else part for part, is_name in parts]
    fits = all(type(text) is str for text in found) and sum(map(len, found)) <= UNITS
    return "".join(found) if fits else None


@lru_cache(maxsize=1024)
def _texts_and_names(template: str) -> list[tuple[str, bool]] | None:
    """The texts of a template and the names between them, each with whether it is a name; None if there is more in it."""
    if _one_expression(template)[0] is not None:
        return None
    found: list[tuple[str, bool]] = []
    for output in _environment().parse(template).body:
        for part in output.nodes if isinstance(output, nodes.Output) else (output,):
            if isinstance(part, nodes.TemplateData):
                found.append((part.data, False))
            elif isinstance(part, nodes.Name) and part.name != "self":  # which is Jinja's own
                found.append((part.name, True))
            else:
                return None
    return found


def _render(template: str, doc: Doc, spaced: bool) -> object:
    now = Meter(doc)
    token = METER.set(now)
    try:
        expression, has_space = _one_expression(template)
        if expression is not None:
            context = expression.new_context(doc)
            for _ in expression.root_render_func(context):
                pass
            value = context.vars["result"]
            if isinstance(value, jinja2.Undefined):
                return str(value)  # raises UndefinedError
            if not has_space or not (spaced or isinstance(value, str)):
                now.spend(now.size(value))
                return value
        whole = _template(template)
        return "".join(whole.root_render_func(whole.new_context(doc)))
    finally:
        METER.reset(token)


@lru_cache(maxsize=1024)
def _one_expression(template: str) -> tuple[Any, bool]:
    """(a template that assigns its one expression, whether white space stands around that); None for any other template."""
    match = _ONE_EXPRESSION.match(template)
    return (_expression(match[2]), bool(match[1] or match[3])) if match else (None, False)


@lru_cache(maxsize=1024)
def names_read(template: str) -> frozenset[str]:
    """The names that a template reads; none of one that is not valid.

    >>> sorted(names_read("{{ pre_prompt }}{{ question }}"))
    ['pre_prompt', 'question']
    """
    try:
        return frozenset(find_undeclared_variables(_environment().parse(template)))
    except jinja2.TemplateError:
        return frozenset()


@lru_cache(maxsize=1024)
def _template(source: str) -> Any:
    return _compiled(_environment().parse(source))


def _compiled(tree: nodes.Template) -> object:
    template = _environment().from_string(_Metered().visit(tree))
    template.globals = dict(template.globals)  # a ChainMap by default, which each rendering would copy key by key
    return template


def _expression(source: str) -> object:
    """A template that assigns the expression to `result`; None if `source` is not one expression ("a}} and {{b")."""
    from jinja2.parser import Parser

    environment = _environment()
    try:
        parser = Parser(environment, source, state="variable")
        expression = parser.parse_expression()
        if not parser.stream.eos:
            return None
    except jinja2.TemplateSyntaxError:
        return None
    assigned = nodes.Assign(nodes.Name("result", "store", lineno=1), expression, lineno=1)
    tree = nodes.Template([assigned], lineno=1)
    tree.set_environment(environment)
    return _compiled(tree)


@lru_cache(maxsize=1)
def _environment() -> _Environment:
    environment = _Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True, finalize=_shown)
    environment.filters["regex_replace"] = _regex_replace
    environment.filters.update({name: _meter_filter(name, filter) for name, filter in environment.filters.items()})
    environment.filters.update({"_step": _step, "_made": _made, "_concatenate": _concatenate})
    del environment.globals["lipsum"]  # random words
    return environment


class _Formatter(SandboxedFormatter):
    """Formats a text to learn its cost: `'{:>1000000000}'.format(x)` is checked before it is made."""

    def format_field(self, value: object, format_spec: str) -> object:
        for number in re.findall(r"\d+", format_spec):
            meter().require(float(number))
        shown = super().format_field(value, format_spec)
        meter().spend(len(shown))
        return shown

    def convert_field(self, value: Any, conversion: Any) -> object:
        meter().require(meter().size(value))
        return super().convert_field(value, conversion)


class _Environment(ImmutableSandboxedEnvironment):
    """The sandbox, with the cost of operators and calls."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> object:
        now = meter()
        now.step()
        numbers = isinstance(left, int) and isinstance(right, int)
        if operator == "%" and isinstance(left, (str, bytes)):
            now.require(percent(left, right, now.room() + 1))
        elif operator == "**" and numbers and left.bit_length() * right > MAX_BITS and abs(left) > 1:
            raise TooMuch(f"it makes a number of more than {MAX_BITS:,} bits")
        elif operator == "*" and not numbers:
            for many, times in ((left, right), (right, left)):
                if isinstance(many, (str, bytes, list, tuple)) and isinstance(times, int):
                    now.require(len(many) * times)
        elif operator == "+" and isinstance(left, (str, bytes)):
            now.require(len(left) + now.size(right))
        return now.made(super().call_binop(context, operator, left, right))

    def call(__self, __context: Any, __obj: object, *args: Any, **kwargs: Any) -> object:
        now = meter()
        now.step(CALL)
        method = getattr(__obj, "__wrapped__", __obj)  # the sandbox wraps str.format
        owner, name = getattr(method, "__self__", None), getattr(method, "__name__", "")
        if isinstance(owner, str) and name in ("format", "format_map"):
            formatter = _Formatter(__self)
            formatter.vformat(str(owner), *((args, kwargs) if name == "format" else ((), *args)))
        elif isinstance(owner, (str, bytes, int)) and name in METHODS:
            args = tuple(list(arg) if isinstance(arg, Iterator) else arg for arg in args)
            now.require(METHODS[name](owner, *args, **kwargs))
        return now.made(super().call(__context, __obj, *args, **kwargs))


# `pass_context` keeps the following filters from being evaluated when a template is compiled.


@jinja2.pass_context
def _shown(context: object, value: object) -> object:
    """A value that a template writes: its text is paid for before it is made."""
    now = meter()
    now.spend(len(value) if isinstance(value, str) else now.size(value))
    return value


@jinja2.pass_context
def _step(context: object, value: object) -> object:
    meter().step()
    return value


@jinja2.pass_context
def _made(context: object, value: object) -> object:
    return meter().made(value)


@jinja2.pass_context
def _concatenate(context: Any, values: list[object]) -> object:
    """`a ~ b`, for which the sandbox has no hook."""
    now = meter()
    now.step()
    now.spend(now.size(values))
    join = jinja2.runtime.markup_join if context.eval_ctx.autoescape else jinja2.runtime.str_join
    return join(values)


class _Metered(NodeTransformer):
    """Adds the cost of what the sandbox has no hook for: loops, `~`, slices, literal lists, and plain text."""

    def visit_For(self, node: nodes.For) -> nodes.Node:
        self.generic_visit(node)
        node.body.insert(0, nodes.ExprStmt(_filter("_step", nodes.Const(True), node), lineno=node.lineno))
        if node.test is not None:
            node.test = nodes.And(_filter("_step", nodes.Const(True), node), node.test, lineno=node.lineno)
        return node

    def visit_TemplateData(self, node: nodes.TemplateData) -> nodes.Node:
        return nodes.Const(node.data, lineno=node.lineno)

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        self.generic_visit(node)
        return _filter("_concatenate", nodes.List(node.nodes, lineno=node.lineno), node)

    def visit_List(self, node: nodes.List | nodes.Dict | nodes.Tuple | nodes.Getitem) -> nodes.Node:
        self.generic_visit(node)
        assigned = isinstance(node, nodes.Tuple) and node.ctx != "load"
        item = isinstance(node, nodes.Getitem) and not isinstance(node.arg, nodes.Slice)
        return node if assigned or item else _filter("_made", node, node)

    visit_Dict = visit_Tuple = visit_Getitem = visit_List


def _filter(name: str, value: nodes.Expr, at: nodes.Node) -> nodes.Filter:
    return nodes.Filter(value, name, [], [], None, None, lineno=at.lineno)


def _meter_filter(name: str, function: Callable[..., object]) -> Callable[..., object]:
    """A filter whose cost is checked before it runs, and whose result is paid for."""
    first = 1 if hasattr(function, "jinja_pass_arg") else 0  # the context or environment comes before the value

    @wraps(function)
    def filtered(*args: object, **kwargs: object) -> object:
        now = meter()
        now.step()
        given = [list(arg) if isinstance(arg, Iterator) and name == "join" else arg for arg in args]
        if name in READ_AS_TEXT and len(given) > first:
            now.require(now.size(given[first]))
        if name in FILTERS:
            now.require(FILTERS[name](*given[first:], **kwargs))
        return now.made(function(*given, **kwargs))

    return filtered


def _regex_replace(string: str, pattern: str, repl: str = "", count: int = 0) -> str:
    """lm-eval's filter, with its argument names."""
    now = meter()

    def replaced(match: re.Match[str]) -> str:
        now.step()
        now.require((len(repl) + 1) * (len(match[0]) + 1))
        return str(now.made(match.expand(repl)))

    with _interruptible(now):
        return re.sub(pattern, replaced, string, count=count)


@contextmanager
def _interruptible(now: Meter) -> Iterator[None]:
    """Inside, a signal stops a regular expression that backtracks without end; in the main thread only."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGVTALRM, lambda *_: now.check_time())
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.5, 0.5)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
