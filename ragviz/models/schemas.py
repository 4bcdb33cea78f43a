"""What tells a model the form of its reply: a JSON schema, or words that hold it."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from pydantic import BaseModel


@lru_cache(maxsize=64)
def of(reply: type[BaseModel]) -> dict[str, Any]:
    """JSON schema of a reply type, as strict structured output wants it: nothing optional, nothing additional."""
    schema: dict[str, Any] = _strict(reply.model_json_schema())
    return schema


def _strict(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    left_out = ("title", "default", "properties", "maxLength")
    kept = {name: _strict(value) for name, value in schema.items() if name not in left_out}
    if "maxLength" in schema:  # strict structured output knows bounds of lists and numbers, but not of texts
        kept["description"] = f"{schema.get('description', '')} At most {schema['maxLength']} characters.".lstrip()
    if "properties" in schema:
        kept["properties"] = {name: _strict(value) for name, value in schema["properties"].items()}
        kept |= {"required": list(schema["properties"]), "additionalProperties": False}
    return kept


def instruction(reply: type[BaseModel]) -> str:
    """What asks for JSON of this type where the endpoint takes no schema."""
    schema = json.dumps(of(reply), ensure_ascii=False)
    return f"Reply with nothing but a JSON object that fits this JSON schema:\n{schema}"
