"""Who may sign in, and with which role: the table `[ragviz.access]` of the secrets file, beside `[auth]`."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, IPvAnyNetwork, ValidationError, field_validator

from ragviz.core.errors import UsageError
from ragviz.core.person import ROLES, Person

NEEDED = ("redirect_uri", "cookie_secret", "client_id", "client_secret", "server_metadata_url")
"""What Streamlit needs in `[auth]`."""
SECRET_LENGTH = 32
"""Characters of `cookie_secret` at least: whoever guesses it signs cookies of anybody."""


class Access(BaseModel):
    """Who has which role: addresses ("ann@example.org"), domains ("@example.org"), or groups: values of `claim`.

    The highest role that somebody has counts; whoever has none is refused. A sign-in ends after `hours`. Where a proxy
    has signed people in, `header` names them, and is believed of the addresses in `proxies` alone.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    viewers: tuple[str, ...] = ()
    editors: tuple[str, ...] = ()
    admins: tuple[str, ...] = ()
    claim: str = ""
    hours: float = Field(default=12, gt=0, le=24 * 30)
    header: str = ""
    proxies: tuple[IPvAnyNetwork, ...] = ()
    oidc: bool = False
    """Whether there is `[auth]`, by which people sign in here."""

    @field_validator("viewers", "editors", "admins")
    @classmethod
    def _in_lower_case(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name.strip().lower() for name in names if name.strip())

    @property
    def ask(self) -> str:
        """Whom to ask for another role."""
        return ", ".join(name for name in self.admins if "@" in name[1:]) or "an admin"

    def person(self, claims: Mapping[str, Any]) -> Person | None:
        """Return the person of an identity token, None when nobody with these claims may do anything.

        An address counts as none where `email_verified` is there and says anything but true. What has an @ is compared
        with the address alone, all else with the groups alone, so that no group can be called like a person. Whoever
        has groups and no address is called "sub:" and the subject, which is nobody's address.

        >>> access = Access(viewers=["@a.org"], editors=["rag"], admins=["root@a.org"], claim="groups")
        >>> access.person({"email": "Ann@A.org"}), access.person({"email": "b@b.org", "groups": ["@a.org"]})
        (Person(name='ann@a.org', role='viewer', ask='root@a.org'), None)
        >>> access.person({"sub": "7", "groups": "rag"}).role, access.person({"email": "root@a.org"}).role
        ('editor', 'admin')
        """
        address = _name(claims.get("email")) if is_verified(claims) else ""
        if "@" not in address:
            address = ""
        groups = {group.lower() for group in _values(claims, self.claim) if "@" not in group}
        marks = groups | ({address, address[address.rindex("@") :]} if address else set())
        subject = str(claims.get("sub") or "")
        return self._of(address or (f"sub:{subject}" if _name(subject) and "@" not in subject else ""), marks)

    def by_proxy(self, name: str) -> Person | None:
        """Return the person whom a proxy names in its header: an address, or a name without @."""
        name = _name(name)
        return self._of(name, {name, name[name.rindex("@") :]} if "@" in name else {name})

    def _of(self, name: str, marks: Iterable[str]) -> Person | None:
        given = {"viewer": self.viewers, "editor": self.editors, "admin": self.admins}
        found = [role for role in ROLES if not {*given[role]}.isdisjoint(marks)]
        return Person(name, found[-1], self.ask) if found and name else None

    def trusts(self, host: str) -> bool:
        """Return whether a connection comes from a listed proxy."""
        try:
            peer = ip_address(host)
        except ValueError:
            return False
        return any(peer in network for network in self.proxies)


def is_verified(claims: Mapping[str, Any]) -> bool:
    """Return whether the provider vouches for the address of an identity token: by a claim, or by saying nothing."""
    said = claims.get("email_verified", True)
    return said is True or said == "true"


def _name(given: object) -> str:
    r"""Return a name or an address in lower case, "" for what is none: two @, a comma, a space, look-alike characters.

    >>> _name("Ann@A.org"), _name("a@b@c"), _name("a,b"), _name("\u212aim"), _name(None)
    ('ann@a.org', '', '', '', '')
    """
    if not isinstance(given, str) or not re.fullmatch(r"[^@,\s]+(@[^@,\s]+)?", given):
        return ""
    return given.lower() if given.isprintable() and unicodedata.is_normalized("NFKC", given) else ""


def _values(claims: Mapping[str, Any], claim: str) -> list[str]:
    """Return the texts of a claim: one or a list; "realm_access.roles" names one inside another."""
    found: Any = claims.get(claim) if claim else None
    if found is None and claim:
        found = claims
        for part in claim.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
    return [each for each in (found if isinstance(found, list) else [found]) if isinstance(each, str)]


def read(files: Iterable[Path]) -> Access | None:
    """Return who may sign in, None when the files have neither `[auth]` nor `[ragviz.access]`, or there are none.

    Raises:
        UsageError: a file cannot be read, or what it says would let in nobody, or anybody.

    """
    secrets: dict[str, Any] = {}
    for file in files:
        if not file.exists():
            continue
        try:
            secrets |= tomllib.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UsageError(f"The secrets file {file} cannot be read ({type(error).__name__}): correct it.") from None
    auth, ours = secrets.get("auth"), secrets.get("ragviz", {})
    access = ours.get("access") if isinstance(ours, dict) else ours
    if not isinstance(auth, dict | None) or not isinstance(access, dict | None):
        raise UsageError("[auth] and [ragviz.access] have to be tables in the secrets file.")
    if auth is None and access is None:
        return None
    try:
        made = Access.model_validate((access or {}) | {"oidc": auth is not None})
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_input=False))
        raise UsageError(f"[ragviz.access] in the secrets file cannot be used: {wrong}.") from None
    if problem := _problem(made, auth or {}):
        raise UsageError(f"The secrets file asks for a sign-in, and cannot be used for it: {problem}.")
    return made


def _problem(access: Access, auth: Mapping[str, Any]) -> str:
    """Return what would let in nobody, or anybody; "" when there is nothing."""
    if not (access.viewers or access.editors or access.admins):
        return "[ragviz.access] names nobody: give viewers, editors or admins"
    if bool(access.header) != bool(access.proxies):
        return "[ragviz.access] needs both, the header that names people and the proxies that set it"
    if not access.oidc:
        return "" if access.header else "[ragviz.access] is of no use without [auth], or header and proxies"
    if missing := [name for name in NEEDED if not auth.get(name)]:
        return f"[auth] lacks {', '.join(missing)}"
    if len(str(auth["cookie_secret"])) < SECRET_LENGTH:
        return f"the cookie_secret of [auth] is too easy to guess: take {SECRET_LENGTH} random characters or more"
    return ""
