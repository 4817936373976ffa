"""Writes assets/prices.csv from the price list in an installed litellm: `python assets/make/prices.py DAY`.

DAY: YYYY-MM-DD, when the list was read.

Only what the list states: models that chat, with a price for both kinds of tokens, of the providers below.
"""

from __future__ import annotations

import csv
import json
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

PROVIDERS = {
    "openai": "openai", "azure": "azure", "anthropic": "anthropic", "gemini": "gemini", "mistral": "mistral", "xai": "xai",
    "deepseek": "deepseek", "dashscope": "dashscope", "moonshot": "moonshot", "zai": "zai", "groq": "groq", "minimax": "minimax",
    "together_ai": "together_ai", "fireworks_ai": "fireworks_ai", "bedrock": "bedrock", "bedrock_converse": "bedrock",
    "vertex_ai-language-models": "vertex_ai", "vertex_ai-anthropic_models": "vertex_ai", "openrouter": "openrouter",
}  # fmt: skip
"""litellm's name for a provider -> the one that begins a model's name."""
COLUMNS = ("model", "input_price", "output_price", "cached_price", "cache_write_price", "date", "source")
KINDS = {
    "input_price": "input_cost_per_token",
    "output_price": "output_cost_per_token",
    "cached_price": "cache_read_input_token_cost",
    "cache_write_price": "cache_creation_input_token_cost",
}


def rows(listed: dict[str, Any], date: str) -> list[dict[str, Any]]:
    found = {}
    for name, entry in listed.items():
        provider = PROVIDERS.get(entry.get("litellm_provider", ""))
        if provider is None or entry.get("mode") not in ("chat", "responses") or name.startswith("ft:"):
            continue
        prices = {column: entry.get(key) for column, key in KINDS.items()}
        if not prices["input_price"] or not prices["output_price"]:
            continue
        full = name if name.startswith(f"{provider}/") else f"{provider}/{name}"
        source = entry.get("source") or "none stated"
        dollars = {column: "" if price is None else f"{price * 1e6:.6g}" for column, price in prices.items()}
        found[full] = {"model": full, **dollars, "date": date, "source": f"litellm {version('litellm')}: {source}"}
    return [found[name] for name in sorted(found)]


def main() -> None:
    spec = find_spec("litellm")
    assert spec is not None and spec.origin is not None, "litellm is not installed"
    path = Path(spec.origin).parent / "model_prices_and_context_window_backup.json"
    with open(Path(__file__).parent.parent / "prices.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows(json.loads(path.read_text(encoding="utf-8")), sys.argv[1]))


if __name__ == "__main__":
    main()
