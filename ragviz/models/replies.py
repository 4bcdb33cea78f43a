"""Reading a model's reply (its text, tokens, JSON), and classifying an endpoint's errors."""

from __future__ import annotations

import json
import re
import time
import zlib
from collections.abc import Iterable
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from ragviz.models import repair
from ragviz.models.requests import Reply, Request
from ragviz.text.untrusted import storable

if TYPE_CHECKING:
    import openai


RETRIED = frozenset({408, 409, 429})
"""Statuses below 500 that are worth a retry."""

MOST_TOKENS = 200_000
"""Tokens of a reply without a bound: a server that reports more is not believed."""
MOST_BYTES, MOST_EMBEDDED_BYTES = 4 * 2**20, 64 * 2**20
"""Bytes that are read of a response, and of one with embeddings. A useful reply has a tenth."""

MOST_WORDS = 20_000
"""Characters of a server's error message that are searched for the key, and shown."""

LONGEST_RETRY_AFTER = 120.0
"""Seconds: a call is not retried when the server asks for a longer wait."""

UNSUPPORTED = ("unsupported_parameter", "unsupported_value")
"""Codes of an HTTP 400 that is about one parameter, named in `param`, whatever its value."""
ROOM_REFUSED = re.compile(
    r"max_(?:completion_)?tokens|(?:output|completion) tokens|context (?:length|window|size)", re.I
)
"""Wordings of an HTTP 400 about a bound greater than the room left after the prompt."""
REDIRECT = "The server redirects, which is not followed with a prompt or a key: set OPENAI_BASE_URL to its new address."
NEXT_STEP = {
    **dict.fromkeys((301, 302, 303, 307, 308), REDIRECT),
    401: "The key was refused: set OPENAI_API_KEY to a valid one.",
    403: "The key may not use this: check its rights, or set RAGVIZ_MODEL to a model it may use.",
    404: "Check that RAGVIZ_MODEL names a model of that server and that OPENAI_BASE_URL ends as it should (often /v1).",
    429: "Too many requests or no quota left: lower RAGVIZ_MODEL_CONCURRENCY, or try again later.",
}


class Malformed(Exception):
    """A reply that cannot be used; the message says what it is."""


class Cut(Malformed):
    """A reply cut off by its bound."""


def text(response: Any, *, whole: bool) -> str:
    """Return the text of a response's first choice; with `whole`, refuse one that was cut off.

    Raises:
        Malformed: there is no such text.

    """
    try:
        choice = response.choices[0]
        text, finish = choice.message.content, choice.finish_reason
        calls = getattr(choice.message, "tool_calls", None)
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
        text = response.choices[0].message.content
    except (AttributeError, LookupError, TypeError):
        return ""
    return str(storable(text)) if isinstance(text, str) else ""


def tokens_in(texts: Iterable[str]) -> int:
    """Estimate the tokens of texts, rather too many than too few: a third of their bytes, rounded up.

    >>> tokens_in(["four words of text"]), tokens_in(["连接", "池"]), tokens_in([])
    (6, 3, 0)
    """
    return -(-sum(len(text.encode()) for text in texts) // 3)


def count(used: Any, name: str, least: int, most: int, estimate: int) -> tuple[int, bool]:
    """Return a number of tokens, and whether it is the `estimate`: a server reports none, or one that cannot be."""
    reported = getattr(used, name, 0)
    if type(reported) is int and max(1, least) <= reported <= most:
        return reported, False
    return min(estimate, most), estimate > 0


def bounded_client(timeout: float) -> Any:
    """Return an HTTP client that follows no redirect, requests no compression, and limits what it reads."""
    import openai

    class Bounded(openai.DefaultHttpxClient):
        """Reads a whole response within limits of bytes and seconds."""

        def send(self, request: Any, **more: Any) -> Any:
            ends = time.monotonic() + timeout
            most = MOST_EMBEDDED_BYTES if request.url.path.endswith("/embeddings") else MOST_BYTES
            request.headers["Accept-Encoding"] = "identity"
            response = super().send(request, **{**more, "stream": True})
            try:
                body = _body_of(response, most, ends)
            finally:
                response.close()
            headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in _FRAMING]
            response_type = type(response)
            return response_type(response.status_code, headers=headers, content=body, request=response.request)

    # No redirect is followed: the prompt and the key go to the configured address only.
    return Bounded(timeout=timeout, follow_redirects=False)


_FRAMING = ("content-encoding", "content-length", "transfer-encoding")


def _body_of(response: Any, most: int, ends: float) -> bytes:
    """Read the body of a response as it arrives.

    Raises:
        Malformed: it is longer than `most` bytes, or compressed in an unknown way.
        TimeoutError: it is not complete at `ends`.

    """
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise Malformed("a response that is compressed, which was not asked for")
    packed = zlib.decompressobj(47) if encoding.endswith(("gzip", "deflate")) else None  # 47: with either header
    body = bytearray()
    for part in response.iter_raw():
        try:
            body += packed.decompress(part, most + 1 - len(body)) if packed else part
        except zlib.error:
            raise Malformed("a response whose compression is broken") from None
        if len(body) > most:
            raise Malformed(f"a response of more than {most:,} bytes")
        if time.monotonic() > ends:
            raise TimeoutError
    return bytes(body)


def read(text: str, request: Request[Reply]) -> Reply | None:
    """Parse `text` as the requested type, and check it."""
    parsed = _parse(text, request.reply)
    complaint = request.check(parsed) if request.check and parsed is not None else ""
    if complaint:
        raise Malformed(complaint)
    return parsed


def _parse(text: str, reply: type[Reply] | None) -> Reply | None:
    """Parse `text` as a `reply`, repairing nearly valid JSON; a reasoning model's thoughts are skipped."""
    if reply is None:
        return None
    body = re.sub(r"\A\s*<think>.*?</think>", "", text, flags=re.DOTALL)
    for whole in (body, body[body.find("{") : body.rfind("}") + 1]):  # text around an object is ignored
        try:
            parsed = reply.model_validate_json(whole)
        except ValidationError:
            continue
        _refuse_contradictions(whole)
        return parsed
    if any(body.count(opening) > body.count(closing) for opening, closing in ("{}", "[]")):
        raise Malformed("a reply that ends in the middle of its JSON")  # repaired, it would be another reply
    try:
        return reply.model_validate(storable(repair.mended(body)))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the whole"
        raise Malformed(f"a reply that is not the JSON asked for ({place}: {first['msg']})") from None
    except ValueError as error:
        raise Malformed(f"a reply that is not JSON ({error})") from None


def _refuse_contradictions(text: str) -> None:
    """Refuse a reply that gives one field two values: which of them counts is unknown."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for name, value in pairs:
            if fields.setdefault(name, value) != value:
                raise Malformed(f"a reply that gives '{name[:40]}' two values")
        return fields

    try:
        json.loads(text, object_pairs_hook=unique)
    except (ValueError, RecursionError):
        raise Malformed("a reply with numbers or a depth beyond reason") from None


def worth_retrying(error: Any) -> bool:
    """Return whether a call that ended in this error may succeed when it is retried."""
    status = getattr(error, "status_code", None)
    if getattr(error, "code", None) == "insufficient_quota":
        return False
    return status is None or status in RETRIED or status >= 500


def format_refused(error: openai.APIError) -> bool:
    """Return whether the endpoint may have refused the response_format: by status, for the wordings vary too much."""
    return getattr(error, "status_code", None) in (400, 422, 501)


def unpaid(error: openai.APIError) -> bool:
    """Return whether the server did no work: it reported an error, or could not be reached."""
    return hasattr(error, "status_code") or type(error.__cause__).__name__ in ("ConnectError", "ConnectTimeout")


def retry_after(error: openai.APIError) -> float:
    """Return the seconds that the server asks to wait, 0 when it does not."""
    response = getattr(error, "response", None)
    value = response.headers.get("retry-after", "") if response is not None else ""
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return 0.0
