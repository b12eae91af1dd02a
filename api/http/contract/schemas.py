"""Schemas of structs and parameters, and examples that fit them."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from api.http.contract.listing import Parameter

REFERENCE: Final = "#/components/schemas/{name}"
_PREFIX: Final = REFERENCE.removesuffix("{name}")
_BOUNDS: Final[Mapping[str, str]] = {
    "ge": "minimum",
    "le": "maximum",
    "gt": "exclusiveMinimum",
    "lt": "exclusiveMaximum",
    "min_length": "minLength",
    "max_length": "maxLength",
    "pattern": "pattern",
}
_BY_FORMAT: Final[Mapping[str, str]] = {
    "date-time": "2026-11-30T12:00:00.000000Z",
    "uuid": "0197d3a0-0000-7000-8000-000000000001",
}
_DEEPEST: Final = 8


def schemas_of(types: Iterable[Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return a schema for each type, and the components that they refer to."""
    made, components = msgspec.json.schema_components(
        list(types), ref_template=REFERENCE
    )
    return list(made), components


def parameter_schema(parameter: Parameter) -> dict[str, Any]:
    """Return the schema of a parameter of path or query."""
    (schema,), _ = schemas_of([parameter.type])
    for name, told in _BOUNDS.items():
        bound = getattr(parameter.mark, name, None)
        if bound is not None:
            schema[told] = bound
    if not parameter.is_required and parameter.default is not None:
        schema["default"] = parameter.default
    return schema


def example_of(
    schema: Mapping[str, Any], components: Mapping[str, Any], depth: int = 0
) -> object:
    """Return a value that the schema allows, always the same."""
    for told in ("examples", "enum"):
        if schema.get(told):
            return schema[told][0]
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(_PREFIX)
        return example_of(components[name], components, depth + 1)
    if "const" in schema:
        return schema["const"]
    if "anyOf" in schema:
        return example_of(schema["anyOf"][0], components, depth)
    match schema.get("type"):
        case "object":
            return _object(schema, components, depth)
        case "array":
            items = schema.get("items")
            wanted = schema.get("minItems", 0) or depth < _DEEPEST
            return (
                [example_of(items, components, depth + 1)] if items and wanted else []
            )
        case "string":
            text = _BY_FORMAT.get(schema.get("format", ""), "text")
            return text.ljust(schema.get("minLength", 0), "x")
        case "integer":
            return max(schema.get("minimum", 1), 1)
        case "number":
            return 1.5
        case "boolean":
            return True
        case _:
            return None


def _object(
    schema: Mapping[str, Any], components: Mapping[str, Any], depth: int
) -> dict[str, object]:
    needed = schema.get("required", ())
    return {
        name: example_of(each, components, depth + 1)
        for name, each in schema.get("properties", {}).items()
        if name in needed or depth < _DEEPEST
    }
