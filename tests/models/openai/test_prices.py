"""Prices: the shipped file and the user's, what tokens cost, and a budget that ends a run before it is passed."""

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from mm_eval.models.openai.client.usage import usage_of
from mm_eval.models.openai.prices import price_of, read_prices, shipped

from mm_eval.engine.prices import Price
from mm_eval.values.errors import ConfigError
from tests.judge import server as scripted
from tests.sets import each_of

HEADER = "model,input_price,output_price,cached_price,cache_write_price,date,source\n"
ROW = "judge-1,100000,200000,50000,,2026-11-01,an invoice\n"


def test_every_shipped_price_has_a_date_and_a_source() -> None:
    prices = shipped()
    assert len(prices) > 1000
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", price.date) and "litellm" in price.source for price in prices.values())
    assert (prices["openai/gpt-4o"].input, prices["openai/gpt-4o"].output) == (2.5, 10)


def test_each_kind_of_token_has_its_own_price() -> None:
    price = Price(input=3, output=15, cached=0.3, cache_write=3.75)
    usage = {"prompt_tokens": 1000, "cached_tokens": 500, "cache_write_tokens": 100, "completion_tokens": 10}
    assert price.dollars(usage) == pytest.approx((400 * 3 + 500 * 0.3 + 100 * 3.75 + 10 * 15) / 1e6)
    assert Price(3, 15).dollars(usage) == pytest.approx((1000 * 3 + 10 * 15) / 1e6)
    assert Price.of_json(price.to_json()) == price and Price.of_json({"input": "3", "output": 1}) is None


@each_of(
    ("usage", "counted"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 20}, (10, 10)),  # reasoning in the total alone
        ({"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}, (10, 3)),
        ({"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 0}, (10, 3)),
        ({"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": None}, (10, 3)),
    ],
)
def test_what_only_the_total_counts_was_generated(usage: dict[str, Any], counted: tuple[int, int]) -> None:
    found = usage_of({"usage": usage})
    assert (found["prompt_tokens"], found["completion_tokens"]) == counted


def test_a_parts_count_of_any_form_is_read_or_left_out() -> None:
    odd = [None, "3", -1, True, [], {"cached_tokens": "x"}, {"cached_tokens": 10**400}]
    for details in odd:
        found = usage_of({"usage": {"prompt_tokens": 5, "completion_tokens": 1, "prompt_tokens_details": details}})
        assert found == {"prompt_tokens": 5, "completion_tokens": 1}
    assert usage_of({"usage": {"prompt_tokens": 5, "prompt_cache_hit_tokens": 4}})["cached_tokens"] == 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("model,input_price\n", r":1: the column 'output_price' is missing"),
        (HEADER.replace("source", "source,sorce"), "'sorce' is unknown"),
        (HEADER + "m,1,2,,,2026-11-01,\n", r":2: source is empty"),
        (HEADER + "m,1,2,,,yesterday,s\n", r":2: date is 'yesterday'"),
        (HEADER + "m,one,2,,,2026-11-01,s\n", r":2: input_price is 'one'"),
        (HEADER + "m,1,nan,,,2026-11-01,s\n", "output_price is 'nan'"),
        (HEADER + "m,1,-2,,,2026-11-01,s\n", "output_price is '-2'"),
        (HEADER + "m,1,2\n", "another number of fields"),
        (HEADER + ROW + ROW, r":3: 'judge-1' has a price already"),
    ],
)
def test_a_wrong_file_of_prices_is_told_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "prices.csv"
    file.write_text(text)
    with pytest.raises(ConfigError, match=said):
        read_prices(str(file))


def test_the_users_price_comes_before_the_shipped_one(tmp_path: Path) -> None:
    file = tmp_path / "prices.csv"
    file.write_text(HEADER + "openai/gpt-4o,1,2,,,2026-11-01,our contract\n")
    listed = "openai/gpt-4o"
    own = price_of([listed, "gpt-4o"], listed, str(file))
    assert own is not None and (own.input, own.source) == (1, "our contract")
    assert price_of(["gpt-4o"], "", None) is None  # a model of that name at another address
    with pytest.raises(ConfigError, match="can't be read"):
        price_of(["x"], "", str(tmp_path / "none.csv"))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(scripted, "replied", lambda text, prompt: "Yes")
    with scripted.serving() as served:
        yield served


def command(server: Any, folder: Path, *more: str) -> list[str]:
    args = f"base_url={server.url},model=judge-1,num_concurrent=1"
    return [
        "--tasks",
        "mme",
        "--sample",
        "--model",
        "openai",
        "--model_args",
        args,
        "--output_path",
        str(folder),
        *more,
    ]


def test_a_budget_refuses_a_model_without_a_price_before_anything_is_sent(
    server: Any, tmp_path: Path, cli: Any
) -> None:
    ran = cli(*command(server, tmp_path / "run", "--budget", "5"))
    assert ran.code == 2 and "prices of the model are unknown" in ran.err and "--prices" in ran.err
    assert not server.asked and not (tmp_path / "run").exists()


def test_a_budget_ends_a_run_and_a_higher_one_goes_on(server: Any, tmp_path: Path, cli: Any) -> None:
    """A reply has 10 prompt and 3 completion tokens: $1.60 at the prices of ROW."""
    file, folder = tmp_path / "prices.csv", tmp_path / "run"
    file.write_text(HEADER + ROW)
    priced = ["--limit", "12", "--prices", str(file)]
    first = cli(*command(server, folder, *priced, "--budget", "5"))
    assert first.code == 3 and "--budget is $5.00" in first.out + first.err
    asked = sum(server.asked.values())
    assert 4 <= asked <= 6  # $4.80 are below the budget; what is in flight is kept
    results = json.loads((folder / "results.json").read_text())["run"]
    assert results["cost"]["dollars"] == pytest.approx(1.6 * asked)
    assert results["cost"]["price"]["source"] == "an invoice" and results["cost"]["price"]["date"] == "2026-11-01"
    again = cli(*command(server, folder, *priced, "--budget", "100"))
    assert again.code == 0 and sum(server.asked.values()) == 12
    assert "$19.2000 at prices of 2026-11-01 (an invoice)" in again.out
    assert "$19.2000 (prices of 2026-11-01)" in (folder / "report.html").read_text()
    assert cli("score", str(folder)).code == 0  # without the model, at the recorded price
    assert json.loads((folder / "results.json").read_text())["run"]["cost"]["dollars"] == pytest.approx(19.2)


def test_each_known_host_belongs_to_a_provider_with_prices() -> None:
    from mm_eval.models.openai.adapter import VENDORS

    providers = {name.partition("/")[0] for name in shipped()}
    assert set(VENDORS.values()) <= providers
    assert all(urlsplit(f"https://{host}").hostname == host for host in VENDORS)
