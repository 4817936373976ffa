"""Chat templates that write the date get the day of the run, since a run that goes on tomorrow must send the same prompts."""

from __future__ import annotations

import re
from collections.abc import Callable

from mm_eval.values.errors import ConfigError


def code_of(template: str) -> str:
    """The expressions and statements of a Jinja template, without its text and its comments."""
    parts = re.findall(r"\{#.*?#\}|\{\{.*?\}\}|\{%.*?%\}", template, re.DOTALL)
    return "\n".join(part for part in parts if not part.startswith("{#"))


def asks_for_the_date(code: str) -> bool:
    return "strftime_now" in code


def random_words(code: str) -> str:
    """What in a template's code writes other words each time; empty if nothing does."""
    found = re.search(r"\|\s*random\b|\blipsum\s*\(", code)
    return found[0] if found else ""


def dated(template: str, clock: Callable[[str], str]) -> str:
    """A template as transformers renders it with another clock: the source by which it keeps the compiled one.

    transformers passes data to a template but no functions, so the clock takes the place of its own among the globals of this
    one template. The comment keeps apart equal templates of runs that began on other days; its line leaves nothing behind.
    """
    from transformers.utils import chat_template_utils as transformers_templates

    source = f"{{# {clock('%Y-%m-%d')} #}}\n{template}"
    try:
        compiled = transformers_templates._compile_jinja_template(source)
    except AttributeError as error:
        what = "the chat template writes the date, and this version of transformers has no way to set it."
        raise ConfigError(what, hint="Give chat_template=FILE with one that does not.") from error
    compiled.globals["strftime_now"] = clock
    return source
