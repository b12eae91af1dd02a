"""Files that show what became of a purchase: how they are told, and how they are given.

A file is given as a download under its digest, with the type that its own bytes have
told when it was added, and with nothing that a browser would run.
"""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

import msgspec
from litestar import Response

from api.http.surface import Surface
from api.http.wire.ids import Prefix, told
from api.http.wire.values import Moment, moment_if
from application.evidence.look import Seen
from application.evidence.media import PLAIN
from application.evidence.port import Evidence
from projections.queries.records.files import EvidenceFile

_ENDINGS: Final[Mapping[str, str]] = {
    "application/pdf": "pdf",
    "image/gif": "gif",
    "image/jpeg": "jpg",
    "image/png": "png",
    "image/webp": "webp",
    PLAIN: "txt",
}
_UNTOLD: Final = "application/octet-stream"
GIVEN: Final = (*_ENDINGS, _UNTOLD)
"""Types under which files are given; whatever else is on record is the last of them."""

_INERT: Final = {"Content-Security-Policy": "default-src 'none'; sandbox"}


class EvidenceLinks(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where the file is."""

    self: str | None = None
    """Left out on `/v1/admin`, where no files are given."""


class EvidenceView(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A file that was added to a delivery."""

    delivery_id: str
    sha256: str
    size_bytes: int
    media_type: str
    added_by: str
    added_at: Moment | None
    links: EvidenceLinks


def evidence_view(
    surface: Surface, delivery: UUID, sha256: str, file: Evidence | EvidenceFile
) -> EvidenceView:
    """Return a file as it is on record."""
    id_ = told(Prefix.DELIVERY, delivery)
    address = f"{surface}/deliveries/{id_}/evidence/{sha256}"
    return EvidenceView(
        delivery_id=id_,
        sha256=sha256,
        size_bytes=file.size_bytes,
        media_type=file.media_type,
        added_by=file.added_by,
        added_at=moment_if(file.added_at),
        links=EvidenceLinks(self=address if surface is Surface.PANEL else None),
    )


def given_file(seen: Seen) -> Response[bytes]:
    """Return the file itself, to be kept and not to be shown in place."""
    media_type = seen.evidence.media_type
    ending = _ENDINGS.get(media_type)
    name = f"{seen.evidence.sha256.hex()}.{ending or 'bin'}"
    return Response(
        seen.content,
        media_type=media_type if ending else _UNTOLD,
        headers=_INERT | {"Content-Disposition": f'attachment; filename="{name}"'},
    )
