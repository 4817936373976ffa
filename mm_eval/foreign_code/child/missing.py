"""A package that task code imports and that is not there: its names exist, and using one of them is refused.

Task files import far more than a task uses (its plots, the client of a server, other tasks of the file). So an import that is
not there gives a `Missing`, from which names may be taken, which may be called and derived from while a file is imported. A
function that uses one is ended by an exception that its own `except` can't turn into a score.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from mm_eval.config.packages import install_command, package_of
from mm_eval.foreign_code.child.guard import refuse_call, refuse_package

SDKS = (
    "anthropic", "azure", "cohere", "dashscope", "google.genai", "google.generativeai", "groq", "litellm", "mistralai",
    "openai", "qianfan", "reka", "together", "volcenginesdkarkruntime", "zhipuai",
)  # fmt: skip
"""Clients of servers. The real ones ask for a key when a file is imported, and open no connection here anyway."""
HTTP = ("aiohttp", "duckduckgo_search", "httpx", "requests", "requests_cache", "boto3")
"""What else opens connections: the real one is used where it is installed."""

_IMPORTING: list[str] = []


@contextmanager
def importing_files(file: str) -> Iterator[None]:
    """Inside, a file of a task is imported: what it calls of a missing package gives another `Missing`."""
    _IMPORTING.append(file)
    try:
        yield
    finally:
        _IMPORTING.pop()


class MissingClass:
    """Stands for a class of a missing package from which task code derives one."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        type(self)._missing.use()

    _missing: Missing


class MissingError(Exception):
    """Stands for an exception of a missing package: it is never raised."""


class Missing:
    """A name of a missing package. is_client: it would ask a server, which no package would change."""

    def __init__(self, name: str, is_client: bool = False) -> None:
        self.__dict__.update(_missing_name=name, _missing_is_client=is_client)

    def use(self) -> NoReturn:
        """Ends the function that uses it, or the import."""
        name = self._missing_name
        if self._missing_is_client:
            refuse_call(name)
        if _IMPORTING:
            package = package_of(name)
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)
        refuse_package(name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        if name.endswith(("Error", "Exception", "Timeout", "Warning")):
            return MissingError
        return Missing(f"{self._missing_name}.{name}", self._missing_is_client)

    def __setattr__(self, name: str, value: object) -> None:
        self.__dict__[name] = value  # openai.api_key = ...

    def __call__(self, *args: object, **kwargs: object) -> Any:
        makes = self._missing_name.rpartition(".")[2][:1].isupper()
        at_top = sys._getframe(1).f_code.co_name == "<module>"
        if _IMPORTING or at_top or makes and self._missing_is_client:
            return Missing(f"{self._missing_name}()", self._missing_is_client)
        self.use()

    def __bool__(self) -> bool:
        if self._missing_is_client:
            return True  # a client that was made
        self.use()

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return (type("MissingClass", (MissingClass,), {"_missing": self}),)

    def __instancecheck__(self, instance: object) -> bool:
        return False

    def __or__(self, other: object) -> object:
        return self

    __ror__ = __or__

    def __repr__(self) -> str:
        return f"<{self._missing_name}, which is not installed: {install_command(package_of(self._missing_name))}>"

    def __hash__(self) -> int:
        return id(self)


def _used(self: Missing, *args: object) -> NoReturn:
    self.use()


for _method in (
    "__iter__", "__len__", "__str__", "__int__", "__float__", "__index__", "__contains__",
    "__lt__", "__le__", "__gt__", "__ge__", "__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__",
    "__truediv__", "__rtruediv__", "__setitem__", "__enter__", "__exit__", "__format__", "__next__", "__neg__", "__mod__",
):  # fmt: skip
    setattr(Missing, _method, _used)


def _item(self: Missing, key: object) -> Missing:
    if _IMPORTING:  # an annotation: cv2.Mat[...]
        return self
    self.use()


setattr(Missing, "__getitem__", _item)  # noqa: B010  # an assignment is what mypy refuses
