"""The schema that is asked of a model's reply, and its reading: text, tokens, JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ValidationError

from ragviz.models import repair
from ragviz.models.requests import Reply, Request
from ragviz.text.untrusted import first_fault, storable

MOST_TOKENS = 200_000
"""Tokens of a reply without a bound: a server that reports more is not believed."""


class Malformed(Exception):
    """A reply that cannot be used; the message says what it is, `step` what to do; `place` is that of the text."""

    def __init__(
        self,
        message: str,
        step: str = "Try again, or choose a model that follows instructions better.",
        place: int | None = None,
    ) -> None:
        """Keep what to do, and of several texts which it is about."""
        self.step, self.place = step, place
        super().__init__(message)


class Cut(Malformed):
    """A reply cut off by its bound."""


def text(response: Any, *, whole: bool) -> str:
    """Return the text of a response's first choice; with `whole`, refuse one that was cut off.

    Raises:
        Malformed: there is no such text.

    """
    try:
        choice = response["choices"][0]
        message, finish = choice["message"], choice.get("finish_reason")
        text, calls = _joined(message.get("content")), message.get("tool_calls")
    except (AttributeError, LookupError, TypeError):
        raise Malformed("a response without choices") from None
    if whole and finish == "length":
        raise Cut("an answer cut off at its token limit")
    if calls and not text:
        raise Malformed("a call of a tool instead of an answer")
    if not isinstance(text, str) or not text.strip():
        raise Malformed("an empty reply")
    return str(storable(text))


def partial_text(response: Any) -> str:
    """Return the text of a response, "" when it has none."""
    try:
        text = _joined(response["choices"][0]["message"]["content"])
    except (LookupError, TypeError):
        return ""
    return str(storable(text)) if isinstance(text, str) else ""


def _joined(content: Any) -> Any:
    """Return content that came in parts (`{"type": "text", "text": …}`) as one text; other parts are left out."""
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        return content
    texts = (part.get("text") for part in content if part.get("type") in ("text", "output_text"))
    return "".join(text for text in texts if isinstance(text, str))


def tokens_in(texts: Iterable[str]) -> int:
    """Estimate the tokens of texts, rather too many than too few: a third of their bytes, rounded up.

    >>> tokens_in(["four words of text"]), tokens_in(["连接", "池"]), tokens_in([])
    (6, 3, 0)
    """
    return -(-sum(len(text.encode()) for text in texts) // 3)


def count(used: Any, name: str, least: int, most: int, estimate: int) -> tuple[int, bool]:
    """Return a number of tokens, and whether it is the `estimate`: a server reports none, or one that cannot be."""
    reported = used.get(name) if isinstance(used, dict) else None
    if type(reported) is int and max(1, least) <= reported <= most:
        return reported, False
    return min(estimate, most), estimate > 0


def read(text: str, request: Request[Reply]) -> Reply | None:
    """Parse `text` as the requested type, and check it."""
    parsed = _parse(text, request.reply)
    complaint = request.check(parsed) if request.check and parsed is not None else ""
    if complaint:
        raise Malformed(complaint)
    return parsed


def _parse(text: str, reply: type[Reply] | None) -> Reply | None:
    """Parse `text` as a `reply`: its last whole object that is one, else its JSON mended.

    A reasoning model's thoughts, words around an object, and drafts before it are skipped.
    """
    if reply is None:
        return None
    body = re.sub(r"\A\s*<think>.*?</think>", "", text, flags=re.DOTALL)
    for value in reversed(_objects(body)):
        wrapped = [only for only in value.values() if len(value) == 1 and isinstance(only, dict)]
        for candidate in (value, *wrapped):
            with suppress(ValidationError):
                return _validated(candidate, reply)
    if any(body.count(opening) > body.count(closing) for opening, closing in ("{}", "[]")):
        raise Malformed("a reply that ends in the middle of its JSON")  # repaired, it would be another reply
    fenced = re.findall(r"```\w*\n(.*?)```", body, flags=re.DOTALL)
    try:
        return _validated(storable(repair.mended(fenced[-1] if fenced else body)), reply)
    except ValidationError as error:
        raise Malformed(f"a reply that is not the JSON asked for ({first_fault(error)})") from None
    except ValueError as error:
        raise Malformed(f"a reply that is not JSON ({error})") from None


def _objects(text: str) -> list[dict[str, Any]]:
    """Return the whole JSON objects in a text that are in no other.

    Raises:
        Malformed: the text ends within one, or one gives a field two values, or holds numbers or a depth beyond reason.

    """
    decoder = json.JSONDecoder(object_pairs_hook=_unique)
    found: list[dict[str, Any]] = []
    escapes = "\\u" in text  # only an escape can hold what is not storable
    start = text.find("{")
    while start >= 0:
        try:
            value, end = decoder.raw_decode(text, start)
            found.append(storable(value) if escapes else value)
        except json.JSONDecodeError as error:
            end = max(start + 1, error.pos)  # what is nested in a broken object is no reply
            if found and (error.msg.startswith("Unterminated") or not text[error.pos :].strip()):
                raise Malformed("a reply that ends in the middle of its JSON") from None
        except (ValueError, RecursionError):
            raise Malformed("a reply with numbers or a depth beyond reason") from None
        start = text.find("{", end)
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object; refuse one that gives a field two values, for which of them counts is unknown."""
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if fields.setdefault(name, value) != value:
            raise Malformed(f"a reply that gives '{storable(name[:40])}' two values")
    return fields


def _validated(value: Any, reply: type[Reply]) -> Reply:
    """Return JSON as a `reply`; null where a list is due is an empty one."""
    try:
        return reply.model_validate(value)
    except ValidationError as error:
        wrong = error.errors(include_url=False)
        if any(each["type"] != "list_type" or each["input"] is not None for each in wrong):
            raise
        for each in wrong:
            *path, last = each["loc"]
            holder: Any = value
            for key in path:
                holder = holder[key]
            holder[last] = []
        return reply.model_validate(value)


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
