"""What is said about deliveries."""

from typing import Annotated, Literal

import msgspec

from application.operators.deliveries.decide import LONGEST_EVIDENCE, SHORTEST_EVIDENCE

type Digest = Annotated[
    str,
    msgspec.Meta(
        pattern="^[0-9a-f]{64}$",
        description="SHA-256 of a file that was uploaded for this delivery",
        examples=["ab" * 32],
    ),
]


class DecisionRequest(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    forbid_unknown_fields=True,
):
    """What became of a purchase, and what shows it."""

    verdict: Literal["delivered", "not_purchased", "buy_again"]
    evidence: Annotated[
        str,
        msgspec.Meta(
            min_length=SHORTEST_EVIDENCE,
            max_length=LONGEST_EVIDENCE,
            description="What shows it: the provider's statement, a receipt",
        ),
    ]
    evidence_files: Annotated[tuple[Digest, ...], msgspec.Meta(max_length=8)] = ()
    override: bool = False
    """Decide although whoever asked the provider may still be about to."""
