"""Which buttons are off: those of verbs that the person may not do. The verbs refuse by themselves too."""

from __future__ import annotations

from ragviz.core.person import Role
from ragviz.ui import cache


def off(role: Role = "editor") -> bool:
    """Return whether a button is off that takes a role."""
    return not cache.workspace().person.may(role)


def words() -> str:
    """Return what is off for this person, as a sentence; "" for an admin."""
    person = cache.workspace().person
    if person.role == "admin":
        return ""
    what = "a corpus is deleted or prices are set" if person.may("editor") else "something is changed, paid or deleted"
    return f"Buttons are off by which {what}: ask {person.ask}."
