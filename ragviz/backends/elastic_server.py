"""An Elasticsearch server: requests, retries, and errors in plain words."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ragviz.backends.elastic_requests import PREFIX, Body
from ragviz.core import certificates
from ragviz.core.addresses import is_ambiguous, shown
from ragviz.core.errors import SearchError, UsageError
from ragviz.models import refusals

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch


T = TypeVar("T")


class Send(Protocol):
    """Sends operations in one request; returns the result of each, in order."""

    def __call__(self, client: Elasticsearch, operations: Sequence[bytes]) -> list[Body]: ...  # noqa: D102


BULK_THREADS = 2

RETRY_STATUS = frozenset({429, 502, 503, 504})

RETRY_SECONDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0)
"""Pauses before each retry: long enough in all for a node's restart."""
SHORT_SECONDS = RETRY_SECONDS[:3]
"""The same for reads, where a person waits: the first request of every search."""
TIMEOUT_SECONDS = 60.0


class Server:
    """An Elasticsearch server: its client, and its address without user, password or key."""

    def __init__(
        self, url: str, api_key: str | None, timeout: float = TIMEOUT_SECONDS, ca_file: Path | None = None
    ) -> None:
        """Create the client; nothing is sent yet. Certificates in `ca_file` are trusted beside the system's.

        Raises:
            UsageError: `url` is not an address, or `ca_file` cannot be used.

        """
        from elasticsearch import Elasticsearch, OrjsonSerializer

        self.address = shown(url)
        try:
            if not url.startswith(("http://", "https://")) or is_ambiguous(url):
                raise ValueError(self.address)
            tls: dict[str, Any] = {"ssl_context": certificates.context(ca_file)} if url.startswith("https://") else {}
            self.client: Elasticsearch = Elasticsearch(
                url,
                api_key=api_key,
                request_timeout=timeout,
                max_retries=0,  # ask() retries, with pauses
                connections_per_node=BULK_THREADS + 2,
                serializers={"application/json": OrjsonSerializer()},
                **tls,
            )
        except ValueError:
            raise UsageError(
                f"ELASTICSEARCH_URL is {self.address!r}; write it like http://localhost:9200, with scheme and port, "
                "and / \\ ? # @ in a password as %2F %5C %3F %23 %40."
            ) from None

    def ask(self, call: Callable[[Elasticsearch], T], *, retries: Sequence[float] = RETRY_SECONDS) -> T:
        """Make a call, and retry it after a pause when the server is busy or the connection broke.

        Raises:
            SearchError: the server is not reachable, busy for too long, or refuses.

        """
        from elasticsearch import ApiError, TransportError

        for pause in (*retries, None):
            try:
                return call(self.client)
            except (ApiError, TransportError) as error:
                if pause is None or not is_temporary(error):
                    raise SearchError(self.explain(error), kind_of(error)) from None
                time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def ask_each(
        self,
        items: Sequence[bytes],
        send: Send,
        temporary: Collection[int],
    ) -> list[Body]:
        """Send items in one request, retry those with a `temporary` status, and return their results, in order.

        Raises:
            SearchError: an item is refused, or the server stays too busy for it.

        """
        results: list[Body] = [{}] * len(items)
        waiting = list(range(len(items)))
        for pause in (*RETRY_SECONDS, None):
            replies = self.ask(partial(send, operations=[items[position] for position in waiting]))
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

        if location := _location(error):
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
            reason = re.search(r"\[Errno -?\d+\] ([\w ]+)", text)
            return (
                f"Elasticsearch at {self.address} cannot be reached ({reason[1] if reason else type(error).__name__}). "
                "Start it (`make elasticsearch`, or `docker compose up`), or correct ELASTICSEARCH_URL."
            )
        return self.refusal(error.status_code, error.body)

    def refusal(self, status: int, body: object) -> str:
        """Return the same for a reply with an error in it."""
        if is_full(body):
            advice = (
                "its disk is too full. Free space on it, or raise cluster.routing.allocation.disk.watermark; GET "
                "_cat/allocation shows its disks. The block ends by itself"
            )
            return f"Elasticsearch at {self.address} refuses the request ({status}: {reason_of(body)}): {advice}."
        if status == 403 and "cluster_block_exception" in str(body):
            advice = "remove the block in its settings (index.blocks.…), then try again"
            return f"Elasticsearch at {self.address} refuses the request ({status}: {reason_of(body)}); {advice}."
        if status in (401, 403):
            advice = "check ELASTICSEARCH_API_KEY"
            if status == 403:
                advice = (
                    f"give the user or ELASTICSEARCH_API_KEY the privilege, on indices that begin with '{PREFIX}': "
                    "read, view_index_metadata and monitor to search, all to build"
                )
            return f"Elasticsearch at {self.address} refuses access ({status}: {reason_of(body)}); {advice}."
        if status in RETRY_STATUS:
            return f"Elasticsearch at {self.address} is too busy ({status}: {reason_of(body)}); try again later."
        return f"Elasticsearch at {self.address} refuses the request ({status}): {reason_of(body)}."


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


def _location(error: Exception) -> str:
    """Return the address that an error's reply redirects to, without its parameters; "" for none."""
    meta = getattr(error, "meta", None)
    location = str(meta.headers.get("location", "")) if meta is not None and 300 <= meta.status < 400 else ""
    return shown(location.partition("?")[0])


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


def health(url: str, api_key: str | None = None, ca_file: Path | None = None) -> dict[str, str]:
    """Return version and status ("green", "yellow", "red") of the server at `url`, asked once, within 3 seconds.

    Raises:
        UsageError: `url` is not an address.
        SearchError: it cannot be used, with the reason.

    """
    server = Server(url, api_key, 3, ca_file)
    info = server.ask(lambda client: client.info(), retries=())
    status = server.ask(lambda client: client.cluster.health(), retries=())
    return {"address": server.address, "version": info["version"]["number"], "status": status["status"]}
