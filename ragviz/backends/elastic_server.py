"""An Elasticsearch server: requests, retries, and errors in plain words."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ragviz.backends.elastic_requests import OLDEST, TYPES, Body
from ragviz.core import certificates
from ragviz.core.addresses import is_ambiguous, shown
from ragviz.core.errors import SearchError, UsageError
from ragviz.core.settings import Settings
from ragviz.models import refusals

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch


T = TypeVar("T")


Send = Callable[["Elasticsearch", Sequence[bytes]], list[Body]]
"""Sends operations in one request; returns the result of each, in order."""


BULK_THREADS = 2

RETRY_STATUS = frozenset({429, 502, 503, 504})

RETRY_SECONDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0)
"""Pauses before each retry: long enough in all for a node's restart."""
SHORT_SECONDS = RETRY_SECONDS[:3]
"""The same for reads, where a person waits: the first request of every search."""
TIMEOUT_SECONDS = 60.0


class Server:
    """The Elasticsearch server of the settings: its client, and its address without user, password or key."""

    def __init__(self, settings: Settings, timeout: float = TIMEOUT_SECONDS) -> None:
        """Create the client; nothing is sent yet.

        A certificate with the configured fingerprint is trusted as it is. Others are by the system's authorities, and
        by those of RAGVIZ_CA_FILE.

        Raises:
            UsageError: one of the settings cannot be used, or there are both a key and a password.

        """
        from elasticsearch import Elasticsearch, OrjsonSerializer

        url = settings.elasticsearch_url or ""
        self.address = shown(url)
        self.settings = settings
        try:
            if not url.startswith(("http://", "https://")) or is_ambiguous(url):
                raise ValueError(self.address)
            self.client: Elasticsearch = Elasticsearch(
                url,
                request_timeout=timeout,
                max_retries=0,  # ask() retries, with pauses
                connections_per_node=BULK_THREADS + 2,
                serializers={"application/json": OrjsonSerializer()},
                **credentials(settings),
                **trust(settings),
            )
        except ValueError:
            raise UsageError(
                f"ELASTICSEARCH_URL is {self.address!r}; write it like http://localhost:9200, with scheme and port, "
                "and / \\ ? # @ in a password as %2F %5C %3F %23 %40."
            ) from None

    def version(self, kind: str = "flat", retries: Sequence[float] = SHORT_SECONDS) -> str:
        """Return the server's version; SearchError when it is too old, also for this kind of vectors."""
        number = str(self.ask(lambda client: client.info(), retries=retries)["version"]["number"])
        needed = TYPES[kind]
        if tuple(map(int, number.split(".")[:2])) < needed:
            oldest = ".".join(map(str, needed))
            what = "for ragviz" if needed == OLDEST else f"for the kind of index {kind}"
            others = ", ".join(name for name, version in TYPES.items() if version == OLDEST)
            step = f"Upgrade it to {oldest} or newer" + (f", or choose {others}." if needed != OLDEST else ".")
            raise SearchError(f"Elasticsearch at {self.address} is {number}, which is too old {what}. {step}")
        return number

    def ask(self, call: Callable[[Elasticsearch], T], *, retries: Sequence[float] = RETRY_SECONDS) -> T:
        """Make a call, again after pauses while the server is busy or the connection breaks; SearchError in the end."""
        from elasticsearch import ApiError, TransportError

        for pause in (*retries, None):
            try:
                return call(self.client)
            except (ApiError, TransportError) as error:
                if pause is None or not is_temporary(error):
                    raise SearchError(self.explain(error), kind_of(error)) from None
                time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def ask_each(self, items: Sequence[bytes], send: Send, temporary: Collection[int]) -> list[Body]:
        """Send items in one request, those with a `temporary` status again; SearchError when one is refused."""
        results: list[Body] = [{}] * len(items)
        waiting = list(range(len(items)))
        for pause in (*RETRY_SECONDS, None):
            operations = [items[position] for position in waiting]
            replies = self.ask(lambda client, some=operations: send(client, some))  # type: ignore[misc]
            for position, reply in zip(waiting, replies, strict=True):
                results[position] = reply
            failed = [results[position] for position in waiting if "error" in results[position]]
            if not failed:
                return results
            refused = [reply for reply in failed if reply["status"] not in temporary]
            if refused or pause is None:
                worst = (refused or failed)[0]
                raise SearchError(self.refusal(worst["status"], worst))
            waiting = [position for position in waiting if "error" in results[position]]
            time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def explain(self, error: Exception) -> str:
        """Return what happened, in a sentence: address, reason, next step."""
        from elasticsearch import ApiError, UnsupportedProductError

        meta = getattr(error, "meta", None)
        if meta is not None and 300 <= meta.status < 400 and (location := str(meta.headers.get("location", ""))):
            location = shown(location.partition("?")[0])
            to = f"redirects to {location}, such as a login page, which is not followed"
            return f"The server at {self.address} {to}: set ELASTICSEARCH_URL to Elasticsearch itself."
        if (body := getattr(error, "body", None)) and isinstance(body, str) and refusals.what_is(body) == refusals.PAGE:
            page = " ".join(refusals.words(body).split())[:200]
            return (
                f"The server at {self.address} answers with a web page ({page}), such as that of a login or a proxy: "
                "set ELASTICSEARCH_URL to Elasticsearch itself."
            )
        if isinstance(error, UnsupportedProductError):
            return f"The server at {self.address} is not Elasticsearch; set ELASTICSEARCH_URL to one, 8.15 or newer."
        if not isinstance(error, ApiError):
            text = str(getattr(error, "message", ""))
            if wrong := certificates.trouble(text, "ELASTICSEARCH_URL"):
                return f"The server at {self.address} {wrong[0]}. {wrong[1]}"
            if self.address.startswith("http://") and "Connection aborted" in text:
                return (
                    f"The server at {self.address} closes the connection without a reply, as one with TLS does: begin "
                    "ELASTICSEARCH_URL with https:// if it has that, or try again."
                )
            reason = re.search(r"\[Errno -?\d+\] ([\w ]+)", text)
            return (
                f"Elasticsearch at {self.address} cannot be reached ({reason[1] if reason else type(error).__name__}). "
                "Start it (`make elasticsearch`, or `docker compose up`), or correct ELASTICSEARCH_URL."
            )
        return self.refusal(error.status_code, error.body)

    def refusal(self, status: int, body: object) -> str:
        """Return the same for a reply with an error in it."""
        refuses, advice = "refuses the request", ""
        if is_full(body):
            advice = (
                "its disk is too full. Free space on it, or raise cluster.routing.allocation.disk.watermark; GET "
                "_cat/allocation shows its disks. The block ends by itself"
            )
        elif status == 403 and "cluster_block_exception" in str(body):
            advice = "remove the block in its settings (index.blocks.…), then try again"
        elif status in (401, 403):
            refuses = "refuses access"
            advice = self._sign_in_advice() if status == 401 else self._privilege_advice(reason_of(body))
        elif status == 406 or "media_type_header_exception" in str(body):
            refuses = f"does not speak the protocol of version {OLDEST[0]}"
            advice = f"use Elasticsearch {OLDEST[0]}.{OLDEST[1]} to {OLDEST[0] + 1}"
        elif "maximum normal shards open" in str(body):
            refuses = "has as many shards as it may"
            advice = "delete indexes that are not used, build with fewer shards, or raise cluster.max_shards_per_node"
        elif status in RETRY_STATUS:
            refuses, advice = "is too busy", "try again later"
        told = f"Elasticsearch at {self.address} {refuses} ({status}: {reason_of(body)})"
        return f"{told}: {advice}." if advice else f"{told}."

    def _sign_in_advice(self) -> str:
        settings = self.settings
        if settings.elasticsearch_api_key is not None:
            return "ELASTICSEARCH_API_KEY is wrong, has expired, or was invalidated: set one that the server knows"
        if settings.elasticsearch_password is not None:
            return (
                f"the password of '{settings.elasticsearch_user}' is wrong, or there is no such user: correct "
                "ELASTICSEARCH_USER and ELASTICSEARCH_PASSWORD"
            )
        return "set ELASTICSEARCH_API_KEY, or ELASTICSEARCH_USER and ELASTICSEARCH_PASSWORD"

    def _privilege_advice(self, reason: str) -> str:
        """Name the privilege that is missing, by the server's own words where they name it."""
        named = re.search(r"granted by the (index|cluster) privileges \[([\w,]+)\]", reason)
        least = named[2].split(",")[0] if named else ""  # the server names the narrowest first
        if named and named[1] == "cluster":
            return f"give the user or key the cluster privilege {least}"
        needed = least or "read, view_index_metadata and monitor to search, all to build"
        prefix = self.settings.elasticsearch_prefix
        return f"give the user or key the privilege, on indices that begin with '{prefix}': {needed}"


def credentials(settings: Settings) -> dict[str, Any]:
    """Return what the client signs in with beside what the address has; UsageError for both a key and a password."""
    key, password = settings.elasticsearch_api_key, settings.elasticsearch_password
    if key is not None and password is not None:
        raise UsageError("ELASTICSEARCH_API_KEY and ELASTICSEARCH_PASSWORD are both set: unset one of them.")
    if password is not None:
        return {"basic_auth": (settings.elasticsearch_user, password.get_secret_value())}
    return {"api_key": key.get_secret_value()} if key is not None else {}


def trust(settings: Settings) -> dict[str, Any]:
    """Return by what the client trusts the server's certificate; nothing without TLS."""
    if not (settings.elasticsearch_url or "").startswith("https://"):
        return {}
    if settings.elasticsearch_fingerprint:
        return {"ssl_assert_fingerprint": settings.elasticsearch_fingerprint}
    return {"ssl_context": certificates.context(settings.ca_file)}


def is_temporary(error: Exception) -> bool:
    """Return whether a retry may succeed."""
    import elasticsearch

    if isinstance(error, elasticsearch.ApiError):
        return error.status_code in RETRY_STATUS and not is_full(error.body)
    if certificates.trouble(str(getattr(error, "message", "")), ""):
        return False
    return isinstance(error, elasticsearch.ConnectionError | elasticsearch.ConnectionTimeout)


def is_full(body: object) -> bool:
    """Return whether a reply's error is about a disk above one of the server's watermarks."""
    return "watermark" in str(body)


def kind_of(error: Exception) -> str:
    """Return the server's type of an error; "" when it is busy, cannot be reached, or gives none."""
    status, body = getattr(error, "status_code", 0), getattr(error, "body", None)
    details = body.get("error") if isinstance(body, Mapping) and status not in RETRY_STATUS else None
    return str(details.get("type", "")) if isinstance(details, Mapping) else ""


def reason_of(body: object) -> str:
    """Return the innermost reason of an error's body, at most 300 characters."""
    error = body.get("error", body) if isinstance(body, Mapping) else body
    while isinstance(error, Mapping):
        inner = error.get("caused_by") or next(iter(error.get("root_cause", ())), None)
        if not inner or inner == error:
            break
        error = inner
    text = error.get("reason") or error.get("type") if isinstance(error, Mapping) else error
    return str(text or "no reason given")[:300]


def health(settings: Settings) -> dict[str, str]:
    """Return version and status ("green", "yellow", "red") of the configured server, asked once, within 3 seconds.

    Raises:
        UsageError: a setting of it cannot be used.
        SearchError: it cannot be used, with the reason.

    """
    server = Server(settings, timeout=3)
    version = server.version(retries=())
    status = server.ask(lambda client: client.cluster.health(), retries=())
    return {"version": version, "status": status["status"]}
