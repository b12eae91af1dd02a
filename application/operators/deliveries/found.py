"""Which delivery a person means, and what was decided about it before."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol
from uuid import UUID

import msgspec

from application.errors import NotFoundError
from application.operators.instruction import Instruction
from application.operators.refusals import About, about_nothing
from application.ports import Streams
from application.unit import Head
from domain.event import Actor, Instant
from domain.goods.state import GoodsDelivery
from domain.stream import Ref, StreamKind

DELIVERY: Final = "delivery"


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What a person has decided about a review, or proposed."""

    verdict: str
    evidence: str
    by: Actor
    at: Instant


class Reviews(Protocol):
    """Looks at what people have said in the stream of a delivery."""

    def last_decision(self, delivery: UUID) -> Decision | None:
        """Return the latest decision, or None when nobody has decided anything."""
        ...

    def missing_evidence(
        self, delivery: UUID, digests: Sequence[str]
    ) -> tuple[str, ...]:
        """Return those that no file of the delivery has."""
        ...

    def last_proposal(self, delivery: UUID) -> Decision | None:
        """Return the latest proposal, agreed to or not, or None."""
        ...


@dataclass(frozen=True, slots=True)
class Found:
    """One delivery, as it was read."""

    ref: Ref
    head: Head
    state: GoodsDelivery


def find_delivery(streams: Streams, key: str, instruction: Instruction) -> Found:
    """Return the delivery of theirs whose id is `key`.

    Raises:
        NotFoundError: there is none.
    """
    try:
        ref = Ref(StreamKind.DELIVERY, UUID(key.strip()))
    except ValueError:
        raise NotFoundError(DELIVERY, key) from None
    head = streams.head(ref)
    if head is None or not isinstance(head.state, GoodsDelivery):
        raise NotFoundError(DELIVERY, key)
    if not instruction.sees(head.tenant_id):
        raise NotFoundError(DELIVERY, key)
    return Found(ref, head, head.state)


def about_delivery(streams: Streams, key: str, instruction: Instruction) -> About:
    """Return where a refusal belongs: with the delivery, if they have such a one."""
    try:
        head = find_delivery(streams, key, instruction).head
    except NotFoundError:
        return about_nothing(key, instruction)
    return About(head.tenant_id, head.correlation_id)
