"""What is asked in bodies about bulk operations."""

from typing import Annotated, Any
from uuid import UUID

import msgspec

from api.http.wire.ids import Prefix, given
from application.bulk.request import DEFAULT_RATE, FASTEST, SLOWEST, Wanted
from application.errors import NotFoundError
from domain.members import invalid

_FILTER = "state:discarded kind:report"
_ANY = (Prefix.JOB, Prefix.OPERATION, Prefix.DELIVERY)


class BulkTarget(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What it is about: ids, or a filter of the list of jobs; not both."""

    ids: tuple[str, ...] | None = None
    """Of jobs, operations or deliveries."""
    filter: (
        Annotated[
            str,
            msgspec.Meta(max_length=2_000, examples=[_FILTER]),
        ]
        | None
    ) = None
    """As in `GET /jobs?f=…`; resolved once, at one moment."""


class BulkRequest(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    forbid_unknown_fields=True,
):
    """One action on many things."""

    action: Annotated[str, msgspec.Meta(max_length=64, examples=["retry"])]
    """`retry`, `cancel`, or of dead letters `acknowledge` or `dismiss`."""
    target: Annotated[
        BulkTarget,
        msgspec.Meta(extra_json_schema={"examples": [{"filter": _FILTER}]}),
    ]
    parameters: Annotated[
        dict[str, Any], msgspec.Meta(extra_json_schema={"examples": [{}]})
    ] = {}
    """Of the action, if it has any."""
    items_per_second: Annotated[float, msgspec.Meta(ge=SLOWEST, le=FASTEST)] = (
        DEFAULT_RATE
    )

    def wanted(self) -> Wanted:
        """Return what is wanted.

        Raises:
            InvalidRequestError: an id is none.
        """
        ids = self.target.ids
        return Wanted(
            action=self.action,
            ids=None if ids is None else tuple(map(_id, range(len(ids)), ids)),
            filter=self.target.filter,
            parameters=self.parameters,
            items_per_second=self.items_per_second,
        )


def _id(n: int, text: str) -> UUID:
    try:
        return given(text, *_ANY)
    except NotFoundError:
        invalid(f"target.ids[{n}]", "the id of a job, an operation or a delivery")
