"""Small helpers of the suites that task files call: names, JSON, tables of a text, optional packages."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import itertools
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

from mm_eval.foreign_code.child.missing import Missing
from mm_eval.foreign_code.child.stand_ins.logger import logger as eval_logger  # noqa: F401  # a name that is served
from mm_eval.foreign_code.child.stand_ins.tasks import apply_template, get_subtask_list  # noqa: F401

UNSAFE = re.compile(r"[\"<>:/\|\\?\*\[\]]+")


def resolve_cache_dir(cache_dir: str, base_dir: str | None = None) -> str:
    """A folder with its variables expanded, below `base_dir` unless it is absolute."""
    found = os.path.expanduser(os.path.expandvars(cache_dir))
    return found if base_dir is None or os.path.isabs(found) else os.path.join(base_dir, found)


def sanitize_model_name(model_name: str, full_path: bool = False) -> str:
    return UNSAFE.sub("__", model_name if full_path else "/".join(model_name.split("/")[-2:]))


def sanitize_task_name(task_name: str) -> str:
    return re.sub(r"\W", "_", task_name)


def sanitize_long_string(s: str, max_length: int = 40) -> str:
    return f"{s[: max_length // 2]}...{s[-max_length // 2 :]}" if len(s) > max_length else s


def sanitize_list(sub: object) -> object:
    """Every value of nested lists as a text."""
    if isinstance(sub, (list, tuple)):
        return type(sub)(sanitize_list(each) for each in sub)
    return str(sub)


def get_datetime_str(timezone: str = "Asia/Singapore") -> str:  # named by its callers
    return datetime.now(_SINGAPORE).strftime("%Y%m%d_%H%M%S")


_SINGAPORE = timezone(timedelta(hours=8))


def get_file_datetime(filename: str) -> str:
    return filename[filename.rfind("_") + 1 :].replace(".jsonl", "")


def hash_string(string: str) -> str:
    return hashlib.sha256(string.encode()).hexdigest()


def is_json(string: str) -> bool:
    try:
        json.loads(string)
    except ValueError:
        return False
    return True


def handle_non_serializable(o: object) -> object:
    """What `json.dumps` writes of a value that JSON lacks."""
    if type(o).__module__ == "numpy" and hasattr(o, "item") and getattr(o, "size", 1) == 1:
        return o.item()
    return list(o) if isinstance(o, set) else str(o)


def join_iters(iters: Iterable[Iterable[object]]) -> Iterator[object]:
    return itertools.chain.from_iterable(iters)


def chunks(
    iter: Iterable[object], n: int = 0, fn: Callable[[int, object], int] | None = None
) -> Iterator[list[object]]:
    """Lists of n items; fn: the length for the item that a list begins to end with."""
    found: list[object] = []
    for number, item in enumerate(iter):
        found.append(item)
        if len(found) == (fn(number, iter) if fn else n):
            yield found
            found = []
    if found:
        yield found


def general_detokenize(string: str) -> str:
    """A text whose words and marks were separated by spaces, joined again."""
    for apart, joined in ((" n't", "n't"), (" )", ")"), ("( ", "("), ('" ', '"'), (' "', '"')):
        string = string.replace(apart, joined)
    return re.sub(r" (['.,])", r"\1", string)


def regex_replace(string: str, pattern: str, repl: str, count: int = 0) -> str:
    return re.sub(pattern, repl, string, count=count)


def softmax(x: Any) -> object:
    import numpy as np

    powers = np.exp(np.asarray(x) - np.max(x))
    return powers / powers.sum()


def weighted_f1_score(items: Iterable[tuple[object, object]]) -> float:
    """F1 of each class of pairs (gold, prediction), weighted by how often the class is gold. As scikit-learn's."""
    pairs = list(items)
    total = 0.0
    for label in dict.fromkeys(gold for gold, _ in pairs):
        gold_count = sum(1 for gold, _ in pairs if gold == label)
        said_count = sum(1 for _, said in pairs if said == label)
        both = sum(1 for gold, said in pairs if gold == said == label)
        total += gold_count * (2 * both / (gold_count + said_count))
    return total / len(pairs)


def make_table(result_dict: object, column: str = "results", sort_results: bool = False) -> str:
    """The numbers of a results mapping, one a line: only for what code prints."""
    found = result_dict.get(column, {}) if isinstance(result_dict, dict) else {}
    return "\n".join(f"{task}|{name}|{value}" for task, metrics in found.items() for name, value in metrics.items())


def positional_deprecated(fn: Callable[..., object]) -> Callable[..., object]:
    return fn


def is_torch_available() -> bool:
    return is_package_available("torch")


def is_transformers_available() -> bool:
    return is_package_available("transformers")


def is_package_available(package_name: str) -> bool:
    return importlib.util.find_spec(package_name) is not None


def optional_import(module_name: str, attribute: str | None = None, fallback: object = None) -> tuple[object, bool]:
    """(a module or a name of it, whether there is one)."""
    try:
        module = importlib.import_module(module_name)
        return (module if attribute is None else getattr(module, attribute)), True
    except (ImportError, AttributeError):
        return fallback, False


def require_package(package_name: str, **kwargs: object) -> None:
    if not is_package_available(package_name):
        raise ModuleNotFoundError(f"No module named {package_name!r}", name=package_name)


# ------------------------------------------------------------------ clients and trackers
def build_client(*args: object, **kwargs: object) -> object:
    """A client of a server, which answers nothing: what is called of it is refused."""
    return Missing("openai", is_client=True)


def has_endpoint_support(*args: object, **kwargs: object) -> bool:
    return False


class GeneralConfigTracker:
    """Only the name of a model, from its arguments."""

    @staticmethod
    def _get_model_name(model_args: str) -> str:
        prefixes = "peft delta pretrained model model_version model_name model_id path engine".split()  # noqa: SIM905
        for prefix in prefixes:
            if f"{prefix}=" in model_args:
                return model_args.split(f"{prefix}=")[1].split(",")[0]
        return ""
