"""Which dead letters are wanted."""

from collections.abc import Iterator
from datetime import timedelta

import msgspec

from projections.queries.terms import Among, Between, Term


class LetterFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which letters are wanted; nothing means any, several values one of them."""

    kinds: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    error_codes: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    """Of the list only: a group is not counted by queue."""
    order: str | None = None
    """The shop's order: what is dead of all that it led to.  Of the list only."""
    tenant_id: str | None = None
    older_than: timedelta | None = None
    """Died at least so long ago."""
    younger_than: timedelta | None = None

    def terms(self) -> Iterator[Term]:
        """Yield the terms of the list, but for the order's."""
        for field, values in (
            ("kind", self.kinds),
            ("code", self.codes),
            ("error_code", self.error_codes),
            ("queue", self.queues),
        ):
            if values:
                yield Among(field, values)
        if self.tenant_id is not None:
            yield Among("tenant", (self.tenant_id,))
        if self.older_than is not None or self.younger_than is not None:
            yield Between("died_at", least=self.younger_than, below=self.older_than)
