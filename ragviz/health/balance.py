"""How a set's questions fall on documents."""

from __future__ import annotations

import math

from ragviz.core.digests import digest
from ragviz.health.finding import Finding, Found
from ragviz.health.material import Material

ALPHA = 0.05
"""Chance at which any document of a set drawn by length would have too many questions (Bonferroni)."""


def unbalanced(material: Material) -> Found:
    """Find the questions beyond what a document has by chance, if questions fell by the square root of lengths."""
    areas = material.documents
    roots = [math.sqrt(area.letters) for area in areas]
    total, count = sum(roots), sum(len(area.questions) for area in areas)
    findings: dict[str, Finding] = {}
    for area, root in zip(areas, roots, strict=True) if total and count else ():
        expected = count * root / total
        most = most_expected(expected, len(areas)) if area.questions else 0
        words = f"document {area.name} has {len(area.questions):,} questions; {expected:.1f} would be its share"
        for question_id in sorted(area.questions, key=digest)[most:]:  # an order that tells nothing of the questions
            findings.setdefault(question_id, Finding(question_id, float(len(area.questions)), words))
    empty = sum(not area.questions for area in areas)
    note = f"{empty:,} of {len(areas):,} documents are not asked about." if areas else ""
    order = (subject.id for subject in material.subjects)
    return Found(tuple(findings[i] for i in order if i in findings), "", note)


def most_expected(expected: float, cells: int) -> int:
    """Return the most questions that a cell has by chance: exceeded in any of `cells` with a chance of 5 % (Poisson).

    >>> most_expected(2.0, 12), most_expected(0.1, 400)
    (7, 3)
    """
    least, term, count = 1 - ALPHA / cells, math.exp(-expected), 0
    below = term
    while below < least:
        count += 1
        term *= expected / count
        below += term
        if term < 1e-300:
            break
    return count
