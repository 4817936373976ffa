"""The most that a run's answers, or its verdicts, may cost (`--budget`, `--judge_budget`)."""

from __future__ import annotations

from collections.abc import Callable

from mm_eval.values.errors import ConfigError, MMEvalError, ModelError

NO_PRICE = "Add input_price=...,output_price=... (dollars per million tokens) to {args}, or name a file of prices with --prices."


def unknown_price(whose: str, option: str, args: str) -> ConfigError:
    """The error for a budget on what has no price. args: the option that may state one."""
    return ConfigError(f"the prices of {whose} are unknown.", where=option, hint=NO_PRICE.format(args=args))


def budget_check(
    spent: Callable[[], float], budget: float | None, option: str, what: str, processes: int = 1
) -> Callable[[], MMEvalError | None]:
    """A function that tells why nothing more may be requested: what is spent has reached the budget.

    spent: dollars so far, of earlier launches too. what: "the answers have". Each of several processes spends an equal part of
    what is left at its start.
    """
    begun = spent()
    limit = None if budget is None else begun + max(0.0, budget - begun) / processes

    def over() -> MMEvalError | None:
        if limit is None or (now := spent()) < limit:
            return None
        said = f"{what} cost ${now:,.2f}, and {option} is ${budget:,.2f}."
        return ModelError(said, hint="They are kept; the same command with a higher budget goes on.")

    return over
