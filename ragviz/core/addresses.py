"""Addresses of servers as they may be shown: host and path, without passwords and tokens.

An address holds secrets before its last @ (user and password), and in its parameters (`?password=`, `?api_key=`).
"""

from __future__ import annotations

import re
from ipaddress import IPv6Address, ip_address, ip_network
from urllib.parse import unquote_plus, urlsplit

HIDDEN = "••••"
"""Replaces a secret."""
HARMLESS = frozenset(
    (
        "api-version",
        "application_name",
        "charset",
        "connect_timeout",
        "dbname",
        "host",
        "hostaddr",
        "mode",
        "port",
        "sslmode",
        "target_session_attrs",
        "timeout",
        "version",
    )
)
"""Parameters that are shown; all others may be secrets, and so may their names when a secret has a = in it."""

_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]{0,30}://[^\s<>]+", re.IGNORECASE)


def shown(address: str) -> str:
    """Return `address` without its secrets: `HIDDEN` for all before its last @, and for its parameters.

    Text that is no address is treated as one, so that a typing error reveals nothing either; of an ambiguous address
    only the scheme is shown.

    >>> shown("https://elastic:sec@ret@search.example:9200/es?api_key=x&timeout=3#y")
    'https://••••@search.example:9200/es?••••&timeout=3'
    >>> shown("http://localhost:8000/v1"), shown("user:secret@localhost:9200"), shown("https://h/v1?key=a@b")
    ('http://localhost:8000/v1', '••••@localhost:9200', 'https://••••')
    """
    start, account, place, query = _parts(address)
    if is_ambiguous(address):
        return f"{start}{HIDDEN}"
    pairs = [f"{name}={value}" if _is_harmless(name) else HIDDEN for name, value in query]
    return f"{start}{HIDDEN + '@' if account else ''}{place}{'?' if pairs else ''}{'&'.join(pairs)}"


def is_usable(address: str) -> bool:
    """Return whether `address` is one of HTTP, with a host, and a port that there can be."""
    try:
        parts = urlsplit(address)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, or out of range
        return False


_OF_MACHINES = tuple(
    map(ip_network, ("169.254.0.0/16", "fe80::/10", "fd00:ec2::254", "100.100.100.200", "192.0.0.192"))
)


def is_of_machine(host: str) -> bool:
    """Return whether an IP address is where a cloud tells its machines their keys, or otherwise of one link alone.

    >>> is_of_machine("169.254.169.254"), is_of_machine("::ffff:169.254.169.254"), is_of_machine("10.0.0.5")
    (True, True, False)
    """
    try:
        peer = ip_address(host.partition("%")[0])
    except ValueError:  # the path of a socket
        return False
    peer = (peer.ipv4_mapped if isinstance(peer, IPv6Address) else None) or peer
    return any(peer in network for network in _OF_MACHINES)


def is_ambiguous(address: str) -> bool:
    r"""Return whether an @ follows a slash, a backslash, a ? or a #: a host or a password may precede it.

    >>> is_ambiguous("http://me:12/34@host/v1"), is_ambiguous("http://me:12%2F34@host/v1")
    (True, False)
    """
    return not {"/", "\\", "?", "#"}.isdisjoint(_parts(address)[1])


def secrets_of(address: str) -> list[str]:
    """Return the passwords and tokens in an address, as written and decoded.

    >>> secrets_of("postgresql://me:pass%20word@host/db?sslmode=require&sslpassword=key")
    ['pass%20word', 'pass word', 'key']
    """
    _, account, _, query = _parts(address)
    query += _pairs(address.partition("?")[2])  # with an @ in a parameter, `account` is all before it
    secrets = [account.partition(":")[2], *(value for name, value in query if not _is_harmless(name))]
    return list(dict.fromkeys(form for secret in secrets for form in (secret, unquote_plus(secret)) if form))


def within(text: str) -> str:
    """Return `text` with every address in it as it may be shown.

    >>> within("cannot ask http://me:secret@host/v1 now")
    'cannot ask http://••••@host/v1 now'
    """
    return _ADDRESS.sub(lambda match: shown(match[0]), text)


def _parts(address: str) -> tuple[str, str, str, list[tuple[str, str]]]:
    """Split into scheme with its slashes, user and password, host and path, parameters (a nameless one is a value)."""
    scheme = re.match(r"([a-z][a-z0-9+.-]*:)?//", address, re.IGNORECASE)
    start = scheme[0] if scheme else ""
    rest = address[len(start) :]
    is_file = start.lower().startswith("sqlite") and rest.startswith("/")
    account, _, place = ("", "", rest) if is_file else rest.rpartition("@")
    place, _, query = place.partition("#")[0].partition("?")
    return start, account, place, _pairs(query)


def _pairs(query: str) -> list[tuple[str, str]]:
    """Split parameters into names and values; one without = is a value."""
    pairs = (pair.partition("=") for pair in re.split("[&;]", query) if pair)
    return [(name, value) if equals else ("", name) for name, equals, value in pairs]


def _is_harmless(name: str) -> bool:
    return name.lower() in HARMLESS
