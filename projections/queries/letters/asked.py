"""Dead letters by terms, as any other list is asked."""

from dataclasses import dataclass
from typing import Final

import msgspec

from projections.connections import Lend
from projections.queries.correlations import correlations_of
from projections.queries.letters.listing import DEFAULT_TENANT, OPEN, Letter, beside
from projections.queries.page import Page
from projections.queries.records.related import shown
from projections.queries.terms import (
    INVALID_FILTER,
    MOST_VALUES,
    TENANT,
    Among,
    Asked,
    Term,
    refuse,
)
from projections.reading import AtLeast, Reading, reading

ORDER: Final = "order"
"""Beside the fields: the shop's own id of an order that a letter belongs to."""

_NOBODYS: Final = "\ue000"
"""No correlation is called so."""


@dataclass(frozen=True, slots=True)
class AskedLetters:
    """Lists what nothing runs again without a person."""

    lend: Lend

    def __call__(
        self, asked: Asked, *, at_least: AtLeast | None = None
    ) -> Page[Letter]:
        """Return one page of letters, the last that died first.

        Raises:
            InvalidRequestError: names the member and what would be right.
        """
        with reading(self.lend, OPEN.name, at_least=at_least) as look:
            terms = tuple(_meant(look, term, asked) for term in asked.terms)
            page = OPEN.read(look, msgspec.structs.replace(asked, terms=terms))
            letters = beside(look.connection, page.items)
        return shown(page, letters)


def _meant(look: Reading, term: Term, asked: Asked) -> Term:
    if not isinstance(term, Among) or term.field != ORDER:
        return term
    tenants = [
        str(value)
        for each in asked.terms
        if isinstance(each, Among) and each.field == TENANT
        for value in each.values
    ]
    found = {
        each
        for tenant in tenants or [DEFAULT_TENANT]
        for value in term.values
        for each in correlations_of(look.connection, tenant, str(value))
    }
    if len(found) > MOST_VALUES:
        detail = f"leads to more than {MOST_VALUES} correlations: name fewer orders"
        refuse(INVALID_FILTER, ORDER, detail)
    return Among("correlation", tuple(sorted(found)) or (_NOBODYS,))
