"""Jinja templates of task files, rendered in a sandbox and within bounds.

A template can ask for more than any prompt needs: nested loops, `'a' * 20000000000`, a macro that calls itself.
Each rendering has a budget. Every loop iteration, call, filter and operator costs some units, and so does every
character and list item that is made. What would make a large value is priced before it runs. A rendering that spends
its budget, or that runs for more than `SECONDS` of CPU time, fails with an error. The units do not depend on the
machine, so the same template fails everywhere.
"""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedFormatter
from jinja2.visitor import NodeTransformer

from mm_eval.errors import ConfigError, DataError
from mm_eval.task.template_cost import FILTERS, METHODS, READ_AS_TEXT, count, length, percent
from mm_eval.types import Doc

UNITS = 10_000_000
"""What a rendering may cost, beside `UNITS_A_CHARACTER` for each character of the doc."""

UNITS_A_CHARACTER = 20
STEP, CALL, ITEM = 10, 50, 5
"""What an iteration (or filter, or operator), a call and an item of a list cost; a character costs 1."""

SECONDS = 5.0
MAX_BITS = 100_000
"""The largest whole number that an operator may make; Python itself prints none of more than 4,300 digits."""

_ONE_EXPRESSION = re.compile(r"(\s*)\{\{[-+]?(.+?)-?\}\}(\s*)\Z", re.DOTALL)
_CONTAINERS = (list, tuple, dict, set, frozenset)


class TooMuch(Exception):
    """A rendering went over its bounds. The text says which one."""


class Meter:
    """The budget of one rendering."""

    def __init__(self, doc: Doc) -> None:
        self.left, self._doc, self._steps = UNITS, doc, 0
        self._extended = False
        self._ends = time.thread_time() + SECONDS

    def step(self, units: int = STEP) -> None:
        """One loop iteration, call, filter or operator."""
        self.spend(units)
        self._steps += 1
        if not self._steps & 0xFF:
            self.check_time()

    def check_time(self) -> None:
        if time.thread_time() > self._ends:
            raise TooMuch(f"it runs for more than {SECONDS:.0f} s")

    def spend(self, units: float) -> None:
        self.require(units)
        self.left -= int(units)

    def require(self, units: float) -> None:
        """TooMuch where the budget does not hold these units."""
        if units > self.left and units > self.room():
            raise TooMuch(f"it takes more than {UNITS:,} units of work (a character costs 1, an iteration {STEP})")

    def room(self) -> int:
        """How many units are left, those for the size of the doc included. They are counted when they are first needed."""
        if not self._extended:
            self._extended = True
            self.left += UNITS_A_CHARACTER * length(self._doc)
        return self.left

    def made(self, value: Any) -> Any:
        """The value, once its size is paid for."""
        if isinstance(value, (str, bytes)):
            self.spend(len(value))
        elif isinstance(value, _CONTAINERS):
            self.spend(ITEM * count(value, self.room() + 1))
        elif isinstance(value, int) and value.bit_length() > MAX_BITS:
            raise TooMuch(f"it makes a number of more than {MAX_BITS:,} bits")
        return value


_METER: ContextVar[Meter | None] = ContextVar("meter", default=None)


def meter() -> Meter:
    """The meter of this rendering; outside of one, a new one."""
    return _METER.get() or Meter({})


class _Formatter(SandboxedFormatter):
    """Formats a text only to learn what it costs: `'{:>1000000000}'.format(x)` is priced before it is made."""

    def format_field(self, value: Any, format_spec: str) -> Any:
        for number in re.findall(r"\d+", format_spec):
            meter().require(float(number))
        shown = super().format_field(value, format_spec)
        meter().spend(len(shown))
        return shown

    def convert_field(self, value: Any, conversion: Any) -> Any:
        meter().require(length(value, meter().room() + 1))
        return super().convert_field(value, conversion)


class _Environment(ImmutableSandboxedEnvironment):
    """The sandbox, with every operation on the meter."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
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
            now.require(len(left) + length(right, now.room() + 1))
        return now.made(super().call_binop(context, operator, left, right))

    def call(__self, __context: Any, __obj: Any, *args: Any, **kwargs: Any) -> Any:
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


@jinja2.pass_context
def _shown(context: Any, value: Any) -> Any:
    """What a template writes: the text of a list is paid for before it is made."""
    if isinstance(value, str):
        meter().spend(len(value))
    else:
        meter().spend(length(value, meter().room() + 1))
    return value


@jinja2.pass_context
def _step(context: Any, value: Any) -> Any:
    meter().step()
    return value


@jinja2.pass_context
def _made(context: Any, value: Any) -> Any:
    return meter().made(value)


@jinja2.pass_context
def _concatenated(context: Any, values: list[Any]) -> Any:
    """`a ~ b`, which the sandbox has no hook for."""
    now = meter()
    now.step()
    now.spend(length(values, now.room() + 1))
    join = jinja2.runtime.markup_join if context.eval_ctx.autoescape else jinja2.runtime.str_join
    return join(values)


class _Metered(NodeTransformer):
    """Puts on the meter what the sandbox has no hook for: loops, `~`, slices, lists that are written out, and plain text."""

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
        return _filter("_concatenated", nodes.List(node.nodes, lineno=node.lineno), node)

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:
        self.generic_visit(node)
        return _filter("_made", node, node) if isinstance(node.arg, nodes.Slice) else node

    def visit_List(self, node: nodes.List) -> nodes.Node:
        self.generic_visit(node)
        return _filter("_made", node, node)

    def visit_Dict(self, node: nodes.Dict) -> nodes.Node:
        self.generic_visit(node)
        return _filter("_made", node, node)

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:
        self.generic_visit(node)
        return _filter("_made", node, node) if node.ctx == "load" else node


def _filter(name: str, value: nodes.Expr, at: nodes.Node) -> nodes.Filter:
    return nodes.Filter(value, name, [], [], None, None, lineno=at.lineno)


def _metered(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter that is priced before it runs and whose result is paid for."""
    first = 1 if hasattr(function, "jinja_pass_arg") else 0  # the context or environment stands before the value

    @wraps(function)
    def filtered(*args: Any, **kwargs: Any) -> Any:
        now = meter()
        now.step()
        given = [list(arg) if isinstance(arg, Iterator) and name == "join" else arg for arg in args]
        if name in READ_AS_TEXT and len(given) > first:
            now.require(length(given[first], now.room() + 1))
        if name in FILTERS:
            now.require(FILTERS[name](*given[first:], **kwargs))
        return now.made(function(*given, **kwargs))

    return filtered


def _regex_replace(string: str, pattern: str, repl: str = "", count: int = 0) -> str:
    """lm-eval's filter of this name, with its argument names."""
    now = meter()

    def replaced(match: re.Match[str]) -> str:
        now.step()
        now.require((len(repl) + 1) * (len(match[0]) + 1))
        return str(now.made(match.expand(repl)))

    with _interrupted(now):
        return re.sub(pattern, replaced, string, count=count)


@contextmanager
def _interrupted(now: Meter) -> Iterator[None]:
    """Inside, a regular expression that backtracks without end is stopped, by a signal, so in the main thread only."""
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


@lru_cache(maxsize=1)
def _environment() -> _Environment:
    environment = _Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True, finalize=_shown)
    environment.filters["regex_replace"] = _regex_replace
    environment.filters.update({name: _metered(name, filter) for name, filter in environment.filters.items()})
    environment.filters.update({"_step": _step, "_made": _made, "_concatenated": _concatenated})
    del environment.globals["lipsum"]  # random words
    return environment


@lru_cache(maxsize=1024)
def _template(source: str) -> Any:
    template = _environment().from_string(_Metered().visit(_environment().parse(source)))
    template.globals = dict(template.globals)  # a ChainMap by default, which every rendering would copy key by key
    return template


@lru_cache(maxsize=1024)
def _expression(source: str) -> Any:
    """A template that assigns the expression to `result`, or None where `source` is not a single expression ("a}} and {{b")."""
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
    return environment.from_string(_Metered().visit(tree))


def _value_of(template: Any, doc: Doc) -> Any:
    context = template.new_context(dict(doc))
    for _ in template.root_render_func(context):
        pass
    return context.vars["result"]


def render(template: str, doc: Doc, *, what: str = "template", where: str = "", spaced: bool = False) -> Any:
    """A Jinja template over a doc's columns, in a sandbox and within bounds; an undefined name is an error.

    spaced: a value keeps its own type only where no white space stands around its expression; a text keeps that anyway.
    Errors: ConfigError for a template that is wrong for every doc, DataError for one that fails on this doc.
    """
    token = _METER.set(Meter(doc))
    try:
        return _rendered(template, doc, spaced)
    except TooMuch as error:
        hint = f"Make the template {template!r:.200} smaller."
        raise DataError(f"{what} is too much to render: {error}.", where=where, hint=hint) from None
    except jinja2.TemplateSyntaxError as error:
        raise ConfigError(f"{what} is no valid Jinja template: {error.message}: {template!r}", where=where) from error
    except jinja2.exceptions.SecurityError as error:
        raise ConfigError(f"{what} reaches outside the sandbox: {error}: {template!r}", where=where) from error
    except jinja2.UndefinedError as error:
        raise DataError(f"{what}: {error}", where=where, hint=f"The doc has: {', '.join(sorted(doc))}.") from error
    except (RecursionError, MemoryError, SyntaxError) as error:
        why = f"it is nested too deeply, or calls itself without end ({type(error).__name__})"
        raise DataError(f"{what} is too much to render: {why}: {template!r:.200}", where=where) from None
    except Exception as error:  # the task's own template
        raise DataError(f"{what} failed: {type(error).__name__}: {error}", where=where) from error
    finally:
        _METER.reset(token)


def _rendered(template: str, doc: Doc, spaced: bool) -> Any:
    if match := _ONE_EXPRESSION.match(template):
        before, source, after = match.groups()
        expression = _expression(source)
        if expression is not None:
            value = _value_of(expression, doc)
            if isinstance(value, jinja2.Undefined):
                return str(value)  # which raises what is undefined
            if not (before or after) or not (spaced or isinstance(value, str)):
                meter().spend(length(value, meter().room() + 1))
                return value
    return _template(template).render(**doc)
