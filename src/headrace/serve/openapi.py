"""The API as an OpenAPI document, made of the same table that requests are routed by."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from headrace.serve.arriving import PUSHED_TYPES
from headrace.serve.names import PATTERN
from headrace.serve.problems import MEDIA_TYPE
from headrace.serve.routes import OPERATIONS, Operation, Parameter
from headrace.version import __version__

_IN_PATH: Final = re.compile(r"\{(\w+)\}")
_ALWAYS: Final = (401, 403, 421)
_TEXT: Final = {"type": "string"}
_MAYBE: Final = {"type": ["string", "null"]}
_SCHEMAS: Final[dict[str, Any]] = {
    "NewStream": {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "name": {**_TEXT, "pattern": PATTERN},
            "iri": _MAYBE,
            "time": _MAYBE,
            "delay": _MAYBE,
            "title": _MAYBE,
            "description": _MAYBE,
            "license": _MAYBE,
        },
    },
    "NewQuery": {
        "type": "object",
        "required": ["text"],
        "additionalProperties": False,
        "properties": {
            "text": _TEXT,
            "name": {**_MAYBE, "pattern": PATTERN},
            "dialect": _MAYBE,
            "settings": {"type": "object", "additionalProperties": _TEXT},
        },
    },
    "SparqlForm": {
        "type": "object",
        "required": ["query"],
        "properties": {"query": _TEXT},
    },
    "Problem": {
        "type": "object",
        "required": ["type", "title", "status", "detail"],
        "properties": {
            "type": _TEXT,
            "title": _TEXT,
            "status": {"type": "integer"},
            "detail": _TEXT,
            "errors": {"type": "array", "items": {"$ref": "#/components/schemas/Place"}},
        },
    },
    "Place": {
        "type": "object",
        "required": ["message"],
        "properties": {
            "message": _TEXT,
            **{
                name: {"type": ["integer", "null"]}
                for name in ("line", "column", "end_line", "end_column", "start", "end")
            },
            "excerpt": _MAYBE,
            "hint": _MAYBE,
        },
    },
}


def document(url: str) -> dict[str, Any]:
    """The whole document, for a server at a URL."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Headrace",
            "version": __version__,
            "description": "Continuous SPARQL over streams.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": url}],
        "security": [{}, {"token": []}],
        "paths": paths,
        "components": {
            "schemas": _SCHEMAS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _described(operation: Operation) -> dict[str, Any]:
    own = [
        Parameter(name, "the name", "path", needed=True)
        for name in _IN_PATH.findall(operation.path)
    ]
    said: dict[str, Any] = {
        "operationId": f"{operation.method.lower()}{_identity(operation.path)}",
        "summary": operation.says,
        "tags": [operation.tag],
        "parameters": [_parameter(each) for each in (*own, *operation.parameters)],
        "responses": _responses(operation),
    }
    if operation.takes:
        content = {name: {"schema": _body(name, operation)} for name in operation.takes}
        said["requestBody"] = {"required": True, "content": content}
    return said


def _identity(path: str) -> str:
    return "".join(part.strip("{}").capitalize() for part in path.split("/"))


def _parameter(each: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": each.kind}
    if each.kind == "integer":
        schema |= {"minimum": 0, "maximum": 2**53}
    if each.choices:
        schema["enum"] = list(each.choices)
    if each.place == "path":
        schema["pattern"] = PATTERN
    if each.repeats:
        schema = {"type": "array", "items": schema}
    return {
        "name": each.name,
        "in": each.place,
        "description": each.says,
        "required": each.needed,
        "schema": schema,
    }


def _body(media_type: str, operation: Operation) -> dict[str, Any]:
    is_object = media_type in {"application/json", "application/x-www-form-urlencoded"}
    if is_object and operation.schema is not None:
        return {"$ref": f"#/components/schemas/{operation.schema}"}
    if media_type in PUSHED_TYPES and media_type.endswith("json"):
        return {}
    return dict(_TEXT)


def _responses(operation: Operation) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for status, types in operation.gives.items():
        found[str(status)] = {"description": "It is done.", **_content(types)}
    problem = {"schema": {"$ref": "#/components/schemas/Problem"}}
    for status in sorted({*operation.refuses, *_ALWAYS}):
        found[str(status)] = {"description": "Refused.", "content": {MEDIA_TYPE: problem}}
    return found


def _content(types: Sequence[str]) -> dict[str, Any]:
    return {"content": {name: {} for name in types}} if types else {}
