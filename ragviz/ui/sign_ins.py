"""Who is signed in: what the secrets file says of sign-in, and whose the sockets are that the gate has let in."""

from __future__ import annotations

import os
import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ragviz.core import sign_in
from ragviz.core.errors import UsageError
from ragviz.core.person import Person
from ragviz.core.settings import settings
from ragviz.core.sign_in import Access

TICKET = "x-ragviz-ticket"
"""Header with the ticket of a socket, which the gate sets, and takes off whatever comes from outside."""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """What is known of who sent a request: claims of the provider, or the name that a proxy gives."""

    claims: Mapping[str, Any]
    name: str = ""
    keys: tuple[str, ...] = ()
    """Of a sign-in by cookie, one for each part of it, by which it is ended."""
    until: float = float("inf")


# What the secrets file says


@cache
def _home_file(_configured: str) -> Path:
    """Return the secrets file of the home, as long as RAGVIZ_HOME is the same: it is asked for at every click."""
    return settings().home / "secrets.toml"


def files() -> list[Path]:
    """Return the secrets files: that of the home, else those that Streamlit reads."""
    own = _home_file(os.environ.get("RAGVIZ_HOME", ""))
    if own.exists():
        return [own]
    from streamlit import config

    return [Path(each) for each in config.get_option("secrets.files")]


_known: tuple[object, Access | None] = (None, None)  # state of the files when they were read, and what they said


def access() -> Access | None:
    """Return who may sign in now; None where nobody has to. A changed file is read again.

    Raises:
        UsageError: the file cannot be used; or it asks for no sign-in any more, which takes a restart.

    """
    global _known
    state = [(file, file.stat().st_mtime_ns) for file in files() if file.exists()]
    before = _known[1]
    if state != _known[0]:
        now = sign_in.read(file for file, _ in state)
        if now is None and before is not None:
            raise UsageError("The secrets file asks for no sign-in any more: restart the server to serve without.")
        _known = (state, now)
    return _known[1]


def home_secrets() -> dict[str, Any] | None:
    """Return what the secrets file of the home says, for Streamlit, which does not look there; None without one."""
    own = _home_file(os.environ.get("RAGVIZ_HOME", ""))
    return tomllib.loads(own.read_text(encoding="utf-8")) if own.exists() else None


# Who acts

tickets: dict[str, SignedIn] = {}
"""Of the sockets that are open, by their tickets."""
sessions: dict[str, str] = {}
"""Streamlit's sessions, and the names of those whose they are."""


def signed_in() -> Person | None:
    """Return who is signed in at the socket of this session; None where nobody has to be.

    Raises:
        UsageError: nobody is, or has no role any more.

    """
    import streamlit as st
    from streamlit.runtime.scriptrunner import get_script_run_ctx

    allowed = access()
    if allowed is None:
        return None
    held = tickets.get(st.context.headers.get(TICKET, ""))
    person = person_of(allowed, held) if held is not None and held.until > time.time() else None
    if person is None:
        raise UsageError("Nobody is signed in here: load the page again.")
    if context := get_script_run_ctx():
        sessions.setdefault(context.session_id, person.name)
    return person


def person_of(allowed: Access, who: SignedIn) -> Person | None:
    """Return who that is now, None when nobody with these claims may do anything."""
    return allowed.by_proxy(who.name) if who.name else allowed.person(who.claims)
