"""Who acts: a person with a role."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from ragviz.core.errors import Refused

Role = Literal["viewer", "editor", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
"""From the one who only looks to the one who may do everything: each may what those before may."""


@dataclass(frozen=True, slots=True)
class Person:
    """Who acts, by the name or address that is stored with what is done. `ask` names who gives another role."""

    name: str
    role: Role = "admin"
    ask: str = "an admin"

    def may(self, role: Role) -> bool:
        """Return whether the person has a role, or one above it.

        >>> Person("ann", "editor").may("viewer"), Person("ann", "editor").may("admin")
        (True, False)
        """
        return ROLES.index(self.role) >= ROLES.index(role)

    def need(self, role: Role, what: str) -> None:
        """Raise Refused when the person may not do `what` ("delete a corpus"), which takes a role."""
        if not self.may(role):
            article = "a" if self.role == "viewer" else "an"
            raise Refused(
                f"{self.name or 'Nobody'} is {article} {self.role} here and may not {what}, which takes the role "
                f"'{role}'. Ask {self.ask} for it."
            )
