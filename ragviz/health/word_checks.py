"""Checks of the words of questions: copied from the passage, not supported by it, answered elsewhere."""

from __future__ import annotations

from ragviz.analysis import pooled
from ragviz.core.document import Chunk
from ragviz.core.question import Question
from ragviz.generation.rejection import COPIED, LEAST_COPIED
from ragviz.health import word_weights
from ragviz.health.finding import Finding, Found
from ragviz.health.material import Material, Subject
from ragviz.health.word_weights import Weights
from ragviz.text import numerals
from ragviz.text.counts import counted

NO_INDEX = "Build an index of the documents: without one it is not known how rare words are."
NO_VERDICTS = "Not known: run the set with a judge for context recall."


def copies(material: Material) -> Found:
    """Find questions whose words stand in their evidence, those that BM25 alone ranks first named so."""
    findings, first, ranked = [], 0, 0
    for subject in material.subjects:
        if not subject.evidence or not subject.words:
            continue
        share = copied(subject, material.weights)
        top = material.lexical.get(subject.id)
        is_first = bool(top) and top is not None and top[0] in subject.gold
        ranked, first = ranked + (top is not None), first + is_first
        if share >= COPIED and len(subject.words & subject.sentences) >= LEAST_COPIED:
            by_words = "; BM25 ranks it first by its words alone" if is_first else ""
            findings.append(Finding(subject.id, share, f"{share:.0%} of its words stand in the passage{by_words}"))
    note = f"BM25 alone ranks the evidence of {first:,} of {ranked:,} questions first." if ranked else NO_INDEX
    return Found(tuple(findings), "", note)


def copied(subject: Subject, weights: Weights) -> float:
    """Return the share of the weight of a question's words that stands in the sentences of its evidence, 0 to 1.

    Words that stand in no chunk, as "year" where "In which year" is asked, say nothing of what BM25 finds: they are
    left out where most of its words do stand there.
    """
    here = subject.words & subject.sentences
    known = frozenset(word for word in subject.words if word in here or weights.counts.get(word))
    can_tell = weights.texts and 2 * len(here) > len(subject.words)
    return weights.share(known if can_tell else subject.words, here) or 0.0


def unsupported(material: Material) -> Found:
    """Find questions whose answer is not supported by their evidence: by verdicts, else by numbers."""
    findings, judged = [], 0
    for subject in material.subjects:
        if not subject.question.answer.strip() or not subject.evidence.strip():
            continue
        supports = _judged_support(subject, material.verdicts.get(subject.id))
        judged += supports is not None
        if supports is None:
            if missing := unstated(subject.question, subject.evidence):
                told = f"its evidence does not state {', '.join(missing[:3])}, which the answer does"
                findings.append(Finding(subject.id, 0.0, told))
        elif supports < 1:
            told = f"the judge finds {supports:.0%} of the answer's claims in its evidence"
            findings.append(Finding(subject.id, supports, told))
    return Found(tuple(findings), "", f"{judged:,} by a judge's verdicts, the others by numbers." if judged else "")


def _judged_support(subject: Subject, verdicts: pooled.Verdicts | None) -> float | None:
    """Return the share of the reference's claims that gold chunks support; None where not all of them were judged.

    A verdict on several chunks together may support more: then nothing is said.
    """
    gold = subject.gold
    if verdicts is None or verdicts.claims <= 0 or not gold or not gold <= verdicts.chunks.keys() or verdicts.together:
        return None
    return len(frozenset[int]().union(*(verdicts.chunks[i] for i in gold))) / verdicts.claims


def unstated(question: Question, evidence: str) -> list[str]:
    """Return the numbers of an answer that its evidence does not state, and that are not computed from others.

    Computed is what two numbers of evidence, question and answer give ("61 years" from 1926 and 1987), and the total
    of the other numbers of the answer.
    """
    stated = numerals.stated_numbers(evidence)
    answered = numerals.numbers(question.answer) | numerals.counts(question.answer)
    known = stated | numerals.stated_numbers(question.text) | answered
    total = sum(map(float, answered))
    missing = (n for n in answered - stated if abs(total - 2 * float(n)) > 1e-6 or len(answered) < 3)
    return sorted(n for n in missing if not word_weights.computed(n, known - {n}))


def answered_elsewhere(material: Material) -> Found:
    """Find questions whose whole answer a judge found, in any run, in a chunk that is not gold."""
    if not material.verdicts:
        return Found(unknown=NO_VERDICTS)
    findings = []
    for subject in material.subjects:
        verdicts = material.verdicts.get(subject.id)
        spans = subject.question.spans
        places = {i: Chunk.parse_id(i) for i in (verdicts.supporting if verdicts and spans else ())}
        others = [i for i, place in places.items() if place and not any(span.overlaps(place) for span in spans)]
        if others:
            told = f"a judge finds the whole answer in {counted(len(others), 'chunk')} not named as evidence"
            findings.append(Finding(subject.id, float(len(others)), told))
    judged = sum(subject.id in material.verdicts for subject in material.subjects)
    return Found(tuple(findings), "", f"{judged:,} of {len(material.subjects):,} questions were judged.")
