"""One record of a list, by its id, with the version that it shows."""

from collections.abc import Callable
from dataclasses import dataclass

from litestar import Response

from api.http.call import Call
from api.http.lists.page import Ask
from api.http.lists.waiting import no_older_than, told_if_behind
from api.http.wire.ids import Prefix, given, told
from api.http.wire.match import etag
from application.errors import NotFoundError
from projections.queries.terms import TENANT, Among, Asked
from projections.reading import AsOf


@dataclass(frozen=True, slots=True)
class Sought:
    """Which record is asked for."""

    prefix: Prefix
    text: str
    """Its id, as it was given."""
    at_position: int | None = None


def detailed[R, V](
    call: Call, sought: Sought, ask: Ask[R], view: Callable[[R, AsOf], V]
) -> Response[V]:
    """Return one record of the caller's, as its list tells it.

    Raises:
        NotFoundError: the caller has none of that id.
        ProblemError: its read model is not at the position that was asked for.
    """
    prefix = sought.prefix
    id_ = given(sought.text, prefix)
    asked = Asked(terms=(Among("id", (id_,)), Among(TENANT, (call.tenant_id,))))
    name = prefix.name.lower()
    with told_if_behind(f"{name}s"):
        page = ask(asked, at_least=no_older_than(call, sought.at_position))
    if not page.items:
        raise NotFoundError(name, sought.text[:64])
    position = page.as_of.position
    version = call.services.queries.versions(id_, position)
    headers = {
        "ETag": etag(told(prefix, id_), version),
        "X-As-Of-Position": str(position),
    }
    return Response(view(page.items[0], page.as_of), headers=headers)
