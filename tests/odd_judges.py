"""Unreliable judges, on the loopback server: it answers and embeds well, and judges as they do."""

import json
import re
from typing import Any

from tests import model_server


def agreeable(good: dict[str, Any]) -> dict[str, Any]:
    """A well-behaved reply with every verdict turned into a yes, which its form and words do not show."""
    for row in good.get("claims", []):
        if "supported_by" in row:
            row |= {"supported_by": [{"passage": 1, "sentence": 1}], "contradicted_by": []}
    for name in ("answer_claims", "reference_claims"):
        good[name] = [row | {"verdict": "supported", "sentence": 1} for row in good.get(name, [])] or good.get(name)
    good = {name: value for name, value in good.items() if value is not None}
    if "equivalence" in good:
        good |= {"equivalence": "equivalent", "completeness": 1.0, "conciseness": 1.0}
    return good


def letters(name: str, schema: dict[str, Any], prompt: str) -> Any:
    """The value of a field: single letters or ideographs for a text, every flag true, every verdict good."""
    if schema.get("type") == "string" and "enum" not in schema:
        characters = re.findall(r"\w", prompt.split("\n", 1)[1])
        return characters[len(name) % len(characters)]
    if "enum" in schema:
        return schema["enum"][0]
    return {"boolean": True, "integer": 1, "number": 1.0}.get(schema.get("type", ""))


def built(schema: dict[str, Any], root: dict[str, Any], prompt: str, name: str = "") -> Any:
    """A reply that fits `schema`, of letters; lists have twelve entries."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    if schema.get("type") == "object":
        return {n: built(part, root, prompt, n) for n, part in schema["properties"].items()}
    if schema.get("type") == "array":
        rows = [built(schema["items"], root, prompt, name) for _ in range(12)]
        for number, row in enumerate(rows, start=1):
            if isinstance(row, dict):
                row |= {key: number for key in ("claim", "passage", "number") if key in row}
        return rows
    return letters(name, schema, prompt)


def empty(schema: dict[str, Any], root: dict[str, Any]) -> Any:
    """Empty lists, no words, zeros."""
    if "enum" in schema:
        return schema["enum"][-1]
    values = {"array": [], "boolean": False, "integer": 0, "number": 0.0, "string": ""}
    return {name: values.get(part.get("type", ""), empty(part, root) if "enum" in part else "") for name, part in
            schema["properties"].items()} if schema.get("type") == "object" else ""  # fmt: skip


JUDGE_FIELDS = {"claims", "passages", "answer_claims", "key_questions", "answers"}


def install(monkeypatch: Any, kind: str) -> None:
    """Have the loopback server judge as `kind` does from now on: "agreeable", "empty", "letters" or "good"."""
    real = getattr(model_server.complete, "real", model_server.complete)

    def complete(body: dict[str, Any]) -> str:
        schema = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
        prompt = next(m["content"] for m in body["messages"] if m["role"] == "user")
        if kind == "good" or not JUDGE_FIELDS & set(schema.get("properties", {})):
            return str(real(body))
        if kind == "agreeable":
            return json.dumps(agreeable(json.loads(real(body))), ensure_ascii=False)
        if kind == "empty":
            return json.dumps(empty(schema, schema))
        return json.dumps(built(schema, schema, prompt), ensure_ascii=False)

    complete.real = real  # type: ignore[attr-defined]
    monkeypatch.setattr(model_server, "complete", complete)
