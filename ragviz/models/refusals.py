"""What an endpoint sends in place of a reply, in its own words, with what to do; and when to stop asking it."""

from __future__ import annotations

import html
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from ragviz.core import addresses, certificates
from ragviz.core.digests import digest
from ragviz.core.errors import ModelError, UselessModel
from ragviz.core.reply_cache import Cache
from ragviz.text.untrusted import is_deep, parsed

if TYPE_CHECKING:
    import openai


RETRIED = frozenset({408, 409, 429})
"""Statuses below 500 that are worth a retry."""
LONGEST_RETRY_AFTER = 120.0
"""Seconds: a call is not retried when the server asks for a longer wait."""
MOST_WORDS = 20_000
"""Characters of a server's response that are searched for the key, and for its words."""
SHOWN = 300
"""Characters of a server's words that are shown."""
ANSWERED = "x-ragviz-answered"
"""Header that the HTTP client adds with the status of a response that serves nothing, where it is 200."""
LONGEST_ERROR = 100_000
"""Bytes of the longest response with status 200 that is examined for an error."""

UNSUPPORTED = re.compile(
    r"unsupported|not.{0,9} support|n't support|unrecognized|unknown|unexpected|forbidden|permitted|not allowed", re.I
)
"""Wordings of an error about a parameter, whatever its value."""
ROOM = re.compile(r"max_(?:completion_)?tokens|(?:output|completion) tokens|context (?:length|window|size)", re.I)
"""Wordings of an error about a bound greater than the room left after the prompt."""
PARTS = {
    "temperature": re.compile(r"\btemperature\b", re.I),
    "seed": re.compile(r"\bseed\b", re.I),
    "max_tokens": re.compile(r"max_(?:completion_)?tokens", re.I),
    "system": re.compile(r"\b(?:system|developer)\b|\broles?\b", re.I),
}
"""Parts that a request can do without, and how an error names them, in whichever of its fields."""

REDIRECT = "The server redirects, which is not followed with a prompt or a key: set OPENAI_BASE_URL to its new address."
NEXT_STEP = {
    **dict.fromkeys((301, 302, 303, 307, 308), REDIRECT),
    401: "The key was refused: set OPENAI_API_KEY to a valid one.",
    403: "The key may not use this: check its rights, or set RAGVIZ_MODEL to a model it may use.",
    404: "Check that RAGVIZ_MODEL names a model of that server and that OPENAI_BASE_URL ends as it should (often /v1).",
    429: "Too many requests or no quota left: lower RAGVIZ_MODEL_CONCURRENCY, or try again later.",
}
NEVER_ANSWERED = (
    "ConnectError",
    "ConnectTimeout",
    "PoolTimeout",
    "WriteError",
    "WriteTimeout",
    "ReadError",
    "RemoteProtocolError",
)
"""Errors of the HTTP client before a response begins: no connection, or one that the server ended without a word."""
PAGE = "a web page"
STREAM = "a stream of events"
TEXT = "text that is no JSON"
STEP_OF = {
    PAGE: "Set OPENAI_BASE_URL to the address of the API (often ending in /v1), and see that no login page or proxy "
    "answers in its place.",
    STREAM: "Have the server, or the proxy before it, answer without streaming, which was not requested.",
    TEXT: "Check that OPENAI_BASE_URL is the address of an OpenAI-compatible API (often ending in /v1).",
}


def unserved(body: bytes, due: str) -> int:
    """Return the HTTP status that a response of status 200 stands for, 0 when it may hold the field `due`.

    An error's is the one that it names, else 400; 404 stands for what is no JSON.
    """
    if not body.strip():
        return 0
    if what_is(body[:100].decode("utf-8", "replace")):
        return 404
    if len(body) > LONGEST_ERROR:
        return 0
    try:
        value = parsed(body.decode("utf-8-sig"))
    except ValueError:  # broken JSON
        return 0
    if not isinstance(value, dict):
        return 0
    rows = value.get(due)
    first = rows[0] if isinstance(rows, list) and rows else None
    error = value.get("error") or (first.get("error") if isinstance(first, dict) else None)
    if due in value and not error:
        return 0
    code = str(error.get("code") if isinstance(error, dict) else value.get("code"))
    return int(code) if re.fullmatch("[45][0-9][0-9]", code) else 400


def what_is(body: str) -> str:
    """Return what a body is that is no JSON object or list: `PAGE`, `STREAM` or `TEXT`; "" for those two.

    >>> what_is("<!DOCTYPE html>"), what_is("data: {}"), what_is(" [1]"), what_is("It works")
    ('a web page', 'a stream of events', '', 'text that is no JSON')
    """
    start = body.lstrip("\ufeff \t\r\n")
    if start[:1] in ("", "{", "["):
        return ""
    return PAGE if start[0] == "<" else STREAM if re.match("(?:data|event|id|retry)?:", start) else TEXT


def words(body: str) -> str:
    """Return a server's own words: the message of an error, the title and the text of a page, else how it begins.

    >>> words('{"error": {"message": "No such model", "code": 404}}'), words("<title>Sign in</title><p>Welcome</p>")
    ('No such model', 'Sign in: Welcome')
    >>> words('{"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}')
    'body.seed: Extra inputs are not permitted'
    """
    kind = what_is(body)
    body = body[:MOST_WORDS]
    if kind == PAGE:
        page = re.sub(r"<(script|style)\b[^<]*(?:<(?!/\1)[^<]*)*</\1[^<>]*>", " ", body[:4000], flags=re.IGNORECASE)
        title = re.search(r"<title[^<>]*>([^<]*)</title[^<>]*>", page, re.IGNORECASE)
        rest = re.sub("<[^<>]*>?", " ", page.replace(title[0], " ") if title else page)
        return html.unescape(": ".join(filter(None, (" ".join(t.split()) for t in (title[1] if title else "", rest)))))
    try:
        value = parsed(body.removeprefix("data:"))
    except ValueError:
        return body
    return body if is_deep(value) else _message(value) or body


def _message(value: Any) -> str:
    """Return the message in an error's JSON, whatever its field is called; "" when there is none."""
    if isinstance(value, list):
        return "; ".join(filter(None, map(_message, value[:3])))
    if not isinstance(value, dict):
        return value if isinstance(value, str) else ""
    names = ("error", "message", "msg", "detail", "error_msg", "error_message", "errors")
    found = next((message for name in names if (message := _message(value.get(name)))), "")
    place = value.get("loc")
    return f"{'.'.join(map(str, place))}: {found}" if found and isinstance(place, list) else found


def parts_refused(error: openai.APIStatusError) -> set[str]:
    """Return which of `PARTS` an error is about; "bound" when its prompt leaves no room for its `max_tokens`.

    A parameter that the server names in `param` with a code that says so is the only one.
    """
    text = error.response.text[:MOST_WORDS]
    unsupported = bool(UNSUPPORTED.search(f"{error.code} {text}"))
    if unsupported and isinstance(error.param, str) and error.param in PARTS:
        return {error.param}
    parts = {part for part, pattern in PARTS.items() if pattern.search(text)}
    return parts if unsupported or not ROOM.search(text) else parts - {"max_tokens"} | {"bound"}


def worth_retrying(error: Any) -> bool:
    """Return whether a call that ended in this error may succeed when it is retried."""
    status = getattr(error, "status_code", None)
    if getattr(error, "code", None) == "insufficient_quota" or certificates.trouble(str(error.__cause__), ""):
        return False
    return status is None or status in RETRIED or status >= 500


def format_refused(error: openai.APIError) -> bool:
    """Return whether the endpoint may have refused the form of a request: by status, for the wordings vary too much."""
    return getattr(error, "status_code", None) in (400, 422, 501)


def unpaid(error: openai.APIError) -> bool:
    """Return whether the server plainly never answered, or with an error: one that may still be at work is not."""
    return hasattr(error, "status_code") or type(error.__cause__).__name__ in NEVER_ANSWERED


def retry_after(error: openai.APIError) -> float:
    """Return the seconds that the server asks to wait, 0 when it does not."""
    response = getattr(error, "response", None)
    return seconds_of(response.headers.get("retry-after", "") if response is not None else "")


def seconds_of(value: str) -> float:
    """Return the seconds of a header Retry-After, a number or a date; 0 for anything else."""
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return 0.0


def _unreachable(error: openai.APIError, where: str, timeout: float, shown: Callable[[str], str]) -> ModelError:
    cause, text = type(error.__cause__).__name__, str(error.__cause__ or "")
    if wrong := certificates.trouble(text, "OPENAI_BASE_URL"):
        return ModelError(f"{where} {wrong[0]}. {wrong[1]}", outage=True)
    reason = f" ({shown(text)[:SHOWN]})" if text else ""
    what, step = f"cannot be reached{reason}", "Check OPENAI_BASE_URL and that the server runs."
    if cause == "ConnectTimeout":
        what = f"took no connection within {timeout / 2:g} s"
    elif cause in NEVER_ANSWERED and cause != "ConnectError":
        what = f"ended the connection without an answer{reason}"
    elif type(error).__name__ == "APITimeoutError":
        what = f"did not answer within {timeout:g} s"
        step = f"{step[:-1]}, or raise RAGVIZ_MODEL_TIMEOUT."
    return ModelError(f"{where} {what}. {step}", outage=True, temporary=True)


def explained(error: openai.APIError, where: str, timeout: float, shown: Callable[[str], str]) -> ModelError:
    """Return what went wrong `where`, and the next step; `shown` returns the server's words as they may be shown."""
    status = getattr(error, "status_code", None)
    if status is None:
        return _unreachable(error, where, timeout, shown)
    response: Any = getattr(error, "response", None)
    body = response.text
    answered, kind = response.headers.get(ANSWERED, ""), what_is(body)
    what = f" with {kind or 'an error'}" if kind or answered else ""
    reason = "" if status in (401, 403) and not kind else shown(words(body))[:SHOWN]
    step = NEXT_STEP.get(status, "Try again later." if status >= 500 else "Shorten or change what is asked.")
    location = addresses.shown(response.headers.get("location", "").partition("?")[0])
    reason = f"to {shown(location)}" if location and step == REDIRECT else reason
    step = STEP_OF[kind] if kind and status in (200, 401, 403, 404) else step
    temporary = status in (408, 502, 503, 504) or (status == 429 and worth_retrying(error))
    told = f"{where} answered HTTP {answered or status}{what}{f' ({reason})' if reason else ''}"
    explanation = ModelError(f"{told}. {step}", outage=temporary or status in NEXT_STEP, temporary=temporary)
    explanation.status = status
    return explanation


SHARE, DOUBT = 0.25, 0.01
"""Work stops when a model with a quarter of usable replies would do so badly once in a hundred times: after 17 calls
without a usable reply, 24 with one, 76 with ten. Of 20,000 simulated models that fail three of five calls, 6 were
stopped within 130 calls."""

Ask = Callable[[Any, Any], Any]
"""(client, request) -> completion."""


class Breaker:
    """Counts the usable replies of each kind of call, cached ones too, which a model gave as well.

    Work that is resumed after a stop is not stopped again.
    """

    def __init__(self, stops: Cache | None = None, owner: str = "", calls: int | None = None) -> None:
        """Start counting; `stops` remembers whether the work of `owner` (a run, a question set) was stopped before.

        `calls` are those that the work takes without failures, None when unknown: the work stops too when as many gave
        nothing usable.
        """
        from scipy.special import bdtr

        self._binomial_cdf, self._stops, self._key = bdtr, stops, digest("breaker", owner)
        self._resumed = stops is not None and bool(stops.get_many([self._key]))
        self._usable, self._useless, self._calls = Counter[str](), Counter[str](), calls
        self._lock = threading.Lock()

    def count(self, what: str, usable: int, useless: int, why: str = "") -> None:
        """Count calls for `what`; `why` is what was wrong with the last useless reply.

        Raises:
            UselessModel: too few of them, or of all, were usable.

        """
        with self._lock:
            for each in (what, ""):
                self._usable[each] += usable
                self._useless[each] += useless
            kind = next((kind for kind in (what, "") if useless and self._hopeless(kind)), None)
        if kind is not None and not self._resumed:
            calls = f"{self._useless[kind]:,} of {self._usable[kind] + self._useless[kind]:,} calls"
            error = UselessModel(
                f"{calls}{f' for {kind!r}' if kind else ''} gave nothing usable: {why} No more are paid until you say "
                "so: choose another model, or resume this (on the page, or by giving the command again) to go on "
                "regardless."
            )
            if self._stops is not None:
                self._stops.put_many({self._key: str(error).encode()})
            raise error

    def watching(self, ask: Ask, what: str) -> Ask:
        """Return `ask` with its calls counted."""

        def counted(client: Any, request: Any) -> Any:
            try:
                completion = ask(client, request)
            except ModelError as error:
                if not error.outage:
                    self.count(what, 0, max(error.replies, error.calls), str(error))
                raise
            self.count(what, 1, completion.useless, "Replies could not be used.")
            return completion

        return counted

    def _hopeless(self, kind: str) -> bool:
        usable, calls = self._usable[kind], self._usable[kind] + self._useless[kind]
        if usable >= SHARE * calls:
            return False
        as_many = not kind and self._calls is not None and self._useless[kind] >= self._calls
        return as_many or bool(self._binomial_cdf(usable, calls, SHARE) <= DOUBT)
