"""Checks of the words of questions: copied from the passage, not supported by it, answered elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from ragviz.analysis import pooled
from ragviz.core.chunk import Chunk
from ragviz.core.question import Question
from ragviz.core.span import Evidence
from ragviz.generation.rejection import COPIED, LEAST_COPIED
from ragviz.health import word_weights
from ragviz.health.finding import Finding, Found
from ragviz.health.material import Material, Subject
from ragviz.health.word_weights import Weights
from ragviz.text import numerals, segmentation
from ragviz.text.counts import agreed, counted

SUPPORTED = 0.25
"""Share of the weight of an answer's words, without the question's, below which its evidence does not support it."""
ANSWERED = 0.8
"""Share of the weight of an answer's words that another chunk holds when it holds the answer; of its numbers, all."""
ABOUT = 0.7
"""Share of the weight of a question's words that another chunk holds when it is about the same."""
WINDOW = 3
"""Sentences, items or rows in a row within which another chunk has to answer."""
BATCH = 256
"""Questions whose other chunks are read at once."""
NO_INDEX = "Build an index of the documents: without one it is not known how rare words are, and what else BM25 finds."


def copies(material: Material) -> Found:
    """Find questions whose words stand in their evidence, those that BM25 alone ranks first named so."""
    findings, first, ranked = [], 0, 0
    for subject in material.subjects:
        if not subject.evidence or not subject.words:
            continue
        share = copied(subject, material.weights)
        top = material.lexical.get(subject.id)
        is_first = bool(top) and top is not None and top[0] in subject.gold_chunks
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
    """Find questions whose answer is not supported by their evidence: by verdicts, else by numbers and rare words."""
    findings, judged = [], 0
    for subject in material.subjects:
        if not subject.evidence or not subject.question.answer.strip() or not subject.evidence_text.strip():
            continue
        supports = _judged_support(subject, material.verdicts.get(subject.id))
        judged += supports is not None
        if supports is None:
            finding = _by_words(subject, material)
        elif supports < 1:
            words_of_it = f"the judge finds {supports:.0%} of the answer's claims in its evidence"
            finding = Finding(subject.id, supports, words_of_it)
        else:
            finding = None
        findings += [finding] if finding else []
    return Found(tuple(findings), "", f"{judged:,} by a judge's verdicts, the others by words." if judged else "")


def _judged_support(subject: Subject, verdicts: pooled.Verdicts | None) -> float | None:
    """Return the share of the reference's claims that gold chunks support; None where not all of them were judged.

    A verdict on several chunks together may support more: then nothing is said.
    """
    gold = subject.gold_chunks
    if verdicts is None or verdicts.claims <= 0 or not gold or not gold <= verdicts.chunks.keys() or verdicts.sets:
        return None
    return len(frozenset[int]().union(*(verdicts.chunks[i].supports for i in gold))) / verdicts.claims


def _by_words(subject: Subject, material: Material) -> Finding | None:
    """Return what words say; of several passages, or one in another script, only numbers can be compared."""
    evidence = subject.evidence_text
    missing = unstated(subject.question, evidence)
    if missing:
        listed = ", ".join(sorted(missing)[:3])
        return Finding(subject.id, 0.0, f"its evidence does not state {listed}, which the answer does")
    told = frozenset(word for word in subject.answer - subject.words if not numerals.stated_numbers(word))
    if not told or len(subject.evidence) > 1 or not _same_script(subject.question.answer, evidence):
        return None
    share = material.weights.share(told, standing(told, subject.evidence_words, evidence)) or 0.0
    return Finding(subject.id, share, f"{share:.0%} of the answer's words stand in it") if share < SUPPORTED else None


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


def _same_script(left: str, right: str) -> bool:
    """Return whether both texts, or neither, are mostly in ideographs."""
    shares = [
        sum("\u3400" <= c <= "\u9fff" for c in text) / max(sum(c.isalpha() for c in text), 1) for text in (left, right)
    ]
    return (shares[0] > 0.2) == (shares[1] > 0.2)


def answered_elsewhere(material: Material) -> Found:
    """Find questions that a chunk answers which is not gold: by a pooled verdict, else by the words of both."""
    if not material.index and not material.verdicts:
        return Found(unknown=NO_INDEX)
    findings = {finding.question_id: finding for finding in _by_rivals(material)}
    for subject in material.subjects:
        verdicts = material.verdicts.get(subject.id)
        others = [i for i in (verdicts.supporting if verdicts else ()) if is_apart(i, subject.question.evidence)]
        if others:
            words_of_it = f"a judge finds the whole answer in {counted(len(others), 'chunk')} not named as evidence"
            findings[subject.id] = Finding(subject.id, float(len(others)), words_of_it)
    order = (subject.id for subject in material.subjects)
    return Found(tuple(findings[i] for i in order if i in findings))


def is_apart(chunk_id: str, evidence: Evidence) -> bool:
    """Return whether a chunk, of any index, shares no character with a question's evidence, of which there is some."""
    place = Chunk.parse_id(chunk_id)
    spans = [span for group in evidence for span in group]
    if place is None or not spans:
        return False
    return not any(span.overlaps(place) for span in spans)


def _by_rivals(material: Material) -> Iterator[Finding]:
    """Yield questions of one passage whose answer and most of whose words stand in another of BM25's first chunks."""
    asked = [s for s in material.subjects if len(s.evidence) == 1 and s.answer and material.rivals.get(s.id)]
    for start in range(0, len(asked), BATCH):
        batch = asked[start : start + BATCH]
        others = [[i for i in material.rivals[s.id] if is_apart(i, s.question.evidence)] for s in batch]
        ids = list(dict.fromkeys(i for each in others for i in each))
        read = {i: _read(text, material.chunk_language(i)) for i, text in zip(ids, material.texts(ids), strict=True)}
        for subject, each in zip(batch, others, strict=True):
            holding = [i for i in each if _answers(subject, *read[i], material.chunk_language(i), material.weights)]
            if holding:
                told, hold = counted(len(holding), "chunk"), agreed(len(holding), "holds")
                words_of_it = f"{told} not named as evidence {hold} its answer and most of its words"
                yield Finding(subject.id, float(len(holding)), words_of_it)


def _read(text: str, language: str) -> tuple[str, frozenset[str], frozenset[str]]:
    """Return a chunk's text, its words and the numbers that it states."""
    return text, word_weights.content(text, language), numerals.stated_numbers(text)


def _answers(
    subject: Subject, text: str, own: frozenset[str], stated: frozenset[str], language: str, weights: Weights
) -> bool:
    """Return whether a chunk is about the question, and holds the answer beside what its evidence says of the question.

    The words of the question that stand in its evidence have to stand within `WINDOW` sentences with the answer: a
    chunk about the same thing often holds a short answer somewhere else.
    """
    if numerals.numbers(subject.question.answer) - stated:
        return False
    here = standing(subject.answer | subject.words, own, text)
    if not _holds(subject.answer, subject.words - subject.answer, here, weights):
        return False
    about = (subject.words & subject.evidence_words) - subject.answer
    sentences = segmentation.sentences(text, language)
    for first in range(max(1, len(sentences) - WINDOW + 1)):
        within = sentences[first : first + WINDOW]
        part = text[within[0][0] : within[-1][1]] if within else text
        found = standing(
            subject.answer | about, word_weights.content(part, language) | numerals.stated_numbers(part), part
        )
        if _holds(subject.answer, about, found, weights):
            return True
    return False


def _holds(answer: frozenset[str], asked: frozenset[str], here: frozenset[str], weights: Weights) -> bool:
    """Return whether `here` are enough of the words of an answer and of what is asked; of nothing asked, none are."""
    about = weights.share(asked, here)
    return (weights.share(answer, here) or 0.0) >= ANSWERED and (about is None or about >= ABOUT)


def standing(wanted: frozenset[str], own: frozenset[str], text: str) -> frozenset[str]:
    """Return which words stand in a text, given with its words: Chinese ones also where it is divided otherwise.

    >>> sorted(standing(frozenset({"天", "泵", "pump"}), frozenset({"三十天", "pump"}), "每三十天, pump"))
    ['pump', '天']
    """
    return (wanted & own) | {word for word in wanted - own if "\u3400" <= word[0] <= "\u9fff" and word in text}
