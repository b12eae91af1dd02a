"""Which entitlement a person means: its id, or `customer:<id>[:<slot>]`."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from application.errors import NotFoundError
from application.ports import Streams
from application.unit import Head
from domain.entitlement.state import Entitlement
from domain.errors import InvalidRequestError
from domain.stream import Ref, StreamKind

CUSTOMER: Final = "customer:"
"""What a customer's id is told by; digits behind a last colon may be the slot."""

_FIRST_SLOT: Final = 1
_MOST_DIGITS: Final = 5


@dataclass(frozen=True, slots=True)
class Found:
    """One entitlement, as it was read."""

    ref: Ref
    head: Head


def find_entitlement(streams: Streams, tenant_id: str, key: str) -> Found:
    """Return what `key` stands for; an id is found in any tenant.

    Raises:
        NotFoundError: nobody has that.
        InvalidRequestError: it could be meant in two ways, and both are there.
    """
    found = _by_customer(streams, tenant_id, key) or _by_id(streams, key)
    if found is None or not isinstance(found.head.state, Entitlement):
        what = "entitlement"
        raise NotFoundError(what, key)
    return found


def _by_customer(streams: Streams, tenant_id: str, key: str) -> Found | None:
    if not key.startswith(CUSTOMER):
        return None
    customer = key.removeprefix(CUSTOMER)
    whole = streams.entitlement_of(tenant_id, customer, _FIRST_SLOT)
    before, colon, last = customer.rpartition(":")
    of_slot = None
    if colon and last.isascii() and last.isdigit() and len(last) <= _MOST_DIGITS:
        of_slot = streams.entitlement_of(tenant_id, before, int(last))
    if whole is not None and of_slot is not None:
        # A shop's ids may end in a colon and digits too: nobody guesses who is meant.
        detail = (
            f"slot {last} of customer {before} ({of_slot[0].id}) or slot 1 of customer "
            f"{customer} ({whole[0].id}): give the id of the one that is meant"
        )
        code = "ambiguous_customer"
        raise InvalidRequestError(code, "entitlement", detail)
    found = whole or of_slot
    return None if found is None else Found(*found)


def _by_id(streams: Streams, key: str) -> Found | None:
    try:
        ref = Ref(StreamKind.ENTITLEMENT, UUID(key))
    except ValueError:
        return None
    head = streams.head(ref)
    return None if head is None else Found(ref, head)
