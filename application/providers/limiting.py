"""Set how much may be spent at a provider, and tell how it stands; on record.

What is not said stays as it is.  A limit of 0 is none.  Amounts are of one currency: a
purchase in another one is refused as long as there is a limit.
"""

from dataclasses import dataclass
from datetime import timedelta
from re import compile as pattern
from typing import Final, Protocol

import msgspec
from msgspec.structs import replace

from application.errors import ApplicationError
from application.operators.instruction import Instruction, as_given
from application.operators.refusals import About, Refusals
from application.operators.taken import Deed, Kept, Telling
from application.unit import Ids, UnitOfWork
from domain.event import Instant
from domain.goods.spending import LONGEST_WINDOW, Limits
from domain.members import invalid
from domain.operators.actions import PROVIDER_LIMITED
from domain.operators.events import ActionRefused

WHAT: Final = "provider"
_CURRENCY: Final = pattern("[A-Z]{3}")
_GREATEST: Final = 10**15


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What a person says about limits; None: it stays as it is."""

    currency: str | None = None
    spend_limit_minor: int | None = None
    spend_window_seconds: int | None = None
    low_balance_minor: int | None = None
    is_never_told: bool = False
    """Whether nobody is to be told of a low balance any more."""


class MoneyLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One provider: what may be spent, what was, and how it answers."""

    tenant_id: str
    provider: str
    currency: str | None
    """None: there are no limits."""
    spend_limit_minor: int
    spend_window_seconds: int
    spent_minor: int
    """Within the window that ends now."""
    low_balance_minor: int | None
    balance_minor: int | None
    balance_currency: str | None
    balance_at: Instant | None
    is_low: bool
    status: str
    """`unknown`, `healthy` or `failing`."""
    failures: int
    """In a row."""
    last_error_code: str | None
    last_checked_at: Instant | None
    closed_at: Instant | None
    """Since when its gate is closed; None: it is open."""
    retry_at: Instant | None
    """From when on one purchase is tried."""


class Limited(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A provider after a person has set its limits."""

    events: tuple[str, ...]
    """Tags of the events that were written; none: it was so already."""
    position: int
    line: MoneyLine


class LimitBook(Protocol):
    """Keeps limits; each change is committed with its remark."""

    def change(
        self, tenant_id: str, slug: str, decide: "Decide", telling: Telling
    ) -> Kept:
        """Return what was done to one provider, committed with its record.

        Also when it was so already.

        Raises:
            NotFoundError: there is no such provider.
            ApplicationError: what `decide` raised; nothing is written.
            DatabaseUnavailableError: nothing is known to be done.
        """
        ...

    def lines(self) -> tuple[MoneyLine, ...]:
        """Return all providers, by tenant and name."""
        ...


@dataclass(frozen=True, slots=True)
class Decide:
    """What limits become of those that there are, under their lock."""

    wanted: Wanted

    def __call__(self, before: Limits | None) -> Limits:
        """Return the limits after it.

        Raises:
            InvalidRequestError: no currency was ever said.
        """
        wanted = self.wanted
        currency = wanted.currency or (None if before is None else before.currency)
        if currency is None:
            invalid("currency", "three capital letters, since no limit names one yet")
        after = replace(before or Limits(currency=currency), currency=currency)
        if wanted.spend_limit_minor is not None:
            after = replace(after, spend_limit_minor=wanted.spend_limit_minor)
        if wanted.spend_window_seconds is not None:
            window = timedelta(seconds=wanted.spend_window_seconds)
            after = replace(after, spend_window=window)
        if wanted.is_never_told:
            return replace(after, low_balance_minor=None)
        if wanted.low_balance_minor is not None:
            return replace(after, low_balance_minor=wanted.low_balance_minor)
        return after


@dataclass(frozen=True, slots=True)
class LimitProviders:
    """Sets limits on behalf of people."""

    book: LimitBook
    units: UnitOfWork
    ids: Ids

    def limit(
        self, tenant_id: str, slug: str, wanted: Wanted, instruction: Instruction
    ) -> Limited:
        """Return the provider with these limits.

        Raises:
            InvalidRequestError: an amount, the window or the currency cannot be meant.
            NotFoundError: there is no such provider.
            DatabaseUnavailableError: nothing is known to be done.
        """
        _check(wanted)
        target = as_given(f"{WHAT}:{slug}")
        deed = Deed(action=PROVIDER_LIMITED, target_kind=WHAT, target=target)
        telling = Telling(deed, instruction.meta(target))
        try:
            kept = self.book.change(tenant_id, slug, Decide(wanted), telling)
        except ApplicationError as error:
            refused = ActionRefused(
                action="limit_provider", target=target, code=error.code
            )
            about = About(tenant_id, target)
            Refusals(self.units, self.ids).record(refused, instruction, about)
            raise
        (line,) = (
            each
            for each in self.book.lines()
            if (each.tenant_id, each.provider) == (tenant_id, slug)
        )
        return Limited(
            events=("provider.limited",) if kept.is_new else (),
            position=kept.position,
            line=line,
        )


def _check(wanted: Wanted) -> None:
    if wanted.currency is not None and not _CURRENCY.fullmatch(wanted.currency):
        invalid("currency", "three capital letters")
    for path, minor in (
        ("spendLimitMinor", wanted.spend_limit_minor),
        ("lowBalanceMinor", wanted.low_balance_minor),
    ):
        if minor is not None and not 0 <= minor <= _GREATEST:
            invalid(path, f"0 to {_GREATEST} minor units")
    longest = int(LONGEST_WINDOW.total_seconds())
    window = wanted.spend_window_seconds
    if window is not None and not 1 <= window <= longest:
        invalid("spendWindowSeconds", f"1 to {longest}")
