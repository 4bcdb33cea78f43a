"""How a set's questions fall on documents, sections, types and passages."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from ragviz.core.digests import digest
from ragviz.health.finding import Finding, Found
from ragviz.health.material import Area, Material
from ragviz.questions.question_types import TYPE_TITLES

ALPHA = 0.05
"""Chance at which any document or section of a set drawn by length would have too many questions (Bonferroni)."""
MOSTLY = 0.8
"""Share of all questions, with a type or not, above which those of one type leave no room for others."""
TYPED = 20
"""Questions with a type below which nothing is said about their shares."""
PER_PASSAGE = 3
"""Questions about one passage beyond which further ones mostly repeat what they tell."""


def unbalanced(material: Material) -> Found:
    """Find the questions that are too many about a document or section, or of a type."""
    findings: dict[str, Finding] = {}
    for noun, areas in (("document", material.documents), ("section", material.sections)):
        for finding in _crowded(noun, areas):
            findings.setdefault(finding.question_id, finding)
    for finding in _types(material):
        findings.setdefault(finding.question_id, finding)
    counts = [len(area.questions) for area in material.documents]
    empty = sum(not count for count in counts)
    note = f"{empty:,} of {len(counts):,} documents are not asked about."
    order = (subject.id for subject in material.subjects)
    return Found(tuple(findings[i] for i in order if i in findings), "", note if counts else "")


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


def _crowded(noun: str, areas: Sequence[Area]) -> list[Finding]:
    """Return the questions beyond what an area has by chance if questions fell by the square root of lengths."""
    roots = [math.sqrt(area.letters) for area in areas]
    total, count = sum(roots), sum(len(area.questions) for area in areas)
    if not total or not count:
        return []
    findings = []
    for area, root in zip(areas, roots, strict=True):
        expected = count * root / total
        most = most_expected(expected, len(areas)) if area.questions else 0
        words = f"{noun} {area.name} has {len(area.questions):,} questions; {expected:.1f} would be its share"
        findings += [Finding(i, float(len(area.questions)), words) for i in _beyond(area.questions, most)]
    return findings


def _types(material: Material) -> list[Finding]:
    """Return the questions beyond the plan of their type; without a plan, beyond four fifths of all questions."""
    by_type: dict[str, list[str]] = {}
    for subject in material.subjects:
        if subject.question.type:
            by_type.setdefault(subject.question.type, []).append(subject.id)
    typed, asked = sum(map(len, by_type.values())), len(material.subjects)
    if typed < TYPED:
        return []
    findings = []
    for name, ids in by_type.items():
        if material.planned is None:
            most, told = math.floor(MOSTLY * asked), f"{MOSTLY:.0%} of all {asked:,} at most leave room for others"
        else:
            planned = material.planned.get(name, 0)
            most = most_expected(typed * planned / sum(material.planned.values()), len(material.planned))
            told = f"planned are {planned:,}"
        words = f"{len(ids):,} questions of type {TYPE_TITLES.get(name, name)}; {told}"
        findings += [Finding(i, float(len(ids)), words) for i in _beyond(ids, most)]
    return findings


def _beyond(ids: Sequence[str], most: int) -> list[str]:
    """Return the ids beyond `most`, in an order that tells nothing of the questions."""
    return sorted(ids, key=digest)[most:]


def per_passage(material: Material) -> Found:
    """Find questions beyond the third about the same passage."""
    about: dict[object, list[str]] = {}
    for subject in material.subjects:
        for key in _passages(subject.gold, subject.question.evidence):
            about.setdefault(key, []).append(subject.id)
    findings: dict[str, Finding] = {}
    for ids in about.values():
        for question_id in _beyond(ids, PER_PASSAGE):
            words = f"{len(ids):,} questions ask about its passage"
            findings.setdefault(question_id, Finding(question_id, float(len(ids)), words))
    sizes = Counter(map(len, about.values()))
    mean = sum(size * count for size, count in sizes.items()) / max(sum(sizes.values()), 1)
    note = f"{len(about):,} passages are asked about, {mean:.1f} questions each." if about else ""
    order = (subject.id for subject in material.subjects)
    return Found(tuple(findings[i] for i in order if i in findings), "", note)


def _passages(gold: Sequence[Sequence[str]], evidence: object) -> list[object]:
    """Return what tells the passages of a question: the first gold chunk of each group, else its evidence."""
    if gold:
        return list(dict.fromkeys(group[0] for group in gold if group))
    groups = evidence if isinstance(evidence, tuple) else ()
    return list(dict.fromkeys((group[0].document_id, group[0].start) for group in groups if group))
