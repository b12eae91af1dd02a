"""The OpenAPI 3.1 document of the whole API."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from typing import Any, Final

from api.http.contract.answers import examples, problem_responses, shared
from api.http.contract.links import links
from api.http.contract.listing import Operation
from api.http.contract.schemas import example_of, parameter_schema, schemas_of
from api.http.problems.problem import Problem
from api.http.route import Key, Match
from api.http.surface import OPERATORS, Surface

_SECURITY: Final = {
    Surface.SHOPS: "shopToken",
    Surface.ADMIN: "adminToken",
    Surface.PANEL: "session",
}
_SCHEMES: Final = {
    "shopToken": {
        "type": "http",
        "scheme": "bearer",
        "description": "A token of /v1: `counterfoil tokens create --surface shop`.",
    },
    "adminToken": {
        "type": "http",
        "scheme": "bearer",
        "description": "A token of /v1/admin.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "__Host-session",
        "description": "A person's session; changes want `X-CSRF-Token` beside it.",
    },
}
_RAW: Final = {"schema": {"type": "string", "format": "binary"}}
_NEITHER_BODY_NOR_TYPE: Final = frozenset({204})
_FOR_ALL: Final = {
    "X-Request-ID": {
        "description": "Finds the request in logs and in the audit",
        "schema": {"type": "string"},
    }
}


def document(operations: Sequence[Operation]) -> dict[str, Any]:
    """Return the document over all operations."""
    bodies = [it.body for it in operations if it.body is not None]
    answers = [it.answer for it in operations if it.answer is not None]
    types = [*bodies, *(it for it in answers if not _is_plain(it)), Problem]
    _, components = schemas_of(types)
    paths: dict[str, Any] = {}
    for each in operations:
        method = each.declared.method.lower()
        told = _operation(each, components)
        success = told["responses"][str(each.declared.status)]
        if found := links(each, _resolved(success, components), operations):
            success["links"] = found
        paths.setdefault(each.path, {})[method] = told
    made = {
        "openapi": "3.1.0",
        "info": {
            "title": "Counterfoil",
            "version": metadata.version("counterfoil"),
            "description": "What was paid is delivered once, and can be proved.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": dict(sorted(components.items())),
            "responses": dict(sorted(shared(paths).items())),
            "examples": dict(sorted(examples().items())),
            "securitySchemes": _SCHEMES,
        },
    }
    # Lists instead of tuples, as whoever reads it has them.
    plain: dict[str, Any] = json.loads(json.dumps(made))
    return plain


def _resolved(
    answer: Mapping[str, Any], components: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return the schema of a JSON answer itself."""
    content = answer.get("content", {}).get("application/json", {})
    schema: Mapping[str, Any] = content.get("schema", {})
    name = schema.get("$ref", "").rpartition("/")[2]
    found: Mapping[str, Any] = components[name] if name else schema
    return found


def _is_plain(answer: Any) -> bool:  # noqa: ANN401 - a type, whatever it is
    return not hasattr(answer, "__struct_fields__") and isinstance(answer, type)


def _operation(operation: Operation, components: dict[str, Any]) -> dict[str, Any]:
    declared, handler = operation.declared, operation.handler
    made: dict[str, Any] = {
        "operationId": operation.id,
        "summary": handler.summary,
        "tags": [operation.surface.name.lower()],
        "security": list(_security(operation)),
        "parameters": [*_parameters(operation), *_headers(operation)],
        "responses": {
            **{
                str(status): _success(operation, status, components)
                for status in (declared.status, *declared.also)
            },
            **problem_responses(operation),
        },
    }
    if handler.description:
        made["description"] = handler.description
    if operation.body is not None:
        made["requestBody"] = {
            "required": True,
            "content": {"application/json": _content(operation.body, components)},
        }
    if declared.media:
        content = dict.fromkeys(declared.media, _RAW)
        made["requestBody"] = {"required": True, "content": content}
    if declared.permission is not None:
        made["x-permission"] = declared.permission.value
    return made


def _security(operation: Operation) -> Iterator[dict[str, list[str]]]:
    if not operation.declared.is_open:
        needed = operation.declared.permission
        scopes = [] if needed is None else [needed.value]
        yield {_SECURITY[operation.surface]: scopes}


def _success(
    operation: Operation, status: int, components: dict[str, Any]
) -> dict[str, Any]:
    made: dict[str, Any] = {"description": "Done", "headers": _FOR_ALL}
    if operation.is_stream:
        schema = {"type": "string"}
        made["content"] = {"text/event-stream": {"schema": schema}}
    elif operation.declared.gives:
        made["content"] = dict.fromkeys(operation.declared.gives, _RAW)
    elif operation.answer is not None and status not in _NEITHER_BODY_NOR_TYPE:
        content = _content(operation.answer, components)
        made["content"] = {"application/json": content}
    return made


def _content(type_: Any, components: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401
    (schema,), _ = schemas_of([type_])
    return {"schema": schema, "example": example_of(schema, components)}


def _parameters(operation: Operation) -> Iterable[dict[str, Any]]:
    for each in operation.parameters():
        yield {
            "name": each.name,
            "in": each.where,
            "required": each.where == "path" or each.is_required,
            "schema": parameter_schema(each),
            **({"description": told} if (told := each.mark.description) else {}),
        }


def _headers(operation: Operation) -> Iterator[dict[str, Any]]:
    declared, surface = operation.declared, operation.surface
    if declared.key is not Key.NONE:
        needed = declared.key is Key.REQUIRED and surface is not Surface.PANEL
        yield _header(
            "Idempotency-Key",
            "One key, one effect: what was done before under it is answered again",
            {"type": "string", "minLength": 8, "maxLength": 128, "pattern": _BARE},
            needed=needed,
        )
    if declared.match is not Match.NONE:
        yield _header(
            "If-Match",
            "The ETag that was read: what has changed since is not changed again",
            {"type": "string"},
            needed=declared.match is Match.REQUIRED,
        )
    if declared.is_recorded and declared.is_reasoned and not declared.is_open:
        is_needed = surface in OPERATORS
        yield _header(
            "X-Operator-Reason",
            "Why, percent-encoded UTF-8 of 1 to 400 characters",
            {"type": "string", "pattern": _PRINTABLE if is_needed else _MAYBE_EMPTY},
            needed=is_needed,
        )
    if declared.is_change and surface is Surface.PANEL and not declared.is_open:
        yield _header(
            "X-CSRF-Token",
            "The session's token, as signing in has answered it",
            {"type": "string"},
            needed=True,
        )


_VISIBLE: Final = "^[!-~]+$"
_PRINTABLE: Final = "^[ -~]+$"
# Where none is needed an empty one is none.
_MAYBE_EMPTY: Final = "^[ -~]*$"
# In quotes it is a string of RFC 9651, whose quotes do not count.
_BARE: Final = "^[!#-~][!-~]*$"


def _header(
    name: str, description: str, schema: dict[str, Any], *, needed: bool
) -> dict[str, Any]:
    return {
        "name": name,
        "in": "header",
        "required": needed,
        "description": description,
        "schema": schema,
    }
