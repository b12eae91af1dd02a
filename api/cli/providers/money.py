"""Limits, balances and health of providers in a person's words."""

from collections.abc import Sequence

from rich.text import Text

from api.cli.output import say, show_rows
from api.cli.times import at
from application.providers.limiting import Limited, MoneyLine


def show_money(lines: Sequence[MoneyLine]) -> None:
    """Write how the money stands at every provider."""
    names = ("tenant", "provider", "health", "spent", "balance", "last code", "gate")
    show_rows(
        names,
        [
            [
                Text(line.tenant_id),
                Text(line.provider),
                Text(line.status, "bold red" if line.status == "failing" else ""),
                Text(_spent(line)),
                Text(_balance(line), "yellow" if line.is_low else ""),
                Text(line.last_error_code or ""),
                Text(_gate(line), "yellow"),
            ]
            for line in lines
        ],
    )


def tell_limited(limited: Limited) -> None:
    """Write what setting limits has made of a provider."""
    line = limited.line
    if not limited.events:
        say(f"nothing to do: the limits of {line.provider} are so already")
    say(f"provider {line.provider}: spent {_spent(line)}; {_notice(line)}")


def _spent(line: MoneyLine) -> str:
    if not line.spend_limit_minor:
        return "no limit"
    of = f"of {line.spend_limit_minor} {line.currency}"
    return f"{line.spent_minor} {of} in {line.spend_window_seconds} s"


def _balance(line: MoneyLine) -> str:
    if line.balance_minor is None:
        return ""
    low = ", low" if line.is_low else ""
    return f"{line.balance_minor} {line.balance_currency}{low}"


def _notice(line: MoneyLine) -> str:
    if line.low_balance_minor is None:
        return "nobody is told of a low balance"
    return f"a balance below {line.low_balance_minor} {line.currency} is told"


def _gate(line: MoneyLine) -> str:
    if line.closed_at is None or line.retry_at is None:
        return ""
    return f"closed; tried again at {at(line.retry_at)}"
