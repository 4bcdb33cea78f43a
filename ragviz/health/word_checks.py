"""Checks of the words of questions: copied from the passage, not supported by it, answered elsewhere, asked in vain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ragviz.analysis import pooled
from ragviz.core.chunk import Chunk
from ragviz.core.question import Question
from ragviz.core.span import Evidence
from ragviz.generation import verified_by_rules
from ragviz.generation.rejection import COPIED, LEAST_COPIED
from ragviz.health import word_weights
from ragviz.health.finding import Finding, Found
from ragviz.health.material import Material, Subject
from ragviz.health.word_weights import Weights
from ragviz.text import numerals, segmentation
from ragviz.text.counts import agreed, counted
from ragviz.text.denial import denies

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
    """Return what words say; where the answer and a passage are in other languages, only numbers can be compared."""
    evidence = subject.evidence_text
    missing = unstated(subject.question, evidence)
    if missing:
        listed = ", ".join(sorted(missing)[:3])
        return Finding(subject.id, 0.0, f"its evidence does not state {listed}, which the answer does")
    told = frozenset(
        word for word in subject.answer - subject.words - word_weights.RELATIONS if not numerals.stated_numbers(word)
    )
    stated = numerals.stated_numbers(evidence)
    told = frozenset(word for word in told if word_weights.MONTHS.get(word) not in stated)
    if not told or not all(_same_script(subject.question.answer, text) for text, _ in subject.evidence):
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
    is_denied = denies(subject.question.answer)
    sentences = segmentation.sentences(text, language)
    for first in range(max(1, len(sentences) - WINDOW + 1)):
        within = sentences[first : first + WINDOW]
        part = text[within[0][0] : within[-1][1]] if within else text
        if is_denied and not denies(part):
            continue
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


def asks_too_much(material: Material) -> Found:
    """Find questions of several passages one of which is not needed: by a judge, else by leaving each out in turn."""
    several = [subject for subject in material.subjects if len(subject.evidence) > 1]
    vain = _vain(several, material)
    findings = []
    for subject in several:
        judged = [_judged_useful(subject, number, material) for number in range(len(subject.evidence))]
        by_judge = [number for number, useful in enumerate(judged) if useful is False]
        by_words = [number for number in vain.get(subject.id, ()) if judged[number] is None]
        told = [f"a judge finds {_passages(by_judge, subject)} not useful to the question"] if by_judge else []
        if by_words:
            hold = agreed(len(by_words), "holds")
            told.append(f"{_passages(by_words, subject)} {hold} no word of question or answer that the others lack")
        if told:
            findings.append(Finding(subject.id, float(len(by_judge) + len(by_words)), "; ".join(told)))
    return Found(tuple(findings), "", f"{len(several):,} questions need several passages.")


def _passages(numbers: Sequence[int], subject: Subject) -> str:
    listed = ", ".join(str(number + 1) for number in numbers)
    return f"passage{'s' * (len(numbers) > 1)} {listed} of {len(subject.evidence)}"


def _judged_useful(subject: Subject, number: int, material: Material) -> bool | None:
    """Return whether a judge found a gold chunk of a passage useful; None where not all of them were judged."""
    verdicts = material.verdicts.get(subject.id)
    gold = frozenset(subject.gold[number]) if number < len(subject.gold) else frozenset[str]()
    if verdicts is None or not gold or not gold <= verdicts.chunks.keys():
        return None
    return any(verdicts.chunks[i].useful for i in gold)


def _vain(subjects: Sequence[Subject], material: Material) -> dict[str, list[int]]:
    """Return the passages that words do not need, by id: neither what was quoted of them, nor their gold chunks."""
    suspects = [(subject, vain) for subject in subjects if (vain := _dispensable(subject, subject.evidence))]
    found = {}
    for start in range(0, len(suspects), BATCH):
        batch = suspects[start : start + BATCH]
        ids = list(dict.fromkeys(i for subject, _ in batch for group in subject.gold for i in group))
        texts = dict(zip(ids, material.texts(ids), strict=True))
        for subject, vain in batch:
            around = [_around(subject, number, texts, material) for number in range(len(subject.evidence))]
            found[subject.id] = sorted({*vain} & {*_dispensable(subject, around)})
    return found


def _around(subject: Subject, number: int, texts: Mapping[str, str], material: Material) -> tuple[str, frozenset[str]]:
    """Return the text and the words of a passage with those of its gold chunks."""
    text, own = subject.evidence[number]
    for chunk_id in subject.gold[number] if number < len(subject.gold) else ():
        more, its_words, stated = _read(texts[chunk_id], material.chunk_language(chunk_id))
        text, own = f"{text}\n{more}", own | its_words | stated
    return text, own


def _dispensable(subject: Subject, passages: Sequence[tuple[str, frozenset[str]]]) -> list[int]:
    """Return the places of the passages, given with their words, without which question and answer lose no word.

    Nothing is said of a passage in another script, of one that is found whenever another is, and where no passage
    holds a word. Which version holds is known only beside the other ones: there a passage is needed that holds any.
    """
    wanted = subject.words | subject.answer
    held = [standing(wanted, own, text) for text, own in passages]
    if not any(held):
        return []
    is_version = subject.question.type == "version"
    vain = [n for n, mine in enumerate(held) if not mine] if is_version else verified_by_rules.dispensable(held)
    groups = list(map(set[object], subject.gold or subject.question.evidence))
    return [
        n
        for n in vain
        if bool(passages[n][1])
        and _same_script(subject.question.text, passages[n][0])
        and not any(group and group <= groups[n] for place, group in enumerate(groups) if place != n)
        and not _counts_towards(subject, n)
    ]


def _counts_towards(subject: Subject, number: int) -> bool:
    """Return whether a number of the answer is computed with one of a passage, and cannot be without it."""
    stated = [numerals.stated_numbers(text) for text, _ in subject.evidence]
    others = frozenset[str]().union(*(each for place, each in enumerate(stated) if place != number))
    answered = (numerals.numbers(subject.question.answer) | numerals.counts(subject.question.answer)) - others
    return any(
        word_weights.computed(n, others | stated[number]) and not word_weights.computed(n, others) for n in answered
    )
