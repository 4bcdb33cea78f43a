"""The form of a typed reply: a JSON schema, or an instruction that holds it."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from pydantic import BaseModel


@lru_cache(maxsize=64)
def of(reply: type[BaseModel]) -> dict[str, Any]:
    """Return a reply type's JSON schema as strict structured output needs it: nothing optional, nothing additional."""
    schema: dict[str, Any] = _strict(reply.model_json_schema())
    return schema


def _strict(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    dropped = ("title", "default", "properties", "maxLength")
    strict = {name: _strict(value) for name, value in schema.items() if name not in dropped}
    if "maxLength" in schema:  # strict structured output knows bounds of lists and numbers, but not of texts
        strict["description"] = f"{schema.get('description', '')} At most {schema['maxLength']} characters.".lstrip()
    if "properties" in schema:
        strict["properties"] = {name: _strict(value) for name, value in schema["properties"].items()}
        strict |= {"required": list(schema["properties"]), "additionalProperties": False}
    return strict


def instruction(reply: type[BaseModel]) -> str:
    """Return the instruction to reply with JSON of this type, for endpoints that take no schema."""
    schema = json.dumps(of(reply), ensure_ascii=False)
    return f"Reply with nothing but a JSON object that fits this JSON schema:\n{schema}"
