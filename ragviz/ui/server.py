"""What the dashboard's server does with a request before Streamlit has it: foreign ones are refused, polls kept apart.

Without a sign-in, whoever can open the dashboard's socket can do all that it does. A page of the web can make a browser
do that: by a name that resolves to 127.0.0.1 (DNS rebinding: a foreign Host), from another
origin (a foreign Origin, other ports of localhost among them), or by framing the dashboard (clickjacking).

Streamlit 1.67 runs a poll (an automatic rerun of a fragment) and a click that follows it in two threads of one session,
which share the address: a poll that begins late overwrites what the click wrote into it. A poll that the browser sent
before it heard of a change of page is run for the page that was left, and the browser then draws nothing at all.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from ragviz.core.errors import UsageError
from ragviz.core.settings import settings
from ragviz.ui import sign_ins

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
    from streamlit.proto.ClientState_pb2 import ClientState

LOCAL_HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})
"""Names of this machine, always allowed."""
ALLOWED_HOSTS = "RAGVIZ_ALLOWED_HOSTS"
"""Variable with more allowed names, separated by commas, such as the name of a proxy."""
NO_SIGN_IN = "RAGVIZ_NO_SIGN_IN"
"""Variable that has to be "yes" where an address of other machines is served without a sign-in."""
FORWARDED = "FORWARDED_ALLOW_IPS"
"""Variable with the addresses whose X-Forwarded-For the server takes for the sender's address: "none" for none."""
FRAMING = ((b"content-security-policy", b"frame-ancestors 'none'"), (b"x-frame-options", b"DENY"))
_BEGINS_WITHIN = 2.0
"""Seconds in which a poll begins; what a person does waits no longer for it."""
_SMALL = 100_000
"""Bytes: messages that begin or end a run of a page are smaller, a figure may be larger."""


class Guard:
    """ASGI middleware that refuses foreign hosts and origins (403), and forbids framing.

    A request is answered when its Host is one of `LOCAL_HOSTS` or `hosts`, and its Origin, where there is one, is that
    same host and port: a proxy must preserve the Host. Clients other than browsers send no Origin.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str] = ()) -> None:
        """Wrap `app`; `hosts` are names without scheme and port."""
        self._app = app
        self._named = frozenset(name for host in hosts if (name := host.strip().lower().rstrip(".")))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        reason = self.refusal(headers.get(b"host", ""), headers.get(b"origin"))
        if reason:
            await _refuse(scope, reason, send)
            return

        async def with_framing_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *FRAMING]
            await send(message)

        async def send_if_connected(message: Message) -> None:
            with suppress(OSError):  # the browser disconnected: `receive` reports it; twice, Streamlit logs a traceback
                await send(message)

        await self._app(scope, receive, with_framing_headers if scope["type"] == "http" else send_if_connected)

    def refusal(self, host: str, origin: str | None) -> str:
        """Return why a request with these Host and Origin headers is refused, or "" if it is allowed.

        `origin` is None when the request has no such header.

        >>> guard = Guard(None, ["ragviz.example"])
        >>> guard.refusal("127.0.0.1:8501", "http://127.0.0.1:8501"), guard.refusal("[::1]:8501", None)
        ('', '')
        >>> guard.refusal("ragviz.example", "https://ragviz.example"), guard.refusal("internal:80", None)[:27]
        ('', "The host 'internal' is not ")
        >>> guard.refusal("localhost:8501", "http://localhost:9000")[:40]
        "The origin 'http://localhost:9000' is no"
        """
        name = _hostname(host)
        if name not in LOCAL_HOSTS | self._named:
            return f"The host {name[:100]!r} is not one this dashboard answers to: name it in {ALLOWED_HOSTS}."
        if origin is None or _netloc(origin) == host.lower():
            return ""
        return (
            f"The origin {origin[:100]!r} is not this dashboard's own, {host[:100]!r}: a proxy must hand the Host on."
        )


def begin() -> None:
    """Check, before anything is served, that it is served to those it may be served to; exit with a sentence if not.

    Without a sign-in, others are served only where both the address to listen on and `NO_SIGN_IN` say so. Its address
    is printed.
    """
    from streamlit import config
    from streamlit.web.server.server_util import get_url

    try:
        allowed = sign_ins.access()
    except UsageError as error:
        sys.exit(str(error))
    if allowed and allowed.header and os.environ.get(FORWARDED) != "none":  # else all of this machine are any proxy
        sys.exit(f"A proxy's header is believed by its address: set {FORWARDED}=none, or start with `ragviz app`.")
    address = config.get_option("server.address")
    if allowed is None and address not in LOCAL_HOSTS and os.environ.get(NO_SIGN_IN) != "yes":
        sys.exit(
            f"The dashboard has no sign-in, and all who reach {address or 'this machine'} could use it: configure one "
            f"(docs/operate.md), listen on 127.0.0.1, or set {NO_SIGN_IN}=yes as well to serve it to everybody."
        )
    print(f"\n  The dashboard is at {get_url(address or 'localhost')}\n", flush=True)  # noqa: T201 - for who started it


def allowed_hosts() -> list[str]:
    """Return the names that are allowed beside the machine's own; none when a setting cannot be used: pages say so."""
    try:
        return settings().allowed_hosts.split(",")
    except UsageError:
        return []


def _netloc(origin: str) -> str:
    """Return host and port of an Origin header in lower case, "" for "null" and for what is no web origin."""
    match = re.fullmatch(r"https?://([^/?#@\\]+)", origin.lower())
    return match[1] if match else ""


def _hostname(host: str) -> str:
    """Return the name in a Host header in lower case, without port and brackets, "" for what is no host."""
    match = re.fullmatch(r"(?:\[([0-9a-f:.]+)\]|([^\s/?#@,:\\\[\]]+))(?::[0-9]{1,5})?", host.lower())
    return (match[1] or match[2]).rstrip(".") if match else ""


async def _refuse(scope: Scope, reason: str, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": reason[:120]})  # before it is accepted: HTTP 403
        return
    headers = [(b"content-type", b"text/plain; charset=utf-8"), *FRAMING]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": reason.encode()})


class Polls:
    """ASGI middleware that drops a poll during a run, or of a page that was left, and lets one begin before a click.

    A poll that is dropped is sent again after its interval.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass what the browser sends on, without such polls."""
        if scope["type"] != "websocket":
            await self._app(scope, receive, send)
            return
        runs = Runs()

        async def receive_kept() -> Message:
            while True:
                message = await receive()
                rerun = _rerun_of(message.get("bytes"))
                if rerun is None or await runs.admit(rerun):
                    return message

        async def send_noted(message: Message) -> None:
            runs.note_sent(message.get("bytes"))
            await send(message)

        await self._app(scope, receive_kept, send_noted)


class Runs:
    """What is known of the runs of one session, from the messages of its socket."""

    def __init__(self) -> None:
        self._page: str | None = None  # hash of the page that the browser was told of; None until it is told
        self._refused = ""  # hash of another page in the last poll
        self._going = False  # a run of a whole page
        self._begun = asyncio.Event()  # the last poll has begun
        self._begun.set()

    async def admit(self, rerun: ClientState) -> bool:
        """Return whether a request to rerun is passed on; one by a person waits until a poll before it has begun."""
        if rerun.fragment_id and rerun.is_auto_rerun:
            if self._going or not self._is_shown(rerun.page_script_hash):
                return False
            self._begun.clear()
            return True
        if not self._begun.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._begun.wait(), _BEGINS_WITHIN)
        if not rerun.fragment_id:
            self._page, self._going, self._refused = None, True, ""
        return True

    def _is_shown(self, page: str) -> bool:
        """Return whether the browser shows a page; a second poll of the same one is believed."""
        if page not in (self._page, self._refused):
            self._refused = page
            return False
        return True

    def note_sent(self, data: bytes | None) -> None:
        """Note the beginning or the end of a run in what is sent to the browser."""
        from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

        if data is None or len(data) > _SMALL:
            return
        sent = ForwardMsg.FromString(data)
        if sent.HasField("new_session"):
            self._page = sent.new_session.page_script_hash
            self._begun.set()
        elif sent.HasField("navigation"):
            self._page = sent.navigation.page_script_hash
        elif sent.HasField("script_finished"):
            self._begun.set()
            if sent.script_finished in (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_WITH_COMPILE_ERROR):
                self._going = False


def _rerun_of(data: bytes | None) -> ClientState | None:
    """Return the request to rerun that a message of the browser holds, None for another or an unreadable one."""
    from google.protobuf.message import DecodeError
    from streamlit.proto.BackMsg_pb2 import BackMsg

    if data is None:
        return None
    with suppress(DecodeError):
        sent = BackMsg.FromString(data)
        if sent.HasField("rerun_script"):
            rerun: ClientState = sent.rerun_script
            return rerun
    return None
