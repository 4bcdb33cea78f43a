"""Sections that say the same of different things: “轮椅” and “拐杖”, each with its deposit; tables with one column."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from ragviz.claims.sections import SEPARATOR
from ragviz.claims.source_claim import SourceClaim
from ragviz.generation.entities import normal


class SectionsBeside:
    """The attributes that sections have: the columns of their tables, and what they say of what their heading names."""

    def __init__(self, claims: Iterable[SourceClaim]) -> None:
        """Read the claims once."""
        self._attributes: dict[tuple[str, ...], set[str]] = defaultdict(set)
        for claim in claims:
            if claim.attribute and (claim.type == "table" or is_of_heading(claim)):
                self._attributes[*place_of(claim), claim.section].add(normal(claim.attribute))

    def attributes(self, claim: SourceClaim) -> frozenset[str]:
        """Return the attributes that the section of a claim has, each as `normal`."""
        return frozenset(self._attributes.get((*place_of(claim), claim.section), ()))

    def share(self, one: SourceClaim, other: SourceClaim) -> bool:
        """Return whether two claims are of different sections of one place that have an attribute in common."""
        apart = one.section != other.section and place_of(one) == place_of(other)
        return apart and not self.attributes(one).isdisjoint(self.attributes(other))


def is_of_heading(claim: SourceClaim) -> bool:
    """Return whether a Chinese claim says what an attribute of the thing is that its section's heading names."""
    heading, name = heading_of(claim), claim.subject.rpartition("的")[2]
    return claim.language == "zh" and bool(claim.attribute and name) and name in heading and claim.type != "table"


def heading_of(claim: SourceClaim) -> str:
    """Return the heading right above a claim."""
    return claim.section.rpartition(SEPARATOR)[2]


def place_of(claim: SourceClaim) -> tuple[str, str]:
    """Return where sections are beside that of a claim: its document and the headings above; of tables the document."""
    return claim.document_id, "\n" if claim.type == "table" else claim.section.rpartition(SEPARATOR)[0]
