"""Which missing packages a function of a task uses, found in its code without running it.

The names that it uses are followed through the functions, classes and modules of the task's files. What only runs in some
branch counts, too: a package is better installed before the answers are asked for than after.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType

from mm_eval.config.packages import package_of
from mm_eval.foreign_code.child.imports import is_task_code
from mm_eval.foreign_code.child.missing import Missing, MissingClass

MOST_STEPS = 20_000


def missing_in(found: object) -> list[Missing]:
    """What a function, or a class, uses of packages that are not installed; each package once."""
    return list({item._missing_name.split("(")[0]: item for item in _reached(found)}.values())


def packages_of(found: object) -> list[str]:
    """The packages that are to be installed before a function or a class is used."""
    return sorted({package_of(each._missing_name) for each in missing_in(found) if not each._missing_is_client})


def _reached(start: object) -> Iterator[Missing]:
    pending: list[tuple[object, frozenset[str]]] = [(start, frozenset())]
    seen: set[tuple[int, str]] = set()
    steps = 0
    while pending and (steps := steps + 1) < MOST_STEPS:
        value, names = pending.pop()
        if isinstance(value, Missing):
            yield value
            continue
        kind = value if isinstance(value, type) else type(value)
        if issubclass(kind, MissingClass):
            yield kind._missing
            continue
        for code, variables in _codes(value, names, seen):
            used = frozenset(code.co_names)
            for name in used:
                if name in variables:
                    pending.append((variables[name], used))


def _codes(
    value: object, names: frozenset[str], seen: set[tuple[int, str]]
) -> Iterator[tuple[CodeType, Mapping[str, object]]]:
    """The code of a value with the variables of its module. names: which members of it are used."""
    value = inspect.unwrap(value) if isinstance(value, FunctionType) else value
    if isinstance(value, ModuleType):
        if is_task_code(vars(value)):
            for name in names & vars(value).keys():
                yield from _codes(vars(value)[name], names, seen)
        return
    function = value.__func__ if isinstance(value, MethodType) else value.func if isinstance(value, partial) else value
    if isinstance(function, FunctionType):
        if (id(function), "") not in seen and is_task_code(function.__globals__):
            seen.add((id(function), ""))
            yield from ((code, function.__globals__) for code in _nested(function.__code__))
        return
    kind = value if isinstance(value, type) else type(value)
    for each in kind.__mro__:
        if not is_task_code({"__name__": each.__module__}):
            continue
        for name, member in vars(each).items():
            if isinstance(member, (staticmethod, classmethod)):
                member = member.__func__
            elif isinstance(member, property):
                member = member.fget
            if not isinstance(member, FunctionType) or (id(member), name) in seen:
                continue
            if name in names or name in ("__init__", "__call__", "__post_init__") or not names:
                seen.add((id(member), name))
                for code in _nested(member.__code__):
                    yield code, member.__globals__
                    yield from _codes(value, frozenset(code.co_names), seen)  # what it calls of itself


def _nested(code: CodeType) -> Iterator[CodeType]:
    """A code and those of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)
