"""Polls of the jobs are kept apart from what a person does at the same moment.

Streamlit 1.67 runs a poll (an automatic rerun of a fragment) and a click that follows it in two threads of one session,
which share the address: a poll that begins late overwrites what the click wrote into it. A poll that the browser sent
before it heard of a change of page is run for the page that was left, and the browser then draws nothing at all.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
    from streamlit.proto.ClientState_pb2 import ClientState

_BEGINS_WITHIN = 2.0
"""Seconds in which a poll begins; what a person does waits no longer for it."""
_SMALL = 100_000
"""Bytes: messages that begin or end a run of a page are smaller, a figure may be larger."""


class Polls:
    """ASGI middleware that drops a poll during a run, or of a page that was left, and lets one begin before a click.

    A poll that is dropped is sent again after its interval.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
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
        """Begin without a run."""
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
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
    from streamlit.proto.BackMsg_pb2 import BackMsg

    if data is None:
        return None
    with suppress(DecodeError):
        sent = BackMsg.FromString(data)
        if sent.HasField("rerun_script"):
            rerun: ClientState = sent.rerun_script
            return rerun
    return None
