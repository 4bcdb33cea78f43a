"""The door of the dashboard: nothing of it is served to whoever is not signed in, where sign-in is configured.

Streamlit's routes do the sign-in by OpenID Connect and keep it in a signed cookie. The gate stands before all others of
its routes (pages, media, downloads, uploads, the socket) and believes nothing but that cookie, or a listed proxy's
header. It hands each socket a ticket, by which the pages know whose it is; the role is looked up at every action.
"""

from __future__ import annotations

import asyncio
import hashlib
import html
import json
import logging
import re
import secrets
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from ragviz.core.endpoint_choices import MARK
from ragviz.core.errors import RagvizError
from ragviz.core.person import Person
from ragviz.core.sign_in import Access, is_verified
from ragviz.store import database
from ragviz.text.untrusted import one_line
from ragviz.ui import cache
from ragviz.ui.sign_ins import TICKET, SignedIn, access, person_of, sessions, tickets

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

SIGN_IN = "/sign-in"
OPEN = ("/auth/login", "/auth/logout", "/oauth2callback", "/_stcore/health")
"""Streamlit's routes that are served to everybody: they show nothing of the dashboard."""
PAGE = "ragviz_page"
"""Cookie with the page that somebody asked for before the sign-in, which leads there."""
SIGNED_OUT = "signed-out"
"""Kind of the store's cache that holds the keys of the sign-ins that were ended."""
MOST_WINDOWS = 64
"""Sockets that a person may have open: each keeps a session of some hundred kilobytes."""
MOST_FILES = 10
"""How many files of the largest size that may be uploaded a person may keep: Streamlit has them in memory."""
_log = logging.getLogger("ragviz")
_OWN_PAGE = re.compile(r"/(?![/\\])[!-~]*")
"""A path of this server, with its parameters: no other server's, and no further header."""
_LONGEST_PAGE = 2_000
"""Characters of an address that a cookie has room for."""
_LOOKED_AT = 1.0
"""Seconds in which a sign-in is not looked up again among those that another process has ended."""


class Gate:
    """ASGI middleware that serves nothing to whoever is not signed in, where that is configured."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._ended: dict[str, float] = {}  # key of a sign-in that was ended → now
        self._windows: Counter[str] = Counter()  # of each person, by name
        self._uploading: Counter[str] = Counter()  # bytes of each person's uploads that are on their way
        self._seen: dict[str, float] = {}  # key of one that was not → when that was looked up

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, show the sign-in, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        try:
            allowed = access()
        except RagvizError as error:
            await _unavailable(scope, send, error)
            return
        if allowed is None:
            await self._app(scope, receive, send)
            return
        scope = {**scope, "headers": [pair for pair in scope["headers"] if pair[0].lower() != TICKET.encode()]}
        who = self._who(scope, allowed)
        if isinstance(who, str):
            await _refuse(scope, send, who, allowed)
        elif who is not None and _names_session_of_another(scope, person_of(allowed, who)):
            await _refuse(scope, send, "This session is another person's: load the page again.", allowed, who)
        elif scope["type"] == "websocket":
            await self._socket(scope, receive, send, allowed, who)
        else:
            await self._request(scope, receive, send, allowed, who)

    async def _request(self, scope: Scope, receive: Receive, send: Send, allowed: Access, who: SignedIn | None) -> None:
        path = scope["path"].removeprefix(_base())
        try:
            with database.answering():
                if path == "/auth/logout" and who is not None and who.keys:
                    await self._end(who)
                    _log.info("Signed out", extra={"person": _called(allowed, who)})
                holds = path not in OPEN and who is not None and await self._holds(who)
        except RagvizError as error:
            await _unavailable(scope, send, error)
            return
        if path in OPEN:
            await self._app(scope, receive, _noting_sign_in(scope, send, allowed))
        elif path == SIGN_IN and allowed.oidc:
            from streamlit.auth_util import encode_provider_token

            await _redirect(send, f"{_base()}/auth/login?provider={encode_provider_token('default')}")
        elif who is None or not holds:
            await _answer(scope, send, 401, "", allowed)
        elif (person := person_of(allowed, who)) is None:
            words = f"{_called(allowed, who)} may not use this dashboard. Ask {allowed.ask}."
            if who.claims.get("email") and not is_verified(who.claims):
                words = "Your provider says that it has not verified your address: verify it there, then sign in again."
            await _refuse(scope, send, words, allowed, who)
        elif scope["method"] not in ("GET", "HEAD", "OPTIONS") and not person.may("editor"):
            words = f"{person.name} is a viewer here, and sends nothing. Ask {allowed.ask}."
            await _refuse(scope, send, words, allowed, who)
        elif scope["method"] == "PUT":
            await self._upload(scope, receive, send, person.name)
        else:
            await self._app(scope, receive, send)

    async def _upload(self, scope: Scope, receive: Receive, send: Send, name: str) -> None:
        """Pass a person's upload on, unless it is too much beside what is kept, and on its way, of the same person."""
        from streamlit import config

        largest = int(config.get_option("server.maxUploadSize")) * 2**20
        declared = dict(scope["headers"]).get(b"content-length", b"")
        size = int(declared) if declared.isdigit() else largest
        if size + self._uploading[name] + _kept_of(name) > MOST_FILES * largest:
            _log.warning("Refused: an upload of %d bytes is too much", size, extra={"person": name})
            await _answer(scope, send, 413, "Too many files are open: close pages with uploads, then try again.")
            return
        self._uploading[name] += size
        try:
            await self._app(scope, receive, send)
        finally:
            self._uploading[name] -= size

    async def _socket(self, scope: Scope, receive: Receive, send: Send, allowed: Access, who: SignedIn | None) -> None:
        """Serve a socket as long as the sign-in holds: a message that comes after its end is not read."""

        async def holds() -> bool:
            now = access()
            known = who is not None and now is not None and person_of(now, who) is not None
            return known and who is not None and await self._holds(who)

        async def receive_while_signed_in() -> Message:
            message = await receive()
            if message["type"] == "websocket.receive" and not await _or_not(holds):
                await send({"type": "websocket.close", "code": 1008, "reason": "Signed out."})
                return {"type": "websocket.disconnect", "code": 1008}
            return message

        if who is None or not await _or_not(holds):
            await send({"type": "websocket.close", "code": 1008, "reason": "Nobody is signed in."})
            return
        name = _called(allowed, who)
        if self._windows[name] >= MOST_WINDOWS:
            await _refuse(scope, send, "Too many windows: close some.", allowed, who)
            return
        ticket = secrets.token_urlsafe(32)
        tickets[ticket] = who
        self._windows[name] += 1
        headers = [*scope["headers"], (TICKET.encode(), ticket.encode())]
        try:
            await self._app({**scope, "headers": headers}, receive_while_signed_in, send)
        finally:
            del tickets[ticket]
            self._windows[name] -= 1

    def _who(self, scope: Scope, allowed: Access) -> SignedIn | str | None:
        """Return who sent a request, None when it does not say; or why it is refused: no person's, or no proxy's."""
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if MARK.lower().encode() in headers:
            return "A target is asked here: a dashboard answers people alone."
        header = allowed.header.lower().encode()
        if header and sum(name.lower() == header for name, _ in scope["headers"]) > 1:
            return f"The header {allowed.header} may be in a request once."
        named = headers.get(header, "") if header else ""
        if named and not allowed.trusts((scope.get("client") or ("",))[0]):
            return f"The header {allowed.header} is believed of the listed proxies alone."
        if named:
            return SignedIn({}, named)
        return _of_cookie(headers.get(b"cookie", ""), allowed) if allowed.oidc else None

    async def _holds(self, who: SignedIn) -> bool:
        """Return whether a sign-in has not ended: by time, or because somebody signed out, here or elsewhere."""
        now = time.time()
        if not self._ended.keys().isdisjoint(who.keys) or who.until <= now:
            return False
        if any(now - self._seen.get(key, 0) > _LOOKED_AT for key in who.keys):
            if ended := await asyncio.to_thread(lambda: _signed_out().held(who.keys)):
                self._ended.update(dict.fromkeys(ended, now))
                return False
            self._seen.update(dict.fromkeys(who.keys, now))
        return True

    async def _end(self, who: SignedIn) -> None:
        self._ended.update(dict.fromkeys(who.keys, time.time()))
        await asyncio.to_thread(lambda: _signed_out().put_many(dict.fromkeys(who.keys, b"1")))


async def _or_not(holds: Callable[[], Awaitable[bool]]) -> bool:
    try:
        return await holds()
    except RagvizError as error:
        _log.error("%s", error)
        return False


def _names_session_of_another(scope: Scope, person: Person | None) -> bool:
    """Return whether an upload, in its path, or a socket that comes back, in its protocols, names another's session."""
    from starlette.datastructures import Headers
    from streamlit.web.server.starlette.starlette_websocket import _parse_subprotocols

    if scope["type"] == "websocket":
        session = _parse_subprotocols(Headers(scope=scope))[2] or ""
    else:
        path = scope["path"].removeprefix(_base())
        session = path.split("/")[3] if path.startswith("/_stcore/upload_file/") else ""
    return person is not None and sessions.get(session, person.name) != person.name


def _kept_of(name: str) -> int:
    from streamlit.runtime import Runtime
    from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

    manager = Runtime.instance().uploaded_file_mgr
    assert isinstance(manager, MemoryUploadedFileManager)
    kept = [files for session, files in manager.file_storage.copy().items() if sessions.get(session) == name]
    return sum(len(file.data) for files in kept for file in files.copy().values())


def _signed_out() -> Any:
    return cache.machine().store.cache(SIGNED_OUT)


def _of_cookie(header: str, allowed: Access) -> SignedIn | None:
    """Return the sign-in of Streamlit's cookie; None without one, or for one that is forged, too old, of elsewhere.

    A long one is in parts, `USER_COOKIE_NAME` saying only how many. Each is known by what is signed, since a signature
    can be spelled in several ways.
    """
    from streamlit.auth_util import get_cookie_with_chunks, get_origin_from_redirect_uri
    from streamlit.web.server.server_util import get_cookie_secret
    from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value
    from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

    try:
        cookies = {name: each.value for name, each in SimpleCookie(header).items()}
    except CookieError:
        return None
    days = allowed.hours / 24
    parts: dict[str, str] = {}

    def one(name: str) -> bytes | None:
        cookie = cookies.get(name, "")
        found = decode_signed_value(get_cookie_secret(), name, cookie.encode("latin-1"), days)
        if found is not None:
            parts[name] = cookie
        return found

    value = get_cookie_with_chunks(one, USER_COOKIE_NAME)
    if value is None:
        return None
    try:
        claims = json.loads(value)
    except ValueError:
        return None
    if not isinstance(claims, dict) or claims.get("is_logged_in") is not True:
        return None
    if claims.get("origin") != get_origin_from_redirect_uri():
        return None
    until = min(_signed_at(name, cookie) for name, cookie in parts.items()) + 3600 * allowed.hours
    if len(parts) > 1:
        del parts[USER_COOKIE_NAME]
    signed = [cookie.rpartition(".")[0].encode("latin-1") for cookie in parts.values()]
    return SignedIn(claims, "", tuple(hashlib.sha256(each).hexdigest() for each in signed), until)


def _signed_at(name: str, value: str) -> float:
    from itsdangerous import URLSafeTimedSerializer
    from streamlit.web.server.server_util import get_cookie_secret

    serializer = URLSafeTimedSerializer(get_cookie_secret(), salt=name)
    return float(serializer.loads(value, return_timestamp=True)[1].timestamp())


def _base() -> str:
    from streamlit import config

    path = str(config.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{path}" if path else ""


async def _redirect(send: Send, to: str) -> None:
    await send({"type": "http.response.start", "status": 302, "headers": [(b"location", to.encode())]})
    await send({"type": "http.response.body", "body": b""})


_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>ragviz</title>
<style>body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 32rem; margin: 20vh auto; padding: 0 1.5rem;
  color-scheme: light dark; }} a {{ display: inline-block; padding: .4rem 1rem; border-radius: 6px; color: #fff;
  background: #0072B2; text-decoration: none; }}</style>
<h1>ragviz</h1><p>{words}</p>{link}</html>"""


def _called(allowed: Access, who: SignedIn) -> str:
    if (person := person_of(allowed, who)) is not None:
        return person.name
    return one_line(who.name or str(who.claims.get("email") or who.claims.get("sub") or ""))[:200]


def _noting_sign_in(scope: Scope, send: Send, allowed: Access) -> Send:
    """Return a `send` that logs whose sign-in begins with an answer, and leads them to the page they asked for."""
    from starlette.datastructures import Headers, MutableHeaders
    from starlette.requests import cookie_parser

    async def noted(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=message["headers"])
            set_now = "; ".join(value.partition(";")[0] for value in headers.getlist("set-cookie"))
            who = _of_cookie(set_now, allowed)
            if who is not None:
                _log.info("Signed in", extra={"person": _called(allowed, who)})
                page = unquote(cookie_parser(Headers(scope=scope).get("cookie", "")).get(PAGE, ""))
                if _OWN_PAGE.fullmatch(page):
                    headers["location"] = page
        await send(message)

    return noted


def _page_cookie(scope: Scope) -> list[tuple[bytes, bytes]]:
    """Return the header that remembers the page which a browser asks for; none for its parts, and what is too long."""
    from starlette.datastructures import Headers

    query = scope["query_string"].decode("latin-1")
    page = quote(scope["path"] + (query and f"?{query}"), safe="")
    is_page = scope["method"] == "GET" and "text/html" in Headers(scope=scope).get("accept", "")
    if not is_page or len(page) > _LONGEST_PAGE:
        return []
    return [(b"set-cookie", f"{PAGE}={page}; Path={_base() or '/'}; Max-Age=600; HttpOnly; SameSite=Lax".encode())]


async def _refuse(scope: Scope, send: Send, words: str, allowed: Access, who: SignedIn | None = None) -> None:
    _log.warning("Refused: %s", words, extra={"person": _called(allowed, who) if who is not None else ""})
    await _answer(scope, send, 403, words)


async def _unavailable(scope: Scope, send: Send, error: RagvizError) -> None:
    _log.error("%s", error)
    await _answer(scope, send, 503, str(error))


async def _answer(scope: Scope, send: Send, status: int, words: str, sign_in_at: Access | None = None) -> None:
    """Answer with a page of a sentence; with `sign_in_at`, one that leads to the sign-in."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": words[:120]})
        return
    link = f'<a href="{_base()}/auth/logout">Sign out</a>' if status == 403 else ""
    headers = [(b"content-type", b"text/html; charset=utf-8"), (b"cache-control", b"no-store")]
    if sign_in_at is not None:
        oidc = sign_in_at.oidc
        words = "Sign in to see this dashboard." if oidc else "Come through the proxy that signs you in."
        link = f'<a href="{_base()}{SIGN_IN}">Sign in</a>' if oidc else ""
        headers += _page_cookie(scope) if oidc else []
    body = _PAGE.format(words=html.escape(words), link=link).encode()
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
