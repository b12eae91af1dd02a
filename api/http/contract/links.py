"""Links from answers to what can be asked next: whoever follows them needs no manual.

An answer that has an `id` leads to what its address lists under `{…}`; one that names
a job, an order or the like (`jobId`) leads to what that can be asked for.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from api.http.contract.listing import Operation

_PARAMETER: Final = re.compile(r"\{(\w+)\}")
_MOST: Final = 8
"""Links of one answer."""


def links(
    operation: Operation,
    answer: Mapping[str, Any],
    operations: Sequence[Operation],
) -> dict[str, Any]:
    """Return the links of an operation whose answer has that schema."""
    sources = dict(_sources(operation, answer.get("properties", {})))
    made: dict[str, Any] = {}
    for each in operations:
        names = _PARAMETER.findall(each.path)
        if each.surface is not operation.surface or len(names) != 1:
            continue
        source = sources.get(names[0]) or sources.get(_before(each.path))
        if source is not None and each.id != operation.id and len(made) < _MOST:
            made[each.id] = {
                "operationId": each.id,
                "parameters": {names[0]: source},
            }
    return made


def _sources(
    operation: Operation, members: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Yield where values are found, by the address or the parameter they are for."""
    base = _before(operation.path)
    if "id" in members:
        yield base, "$response.body#/id"
    if "items" in members:
        yield base, "$response.body#/items/0/id"
    for name in members:
        if name.endswith("Id"):
            yield f"{name[:-2].lower()}_id", f"$response.body#/{name}"


def _before(path: str) -> str:
    """Return an address as far as its first parameter."""
    return path.partition("/{")[0]
